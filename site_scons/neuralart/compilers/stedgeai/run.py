"""Runs the tool in a folder of its own. The output folder is emptied before, and filled when all files are there."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from neuralart.compilers.fileset import FACTS, PROVENANCE, begin, check_owner, end, listed
from neuralart.compilers.stedgeai.fileset import c_info_name, csv_output, is_initializer, report_name
from neuralart.compilers.stedgeai.install import Install, child_environment
from neuralart.errors import NeuralArtError
from neuralart.files import write_bytes
from neuralart.network.facts import MANIFEST
from neuralart.quick import dataclass, field
from neuralart.vendor.programs import end_tree

# What the tool prints: without its progress bar, which shares the stream with everything else -----------------------

# tqdm: "PASS:  98%|####8| 102/104 [01:32<00:06, 3.16s/it]", the bar in block characters or digits.
_PROGRESS = re.compile(r"PASS:\s*(\d{1,3})%\|[^|\n]{0,200}\|\s*(\d{1,6})/(\d{1,6})\s*\[[^\]\n]{0,60}\]")


def progress(text: str) -> str:
    """Read the progress from output, ``98 % (102/104)``; empty if there is none."""
    found = _PROGRESS.findall(text)
    return f"{int(found[-1][0])} % ({found[-1][1]}/{found[-1][2]})" if found else ""


def clean(text: str) -> list[str]:
    """Select the lines of the output that say something."""
    return [line for each in re.split(r"[\r\n]+", _PROGRESS.sub("\r", text)) if (line := each.rstrip())]


# ---------------------------------------------------------------------------------------------------------------------

VENDOR = ".vendor"
LOG, COMMAND = "log.txt", "command.txt"
_PREFIX = ".work-"
_ABANDONED = 24 * 3600.0
# The back end crashes on other letters in any folder above it.
_AWKWARD = "@"
_TEMPORARY = ("/tmp",) if os.name == "posix" else ()  # nosec B108 - behind the process's own; mkdtemp makes a folder


@dataclass(frozen=True)
class ToolRun:
    """The result of a run."""

    status: int  # Exit status; negative: killed by that signal
    lines: tuple[str, ...] = field(repr=False)  # What it printed, without its progress bar
    late: bool = False  # It was ended because its time was up
    reached: str = ""  # The last progress that it told, ``98 % (102/104)``; empty: it told none


def _abandoned(output: Path) -> None:
    """Remove working folders of runs that were killed long ago."""
    for folder in output.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            if time.time() - folder.stat().st_mtime > _ABANDONED:
                shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def working_folder(output: Path) -> Iterator[Path]:
    """A folder for one run, gone afterwards; NeuralArtError if it cannot be made. It is made in the output folder,
    except where the path to that has letters on which the tool crashes.
    """
    try:
        output.mkdir(parents=True, exist_ok=True)
        _abandoned(output)
        folders = [str(Path(each).resolve()) for each in (output, tempfile.gettempdir(), *_TEMPORARY)]
        place = next((each for each in folders if each.isascii() and _AWKWARD not in each), None)
        if place is None:
            what = "ST Edge AI Core crashes below folders with '@' or letters outside ASCII in their path"
            hint = f"another output folder, or another TMPDIR than {folders[1]}"
            raise NeuralArtError(what, where=str(output), hint=hint)
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place)).resolve()
    except OSError as error:
        raise _cannot(output, error) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def put(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files below a folder. NeuralArtError: the disk is full, or the like."""
    for name, content in files.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        except OSError as error:
            raise NeuralArtError(f"cannot write: {error.strerror}", where=str(path)) from error


def execute(
    install: Install,
    words: Sequence[str],
    folder: Path,
    environ: Mapping[str, str],
    listen: Callable[[str], None] = lambda _text: None,
    seconds: float | None = None,
) -> ToolRun:
    """Run the tool in a folder; NeuralArtError if it cannot be started. ``listen`` is called with the progress, ``98 %
    (102/104)``, when that changes. After ``seconds`` (None: no limit) it is ended, together with the programs that it
    started.
    """
    import subprocess
    from threading import Event, Timer

    try:
        process = subprocess.Popen(
            [str(install.program), *words],
            cwd=folder,
            env=child_environment(environ, install.root),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # Only then: signals for our own group (Ctrl-C, the end of a build) would not reach it.
            start_new_session=seconds is not None,
        )
    except OSError as error:
        raise NeuralArtError(f"cannot be started: {error.strerror}", where=str(install.program)) from error
    parts: list[bytes] = []
    last, late = "", Event()

    def too_long() -> None:
        late.set()
        end_tree(process)

    timer = Timer(seconds, too_long) if seconds is not None else None
    assert process.stdout is not None
    try:
        if timer is not None:
            timer.start()
        with process.stdout as stream:
            # Not by lines: the progress bar is one line for minutes.
            while piece := os.read(stream.fileno(), 1 << 16):
                parts.append(piece)
                now = progress(piece.decode("utf-8", "replace"))
                if now and now != last:
                    listen(now)
                    last = now
        status = process.wait()
    finally:
        if timer is not None:
            timer.cancel()
        if process.poll() is None:
            if seconds is None:
                process.kill()
            else:
                end_tree(process)
            process.wait()
    return ToolRun(status, tuple(clean(b"".join(parts).decode("utf-8", "replace"))), late.is_set(), last)


def command_text(install: Install, words: Sequence[str]) -> str:
    """Write the command line, to read and to repeat by hand."""
    return f"{install.identity}\n{shlex.join([install.program.name, *words])}\n"


def _cannot(folder: Path, error: OSError) -> NeuralArtError:
    return NeuralArtError(f"cannot write: {error.strerror}", where=str(folder), hint="is it a folder, and writable?")


def clear(folder: Path, network: str) -> None:
    """Remove files of an earlier compile, by its manifest and by name. NeuralArtError: the folder belongs to another
    network, or cannot be changed.
    """
    check_owner(folder, network)
    _, names = listed(folder)
    sure = [f"{network}.c", f"{network}.h", f"stai_{network}.c", f"stai_{network}.h", f"{network}_ecblobs.h"]
    sure += [c_info_name(network), report_name(network), csv_output(network), FACTS, PROVENANCE]
    try:
        if folder.is_dir():
            begin(folder)
        # First: where it is, it is right.
        (folder / MANIFEST).unlink(missing_ok=True)
        raws = [path.name for path in folder.iterdir() if is_initializer(path.name, network)] if folder.is_dir() else []
        for name in sorted({*names, *sure, *raws}):
            (folder / name).unlink(missing_ok=True)
        if (folder / VENDOR).is_dir():
            shutil.rmtree(folder / VENDOR)
        end(folder)
    except OSError as error:
        raise _cannot(folder, error) from error


def fill(folder: Path, files: Mapping[str, bytes], vendor: Mapping[str, bytes]) -> None:
    """Write a complete set to a cleared folder, the manifest last; on a failure nothing of it stays. ``vendor``:
    originals and log, for ``.vendor``. NeuralArtError: the folder cannot be written.
    """
    keep(folder, vendor)
    order = sorted(files, key=lambda name: (name == MANIFEST, name))
    try:
        begin(folder, files)
        for name in order:
            write_bytes(folder / name, files[name])
        end(folder)
    except BaseException:
        for name in order:
            with contextlib.suppress(OSError):  # Something else is in the way, and stays
                (folder / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            end(folder)
        raise


def keep(folder: Path, vendor: Mapping[str, bytes]) -> None:
    """Write ``.vendor``. NeuralArtError: the folder cannot be written."""
    for name in sorted(vendor):
        write_bytes(folder / VENDOR / name, vendor[name])
