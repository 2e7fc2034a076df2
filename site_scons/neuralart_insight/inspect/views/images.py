"""Records of images and models: executables, Intel HEX, contents of pools, boot images, relocatable models, TFLite."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.text import image_header
from neuralart.text.ihex import parse
from neuralart.vendor.tables import address, fields, plural, quantization, rows, table
from neuralart_insight.inspect.kinds import View, view
from neuralart_reference.model.graph import Tensor

_ITEMS = "LL_ATON_EpochBlockItems_"
_RAW_NAME = re.compile(r"(?:(?P<name>.+)_)?(?P<prefix>[^_.]+)\.(?P<pool>\w+)\.(?:raw|bin)", re.I)


def _elf(path: Path) -> dict[str, Any]:
    """What an executable for a 32-bit Arm core puts where, and which networks are linked into it."""
    from neuralart.memory.image import elf_facts

    image = elf_facts.read(path, read_bytes(path))
    cpu = image.attributes
    return {
        "entry": image.entry,
        "sections": [
            {**fields(part, "name run load size"), "bytes": len(part.data), "executable": part.executable}
            for part in image.parts
        ],
        "load_bytes": sum(len(part.data) for part in image.parts),
        "functions": len(image.functions),
        "networks": sorted(name.removeprefix(_ITEMS) for _, _, name in image.functions if name.startswith(_ITEMS)),
        "cpu": {**fields(cpu, "arch profile fp_arch mve"), "hard_float": cpu.vfp_args == 1} if cpu else None,
    }


def _elf_lines(record: dict[str, Any]) -> Iterator[str]:
    entry = "no entry point" if record["entry"] is None else f"entry {address(record['entry'])}"
    functions = plural(record["functions"], "function")
    yield f"Arm executable: {record['load_bytes']:,} bytes to load, {entry}, {functions}"
    yield f"  networks: {', '.join(record['networks']) or 'none'}"
    sections = []
    for part in record["sections"]:
        kind = "code" if part["executable"] else "data" if part["bytes"] else "zeroed"
        sections.append({**part, "load": part["load"] if part["bytes"] else None, "kind": kind})
    yield from rows(sections, "section=name runs_at=@run loaded_at=@load bytes=size what=kind")


def _ihex(path: Path) -> dict[str, Any]:
    """Which bytes a HEX file puts where."""
    found = parse(read_bytes(path), str(path))
    segments = [{"address": at, "bytes": len(data), "crc32": zlib.crc32(data)} for at, data in found.parts]
    return {"segments": segments, "bytes": sum(len(data) for _, data in found.parts), "start": found.start}


def _ihex_lines(record: dict[str, Any]) -> Iterator[str]:
    segments = record["segments"]
    yield f"Intel HEX: {record['bytes']:,} bytes in {plural(len(segments), 'segment')}"
    spans = ({**part, "last": part["address"] + part["bytes"] - 1} for part in segments)
    yield from rows(spans, "first=@address last=@last bytes CRC-32=#crc32")


def _raw(path: Path) -> dict[str, Any]:
    """Describe the contents of a memory pool (``network_atonbuf.<pool>.raw``) by name and bytes."""
    data = read_bytes(path)
    named = _RAW_NAME.fullmatch(path.name)
    filled = data.rstrip(b"\0")
    return {
        **{key: (named[key] or "") if named else "" for key in ("name", "prefix", "pool")},
        **{"bytes": len(data), "crc32": zlib.crc32(data), "zeros_at_end": len(data) - len(filled)},
        "blank": not data.strip(b"\xff") or not filled,
    }


def _raw_lines(record: dict[str, Any]) -> Iterator[str]:
    pool = f"pool {record['pool']}" if record["pool"] else "a pool its name does not tell"
    owner = f" of network '{record['name']}'" if record["name"] else ""
    all_blank = record["blank"] and record["bytes"]
    blank = ", all of one value: as of an erased memory" if all_blank else ""
    size = f"{record['bytes']:,} bytes, CRC-32 0x{record['crc32']:08x}"
    yield f"contents of {pool}{owner}: {size}{blank}"


def _boot_image(path: Path) -> dict[str, Any]:
    """The first image with the header of an STM32N6 of a binary or an Intel HEX file; the others under ``_more``."""
    data = read_bytes(path)
    parts = parse(data, str(path)).parts if data.lstrip().startswith(b":") else ((0, data),)
    headers = ((base, part, at) for base, part in parts for at in image_header.find(part))
    found = [image_header.record(image_header.read(part, at, str(path)), base + at) for base, part, at in headers]
    if not found:
        # Says what is wrong with the header that gave the file its kind.
        image_header.read(parts[0][1] if parts else b"", 0, str(path))
        raise NeuralArtError("no image header in it", where=str(path))
    return {**found[0], "_more": found[1:]}


def _boot_image_lines(record: dict[str, Any]) -> Iterator[str]:
    for each in (record, *record.get("_more", ())):
        version, vectors = each["header_version"], each["vector_table_offset"]
        fsbl = each["binary_type"] == image_header.TYPES["fsbl"]
        kind = "first-stage boot loader" if fsbl else "application"
        signed = "signed" if each["signed"] else "no signature"
        header = f"header {version >> 16}.{version >> 8 & 0xFF}, {kind}"
        yield f"image at {address(each['at'])}: {header}, {each['image_length']:,} bytes behind the header, {signed}"
        stack = f"stack {address(each['stack_pointer'])}" if vectors is not None else ""
        placed = f"at 0x{vectors:x}, {stack}" if stack else "not found"
        yield f"  entry {address(each['entry_point'])}, vector table {placed}"
        yield from (f"  problem: {problem}" for problem in each["problems"])


def relocatable(path: Path, offset: int = 0, params: Path | None = None) -> dict[str, Any]:
    """What a relocatable model says. It begins at ``offset``; ``params``: the second file of a split model."""
    from neuralart.relocatable.format import container
    from neuralart.relocatable.verify import report

    data = read_bytes(path)
    if offset and offset >= len(data):
        what = f"--offset 0x{offset:x} is behind the end of the file, which has {len(data)} bytes"
        raise NeuralArtError(what, where=str(path))
    image = container.parse(data[offset:], str(path), read_bytes(params) if params is not None else None)
    return {"schema": report.SCHEMA, "reloc_binary_image": report.image_data(image), "_text": report.as_text(image)}


def _tensor(tensor: Tensor) -> dict[str, Any]:
    quant = tensor.quantization
    names = "scale=scales zero_point=zero_points" if quant and quant.per_channel else "scale zero_point"
    scale = fields(quant, names) if quant else {"scale": None, "zero_point": None}
    return {**fields(tensor, "name shape dtype"), **scale}


def _tflite(path: Path) -> dict[str, Any]:
    """What a model is made of."""
    from neuralart_reference.lower import lower
    from neuralart_reference.model import reader

    model, refused, kinds = reader.read(path), "", dict[str, int]()
    try:
        lower(model)
    except NeuralArtError as error:
        refused, kinds = str(NeuralArtError(error.what, hint=error.hint)), getattr(error, "kinds", {})
    tensors = [tensor for tensor in model.tensors if tensor.dtype]
    constants = [tensor.data for tensor in tensors if tensor.data is not None]
    types = Counter(tensor.dtype for tensor in tensors if tensor.data is None)
    return {
        "format": "onnx" if model.channels_first else "tflite",
        "name": model.stem,
        "inputs": [_tensor(model.tensors[number]) for number in model.inputs],
        "outputs": [_tensor(model.tensors[number]) for number in model.outputs],
        "operators": dict(sorted(Counter(operator.kind for operator in model.operators).items())),
        "operator_count": len(model.operators),
        "refused": refused,
        "refused_operators": dict(sorted(kinds.items())),
        "tensors": len(tensors),
        "constants": len(constants),
        "constant_bytes": sum(map(len, constants)),
        "activation_types": dict(sorted(types.items())),
    }


def _tflite_lines(record: dict[str, Any]) -> Iterator[str]:
    operators = plural(record["operator_count"], "operator")
    constants = f"{record['constant_bytes']:,} bytes of constants"
    yield f"{record['format']} model '{record['name']}': {operators}, {constants}"
    for title in ("inputs", "outputs"):
        yield from ("", f"{title}:")
        ports = (
            {**each, "size": "x".join(map(str, each["shape"])) or "scalar", "scale": quantization(each)}
            for each in record[title]
        )
        yield from rows(ports, "name shape=size type=dtype scale,_zero_point=scale")
    counts = sorted(record["operators"].items(), key=lambda item: (-item[1], item[0]))
    marked = ([kind, count, "refused" * (kind in record["refused_operators"])] for kind, count in counts)
    yield from ("", *table(("operator", "count", ""), marked))
    if record["refused"]:
        yield from ("", f"refused by the reference compiler: {record['refused']}")


ELF = view(_elf, _elf_lines)
IHEX = view(_ihex, _ihex_lines)
RAW = view(_raw, _raw_lines)
BOOT_IMAGE = view(_boot_image, _boot_image_lines)
RELOCATABLE = View(relocatable, lambda record: str(record["_text"]))
TFLITE = view(_tflite, _tflite_lines)
