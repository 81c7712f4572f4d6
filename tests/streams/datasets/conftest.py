"""A web server on this machine with a mind of its own, and no other network."""

import dataclasses
import http.server
import re
import socket
import threading
from collections.abc import Iterator

import pytest

from devfnn.streams.datasets import download, locking

PIECE = 4096


@dataclasses.dataclass
class Served:
    """A file of the server, and how it misbehaves."""

    content: bytes
    etag: str = '"one"'
    last_modified: str = ""
    has_ranges: bool = True
    heeds_if_range: bool = True
    says_length: bool = True
    status: int = 200
    redirect: str = ""
    encoding: str = ""
    cuts: list[int] = dataclasses.field(default_factory=list)
    """Bytes of the file after which the connection ends, one for each request."""
    etags: list[str] = dataclasses.field(default_factory=list)
    """Tags of the next requests."""
    hold_after: int | None = None
    """Bytes after which the server waits until it may go on."""
    may_go_on: threading.Event = dataclasses.field(default_factory=threading.Event)


class Server(http.server.ThreadingHTTPServer):
    """Files by path, and what was asked for."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, Served] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}{path}"

    def put(self, path: str, content: bytes = b"", **behaviour: object) -> str:
        """Serve a file; its address."""
        self.files[path] = Served(content, **behaviour)
        return self.url(path)

    def ranges(self) -> list[str | None]:
        """What part of a file each request asked for."""
        return [headers.get("Range") for _, headers in self.asked]

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is no error here."""


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append((self.path, dict(self.headers)))
        served = self.server.files.get(self.path)
        if served is None or served.status >= 400:
            self.send_error(404 if served is None else served.status)
            return
        if served.redirect:
            self.send_response(302)
            self.send_header("Location", served.redirect)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if served.etags:
            served.etag = served.etags.pop(0)
        self.send_file(served, self.start_of(served))

    def start_of(self, served: Served) -> int:
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if wanted is None or not served.has_ranges:
            return 0
        version = self.headers.get("If-Range")
        if served.heeds_if_range and version not in (None, served.etag, served.last_modified):
            return 0
        return int(wanted[1])

    def send_file(self, served: Served, start: int) -> None:
        size = len(served.content)
        if start and start >= size:
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        for name, value in {
            "ETag": served.etag,
            "Last-Modified": served.last_modified,
            "Content-Encoding": served.encoding,
            "Content-Length": str(size - start) if served.says_length else "",
        }.items():
            if value:
                self.send_header(name, value)
        self.end_headers()
        end = served.cuts.pop(0) if served.cuts else size
        for place in range(start, end, PIECE):
            if served.hold_after is not None and place >= served.hold_after:
                served.may_go_on.wait(30)
            self.wfile.write(served.content[place : min(place + PIECE, end)])

    def log_message(self, *args: object) -> None:
        """Nothing is printed."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.02,))
        thread.start()
        yield running
        for served in running.files.values():
            served.may_go_on.set()
        running.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No data sets but those of the test, no network but this machine, and no waiting."""
    cache = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("DEVFNN_CACHE", str(cache))
    monkeypatch.delenv("DEVFNN_DATA", raising=False)
    monkeypatch.delenv("DEVFNN_OFFLINE", raising=False)
    monkeypatch.setattr(download, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(locking, "POLL_SECONDS", 0.01)
    find_address = socket.getaddrinfo

    def only_here(host: object, *rest: object, **more: object) -> object:
        assert host in ("127.0.0.1", "localhost"), f"a test tried to reach {host}"
        return find_address(host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", only_here)
