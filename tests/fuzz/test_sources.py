"""Sources of every format, damaged anywhere: ingest ends by itself, says in one line what is wrong, and adds up."""

import contextlib
import csv
import gzip
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobs.engine.item import Item, Worker
from jobs.ingest import job as ingest
from jobs.ingest.job import IngestConfig
from jobs.stage import runner
from jobs.stage.command_line import main
from tests.fuzz.promises import check_ingest

ROWS = [
    {"text": f'Sentence {i} of it, "quoted", stands\nhere. And é {i % 7}!', "doc_id": f"d{i // 3}", "m": str(i % 2)}
    for i in range(24)
]
SETTINGS = settings(max_examples=30, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
# Where, by what share of the file, and what happens there.
DAMAGE = st.tuples(
    st.floats(0, 1), st.sampled_from(["cut", "flip", "drop", "insert", "repeat"]), st.binary(min_size=1, max_size=6)
)


def as_csv() -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(ROWS[0]))
    writer.writeheader()
    writer.writerows(ROWS)
    return text.getvalue().encode()


def as_parquet() -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ROWS), stream, row_group_size=6)
    return stream.getvalue()


def as_zstd(data: bytes) -> bytes:
    return bytes(pa.compress(data, codec="zstd", asbytes=True))


LINES = "".join(row["text"].replace("\n", " ") + "\n" for row in ROWS).encode()
OBJECTS = "".join(json.dumps(row, ensure_ascii=i % 2 == 0) + "\n" for i, row in enumerate(ROWS)).encode()
FILES = {
    "a.txt": LINES,
    "a.csv": as_csv(),
    "a.jsonl": OBJECTS,
    "a.parquet": as_parquet(),
    "a.txt.gz": gzip.compress(LINES, mtime=0),
    "a.jsonl.zst": as_zstd(OBJECTS),
    "a.csv.gz": gzip.compress(as_csv(), mtime=0),
}


def damaged(data: bytes, share: float, how: str, found: bytes) -> bytes:
    at = min(int(share * len(data)), max(len(data) - 1, 0))
    after = data[at:]
    if how == "cut":
        after = b""
    elif how == "flip":
        after = bytes(a ^ b for a, b in zip(after, found, strict=False)) + after[len(found) :]
    elif how == "drop":
        after = after[len(found) :]
    elif how == "insert":
        after = found + after
    else:
        after = after[:40] + after
    return data[:at] + after


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


def add_up(out: Path) -> None:
    counts: dict[str, Any] = json.loads((out / "run.json").read_text())["stages"]["ingest"]["counts"]
    corpus, rejects = (pq.read_table(out / name) for name in ("corpus", "rejects"))
    assert check_ingest(counts, corpus.num_rows, rejects.num_rows) == []
    assert corpus["sent_id"].to_pylist() == list(range(corpus.num_rows))
    if not any(s["not_sampled"] for s in counts["sources"]):
        assert sum(corpus["n_copies"].to_pylist()) == sum(s["kept"] + s["copies"] for s in counts["sources"])


@pytest.mark.parametrize("name", FILES)
@given(
    damage=st.lists(DAMAGE, max_size=3),
    on_error=st.sampled_from(["fail", "reject"]),
    split=st.sampled_from(["sentences", "none"]),
    limit=st.sampled_from([None, 1, 10]),
)
@SETTINGS
def test_a_damaged_source(
    no_ray: None,
    tiny: str,
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    damage: list[tuple[float, str, bytes]],
    on_error: str,
    split: str,
    limit: int | None,
) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    data = FILES[name]
    for share, how, found in damage:
        data = damaged(data, share, how, found)
    (folder / name).write_bytes(data)
    argv = ["--out", str(folder / "run"), "--corpus", str(folder / name), "--on-error", on_error, "--split", split]
    argv += [
        "--shard-size",
        "7",
        "--workers",
        "1",
        "--model",
        tiny,
        *([] if limit is None else ["--limit", str(limit)]),
    ]
    told = io.StringIO()
    with contextlib.redirect_stderr(told):
        status = main(IngestConfig, "ingest", "About.", ingest.JOB.run, argv)
    assert status in (0, 2), told.getvalue()
    if status == 0:
        add_up(folder / "run")
    else:
        assert told.getvalue().splitlines()[-1].startswith("error: ")
        assert name in told.getvalue().splitlines()[-1]
        assert not (folder / "run" / "run.json").exists()
    if not damage:
        assert status == 0
