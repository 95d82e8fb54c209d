"""Sources from a server on loopback that speaks as much of the Hugging Face hub's protocol as `datasets` asks for."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ops.sources.presets import PRESETS

COMMIT = "c" * 40
ROOT = Path(__file__).parent.parent.parent.parent


class Hub(BaseHTTPRequestHandler):
    """Repositories are folders ORG/NAME below `root`; every one has one commit, which any revision names."""

    root: Path
    asked: list[str]
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Keep quiet."""

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_json(self, value: Any) -> None:
        self.answer(200, json.dumps(value).encode(), Content_Type="application/json")

    def entry(self, path: Path, repository: Path) -> dict[str, Any]:
        kind = "directory" if path.is_dir() else "file"
        size = 0 if path.is_dir() else path.stat().st_size
        return {"type": kind, "path": path.relative_to(repository).as_posix(), "size": size, "oid": "0" * 40}

    def do_GET(self) -> None:
        parts = [unquote(part) for part in urlsplit(self.path).path.strip("/").split("/")]
        self.asked.append(self.path)
        if parts[:2] == ["api", "datasets"]:
            repository, rest = self.root / "/".join(parts[2:4]), parts[4:]
            if not repository.is_dir():
                self.answer(404, X_Error_Code="RepoNotFound")
            elif rest[:1] == ["tree"]:
                folder = repository / "/".join(rest[2:])
                if folder.is_dir():
                    found = folder.rglob("*") if "recursive=True" in self.path else folder.iterdir()
                    self.send_json([self.entry(path, repository) for path in sorted(found)])
                else:
                    self.answer(404, X_Error_Code="EntryNotFound")
            elif rest == ["revision", "nowhere"]:
                self.answer(404, X_Error_Code="RevisionNotFound")
            else:
                self.send_json({"id": "/".join(parts[2:4]), "sha": COMMIT, "siblings": [], "tags": []})
        elif parts[0] == "datasets" and parts[3] == "resolve":
            self.send_file(self.root / "/".join(parts[1:3]) / "/".join(parts[5:]))
        else:
            self.answer(404)

    do_HEAD = do_GET

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        repository = self.root / "/".join(unquote(self.path).split("/")[3:5])
        paths = [repository / path for path in parse_qs(body.decode())["paths"]]
        self.send_json([self.entry(path, repository) for path in paths if path.exists()])

    def send_file(self, path: Path) -> None:
        if not path.is_file():
            self.answer(404, X_Error_Code="EntryNotFound")
            return
        content, known = (
            path.read_bytes(),
            {"ETag": f'"{path.name}"', "X_Repo_Commit": COMMIT, "Accept_Ranges": "bytes"},
        )
        span = self.headers.get("Range")
        if span is None:
            self.answer(200, content, **known)
            return
        first, _, last = span.removeprefix("bytes=").partition("-")
        end = min(int(last or len(content)), len(content) - 1)
        place = f"bytes {first}-{end}/{len(content)}"
        self.answer(206, content[int(first) : end + 1], Content_Range=place, **known)


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[tuple[dict[str, str], Path, list[str]]]:
    """A hub: the variables that lead to it, the folder of its repositories, and the paths it was asked for."""
    handler = type("Handler", (Hub,), {"root": tmp_path / "hub", "asked": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    variables = {"HF_ENDPOINT": endpoint, "HF_HUB_OFFLINE": "0", "HF_HOME": str(tmp_path / "home"), "HF_TOKEN": ""}
    yield variables, tmp_path / "hub", handler.asked
    server.shutdown()
    server.server_close()


def _put(path: Path, table: pa.Table) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)


READ = """
import json, sys
from ops.errors import InputError
from ops.sources.pieces import check_source, pieces, read_piece, source_fingerprint
from ops.sources.spec import parse_source
found = {}
for spec in sys.argv[1:]:
    try:
        source = parse_source(spec)
        check_source(source)
        rows = [row for piece in pieces(source) for row in read_piece(piece)]
        found[spec] = [pieces(source)[0].part["revision"], len(pieces(source)), source_fingerprint(source), rows]
    except InputError as error:
        found[spec] = str(error)
print(json.dumps(found))
"""


def test_sources_on_a_hub(hub: tuple[dict[str, str], Path, list[str]]) -> None:
    variables, root, asked = hub
    for split in ("train", "test", "unsupervised"):
        texts = [f"The {split} film number {number}." for number in range(3)]
        labels = [-1] * 3 if split == "unsupervised" else [0, 1, 1]
        path = root / PRESETS["imdb"].hub / "plain_text" / f"{split}-00000-of-00001.parquet"
        _put(path, pa.table({"text": texts, "label": labels}))
    for shard in range(2):
        texts = [f"Note {number} of shard {shard}." for number in range(2)]
        _put(root / "org" / "notes" / "data" / f"train-{shard:05d}.parquet", pa.table({"text": texts, "n": [1, 2]}))
    wrong = {
        "hf:org/none": "has no dataset org/none",
        "hf:org/notes@nowhere": "has no revision 'nowhere'",
        "hf:org/notes::dev": "has no split 'dev'; it has train",
        "hf:org/notes:other": "'other' not found",
        "reuters": "has no dataset ucirvine/reuters21578",
    }
    specs = ["imdb", "hf:org/notes@refs/convert/parquet", *wrong]
    environment = {**os.environ, **variables}
    done = subprocess.run(
        [sys.executable, "-c", READ, *specs], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    sentiments = [{"sentiment": name} for name in ("negative", "positive", "positive")]
    revision, size, first, rows = found["imdb"]
    assert (revision, size) == (COMMIT, 3)
    assert [row[1:] for row in rows] == [
        [f"imdb:{split}:0:{number}", meta]
        for split, metas in (("train", sentiments), ("test", sentiments), ("unsupervised", [{}] * 3))
        for number, meta in enumerate(metas)
    ]
    revision, size, second, rows = found["hf:org/notes@refs/convert/parquet"]
    assert (revision, size) == (COMMIT, 2)
    assert first != second
    assert rows == [
        [f"Note {number} of shard {shard}.", f"notes:train:{shard}:{number}", {"n": str(number + 1)}]
        for shard in range(2)
        for number in range(2)
    ]
    for spec, message in wrong.items():
        assert message in found[spec]
        assert "\n" not in found[spec]
    pinned = f"/api/datasets/{PRESETS['imdb'].hub}/revision/{PRESETS['imdb'].revision}"
    assert any(path.startswith(pinned) for path in asked)
    assert any("/org/notes/revision/refs%2Fconvert%2Fparquet" in path for path in asked)
