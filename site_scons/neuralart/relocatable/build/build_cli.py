"""``neuralart relocatable build``: has the options of the vendor's driver; also writes the image as C."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuralart import __version__, jsontext
from neuralart.errors import NeuralArtError
from neuralart.files import LOG, is_file, read_bytes, write_lines, write_text
from neuralart.network.facts import LL_ATON
from neuralart.relocatable.build import driver_options
from neuralart.relocatable.build.request import BuildRequest, find_network
from neuralart.relocatable.format.types import MAGIC, OFFSET, Image, align8
from neuralart.text.console import say
from neuralart.vendor.releases import dotted

if TYPE_CHECKING:
    from neuralart.relocatable.build.builder import Built, Prepared
    from neuralart.relocatable.build.request import BuildRequest


_DEFAULT = ""
SCHEMA = 1


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--input", "-i", default="st_ai_output", metavar="PATH", help="network.c or its folder (default st_ai_output)")
    add("--output", "-o", default="build", metavar="DIR", help="folder of the results (default build)")
    add("--name", "-n", metavar="NAME", help="base name of all outputs (default: that of the C file)")
    add("--no-secure", action="store_true", help="for firmware in the non-secure state")
    add("--split", action="store_true", help="weights into NAME_rel_params.bin")
    add("--pack-dir", metavar="DIR", help="installation of ST Edge AI Core (default STEDGEAI_CORE_DIR)")
    add("--gen-c-file", action="store_true", help="also write the image as NAME_rel.c and NAME_rel.h")
    add("--parse-only", action="store_true", help="read and check the network, compile nothing")
    add("--no-clean", action="store_true", help="keep generated sources, ELF and map")
    add("--no-dbg-info", action="store_true", help="epoch items without numbers; the firmware must agree")
    add("--ecblob-in-params", action="store_true", help="epoch-controller blobs in front of the weights")
    add("--cross-compile", metavar="PREFIX", help="prefix of the compiler (default CROSS_COMPILE or arm-none-eabi-)")
    add("--json", nargs="?", const=_DEFAULT, metavar="FILE", help="results as JSON (default NAME_reloc_results.json)")
    add("--log", nargs="?", const=_DEFAULT, metavar="FILE", help="all messages in a file (default NAME_reloc.log)")
    levels = ("0", "1", "2")
    add("--verbosity", "-v", nargs="?", const="1", default="1", choices=levels, help="how much is printed (default 1)")
    add("--debug", action="store_true", help="like --verbosity 2 --no-clean")
    add("--no-color", action="store_true", help="nothing: the output has no colors")
    driver_options.configure(parser)
    add("--layout", metavar="NAME", help="own option: aligned (default of our runtime) or vendor (default of theirs)")
    from neuralart import outputs

    outputs.add_force(parser)
    add("--objects", metavar="DIR", help="own option: folder that remembers objects (default DIR/objects)")


def request_of(args: argparse.Namespace) -> BuildRequest:
    """Make the request from command line and environment. NeuralArtError: there is no network."""
    network = find_network(Path(args.input), args.name or "")
    pack = args.pack_dir or os.environ.get("STEDGEAI_CORE_DIR")
    request = BuildRequest(
        network=network,
        output=Path(args.output),
        name=args.name or network.stem,
        secure=not args.no_secure,
        split=args.split,
        debug_info=not args.no_dbg_info,
        blobs_in_params=args.ecblob_in_params,
        c_file=args.gen_c_file,
        keep=args.no_clean or args.debug,
        pack=Path(pack) if pack else None,
        prefix=args.cross_compile or os.environ.get("CROSS_COMPILE") or "arm-none-eabi-",
        layout=args.layout or "",
        objects=Path(args.objects) if args.objects else None,
    )
    return driver_options.applied(request, args)


def _network_text(prepared: Prepared) -> str:
    source, runtime = prepared.source, prepared.runtime
    made_for = f"runtime {runtime.name} {dotted(runtime.version)}, layout {prepared.request.layout}"
    lines = [f"network {source.c_name} of {source.path.name}: {made_for}"]
    for entry, pool in zip(prepared.entries, prepared.params.descriptors, strict=True):
        base = "relative  " if entry.use.pool.relative else f"0x{entry.use.pool.address:08x}"
        lines.append(f"  {pool.name:<12} {base}  {pool.flags:08x} {pool.notation:<24} {pool.size:>12,} B")
    return "\n".join(lines)


def _parsed(prepared: Prepared) -> Iterator[tuple[int, str, str, list[list[str]]]]:
    """Verbosity, caption, heads and rows of what is shown of a network that is read only."""
    source = prepared.source
    uses = [entry.use for entry in prepared.entries]
    pools = [[use.pool.fname, use.pool.rights, f"{use.params:,}", f"{use.activations:,}"] for use in uses]
    yield 1, "pools", "name rights params activations", pools
    epochs = []
    for block in source.epochs:
        number = f"{block.number}" if block.last in (None, block.number) else f"{block.number}..{block.last}"
        epochs.append([number, block.kind, str(block.total_cycles or ""), ", ".join(block.operators)])
    yield 1, "epochs", "epoch type cycles operators", epochs
    buffers = []
    for row in source.buffers:
        kind = "constant" if row.is_param else "activation"
        buffers.append([row.name, kind, row.symbol or f"0x{row.base:08x}", f"{row.start}", f"{row.end}"])
    yield 2, "buffers", "name kind base start end", buffers


def _network_data(prepared: Prepared) -> dict[str, Any]:
    source, runtime = prepared.source, prepared.runtime
    return {
        "c_name": source.c_name,
        "description": source.description,
        "runtime": runtime.name,
        "runtime_version": list(runtime.version),
        "callbacks": list(runtime.callbacks),
        "layout": prepared.request.layout,
        "secure": prepared.request.secure,
        "dbg_info": prepared.request.debug_info,
        "pools": [
            {
                "fname": entry.use.pool.fname,
                "address": entry.use.pool.address,
                "relative": entry.use.pool.relative,
                "size": pool.size,
                "params": entry.use.params,
                "activations": entry.use.activations,
                "flags": pool.notation,
            }
            for entry, pool in zip(prepared.entries, prepared.params.descriptors, strict=True)
        ],
    }


def _checked(built: Built) -> Image:
    """Read back what was built, as every other reader does. NeuralArtError: it breaks a rule of the format: a fault of
    this program, or of the linker.
    """
    from neuralart.relocatable.format.container import parse
    from neuralart.relocatable.verify.verifier import verify

    name = f"{built.prepared.request.name}_rel.bin"
    image = parse(built.container.image, name, built.container.params)
    wrong = [finding for finding in verify(image) if finding.level == "error"]
    if wrong:
        raise NeuralArtError(f"{len(wrong)} fault(s) in what was built, nothing is written: {wrong[0]}", where=name)
    expected = built.prepared.runtime.header_words
    if image.header_words != expected:
        raise NeuralArtError(f"header of {image.header_words} words, expected {expected}", where=name)
    return image


class _Output:
    def __init__(self, verbosity: int) -> None:
        self.lines: list[str] = []
        self.verbosity = verbosity

    def say(self, text: str, level: int = 1) -> None:
        lines = text.split("\n")
        self.lines += lines
        if level <= self.verbosity:
            say(*lines)


def _places(args: argparse.Namespace, request: BuildRequest) -> tuple[Path | None, Path | None]:
    """Where the results as JSON and the log go. NeuralArtError: somewhere is what no build made."""
    from neuralart import outputs

    top = request.output / request.name
    image = top.with_name(f"{request.name}_rel.bin")
    # A file of parameters cannot say whose it is; the image beside it does.
    ours = is_file(image) and read_bytes(image)[:4] == MAGIC.to_bytes(4, "little")
    ends = ["_rel.bin", "_rel_params.bin", "_rel.c", "_rel.h", *[".elf", ".map"] * request.keep]
    for end in () if args.parse_only else ends:
        outputs.refuse(top.with_name(f"{request.name}{end}"), lambda _data: ours, force=args.force)
    places = []
    for given, end, mine in ((args.json, "_results.json", _is_result), (args.log, ".log", outputs.says(LOG))):
        path = None if given is None else Path(given) if given else top.with_name(f"{request.name}_reloc{end}")
        if path is not None:
            outputs.refuse(path, mine, force=args.force)
        places.append(path)
    return places[0], places[1]


def _is_result(data: bytes) -> bool:
    """Results that we wrote: those of the vendor's driver have no description of the network."""
    try:
        found = jsontext.loads(data)
        return bool(found["schema"] == SCHEMA and "runtime_version" in found["network"])
    except (ValueError, KeyError, TypeError):
        return False


def _write_json(path: Path | None, data: dict[str, Any]) -> None:
    import json

    if path is not None:
        write_text(path, json.dumps({"schema": SCHEMA, **data}, indent=1, sort_keys=True) + "\n")


def _build(args: argparse.Namespace, request: BuildRequest, output: _Output, path: Path | None) -> None:
    from neuralart.relocatable.build import builder
    from neuralart.relocatable.build.objects import BuildRefusal
    from neuralart.relocatable.verify import report

    if args.parse_only:
        prepared = builder.prepare(request)
        output.say(_network_text(prepared))
        for level, caption, heads, rows in _parsed(prepared):
            output.say("\n".join(["", *report.table(heads.split(), rows, f"{caption} ({len(rows)})")]), level)
        for warning in prepared.warnings:
            say(f"neuralart relocatable build: warning: {warning}", file=sys.stderr)
        _write_json(path, {"network": _network_data(prepared)})
        return
    try:
        built = builder.build(request, lambda text: output.say(text, 2))
    except BuildRefusal as error:
        output.say(error.complaint, 2)
        raise
    for text in (*built.compiler.ran, *built.compiler.said):
        output.say(text, 2)
    for note in built.compiler.notes:
        say(f"neuralart relocatable build: note: {note}", file=sys.stderr)
    for warning in built.prepared.warnings:
        say(f"neuralart relocatable build: warning: {warning}", file=sys.stderr)
    image = _checked(built)
    name = request.name
    extra = {}
    if args.gen_c_file:
        extra = {f"{name}_rel.c": array_c(name, image.data).encode(), f"{name}_rel.h": header_h(name, image).encode()}
    builder.write(built, extra)
    output.say(_network_text(built.prepared))
    output.say(report.as_text(image))
    for note in (*built.prepared.notes, *built.container.notes):
        output.say(f"   note: {note}")
    sizes = {file: len(data) for file, data in sorted({**built.files, **extra}.items())}
    output.say("Generating files...")
    for file, size in sizes.items():
        output.say(f'    creating "{(request.output / file).as_posix()}" (size={size:,})')
    results = {
        "version": __version__,
        "versions": {"neuralart": __version__, "toolchain": built.compiler.toolchain.identity},
        "network": _network_data(built.prepared),
        "reloc_binary_image": report.image_data(image),
        "relocations": built.linked.kinds,
        "gen_files": sizes,
    }
    if args.json is not None and built.prepared.runtime.name == LL_ATON:
        from neuralart.relocatable.build import results as of_vendor

        files = {request.output / file: size for file, size in sizes.items()}
        results |= of_vendor.head(image.version) | {"reloc_binary_image": of_vendor.image_data(image, files)}
    _write_json(path, results)


def run(args: argparse.Namespace) -> int:
    """Build. NeuralArtError: the network cannot become a relocatable model."""
    request = request_of(args)
    output = _Output(2 if args.debug else int(args.verbosity))
    json, log = _places(args, request)
    try:
        _build(args, request, output, json)
    except NeuralArtError as error:
        output.lines.append(f"error: {error}")
        raise
    finally:
        if log is not None:
            write_lines(log, output.lines)
    return 0


_PER_LINE = 16


def array_c(name: str, image: bytes) -> str:
    rows = [image[at : at + _PER_LINE] for at in range(0, len(image), _PER_LINE)]
    body = "".join("  " + " ".join(f"0x{byte:02x}," for byte in row) + "\n" for row in rows)
    return (
        f'#include "{name}_rel.h"\n\n'
        f"static const uint8_t image[{len(image)}] __attribute__((aligned(8))) = {{\n{body}}};\n\n"
        f"uintptr_t ai_{name}_reloc_img_get(void)\n{{\n  return (uintptr_t)image;\n}}\n"
    )


def header_h(name: str, image: Image) -> str:
    from neuralart.text.c_values import EXTERN_C, EXTERN_C_END

    prefix = f"AI_{name.upper()}_RELOC"
    values: dict[str, str] = {
        "C_NAME": f'"{image.context.c_name}"',
        "RT_DESC": f'"{image.context.description}"',
        "IMAGE_SIZE": f"({len(image.data)}u)",
        "RAM_SIZE_XIP": f"({image.xip_size}u)",
        "RAM_SIZE_COPY": f"({image.copy_size}u)",
        "PARAMS_OFFSET": f"({image.header['params_offset'] & OFFSET}u)",
        "PARAMS_SIZE": f"({len(image.params or b'')}u)",
        "WEIGHTS_SIZE": f"({image.context.params_sz}u)",
        "ACTIVATIONS_SIZE": f"({image.context.acts_sz}u)",
        "EXT_RAM_SIZE": f"({align8(image.context.ext_ram_sz)}u)",
        "MPOOL_DESC_COUNT": f"({len(image.pools)}u)",
    }
    lines = [f"#define {prefix}_{key} {value}\n" for key, value in values.items()]
    for number, pool in enumerate(image.pools):
        key = f"{prefix}_MPOOL_DESC_{number}"
        lines.append(f"\n/* {pool.notation} */\n")
        lines.append(f'#define {key}_NAME "{pool.name}"\n')
        for field in ("flags", "foff", "dst"):
            lines.append(f"#define {key}_{field.upper()} (0x{getattr(pool, field):08x}u)\n")
        lines.append(f"#define {key}_SIZE ({pool.size}u)\n")
    return (
        f"#ifndef {prefix}_H\n#define {prefix}_H\n\n#include <stdint.h>\n\n"
        + "".join(lines)
        + "\n".join(["", *EXTERN_C, "/* Address of the image, a multiple of 8. */"])
        + "\n".join([f"\nuintptr_t ai_{name}_reloc_img_get(void);", *EXTERN_C_END, "", "#endif", ""])
    )
