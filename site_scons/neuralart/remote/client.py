"""Results of steps in a cache on another machine: checked when they come, and a cache that fails is done without."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import netrc
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from neuralart.config.cache import VARIABLE, CacheConfig
from neuralart.errors import NeuralArtError
from neuralart.files import new_file
from neuralart.remote.messages import DAMAGED, DeniedError, Digest, StepResult, UnansweredError

_FORMAT = 1  # Of keys: with another number, no older entry is found
_FAILURES = 3  # So many answers in a row that did not come, and the rest of the build does without the cache
_LARGEST = 1 << 20  # Bytes of the entry of a step: those of some thousand files


def _authorization(config: CacheConfig, environ: Mapping[str, str]) -> str:
    if token := environ.get(f"{VARIABLE}_TOKEN"):
        return f"Bearer {token}"
    user, password = config.user, config.password
    path = Path(environ.get("NETRC") or Path("~/.netrc").expanduser())
    if not user and not password and path.is_file():
        try:
            user, _, password = netrc.netrc(str(path)).authenticators(urlsplit(config.url).hostname or "") or ("",) * 3
        except (netrc.NetrcParseError, OSError, ValueError) as error:
            # What it says quotes the file, which holds passwords.
            raise NeuralArtError("is no netrc file", where=f"{path}:{getattr(error, 'lineno', 0) or 1}") from None
    both = base64.b64encode(f"{user}:{password}".encode()).decode("ascii")
    return f"Basic {both}" if user or password else ""


class SharedCache:
    """The cache of a build; several threads use it. Nothing is sent yet.
    NeuralArtError: netrc is damaged, or a package is missing.
    """

    def __init__(self, config: CacheConfig, environ: Mapping[str, str]) -> None:
        self._where, self._salt = f"cache {config.url}", config.salt
        if config.url.startswith("http"):
            from neuralart.remote import http_store

            store: Any = http_store.HttpStore
        else:
            from neuralart.remote import grpc_store

            store = grpc_store.GrpcStore
        self._store = store(config, _authorization(config, environ))
        self.reads, self.writes = config.access != "write-only", config.access != "read-only"
        self._lock, self._failures = threading.Lock(), 0  # In a row
        self._found = self._missed = self._kept = 0  # Steps
        self._got = self._sent = 0  # Bytes
        self._saved = 0.0  # Seconds that steps would have taken, without those that asking took

    @contextlib.contextmanager
    def _asking(self, *, reading: bool) -> Iterator[None]:
        """What fails in it is said in a line, and no error of the build."""
        try:
            yield
            self._failures = 0
        except DeniedError as error:
            if self.reads if reading else self.writes:
                what = "without it" if reading else "nothing is stored there"
                self._tell(f"{error}: {what} in the rest of the build", "are the credentials right, and 'access'?")
            self.reads, self.writes = self.reads and not reading, False
        except UnansweredError as error:
            with self._lock:
                self._failures += 1
                last = self._failures == _FAILURES
                self.reads, self.writes = self.reads and not last, self.writes and not last
                if self._failures <= _FAILURES:
                    self._tell(f"{error}{': the rest of the build does without it' if last else ''}")
        except OSError:
            pass  # of a file of ours: the build finds out if that matters

    def _tell(self, what: str, hint: str = "") -> None:
        print(f"scons: {NeuralArtError(what, where=self._where, hint=hint)}")

    def _digest(self, key: str) -> Digest:
        # The size of an entry is not known before it comes: this is the largest.
        return Digest(hashlib.sha256(f"{_FORMAT} {self._salt!r} {key}".encode()).hexdigest(), _LARGEST)

    def retrieve(self, key: str, names: Sequence[str], folder: Path) -> bool:
        """Write the files that a step makes (``names``, below the folder); False: they are not there as they were."""
        began, hit, result, digest = time.monotonic(), False, StepResult(()), self._digest(key)
        with self._asking(reading=True):
            entry = io.BytesIO()
            if self._store.read("ac", digest, entry):
                try:
                    result = StepResult.read(entry.getvalue(), digest.hash)
                    if sorted(path for path, _, _ in result.files) != sorted(names):
                        raise ValueError("it has other files")
                    self._fetch(result, folder)
                    hit = True
                except (OSError, *DAMAGED) as error:
                    self._tell(f"{names[0]} is not taken from it: {getattr(error, 'strerror', None) or error}")
        with self._lock:
            self._found, self._missed = self._found + hit, self._missed + (not hit)
            self._got += hit * sum(digest.size for _, digest, _ in result.files)
            self._saved += hit * (result.milliseconds / 1000 - (time.monotonic() - began))
        return hit

    def _fetch(self, result: StepResult, folder: Path) -> None:
        """Write all files of a step, or none. ValueError: one is damaged, or not there."""
        with contextlib.ExitStack() as undo:
            for path, digest, runs in result.files:
                with new_file(folder / path) as new:
                    with new.open("wb") as file:
                        if digest.size and not self._store.read("cas", digest, file):
                            raise ValueError("its contents are gone")
                    if (came := Digest.of_file(new)) != digest:
                        wrong = "SHA-256" if came.size == digest.size else f"size, {came.size} of {digest.size} bytes"
                        raise ValueError(f"wrong {wrong}")
                    mode = new.stat().st_mode
                    new.chmod(mode | (mode & 0o444) >> 2 if runs else mode)
                undo.callback((folder / path).unlink, missing_ok=True)
            undo.pop_all()

    def keep(self, key: str, names: Sequence[str], folder: Path, seconds: float) -> None:
        """Store the files of a step that took so long."""
        with self._asking(reading=False):
            paths = {name: folder / name for name in sorted(names)}
            files = [(name, Digest.of_file(path), path.stat().st_mode & 0o100 > 0) for name, path in paths.items()]
            for name, digest, _ in files:
                with paths[name].open("rb") as file:
                    if digest.size:
                        self._store.write("cas", digest, file)
            digest = self._digest(key)
            self._store.write("ac", digest, io.BytesIO(StepResult(files, int(seconds * 1000)).written(digest.hash)))
            with self._lock:
                self._kept, self._sent = self._kept + 1, self._sent + sum(digest.size for _, digest, _ in files)

    def ended(self) -> str:
        """End it. Returns a line about what it was good for; empty: it was not asked."""
        self._store.close()
        asked, saved = self._found + self._missed, f", {self._saved:.1f} s saved" if self._saved > 0 else ""
        parts = [f"{self._found} of {asked} steps found ({self._got / 1e6:.2f} MB{saved})"] if asked else []
        parts += [f"{self._kept} stored ({self._sent / 1e6:.2f} MB)"] if self._kept else []
        return f"{self._where}: {', '.join(parts)}" if parts else ""
