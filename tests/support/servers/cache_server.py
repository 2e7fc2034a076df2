"""A cache of Bazel's HTTP protocol in this process, which can be as bad as caches are."""

from __future__ import annotations

import contextlib
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

_NGINX = """daemon off; master_process off; pid {0}/pid; error_log {0}/error.log;
events {{}}
http {{
  access_log off; client_max_body_size 0; client_body_temp_path {0}/body; proxy_temp_path {0}/proxy;
  fastcgi_temp_path {0}/fastcgi; uwsgi_temp_path {0}/uwsgi; scgi_temp_path {0}/scgi;
  server {{
    listen 127.0.0.1:{1}; root {0}/root;
    location / {{ dav_methods PUT; create_full_put_path on; }}
  }}
}}
"""


class CacheServer(ThreadingHTTPServer):
    """Entries by path, what was asked, and a hook for each request.

    Attributes:
        kept: What was put, by path.
        asked: Method, path and value of the header ``Authorization`` of each request.
        fault: Called with method and path; what is wrong this time: ``500``, ``slow``, ``cut``, ``long``, ``flip``,
            ``drop``,
            ``drip`` and ``continue`` (a head without an end), or nothing.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.kept: dict[str, bytes] = {}
        self.asked: list[tuple[str, str, str]] = []
        self.fault: Callable[[str, str], str] = lambda method, path: ""
        self.scheme = "http"

    @property
    def url(self) -> str:
        """Where it is, with a path, as one behind a gateway has it."""
        return f"{self.scheme}://127.0.0.1:{self.server_address[1]}/some/cache"

    def of(self, kind: str) -> dict[str, bytes]:
        """Entries of steps (``ac``) or contents (``cas``), by path."""
        return {path: data for path, data in self.kept.items() if f"/{kind}/" in path}

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Without it a small answer waits for the acknowledgement of its head.
    disable_nagle_algorithm = True
    server: CacheServer

    def do_GET(self) -> None:
        fault = self._seen()
        if fault.isdigit():
            self._answer(int(fault), b"what a server says of itself")
        elif self.path not in self.server.kept:
            self._answer(404, b"no such thing")
        else:
            self._answer(200, self.server.kept[self.path], fault)

    def do_PUT(self) -> None:
        fault = self._seen()
        data = self.rfile.read(int(self.headers["Content-Length"]))
        if not fault:
            self.server.kept[self.path] = data
        self._answer(int(fault) if fault.isdigit() else 201, b"")

    def _seen(self) -> str:
        self.server.asked.append((self.command, self.path, self.headers.get("Authorization", "")))
        fault = self.server.fault(self.command, self.path)
        if fault == "drop":
            self.connection.shutdown(socket.SHUT_RDWR)
        return fault

    def _answer(self, status: int, body: bytes, fault: str = "") -> None:
        if fault in ("drip", "continue"):
            # For longer than any client may wait, unless it hangs up.
            for _ in range(200):
                time.sleep(0.02)
                self.wfile.write(b"H" if fault == "drip" else b"HTTP/1.1 100 Continue\r\n\r\n")
                self.wfile.flush()
        length = len(body) + (5 if fault == "cut" else 0)
        if fault == "flip":
            body = bytes([body[0] ^ 1]) + body[1:]
        if fault == "long":
            body, length = body + b"more", length + 4
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        for byte in body if fault == "slow" else ():
            # Never so long without a byte that a time limit for each of them would end it.
            time.sleep(0.05)
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
        if fault != "slow":
            self.wfile.write(body)
        self.close_connection = self.close_connection or fault == "cut"

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing on the console of the tests."""


def certificate(folder: Path, name: str = "cache") -> tuple[str, str]:
    """Files of a certificate of 127.0.0.1 that nobody has signed, and of its key."""
    made, key = str(folder / f"{name}.certificate"), str(folder / f"{name}.key")
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    words += ["-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", made]
    subprocess.run(words, check=True, capture_output=True)
    return made, key


@contextlib.contextmanager
def serving(certificate: tuple[str, str] | None = None) -> Iterator[CacheServer]:
    """A server, until the end of the block; with files of a certificate and its key it speaks TLS."""
    with CacheServer() as server:
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
            server.scheme = "https"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def wait_for(port: int, process: subprocess.Popen[bytes], seconds: float = 30) -> None:
    """Until a process listens at a port."""
    end = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.02)
    raise AssertionError(f"{process.args!r} does not listen at {port}")


@contextlib.contextmanager
def nginx(folder: Path) -> Iterator[str]:
    """The URL of nginx with WebDAV; what it keeps is in ``folder/root``."""
    (folder / "root").mkdir(parents=True)
    port = free_port()
    (folder / "nginx.conf").write_text(_NGINX.format(folder, port), "utf-8")
    words = ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")]
    process = subprocess.Popen(words)
    try:
        wait_for(port, process)
        yield f"http://127.0.0.1:{port}/cache"
    finally:
        process.terminate()
        process.wait()
