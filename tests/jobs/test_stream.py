"""The frame of the side jobs: what is missing is done, once, in the seeded order, and options are refused by name."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs import _stream, ingest
from jobs._config import part_of
from jobs._partials import partial
from jobs._record import Run
from jobs._stream import SideConfig
from jobs.ingest import IngestConfig
from ops.errors import InputError
from ops.storage.store import Store, is_whole, shard_footer

STAGE = "mixing"


class Counter:
    """Commits the ids of its item."""

    def __init__(self, out: str, fingerprint: str) -> None:
        self.store, self.fingerprint = Store(out), fingerprint

    def __call__(self, item: dict[str, Any], prepared: Any) -> dict[str, Any]:
        first, stop = item["span"]
        number = item["shard"]
        footer = shard_footer(self.fingerprint, f"shard-{number}", stop - first)
        table = pa.table({"sent_id": range(first, stop)}).replace_schema_metadata(footer)
        self.store.commit(partial(STAGE, number), lambda path: pq.write_table(table, path))
        return {"sentences": stop - first, "parts": item["parts"]}


@pytest.fixture
def config(tmp_path: Path) -> SideConfig:
    source = tmp_path / "a.txt"
    source.write_text("".join(f"This is sentence number {i} of the text.\n" for i in range(45)))
    options = {"out": str(tmp_path / "run"), "corpus": (str(source),), "shard_size": 10, "workers": 2}
    return SideConfig.model_validate(options)


def start(config: SideConfig, per_group: int = 1, **identity: Any) -> _stream.Pass | None:
    facts, tokenizer = _stream.prepare(config, Run(config.out))
    _stream.read_sources(config)
    return _stream.start(STAGE, config, facts, tokenizer, identity, per_group)


def test_only_what_is_missing_is_done(shared_ray: None, config: SideConfig) -> None:
    job = start(config)
    assert job is not None
    args = {"out": config.out, "fingerprint": job.fingerprint}
    job.each_shard(Counter, args)
    assert [is_whole(job.record.store, p, job.fingerprint, f"shard-{i}") for i, p in enumerate(job.partials)] == [
        True
    ] * 5
    times = {p: (Path(config.out) / p).stat().st_mtime_ns for p in job.partials}
    (Path(config.out) / job.partials[3]).unlink()
    again = start(config)
    assert again is not None
    again.each_shard(Counter, args)
    after = {p: (Path(config.out) / p).stat().st_mtime_ns for p in again.partials}
    assert [p for p in times if times[p] != after[p]] == [job.partials[3]]
    with pytest.raises(RuntimeError, match="mixing: of 45 sentences 40 were scored and 4 not"):
        again.finish(40, 4, {})
    again.finish(44, 1, {"unscored_why": "a test"})
    assert start(config) is None
    assert not (Path(config.out) / "_partials" / STAGE).exists()
    assert Run(config.out).require(STAGE)["counts"]["scored"] == 44


def test_groups_of_shards_share_a_partial_file(config: SideConfig, capsys: pytest.CaptureFixture[str]) -> None:
    ingest.run(part_of(config, IngestConfig))
    job = start(config, per_group=5)
    assert job is not None
    assert len(job.shards) == 1
    job.each_shard(Counter, {"out": config.out, "fingerprint": job.fingerprint})
    assert "1 shards for 2 workers" in capsys.readouterr().err
    with job.record.store.parquet(job.partials[0]) as file:
        assert file.read()["sent_id"].to_pylist() == list(range(45))
    with pytest.raises(InputError, match="per_group"):
        start(config, per_group=2)
    with pytest.raises(InputError, match="no finite value"):
        job.finish(0, 45, {})


def test_other_options_are_refused_by_name(config: SideConfig) -> None:
    assert start(config, pack=0) is not None
    with pytest.raises(InputError, match=r"mixing was run with other options: pack \(was 0, is 128\)"):
        start(config, pack=128)
    with pytest.raises(InputError, match="token_budget"):
        start(config.model_copy(update={"token_budget": 64}), pack=0)
    assert start(config.model_copy(update={"workers": 1}), pack=0) is not None
    assert start(config.model_copy(update={"redo": True}), pack=128) is not None


def test_what_does_not_fit_is_refused(config: SideConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_stream, "has_gpus", lambda: False)
    bare = SideConfig(out=str(tmp_path / "new"))
    with pytest.raises(InputError, match="corpus/ is missing"):
        _stream.prepare(bare, Run(bare.out))
    with pytest.raises(InputError, match="--limit: is an option of ingest"):
        _stream.prepare(SideConfig(out=bare.out, limit=5), Run(bare.out))
    with pytest.raises(InputError, match="--device cuda"):
        _stream.prepare(config.model_copy(update={"device": "cuda"}), Run(config.out))


def test_a_cluster_whose_gpus_are_not_up_yet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(_stream, "has_gpus", lambda: False)
    monkeypatch.setattr(_stream, "on_cluster", lambda: True)
    monkeypatch.setattr(_stream, "pool_size", lambda asked, threads, gpu: 1 if asked == "auto" else asked)
    asked = {"cuda": ("cuda", 1, "--workers N asks for N"), "auto": ("cpu", 1, "--device cuda --workers N")}
    for device, (expected, workers, said) in asked.items():
        place = _stream.choose_place(SideConfig.model_validate({"out": str(tmp_path), "device": device}))
        assert (place.device, place.workers) == (expected, workers)
        assert said in capsys.readouterr().err
    place = _stream.choose_place(SideConfig.model_validate({"out": str(tmp_path), "device": "cuda", "workers": 8}))
    assert (place.device, place.workers, place.holds) == ("cuda", 8, {"gpus": 1})
    assert capsys.readouterr().err == ""
