"""Any source: ingest ends by itself, says in one line what is wrong, and adds up."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobs.engine.item import Item, Worker
from jobs.ingest import job as ingest
from jobs.stage import runner
from tests.fuzz.promises import check_ingest
from tests.fuzz.sources import DAMAGES, FORMATS, GENERATORS, damaged, ordinary

# Where, by what share of the file, and what happens there.
DAMAGE = st.tuples(st.floats(0, 1), st.sampled_from(DAMAGES), st.binary(min_size=1, max_size=6))


@pytest.fixture(scope="module")
def tiny(make_model: Callable[..., Path], small_bert: Any) -> str:
    """A model whose files are read in no time: what is tested is the reading of sources."""
    return str(make_model(small_bert))


@pytest.fixture
def no_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers of this process, one after another."""

    def in_turn(items: list[Item], make: Callable[..., Worker], args: Item, **_: object) -> Iterator[Item]:
        worker = make(**args)
        return (worker(item, None) for item in items)

    monkeypatch.setattr(runner, "fan_out", in_turn)


@pytest.mark.parametrize("suffix", FORMATS)
@given(
    kind=st.sampled_from(GENERATORS),
    damage=st.lists(DAMAGE, max_size=3),
    on_error=st.sampled_from(["fail", "reject"]),
    split=st.sampled_from(["sentences", "none"]),
    limit=st.sampled_from([[], ["--limit", "1"], ["--limit", "10"]]),
)
@settings(derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_source(
    no_ray: None, tiny: str, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str], suffix: str,
    kind: Any, damage: list[tuple[float, str, bytes]], on_error: str, split: str, limit: list[str],
) -> None:  # fmt: skip
    folder = tmp_path_factory.mktemp("fuzz")
    source, out = folder / f"a{suffix}", folder / "run"
    data = FORMATS[suffix](kind(Random(0), ordinary(Random(0), 24)))
    for share, how, filler in damage:
        data = damaged(data, share, how, filler)
    source.write_bytes(data)
    argv = ["--out", str(out), "--corpus", str(source), "--model", tiny, "--shard-size", "7", "--workers", "1", *limit]
    status, lines = ingest.JOB.main([*argv, "--on-error", on_error, "--split", split]), capsys.readouterr().err
    if status == 0:
        counts: dict[str, Any] = json.loads((out / "run.json").read_text())["stages"]["ingest"]["counts"]
        corpus, rejects = (pq.read_table(out / name) for name in ("corpus", "rejects"))
        assert check_ingest(counts, corpus, rejects.num_rows) == []
    else:
        assert status == 2, lines
        assert damage or kind is not GENERATORS[0], lines
        assert lines.splitlines()[-1].startswith("error: ")
        assert source.name in lines.splitlines()[-1]
        assert not (out / "run.json").exists()
