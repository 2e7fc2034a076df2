"""Networks for the rules, from the files that describe them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.network import facts
from neuralart.network.facts import LL_ATON, NETWORK_RUNTIME, NEURALART
from neuralart.network.pools import PoolFile
from neuralart.text.c_source import Lines, decode
from neuralart.vendor.c_info import read as c_info
from neuralart.vendor.c_info.types import CPU, CInfo
from neuralart.vendor.network_c import checks
from neuralart.vendor.network_c.checks import covered, rows_by_pool, used
from neuralart.vendor.network_c.read import parse
from neuralart.vendor.network_c.types import GeneratedNetwork
from neuralart_insight.lint.types import LintedNetwork, LintedPool, RawFile, Step

_FLOAT = re.compile(r"\bDataType_FLOAT\b")
_STEP = re.compile(r"scheduling epoch=(\d{1,7})\b")
_AGAIN = re.compile(r"_OE_\d+(?:_\d+)*$")


def _steps(generated: GeneratedNetwork, file: str) -> tuple[Step, ...]:
    lines = Lines(generated.text)
    places = {int(match[1]): f"{file}:{lines.of(match.start())}" for match in _STEP.finditer(generated.text)}
    steps: list[Step] = []
    for block in generated.blocks:
        number = block.number if block.number is not None else -1
        # Several items of one epoch are one step.
        if not steps or (number, block.kind) != (steps[-1].number, steps[-1].kind):
            steps.append(Step(number, block.kind, block.operators, places.get(number, file)))
    return tuple(steps)


def _pools(generated: GeneratedNetwork, file: str) -> tuple[LintedPool, ...]:
    lines = Lines(generated.text)
    rows = rows_by_pool(generated)
    made = []
    for pool in (each for each in generated.pools if not each.of_user):
        highest, kind = used(pool, rows, generated.pools), (pool.writable, pool.relative, pool.virtual, pool.cacheable)
        weights, where = covered(row for row in rows[pool.fname] if row.is_param), f"{file}:{lines.of(pool.offset)}"
        made.append(LintedPool(pool.fname, pool.name, pool.address, highest, weights, *kind, where))
    return tuple(made)


def _info_floats(info: CInfo, file: str) -> tuple[tuple[str, str], ...]:
    graph = info.graph
    ports = {*graph.inputs, *graph.outputs} if graph is not None else set()
    floats = (buffer for buffer in info.buffers if buffer.format.startswith("STAI_FORMAT_FLOAT"))
    return tuple((buffer.name, file) for buffer in floats if not buffer.constant and buffer.id not in ports)


def _beside(path: Path) -> list[Path]:
    try:
        return sorted(
            each for each in path.parent.iterdir() if each.name.startswith(f"{path.stem}_") and each.is_file()
        )
    except OSError:
        return []


def _info_beside(path: Path) -> CInfo | None:
    beside = path.with_name(f"{path.stem}_c_info.json")
    try:
        return c_info.read(beside) if beside.is_file() else None
    except NeuralArtError:
        return None  # a rule of its own says so where the file itself is looked at


def from_c(path: Path, file: str, data: bytes) -> LintedNetwork:
    """A network from its C, and what stands beside it. Raises NeuralArtError: it is no generated network."""
    generated = parse(decode(data), file)
    beside = _beside(path)
    postfixes, raws = {pool.fname for pool in generated.pools}, []
    for each in beside:
        parts = each.name.rsplit(".", 2)
        if len(parts) == 3 and parts[2] == "raw" and parts[1] in postfixes:
            raw = read_bytes(each)
            raws.append(RawFile(parts[1], each.name, len(raw), hashlib.sha256(raw).hexdigest()))
    at = generated.text.find("LL_ATON_VERSION_MAJOR")
    model = generated.banner.model
    info = _info_beside(path)
    lines = Lines(generated.text)
    inner = [row for row in generated.rows if row.table == "internal" and not row.is_param]
    found = tuple((row.name, f"{file}:{lines.of(row.offset)}") for row in inner if _FLOAT.search(row.body))
    return LintedNetwork(
        name=generated.name,
        where=file,
        runtime=NEURALART if generated.runtime is not None and generated.runtime[0] == 0 else LL_ATON,
        guard=generated.runtime,
        guard_kind=generated.guard,
        guard_where=f"{file}:{Lines(generated.text).of(at)}" if at >= 0 else file,
        pools=_pools(generated, file),
        steps=_steps(generated, file),
        floats=found if inner or info is None else _info_floats(info, file),
        blob_header=generated.ecblobs,
        files=frozenset(each.name for each in beside),
        raws=tuple(raws),
        mixed=tuple((each.where, each.what) for each in checks.problems(generated, path) if each.code == "raw-size"),
        # The front end adds its suffix once: a second one below it was there before.
        model=f"{model}.onnx" if _AGAIN.search(model) else "",
        model_where=file,
    )


def from_info(info: CInfo) -> LintedNetwork:
    """A network from its ``c_info.json`` alone."""
    weights: dict[int, int] = {}
    for buffer in info.buffers:
        if buffer.constant:
            weights[buffer.pool] = weights.get(buffer.pool, 0) + buffer.size
    pools = []
    for pool in info.pools:
        # Where the linker decides there is no address to compare with anything.
        kind = pool.rights != "ACC_READ", pool.address is None, pool.virtual, pool.cacheable == "CACHEABLE_ON"
        fname, held = pool.fname if pool.file else pool.name, weights.get(pool.id, 0)
        pools.append(LintedPool(fname, pool.name, pool.address or 0, pool.used, held, *kind, info.file))
    return LintedNetwork(
        name=info.name,
        where=info.file,
        runtime=NETWORK_RUNTIME if info.flow == CPU else LL_ATON,
        pools=tuple(pools),
        steps=tuple(
            Step(node.number or 0, node.kind, tuple(each.type for each in node.operators if each.type), info.file)
            for node in info.epochs
        ),
        floats=_info_floats(info, info.file),
    )


def from_facts(network: facts.Network, where: str) -> LintedNetwork:
    """A network from its ``network.json`` alone."""
    pools = []
    for pool in network.pools:
        kind = pool.rights != "ACC_READ", pool.mode == "USEMODE_RELATIVE", pool.virtual, pool.cacheable
        pools.append(LintedPool(pool.fname, pool.name, pool.address, pool.used, pool.weights, *kind, where))
    steps = tuple(Step(epoch.number, epoch.kind, epoch.operators, where) for epoch in network.epochs)
    made = LintedNetwork(name=network.name, where=where, runtime=network.runtime, pools=tuple(pools), steps=steps)
    return replace(made, guard=network.runtime_version, guard_where=where)


def placed(network: LintedNetwork, files: Iterable[PoolFile]) -> LintedNetwork:
    """The same, its pools at the place in the pool file that decided their address, where one of some files did."""
    where = {(pool.fname, pool.address): pool.where for file in files for pool in file.enabled if pool.where}
    return replace(
        network,
        pools=tuple(
            replace(pool, where=where.get((pool.fname, pool.address), pool.where) if not pool.virtual else pool.where)
            for pool in network.pools
        ),
    )
