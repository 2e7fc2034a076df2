"""Adopts generated C of the user's tree, without its tool, a recording or the model. Files are copied under their
names. Facts come from the C and from the compiler's description, if there is one; others stay unknown.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from pathlib import Path

from neuralart.compilers.fileset import FACTS, PROVENANCE
from neuralart.compilers.stedgeai import run as folders
from neuralart.compilers.stedgeai.facts_of import CPU_NUMERICS, cpu_facts, macc_of, npu_facts, stamp
from neuralart.compilers.stedgeai.fileset import c_info_name, report_name, stand_in
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.network import facts
from neuralart.network.pools import PoolFile, initializer_name
from neuralart.network.targets import NPU, flow_of
from neuralart.quick import dataclass, field, replace
from neuralart.text.c_source import decode
from neuralart.vendor.c_info.read import parse_c_info
from neuralart.vendor.c_info.types import CInfo
from neuralart.vendor.generated import files
from neuralart.vendor.generated.files import GeneratedSet, check_pool_file, find
from neuralart.vendor.generated.initializers import assign, read
from neuralart.vendor.network_c.checks import extent, rows_by_pool

_TOOL_VERSION = re.compile(r"\.tool_version\s*=\s*STAI_INIT_VERSION\((\d{1,4}),\s*(\d{1,4}),\s*(\d{1,6})\)")
_STAMP = re.compile(r"_ABI_STAMP\s+\"([0-9a-f]{16})\"")
_NOT_KNOWN = (0, 0, 0, 0)


@dataclass(frozen=True)
class AdoptPlan:
    """What will be copied, and the facts that are known before."""

    found: GeneratedSet
    pools: PoolFile | None  # None: the network runs on the core
    initializers: Mapping[str, Path]  # fname of a pool -> the user's file
    plain: Mapping[str, str]  # Files that come out, by role (as those of a compile), else by their own names
    raws: Mapping[str, str]  # Initializers that come out, by the fname of their pool
    copied: Mapping[str, Path] = field(repr=False)  # Name of a file that comes out -> the file that it is a copy of

    @property
    def sources(self) -> list[Path]:
        """Every file that decides the result, the network's C first."""
        return list(dict.fromkeys([*self.copied.values(), *self.initializers.values()]))


def plan(
    folder: Path,
    c_file: str = "",
    initializers: Mapping[str, Path] | None = None,
    *,
    shown: str = "",
    where: str = "",
    mpool: PoolFile | None = None,
) -> AdoptPlan:
    """Look at a folder and tell which files come of it; nothing is written.

    ``folder``: where the network's C is; ``c_file``: its name; empty: the only one there; ``initializers``: files of
    pools that the user names; ``shown``: the folder in messages; ``where``: who names it; ``mpool``: the pool file that
    the network was compiled for; None: the pools are those that its C describes. NeuralArtError: a file is missing, or
    does not belong to the network.
    """
    found = find(folder, c_file, shown, where)
    pools = None
    if found.flow == NPU:
        pools = found.pools if mpool is None else check_pool_file(found, mpool)
    elif initializers:
        what = f"adopted: initializers: {found.where} is a network for the core, whose constants are C"
        raise NeuralArtError(what, where=where or found.where)
    chosen = assign(found, initializers or {}, where) if found.flow == NPU else {}
    stem = found.stem
    plain = {"c": found.c_file}
    plain |= {("header" if name == f"{stem}.h" and found.flow == NPU else name): name for name in found.code[1:]}
    plain |= {"facts": FACTS, "manifest": facts.MANIFEST}
    plain |= {"c_info": found.c_info or c_info_name(stem), "report": found.report or report_name(stem)}
    plain |= {"provenance": PROVENANCE}
    copied = {name: folder / name for name in (*found.code, found.c_info, found.report) if name}
    raws = {}
    for pool, path in chosen.items():
        # What later steps read has the name that the tool gives it; the user's file stays what it is called.
        raws[pool] = initializer_name(stem, "atonbuf", pool)
        if path.name != raws[pool]:
            plain[path.name] = path.name
            copied[path.name] = path
    names = [*plain.values(), *raws.values()]
    twice = next((name for name in names if names.count(name) > 1), "")
    if twice:
        what = f"adopted: two files of network {found.c_name} are called {twice}"
        raise NeuralArtError(what, where=where or found.where, hint="rename the initializer")
    return AdoptPlan(found, pools, chosen, plain, raws, copied)


def _info(found: GeneratedSet, notes: list[str]) -> CInfo | None:
    """The compiler's description, if it is of this network."""
    if not found.c_info:
        return None
    try:
        info = parse_c_info(read_bytes(found.folder / found.c_info), found.c_info)
    except NeuralArtError as error:
        notes.append(f"{error}: left aside")
        return None
    if not info.pools:
        return None
    if found.flow == NPU:
        known = {pool.fname: pool.address for pool in info.pools if not pool.virtual}
        for pool in found.network.pools:
            if not pool.virtual and pool.said and known.get(pool.fname) != pool.address:
                notes.append(f"{found.c_info} is of another compile (pool {pool.fname}): left aside")
                return None
    return info


def _pools(found: GeneratedSet, network: facts.Network, info: CInfo | None) -> tuple[facts.PoolUse, ...]:
    """Pools whose activations are only told as rounded numbers of a comment have unknown ones."""
    if info is not None:
        return network.pools
    placed = rows_by_pool(found.network)
    told = {pool.fname: pool for pool in found.network.pools}
    made = []
    for pool in network.pools:
        source = told[pool.fname]
        # Its own rows may end before it does, and a use through a virtual pool is as exact as what is said of that.
        said = source.exact if source.exact is not None else source.said if not source.precision else None
        exact = pool.used in (said, extent(source, placed[pool.fname]))
        unknown = source.writable and pool.used and not exact
        made.append(replace(pool, activations=None) if unknown else pool)
    return tuple(made)


def _npu(name: str, planned: AdoptPlan, raws: Mapping[str, bytes], notes: list[str]) -> facts.Network:
    found = planned.found
    notes += [problem.text for problem in found.network.problems]
    info = _info(found, notes)
    report = read_bytes(found.folder / found.report).decode("utf-8", "replace") if found.report else ""
    blobs = [decode(read_bytes(found.folder / each)) for each in found.code if each == found.network.ecblobs]
    sizes = {pool: len(data) for pool, data in raws.items()}
    made = npu_facts(found.network.name, found.network, info, sizes, blobs)
    return replace(
        made,
        name=name,
        c_name=found.c_name if found.c_name != name else "",
        runtime=found.runtime,
        pools=_pools(found, made, info),
        macc=macc_of(report) or None,
    )


def _cpu(name: str, planned: AdoptPlan, notes: list[str]) -> facts.Network:
    found = planned.found
    texts = {each: decode(read_bytes(found.folder / each)) for each in found.code if each.endswith((".c", ".h"))}
    codes = [text for each, text in texts.items() if not each.startswith(f"{found.stem}_data.c")]
    ours = found.runtime == facts.NEURALART
    info = _info(found, notes)
    c_name = found.c_name if found.c_name != name else ""
    # An image tells the stamp that its network was compiled with.
    said = next((match for text in codes if (match := _STAMP.search(text)) is not None), None)
    header = files.parse([text for each, text in texts.items() if each.endswith(".h")], found.c_name)
    if info is not None and info.graph is not None and (info.core is not None or ours):
        macc = sum(node.macc for node in info.graph.nodes)
        if header.macc in (None, macc):
            made = _of_info(found, info, codes, ours)
            stamped = said[1] if said is not None else made.abi_stamp
            return replace(made, name=name, c_name=c_name, runtime=found.runtime, abi_stamp=stamped)
        notes.append(f"{found.c_info} is of another compile ({macc} MACC, its header has {header.macc}): left aside")
    known = _TOOL_VERSION.search(found.text)
    version = (int(known[1]), int(known[2]), int(known[3]), 0) if known else _NOT_KNOWN
    if not header.inputs or not header.outputs:
        what = "neither its headers nor a c_info.json say what its inputs and outputs are"
        raise NeuralArtError(what, where=found.where, hint=f"{found.stem}.h and {found.stem}_data.h belong beside it")
    pools = [
        facts.PoolUse(label, label, 0, size, size, size - activations, activations, rights, facts.APPLICATION)
        for label, size, activations, rights in (
            ("activations", header.activations or 0, header.activations or 0, "ACC_WRITE"),
            ("weights", header.weights or 0, 0, "ACC_READ"),
        )
        if size
    ]
    first, *more = codes
    return facts.Network(
        name=name,
        runtime=found.runtime,
        runtime_version=facts.NEURALART_VERSION if ours else version,
        abi_stamp=said[1] if said is not None else stamp(first, more, pools),
        numerics=CPU_NUMERICS,
        pools=tuple(pools),
        inputs=_header_ports(header.inputs),
        outputs=_header_ports(header.outputs),
        epochs=(),
        macc=header.macc,
        c_name=c_name,
    )


def _of_info(found: GeneratedSet, info: CInfo, codes: list[str], ours: bool) -> facts.Network:
    if not ours:
        return cpu_facts(found.c_name, info, codes)
    assert info.graph is not None
    from neuralart.vendor.releases import parse_core

    # Our own descriptions name no release of that tool; the number does not stay.
    made = cpu_facts(found.c_name, replace(info, core=info.core or parse_core("4.0.1")), codes)
    return replace(made, runtime_version=facts.NEURALART_VERSION)


def _header_ports(ports: tuple[files.HeaderPort, ...]) -> tuple[facts.Port, ...]:
    return tuple(facts.Port(each.name, "", 0, each.bytes, each.shape, each.dtype, 0.0, 0) for each in ports)


def adopt(planned: AdoptPlan, name: str, output: Path) -> tuple[facts.Network, tuple[str, ...]]:
    """Copy the files, with ``network.json`` and ``manifest.json``; returns the facts and notes. NeuralArtError: a file
    cannot be read or does not belong to the network, or the folder cannot be written.
    """
    found, notes = planned.found, list[str]()
    if output.resolve() in {path.parent.resolve() for path in planned.sources}:
        hint = "another --output: an earlier compile goes"
        raise NeuralArtError("is a folder of the user's own files", where=str(output), hint=hint)
    files = {each: read_bytes(path) for each, path in planned.copied.items()}
    pools = {pool.fname: pool for pool in planned.pools.pools} if planned.pools is not None else {}
    raws = {
        fname: read(path, pools[fname], found.needed[fname], path.as_posix())
        for fname, path in planned.initializers.items()
    }
    files |= {planned.raws[fname]: data for fname, data in raws.items()}
    for role in ("c_info", "report"):
        files.setdefault(planned.plain[role], stand_in(planned.plain[role]))
    made = _npu(name, planned, raws, notes) if found.flow == NPU else _cpu(name, planned, notes)
    files[FACTS] = facts.to_json(made).encode()
    files[facts.MANIFEST] = facts.manifest(name, files).encode()
    lines = ["tool: unknown, the C was there", f"C: {found.where}", *(f"note: {note}" for note in notes)]
    files[PROVENANCE] = "".join(f"{line}\n" for line in lines).encode()
    folders.clear(output, name)
    folders.fill(output, files, {})
    return made, tuple(notes)


def _named(texts: list[str] | None) -> dict[str, Path]:
    made = {}
    for text in texts or ():
        pool, equals, file = text.partition("=")
        if not equals or not pool or not file:
            raise NeuralArtError(f"'{text}' is no POOL=FILE", where="--initializer")
        made[pool] = Path(file)
    return made


def plan_of(args: argparse.Namespace) -> AdoptPlan:
    """Make the plan for the words of ``neuralart compile --compiler adopted``; errors as of :func:`plan`."""
    if not args.adopted:
        raise NeuralArtError("is required", where="--adopted", hint="the folder with network.c")
    mpool = None
    if args.mpool:
        from neuralart.vendor import mpool as pool_files

        mpool = pool_files.read(Path(args.mpool), args.mpool)
    made = plan(Path(args.adopted), args.c_file or "", _named(args.initializer), shown=args.adopted, mpool=mpool)
    if args.target and flow_of(args.target) != made.found.flow:
        raise NeuralArtError(
            f"is of a network for the {'NPU' if made.found.flow == NPU else 'core'}, target {args.target} is for the "
            f"{'NPU' if flow_of(args.target) == NPU else 'core'}",
            where=made.found.where,
        )
    return made


def adopt_asked(args: argparse.Namespace, output: Path) -> str:
    """Run ``neuralart compile --compiler adopted``; returns lines for the user."""
    planned = plan_of(args)
    network, notes = adopt(planned, args.name or planned.found.c_name, output)
    version = ".".join(map(str, network.runtime_version)) if network.runtime_version != _NOT_KNOWN else "unknown"
    macc = "unknown" if network.macc is None else f"{network.macc:,}"
    lines = [f"network {network.name} ({network.symbol} in C): {macc} MAC, for {network.runtime} {version}, adopted"]
    lines += [f"  note: {note}" for note in notes]
    return "\n".join([*lines, f"  {output.as_posix()}: {len(planned.plain) + len(planned.raws)} files"])
