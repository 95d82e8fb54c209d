"""The frame of the side jobs: what is missing is done, once, in the seeded order, and options are refused by name."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from ray.data import ActorPoolStrategy

from jobs.engine.fan_out import fan_out
from jobs.engine.item import Item
from jobs.ingest import job as ingest
from jobs.ingest.job import IngestConfig
from jobs.options.configs import CorpusPassConfig, SampledPassConfig, part_of
from jobs.run_folder.run import Run
from jobs.stage import corpus_pass, placement, runner
from jobs.stage.checks import check_pass
from jobs.stage.corpus_pass import CorpusPass, begin_pass, group_size, part_rows
from jobs.stage.outputs import shard_file
from jobs.stage.placement import Placement, choose_placement
from jobs.stage.step import Made
from ops.errors import InputError
from ops.sampling import MEASURED, draw

STAGE = "mixing"


def read_ids(item: Item) -> Made:
    """Make a table of the ids of an item."""
    return {shard_file(STAGE, item["shard"]): pa.table({"sent_id": range(*item["span"])})}


@pytest.fixture
def config(tmp_path: Path) -> CorpusPassConfig:
    source = tmp_path / "a.txt"
    source.write_text("".join(f"This is sentence number {i} of the text.\n" for i in range(45)))
    options = {"out": str(tmp_path / "run"), "corpus": (str(source),), "shard_size": 10, "workers": 2}
    return CorpusPassConfig.model_validate(options)


def start(config: CorpusPassConfig, per_group: int = 1, **depends_on: Any) -> CorpusPass | None:
    """Begin a pass; None where it was done before."""
    facts, tokenizer = check_pass(config, Run(config.out))
    ingest.JOB.run(part_of(config, IngestConfig, redo=False))
    return begin_pass(STAGE, config, Run(config.out), facts, tokenizer, depends_on, per_group=per_group)


def test_only_what_is_missing_is_done(config: CorpusPassConfig) -> None:
    job = start(config)
    assert job is not None
    job.stage.do(job.shard_step(read_ids, {}))
    assert [output.is_whole(job.stage.store, job.stage.fingerprint) for output in job.partials] == [True] * 5
    paths = [output.path for output in job.partials]
    times = {p: (Path(config.out) / p).stat().st_mtime_ns for p in paths}
    (Path(config.out) / paths[3]).unlink()
    again = start(config)
    assert again is not None
    assert [row["sentences"] for row in again.stage.do(again.shard_step(read_ids, {}))] == [10]
    after = {p: (Path(config.out) / p).stat().st_mtime_ns for p in paths}
    assert [p for p in paths if times[p] != after[p]] == [paths[3]]
    with pytest.raises(RuntimeError, match="mixing: of 45 sentences 40 were scored and 4 not"):
        again.accounted(40, 4, {})
    again.stage.finish(again.accounted(44, 1, {"unscored_why": "a test"}))
    assert start(config) is None
    assert not (Path(config.out) / "_partials" / STAGE).exists()
    assert Run(config.out).require(STAGE)["counts"]["scored"] == 44


def test_groups_of_shards_share_a_partial_file(config: CorpusPassConfig, capsys: pytest.CaptureFixture[str]) -> None:
    ingest.JOB.run(part_of(config, IngestConfig))
    job = start(config, per_group=5)
    assert job is not None
    assert len(job.shards) == 1
    job.stage.do(job.shard_step(read_ids, {}))
    assert "1 shard for 2 workers" in capsys.readouterr().err
    with job.stage.store.parquet(job.partials[0].path) as file:
        assert file.read()["sent_id"].to_pylist() == list(range(45))
    with pytest.raises(InputError, match="per_group"):
        start(config, per_group=2)
    with pytest.raises(InputError, match="no finite value"):
        job.accounted(0, 45, {})


def test_groups_keep_the_partial_files_small() -> None:
    assert group_size(10, 140_000_000) == 1
    assert group_size(820, 281_000_000) == 15
    assert group_size(3, 10**12) == 3


def test_a_sample_is_spread_over_the_parts_that_hold_it(config: CorpusPassConfig) -> None:
    sampled = SampledPassConfig.model_validate({**config.model_dump(), "sentences": 5})
    for per_group in (1, 2):
        job = start(sampled, per_group)
        assert job is not None
        items = sorted(job.shard_step(read_ids, {}).items, key=lambda item: item["shard"])
        read = [(part, ids) for item in items for part, ids in part_rows(item) if ids is not None]
        assert [i for _, ids in read for i in ids.tolist()] == job.sample.tolist() == draw(45, 5, 0, MEASURED).tolist()
        assert all(i // 10 == part for part, ids in read for i in ids.tolist())
        assert [item["place"] for item in items] == list(range(len(items)))
        assert [item["shard"] for item in items] == job.numbers
        assert sum(item["sentences"] for item in items) == job.sentences == 5
        Run(config.out).forget(STAGE)
    whole = start(SampledPassConfig.model_validate({**config.model_dump(), "sentences": 45}))
    assert whole is not None
    assert (whole.sample, whole.sentences) == (None, 45), "a sample of everything is no other measurement"
    assert "sentences" not in whole.stage.entry["identity"]


def test_other_options_are_refused_by_name(config: CorpusPassConfig) -> None:
    assert start(config, pack=0) is not None
    with pytest.raises(InputError, match=r"mixing was begun with other options: pack \(was 0, is 128\)"):
        start(config, pack=128)
    with pytest.raises(InputError, match="token_budget"):
        start(config.model_copy(update={"token_budget": 64}), pack=0)
    assert start(config.model_copy(update={"workers": 1, "prefetch": 5}), pack=0) is not None
    assert start(config.model_copy(update={"redo": True}), pack=128) is not None


@pytest.mark.usefixtures("actors")
@pytest.mark.parametrize(("holds", "ahead"), [({"gpus": 1}, 5), ({"cpus": 1}, 2)])
def test_workers_on_gpus_have_the_shards_with_them_that_were_asked_for(
    config: CorpusPassConfig, monkeypatch: pytest.MonkeyPatch, holds: dict[str, Any], ahead: int
) -> None:
    pools: list[ActorPoolStrategy] = []

    def planned(*given: Any) -> None:
        pools.extend(one for one in given if isinstance(one, ActorPoolStrategy))

    monkeypatch.setattr(corpus_pass, "choose_placement", lambda *_: Placement("cpu", 2048, 1, 2, holds))
    job = start(config.model_copy(update={"prefetch": 5}))
    assert job is not None
    monkeypatch.setattr(runner, "fan_out", fan_out)
    monkeypatch.setattr("jobs.engine.stream.planned", planned)
    monkeypatch.setattr("jobs.engine.stream.stream", lambda *given: iter(()))
    monkeypatch.setattr("jobs.engine.fan_out.connect", lambda cpus: None)
    job.stage.do(job.shard_step(read_ids, {}, lambda item: None))
    assert [pool.max_tasks_in_flight_per_actor for pool in pools] == [ahead]


def test_what_does_not_fit_is_refused(
    config: CorpusPassConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placement, "has_gpus", lambda: False)
    bare = CorpusPassConfig(out=str(tmp_path / "new"))
    with pytest.raises(InputError, match="corpus/ is missing"):
        check_pass(bare, Run(bare.out))
    with pytest.raises(InputError, match="--limit: is an option of ingest"):
        check_pass(CorpusPassConfig(out=bare.out, limit=5), Run(bare.out))
    for options, named in (({"device": "cuda"}, "--device cuda"), ({"gpus": 2}, "--gpus 2")):
        asked = config.model_copy(update=options)
        with pytest.raises(InputError, match=f"{named}: there is no GPU here"):
            check_pass(asked, Run(config.out))
        with pytest.raises(InputError, match=f"{named}: there is no GPU here"):
            choose_placement(asked, Run(config.out), STAGE)


@pytest.mark.parametrize(
    ("options", "device", "workers", "said"),
    [
        ({"device": "cuda"}, "cuda", None, ""),
        ({"device": "cuda", "gpus": 8, "workers": 2}, "cuda", 2, ""),
        ({"gpus": 3}, "cuda", 3, ""),
        ({}, "cpu", None, "ask for GPUs with --device cuda or --gpus N"),
        ({"workers": 5}, "cpu", 5, "no GPU is up on the cluster"),
    ],
)
def test_on_a_cluster_nothing_counts_the_machines_that_are_up(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    options: dict[str, Any],
    device: str,
    workers: int | None,
    said: str,
) -> None:
    monkeypatch.setattr(placement, "has_gpus", lambda: False)
    monkeypatch.setattr(placement, "gpus_to_come", list)
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    asked: list[int] = []
    monkeypatch.setattr(placement, "on_a_gpu", lambda do, name, others: asked.append(others) or 24 * 10**9)
    config = CorpusPassConfig.model_validate({"out": str(tmp_path), **options})
    placed = choose_placement(config, Run(config.out), STAGE)
    assert (placed.device, placed.workers) == (device, workers)
    # One GPU is started to measure its memory, and the others that will be needed boot at the same time.
    assert (asked, placed.token_budget) == (([(workers or 1) - 1], 32_768) if device == "cuda" else ([], 2_048))
    assert placed.holds == ({"gpus": 1} if device == "cuda" else {"cpus": 1})
    assert placed.reads_ahead == (device == "cuda")
    assert said in capsys.readouterr().err


def test_where_gpus_may_come_the_user_chooses(monkeypatch: pytest.MonkeyPatch, config: CorpusPassConfig) -> None:
    monkeypatch.setattr(placement, "has_gpus", lambda: False)
    monkeypatch.setattr(placement, "gpus_to_come", lambda: ["gpu", "big"])
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    bare = {name: value for name, value in config.model_dump().items() if name not in ("device", "gpus")}
    with pytest.raises(InputError, match=r"^--device auto: .* \(gpu, big\) .*--device cuda or --gpus N .*--device cpu"):
        check_pass(CorpusPassConfig.model_validate(bare), Run(config.out))
    monkeypatch.setattr(placement, "on_a_gpu", lambda *_: 80 * 10**9)
    for chosen, device in (({"device": "cpu"}, "cpu"), ({"device": "cuda"}, "cuda"), ({"gpus": 2}, "cuda")):
        asked = CorpusPassConfig.model_validate({**bare, **chosen})
        assert choose_placement(asked, Run(config.out), STAGE).device == device


def test_a_stage_keeps_the_batches_that_it_was_begun_with(config: CorpusPassConfig) -> None:
    def budget(**options: Any) -> int:
        job = start(config.model_copy(update=options))
        assert job is not None
        assert Run(config.out).under_way(STAGE)["config"]["token_budget"] == job.args.token_budget
        return job.args.token_budget

    assert budget(token_budget=64) == 64
    assert budget() == 64
    with pytest.raises(InputError, match=r"token_budget \(was 64, is 2048\)"):
        budget(token_budget=2_048)
    # Done again it has batches of its own, and what is left of that when it is killed keeps those.
    assert budget(redo=True, token_budget=32) == 32
    assert [budget(redo=True), budget()] == [32, 32]
    job = start(config)
    assert job is not None
    job.stage.finish(job.accounted(45, 0, {}))
    assert start(config) is None
    assert budget(redo=True) == 2_048


def test_a_gpu_has_batches_by_its_memory_unless_the_stage_was_begun(
    config: CorpusPassConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, kind = 40 * 10**9, "NVIDIA A100"
    monkeypatch.setattr(placement, "on_gpus", lambda _: True)
    monkeypatch.setattr(placement, "gpu_bytes", lambda: found)
    monkeypatch.setattr(placement, "gpu_kind", lambda: kind)

    def budget(**options: Any) -> int:
        job = start(config.model_copy(update=options))
        assert job is not None
        return job.args.token_budget

    assert budget() == 65_536
    found = 80 * 10**9
    assert budget() == 65_536
    assert budget(redo=True) == 131_072
    kind = "NVIDIA H100"
    with pytest.raises(InputError, match=r"gpu \(was NVIDIA A100, is NVIDIA H100\)"):
        budget()
    # On CPUs nothing of that counts.
    monkeypatch.setattr(placement, "on_gpus", lambda _: False)
    with pytest.raises(InputError, match=r"token_budget \(was 131072, is 2048\)"):
        budget()


def test_a_gpu_that_torch_does_not_see_is_named_and_a_dry_run_asks_for_none(
    config: CorpusPassConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placement, "on_gpus", lambda _: True)
    monkeypatch.setattr(placement, "gpu_bytes", lambda: None)
    with pytest.raises(InputError, match="mixing ran on a machine whose GPU PyTorch cannot use"):
        choose_placement(config, Run(config.out), STAGE)
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    dry = config.model_copy(update={"dry_run": True})
    assert choose_placement(dry, Run(config.out), STAGE).token_budget == 131_072
