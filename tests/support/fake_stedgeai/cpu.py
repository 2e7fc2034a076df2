"""The flow without an NPU: C files and their description."""

from __future__ import annotations

import json
from pathlib import Path

from support.fake_stedgeai.commands import Failed, Job, say
from support.fake_stedgeai.info import environment, md5
from support.fake_stedgeai.npu import write
from support.fake_stedgeai.placement import stream, weight_sizes

_TYPES = (
    "#pragma once\n#include <stdint.h>\ntypedef uint64_t ai_u64;\n#define AI_ALIGNED(n) __attribute__((aligned(n)))\n"
)


def _banner(job: Job, name: str) -> str:
    return f"/**\n  * @file    {name}\n  * @date    {job.now} {job.ticks}\n  * @brief   made up\n  */\n"


def _arrays(job: Job, api: str, weights: bytes) -> dict[str, bytes]:
    """Arrays of constants: one, or one for each of them."""
    prefix, whole = (("s_network", "weights_array_u64"), ("g_network", "weights_array"))[api != "legacy"]
    if "--split-weights" not in job.given:
        return {f"{prefix}_{whole}": weights}
    made, at = {}, 0
    for number, size in enumerate(weight_sizes(job.data)):
        made[f"{prefix}_layer_{number}_weights_array_u64"] = weights[at : at + size]
        at += size
    return made


def _array(job: Job, name: str, data: bytes) -> str:
    if "--split-weights" not in job.given:
        words = ", ".join(f"0x{byte:02x}" for byte in data)
        return f"const unsigned char {name}[{len(data)}] = {{ {words} }};\n"
    padded = data + bytes(-len(data) % 8)
    words = ", ".join(f"0x{padded[at : at + 8][::-1].hex()}U" for at in range(0, len(padded), 8))
    return f"AI_ALIGNED(32)\nconst ai_u64 {name}[{len(padded) // 8}] = {{ {words} }};\n"


def _codes(job: Job, api: str, weights: bytes) -> dict[str, str]:
    name, upper = job.name, job.name.upper()
    legacy = api == "legacy"
    activations = 4096
    prefix, suffix = (f"AI_{upper}_DATA", "SIZE") if legacy else (f"STAI_{upper}", "SIZE_BYTES")
    sizes = (
        f"#define {prefix}_ACTIVATIONS_{suffix} ({activations})\n#define {prefix}_WEIGHTS_{suffix} ({len(weights)})\n"
    )
    stamp = (
        f'#define AI_TOOLS_DATE_TIME "{job.now}.{job.ticks}"\n#define AI_TOOLS_COMPILE_TIME __DATE__ " " __TIME__\n'
        if legacy
        else f'static const char *const when = "";\n/* c_model_datetime = "{job.now}.{job.ticks}" */\n'
    )
    found = {f"{name}.c": f'{stamp}#include "{name}.h"\n', f"{name}.h": "#pragma once\n"}
    table = "".join(_array(job, array, data) for array, data in _arrays(job, api, weights).items())
    if legacy:
        found |= {f"{name}_config.h": "#pragma once\n", f"{name}_data.c": "\n", f"{name}_data.h": sizes}
        header = _TYPES if "--split-weights" in job.given else "#pragma once\n"
        table = f'#include "{name}_data_params.h"\n{table}'
        found |= {f"{name}_data_params.c": table, f"{name}_data_params.h": header}
    else:
        found |= {f"{name}_data.c": table, f"{name}_data.h": sizes, f"{name}_details.h": "#pragma once\n"}
    if "--relocatable" in job.given:
        found |= {f"{name}_img_rel.c": "\n", f"{name}_img_rel.h": "\n"}
    return {file: _banner(job, file) + text for file, text in found.items()}


def run(job: Job) -> None:
    from support.fake_stedgeai import texts

    api = job.given.get("--c-api") or ("legacy" if job.key < "3" else "st-ai")
    weights = stream(job.data, sum(weight_sizes(job.data)))
    pools = [("heap_overlay_pool", "NULL", "ACC_WRITE", 4096)]
    if "--memory-pool" in job.given:
        try:
            listed = json.loads(Path(job.given["--memory-pool"]).read_bytes())["memory"]["mempools"]
        except (OSError, ValueError, KeyError) as error:
            raise Failed(f"E102(CliArgumentError): {error!r}") from None
        pools = [(pool["name"], "NULL", "ACC_WRITE", 4096 // (n + 1)) for n, pool in enumerate(listed)]
    for array, data in _arrays(job, api, weights).items():
        pools.append((array[10:].removesuffix("_u64"), array, "ACC_READ", len(data)))
    files: dict[str, bytes | str] = dict(_codes(job, api, weights))
    if "--binary" in job.given:
        files[f"{job.name}_data.bin"] = weights
    if "--relocatable" in job.given:
        files[f"{job.name}_rel.bin"] = weights
    signed = [{"name": name, "signature": md5(text.encode())} for name, text in files.items() if isinstance(text, str)]
    files[f"{job.name}_c_info.json"] = json.dumps(_info(job, pools, signed), indent=1)
    if job.failure == "no-c":
        del files[f"{job.name}.c"]
    if job.failure == "no-cinfo":
        del files[f"{job.name}_c_info.json"]
    if job.command == "generate" and job.key < "4":
        files["LICENSE.txt"] = "A made-up license.\n"
    if "--no-report" not in job.given:
        files[f"{job.name}_{job.command}_report.txt"] = texts.report(job, "")
    say(texts.summary(job))
    for name, data in files.items():
        write(job.out, name, data)


def _read_only(pools: list[tuple[str, str, str, int]]) -> int:
    return sum(size for _, _, rights, size in pools if rights == "ACC_READ")


def _info(job: Job, pools: list[tuple[str, str, str, int]], signed: list[dict]) -> dict:
    listed = [
        {
            "id": number,
            "name": name,
            "address": address,
            "size_bytes": -1,
            "used_size_bytes": used,
            "rights": rights,
            "buffers": [number],
            "subpools": [],
            "virtual": False,
            "user_allocated": False,
        }
        for number, (name, address, rights, used) in enumerate(pools)
    ]
    common = {"format": "STAI_FORMAT_S8", "nbits": 8, "is_param": False, "mpool_id": 0, "flags": ""}
    buffers = [{"id": 100, "name": "input_out", "offset_start": 0, "size_bytes": 192, "shape": [1, 8, 8, 3], **common}]
    buffers.append({"id": 101, "name": "sm_out", "offset_start": 192, "size_bytes": 10, "shape": [1, 10], **common})
    nodes = [
        {
            "id": 1,
            "name": "conv",
            "type": "Conv2D",
            "macc": 1234,
            "mapping": "NODE_SW",
            "inputs": [100],
            "outputs": [101],
        }
    ]
    return {
        "json_schema_version": "2.0",
        "environment": environment(job, signed),
        "memory_pools": listed,
        "buffers": buffers,
        "graphs": [{"id": 0, "name": job.symbol, "inputs": [100], "outputs": [101], "nodes": nodes, "edges": []}],
        "memory_footprint": {"activations": 4096, "weights": _read_only(pools), "io": [0, 0], "series": job.target},
    }
