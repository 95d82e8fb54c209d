"""Sources and the run directory on a real S3 server on loopback: bytes, stores and the complete main job."""

import gzip
import os
import subprocess
import sys
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from jobs.run import job as run_job
from jobs.run_folder.run import Run
from ops.errors import InputError
from ops.reducers.moments import Moments
from ops.sources.pieces import check_source, pieces, read_piece, source_fingerprint
from ops.sources.rows import Row
from ops.sources.spec import parse_source
from ops.storage.lock import LOCK
from ops.storage.store import Store, is_whole, shard_footer
from ops.storage.streams import IO_THREADS
from ops.topk.neurons import NEURONS_PER_PART
from ops.topk.partial_file import HISTOGRAM, read_counts, read_matrix, read_of_all, shard_table
from tests.conftest import ROOT
from tests.jobs.finished_runs.main import config
from tests.jobs.storage_server import CountingProxy, Request, by_kind, one_by_one
from tests.jobs.test_same_rows import EVERY
from tests.unit.topk.rows_in_memory import rows_of


def _put(uri: str, content: bytes) -> None:
    scheme, _, path = uri.partition("://")
    system, _ = fs.FileSystem.from_uri(f"{scheme}://{path.partition('/')[0]}")
    with system.open_output_stream(path, compression=None) as stream:
        stream.write(content)


def _texts(spec: str) -> list[str]:
    source = parse_source(spec)
    check_source(source)
    assert len(source_fingerprint(source)) == 64
    return [row.text for piece in pieces(source) for row in read_piece(piece) if isinstance(row, Row)]


def test_sources_of_every_kind_and_globs(bucket: str, tmp_path: Path) -> None:
    table = pa.table({"text": ["parquet 1", "parquet 2"], "n": [1, 2]})
    pq.write_table(table, tmp_path / "t.parquet")
    _put(f"{bucket}/in/a.txt", b"text 1\ntext 2\n")
    _put(f"{bucket}/in/b.jsonl.gz", gzip.compress(b'{"text": "json 1"}\n{"text": "json 2"}\n'))
    _put(f"{bucket}/in/c.parquet", (tmp_path / "t.parquet").read_bytes())
    _put(f"{bucket}/in/deep/d 1.txt", b"text 3\n")
    assert _texts(f"{bucket}/in/a.txt") == ["text 1", "text 2"]
    assert _texts(f"n={bucket}/in/b.jsonl.gz") == ["json 1", "json 2"]
    assert _texts(f"{bucket}/in/*.parquet") == ["parquet 1", "parquet 2"]
    assert _texts(f"{bucket}/in/**/*.txt") == ["text 1", "text 2", "text 3"]
    names = [piece.name for piece in pieces(parse_source(f"{bucket}/in/**/*.txt"))]
    assert names == ["a.txt", "deep/d 1.txt"]


@pytest.mark.slow
@pytest.mark.usefixtures("on_ray")
def test_the_main_job_gives_the_same_tables_as_on_disk(bucket: str, small_run: tuple[Path, Path], source: Path) -> None:
    _put(f"{bucket}/in/docs.jsonl", source.read_bytes())
    corpus = (f"docs={bucket}/in/*.jsonl",)
    run_job.JOB.run(
        config(f"{bucket}/run", source, model=str(small_run[1]), corpus=corpus, no_tokens=False, null_sets=6)
    )
    store = Store(f"{bucket}/run")
    assert store.entries() == Store(str(small_run[0])).entries()
    for table in (*EVERY, "token_activations", "peaks"):
        found = pq.read_table(f"{bucket.removeprefix('s3://')}/run/{table}", filesystem=store.filesystem)
        assert found.equals(pq.read_table(small_run[0] / table)), table


def test_the_endpoint_may_stand_in_the_uri(s3: str, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _put(f"{bucket}/a.txt", b"text\n")
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    host = s3.removeprefix("http://")
    assert _texts(f"{bucket}/a.txt?endpoint_override={host}&scheme=http") == ["text"]
    assert _texts(f"{bucket}/*.txt?endpoint_override={host}&scheme=http") == ["text"]
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", s3)
    assert _texts(f"{bucket}/a.txt") == ["text"]


@pytest.mark.parametrize(
    ("name", "message"), [("none.txt", "no such file"), ("*.txt", "no file matches"), ("in", "is a directory")]
)
def test_what_is_not_there_is_named(bucket: str, name: str, message: str) -> None:
    _put(f"{bucket}/in/a.csv", b"text\n")
    with pytest.raises(InputError, match=message):
        parse_source(f"{bucket}/{name}")


def test_a_bucket_that_is_not_there_is_named(s3: str) -> None:
    with pytest.raises(InputError, match="s3://no-such-bucket/a"):
        parse_source("s3://no-such-bucket/a.txt")
    store = Store("s3://no-such-bucket/run")
    with pytest.raises(InputError, match="s3://no-such-bucket/run"), store.first_write():
        store.write_json("run.json", {})


def test_a_store_commits_lists_reads_and_deletes(bucket: str) -> None:
    store = Store(f"{bucket}/deep/run")
    with store.first_write():
        assert store.entries() == []
    assert not store.local
    table = pa.table({"a": [1, 2, 3]}).replace_schema_metadata(shard_footer("f", "s", 3))
    for name in ("topk/b.parquet", "topk/a.parquet"):
        store.commit(name, lambda path: pq.write_table(table, path))
    store.write_json("run.json", {"a": "ü"})
    assert store.read_json("run.json") == {"a": "ü"}
    assert store.files("topk", ".parquet") == ["a.parquet", "b.parquet"]
    assert store.files("none") == []
    assert store.entries() == ["run.json", "topk"]
    assert store.exists("topk")
    assert not store.exists("corpus")
    assert store.size("topk") > 100
    assert is_whole(store, "topk/a.parquet", "f", "s")
    assert not is_whole(store, "topk/a.parquet", "g", "s")
    assert not is_whole(store, "topk/c.parquet", "f", "s")
    store.delete("topk/a.parquet")
    assert store.files("topk") == ["b.parquet"]
    store.delete("topk")
    store.delete("never there")
    assert not store.exists("topk")
    assert store.entries() == ["run.json"]


def test_a_small_file_is_one_request(s3: str, bucket: str) -> None:
    import boto3

    Store(f"{bucket}/run").commit("small", lambda path: Path(path).write_bytes(b"x" * 100) and None)
    found = boto3.client("s3", endpoint_url=s3).head_object(Bucket=bucket.removeprefix("s3://"), Key="run/small")
    # The name of an upload in parts ends with their number.
    assert "-" not in found["ETag"]


def test_a_write_that_fails_leaves_no_object(bucket: str) -> None:
    store = Store(f"{bucket}/run")

    def write(path: str) -> None:
        Path(path).write_text("half")
        raise RuntimeError("the power went")

    with pytest.raises(RuntimeError, match="the power went"):
        store.commit("topk/part", write)
    assert store.entries() == []


def test_a_local_file_that_cannot_be_read_to_its_end_leaves_no_object(
    bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(f"{bucket}/run")

    def fail(source: IO[bytes], target: pa.NativeFile, _: int) -> None:
        target.write(source.read(3))
        raise OSError("the disk went")

    monkeypatch.setattr("shutil.copyfileobj", fail)
    with pytest.raises(OSError, match="the disk went"):
        store.commit("part", lambda path: Path(path).write_text("whole") and None)
    assert store.files("") == []


@pytest.mark.slow
def test_an_out_that_is_not_reached_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    own = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_DEFAULT_REGION": "us-east-1"}
    for name, value in {**own, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_ENDPOINT_URL_S3", raising=False)
    with pytest.raises(InputError, match=r"--out s3://bucket/run: cannot be read .*127.0.0.1"):
        Run("s3://bucket/run")


class Refuser(BaseHTTPRequestHandler):
    """Answers uploads with a trailing checksum as an old store does, and knows no objects."""

    def log_message(self, *_: object) -> None:
        pass

    def do_PUT(self) -> None:
        assert "x-amz-trailer" in self.headers
        code = "<Error><Code>XAmzContentSHA256Mismatch</Code><Message>The content did not match.</Message></Error>"
        self.send_response(400)
        self.send_header("Content-Length", str(len(code)))
        self.end_headers()
        self.wfile.write(code.encode())

    def do_HEAD(self) -> None:
        self.send_response(404)
        self.end_headers()


def test_a_store_that_refuses_trailing_checksums_is_told_the_variable(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_REQUEST_CHECKSUM_CALCULATION", raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), Refuser) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_address[1]}")
        store = Store("s3://bucket/run")
        with pytest.raises(InputError, match="AWS_REQUEST_CHECKSUM_CALCULATION=when_required"), store.first_write():
            store.write_json("run.json", {})
        server.shutdown()


def test_a_column_of_all_neurons_is_one_request(s3: str, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parts, bins = 36, 64
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 9_000, (parts * NEURONS_PER_PART, bins))
    sample = rng.normal(size=(len(counts), 5)).astype(np.float32)
    rows = rows_of(shard_table({}, Moments.empty(len(counts)), counts, sample))
    with CountingProxy(int(s3.rpartition(":")[2])) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.address)
        store = Store(f"{bucket}/run")
        assert pa.io_thread_count() >= IO_THREADS
        store.commit("shard.parquet", partial(rows.write, footer={}))
        proxy.take()
        store.parquet("shard.parquet").close()
        opening = len(proxy.take())
        np.testing.assert_array_equal(read_counts(read_of_all(store, "shard.parquet", HISTOGRAM)), counts)
        of_histogram = len(proxy.take())
        np.testing.assert_array_equal(read_matrix(read_of_all(store, "shard.parquet", "sample"), "sample"), sample)
        of_sample = len(proxy.take())
    assert (of_histogram, of_sample) == (opening + 1, opening + 1)
    assert opening <= 3


def test_requests_that_follow_each_other_are_one_by_one_and_those_side_by_side_are_not() -> None:
    files = [f"bucket/run/corpus/part-{i}.parquet" for i in range(8)]
    after = [Request("GET", file, True, i, i + 0.9) for i, file in enumerate(files)]
    beside = [Request("HEAD", file, True, i // 4, i // 4 + 0.9) for i, file in enumerate(files)]
    assert one_by_one(after + beside, len(files)) == [("GET", "corpus/part-N.parquet")]
    assert one_by_one(after + beside, len(files) + 1) == []


@pytest.mark.slow
def test_the_driver_requests_no_kind_of_file_one_by_one(s3: str, bucket: str, small_run: tuple[Path, Path]) -> None:
    shards, each = 12, 30
    for shard in range(shards):
        lines = [f"Boat {shard} carries {i} barrels of salt past the quiet lighthouse.\n" for i in range(each)]
        _put(f"{bucket}/in/part-{shard:02d}.txt", "".join(lines).encode())
    options: dict[str, object] = {
        "out": f"{bucket}/run", "corpus": f"docs={bucket}/in/*.txt", "split": "none", "model": small_run[1],
        "shard-size": each, "k": 5, "workers": 2,
    }  # fmt: skip
    flags = [str(word) for name, value in options.items() for word in (f"--{name}", value)]
    with CountingProxy(int(s3.rpartition(":")[2]), wait=0.05) as proxy:
        environment = {**os.environ, "AWS_ENDPOINT_URL": proxy.address}
        with subprocess.Popen([sys.executable, "-m", "jobs.run", *flags], cwd=ROOT, env=environment) as job:
            proxy.driver = job.pid
        own = [r for r in proxy.take() if r.of_driver and not r.path.endswith(f"/{LOCK}")]
    assert job.returncode == 0
    assert len([kind for kind, some in by_kind(own).items() if len({r.path for r in some}) >= shards]) > 3
    assert one_by_one(own, shards) == []
