"""Records of what a build of this package writes: facts, plans, results, and what goes into a flash beside weights."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.flashing import plan as flash_plans
from neuralart.memory.image import check_image
from neuralart.memory.layout import identity
from neuralart.memory.plan import plan_report
from neuralart.network import facts
from neuralart.relocatable.format import load_table
from neuralart.text import image_header
from neuralart.text.json_values import document, shaped
from neuralart.vendor.tables import address, address_or_none, fields, findings, plural, rows
from neuralart_bring import last_build
from neuralart_insight.inspect.kinds import View, view

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


def _network_lines(record: dict[str, Any]) -> Iterator[str]:
    kinds = [epoch["kind"] for epoch in record["epochs"]]
    counted = (kind for kind in ("HW", "SW", "HYBRID", "EC") if kind in kinds)
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in counted) or "none"
    macc = "MACC unknown" if record["macc"] is None else f"{record['macc']:,} MACC"
    version = ".".join(map(str, record["runtime_version"]))
    yield f"facts of network '{record['name']}': {plural(len(kinds), 'epoch')} ({counts}), {macc}"
    yield f"  runtime   {record['runtime']} {version}, ABI {record['abi_stamp']}"
    yield f"  numerics  {record['numerics'] or 'unknown'}"
    used = (pool for pool in record["pools"] if pool["used"])
    yield from rows(used, "pool=fname base=@address size used weights activations")
    for title in ("inputs", "outputs"):
        yield f"  {title}:"
        yield from rows(record[title], "name address=@address bytes type=dtype shape=*shape")


def _text(path: Path) -> str:
    """Whatever it says: what was changed by hand is to be seen, too."""
    return read_bytes(path).decode("utf-8", "replace")


def _manifest(path: Path) -> dict[str, Any]:
    network, files = facts.read_manifest(path)
    changed = facts.changed_files(path.parent) if path.name == facts.MANIFEST else ()
    said = (f"{name} is not what the compile wrote" for name in changed)
    return {"network": network, "files": [asdict(file) for file in files], "findings": findings("changed", said)}


def _manifest_lines(record: dict[str, Any]) -> Iterator[str]:
    count = plural(len(record["files"]), "file")
    yield f"manifest of a compile of '{record['network'] or 'a network'}': {count}"
    yield from rows(record["files"], "file=name bytes SHA-256=sha256")


def _flash_plan(path: Path) -> dict[str, Any]:
    plan = flash_plans.parse(_text(path), str(path))
    return {"board": plan.board, "writes": [asdict(write) for write in plan.writes]}


def _flash_plan_lines(record: dict[str, Any]) -> Iterator[str]:
    writes = record["writes"]
    total = sum(write["bytes"] for write in writes)
    yield f"flash plan of {record['board']}: {plural(len(writes), 'write')}, {total:,} bytes"
    yield from rows(writes, "address=@address bytes kind name file")


def _check(path: Path) -> dict[str, Any]:
    made: dict[str, Any] = shaped(document(path, check_image.SCHEMA), _CHECK, str(path))
    # The record's own kind is another thing, and so are findings.
    return {"image_kind": made.pop("kind"), "problems": made.pop("findings"), **made}


def _check_lines(record: dict[str, Any]) -> Iterator[str]:
    verdict = f"refused on {record['board']} ({record['machine']}): {plural(record['errors'], 'error')}"
    yield check_image.summary(record) if record["ok"] else f"{record['image']}: {verdict}"
    for name in ("vector_table", "initial_sp", "reset"):
        yield f"  {name.replace('_', ' '):<13} {address_or_none(record[name]) or '-'}"
    for network in record["networks"]:
        yield f"  network       {network['name']}, ABI {network['abi_stamp']}"
    for each in record["problems"]:
        remedy = f" ({each['remedy']})" if each["remedy"] else ""
        yield f"  {each['level']} ({each['check']}): {each['message']}{remedy}"


def _index_lines(record: dict[str, Any]) -> Iterator[str]:
    yield f"build of {record['variant']} for {record['board']}, {record['machine']}"
    yield f"  toolchain {record['toolchain'] or 'none: no image is built'}"
    for network in record["networks"]:
        yield f"  network   {network['name']}, ABI {network['abi_stamp']}"
    if uses := [{"firmware": name, **use} for name, use in record["firmware"].items()]:
        yield from rows(uses, "firmware used capacity")
    yield f"  {plural(len(record['artefacts']), 'file')}:"
    yield from (f"    {name}" for name in record["artefacts"])


def _network_rel_lines(record: dict[str, Any]) -> Iterator[str]:
    network = record["network"]
    kinds = ", ".join(f"{count} {kind}" for kind, count in record["relocations"].items())
    yield f"results of a relocatable build of '{network['c_name']}' by {record['version']}"
    yield f"  runtime      {network['runtime']}"
    yield f"  layout       {network['layout']}"
    yield f"  relocations  {kinds or 'none'}"
    for name, size in record["gen_files"].items():
        yield f"  file         {name}, {size:,} bytes"
    yield from rows(network["pools"], "pool=fname address=@address size params activations flags")


def _descriptor(path: Path) -> dict[str, Any]:
    names = "abi_stamp pool address=load_address bytes=size crc32 network"
    entries = identity.parse(read_bytes(path), str(path))
    return {"entries": [fields(each, names) for each in entries]}


def _descriptor_lines(record: dict[str, Any]) -> Iterator[str]:
    yield f"identity descriptor: {plural(len(record['entries']), 'initializer')}"
    columns = "network ABI=abi_stamp pool address=@address bytes CRC-32=#crc32"
    yield from rows(record["entries"], columns)


def _load_table(path: Path) -> dict[str, Any]:
    found = load_table.read(read_bytes(path), str(path))
    return {"mode": list(found.mode), "models": [{"address": at, "params": params} for at, params in found.models]}


def _load_table_lines(record: dict[str, Any]) -> Iterator[str]:
    yield f"load table: {plural(len(record['models']), 'model')}, mode {' '.join(record['mode'])}"
    for each in record["models"]:
        params = f"params at {address(each['params'])}" if each["params"] else "params in it"
        yield f"  model at {address(each['address'])}, {params}"


def _application(path: Path) -> dict[str, Any]:
    data = read_bytes(path)
    vectors = image_header.vectors_behind_room(data)
    if vectors is None:
        what = "no vector table behind room for a header of erased bytes"
        hint = "'neuralart tool check-image' judges other images"
        raise NeuralArtError(what, where=f"{path}@0x{image_header.VECTOR_TABLE:x}", hint=hint)
    return {
        **{"bytes": len(data), "header_room": image_header.VECTOR_TABLE, "stack_pointer": vectors[0]},
        **{"reset_handler": vectors[1], "crc32": zlib.crc32(data)},
    }


def _application_lines(record: dict[str, Any]) -> Iterator[str]:
    room = f"{record['header_room']:,} of them room for one, CRC-32 0x{record['crc32']:08x}"
    yield f"application without a header: {record['bytes']:,} bytes, {room}"
    stack, reset = (address(record[name]) for name in ("stack_pointer", "reset_handler"))
    yield f"  stack {stack}, reset handler {reset}"


def _visible(made: View) -> View:
    """Characters that a terminal would obey, or cannot be written, are shown by their numbers."""

    def text(record: dict[str, Any]) -> str:
        return _NO_TEXT.sub(lambda found: f"\\u{ord(found[0]):04x}", made.text(record))

    return View(made.record, text)


NETWORK = _visible(view(lambda path: asdict(facts.from_json(_text(path), str(path))), _network_lines))
MANIFEST = _visible(view(_manifest, _manifest_lines))
FLASH_PLAN = _visible(view(_flash_plan, _flash_plan_lines))
PLAN = _visible(View(plan_report.read, plan_report.text))
CHECK = _visible(view(_check, _check_lines))
INDEX = _visible(view(last_build.read_whole_index, _index_lines))
NETWORK_REL = _visible(
    view(lambda path: shaped(document(path, check_image.SCHEMA), _NETWORK_REL, str(path)), _network_rel_lines)
)
DESCRIPTOR = _visible(view(_descriptor, _descriptor_lines))
LOAD_TABLE = _visible(view(_load_table, _load_table_lines))
APPLICATION = _visible(view(_application, _application_lines))
