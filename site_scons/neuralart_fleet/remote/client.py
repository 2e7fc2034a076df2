"""Results of steps in a cache on another machine, or done by a farm: checked; a server that fails is done without."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import netrc
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from neuralart.errors import NeuralArtError
from neuralart.files import new_file
from neuralart_fleet.config import CacheConfig
from neuralart_fleet.remote import messages
from neuralart_fleet.remote.messages import DAMAGED, DeniedError, Digest, StepResult, UnansweredError, message, parse

_FORMAT = 1  # Of keys: with another number, no older entry is found
_FAILURES = 3  # So many answers in a row that did not come, and the rest of the build does without the cache
_LARGEST = 1 << 20  # Bytes of the entry of a step: those of some thousand files
_EXECUTION = "/build.bazel.remote.execution.v2.Execution/"
_NOTHING = [b""]


def authorization(config: CacheConfig, environ: Mapping[str, str]) -> str:
    """Value of that header, of the URL, the process or a netrc file; empty: none. NeuralArtError: one is damaged."""
    if token := environ.get(name := f"{config.VARIABLE}_TOKEN", "").strip():
        if not token.isascii() or not token.isprintable():  # Who sends it would quote it
            raise NeuralArtError("is no token", where=name, hint="one line of ASCII characters")
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


def fetch(store: Any, files: Sequence[tuple[str, Digest, bool]], folder: Path) -> None:
    """Write all files of a step, or none. ValueError: one is damaged, or not there."""
    small = store.small({digest for _, digest, _ in files if digest.size})
    with contextlib.ExitStack() as undo:
        for path, digest, runs in files:
            with new_file(folder / path) as new:
                with new.open("wb") as file:
                    if digest in small:
                        file.write(small[digest])
                    elif digest.size and not store.read("cas", digest, file):
                        raise ValueError("its contents are gone")
                if (came := Digest.of_file(new)) != digest:
                    wrong = "SHA-256" if came.size == digest.size else f"size, {came.size} of {digest.size} bytes"
                    raise ValueError(f"wrong {wrong}")
                mode = new.stat().st_mode
                new.chmod(mode | (mode & 0o444) >> 2 if runs else mode)
            undo.callback((folder / path).unlink, missing_ok=True)
        undo.pop_all()


class SharedCache:
    """The cache of a build; several threads use it. Nothing is sent yet.
    NeuralArtError: netrc is damaged, or a package is missing.
    """

    def __init__(self, config: CacheConfig, environ: Mapping[str, str]) -> None:
        self._config: Any = config
        self._where, self._salt = f"{config.KIND} {config.url}", config.salt
        if config.url.startswith("http"):
            from neuralart_fleet.remote import http_store

            store: Any = http_store.HttpStore
        else:
            from neuralart_fleet.remote import grpc_store

            store = grpc_store.GrpcStore
        self._store = store(config, authorization(config, environ))
        self.reads, self.writes = config.access != "write-only", config.access != "read-only"
        self._lock, self._failures = threading.Lock(), 0  # In a row
        self._found = self._missed = self._kept = 0  # Steps
        self._got = self._sent = 0  # Bytes
        self._saved = 0.0  # Seconds that steps would have taken, without those that asking took

    @contextlib.contextmanager
    def _asking(self, *, reading: bool, instead: str = "") -> Iterator[None]:
        """What fails in it is said in a line, and no error of the build."""
        try:
            yield
            self._failures = 0
        except DeniedError as error:
            if self.reads if reading else self.writes:
                what = "without it" if reading else "nothing is stored there"
                self._tell(f"{error}: {what} in the rest of the build", "are the credentials right, and 'access'?")
            self.reads, self.writes = self.reads and not reading, False
        except (UnansweredError, *DAMAGED) as error:
            with self._lock:
                self._failures += 1
                last = self._failures == _FAILURES
                self.reads, self.writes = self.reads and not last, self.writes and not last
                if self._failures <= _FAILURES:
                    self._tell(f"{error}{': the rest of the build does without it' if last else instead}")
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
                    fetch(self._store, result.files, folder)
                    hit = True
                except (OSError, *DAMAGED) as error:
                    self._tell(f"{names[0]} is not taken from it: {getattr(error, 'strerror', None) or error}")
        with self._lock:
            self._found, self._missed = self._found + hit, self._missed + (not hit)
            self._got += hit * sum(digest.size for _, digest, _ in result.files)
            self._saved += hit * (result.milliseconds / 1000 - (time.monotonic() - began))
        return hit

    def keep(self, key: str, names: Sequence[str], folder: Path, seconds: float) -> None:
        """Store the files of a step that took so long."""
        with self._asking(reading=False):
            paths = {name: folder / name for name in sorted(names)}
            files = [(name, Digest.of_file(path), path.stat().st_mode & 0o100 > 0) for name, path in paths.items()]
            self._store.upload({digest: paths[name].read_bytes for name, digest, _ in files if digest.size})
            digest = self._digest(key)
            self._store.write("ac", digest, io.BytesIO(StepResult(files, int(seconds * 1000)).written(digest.hash)))
            with self._lock:
                self._kept, self._sent = self._kept + 1, self._sent + sum(digest.size for _, digest, _ in files)

    def ended(self) -> str:
        """End it. Returns a line about what it was good for; empty: it was not asked."""
        packed = self._store.close()
        asked, saved = self._found + self._missed, f", {self._saved:.1f} s saved" if self._saved > 0 else ""
        parts = [f"{self._found} of {asked} steps found ({self._got / 1e6:.2f} MB{saved})"] if asked else []
        parts += [f"{self._kept} stored ({self._sent / 1e6:.2f} MB)"] if self._kept else []
        return f"{self._where}: {', '.join(parts)}{packed}" if parts else ""


class FarmStep(NamedTuple):
    """A command, what it reads and what it makes, by path from the folder in which it runs."""

    words: Sequence[str]
    environment: Mapping[str, str]
    files: Mapping[str, tuple[Path, Digest]]
    outputs: Sequence[str]
    more: Sequence[str] = ()  # What it may make, too
    anew: bool = False  # No earlier result will do


class Farm(SharedCache):
    """The farm of a build. Errors and threads as of a cache."""

    def interrupted(self) -> bool:
        """Whether the user ends the build."""
        return False

    def run(self, step: FarmStep, folder: Path) -> tuple[int, str, str] | None:
        """Exit status and output of a step, whose files are below a folder now; None: it is to be done here."""
        done = None
        with self._asking(reading=True, instead=f": {min(step.outputs, default='the run')} is done here"):
            done = self._run(step, folder) if self.reads else None
        self._missed += done is None
        return done

    def _run(self, step: FarmStep, folder: Path) -> tuple[int, str, str]:
        made: dict[Digest, Callable[[], bytes]] = {}
        root = messages.tree({name: digest for name, (_, digest) in step.files.items()}, made)
        platform, names = message((1, _rows(self._config.properties))), sorted({*step.outputs, *step.more})
        # Servers of version 2.0 know output_files (3), and the platform of a command alone.
        words, variables = (1, step.words), (2, _rows(step.environment.items()))
        command = messages.kept(made, words, variables, (3, names), (5, platform), (7, names))
        action = messages.kept(made, (1, command.written), (2, root.written), (7, int(step.anew)), (10, platform))
        sent = self._store.upload({digest: path.read_bytes for path, digest in step.files.values()} | made)
        response = self._response(message((1, self._store.instance), (3, int(step.anew)), (6, action.written)))
        if self.interrupted():
            return 130, "", ""
        result = parse(response[1][0])
        code, out, err = result.get(4, [0])[0], self._text(result, 5), self._text(result, 7)
        # Ours end with one of these. Python that lacks a package and a program that is not there are not the step's.
        if code not in (0, 1, 2) or "\nModuleNotFoundError: " in err:
            raise UnansweredError(f"its worker ended with {code}: {err.strip().rpartition(chr(10))[2]}")
        files = [each for each in messages.files_of(result) if each[0] in (step.more if code else names)]
        if not code and (gone := {*step.outputs} - {name for name, _, _ in files}):
            raise UnansweredError(f"it has not made {min(gone)}")
        for name, _, _ in files:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
        fetch(self._store, files, folder)
        with self._lock:
            self._found, self._sent = self._found + 1, self._sent + sent
            self._got += sum(digest.size for _, digest, _ in files)
        return code, out, err

    def _text(self, result: Mapping[int, list[Any]], at: int) -> str:
        """A stream, which is in the result or has a digest (the next field)."""
        text = io.BytesIO(result.get(at, _NOTHING)[0])
        if at + 1 in result and not text.getvalue():
            self._store.read("cas", Digest.read(result[at + 1][0]), text)
        return text.getvalue().decode("utf-8", "replace")

    def _response(self, request: bytes) -> dict[int, list[Any]]:
        """The fields of an ``ExecuteResponse``; none: The user ends it. UnansweredError: It does not come."""
        end, name, broken = time.monotonic() + self._config.longest, "", "its answer is cut off"
        limit = time.monotonic() + self._config.queue

        def stop() -> bool:
            return time.monotonic() > limit or self.interrupted()

        # Each stream but the last may break off.
        for method in ("Execute", "WaitExecution", "WaitExecution"):
            try:
                for piece in self._store.stream(f"{_EXECUTION}{method}", request, 2 * self._config.longest, stop):
                    operation = parse(piece)
                    name = operation[1][0].decode()
                    if operation.get(3) == [1]:
                        return _answered(operation)
                    stage = parse(parse(operation.get(2, _NOTHING)[0]).get(2, _NOTHING)[0]).get(1, [0])[0]
                    # 1: its result is looked for; 2: it is in a queue, maybe again, after a worker that is gone.
                    limit = min(limit, time.monotonic() + self._config.queue) if stage in (1, 2) else end
            except UnansweredError as error:
                broken = str(error)
            if not name or stop():
                break
            request = message((1, name))
        late, why = time.monotonic() > limit, "it takes too long" if limit == end else "no worker has begun"
        with contextlib.suppress(UnansweredError):
            self._store.call("/google.longrunning.Operations/CancelOperation", message((1, name)))
        if self.interrupted():
            return {}
        raise UnansweredError(why if late else broken)

    def ended(self) -> str:
        """End it. Returns a line about what it has done; empty: It was not asked."""
        packed = self._store.close()
        asked, size = self._found + self._missed, f"{self._sent / 1e6:.2f} MB sent, {self._got / 1e6:.2f} MB came"
        return f"{self._where}: {self._found} of {asked} steps done there ({size}){packed}" if asked else ""


def _rows(pairs: Iterable[tuple[str, str]]) -> list[bytes]:
    return [message((1, name), (2, text)) for name, text in sorted(pairs)]


def _answered(operation: dict[int, list[Any]]) -> dict[int, list[Any]]:
    """The answer of an operation that is done. ValueError: It is an error of the farm."""
    response = parse(parse(operation.get(5, _NOTHING)[0]).get(2, _NOTHING)[0])
    status = parse(operation[4][0] if 4 in operation else response.get(3, _NOTHING)[0])
    if status.get(1):
        raise ValueError(f"code {status[1][0]}: {status.get(2, _NOTHING)[0].decode('utf-8', 'replace')}")
    return response
