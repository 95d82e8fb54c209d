"""A server on loopback that speaks as much of the hub's protocol as an upload takes, and keeps the files."""

import base64
import hashlib
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN = "hf_of_the_test"


class Hub(ThreadingHTTPServer):
    """Holds what was uploaded: `files` by path, and `objects` by SHA-256; and what was made, `repos`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.objects: dict[str, bytes] = {}
        self.repos: list[dict[str, Any]] = []
        self.sent = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Hub

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def _send(self, value: Any, status: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _known(self) -> bool:
        if self.headers.get("Authorization") == f"Bearer {TOKEN}":
            return True
        self._body()
        self._send({"error": "Invalid username or password."}, 401)
        return False

    def do_GET(self) -> None:
        if self._known():
            if self.path == "/api/whoami-v2":
                self._send({"type": "user", "name": "me", "orgs": [], "auth": {}})
            elif "/tree/" in self.path:
                files = self.server.files.items()
                self._send([{"type": "file", "path": path, "size": len(data), "oid": "o"} for path, data in files])
            else:
                self._send({"error": f"not spoken here: {self.path}"}, 404)

    def do_PUT(self) -> None:
        data = self._body()
        name = self.path.rpartition("/")[2]
        self.server.sent += 1
        self.server.objects[name] = data
        self._send({}, 200 if hashlib.sha256(data).hexdigest() == name else 400)

    def do_POST(self) -> None:
        if not self._known():
            return
        body = self._body()
        if self.path == "/api/repos/create":
            made = json.loads(body)
            self.server.repos.append(made)
            name = f"{made['organization']}/{made['name']}"
            self._send({"url": f"{self.server.address}/datasets/{name}", "name": name, "id": "1"})
        elif self.path == "/api/validate-yaml":
            self._send({"errors": [], "warnings": []})
        elif "/preupload/" in self.path:
            files = json.loads(body)["files"]
            modes = [
                {"path": f["path"], "uploadMode": "lfs" if f["path"].endswith(".parquet") else "regular",
                 "shouldIgnore": False, "oid": None}
                for f in files
            ]  # fmt: skip
            self._send({"files": modes})
        elif self.path.endswith(".git/info/lfs/objects/batch"):
            wanted = json.loads(body)["objects"]
            self._send({"transfer": "basic", "objects": [self._action(o) for o in wanted]})
        elif "/commit/" in self.path:
            self._commit([json.loads(line) for line in body.splitlines()])
            self._send({"success": True, "commitOid": "c" * 40, "commitUrl": f"{self.server.address}{self.path[4:]}"})
        else:
            self._send({"error": f"not spoken here: {self.path}"}, 404)

    def _action(self, wanted: dict[str, Any]) -> dict[str, Any]:
        if wanted["oid"] in self.server.objects:
            return wanted
        return {**wanted, "actions": {"upload": {"href": f"{self.server.address}/lfs/{wanted['oid']}", "header": {}}}}

    def _commit(self, lines: list[dict[str, Any]]) -> None:
        for line in lines:
            value = line["value"]
            if line["key"] == "lfsFile":
                self.server.files[value["path"]] = self.server.objects[value["oid"]]
            elif line["key"] == "file":
                self.server.files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "deletedFile":
                del self.server.files[value["path"]]
