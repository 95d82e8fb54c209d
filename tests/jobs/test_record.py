"""What a stage's results follow from, and what goes when they are dropped."""

from pathlib import Path

import pytest

from jobs.stage.layout import STAGES, shard_file, stages_after, stages_read
from jobs.stage.record import Run
from ops.errors import InputError


def test_what_follows_from_what_is_followed_to_the_end() -> None:
    assert stages_read("mine") == ["ingest", "topk", "annotate"]
    assert stages_read("psi") == []
    assert stages_after("ingest") == ["topk", "annotate", "mine", "psi/contextual", "mixing"]
    assert stages_after("topk") == ["annotate", "mine"]
    assert stages_after("psi") == []


@pytest.mark.parametrize("stage", STAGES)
def test_no_stage_has_its_files_among_another_s(stage: str) -> None:
    folders = [(name, folder) for name, facts in STAGES.items() for folder in (*facts.tables, facts.partials)]
    own = [*STAGES[stage].tables, STAGES[stage].partials]
    assert not [n for n, f in folders if n != stage and any(f == o or f.startswith(f"{o}/") for o in own)]


def begun(out: Path, *stages: str) -> Run:
    """A run whose stages are complete, each with a table and a partial file."""
    run = Run(str(out))
    for name in stages:
        run.begin(name, {}, {}, False)
        run.finish(name, {}, 0.0)
        for path in (f"{STAGES[name].tables[0]}/part-00000.parquet", shard_file(name, 0).path):
            run.store.commit(path, lambda local: Path(local).touch())
    return run


def test_dropping_the_static_part_of_psi_leaves_what_the_contextual_part_has_under_way(tmp_path: Path) -> None:
    run = begun(tmp_path, "ingest", "psi", "psi/contextual")
    run.begin("psi", {}, {}, redo=True)
    assert not run.store.exists(shard_file("psi", 0).path)
    assert run.store.exists(shard_file("psi/contextual", 0).path)
    assert run.complete("psi/contextual")


def test_dropping_the_corpus_drops_all_that_follows_from_it(tmp_path: Path) -> None:
    run = begun(tmp_path, "ingest", "topk", "annotate", "mine", "psi", "psi/contextual", "mixing")
    run.drop("ingest")
    assert [name for name in STAGES if run.stage(name)] == ["psi"]
    left = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*.parquet"))
    assert left == [shard_file("psi", 0).path, "psi/vocabulary/part-00000.parquet"]


def test_a_run_of_another_schema_is_refused_by_one_line(tmp_path: Path) -> None:
    run = begun(tmp_path, "ingest")
    run.record["schema_version"] = "1"
    run.save()
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    with pytest.raises(InputError, match=r"tables are of schema 1, .* writes schema \d+: name another"):
        Run(str(tmp_path))
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


def test_the_record_names_this_program_s_version(tmp_path: Path) -> None:
    assert begun(tmp_path, "ingest").record["versions"]["neuron-atlas"].count(".") == 2
