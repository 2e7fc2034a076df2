"""Traps of networks: what they compute where, which runtime they were made for, what of their files is missing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from neuralart.errors import first_names
from neuralart.network.facts import LL_ATON
from neuralart.vendor.releases import before_runtime, of_runtime
from neuralart_insight.lint.types import Facts, Hit, rule

_EXPORTED = re.compile(r".*_OE_\d+(?:_\d+)*\.onnx", re.I)
_SHOWN = 4


def _release(version: tuple[int, int, int, int]) -> str:
    text = ".".join(map(str, version))
    release = of_runtime(version)
    if release is not None:
        return f"{text} (ST Edge AI Core {release.core})"
    return f"{text} (the reference compiler)" if version[0] == 0 else text


@rule("""note: network
    epochs of a vendor network that the CPU computes
    They take most of the time of many networks, and nothing says so but a table in a report.
    quantize their layers, or replace them; max_sw_epochs and min_offload in budgets: make it an error""")
def _software_epochs(facts: Facts) -> Iterator[Hit]:
    for network in facts.networks:
        steps = [step for step in network.steps if step.kind in ("SW", "HYBRID")]
        if network.runtime != LL_ATON or not steps:
            continue
        counts = Counter(name for step in steps for name in step.operators)
        operators = [f"{count} {name}" for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
        hybrid = sum(step.kind == "HYBRID" for step in steps)
        together = f", {hybrid} of them together with the NPU" if hybrid else ""
        which = f": {first_names(operators, _SHOWN)}" if operators else ""
        said = f"the CPU computes {len(steps)} of {len(network.steps)} steps of network {network.name}"
        yield Hit(steps[0].where, f"{said}{together}{which}")


@rule("""warning: network
    buffers of floats inside of a vendor network
    A layer that is not quantized runs on the CPU in floating point, slowly, and with other results than expected.
    quantize the whole model, or cut it before the float layers""")
def _float_layers(facts: Facts) -> Iterator[Hit]:
    for network in facts.networks:
        if network.runtime == LL_ATON and network.floats:
            names = [name for name, _ in network.floats]
            several, holding = ("s", "hold") if len(names) > 1 else ("", "holds")
            said = f"{len(names)} buffer{several} inside of network {network.name} {holding} floats"
            yield Hit(network.floats[0][1], f"{said}: {first_names(names, _SHOWN)}")


@rule("""error: model
    a file *_OE_*.onnx as a model
    It has been through the tool's optimizer already: compiled again it is pre-processed twice, silently.
    compile the model's own file""")
def _exported_model(facts: Facts) -> Iterator[Hit]:
    given = [*facts.models, *((network.model, network.model_where) for network in facts.networks if network.model)]
    for name, where in dict.fromkeys(given):
        if _EXPORTED.fullmatch(name):
            yield Hit(where, f"{name} is what the tool's own front end wrote (_OE_)")


@rule("""warning: quantization file
    truth values in a quantization file (*_Q.json)
    One of them makes the Neural-ART compiler drop the quantization of the whole network, and end well.
    remove the operator that makes it""")
def _bool_tensor(facts: Facts) -> Iterator[Hit]:
    for exported in facts.exports:
        names = [tensor.name for tensor in exported.tensors.values() if tensor.type.upper().startswith("BOOL")]
        if names:
            yield Hit(exported.file, f"{len(names)} tensors are truth values: {first_names(names, _SHOWN)}")


@rule("""error: network, ll_aton_version.h
    a network that was made for another runtime than the application brings
    All four numbers must agree, the last one too. Up to 2.1, and in networks made by 2.2 on Windows, the guard is a
    warning, which is easily missed.
    take Middlewares/ST/AI from the release that compiled the network, or compile it with the release of the runtime""")
def _runtime_guard(facts: Facts) -> Iterator[Hit]:
    for network in facts.networks:
        for header in facts.runtimes:
            if network.guard is not None and header.version != network.guard:
                quiet = " It only warns about that." if network.guard_kind == "warning" else ""
                said = f"network {network.name} is made for runtime {_release(network.guard)}, the application has"
                where = network.guard_where or network.where
                yield Hit(where, f"{said} {_release(header.version)} at {header.where}.{quiet}")


@rule("""note: network
    a guard that only warns, and no runtime to compare with
    A network and a runtime that do not belong together compile, and misbehave.
    lint it together with the application's ll_aton_version.h""")
def _quiet_guard(facts: Facts) -> Iterator[Hit]:
    for network in facts.networks:
        if network.guard is not None and network.guard_kind == "warning" and not facts.runtimes:
            said = f"network {network.name} only warns when it is compiled against another runtime than"
            yield Hit(network.guard_where or network.where, f"{said} {_release(network.guard)}")


@rule("""warning: profile
    the key memory_desc in a profile
    Releases from 2.2 on ignore it with a warning: the machine they compile for is the default one.
    call it machine_desc""")
def _memory_desc(facts: Facts) -> Iterator[Hit]:
    guards = {network.guard for network in facts.networks if network.guard is not None}
    # In some releases the key was right.
    old = bool(guards) and all(before_runtime(guard).habits.description_key == "memory_desc" for guard in guards)
    for file in facts.profiles:
        for profile in file.profiles:
            if profile.old_key and not old:
                yield Hit(f"{file.file}:{profile.line}", f"profile '{profile.name}' names its machine with memory_desc")


@rule("""error: network, variant
    constants in a pool whose initializer is not declared
    The compiler put weights into an unexpected pool. They are not flashed, and the network computes zeros without any
    error.
    declare the pool, or make room in the declared ones""")
def _undeclared_raw(facts: Facts) -> Iterator[Hit]:
    for network in facts.networks:
        for raw in network.raws:
            if network.declared is not None and raw.bytes and raw.pool not in network.declared:
                said = f"network {network.name} has {raw.bytes} bytes of constants in pool {raw.pool} ({raw.name})"
                hint = f"initializers: [{', '.join([*network.declared, raw.pool])}] declares it"
                yield Hit(network.where, f"{said}, which is not declared: nothing loads them", hint=hint)


@rule("""warning: network, its folder
    a pool with constants, and no file that holds them
    The file was not copied with the C, or belongs to another compile.
    copy the whole set of a compile""")
def _missing_raw(facts: Facts) -> Iterator[Hit]:
    addresses = {file.address for file in facts.hexes}
    for network in facts.networks:
        for pool in network.used:
            if network.files is None or not pool.weights or pool.virtual or pool.address in addresses:
                continue
            # As C, as it is, or renamed for a programmer: the pool's name stays in it.
            if not any(f".{pool.fname}." in name for name in network.files):
                kind = f"{pool.weights} bytes of constants in pool {pool.fname}"
                yield Hit(pool.where or network.where, f"network {network.name} has {kind}, and no file with them")


@rule("""error: network, its folder
    files beside a network.c that are of another compile
    network.c and the weights are only right together; a new one with old weights compiles, starts and is wrong.
    copy the whole set of one compile""")
def _mixed_set(facts: Facts) -> Iterator[Hit]:
    return (Hit(where, what) for network in facts.networks for where, what in network.mixed)


@rule("""warning: network, its folder
    a header with blobs beside a network without epoch controller
    It was left behind when the epoch controller was turned off; an application that includes it has programs of a
    network that does not exist any more.
    delete it""")
def _stale_blobs(facts: Facts) -> Iterator[Hit]:
    for network in facts.networks:
        left = sorted(name for name in network.files or () if name.endswith("_ecblobs.h"))
        if left and not network.blob_header:
            yield Hit(network.where, f"{left[0]} is beside network {network.name}, which has no epoch controller")


@rule("""error: network, its folder
    a network with epoch controller and without its header
    The C does not compile. With an empty header of that name it compiles, but the NPU executes nothing.
    copy the header of the same compile""")
def _missing_blobs(facts: Facts) -> Iterator[Hit]:
    for network in facts.networks:
        if network.blob_header and network.files is not None and network.blob_header not in network.files:
            yield Hit(network.where, f"network {network.name} includes {network.blob_header}, which is not beside it")


@rule("""warning: network, its folder
    a relative pool with constants that is not written as C
    Its base is a symbol that only the C file of the pool (FORMAT_C) or the relocatable build defines: the link ends
    with an undefined reference.
    FORMAT_C in the pool file, or build a relocatable model""")
def _relative_raw(facts: Facts) -> Iterator[Hit]:
    for network in facts.networks:
        for pool in network.pools:
            defined = any(name.endswith(f".{pool.fname}.c") for name in network.files or ())
            if pool.relative and pool.weights and network.files is not None and not defined and not network.loaded:
                said = f"pool {pool.fname} of network {network.name} is relative: nothing defines"
                yield Hit(pool.where, f"{said} _mem_pool_{pool.fname}_{network.name}")


@rule("""error: network, its folder, hex file
    an Intel HEX file with a pool's bytes at another address than the network reads them
    The address was typed twice. The file is flashed without an error, but to a place that nothing reads.
    make it from the pool's own address""")
def _hex_address(facts: Facts) -> Iterator[Hit]:
    for file in facts.hexes:
        for network in facts.networks:
            for raw in network.raws:
                pool = next((pool for pool in network.pools if pool.fname == raw.pool and not pool.relative), None)
                if pool is None or (raw.bytes, raw.sha256) != (file.bytes, file.sha256) or not raw.bytes:
                    continue
                if file.address != pool.address:
                    said = f"it holds the bytes of {raw.name} at 0x{file.address:08x}, network {network.name} reads"
                    yield Hit(file.file, f"{said} them at 0x{pool.address:08x}")
