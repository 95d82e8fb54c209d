from pathlib import Path

from ops.report.side_pages import figures, side_context, side_jobs
from ops.schema import TABLES
from tests.unit.facts.made_up_audit import audited, literal, pairs
from tests.unit.facts.made_up_rows import write_tables


def test_side_jobs_are_those_with_a_complete_stage_and_their_figures_those_recorded() -> None:
    names = ["mixing/ratios/part-00000.parquet", "mixing/figures/a.svg", "mixing/figures/a.png", "mixing/figures/a.pdf"]
    stages = {name: {"complete": name != "psi"} for name in ("mixing", "compare/groups", "psi", "topk")}
    run = {"stages": stages, "tables": {"mixing/figures": [{"name": name} for name in names]}}
    assert side_jobs(run) == ["mixing", "compare"]
    assert [figure["name"] for figure in figures(run, "mixing")] == ["mixing/figures/a.svg"]
    assert figures(run, "compare") == []


def test_the_page_of_an_audit_opens_with_its_findings_and_has_the_verdicts(tmp_path: Path) -> None:
    rows = {
        "explanations": [{"layer": 1, "unit": 0, "pole": "top", "verdict": "rule"}],
        "audit/neurons": [audited(1, 0, "global"), audited(2, 1, "local"), audited(3, 2, "dataset_detector")],
        "audit/neurons_controls": [],
        "audit/portability": pairs(["books", "news"], 3, 0),
        "audit/portability_controls": [],
        "audit/patterns": [
            literal(1, 0, rank, [0.0, 0.0, 0.0], verdict=v) for rank, v in enumerate(("global", "none"))
        ],
    }
    heard = [{"layer": n + 1, "unit": n, "is_silent": False} for n in range(3)]
    store = write_tables(tmp_path, rows | {"neurons": heard})
    names = {name: [{"name": f"{name}/part-00000.parquet", "rows": len(own)}] for name, own in rows.items()}
    run = {"stages": {"audit": {"complete": True}}, "tables": names}
    found = side_context(store, run, "audit")
    assert found["sentences"][0].startswith("Of 1 neurons and poles with a rule")
    assert list(found["verdicts"]["neurons"].values()) == [1, 0, 0, 0]
    tables = {table["name"]: table for table in found["tables"]}
    verdict = [column.name for column in tables["audit/neurons"]["columns"]].index("verdict")
    assert [row[verdict] for row in tables["audit/neurons"]["rows"]] == ["global", "dataset_detector"]
    assert {name: table["total"] for name, table in tables.items()} == {"audit/neurons": 2, "audit/patterns": 1}
    assert [other["total"] for other in found["others"]] == [len(rows["audit/portability"]), 0, 0]


def test_a_page_shows_what_the_schema_says_but_no_list_of_numbers_and_no_path_of_the_model(tmp_path: Path) -> None:
    row = {"model": "/home/me/model", "layer": 1, "variant": "none", "reference": "default", "n": 1, "mean": 0.5}
    row |= {"std": 0.25, "histogram_edges": [0.0], "histogram_counts": [0, 1]}
    run = {
        "stages": {},
        "tables": {name: [{"name": name, "rows": 7}] for name in ("positions/similarity", "positions/norms")},
    }
    found = side_context(write_tables(tmp_path, {"positions/similarity": [row]}), run, "positions")
    ((table,), (other,)) = found["tables"], found["others"]
    spec = TABLES["positions/similarity"]
    assert (table["row"], tuple(table["columns"])) == (spec.row, spec.columns[1:7])
    assert table["rows"] == [["1", "none", "default", "1", "0.5", "0.25"]]
    assert other == {"name": "positions/norms", "row": TABLES["positions/norms"].row, "total": 7}
