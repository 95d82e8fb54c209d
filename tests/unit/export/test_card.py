"""The card: a config for every table, a query each that runs, and nothing of the machine."""

import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import yaml

from ops.errors import InputError
from ops.export.card import query, write_card
from ops.export.description import Description, provenance_of
from ops.export.licences import TERMS, UNKNOWN, parse_terms, source_terms
from ops.schema import TABLES, activations_schema
from ops.sources.presets import PRESETS
from ops.storage.store import Store
from ops.storage.tables import write_part

HELD = {"rows": 12, "bytes": 3_400, "fingerprint": "e" * 64}
IDENTITY = {"site": "hidden", "pool": "mean", "special_tokens": "include", "dtype": "float32"}
IDENTITY |= {"k": 100, "poles": "both"}


def provenance(tables: list[str]) -> dict[str, Any]:
    stage = {"finished": "2026-11-01T00:00:00Z", "fingerprint": "f" * 64, "identity": IDENTITY}
    stage |= {"counts": {"scored": 7}}
    model = {"name": "a|b<c>", "type": "bert", "layers": 2, "width": 3, "fingerprint": "d" * 64}
    return {"model": model, "stages": {"topk": stage}, "tables": dict.fromkeys(tables, HELD)}


def card(found: dict[str, Any], terms: list[dict[str, str]], licence: str) -> str:
    return write_card(Description(provenance=found, terms=terms, licence=licence))


def test_the_card_has_a_config_and_a_query_for_every_table() -> None:
    terms = [{"dataset": "d: [x]", "source": "a.csv", "terms": "CC0"}]
    tables = ["activations", *TABLES]
    text = card(provenance(tables), terms, "cc-by-4.0")
    head = yaml.safe_load(text.split("---\n")[1])
    assert head["license"] == "cc-by-4.0"
    assert {c["config_name"]: c["data_files"] for c in head["configs"]} == {
        table.replace("/", "-"): f"{table}/*.parquet" for table in tables
    }
    assert [c["config_name"] for c in head["configs"] if c.get("default")] == ["topk"]
    for table in tables:
        assert query(table) in text
        assert f"### {table.replace('/', '-')}\n" in text
    assert "a\\|b&lt;c&gt;" in text, "a name cannot end a cell or begin a tag"
    assert "license" not in yaml.safe_load(card(provenance(tables), terms, "").split("---\n")[1])


@pytest.mark.parametrize(
    ("rows", "size"),
    [
        (0, "n<1K"),
        (999, "n<1K"),
        (1_000, "1K<n<10K"),
        (999_999_999, "100M<n<1B"),
        (10**9, "1B<n<10B"),
        (10**12 - 1, "100B<n<1T"),
        (10**12, "n>1T"),
        (10**15, "n>1T"),
    ],
)
def test_the_card_says_how_many_rows_there_are(rows: int, size: str) -> None:
    about = provenance(["topk"])
    about["tables"]["topk"] = HELD | {"rows": rows}
    assert yaml.safe_load(card(about, [], "").split("---\n")[1])["size_categories"] == [size]


def test_the_card_says_that_weights_are_random() -> None:
    about = provenance(["topk"])
    about["model"] |= {"name": "random:a|b", "seed": 3}
    text = card(about, [{"dataset": "d", "source": "a.csv", "terms": "CC0"}], "")
    assert yaml.safe_load(text.split("---\n")[1])["pretty_name"] == "Neurons of a|b, random weights (seed 3) over d"
    assert "| weights | drawn at random with seed 3" in text
    assert "random" not in card(provenance(["topk"]), [], "")


def test_the_query_of_every_table_runs_in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(str(tmp_path))
    for name in ("activations", *TABLES):
        columns = activations_schema({1: 3, 2: 3}) if name == "activations" else TABLES[name].arrow
        kept = pa.schema([field for field in columns if field.name != "meta"])
        write_part(store, name, 0, kept, [], "f")
    monkeypatch.chdir(tmp_path)
    assert [name for name in ("activations", *TABLES) if duckdb.sql(query(name).rstrip(";")).fetchall()] == []


def test_a_query_asks_for_a_unit_that_the_run_has() -> None:
    assert "layer = 3 and unit = 0" in query("topk", 3)


def test_terms_are_those_given_or_those_known() -> None:
    sources = [
        {"source": "wikipedia", "dataset": "wikipedia"},
        {"source": "hf:org/set:config", "dataset": "set"},
        {"source": "reviews=/home/me/secret/a.csv", "dataset": "reviews"},
        {"source": "/home/me/b.csv", "dataset": "b"},
    ]
    found = source_terms(sources, {"reviews": "CC0-1.0"})
    assert [t["terms"].split(" (see")[0] for t in found] == [TERMS["wikipedia"], UNKNOWN, "CC0-1.0", UNKNOWN]
    assert "huggingface.co/datasets/org/set" in found[1]["terms"]
    assert [t["source"] for t in found] == ["wikipedia", "hf:org/set:config", "reviews=a.csv", "b.csv"]
    with pytest.raises(InputError, match="--source-license films: the run has no such data set"):
        source_terms(sources, {"films": "CC0"})
    assert set(PRESETS) <= set(TERMS)


def test_terms_are_read_from_the_command_line() -> None:
    assert parse_terms(("a=CC0", "b = x=y")) == {"a": "CC0", "b": "x=y"}
    for wrong in ("a", "=x", "a="):
        with pytest.raises(InputError, match="--source-license"):
            parse_terms((wrong,))


def test_the_provenance_has_tables_with_rows_and_no_place() -> None:
    file = {"name": "topk/part-00000.parquet", "rows": 2, "bytes": 5, "fingerprint": "f"}
    stage = {"started": "a", "finished": "b", "seconds": 1.0, "fingerprint": "f", "counts": {}, "config": {"out": "/x"}}
    run = {"tool": "neuron-atlas", "schema_version": "1", "versions": {}, "model": {"name": "/home/me/model"}}
    run |= {"stages": {"topk": {**stage, "identity": {"corpus": "/home/me/a.csv"}}}}
    run |= {"tables": {"topk": [file, file], "psi/figures": [file]}}
    found = provenance_of(run, ["topk"], ["topk", "neurons", "psi/figures"])
    assert found["tables"] == {"topk": {"rows": 4, "bytes": 10, "fingerprint": "f"}}
    assert "/home" not in json.dumps(found)
    assert "config" not in found["stages"]["topk"]
