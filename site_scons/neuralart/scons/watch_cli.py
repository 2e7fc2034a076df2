"""``neuralart watch``: variants are built again whenever one of the files that they are made of changes.

SCons and our code are loaded once, in a process that makes a copy of itself for each build. What a build leaves in
memory, or breaks, ends with its copy.
"""
# Thousands of paths, as text:
# ruff: noqa: PTH100, PTH112, PTH114, PTH118, PTH119, PTH120

from __future__ import annotations

import argparse
import atexit
import contextlib
import gc
import os
import sys
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from neuralart import intact
from neuralart.errors import NeuralArtError
from neuralart.resources import PACKAGE


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
    sys.argv = ["scons", *words]
    try:
        SCons.Script.main()
    finally:
        atexit._run_exitfuncs()  # multiprocessing itself calls them from Python 3.13 on


def _places(build: str) -> tuple[set[str], set[str]]:
    """Folders to watch (all of this project but hidden ones and the build folder, and those of the files that the last
    good builds have read), and these files, behind links too.
    """
    files: set[str] = set()
    with contextlib.suppress(*intact.DAMAGED):
        files = {os.path.abspath(row[0]) for row in (intact.load(f"{build}/{intact.NAME}") or {})["files"]}
    real = cache(os.path.realpath)  # of folders: there are few
    links = [real(file) for file in files if os.path.islink(file)]
    files |= {os.path.join(real(os.path.dirname(file)), os.path.basename(file)) for file in files}.union(links)
    made = Path(build).absolute()
    found = {os.path.dirname(file) for file in files if not file.startswith(f"{made}{os.sep}")}
    for folder, below, _ in os.walk(Path.cwd()):
        below[:] = [name for name in below if not name.startswith((".", "__pycache__")) and Path(folder, name) != made]
        found.add(folder)
    return {folder for folder in found if os.path.isdir(folder) and os.access(folder, os.R_OK)}, files


def run(args: argparse.Namespace) -> int:
    """Build, watch and build again until Ctrl-C. NeuralArtError: this system, or this folder, cannot be seen."""
    import importlib
    import multiprocessing
    import subprocess

    try:
        from watchfiles import Change, DefaultFilter, watch
    except ImportError as error:
        raise NeuralArtError("needs watchfiles", where="watch", hint="pip install 'scons-neuralart[watch]'") from error
    own = Path("site_scons", PACKAGE.name)
    if "fork" not in multiprocessing.get_all_start_methods() or (own.is_dir() and not own.samefile(PACKAGE)):
        what = "needs a system that can copy a process, and a tree without a copy of this package"
        raise NeuralArtError(what, where="watch", hint="call scons after each change")
    words = ["-Q", f"-j{os.cpu_count() or 1}", *args.variants, *(f"run-{name}" for name in args.variants if args.run)]
    # Hidden files are those of editors and of Git; others are written by the build itself.
    hidden = (*DefaultFilter.ignore_entity_patterns, r"^\.", r"^compile_commands\.", r"\.log$", f"^{args.build}$")
    quiet, code, top = DefaultFilter(ignore_entity_patterns=hidden), None, str(Path.cwd()) + os.sep
    from neuralart.scons import answers, tool, warm
    from neuralart.scons.registry import child_environment

    methods = (f"neuralart.scons.{place.rpartition('.')[0]}" for place in tool.METHODS.values())
    rooms = ["boards.loading", "compilers.stedgeai.install", "flashing.plan", "memory.plan.plan_report"]
    rooms += ["memory.image.check_image", "memory.startup.network_io", "relocatable.format.container", "report.summary"]
    rooms += ["scons.console", "scons.stamps", "text.sizes", "vendor.mpool"]
    others = ("SCons.Tool.cc", "SCons.Tool.link", "elftools.elf.elffile", "encodings.utf_8_sig", "filelock", "yaml")
    for name in (*others, *methods, *(f"neuralart.{room}" for room in rooms)):
        importlib.import_module(name)
    # Copies of this process find it.
    warm.start(child_environment({}))
    gc.freeze()  # as there
    here, made = answers.Answers(args.build), str(Path(args.build).absolute()) + os.sep
    atexit.register(here.end)
    while True:
        (folders, files), first = _places(args.build), True
        turns = watch(*folders, watch_filter=None, recursive=False, step=20, rust_timeout=200, yield_on_timeout=True)
        for changes in turns:
            if any(path in folders and each is not Change.modified for each, path in changes):
                break  # another folder has its name
            paths = sorted({path for each, path in changes if quiet(each, path) and not path.startswith(made)})
            paths = [path for path in paths if path.startswith(top) or path in files]
            due, first = bool(paths) or first, False  # something may have changed before this watch began
            # What a run reads is not in the stamps.
            sums = {} if args.run or code else intact.environment(os.environ)
            if not due or (sums and code == 0 and intact.answer(args.build, args.variants, sums)):
                continue
            for path in paths[:3]:
                print(f"watch: {os.path.relpath(path)} changed", flush=True)
            if any(path.startswith(str(PACKAGE)) for path in paths):
                here.end()
                warm.end()
                return subprocess.call([sys.executable, *sys.orig_argv[1:]])  # what is loaded here is old
            since = time.monotonic()
            build = multiprocessing.get_context("fork").Process(target=_become_scons, args=(words,))
            with here.quiet:
                build.start()
            build.join()
            code = build.exitcode
            took = f"after {time.monotonic() - since:.2f} s"
            print(f"watch: failed ({code}) {took}" if code else f"watch: good {took}", flush=True)
            before, (folders, files) = folders, _places(args.build)
            if not folders <= before:
                break
