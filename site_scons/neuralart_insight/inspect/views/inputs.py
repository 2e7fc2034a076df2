"""Records of what a compile is given: memory pools, profiles, options, quantization, the project of a CPU target."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from neuralart.network.pools import default_initializers
from neuralart.vendor import atonn_options, h7_files, q_json
from neuralart.vendor.mpool import read_noted
from neuralart.vendor.profile import read_profiles
from neuralart.vendor.tables import (
    address,
    address_or_none,
    core,
    fields,
    findings,
    page,
    plural,
    port,
    table,
)
from neuralart_insight.inspect.kinds import View


def _mpool(path: Path) -> dict[str, Any]:
    pools, notes = read_noted(path)
    names = (
        "fname name address size rights mode format=fformat throughput latency byte_width freq_ratio "
        "read_mw=read_power write_mw=write_power cacheable constants_preferred"
    )
    rows, filled = [fields(pool, names) for pool in pools.pools], list(default_initializers(pools))
    said = {"prefix": pools.prefix, "pools": rows, "enabled": len(pools.enabled), "initializers": filled}
    return {**said, "notes": list(notes)}


def _mpool_text(record: dict[str, Any]) -> str:
    rows = []
    for pool in record["pools"]:
        first, cached = pool["constants_preferred"], pool["cacheable"]
        remarks = {"constants first": first, "cached": cached, "disabled": not pool["size"]}
        start, mode = pool["address"], pool["mode"].removeprefix("USEMODE_").lower()
        place = pool["fname"], pool["name"], address(start), address(start + pool["size"])
        said = ", ".join(word for word, so in remarks.items() if so)
        rows.append([*place, pool["size"], pool["rights"], mode, said])
    lines = [
        f"memory pools: {plural(len(record['pools']), 'pool')}, enabled {record['enabled']}",
        *table(("file", "name", "base", "end", "size", "rights", "mode", ""), rows),
        f"  initializers are expected of: {', '.join(record['initializers']) or 'none'}",
    ]
    return page(record, lines)


def _h7_pools(path: Path) -> dict[str, Any]:
    found = h7_files.read_cpu_pools(path)
    rows = [fields(pool, "name address size usable throughput latency") for pool in found.pools]
    wrong = findings("pools", h7_files.check_cpu_pools(found))
    return {"version": found.version, "pools": rows, "findings": wrong, "notes": list(found.notes)}


def _h7_pools_text(record: dict[str, Any]) -> str:
    rows = []
    for pool in record["pools"]:
        speed = pool["throughput"] or None, pool["latency"] or None
        rows.append([pool["name"], address_or_none(pool["address"]), pool["size"], pool["usable"], *speed])
    lines = table(("pool", "base", "size", "usable", "throughput", "latency"), rows)
    return page(record, [f"memory pools of a CPU target: {plural(len(record['pools']), 'pool')}", *lines])


def _h7_conf(path: Path) -> dict[str, Any]:
    found = h7_files.read_cpu_project(path)
    return {
        **fields(found, "version description series boards builder"),
        "variables": dict(found.variables),
        "copies": [list(words) for words in found.copies],
        "sizes": dict(found.sizes),
        **fields(found, "pool_file configurations notes"),
    }


def _h7_conf_text(record: dict[str, Any]) -> str:
    lines = [
        f"project description: {record['description'] or 'without a title'}",
        f"  series    {record['series'] or 'unknown'}",
        f"  boards    {', '.join(record['boards']) or 'none'}",
        f"  builder   {record['builder'] or 'unknown'}, builds {', '.join(record['configurations']) or 'none'}",
        f"  pools     {record['pool_file'] or 'not named'}",
    ]
    return page(record, [*lines, *(f"  {name}: {size:,} bytes" for name, size in record["sizes"].items())])


def _profile(path: Path) -> dict[str, Any]:
    found = read_profiles(path)
    names = "name memory_pool memory_pool_found=found machine_desc options"
    rows = [
        {**fields(entry, names), "epoch_controller": "--enable-epoch-controller" in entry.options, "line": entry.line}
        for entry in found.profiles
    ]
    return {"profiles": rows, **fields(found, "globals=global_keys notes")}


def _profile_text(record: dict[str, Any]) -> str:
    lines = [f"profiles of the compiler: {plural(len(record['profiles']), 'profile')}"]
    for entry in record["profiles"]:
        missing = "" if entry["memory_pool_found"] in (True, None) else " (not there)"
        lines += [f"  {entry['name']}", f"    memory pools  {entry['memory_pool'] or 'not named'}{missing}"]
        lines.append(f"    options       {' '.join(entry['options']) or 'none'}")
        lines += [f"    machine       {entry['machine_desc']}"] if entry["machine_desc"] else []
    return page(record, lines)


def _atonn_options(path: Path) -> dict[str, Any]:
    found = atonn_options.read(path)
    version = ".".join(map(str, found.version)) if found.version else None
    said = {"tool": found.tool, "version": version, "folder": found.folder}
    return {**said, "options": dict(found.options), "notes": list(found.notes)}


def _atonn_options_text(record: dict[str, Any]) -> str:
    lines = [f"options of the Neural-ART compiler {record['version'] or 'of unknown version'}"]
    for name, value in record["options"].items():
        lines.append(f"  {name}" if value is True else f"  {name} = {'false' if value is False else value}")
    return page(record, lines)


def _q_json(path: Path) -> dict[str, Any]:
    found = q_json.read(path)
    return {
        "version": found.version,
        **core(found.core),
        **fields(found, "model signature exported"),
        "inputs": [port(each) for each in found.inputs],
        "outputs": [port(each) for each in found.outputs],
        "types": dict(sorted(Counter(tensor.type for tensor in found.tensors.values()).items())),
        "tensors": [
            {
                **fields(tensor, "name type quantized"),
                "per_channel": len(tensor.scales) > 1,
                **fields(tensor, "scales zero_points channel_position user_allocated"),
            }
            for tensor in found.tensors.values()
        ],
        "nodes": [{"name": name, "layers": list(layers)} for name, layers in found.originals.items()],
        "notes": list(found.notes),
    }


def _q_json_text(record: dict[str, Any]) -> str:
    inserted = sum(not node["layers"] for node in record["nodes"])
    types = ", ".join(f"{count} {name or 'of unknown type'}" for name, count in record["types"].items())
    floating = [tensor["name"] for tensor in record["tensors"] if not tensor["quantized"]]
    lines = [
        f"quantization of {record['model'] or 'a model'}, exported as {record['exported'] or 'unknown'}",
        f"  tool      ST Edge AI Core {record['core_version'] or 'unknown'}",
        f"  nodes     {len(record['nodes'])}, of which {inserted} inserted by the front end",
        f"  tensors   {len(record['tensors'])}: {types or 'none'}",
        f"  without scale: {plural(len(floating), 'tensor')}"
        + (f", for example {', '.join(floating[:4])}" if floating else ""),
    ]
    for title in ("inputs", "outputs"):
        for each in record[title]:
            shape = "x".join(map(str, each["shape"]))
            lines.append(f"  {title[:-1]:<9} {each['name']} {shape} {each['type'].lower()}{each['bits'] or ''}")
    return page(record, lines)


MPOOL = View(_mpool, _mpool_text)
H7_POOLS = View(_h7_pools, _h7_pools_text)
H7_CONF = View(_h7_conf, _h7_conf_text)
PROFILE = View(_profile, _profile_text)
ATONN_OPTIONS = View(_atonn_options, _atonn_options_text)
Q_JSON = View(_q_json, _q_json_text)
