"""A compile for a CPU target, from the request to the bytes of every file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from neuralart.compilers.dispatch import dispatched
from neuralart.compilers.fileset import FACTS
from neuralart.compilers.request import CommonRequest
from neuralart.files import utf8
from neuralart.network.facts import APPLICATION, PoolUse, Port, to_json
from neuralart.network.targets import CPU
from neuralart_reference import common_steps
from neuralart_reference.common_steps import write
from neuralart_reference.cpu.c_info import c_info
from neuralart_reference.cpu.cpu_network import CpuNetwork, views
from neuralart_reference.cpu.data_c import data_c, data_h, data_params_c, data_params_h
from neuralart_reference.cpu.network_c import config_h, network_c, network_h
from neuralart_reference.cpu.placing import WEIGHTS, ActivationMemory, Placed, place, read
from neuralart_reference.cpu.report import report as make_report
from neuralart_reference.emit.emission import Emission
from neuralart_reference.emit.network_c import abi_stamp
from neuralart_reference.ir import Program
from neuralart_reference.model.graph import Model
from neuralart_reference.planning.lifetimes import user_allocated
from neuralart_reference.planning.planner import PoolPlan
from neuralart_reference.planning.sharing import share
from neuralart_reference.planning.stripes import smallest

__all__ = ["CpuRequest", "CpuResult", "build", "c_names", "compile_network", "write"]


def _ports(network: CpuNetwork, kind: str) -> Iterator[Port]:
    for index, port in enumerate(views(network, kind)):
        pool = WEIGHTS if port.constant else ""
        if port.array.number and not port.constant:
            pool = network.placed.activations[port.array.number - 1].fname
        address = 0 if port.provided else port.array.offset + port.offset
        shape = port.tensor.shape or (1,)
        yield common_steps.port_facts(network.emission, kind, index, pool=pool, address=address, shape=shape)


def _pool(network: CpuNetwork, plan: PoolPlan) -> PoolUse:
    weights = plan.fname == WEIGHTS
    used = sum(each.size for each in network.weights) if weights else plan.used
    return PoolUse(
        name=plan.name,
        fname=plan.fname,
        # It gets its place when the application is linked.
        address=0,
        # Without a memory-pool file the application gives whatever is needed.
        size=used if weights or not network.memories else plan.size,
        used=used,
        weights=used if weights else 0,
        activations=0 if weights else plan.activations,
        rights=plan.pool.rights,
        mode=APPLICATION,
    )


@dataclass(frozen=True)
class CpuRequest(CommonRequest):
    """What to compile, and how."""

    memory_pool: Path | None = None  # the memory-pool file; None: one buffer as large as needed
    target: str = field(default="stm32h7", kw_only=True)
    memory_pool_display: str = ""  # the memory-pool file as the user named it; empty: the path
    split_weights: bool = False  # each constant is an array of its own
    dispatch: str = ""  # sections of the arrays, and their sizes, as :func:`~neuralart.compilers.dispatch.rooms`
    binary: bool = False  # write ``N_data.bin`` too


@dataclass(frozen=True)
class CpuResult(common_steps.Compiled):
    """What came out."""

    cpu: CpuNetwork = field(repr=False)  # names and places of all arrays


def c_names(name: str) -> tuple[str, ...]:
    """The C files of a network, in the order in which tools list them."""
    headers = (f"{name}.h", f"{name}_config.h", f"{name}_data.h", f"{name}_data_params.h")
    return (f"{name}.c", f"{name}_data.c", f"{name}_data_params.c", *headers)


def _options(request: CpuRequest) -> common_steps.Pairs:
    stem = common_steps.plain_stem(request.memory_pool)
    first = (("c-api", '"legacy"'), *([("memory-pool", f'"{stem}"')] if stem else []))
    flags = (("split-weights", request.split_weights),)
    return common_steps.shaping_options(request, flags, first, (("name", f'"{request.name}"'),))


def arranged(
    request: CpuRequest, program: Program, memories: Sequence[ActivationMemory] = ()
) -> tuple[Program, Placed, dict[int, tuple[str, int]]]:
    """Place a lowered program: the program as it is placed, where everything is, and what the application provides.
    NeuralArtError: it does not fit.
    """
    program = share(replace(program, overlap=True), inputs_writable=request.allocate_inputs)
    owned = user_allocated(program, inputs=request.allocate_inputs, outputs=request.allocate_outputs)
    shown = request.memory_pool_display or str(request.memory_pool or "")

    def put(made: Program) -> Placed:
        return place(made, memories, shown, owned)

    if request.memory:
        program = smallest(program, lambda made: put(made).plan, tuple(owned))
    return program, put(program), owned


def build(request: CpuRequest, model: Model, program: Program, memories: Sequence[ActivationMemory] = ()) -> CpuResult:
    """From a lowered program to the bytes of every file; NeuralArtError when it does not fit."""
    program, placed, owned = arranged(request, program, memories)
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
    plans = sorted(placed.plan.pools, key=lambda plan: plan.address)
    pool_facts = (_pool(network, plan) for plan in plans)
    facts = common_steps.network_facts(emission, stamp, pool_facts, _ports(network, "input"), _ports(network, "output"))
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
    texts = {file: utf8(text) for file, text in written.items()}
    files = weights | texts | dispatched(name, texts, request.dispatch)
    return CpuResult(common_steps.with_manifest(name, {}, files), facts, network)


def compile_network(request: CpuRequest, progress: common_steps.Progress = lambda _text: None) -> CpuResult:
    """Compile a model into the content of every file, as its namesake for targets with an NPU."""
    pools, shown = request.memory_pool, request.memory_pool_display or str(request.memory_pool or "")
    model, program, memories = common_steps.lowered(
        request, CPU, lambda: () if pools is None else read(pools, shown), progress
    )
    result = build(request, model, program, memories)
    said = shown or "one buffer as large as needed"
    return replace(result, files=common_steps.with_provenance(result.files, request, said))
