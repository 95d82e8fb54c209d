"""An S3 server on loopback, with a proxy that counts the requests and delays each of them like a distant server."""

import http.client
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import groupby
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

SERVER = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "bench",
    "AWS_SECRET_ACCESS_KEY": "bench",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}
SIDE_BY_SIDE = 1.5  # least average number of requests under way together
_OF_THE_WAY = ("connection", "keep-alive", "transfer-encoding", "expect")  # headers that a proxy must not forward


class Request(NamedTuple):
    """One request.

    Attributes:
        method: the HTTP method, or `LIST` for the listing of a folder.
        path: the bucket and the name in it, or the listed folder.
        of_driver: whether the driver, whose process id the proxy was given, sent the request.
        began, ended: when the request arrived and was answered, including the delay, in seconds of the monotonic clock.
    """

    method: str
    path: str
    of_driver: bool
    began: float
    ended: float


@contextmanager
def s3_server() -> Iterator[int]:
    """Run an S3 server in a separate process, and yield its port on loopback."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as server:
        try:
            yield int((server.stdout or sys.stdin.buffer).readline())
        finally:
            server.kill()


class CountingProxy(ThreadingHTTPServer):
    """A proxy that forwards requests, concurrent requests concurrently, and records them.

    Attributes:
        wait: seconds that each request waits before it is forwarded.
        driver: process id of the driver, whose requests are marked.
        requests: the requests that were answered.
    """

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, port: int, wait: float = 0.0) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.port, self.wait, self.driver = port, wait, 0
        self.requests: list[Request] = []

    @property
    def address(self) -> str:
        """The address of the proxy."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self) -> "CountingProxy":
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def take(self) -> list[Request]:
        """Return the requests that were answered since the last call, sorted by their start, and forget them."""
        found, self.requests = self.requests, []
        return sorted(found, key=lambda request: request.began)


class _Handler(BaseHTTPRequestHandler):
    server: CountingProxy
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # because an answer's head and body are sent separately

    def log_message(self, format: str, *args: object) -> None:
        pass

    def setup(self) -> None:
        super().setup()
        ends = self.client_address[1], int(self.server.server_address[1])
        self.of_driver = bool(self.server.driver) and has_connection(self.server.driver, *ends)
        self.beyond = http.client.HTTPConnection("127.0.0.1", self.server.port)

    def handle(self) -> None:
        # The client may have closed the connection before the answer.
        with suppress(ConnectionError):
            super().handle()

    def finish(self) -> None:
        self.beyond.close()
        with suppress(ConnectionError):
            super().finish()

    def pass_on(self) -> None:
        began = time.monotonic()
        body = self._body()
        time.sleep(self.server.wait)
        self.beyond.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() not in _OF_THE_WAY:
                self.beyond.putheader(name, value)
        if "Content-Length" not in self.headers:
            self.beyond.putheader("Content-Length", str(len(body)))
        self.beyond.endheaders(body)
        answer = self.beyond.getresponse()
        data = answer.read()
        self.server.requests.append(_request(self.command, self.path, self.of_driver, began))
        self.send_response_only(answer.status, answer.reason)
        sized = False
        for name, value in answer.getheaders():
            if name.lower() not in _OF_THE_WAY:
                self.send_header(name, value)
                sized |= name.lower() == "content-length"
        if not sized:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(parts)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = pass_on


def _request(method: str, target: str, of_driver: bool, began: float) -> Request:
    parts = urlsplit(target)
    asked = parse_qs(parts.query, keep_blank_values=True)
    path = unquote(parts.path).strip("/")
    if "list-type" in asked:
        method, path = "LIST", f"{path}/{asked.get('prefix', [''])[0]}"
    return Request(method, path, of_driver, began, time.monotonic())


def has_connection(process: int, port: int, to: int) -> bool:
    """Return whether a process owns a connection between two ports on this machine's loopback.

    Args:
        process: the process id.
        port: the port at the end of the process.
        to: the port at the other end.
    """
    ends = f"0100007F:{port:04X} 0100007F:{to:04X}"
    sockets = {f"socket:[{line.split()[9]}]" for line in Path("/proc/net/tcp").read_text().splitlines() if ends in line}
    with suppress(OSError):
        for file in os.scandir(f"/proc/{process}/fd"):
            with suppress(OSError):
                if os.readlink(file.path) in sockets:
                    return True
    return False


def kind_of(path: str) -> str:
    """Return a path below the run's folder with N for each number, so that the files of all shards get the same name.

    >>> kind_of("bucket/run-8/corpus/part-00003.parquet")
    'corpus/part-N.parquet'
    """
    return re.sub(r"\d+", "N", path.split("/", 2)[-1] if path.count("/") > 1 else path)


def chain(requests: list[Request]) -> int:
    """Return the length of the longest chain of strictly sequential requests.

    In such a chain each request begins after the previous one was answered.

    >>> times = (0, 2), (1, 3), (2, 4), (3, 5)
    >>> chain([Request("GET", "", True, began, ended) for began, ended in times])
    2
    """
    found, free = 0, float("-inf")
    for request in sorted(requests, key=lambda request: request.ended):
        if request.began >= free:
            found, free = found + 1, request.ended
    return found


def one_by_one(requests: list[Request], files: int) -> list[tuple[str, str]]:
    """Return the method and kind of requests for at least `files` files that were hardly ever under way together."""
    return [
        kind
        for kind, own in by_kind(requests).items()
        if len({request.path for request in own}) >= files and len(own) < SIDE_BY_SIDE * chain(own)
    ]


def by_kind(requests: list[Request]) -> dict[tuple[str, str], list[Request]]:
    """Return requests grouped by method and kind of file."""

    def key(request: Request) -> tuple[str, str]:
        return request.method, kind_of(request.path)

    return {kind: list(own) for kind, own in groupby(sorted(requests, key=key), key)}
