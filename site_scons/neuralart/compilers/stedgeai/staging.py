"""Prepares the profile for the tool: resolved, in the spelling of its version, beside its pool file."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from neuralart.compilers.profile_edits import CONTROLLER, csv_name, edit, for_profiling, groups, has_controller
from neuralart.compilers.stedgeai.fileset import FileConditions
from neuralart.compilers.stedgeai.request import ProfileChoice, ToolRequest
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.network.pools import MemoryPool, PoolFile
from neuralart.quick import dataclass, field
from neuralart.text.json_values import parse
from neuralart.vendor import mpool, profile
from neuralart.vendor.releases import Release

_DESCRIPTION_KEYS = ("machine_desc", "memory_desc")


def description(base: Path, name: str, display: str = "") -> Path | None:
    """Find the machine description of a profile. NeuralArtError: it is missing."""
    document = parse(read_bytes(base), display or str(base), relaxed=True)
    members = document.need("Profiles").need(name).mapping()
    written = next((members[key] for key in _DESCRIPTION_KEYS if key in members), None)
    if written is None:
        return None
    path = base.parent / written.string()
    if not path.is_file():
        written.fail(
            f"profile '{name}' names the machine description '{written.value}': no such file, looked for at {path}",
            "the path is relative to the profile file",
        )
    return path


def reference(path: Path, folder: Path) -> str:
    """Write a file relative to a folder, with ``/``; absolute if it is on another drive."""
    try:
        return os.path.relpath(path.absolute(), folder.resolve()).replace("\\", "/")
    except ValueError:
        return path.absolute().as_posix()


def derive(
    base: Path | None,
    name: str,
    *,
    options: Sequence[str],
    memory_pool: str,
    description: str = "",
    description_key: str = "machine_desc",
    display: str = "",
) -> str:
    """Write a profile file with one profile, derived from ``base`` (None: nothing), whose other entries stay.
    ``display``: the base in messages. Pool file and machine description (empty: none) are relative to the new file;
    ``description_key``: the tool's key for the latter.
    """
    globals_: Any = {}
    profile: dict[str, Any] = {}
    if base is not None:
        document = parse(read_bytes(base), display or str(base), relaxed=True)
        globals_ = document.value.get("Globals", {})
        profile = dict(document.value["Profiles"][name])
    for key in _DESCRIPTION_KEYS:
        profile.pop(key, None)
    profile["memory_pool"] = memory_pool
    profile["options"] = shlex.join(options)
    if description:
        profile[description_key] = description
    return json.dumps({"Globals": globals_, "Profiles": {name: profile}}, indent=1, ensure_ascii=True) + "\n"


_FORMAT = re.compile(rb'("fformat"\s*:\s*")FORMAT_\w+(?=")')
_INFO = "--output-info-file"
FOLDER = "profile"
FILE = "profile.json"


@dataclass(frozen=True)
class StagedProfile:
    """What the tool gets besides the model."""

    argument: str = ""  # Of ``--st-neural-art``, relative to where the tool runs; empty without NPU
    options: tuple[str, ...] | None = None  # Of the profile; None where only the tool knows them
    pools: PoolFile | None = None  # The memory pools; None where only the tool knows them
    # To be written where the tool runs: relative name -> content
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    sources: tuple[Path, ...] = ()  # The user's files that went into it
    notes: tuple[str, ...] = ()  # Keys and options without effect


def _file_name(path: Path) -> str:
    """A name that neither spaces, nor @, nor other letters make trouble for."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", path.name)


def _options(
    given: tuple[str, ...], choice: ProfileChoice, request: ToolRequest, release: Release, where: str
) -> tuple[str, ...]:
    # Our own of these names are for every compiler, those with the vendor's names are complete but for what the target
    # says from 3.0 on.
    whole = choice.argument.name not in (profile.DEFAULT_PROFILE, profile.RELOCATABLE_PROFILE)
    built_in = tuple(word for word in release.habits.built_in if not whole or word == "--mvei")
    options = edit(built_in, given, (), where) if choice.stock else given
    options = edit(options, choice.add, choice.remove, where)
    if request.controller:
        if choice.profiling:
            hint = "leave one out"
            raise NeuralArtError("contradicts the pair for profiling, which has none", where=CONTROLLER, hint=hint)
        options = edit(options, (CONTROLLER,), (), where)
    return for_profiling(options) if choice.profiling else options


def _raw(data: bytes, pools: Sequence[MemoryPool]) -> bytes:
    """The text of a pool file that asks for raw files, but of the pools whose C the program's linker places."""
    lines = data.splitlines(keepends=True)
    starts = []
    for pool in pools:
        line, column = map(int, pool.where.rsplit(":", 2)[1:])
        starts.append(sum(map(len, lines[: line - 1])) + column - 1)
    made = data[: starts[0]]
    for pool, start, end in zip(pools, starts, [*starts[1:], len(data)], strict=True):
        made += data[start:end] if pool.in_c else _FORMAT.sub(rb"\1FORMAT_RAW", data[start:end])
    return made


def stage(request: ToolRequest, release: Release) -> StagedProfile:
    """Read profile and pools and adapt them to a version; nothing is written. NeuralArtError: a file is missing or
    wrong, or an edit is impossible.
    """
    choice = request.profile
    if choice is None:
        if request.mpool is not None:
            hint = "for other targets: --memory-pool FILE"
            raise NeuralArtError("it is the memory-pool file of the NPU", where="--mpool", hint=hint)
        return StagedProfile()
    name = choice.argument.name
    if choice.path is None:
        if request.mpool is not None or choice.edited:
            what = "--mpool" if request.mpool is not None else "a change of the profile"
            what = f"{what} needs a profile file, and profile-{name} is the tool's own"
            raise NeuralArtError(what, where="--st-neural-art", hint="name one: PROFILE@FILE.json")
        return StagedProfile(argument=f"profile-{name}")
    shown = choice.argument.file or str(choice.path)
    found = profile.read(choice.path, name, shown, need_pools=request.mpool is None)
    pool_path, pool_display = found.mpool, found.mpool_display
    if request.mpool is not None:
        pool_path, pool_display = request.mpool, request.mpool_display or str(request.mpool)
    pools = mpool.read(pool_path, pool_display)
    options = _options(found.options, choice, request, release, shown)
    notes = tuple(f"key '{key}' of profile '{name}': the tool may not know it" for key in found.unknown)
    if any(group.name == _INFO for group in groups(options)):
        # The tool's own command line has it, behind these.
        options = edit(options, (), (_INFO,), shown)
        notes += (f"{_INFO}: the description of the network is always {request.name}_c_info.json",)
    pools_name, machine_name = f"pools/{_file_name(pool_path)}", ""
    # Of hex files only the format's name is documented, and nothing puts C to an address. Asked for raw bytes, the
    # tool writes the same constants.
    files = {f"{FOLDER}/{pools_name}": _raw(read_bytes(pool_path), pools.pools)}
    sources = [choice.path, pool_path]
    machine = description(choice.path, name, shown)
    if machine is not None:
        machine_name = f"machine/{_file_name(machine)}"
        files[f"{FOLDER}/{machine_name}"] = read_bytes(machine)
        sources.append(machine)
    text = derive(
        choice.path,
        name,
        options=options,
        memory_pool=f"./{pools_name}",
        description=f"./{machine_name}" if machine_name else "",
        description_key=release.habits.description_key,
        display=shown,
    )
    files[f"{FOLDER}/{FILE}"] = text.encode("ascii")
    others = [pool.fname for pool in pools.enabled if pool.fformat != "FORMAT_RAW" and not pool.in_c]
    if others:
        notes += (f"fformat of pool {', '.join(others)}: constants are raw files, the build makes hex files itself",)
    return StagedProfile(f"{name}@{FOLDER}/{FILE}", options, pools, files, tuple(sources), notes)


def conditions_of(request: ToolRequest, staged: StagedProfile) -> FileConditions:
    """Find what decides the files of a compile."""
    options = staged.options or ()
    values = request.values
    return FileConditions(
        name=request.name,
        stem=request.stem,
        npu=request.npu,
        controller=request.npu and (has_controller(options) or request.controller),
        report=request.report,
        csv=bool(csv_name(options)),
        c_api=str(values.get("--c-api") or ""),
        binary=bool(values.get("--binary") is not None),
        relocatable=values.get("--relocatable") is not None,
    )
