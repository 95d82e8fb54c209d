"""What a stage's results depend on, which files belong to them, and what is kept until the new are complete."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from jobs.mine import steps as mine
from jobs.mine.job import MineConfig
from jobs.options.configs import StageConfig
from jobs.run_folder import run
from jobs.run_folder.run import Run
from jobs.run_folder.stages import STAGES, stages_after, stages_read
from jobs.stage.dry_run import open_run
from jobs.stage.outputs import shard_file
from ops.errors import InputError, LostRunError
from ops.schema import TABLES
from ops.storage import lock
from ops.storage.store import Store, attempt_name
from ops.storage.tables import write_part


@pytest.fixture(autouse=True)
def no_beats(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop heartbeats: jobs "killed" here share this process, so theirs would continue."""
    monkeypatch.setattr(lock, "BEAT_S", 3600.0)


def test_what_follows_from_what_is_followed_to_the_end() -> None:
    assert stages_read("mine") == ["ingest", "topk", "annotate"]
    assert stages_read("psi") == []
    after_topk = ["annotate", "mine", "explain", "tokens"]
    compared = [
        f"compare/{part}" for part in ("dimensions", "diversity", "groups", "neighbours", "matches", "runs", "shift")
    ]
    assert stages_after("ingest") == [name for name in STAGES if name not in ("ingest", "psi")]
    assert stages_after("topk") == [
        *after_topk,
        "audit",
        "outputs",
        "contrast",
        *compared,
        "compare/ablation",
        "report",
    ]
    after_mine = ["explain", "tokens", "audit"]
    after_mine += ["compare/dimensions", "compare/groups", "compare/runs", "compare/ablation"]
    assert stages_after("mine") == [*after_mine, "report"]
    assert stages_after("tokens") == []
    assert stages_after("psi") == []


def test_no_stage_has_its_files_among_another_s() -> None:
    folders = [(name, folder) for name, facts in STAGES.items() for folder in (*facts.tables, facts.partials)]
    assert not [
        (own, other)
        for own, folder in folders
        for other, within in folders
        if own != other and (within == folder or within.startswith(f"{folder}/"))
    ]


def write(run: Run, stage: str, fingerprint: str, parts: int = 1) -> None:
    """What a stage writes: parts of its first table, and a partial file."""
    table = STAGES[stage].tables[0]
    rows = pa.table({name: [1, 2, 3] for name in TABLES[table].order})
    for part in range(parts):
        write_part(run.store_of(stage), table, part, rows.schema, [rows], fingerprint)
    run.store.commit(shard_file(stage, 0).path, lambda local: Path(local).touch())


def do(out: Path, stage: str, identity: dict[str, Any] | None = None, redo: bool = False, parts: int = 1) -> None:
    """One job that does one stage."""
    run = Run(str(out))
    fingerprint = run.begin(stage, identity or {}, {}, redo)
    assert fingerprint is not None
    write(run, stage, fingerprint, parts)
    run.finish(stage, {}, 0.0, keep_partials=True)
    run.release()


def begun(out: Path, *stages: str) -> Run:
    """A run whose stages are complete, each with a table and a partial file."""
    for name in stages:
        do(out, name)
    return Run(str(out))


def tables(out: Path) -> list[str]:
    return sorted(str(p.relative_to(out)) for p in out.rglob("*.parquet") if "_partials" not in p.parts)


def test_the_static_part_of_psi_leaves_what_the_contextual_part_has_under_way(tmp_path: Path) -> None:
    run = begun(tmp_path, "ingest", "psi", "psi/contextual")
    run.begin("psi", {}, {}, redo=True)
    run.release()
    assert not run.store.exists(shard_file("psi", 0).path)
    assert run.store.exists(shard_file("psi/contextual", 0).path)
    assert run.complete("psi/contextual")


def test_a_new_corpus_takes_all_that_follows_from_the_old_one_with_it(tmp_path: Path) -> None:
    begun(tmp_path, "ingest", "topk", "annotate", "mine", "tokens", "psi", "psi/contextual", "mixing", "positions")
    do(tmp_path, "ingest", {"seed": 1}, redo=True)
    assert [name for name in STAGES if Run(str(tmp_path)).stage(name)] == ["ingest", "psi"]
    assert tables(tmp_path) == ["corpus/part-00000.parquet", "psi/vocabulary/part-00000.parquet"]


def test_a_stage_that_is_done_again_keeps_its_results_until_the_new_ones_are_whole(tmp_path: Path) -> None:
    begun(tmp_path, "ingest", "topk", "annotate")
    before = {p: p.read_bytes() for p in tmp_path.rglob("*.parquet") if "_partials" not in p.parts}
    killed = Run(str(tmp_path))
    fingerprint = killed.begin("topk", {"k": 5}, {}, redo=True)
    write(killed, "topk", str(fingerprint), parts=3)
    # A job killed at this point keeps the previous results, and everything that depends on them.
    run = Run(str(tmp_path))
    assert (run.complete("topk"), run.complete("annotate"), run.require("topk")["identity"].get("k")) == (
        True, True, None,
    )  # fmt: skip
    run.check_files("topk", "annotate", footers=True)
    assert {p: p.read_bytes() for p in tmp_path.rglob("*.parquet") if "_partials" not in p.parts} == before
    # With the previous options there is nothing to do; others are refused; those of the killed job resume.
    assert Run(str(tmp_path)).begin("topk", {}, {}, redo=False) is None
    with pytest.raises(InputError, match=r"k \(was not given, is 6\); .* --redo to replace these results"):
        Run(str(tmp_path)).begin("topk", {"k": 6}, {}, redo=False)
    for redo in (True, False):
        run = Run(str(tmp_path))
        assert run.begin("topk", {"k": 5}, {}, redo) == fingerprint
        assert len(run.store_of("topk").table_files("topk")) == 3
    run.finish("topk", {}, 0.0)
    assert tables(tmp_path) == ["corpus/part-00000.parquet", *(f"topk/part-0000{i}.parquet" for i in range(3))]
    assert not Run(str(tmp_path)).stage("annotate")
    assert "redo" not in Run(str(tmp_path)).require("topk")


def test_another_redo_begins_anew_and_one_of_fewer_parts_leaves_no_others(tmp_path: Path) -> None:
    do(tmp_path, "ingest", {"shard_size": 1}, parts=5)
    killed = Run(str(tmp_path))
    write(killed, "ingest", str(killed.begin("ingest", {"shard_size": 2}, {}, redo=True)), parts=4)
    do(tmp_path, "ingest", {"shard_size": 3}, redo=True, parts=2)
    assert tables(tmp_path) == ["corpus/part-00000.parquet", "corpus/part-00001.parquet"]
    files = json.loads((tmp_path / "run.json").read_text())["tables"]["corpus"]
    assert [(f["name"], f["rows"]) for f in files] == [(f"corpus/part-0000{i}.parquet", 3) for i in range(2)]
    assert [f["bytes"] for f in files] == [(tmp_path / f["name"]).stat().st_size for f in files]
    assert {f["fingerprint"] for f in files} == {Run(str(tmp_path)).require("ingest")["fingerprint"]}


@pytest.mark.parametrize("kill", range(6))
def test_a_job_killed_while_it_puts_tables_in_place_is_finished_by_the_next(
    tmp_path: Path, kill: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    do(tmp_path, "ingest", {"seed": 0}, parts=3)
    do(tmp_path, "topk")

    class KilledError(BaseException):
        pass

    steps = 0

    def killing(change: Callable[..., None]) -> Callable[..., None]:
        def changed(*args: Any) -> None:
            nonlocal steps
            steps += 1
            if steps > kill:
                raise KilledError
            change(*args)

        return changed

    run = Run(str(tmp_path))
    write(run, "ingest", str(run.begin("ingest", {"seed": 1}, {}, redo=True)), parts=2)
    with monkeypatch.context() as patch:
        patch.setattr(Store, "place", killing(Store.place))
        patch.setattr(Store, "delete", killing(Store.delete))
        with pytest.raises(KilledError):
            run.finish("ingest", {}, 0.0)
    again = Run(str(tmp_path))
    again.hold("topk")
    again.check_files("ingest", footers=True)
    again.release()
    assert tables(tmp_path) == ["corpus/part-00000.parquet", "corpus/part-00001.parquet"]
    assert again.require("ingest")["identity"] == {"seed": 1, "method": STAGES["ingest"].method}
    assert not again.stage("topk")
    assert "publishing" not in json.loads((tmp_path / "run.json").read_text())


@pytest.mark.parametrize("name", ["run.json", "_lock.json"])
def test_an_unfinished_file_of_a_killed_job_goes_with_the_next_one(tmp_path: Path, name: str) -> None:
    do(tmp_path, "ingest")
    unfinished, own = tmp_path / attempt_name(name), tmp_path / ".notes"
    unfinished.write_text("{")
    own.write_text("mine")
    run = Run(str(tmp_path))
    assert unfinished.exists(), "a reader deletes nothing"
    run.hold("topk")
    run.release()
    assert not unfinished.exists()
    assert own.exists()
    assert run.complete("ingest")


def test_a_job_that_lost_its_run_leaves_the_record_alone(tmp_path: Path) -> None:
    run = Run(str(tmp_path))
    run.begin("ingest", {}, {}, redo=False)
    (tmp_path / "_lock.json").unlink()
    before = (tmp_path / "run.json").read_bytes()
    with pytest.raises(LostRunError, match="was given back; this job will not write any tables"):
        run.note("ingest", {})
    assert (tmp_path / "run.json").read_bytes() == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f: f.unlink(), "is missing"),
        (lambda f: f.write_bytes(f.read_bytes()[:-1]), r"is not as ingest wrote it \([\d,]+ bytes, not [\d,]+\)"),
        (lambda f: f.write_bytes(bytes(f.stat().st_size)), "is damaged"),
        (lambda f: f.write_bytes(f.read_bytes().replace(b"f" * 64, b"e" * 64)), "belongs to another run"),
    ],
)
def test_a_table_that_is_not_as_it_was_written_is_named_with_what_makes_it_anew(
    tmp_path: Path, change: Callable[[Path], None], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "fingerprint", lambda identity: "f" * 64)
    do(tmp_path, "ingest")
    change(tmp_path / "corpus" / "part-00000.parquet")
    Run(str(tmp_path)).check_files("ingest", only=("rejects",))  # the table is not needed
    before = (tmp_path / "run.json").read_text()
    with pytest.raises(InputError, match=rf"corpus/part-00000.parquet {said}; .* atlas ingest .* --redo"):
        Run(str(tmp_path)).begin("topk", {}, {}, redo=False)
    assert (tmp_path / "run.json").read_text() == before


@pytest.mark.parametrize("keep", [True, False])
def test_partial_files_of_a_job_killed_at_its_end_go_with_the_next_one_unless_they_are_kept(
    tmp_path: Path, keep: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(str(tmp_path))
    write(run, "ingest", str(run.begin("ingest", {}, {}, redo=False)))
    with monkeypatch.context() as patch:
        patch.setattr("jobs.run_folder.run.put_in_place", lambda *_: {}["killed"])
        with pytest.raises(KeyError, match="killed"):
            run.finish("ingest", {}, 0.0, keep_partials=keep)
    again = Run(str(tmp_path))
    assert again.begin("ingest", {}, {}, redo=False) is None
    again.release()
    assert tables(tmp_path) == ["corpus/part-00000.parquet"]
    assert again.store.exists(shard_file("ingest", 0).path) == keep


def test_files_of_others_are_never_read_nor_removed_but_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    do(tmp_path, "ingest")
    do(tmp_path, "topk", parts=2)
    shutil.copy(tmp_path / "topk" / "part-00000.parquet", tmp_path / "topk" / "part-00099.parquet")
    for name in ("topk/notes.txt", "own/x.parquet"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("kept")
    run = Run(str(tmp_path))
    run.check_files("topk", footers=True)
    assert "note: topk/part-00099.parquet: not part of this run and ignored here" in capsys.readouterr().err
    assert run.store.table_files("topk") == ["topk/part-00000.parquet", "topk/part-00001.parquet"]
    do(tmp_path, "topk", {"k": 5}, redo=True)
    assert "kept, because no job wrote it: topk/notes.txt, topk/part-00099.parquet" in capsys.readouterr().err
    assert sorted(p.name for p in (tmp_path / "topk").iterdir()) == [
        "notes.txt", "part-00000.parquet", "part-00099.parquet",
    ]  # fmt: skip
    assert (tmp_path / "own" / "x.parquet").read_text() == "kept"


def test_a_folder_of_others_is_no_run(tmp_path: Path) -> None:
    for name in ("_store", "_partials", "data"):
        (tmp_path / name / name).mkdir(parents=True)
        with pytest.raises(InputError, match=rf"holds other files \({name}\) and no run.json"):
            Run(str(tmp_path / name))


@pytest.fixture
def config(tmp_path: Path) -> StageConfig:
    return StageConfig(out=str(tmp_path))


def ingest(config: StageConfig, limit: int) -> None:
    """Do the stage ingest, with an option of this value."""
    with open_run(config) as run:
        assert run.begin("ingest", {"limit": limit}, {}, redo=False) is not None
        write(run, "ingest", run.under_way("ingest")["fingerprint"])
        run.finish("ingest", {}, 0.0)


def refuse(config: StageConfig, limit: int, redo: bool) -> None:
    with open_run(config) as run:
        run.begin("ingest", {"limit": limit}, {}, redo)
        run.store_of("ingest").commit(shard_file("ingest", 0).path, lambda local: Path(local).touch())
        raise InputError("no such thing")


def test_a_refused_option_does_not_stick(config: StageConfig, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such thing"):
        refuse(config, 0, redo=False)
    assert list(tmp_path.iterdir()) == []
    ingest(config, 1)
    with pytest.raises(InputError, match="no such thing"):
        refuse(config, 2, redo=True)
    again = Run(str(tmp_path))
    assert again.require("ingest")["identity"] == {"limit": 1, "method": STAGES["ingest"].method}
    assert "redo" not in again.require("ingest")
    assert not (tmp_path / "_lock.json").exists()


def test_results_are_offered_to_be_replaced_only_where_there_are_any(config: StageConfig) -> None:
    with open_run(config) as run:
        run.begin("ingest", {"limit": 1}, {}, redo=False)
    said = (
        r"ingest was begun with other options: limit \(was 1, is 2\); give those to resume it, name another --out, or "
    )
    with open_run(config) as run, pytest.raises(InputError, match=rf"{said}--redo to begin it again$"):
        run.begin("ingest", {"limit": 2}, {}, redo=False)
    ingest(config, 1)
    said = r"ingest was run with other options: limit \(was 1, is 2\); name another --out, or "
    with open_run(config) as run, pytest.raises(InputError, match=rf"{said}--redo to replace these results$"):
        run.begin("ingest", {"limit": 2}, {}, redo=False)


@pytest.mark.parametrize("finished", [True, False])
def test_a_stage_of_an_earlier_method_is_neither_continued_nor_taken_for_done(
    config: StageConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, finished: bool
) -> None:
    if finished:
        ingest(config, 1)
    else:
        with open_run(config) as run:
            run.begin("ingest", {"limit": 1}, {}, redo=False)
    monkeypatch.setitem(STAGES, "ingest", replace(STAGES["ingest"], method=STAGES["ingest"].method + 1))
    before = (tmp_path / "run.json").read_bytes()
    what = "ingest was run by another version of this program, which measured differently"
    with open_run(config) as run, pytest.raises(InputError, match=f"{what}; {'its tables' if finished else 'name'}"):
        run.begin("ingest", {"limit": 1}, {}, redo=False)
    assert (tmp_path / "run.json").read_bytes() == before
    with open_run(config) as run:
        assert run.begin("ingest", {"limit": 1}, {}, redo=True) is not None


def test_mine_names_the_stage_to_repeat_where_an_earlier_version_annotated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setitem(STAGES, "annotate", replace(STAGES["annotate"], method=1))
        begun(tmp_path, "ingest", "topk", "annotate")
    config = MineConfig.model_validate({"out": str(tmp_path)})
    what = "annotate was run by another version of this program, and its tables lack data that is required here"
    with open_run(config) as run:
        assert run.require("annotate")["complete"], "it can still be read"
        with pytest.raises(InputError, match=f"{what}; to rebuild sentences/, run atlas annotate .* --redo"):
            mine.mine(config, run)
        assert run.stage("mine") is None


def test_a_run_of_another_schema_is_refused_by_one_line(tmp_path: Path) -> None:
    run = begun(tmp_path, "ingest")
    assert run.record["versions"]["neuron-atlas"].count(".") == 2
    run.record["schema_version"] = "1"
    run.save()
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    with pytest.raises(InputError, match=r"tables are of schema 1, .* writes schema \d+: name another"):
        Run(str(tmp_path))
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before
