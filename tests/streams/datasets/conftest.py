"""A web server on this machine with a mind of its own, and no other network."""

import dataclasses
import http.server
import socket
import threading
import time
from collections.abc import Iterator

import pytest

PIECE = 4096


@dataclasses.dataclass
class Served:
    """A file of the server, and how it misbehaves."""

    content: bytes
    says_length: bool = True
    status: int = 200
    redirect: str = ""
    cuts: list[int] = dataclasses.field(default_factory=list)
    """Bytes of the file after which the connection ends, one for each request."""
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
        size = len(served.content)
        self.send_response(200)
        if served.says_length:
            self.send_header("Content-Length", str(size))
        self.end_headers()
        end = served.cuts.pop(0) if served.cuts else size
        for place in range(0, end, PIECE):
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
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    find_address = socket.getaddrinfo

    def only_here(host: object, *rest: object, **more: object) -> object:
        assert host in ("127.0.0.1", "localhost"), f"a test tried to reach {host}"
        return find_address(host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", only_here)
