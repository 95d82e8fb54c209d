from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csc_array

from ops.compare import unit_matches
from ops.compare.activation_vectors import common_rows
from ops.compare.unit_matches import Best, LayerUnits, Matcher, other_ids, universal_rows
from ops.sampling import random_rotation
from ops.schema import activations_schema, schema
from ops.shards import spans
from ops.storage.store import Store
from ops.storage.tables import write_part
from ops.topk.neurons import Neurons

RNG = np.random.default_rng(0)
SENTENCES, WIDTHS, K = 60, (5, 7), 6
NEURONS = Neurons(WIDTHS)
SEED = (0, 1)


def run_of(folder: Path, layers: list[np.ndarray], ids: np.ndarray | None = None, tops_alone: bool = False) -> Store:
    """Write what is read of a run: the sample of these sentences, and winners and moments over them alone."""
    store = Store(str(folder))
    sent_ids = np.arange(len(layers[0])) if ids is None else ids
    widths = {i: layer.shape[1] for i, layer in enumerate(layers, 1)}
    columns = {"sent_id": pa.array(sent_ids)}
    for i, layer in enumerate(layers, 1):
        flat = pa.array(layer.astype(np.float32).ravel())
        columns[f"layer_{i}"] = pa.FixedSizeListArray.from_arrays(flat, layer.shape[1])
    layout = activations_schema(widths)
    write_part(store, "activations", 0, layout, [pa.table(columns).cast(layout)], "0")
    winners, moments = [], []
    for i, layer in enumerate(layers, 1):
        for unit in range(layer.shape[1]):
            values = layer[:, unit]
            moments.append({"layer": i, "unit": unit, "std": values.std(), "min": values.min(), "max": values.max()})
            for pole, sign in (("bottom", 1), ("top", -1)):
                if pole == "top" or not tops_alone:
                    first = sent_ids[np.argsort(sign * values, kind="stable")[:K]]
                    winners += [{"layer": i, "unit": unit, "pole": pole, "sent_id": s} for s in first]
    for table, rows in (("neurons", moments), ("topk", winners)):
        layout = pa.schema([pa.field(f.name, f.type) for f in schema(table)])
        filled = [{name: row.get(name) for name in layout.names} for row in rows]
        write_part(store, table, 0, layout, [pa.Table.from_pylist(filled, layout)], "0")
    return store


def matches(
    store: Store,
    other: Store,
    others: Neurons = NEURONS,
    own: Neurons = NEURONS,
    same_ids: bool = True,
    rotated: bool = True,
) -> list[dict]:
    matcher = Matcher(store, other, own, others, same_ids, SEED if rotated else None)
    rows: list[dict] = matcher.rows(map(matcher.in_layer, others.layers)).to_pylist()
    return rows


def values(widths: tuple[int, ...] = WIDTHS) -> list[np.ndarray]:
    return [RNG.normal(size=(SENTENCES, width)) for width in widths]


@pytest.mark.parametrize("block", [1_024, 2])
def test_matches_are_those_of_every_pair_correlated_by_numpy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr("ops.compare.unit_matches.BLOCK", block)
    own, others = values(), values((6, 4, 3))
    there = Neurons((6, 4, 3))
    rows = matches(run_of(tmp_path / "a", own), run_of(tmp_path / "b", others), there)
    side, across = np.concatenate(own, 1), np.concatenate(others, 1)
    r = np.corrcoef(side.T, across.T)[: len(NEURONS), len(NEURONS) :]
    best = np.abs(r).argmax(1)
    layer_b, unit_b = there.layer_and_unit(best)
    assert [(row["layer_b"], row["unit_b"]) for row in rows] == list(zip(layer_b, unit_b, strict=True))
    np.testing.assert_allclose([row["correlation"] for row in rows], r[np.arange(len(r)), best], atol=1e-6)
    for number, row in enumerate(rows):
        assert row["excess"] == pytest.approx(abs(row["correlation"]) - row["rotated"])
        a, b = side[:, number], across[:, best[number]]
        signed = b if row["correlation"] > 0 else -b
        pairs = [
            (set(np.argsort(sign * a, kind="stable")[:K]), set(np.argsort(sign * signed, kind="stable")[:K]))
            for sign in (1, -1)
        ]
        assert row["overlap"] == pytest.approx(sum(len(x & y) for x, y in pairs) / (2 * K))


def test_the_rotated_null_is_the_best_axis_of_a_rotated_layer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ops.compare.unit_matches.BLOCK", 2)
    own, others = values(), values()
    rows = matches(run_of(tmp_path / "a", own), run_of(tmp_path / "b", others))
    turned = [
        layer.astype(np.float32) @ random_rotation(layer.shape[1], np.random.default_rng([*SEED, i]))
        for i, layer in enumerate(others, 1)
    ]
    r = np.corrcoef(np.concatenate(own, 1).T, np.concatenate(turned, 1).T)[: len(NEURONS), len(NEURONS) :]
    np.testing.assert_allclose([row["rotated"] for row in rows], np.abs(r).max(1), atol=1e-5)


def test_a_model_matches_itself_and_a_permuted_one_is_matched_back(tmp_path: Path) -> None:
    own = values()
    here = run_of(tmp_path / "a", own)
    for row in matches(here, here):
        assert (row["layer_b"], row["unit_b"]) == (row["layer"], row["unit"])
        assert row["correlation"] == pytest.approx(1, abs=1e-6)
        assert row["overlap"] == 1
        assert 0 < row["rotated"] < 1
    orders, signs = [RNG.permutation(width) for width in WIDTHS], [RNG.choice((-3.0, 0.5), w) for w in WIDTHS]
    permuted = [sign * layer[:, order] + 7 for layer, order, sign in zip(own, orders, signs, strict=True)]
    for row in matches(here, run_of(tmp_path / "b", permuted)):
        place = row["unit_b"]
        assert (row["layer_b"], orders[row["layer"] - 1][place]) == (row["layer"], row["unit"])
        assert row["correlation"] == pytest.approx(np.sign(signs[row["layer"] - 1][place]), abs=1e-5)
        assert row["overlap"] == 1, "a unit that is turned around shares its top with the other's bottom"


def test_constant_and_silent_units_have_no_match_and_are_none(tmp_path: Path) -> None:
    own, others = values(), values()
    own[0][:, 2] = 0.25
    others[1][:, 3] = 1e-9 * own[0][:, 1]  # silent, though it would correlate perfectly
    rows = {(r["layer"], r["unit"]): r for r in matches(run_of(tmp_path / "a", own), run_of(tmp_path / "b", others))}
    names = ("layer_b", "unit_b", "correlation", "rotated", "excess", "overlap")
    assert [rows[1, 2][name] for name in names] == [None] * 6
    assert (rows[1, 1]["layer_b"], rows[1, 1]["unit_b"]) != (2, 3)
    assert (2, 3) not in {(row["layer_b"], row["unit_b"]) for row in rows.values()}


def test_sentences_are_the_same_by_their_text_where_they_are_numbered_differently(tmp_path: Path) -> None:
    """The second corpus lacks every third sentence, and its sample is drawn by itself."""
    own = values()
    kept = np.flatnonzero(np.arange(SENTENCES) % 3)
    sample = np.sort(RNG.choice(len(kept), 25, replace=False))
    store = run_of(tmp_path / "a", own)
    other = run_of(tmp_path / "b", [layer[kept[sample]] for layer in own], ids=sample)
    for run, numbers in ((store, np.arange(SENTENCES)), (other, kept)):
        texts = [f"Sentence {n}." for n in numbers]
        table = pa.table({"sent_id": np.arange(len(texts)), "text": texts})
        run.commit("corpus/part-00000.parquet", lambda path, own=table: pq.write_table(own, path, row_group_size=9))
    ids = other_ids(store, other)
    assert (ids == kept).all()
    back = other_ids(other, store)
    assert (back[kept] == np.arange(len(kept))).all()
    assert (np.delete(back, kept) == -1).all()
    rows, places = common_rows(store, other, ids)
    assert (rows == kept[sample]).all()
    assert (places == np.arange(25)).all()
    found = matches(store, other, same_ids=False)
    assert all((row["layer_b"], row["unit_b"]) == (row["layer"], row["unit"]) for row in found)
    assert all(0 < row["overlap"] <= 1 for row in found)


def test_features_have_no_rotated_null_and_one_pole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = values()
    store, other = run_of(tmp_path / "a", own), run_of(tmp_path / "b", own, tops_alone=True)
    rows = matches(store, other, rotated=False)
    assert all(row["rotated"] is row["excess"] is None and row["overlap"] == 1 for row in rows)
    reads: list[Store] = []
    read_pole = unit_matches.read_pole
    monkeypatch.setattr(unit_matches, "read_pole", lambda run, *args: reads.append(run) or read_pole(run, *args))
    assert matches(other, store, rotated=False) == rows
    assert reads.count(store) == 1, "what the run itself lacks is not read of the other run"
    table = pa.Table.from_pylist(rows, schema("compare/matches"))
    universal = universal_rows(table).to_pylist()
    assert {(row["share"], row["rotated"], row["correlated"]) for row in universal} == {(None, None, 1.0)}


def test_blocks_of_sparse_features_are_those_of_their_matrix() -> None:
    dense = np.where(RNG.random((30, 11)) < 0.3, RNG.random((30, 11)), 0).astype(np.float32)
    rows, silent = np.arange(3, 28, 2), np.arange(11) == 4
    expected = LayerUnits(dense, rows, silent)
    found = LayerUnits(csc_array(dense), rows, silent)
    for first, stop in spans(11, 4):
        np.testing.assert_array_equal(found.vectors(first, stop), expected.vectors(first, stop))
    assert not found.vectors(4, 5).any()


def test_of_equal_matches_the_first_counts() -> None:
    best, own = Best(1), np.eye(3, dtype=np.float32)[:1]
    for first in (0, 5):
        best.compare(own, slice(0, 1), np.stack([own[0], -own[0]]), first)
    assert (best.unit[0], best.correlation[0]) == (0, 1)


def test_universal_is_the_share_above_each_threshold() -> None:
    excess = [0.05, 0.15, 0.55, None]
    rows = [
        {"layer": 1 + i // 2, "unit": i, "excess": e, "rotated": None if e is None else 0.25}
        | {"correlation": None if e is None else -(e + 0.25)}
        for i, e in enumerate(excess)
    ]
    found = {
        (row["layer"], round(row["threshold"], 1)): row
        for row in universal_rows(pa.Table.from_pylist(rows, schema("compare/matches"))).to_pylist()
    }
    assert [(found[None, t]["n"], found[None, t]["share"]) for t in (0.0, 0.1, 0.5, 0.9)] == [
        (3, 1.0), (3, pytest.approx(2 / 3, abs=1e-6)), (3, pytest.approx(1 / 3, abs=1e-6)), (3, 0.0),
    ]  # fmt: skip
    assert found[2, 0.5]["n"] == 1
    assert found[1, 0.2]["rotated"] == 1
    assert found[1, 0.3]["correlated"] == 0.5
