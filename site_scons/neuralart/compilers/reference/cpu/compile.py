"""A compile for a CPU target, from the request to the bytes of every file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from neuralart.compilers.reference.cpu.c_info import c_info
from neuralart.compilers.reference.cpu.cpu_network import CpuNetwork
from neuralart.compilers.reference.cpu.data_c import data_c, data_h, data_params_c, data_params_h
from neuralart.compilers.reference.cpu.headers import config_h, network_h
from neuralart.compilers.reference.cpu.network_c import network_c
from neuralart.compilers.reference.cpu.placing import place
from neuralart.compilers.reference.cpu.pool_file import WEIGHTS, ActivationMemory, read
from neuralart.compilers.reference.cpu.ports import PortView, views
from neuralart.compilers.reference.cpu.report import report as make_report
from neuralart.compilers.reference.emit.emission import NUMERICS, Emission
from neuralart.compilers.reference.emit.network_c import abi_stamp
from neuralart.compilers.reference.fileset import FACTS, PROVENANCE, write_set
from neuralart.compilers.reference.ir import Program
from neuralart.compilers.reference.planning.lifetimes import user_allocated
from neuralart.compilers.reference.planning.sharing import share
from neuralart.compilers.reference.skeleton import (
    CommonRequest,
    Pairs,
    Progress,
    lowered,
    plain_stem,
    shaping_options,
    with_manifest,
    with_provenance,
)
from neuralart.compilers.reference.usage import PoolPlan
from neuralart.model.graph import Model
from neuralart.network.facts import (
    APPLICATION,
    MANIFEST,
    NEURALART,
    NEURALART_VERSION,
    Epoch,
    Network,
    PoolUse,
    Port,
    to_json,
)
from neuralart.network.targets import CPU

# ``network.json`` of a CPU network: the same facts, but its pools get their places when the application is linked ---


def _port(network: CpuNetwork, kind: str, index: int, port: PortView) -> Port:
    quantization = port.quantization
    activations = network.placed.activations
    pool = activations[port.array.number - 1].fname if port.array.number and not port.constant else ""
    return Port(
        name=port.tensor.name,
        pool=WEIGHTS if port.constant else pool,
        address=0 if port.provided else port.array.offset + port.offset,
        bytes=port.tensor.bytes,
        shape=port.tensor.shape or (1,),
        dtype=port.tensor.dtype,
        scale=quantization.scale if quantization is not None else 0.0,
        zero_point=quantization.zero_point if quantization is not None else 0,
        channel_position=network.emission.channel_position(kind, index),
        user_allocated=port.provided,
    )


def _pool(network: CpuNetwork, plan: PoolPlan) -> PoolUse:
    weights = plan.fname == WEIGHTS
    used = sum(each.size for each in network.weights) if weights else plan.used
    # Without a memory-pool file the application gives whatever is needed.
    size = used if weights or not network.memories else plan.size
    return PoolUse(
        name=plan.name,
        fname=plan.fname,
        address=0,
        size=size,
        used=used,
        weights=used if weights else 0,
        activations=0 if weights else plan.activations,
        rights=plan.pool.rights,
        mode=APPLICATION,
    )


def make_facts(network: CpuNetwork, stamp: str) -> Network:
    """The facts of a compiled network.

    Args:
        network: What was compiled.
        stamp: The abi stamp.
    """
    calls = network.emission.program.calls
    plans = sorted(network.emission.plan.pools, key=lambda plan: plan.address)
    return Network(
        name=network.name,
        runtime=NEURALART,
        runtime_version=NEURALART_VERSION,
        abi_stamp=stamp,
        numerics=NUMERICS,
        pools=tuple(_pool(network, plan) for plan in plans),
        inputs=tuple(_port(network, "input", n, port) for n, port in enumerate(views(network, "input"))),
        outputs=tuple(_port(network, "output", n, port) for n, port in enumerate(views(network, "output"))),
        epochs=tuple(Epoch(number, "SW", (call.kind,)) for number, call in enumerate(calls)),
        macc=sum(call.macc for call in calls),
    )


# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CpuRequest(CommonRequest):
    """What to compile, and how.

    Attributes:
        model: The .tflite.
        memory_pool: The memory-pool file; None: one buffer as large as needed.
        target: As ``--target``.
        memory_pool_display: The memory-pool file as the user named it; empty: the path.
        split_weights: Each constant is an array of its own.
        binary: Write ``N_data.bin`` too.
    """

    model: Path
    memory_pool: Path | None = None
    target: str = "stm32h7"
    memory_pool_display: str = ""
    split_weights: bool = False
    binary: bool = False


@dataclass(frozen=True)
class CpuResult:
    """What came out.

    Attributes:
        files: Name -> content of the whole set.
        network: The facts.
        cpu: Names and places of all arrays.
    """

    files: Mapping[str, bytes] = field(repr=False)
    network: Network
    cpu: CpuNetwork = field(repr=False)


def c_names(name: str) -> tuple[str, ...]:
    """The C files of a network, in the order in which tools list them."""
    headers = (f"{name}.h", f"{name}_config.h", f"{name}_data.h", f"{name}_data_params.h")
    return (f"{name}.c", f"{name}_data.c", f"{name}_data_params.c", *headers)


def file_names(name: str, *, report: bool = True, binary: bool = False) -> tuple[str, ...]:
    """Every file of a compile, known before it runs.

    Args:
        name: C name of the network.
        report: The text report is written.
        binary: The weights are written to a file too.
    """
    plain = [*c_names(name), FACTS, MANIFEST, f"{name}_c_info.json"]
    plain += [f"{name}_generate_report.txt"] if report else []
    plain += [f"{name}_data.bin"] if binary else []
    return (*plain, PROVENANCE)


def _options(request: CpuRequest) -> Pairs:
    stem = plain_stem(request.memory_pool)
    first = (("c-api", '"legacy"'), *([("memory-pool", f'"{stem}"')] if stem else []))
    flags = (("split-weights", request.split_weights),)
    return shaping_options(request, flags, first, (("name", f'"{request.name}"'),))


def build(
    request: CpuRequest,
    model: Model,
    program: Program,
    memories: Sequence[ActivationMemory] = (),
) -> CpuResult:
    """From a lowered program to the bytes of every file.

    Args:
        request: How.
        model: Where the program came from.
        program: What to place and write.
        memories: Pools of the memory-pool file; empty: one without an end.

    Raises:
        NeuralArtError: It does not fit.
    """
    program = share(program, inputs_writable=request.allocate_inputs)
    owned = user_allocated(program, inputs=request.allocate_inputs, outputs=request.allocate_outputs)
    shown = request.memory_pool_display or str(request.memory_pool or "")
    placed = place(program, memories, shown, owned)
    emission = Emission(
        name=request.name,
        target=request.target,
        model=model,
        program=program,
        plan=placed.plan,
        pools=placed.pools,
        border=request.border,
        user_owned=owned,
        options=tuple(_options(request)),
        arguments=request.arguments,
        notes=request.notes,
    )
    pools = request.memory_pool.name if memories and request.memory_pool is not None else ""
    network = CpuNetwork(emission, placed, request.split_weights, request.binary, pools)
    text = network_c(network)
    stamp = abi_stamp(emission, text)
    facts = make_facts(network, stamp)
    name = request.name
    written = {
        f"{name}.c": text,
        f"{name}.h": network_h(network),
        f"{name}_config.h": config_h(network, stamp),
        f"{name}_data.c": data_c(network),
        f"{name}_data.h": data_h(network),
        f"{name}_data_params.c": data_params_c(network),
        f"{name}_data_params.h": data_params_h(network),
        f"{name}_c_info.json": c_info(network, stamp, c_names(name)),
        FACTS: to_json(facts),
    }
    if request.report:
        written[f"{name}_generate_report.txt"] = make_report(network)
    weights = {f"{name}_data.bin": b"".join(each.data for each in network.weights)} if request.binary else {}
    return CpuResult(with_manifest(name, written, weights), facts, network)


def compile_network(request: CpuRequest, progress: Progress = lambda _text: None) -> CpuResult:
    """Compile a model.

    Args:
        request: What and how.
        progress: Called with a few words before each step.

    Returns:
        The content of every file; nothing is written.

    Raises:
        NeuralArtError: The input is wrong, not supported or too large; said in one line.
    """
    pools, shown = request.memory_pool, request.memory_pool_display or str(request.memory_pool or "")
    model, program, memories = lowered(
        request, request.model, request.target, CPU, lambda: () if pools is None else read(pools, shown), progress
    )
    result = build(request, model, program, memories)
    said = shown or "one buffer as large as needed"
    return replace(result, files=with_provenance(result.files, request, request.model, said))


def write(result: CpuResult, folder: Path) -> None:
    """Write the set of files.

    Raises:
        NeuralArtError: The folder cannot be written or belongs to another network.
    """
    write_set(folder, result.network.name, result.files)
