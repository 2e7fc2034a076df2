"""Records of what a build of this package writes: facts, plans, results, and what goes into a flash beside weights."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.flashing import plan as flash_plans
from neuralart.memory.image import check_image
from neuralart.memory.layout import identity
from neuralart.memory.plan import last_build, plan_report
from neuralart.network import facts
from neuralart.relocatable.format import load_table
from neuralart.text import image_header
from neuralart.text.json_values import document, shaped
from neuralart.vendor.tables import address, fields, findings, page, plural, rows
from neuralart_insight.inspect.kinds import View

_NO_TEXT = re.compile("[^\n -~\xa0-\ud7ff\ue000-\U0010ffff]")
_STAMPED = [{"name": str, "abi_stamp": str}]
_NUMBER = (int, type(None))
_CHECK = {
    **{"image": str, "kind": str, "board": str, "machine": str, "ok": bool, "errors": int, "warnings": int},
    **{"vector_table": _NUMBER, "initial_sp": _NUMBER, "reset": _NUMBER, "slot_bytes": int, "copy_size": _NUMBER},
    **{"attributes": (dict, type(None)), "networks": _STAMPED},
    "findings": [{"check": str, "level": str, "message": str, "remedy": str}],
}
_POOL = {"fname": str, "flags": str, "address": int, "size": int, "params": int, "activations": int, "relative": bool}
_NETWORK_REL = {
    "version": str,
    "network": {"c_name": str, "runtime": str, "layout": str, "pools": [_POOL]},
    "reloc_binary_image": dict,
    **{"relocations": {...: int}, "gen_files": {...: int}},
}


def _network_text(record: dict[str, Any]) -> str:
    kinds = [epoch["kind"] for epoch in record["epochs"]]
    used = [pool for pool in record["pools"] if pool["used"]]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in ("HW", "SW", "HYBRID", "EC") if kind in kinds)
    lines = [
        f"facts of network '{record['name']}': {plural(len(kinds), 'epoch')} ({counts or 'none'}), "
        + ("MACC unknown" if record["macc"] is None else f"{record['macc']:,} MACC"),
        f"  runtime   {record['runtime']} {'.'.join(map(str, record['runtime_version']))}, ABI {record['abi_stamp']}",
        f"  numerics  {record['numerics'] or 'unknown'}",
        *rows(used, "pool=fname base=@address size used weights activations"),
    ]
    for title in ("inputs", "outputs"):
        lines += [f"  {title}:", *rows(record[title], "name address=@address bytes type=dtype shape=*shape")]
    return page(record, lines)


def _text(path: Path) -> str:
    """Whatever it says: what was changed by hand is to be seen, too."""
    return read_bytes(path).decode("utf-8", "replace")


def _manifest(path: Path) -> dict[str, Any]:
    network, files = facts.read_manifest(path)
    changed = facts.changed_files(path.parent) if path.name == facts.MANIFEST else ()
    said = (f"{name} is not what the compile wrote" for name in changed)
    return {"network": network, "files": [asdict(file) for file in files], "findings": findings("changed", said)}


def _manifest_text(record: dict[str, Any]) -> str:
    title = f"manifest of a compile of '{record['network'] or 'a network'}': {plural(len(record['files']), 'file')}"
    return page(record, [title, *rows(record["files"], "file=name bytes SHA-256=sha256")])


def _flash_plan(path: Path) -> dict[str, Any]:
    plan = flash_plans.parse(_text(path), str(path))
    return {"board": plan.board, "writes": [asdict(write) for write in plan.writes]}


def _flash_plan_text(record: dict[str, Any]) -> str:
    writes = record["writes"]
    title = f"flash plan of {record['board']}: {plural(len(writes), 'write')}"
    title += f", {sum(write['bytes'] for write in writes):,} bytes"
    return page(record, [title, *rows(writes, "address=@address bytes kind name file")])


def _check(path: Path) -> dict[str, Any]:
    made: dict[str, Any] = shaped(document(path, check_image.SCHEMA), _CHECK, str(path))
    # The record's own kind is another thing, and so are findings.
    return {"image_kind": made.pop("kind"), "problems": made.pop("findings"), **made}


def _check_text(record: dict[str, Any]) -> str:
    verdict = f"refused on {record['board']} ({record['machine']}): {plural(record['errors'], 'error')}"
    lines = [check_image.summary(record) if record["ok"] else f"{record['image']}: {verdict}"]
    for name in ("vector_table", "initial_sp", "reset"):
        lines.append(f"  {name.replace('_', ' '):<13} {'-' if record[name] is None else address(record[name])}")
    lines += [f"  network       {network['name']}, ABI {network['abi_stamp']}" for network in record["networks"]]
    remedies = ((each, f" ({each['remedy']})" if each["remedy"] else "") for each in record["problems"])
    lines += [f"  {each['level']} ({each['check']}): {each['message']}{remedy}" for each, remedy in remedies]
    return "\n".join(lines) + "\n"


def _index_text(record: dict[str, Any]) -> str:
    lines = [
        f"build of {record['variant']} for {record['board']}, {record['machine']}",
        f"  toolchain {record['toolchain'] or 'none: no image is built'}",
        *(f"  network   {network['name']}, ABI {network['abi_stamp']}" for network in record["networks"]),
    ]
    uses = [{"firmware": name, **use} for name, use in record["firmware"].items()]
    lines += rows(uses, "firmware used capacity") if uses else []
    lines += [f"  {plural(len(record['artefacts']), 'file')}:", *(f"    {name}" for name in record["artefacts"])]
    return page(record, lines)


def _network_rel(path: Path) -> dict[str, Any]:
    made: dict[str, Any] = shaped(document(path, check_image.SCHEMA), _NETWORK_REL, str(path))
    return made


def _network_rel_text(record: dict[str, Any]) -> str:
    network = record["network"]
    kinds = ", ".join(f"{count} {kind}" for kind, count in record["relocations"].items())
    lines = [
        f"results of a relocatable build of '{network['c_name']}' by {record['version']}",
        f"  runtime      {network['runtime']}",
        f"  layout       {network['layout']}",
        f"  relocations  {kinds or 'none'}",
        *(f"  file         {name}, {size:,} bytes" for name, size in record["gen_files"].items()),
    ]
    columns = "pool=fname address=@address size params activations flags"
    return page(record, [*lines, *rows(network["pools"], columns)])


def _descriptor(path: Path) -> dict[str, Any]:
    entries = identity.parse(read_bytes(path), str(path))
    return {
        "entries": [fields(each, "abi_stamp pool address=load_address bytes=size crc32 network") for each in entries]
    }


def _descriptor_text(record: dict[str, Any]) -> str:
    title = f"identity descriptor: {plural(len(record['entries']), 'initializer')}"
    columns = "network ABI=abi_stamp pool address=@address bytes CRC-32=#crc32"
    return page(record, [title, *rows(record["entries"], columns)])


def _load_table(path: Path) -> dict[str, Any]:
    found = load_table.read(read_bytes(path), str(path))
    return {"mode": list(found.mode), "models": [{"address": at, "params": params} for at, params in found.models]}


def _load_table_text(record: dict[str, Any]) -> str:
    lines = [f"load table: {plural(len(record['models']), 'model')}, mode {' '.join(record['mode'])}"]
    for each in record["models"]:
        params = f"params at {address(each['params'])}" if each["params"] else "params in it"
        lines.append(f"  model at {address(each['address'])}, {params}")
    return page(record, lines)


def _application(path: Path) -> dict[str, Any]:
    data = read_bytes(path)
    vectors = image_header.vectors_behind_room(data)
    if vectors is None:
        what = "no vector table behind room for a header of erased bytes"
        hint = "'neuralart check-image' judges other images"
        raise NeuralArtError(what, where=f"{path}@0x{image_header.VECTOR_TABLE:x}", hint=hint)
    return {
        **{"bytes": len(data), "header_room": image_header.VECTOR_TABLE, "stack_pointer": vectors[0]},
        **{"reset_handler": vectors[1], "crc32": zlib.crc32(data)},
    }


def _application_text(record: dict[str, Any]) -> str:
    return (
        f"application without a header: {record['bytes']:,} bytes, {record['header_room']:,} of them room for one, "
        f"CRC-32 0x{record['crc32']:08x}\n"
        f"  stack {address(record['stack_pointer'])}, reset handler {address(record['reset_handler'])}\n"
    )


def _view(record: Callable[[Path], dict[str, Any]], text: Callable[[dict[str, Any]], str]) -> View:
    """Characters that a terminal would obey, or cannot be written, are shown by their numbers."""
    return View(record, lambda made: _NO_TEXT.sub(lambda found: f"\\u{ord(found[0]):04x}", text(made)))


NETWORK = _view(lambda path: asdict(facts.from_json(_text(path), str(path))), _network_text)
MANIFEST = _view(_manifest, _manifest_text)
FLASH_PLAN = _view(_flash_plan, _flash_plan_text)
PLAN = _view(plan_report.read, plan_report.text)
CHECK = _view(_check, _check_text)
INDEX = _view(last_build.read_whole_index, _index_text)
NETWORK_REL = _view(_network_rel, _network_rel_text)
DESCRIPTOR = _view(_descriptor, _descriptor_text)
LOAD_TABLE = _view(_load_table, _load_table_text)
APPLICATION = _view(_application, _application_text)
