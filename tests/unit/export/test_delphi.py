"""The cache for delphi next to the rows of the run's tables; `test_interop.py` reads it by delphi's own loader."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from ops.errors import InputError
from ops.export import delphi
from ops.export.delphi import Delphi
from ops.export.winners import SIGN
from tests.unit.export.small_tables import LOSER, TEXTS, WIDTHS, SmallTables

PLACE = {1: "hidden", 3: "hidden"}
MODULES = {
    "layers.0": (1, "top"),
    "layers.0.bottom": (1, "bottom"),
    "layers.2": (3, "top"),
    "layers.2.bottom": (3, "bottom"),
}


def made(tables: SmallTables, context: int = 32, **reader: Any) -> Delphi:
    return Delphi(
        reader=tables.reader(**reader), tokenizer=tables.tokenizer, place=PLACE, context=context,
        config={"model_name": "m"}, out="runs/x",
    )  # fmt: skip


def written(found: Delphi, folder: Path) -> dict[str, Path]:
    paths = {}
    for name, write in found.writers().items():
        paths[name] = folder / name
        paths[name].parent.mkdir(parents=True, exist_ok=True)
        write(str(paths[name]))
    return paths


@pytest.mark.parametrize(("context", "added"), [(32, True), (32, False), (4, True), (1, True)])
def test_the_cache_has_each_active_token_of_each_winner(
    tables: SmallTables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, context: int, added: bool
) -> None:
    monkeypatch.setattr(delphi, "UNITS_PER_FILE", 128)
    monkeypatch.setattr(delphi, "AT_ONCE", 2)
    written(made(tables, context, added=added), tmp_path)
    ids = {i: tokens.ids for i, tokens in enumerate(tables.tokenizer.encode(list(TEXTS))) if i != LOSER}
    rows = [ids[i][at : at + context] for i in ids for at in range(0, len(ids[i]), context)]
    begins, total = {}, 0
    for i, own in ids.items():
        begins[i], total = total, total + -(-len(own) // context)
    for module, (layer, pole) in MODULES.items():
        expected = dict[tuple[int, int, int], float]()
        for row in tables.rows:
            if (row["layer"], row["pole"]) != (layer, pole):
                continue
            for place, (token, a) in enumerate(zip(row["tokens"], row["activations"], strict=True)):
                height = a if pole == "top" else -a
                if height > 1e-5 and (added or token not in ("[CLS]", "[SEP]")):
                    at = begins[row["sent_id"]] + place // context, place % context, row["unit"]
                    expected[at] = height
        found, edges = dict[tuple[int, int, int], float](), []
        for path in sorted((tmp_path / "latents" / module).glob("*.safetensors")):
            first, last = map(int, path.stem.split("_"))
            edges.append((first, last))
            held = load_file(path)
            assert held["locations"].dtype == np.uint16
            assert held["activations"].dtype == np.float32
            assert held["tokens"].shape == (len(rows), context)
            for own, ids_of_row in zip(held["tokens"].tolist(), rows, strict=True):
                assert own == ids_of_row + [tables.tokenizer.pad_id] * (context - len(ids_of_row))
            locations = held["locations"].astype(int)
            # The loader takes the places of a unit to be in ascending order.
            assert sorted(locations[:, [2, 0, 1]].tolist()) == locations[:, [2, 0, 1]].tolist()
            assert all(first <= unit + first <= last for unit in locations[:, 2])
            for (at, place, unit), value in zip(locations.tolist(), held["activations"].tolist(), strict=True):
                found[(at, place, unit + first)] = value
        assert found == expected
        edges.sort()
        assert [edge[0] for edge in edges] == list(range(0, WIDTHS[layer], 128))
        assert [edge[1] for edge in edges[:-1]] == [edge[0] - 1 for edge in edges[1:]]
        assert edges[-1][1] == WIDTHS[layer] - 1
        said = json.loads((tmp_path / "latents" / module / "config.json").read_text())
        assert said == {
            "model_name": "m", "cache_ctx_len": context, "n_tokens": len(rows) * context, "n_splits": len(edges),
        }  # fmt: skip


def test_hard_negatives_are_rows_without_activations(tables: SmallTables, tmp_path: Path) -> None:
    """They are drawn as delphi draws non-activating examples: from rows without a token active for the unit."""
    written(made(tables, 64), tmp_path / "without")
    written(made(tables, 64, negatives=True), tmp_path / "with")
    ids = [tokens.ids for tokens in tables.tokenizer.encode(list(TEXTS))]
    for module, (layer, pole) in MODULES.items():
        name = f"latents/{module}/0_{WIDTHS[layer] - 1}.safetensors"
        before, after = (load_file(tmp_path / folder / name) for folder in ("without", "with"))
        assert [row[: len(own)] for row, own in zip(after["tokens"].tolist(), ids, strict=True)] == ids
        assert len(before["tokens"]) == len(TEXTS) - 1
        assert after["activations"].tolist() == before["activations"].tolist()
        rows = np.array([i for i in range(len(TEXTS)) if i != LOSER])
        places = before["locations"].astype(int)
        assert after["locations"].astype(int).tolist() == [[int(rows[r]), p, u] for r, p, u in places.tolist()]
        for row in tables.negatives:
            if row["sent_id"] == LOSER and (row["layer"], row["pole"]) == (layer, pole):
                assert max(SIGN[pole] * a for a in row["activations"]) > 1e-5, "else there is nothing to leave out"
        assert LOSER not in after["locations"][:, 0]


def test_chosen_units_alone_and_nothing_but_modules_lies_among_the_latents(tables: SmallTables, tmp_path: Path) -> None:
    """The loader takes every name there for a module."""
    assert {tuple(name.split("/")[:2]) for name in made(tables).writers()} == {("latents", name) for name in MODULES}
    paths = written(made(tables, units=("3:7", "3:299")), tmp_path)
    assert {name.split("/")[1] for name in paths} == {"layers.2", "layers.2.bottom"}
    held = load_file(paths["latents/layers.2/0_299.safetensors"])
    assert np.unique(held["locations"][:, 2]).tolist() == [7, 299]


def test_many_rows_take_the_wider_type(tables: SmallTables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for row, kind in ((65_535, np.uint16), (65_536, np.uint32)):
        found = np.array([[row, 0, 0]]), np.ones(1, np.float32)
        monkeypatch.setattr(Delphi, "latents", lambda *_, found=found: found)
        paths = written(made(tables), tmp_path)
        assert load_file(paths["latents/layers.2/0_299.safetensors"])["locations"].dtype == kind


@pytest.mark.parametrize("change", ["other", "longer"])
def test_a_tokenizer_that_makes_other_tokens_is_refused(
    tables: SmallTables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    real = type(tables.tokenizer).encode

    def encode(own: Any, texts: list[str]) -> Any:
        changed = [text.replace("old", "young") if change == "other" else f"{text} more" for text in texts]
        return real(own, changed)

    monkeypatch.setattr(type(tables.tokenizer), "encode", encode)
    with pytest.raises(
        InputError, match="--out runs/x: token_activations/ has other tokens than the model's tokenizer"
    ):
        written(made(tables), tmp_path)
