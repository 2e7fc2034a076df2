"""An index of Python packages on loopback, of generated, empty wheels: every locked version, and a newer release of it.

It is what the real one becomes in time. Its lock files are the real ones with the hashes of its wheels.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import http.server
import io
import re
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import metadata

from packaging.utils import canonicalize_name

from support.projects import lock_files

# The programs that sconsw starts say so. hatchling gives the project what it asks for, and no more.
_SAYS = 'import sys\n\nprint("started", *sys.argv[1:])\n'
_BACKEND = '''"""Makes an editable wheel of metadata only."""
import tomllib, zipfile
from pathlib import Path

def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
    needs = "".join(f"Requires-Dist: {each}\\n" for each in project["dependencies"])
    name, folder = "scons_neuralart-1-py3-none-any.whl", "scons_neuralart-1.dist-info"
    with zipfile.ZipFile(Path(wheel_directory, name), "w") as file:
        file.writestr(f"{folder}/METADATA", f"Metadata-Version: 2.1\\nName: {project['name']}\\nVersion: 1\\n{needs}")
        file.writestr(f"{folder}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        file.writestr(f"{folder}/RECORD", "")
    return name
'''
CONTENTS = {
    "scons": {"SCons/__main__.py": _SAYS},
    "pytest": {"pytest/__main__.py": _SAYS},
    "hatchling": {"hatchling/build.py": _BACKEND},
}


def wheel(name: str, version: str, requires: list[str]) -> tuple[str, bytes]:
    """Name and bytes of a wheel without code."""
    stem = f"{name.replace('-', '_')}-{version}"
    head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    files = {
        **CONTENTS.get(name, {}),
        f"{stem}.dist-info/METADATA": head + "".join(f"Requires-Dist: {each}\n" for each in requires),
        f"{stem}.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = []
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        rows.append(f"{path},sha256={digest},{len(text.encode())}\n")
    files[f"{stem}.dist-info/RECORD"] = "".join(rows) + f"{stem}.dist-info/RECORD,,\n"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, text in files.items():
            archive.writestr(zipfile.ZipInfo(path), text)
    return f"{stem}-py3-none-any.whl", buffer.getvalue()


def newer(version: str) -> str:
    """The next major release."""
    return f"{int(version.split('.')[0]) + 1}.0"


def _requires(name: str) -> list[str]:
    """What the package of this environment says that it needs; nothing where it is not installed."""
    try:
        return metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return []


@dataclass
class PackageIndex:
    """The wheels, and the names of those that were asked for."""

    wheels: dict[str, dict[str, bytes]] = field(default_factory=dict)
    fetched: set[str] = field(default_factory=set)
    url: str = ""

    def add(self, name: str, version: str) -> str:
        """Make a wheel; its SHA-256."""
        file, data = wheel(name, version, _requires(name))
        self.wheels.setdefault(name, {})[file] = data
        return hashlib.sha256(data).hexdigest()

    def lock_file(self, file: str) -> str:
        """A lock file with the hashes of this index; wheels of all its entries, and of a newer release of each."""
        lines = [line for line in lock_files.text_of(file).splitlines() if line.startswith("#")]
        for entry, _ in lock_files.locked(file):
            name, version = canonicalize_name(entry.name), lock_files.version_of(entry)
            lines.append(f"{entry} --hash=sha256:{self.add(name, version)}")
            self.add(name, newer(version))
        return "\n".join(lines) + "\n"

    def page(self, path: str) -> bytes | None:
        """What is at a path: the list of a project's files (PEP 503), or a file."""
        if found := re.fullmatch(r"/simple/([a-z0-9-]+)/", path):
            files = self.wheels.get(found[1], {})
            links = (
                f'<a href="/files/{found[1]}/{file}#sha256={hashlib.sha256(data).hexdigest()}">{file}</a><br>\n'
                for file, data in files.items()
            )
            return f"<!DOCTYPE html>\n<html><body>\n{''.join(links)}</body></html>\n".encode() if files else None
        if found := re.fullmatch(r"/files/([a-z0-9-]+)/([^/]+)", path):
            self.fetched.add(found[2])
            return self.wheels.get(found[1], {}).get(found[2])
        return None

    @contextlib.contextmanager
    def served(self) -> Iterator[None]:
        """Serve it on loopback, at ``url``, until the end of the block."""
        index = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = index.page(self.path)
                self.send_response(404 if body is None else 200)
                self.send_header("Content-Type", "text/html" if self.path.endswith("/") else "application/zip")
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, *_: object) -> None:
                """It says nothing."""

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            self.url = f"http://127.0.0.1:{server.server_port}/simple/"
            try:
                yield
            finally:
                server.shutdown()
                thread.join()
