"""Records of what a compile is given: memory pools, profiles, options, quantization, the project of a CPU target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from neuralart.network.pools import default_initializers
from neuralart.vendor import h7_files
from neuralart.vendor.mpool import read_noted
from neuralart.vendor.profile import read_profiles
from neuralart.vendor.tables import core, fields, findings, plural, port, rows
from neuralart_insight.inspect.kinds import view
from neuralart_insight.vendor import atonn_options, q_json


def _mpool(path: Path) -> dict[str, Any]:
    pools, notes = read_noted(path)
    names = (
        "fname name address size rights mode format=fformat throughput latency byte_width freq_ratio "
        "read_mw=read_power write_mw=write_power cacheable constants_preferred"
    )
    return {
        "prefix": pools.prefix,
        "pools": [fields(pool, names) for pool in pools.pools],
        "enabled": len(pools.enabled),
        "initializers": list(default_initializers(pools)),
        "notes": list(notes),
    }


def _mpool_lines(record: dict[str, Any]) -> Iterator[str]:
    pools = []
    for pool in record["pools"]:
        words = {
            "constants first": pool["constants_preferred"],
            "cached": pool["cacheable"],
            "disabled": not pool["size"],
        }
        mode = pool["mode"].removeprefix("USEMODE_").lower()
        remarks = ", ".join(word for word, holds in words.items() if holds)
        end = pool["address"] + pool["size"]
        pools.append({**pool, "end": end, "mode": mode, "remarks": remarks})
    yield f"memory pools: {plural(len(pools), 'pool')}, enabled {record['enabled']}"
    yield from rows(pools, "file=fname name base=@address end=@end size rights mode =remarks")
    yield f"  initializers are expected of: {', '.join(record['initializers']) or 'none'}"


def _h7_pools(path: Path) -> dict[str, Any]:
    found = h7_files.read_cpu_pools(path)
    pools = [fields(pool, "name address size usable throughput latency") for pool in found.pools]
    wrong = findings("pools", h7_files.check_cpu_pools(found))
    return {"version": found.version, "pools": pools, "findings": wrong, "notes": list(found.notes)}


def _h7_pools_lines(record: dict[str, Any]) -> Iterator[str]:
    yield f"memory pools of a CPU target: {plural(len(record['pools']), 'pool')}"
    speeds = ("throughput", "latency")
    pools = ({**pool, **{key: pool[key] or None for key in speeds}} for pool in record["pools"])
    yield from rows(pools, "pool=name base=@address size usable throughput latency")


def _h7_conf(path: Path) -> dict[str, Any]:
    found = h7_files.read_cpu_project(path)
    return {
        **fields(found, "version description series boards builder"),
        "variables": dict(found.variables),
        "copies": [list(words) for words in found.copies],
        "sizes": dict(found.sizes),
        **fields(found, "pool_file configurations notes"),
    }


def _h7_conf_lines(record: dict[str, Any]) -> Iterator[str]:
    builds = ", ".join(record["configurations"]) or "none"
    yield f"project description: {record['description'] or 'without a title'}"
    yield f"  series    {record['series'] or 'unknown'}"
    yield f"  boards    {', '.join(record['boards']) or 'none'}"
    yield f"  builder   {record['builder'] or 'unknown'}, builds {builds}"
    yield f"  pools     {record['pool_file'] or 'not named'}"
    yield from (f"  {name}: {size:,} bytes" for name, size in record["sizes"].items())


def _profile(path: Path) -> dict[str, Any]:
    found = read_profiles(path)
    names = "name memory_pool memory_pool_found=found machine_desc options"
    profiles = [
        {**fields(entry, names), "epoch_controller": "--enable-epoch-controller" in entry.options, "line": entry.line}
        for entry in found.profiles
    ]
    return {"profiles": profiles, **fields(found, "globals=global_keys notes")}


def _profile_lines(record: dict[str, Any]) -> Iterator[str]:
    yield f"profiles of the compiler: {plural(len(record['profiles']), 'profile')}"
    for entry in record["profiles"]:
        missing = "" if entry["memory_pool_found"] in (True, None) else " (not there)"
        yield f"  {entry['name']}"
        yield f"    memory pools  {entry['memory_pool'] or 'not named'}{missing}"
        yield f"    options       {' '.join(entry['options']) or 'none'}"
        if entry["machine_desc"]:
            yield f"    machine       {entry['machine_desc']}"


def _atonn_options(path: Path) -> dict[str, Any]:
    found = atonn_options.read(path)
    version = ".".join(map(str, found.version)) if found.version else None
    said = {"tool": found.tool, "version": version, "folder": found.folder}
    return {**said, "options": dict(found.options), "notes": list(found.notes)}


def _atonn_options_lines(record: dict[str, Any]) -> Iterator[str]:
    yield f"options of the Neural-ART compiler {record['version'] or 'of unknown version'}"
    for name, value in record["options"].items():
        yield f"  {name}" if value is True else f"  {name} = {'false' if value is False else value}"


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


def _q_json_lines(record: dict[str, Any]) -> Iterator[str]:
    inserted = sum(not node["layers"] for node in record["nodes"])
    types = ", ".join(f"{count} {name or 'of unknown type'}" for name, count in record["types"].items())
    floating = [tensor["name"] for tensor in record["tensors"] if not tensor["quantized"]]
    some = f", for example {', '.join(floating[:4])}" if floating else ""
    yield f"quantization of {record['model'] or 'a model'}, exported as {record['exported'] or 'unknown'}"
    yield f"  tool      ST Edge AI Core {record['core_version'] or 'unknown'}"
    yield f"  nodes     {len(record['nodes'])}, of which {inserted} inserted by the front end"
    yield f"  tensors   {len(record['tensors'])}: {types or 'none'}"
    yield f"  without scale: {plural(len(floating), 'tensor')}{some}"
    for title in ("inputs", "outputs"):
        for each in record[title]:
            kind = f"{'x'.join(map(str, each['shape']))} {each['type'].lower()}{each['bits'] or ''}"
            yield f"  {title[:-1]:<9} {each['name']} {kind}"


MPOOL = view(_mpool, _mpool_lines)
H7_POOLS = view(_h7_pools, _h7_pools_lines)
H7_CONF = view(_h7_conf, _h7_conf_lines)
PROFILE = view(_profile, _profile_lines)
ATONN_OPTIONS = view(_atonn_options, _atonn_options_lines)
Q_JSON = view(_q_json, _q_json_lines)
