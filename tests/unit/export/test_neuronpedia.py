"""The files for Neuronpedia, line by line next to the rows of the run's tables and the columns of its database."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ops.export.neuronpedia import Neuronpedia, token_texts
from tests.unit.export.neuronpedia_schema import (
    ACTIVATION,
    CONVERTER,
    EXPLANATION,
    MODEL,
    NEURON,
    RELEASE,
    SOURCE,
    SOURCE_SET,
    complaints,
)
from tests.unit.export.small_tables import TEXTS, WIDTHS, SmallTables

METADATA = {"release": RELEASE, "model": MODEL, "sourceset": SOURCE_SET, "source": SOURCE}
BATCHES = {"features": NEURON, "activations": ACTIVATION, "explanations": EXPLANATION}
SOURCES = {
    ("0-atlas-hidden", 1, "top"),
    ("0-atlas-hidden-bottom", 1, "bottom"),
    ("2-atlas-hidden", 3, "top"),
    ("2-atlas-hidden-bottom", 3, "bottom"),
}
SIGN = {"top": 1, "bottom": -1}


def written(made: Neuronpedia, folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The lines of all files, as an import reads them."""
    found = {}
    for name, write in made.writers().items():
        path = folder / name.replace("/", "_")
        write(str(path))
        data = gzip.decompress(path.read_bytes()) if name.endswith(".gz") else path.read_bytes()
        found[name.removeprefix("my-model/")] = [json.loads(line) for line in data.decode().splitlines()]
    return found


def test_a_source_has_the_files_that_are_imported_and_none_of_them_is_empty(
    tables: SmallTables, tmp_path: Path
) -> None:
    """The import takes the columns from the first line of a file, and fails where there is none."""
    found = written(tables.neuronpedia(), tmp_path)
    assert all(found.values())
    metadata = {f"{source}/{name}.jsonl" for source, *_ in SOURCES for name in METADATA}
    batches = {
        f"{source}/{kind}/batch-{batch}.jsonl.gz"
        for source, layer, _ in SOURCES
        for kind in BATCHES
        for batch in range(2 if layer == 3 else 1)
    }
    assert found.keys() == metadata | batches
    without = written(tables.neuronpedia(without="explanations"), tmp_path)
    assert found.keys() - without.keys() == {name for name in batches if "/explanations/" in name}


def test_every_line_fits_the_columns_of_the_database(tables: SmallTables, tmp_path: Path) -> None:
    for name, lines in written(tables.neuronpedia(), tmp_path).items():
        _, kind, *batch = name.removesuffix(".jsonl").split("/")
        columns = BATCHES[kind] if batch else METADATA[kind]
        for line in lines:
            assert complaints(columns, line) == [], name
            if kind in CONVERTER:
                assert line.keys() == CONVERTER[kind]
    assert complaints(MODEL, {"id": 3}) == [
        "id: 3", "creatorId: missing", "layers: missing", "neuronsPerLayer: missing", "owner: missing",
    ]  # fmt: skip


def test_what_a_line_refers_to_is_there(tables: SmallTables, tmp_path: Path) -> None:
    """Foreign keys: a unit's source and set, the unit of an activation and of an explanation; identifiers differ."""
    found = written(tables.neuronpedia(), tmp_path)
    identifiers = list[str]()
    for source, *_ in SOURCES:
        [release], [model], [group], [own] = (found[f"{source}/{name}.jsonl"] for name in METADATA)
        assert (own["id"], own["modelId"], own["setName"]) == (source, model["id"], group["name"])
        assert (group["modelId"], group["releaseName"]) == (model["id"], release["name"])
        assert source == f"{source[0]}-{group['name']}"
        of = {kind: [line for name in found if name.startswith(f"{source}/{kind}/") for line in found[name]]
              for kind in BATCHES}  # fmt: skip
        keys = [(line["modelId"], line["layer"], line["index"]) for line in of["features"]]
        assert len(set(keys)) == len(keys)
        assert {line["sourceSetName"] for line in of["features"]} == {group["name"]}
        for line in of["activations"] + of["explanations"]:
            assert (line["modelId"], line["layer"], line["index"]) in keys
            identifiers.append(line["id"])
    assert len(set(identifiers)) == len(identifiers)
    assert all(len(identifier) == 25 and identifier.isalnum() for identifier in identifiers)


def check_activations(lines: list[dict[str, Any]], rows: list[dict[str, Any]], pole: str, added: bool) -> None:
    assert [(line["index"], line["dataIndex"]) for line in lines] == [
        (str(row["unit"]), str(row["sent_id"])) for row in rows
    ]
    for line, row in zip(lines, rows, strict=True):
        assert complaints(ACTIVATION, line) == []
        assert line.keys() == CONVERTER["activations"]
        counts = [added or token not in ("[CLS]", "[SEP]") for token in row["tokens"]]
        values = [SIGN[pole] * a if c else 0.0 for a, c in zip(row["activations"], counts, strict=True)]
        assert np.float32(line["values"]).tolist() == np.float32(values).tolist()
        assert line["minValue"] == min(line["values"])
        peak = line["maxValueTokenIndex"]
        assert counts[peak]
        assert line["maxValue"] == line["values"][peak]
        assert line["maxValue"] == max(v for v, c in zip(line["values"], counts, strict=True) if c)
        assert line["tokens"][0] == "[CLS]"
        assert "".join(line["tokens"][1:-1]) == TEXTS[row["sent_id"]]


@pytest.mark.parametrize("added", [True, False])
def test_activations_are_the_winners_by_unit_and_rank_and_then_hard_negatives_in_an_interval_of_their_own(
    tables: SmallTables, tmp_path: Path, added: bool
) -> None:
    without, found = (written(tables.neuronpedia(added=added, negatives=n), tmp_path) for n in (False, True))
    for source, layer, pole in SOURCES:
        names = [f"{source}/activations/batch-{batch}.jsonl.gz" for batch in range(2)]
        winners = [line for name in names for line in without.get(name, [])]
        check_activations(winners, [r for r in tables.rows if (r["layer"], r["pole"]) == (layer, pole)], pole, added)
        negatives = [line for name in names for line in found.get(name, [])[len(without.get(name, [])) :]]
        own = [r for r in tables.negatives if (r["layer"], r["pole"]) == (layer, pole)]
        check_activations(negatives, own, pole, added)
        for lines, kind in ((winners, None), (negatives, "hard negative")):
            for line in lines:
                heights = [other["maxValue"] for other in lines if other["index"] == line["index"]]
                low, contains = (-1, -1) if kind is None else (min(heights), None)
                assert (line["binMin"], line["binMax"], line["binContains"]) == (low, max(heights), contains)
                assert line["dataSource"] == kind
        assert all(found.get(name, [])[: len(without.get(name, []))] == without.get(name, []) for name in names)
    activations = [line for name, lines in found.items() if "/activations/" in name for line in lines]
    assert len({line["id"] for line in activations}) == len(activations) == len(tables.rows) + len(tables.negatives)


def test_features_are_all_units_with_their_highest_activation(tables: SmallTables, tmp_path: Path) -> None:
    found = written(tables.neuronpedia(), tmp_path)
    for source, layer, pole in SOURCES:
        lines = [line for batch in range(2) for line in found.get(f"{source}/features/batch-{batch}.jsonl.gz", [])]
        assert [line["index"] for line in lines] == [str(unit) for unit in range(WIDTHS[layer])]
        for line in lines:
            heights = [
                SIGN[pole] * a
                for row in tables.rows
                if (row["layer"], row["unit"], row["pole"]) == (layer, int(line["index"]), pole)
                for a in row["activations"]
            ]
            assert line["maxActApprox"] == pytest.approx(max(heights, default=0), rel=1e-6)
            assert line["frac_nonzero"] == 0, "of neurons it is not measured"


def test_the_share_of_tokens_at_which_a_feature_is_active(tables: SmallTables) -> None:
    made = tables.neuronpedia(tokens=10_000)
    side = tables.reader().sides[0]
    lines = made.features(side, side.units)
    assert [line["frac_nonzero"] for line in lines] == [7 * unit / 10_000 for unit in side.units.tolist()]


@pytest.mark.parametrize(("tokens", "kind"), [(0, "neurons"), (10_000, "features")])
def test_logits_and_correlated_units_are_those_of_the_unit_times_minus_one_at_the_bottom(
    tables: SmallTables, tokens: int, kind: str
) -> None:
    """Of correlated units only those of the same layer, and no more than the table lists without a gap."""
    made = tables.neuronpedia(tokens=tokens)
    names = (
        "pos_str",
        "pos_values",
        "neg_str",
        "neg_values",
        f"correlated_{kind}_indices",
        f"correlated_{kind}_pearson",
    )
    for side in tables.reader().sides[2:]:
        lines = {line["index"]: [line[name] for name in names] for line in made.features(side, side.units)}
        rises, falls = [[" rain", "##ing"], [2.0, 0.5]], [[" sea"], [-1.25]]
        if side.pole == "bottom":
            rises, falls = [[" sea"], [1.25]], [[" rain", "##ing"], [-2.0, -0.5]]
        assert lines.pop("7") == [*rises, *falls, [5, 6], [0.75, 0.5]]
        assert all(line == [[]] * 6 for line in lines.values())
    assert tables.neuronpedia(without="outputs/tokens").features(side, side.units)[7]["pos_str"] == []


@pytest.mark.parametrize(("added", "first", "less"), [(True, True, 0), (False, True, 2), (False, False, 2)])
def test_tokens_that_count_are_those_of_all_sentences(tables: SmallTables, added: bool, first: bool, less: int) -> None:
    """Without the first one nothing more is lost here: it is [CLS], which does not count already."""
    n = sum(len(p.strings) for p in tables.tokenizer.encode_with_spans(list(TEXTS)))
    assert tables.reader(added, first).tokens_that_count() == n - less * len(TEXTS)


def test_explanations_are_those_for_which_a_rule_was_found(tables: SmallTables, tmp_path: Path) -> None:
    found = written(tables.neuronpedia(), tmp_path)
    lines = [line for name, lines in found.items() if "/explanations/" in name for line in lines]
    wanted = [row for row in tables.explanations if row["verdict"] != "none"]
    assert sorted(line["description"] for line in lines) == sorted(row["text"] for row in wanted)
    notes = {line["description"]: line["notes"] for line in lines}
    for row in wanted:
        said = notes[row["text"]]
        assert said.startswith(f"Neuron Atlas; verdict: {row['verdict']}")
        assert said.endswith("; F1 0.50 (0.25 to 0.75) on 18 winners in held-out documents") == ("f1" in row)


def test_chosen_units_alone_and_no_file_without_lines(tables: SmallTables, tmp_path: Path) -> None:
    found = written(tables.neuronpedia(units=("3:8", "3:7")), tmp_path)
    assert {name.split("/")[0] for name in found} == {"2-atlas-hidden", "2-atlas-hidden-bottom"}
    assert [line["index"] for line in found["2-atlas-hidden/features/batch-0.jsonl.gz"]] == ["7", "8"]
    assert {line["index"] for line in found["2-atlas-hidden/activations/batch-0.jsonl.gz"]} == {"7"}
    # Of 3:7 no rule was found, and 3:8 has no explanation.
    assert not any("/explanations/" in name for name in found)


def test_tokens_show_the_text_with_the_space_before_each() -> None:
    """Byte-level tokens may share a character; a tokenizer that tells no places gives its vocabulary's strings."""
    assert token_texts("a  bé", ["A", "b", "Ã", "©"], [(0, 1), (3, 4), (4, 5), (4, 5)]) == ["a", "  b", "é", "©"]
    assert token_texts("a b", ["a", "▁b"], [(-1, -1), (-1, -1)]) == ["a", "▁b"]
