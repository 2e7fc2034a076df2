"""Generates the C files of a build: the network's code, pools and configuration."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.network.targets import relative_symbol as base_of
from neuralart.quick import lazy_regex
from neuralart.relocatable.build import clang
from neuralart.relocatable.build.network_source import NetworkSource
from neuralart.relocatable.build.pool_table import Params, TableEntry
from neuralart.relocatable.build.request import BuildRequest
from neuralart.relocatable.build.runtimes import Runtime
from neuralart.relocatable.format.types import ACTIV, MIXED, RELOC

SECTION = ".const_ec_blob"
DEFINE = f'ECBLOB_CONST_SECTION=__attribute__((used, section("{SECTION}")))'
_TAG = lazy_regex(r"^[ \t]*ECBLOB_CONST_SECTION\b", re.M)
_DECLARED = lazy_regex(
    r"\bstatic\s+const\s+uint64_t\s+(?:__attribute__\s*\(\(.*?\)\)\s*)?(_ec_blob_\w+)\s*\[\s*\d*\s*\]"
)
_FAR = 400  # characters between the section and the declaration: comments and an alignment at most


def in_params(text: str, user: str, where: str) -> str:
    """The ``<network>_ecblobs.h`` for ``--ecblob-in-params``: its constant blobs under other names.

    The section ``.const_ec_blob`` is linked in front of the weights. A blob that is copied and patched at start (it has
    a ``_ptr`` twin) is reached through a table of pointers; one that is used in place is named itself, for constant
    tables refer to it. ``user``: network.c, where the copies are, if not in the header. NeuralArtError: it has no
    constant blobs, or one that is not understood.
    """
    names: dict[str, str] = {}  # new ones by old ones
    parts: list[str] = []
    done, first = 0, -1
    for tag in _TAG.finditer(text):
        first = tag.start() if first < 0 else first
        found = _DECLARED.search(text, tag.end(), tag.end() + _FAR)
        if found is None:
            line = text.count("\n", 0, tag.start()) + 1
            raise NeuralArtError("no constant blob follows ECBLOB_CONST_SECTION", where=f"{where}:{line}")
        names[found[1]] = found[1].replace("_ec_blob_", "_ec_blob_PARAM_", 1)
        declaration = found.group().replace(found[1], names[found[1]], 1)
        parts += [text[done : found.start()], re.sub(r"^static\s+", "", declaration)]
        done = found.end()
    if not names:
        raise NeuralArtError("has no constant blobs (ECBLOB_CONST_SECTION)", where=where)
    lines = [f"extern const uint64_t {new}[];\n" for new in names.values()]
    table = ", ".join(f"&{new}[0]" for new in names.values())
    lines.append(f"const uint64_t *_ec_blob_table[] = {{{table}}};\n")
    for number, (name, new) in enumerate(names.items()):
        copied = re.search(rf"\b{re.escape(name)}_ptr\s*\[", text + user) is not None
        # Until 2.2 a blob that is copied is called <blob>_reloc, and the copy <blob>.
        copied = copied or not name.rsplit("_", 1)[-1].isnumeric()
        lines.append(f"#define {name} {f'_ec_blob_table[{number}]' if copied else new}\n")
    head = parts[0]
    return "".join([head[:first], *lines, head[first:], *parts[1:], text[done:]])


PLACEHOLDER = 32  # bytes of the array that stands for a relative pool: it has an address and no contents
CONF = "network_reloc_conf.h"  # the oldest installation includes it by this name, the others by MODEL_CONF
NO_POOL = "_unreferenced_buffer"


class StagedSources(NamedTuple):
    files: dict[str, str]  # name -> text
    sources: tuple[str, ...]  # the C files among them, in the order of the link
    markers: tuple[str, ...]  # symbols of the placeholders in PARAM_0


def _conf(request: BuildRequest, source: NetworkSource, runtime: Runtime, entries: Sequence[TableEntry]) -> str:
    major, minor, micro, dev = runtime.version
    relative = [e.use.size for e in entries if e.descriptor.type == RELOC and e.descriptor.data in (ACTIV, MIXED)]
    values = {
        "RUNTIME_DESC": f'"{source.description} (RELOC.{request.toolchain[1]})"',
        "RUNTIME_VERSION": f"0x{major << 24 | minor << 16 | micro << 8:08x}",
        "RUNTIME_VERSION_DEV": str(dev),
        "C_NAME": f'"{request.name.lower()}"',
        "C_FCT_SUFFIX": source.c_name,
        "ACTS_SZ": str(sum(entry.use.activations for entry in entries)),
        "PARAMS_SZ": str(sum(entry.use.params for entry in entries)),
        "EXT_RAM_SZ": str(sum(relative)),
        # Written into the image after the link: other weights of the same shape need no compiler.
        "PARAMS_BIN_SZ": "0",
        "PARAMS_BIN_CRC32": "0",
    }
    lines = [f"#define {name} {value}\n" for name, value in values.items()]
    return "".join(["#ifndef RELOC_CONF_H\n#define RELOC_CONF_H\n\n", *lines, "\n#endif\n"])


def _mempools(source: NetworkSource, entries: Sequence[TableEntry], params: Params) -> tuple[str, tuple[str, ...]]:
    relative = [entry for entry in entries if entry.descriptor.type == RELOC]
    arrays = [(entry.descriptor.id, base_of(entry.use.pool.fname, source.c_name)) for entry in relative]
    arrays = arrays or [(0, NO_POOL)]
    text = ["#include <stdint.h>\n\n"]
    text += [
        f'__attribute__((section(".params_{number}"), used)) const unsigned char {symbol}[{PLACEHOLDER}] = {{0}};\n'
        for number, symbol in arrays
    ]
    text.append(
        "\nstruct params_desc {\n  const char *name;\n  uint32_t flags;\n  uint32_t foff;\n  uint32_t dst;\n"
        "  uint32_t size;\n};\n\n"
        '__attribute__((section(".params_desc"), used)) const struct params_desc _params_desc[] = {\n'
    )
    text += [f'  {{"{d.name}", 0x{d.flags:08x}u, {d.foff}u, 0x{d.dst:08x}u, {d.size}u}},\n' for d in params.descriptors]
    text.append("  {0, 0, 0, 0, 0},\n};\n")
    return "".join(text), tuple(symbol for number, symbol in arrays if not number)


def _code(request: BuildRequest, source: NetworkSource, runtime: Runtime) -> tuple[str, dict[str, str]]:
    """network.c for this build, and the header with its blobs if it has one."""
    text = source.text
    if request.clang is not None:
        text = clang.reachable(text, [base_of(pool.fname, source.c_name) for pool in source.pools if pool.relative])
    extra: dict[str, str] = {}
    if not source.epoch_controller:
        return text + runtime.footer, extra
    header = source.path.with_name(f"{source.path.stem}_ecblobs.h")
    if not header.is_file():
        what = f"is missing, {source.path.name} includes it"
        raise NeuralArtError(what, where=str(header), hint="copy it beside network.c")
    own = f"{request.name}_reloc_ecblobs.h"
    include = rf'^([ \t]*#[ \t]*include[ \t]+)"{re.escape(header.name)}"'
    text, count = re.subn(include, rf'\1"{own}"', text, flags=re.M)
    if not count:
        raise NeuralArtError(f"does not include {header.name}", where=str(source.path), hint="was it edited?")
    blobs = read_bytes(header).decode("utf-8", "replace")
    extra[own] = in_params(blobs, source.text, str(header)) if request.blobs_in_params else blobs
    return text + runtime.footer, extra


def _check_symbols(source: NetworkSource, entries: Sequence[TableEntry]) -> None:
    for entry in entries:
        pool = entry.use.pool
        symbol = base_of(pool.fname, source.c_name)
        if entry.descriptor.type == RELOC and re.search(rf"\b{re.escape(symbol)}\b", source.text) is None:
            what = f"pool {pool.fname} is relative, but network.c never names {symbol}"
            raise NeuralArtError(what, where=pool.where, hint="was it edited?")


def stage(
    request: BuildRequest, source: NetworkSource, runtime: Runtime, entries: Sequence[TableEntry], params: Params
) -> StagedSources:
    """Generate the C files. NeuralArtError: a file of the network is missing or is not what its banner says."""
    _check_symbols(source, entries)
    name = request.name
    code, extra = _code(request, source, runtime)
    mempools, markers = _mempools(source, entries, params)
    files = {
        f"{name}_reloc.c": code,
        f"{name}_reloc_mempools.c": mempools,
        CONF: _conf(request, source, runtime, entries),
        **extra,
    }
    return StagedSources(files, (f"{name}_reloc.c", f"{name}_reloc_mempools.c"), markers)
