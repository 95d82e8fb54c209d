"""A server on loopback that speaks as much of the Hugging Face hub's protocol as its readers ask for."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

COMMIT = "c" * 40


class Hub(BaseHTTPRequestHandler):
    """Repositories are folders ORG/NAME below `root`; every one has one commit, which any revision names.

    Attributes:
        root: the folder of the repositories.
        asked: the paths of all requests.
        broken: the paths for which a connection was broken; the first request for each path is, unless this is None.
    """

    root: Path
    asked: list[str]
    broken: set[str] | None = None
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
        if self.broken is not None and self.path not in self.broken:
            self.broken.add(self.path)
            self.close_connection = True
        elif parts[0] == "api" and parts[1] in ("datasets", "models"):
            repository, rest = self.root / "/".join(parts[2:4]), parts[4:]
            if not repository.is_dir():
                self.answer(404, X_Error_Code="RepoNotFound")
            elif rest[:1] == ["tree"]:
                folder = repository / "/".join(rest[2:])
                if folder.is_dir():
                    found = folder.rglob("*") if "recursive=true" in self.path.lower() else folder.iterdir()
                    self.send_json([self.entry(path, repository) for path in sorted(found)])
                else:
                    self.answer(404, X_Error_Code="EntryNotFound")
            elif rest == ["revision", "nowhere"]:
                self.answer(404, X_Error_Code="RevisionNotFound")
            else:
                files = [path.relative_to(repository).as_posix() for path in repository.rglob("*") if path.is_file()]
                siblings = [{"rfilename": file} for file in files if parts[1] == "models"]
                self.send_json({"id": "/".join(parts[2:4]), "sha": COMMIT, "siblings": siblings, "tags": []})
        elif parts[0] == "datasets" and parts[3] == "resolve":
            self.send_file(self.root / "/".join(parts[1:3]) / "/".join(parts[5:]))
        elif parts[2:3] == ["resolve"]:
            self.send_file(self.root / "/".join(parts[:2]) / "/".join(parts[4:]))
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


@pytest.fixture(name="hub")
def running_hub(tmp_path: Path) -> Iterator[tuple[dict[str, str], Path, list[str]]]:
    """A hub: the variables that lead to it, the folder of its repositories, and the paths it was asked for."""
    handler = type("Handler", (Hub,), {"root": tmp_path / "hub", "asked": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    variables = {"HF_ENDPOINT": endpoint, "HF_HUB_OFFLINE": "0", "HF_HOME": str(tmp_path / "home"), "HF_TOKEN": ""}
    yield variables, tmp_path / "hub", handler.asked
    server.shutdown()
    server.server_close()
