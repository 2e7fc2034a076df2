"""``neuralart watch``: variants are built again whenever one of the files that they are made of changes.

SCons and our code are loaded once, in a process that makes a copy of itself for each build. What a build leaves in
memory, or breaks, ends with its copy.
"""
# Thousands of paths, as text:
# ruff: noqa: PTH100, PTH112, PTH116, PTH118, PTH120

from __future__ import annotations

import argparse
import atexit
import contextlib
import gc
import importlib
import os
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from neuralart import intact, project_folder
from neuralart.errors import NeuralArtError
from neuralart.resources import PACKAGE

_ROOMS = (
    *("boards.loading", "compilers.stedgeai.install", "flashing.plan", "memory.plan.plan_report", "text.sizes"),
    *("memory.image.check_image", "memory.startup.network_io", "relocatable.format.container", "summary"),
    *("scons.console", "scons.stamps", "vendor.mpool"),
)
_OTHERS = ("SCons.Tool.cc", "SCons.Tool.link", "elftools.elf.elffile", "encodings.utf_8_sig", "filelock", "yaml")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("variants", nargs="+", metavar="VARIANT", help="of the project in this folder")
    parser.add_argument("--run", action="store_true", help="run them on their virtual boards, too")
    parser.add_argument("--build", default="build", metavar="FOLDER", help="the build folder (default: build)")


def _become_scons(words: Sequence[str]) -> None:
    """Do what ``python -m SCons`` does."""
    import SCons.Script

    atexit._clear()  # what the watcher is to do when it ends
    sys.path.insert(0, str(Path.cwd()))
    sys.argv, SCons.Script.start_time = ["scons", *words], time.time()
    try:
        SCons.Script.main()
    finally:
        atexit._run_exitfuncs()  # multiprocessing itself calls them from Python 3.13 on


def _folders(build: str) -> tuple[dict[str, int], set[str]]:
    """Folders to watch, with their inodes (all of this project but hidden ones and the build folder, and those of the
    files that the last good builds have read), and these files, behind links too.
    """
    groups = (intact.load(f"{build}/{intact.NAME}") or {"groups": []})["groups"]
    files = {os.path.abspath(path) for group in groups for path in intact.paths_in(group)}
    files |= {os.path.realpath(file) for file in files}
    made = os.path.abspath(build)
    folders = {os.path.dirname(file) for file in files if not file.startswith(f"{made}{os.sep}")}
    for folder, below, _ in os.walk(Path.cwd()):
        below[:] = [name for name in below if name[0] != "." and name != "__pycache__"]
        below[:] = [name for name in below if os.path.join(folder, name) != made]
        folders.add(folder)
    return _there(folders), files


def _there(folders: Iterable[str]) -> dict[str, int]:
    """Those that are there and can be watched, with their inodes: another one may have got the name of one."""
    return {path: os.stat(path).st_ino for path in folders if os.path.isdir(path) and os.access(path, os.R_OK)}


def run(args: argparse.Namespace) -> int:
    """Build, watch and build again until Ctrl-C. NeuralArtError: this system, or this folder, cannot be seen."""
    import multiprocessing
    import subprocess

    try:
        from watchfiles import DefaultFilter, watch
    except ImportError as error:
        raise NeuralArtError("needs watchfiles", where="watch", hint="pip install 'scons-neuralart[watch]'") from error
    project_folder.enter(())
    own = Path("site_scons", PACKAGE.name)
    if "fork" not in multiprocessing.get_all_start_methods() or (own.is_dir() and not own.samefile(PACKAGE)):
        what = "needs a system that can copy a process, and a tree without a copy of this package"
        raise NeuralArtError(what, where="watch", hint="call scons after each change")
    words = ["-Q", f"-j{os.cpu_count() or 1}", *args.variants, *(f"run-{name}" for name in args.variants if args.run)]
    # Hidden files are those of editors and of Git; others are written by the build itself.
    hidden = (*DefaultFilter.ignore_entity_patterns, r"^\.", r"^compile_commands\.", r"\.log$", f"^{args.build}$")
    counts, code, top, made = DefaultFilter(ignore_entity_patterns=hidden), None, f"{Path.cwd()}/", f"{args.build}/"
    from neuralart.scons import fork_server, tool
    from neuralart.scons.registry import child_environment

    methods = (f"scons.{place.rpartition('.')[0]}" for place in tool.METHODS.values())
    for name in (*_OTHERS, *(f"neuralart.{room}" for room in (*methods, *_ROOMS))):
        importlib.import_module(name)
    fork_server.start(child_environment({}))  # Copies of this process find it
    gc.freeze()  # as there
    while True:
        (folders, files), due = _folders(args.build), True  # Something may have changed before this watch began
        turns = watch(*folders, watch_filter=None, recursive=False, step=20, rust_timeout=200, yield_on_timeout=True)
        # A folder that goes while the watch begins, or later and comes back as another, is looked for again.
        with contextlib.suppress(FileNotFoundError):
            for changes in turns:
                paths = sorted({path for change, path in changes if counts(change, path)})
                paths = [path for path in paths if not path.startswith(os.path.abspath(made) + os.sep)]
                paths = [path for path in paths if path.startswith(top) or path in files]
                due = bool(due or paths)
                # What a run reads is not in the stamps.
                if due and not args.run and code == 0 and intact.answer(args.build, args.variants):
                    due = False
                if due:
                    for path in paths[:3]:
                        print(f"watch: {os.path.relpath(path)} changed", flush=True)
                    if any(path.startswith(str(PACKAGE)) for path in paths):
                        fork_server.end()
                        return subprocess.call([sys.executable, *sys.orig_argv[1:]])  # what is loaded here is old
                    since = time.monotonic()
                    build = multiprocessing.get_context("fork").Process(target=_become_scons, args=(words,))
                    build.start()
                    build.join()
                    code, took = build.exitcode, f"after {time.monotonic() - since:.2f} s"
                    print(f"watch: failed ({code}) {took}" if code else f"watch: good {took}", flush=True)
                    due = not _folders(args.build)[0].keys() <= folders.keys()
                came = any(os.path.isdir(path) and path not in folders for _, path in changes)
                if due or came or _there(folders) != folders:
                    break
        time.sleep(0.02)
