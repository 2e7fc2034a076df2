"""A compile from the request to the bytes of every file; nothing is written before all of it succeeded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from neuralart.compilers.fileset import FACTS
from neuralart.compilers.options import Choices, choices
from neuralart.compilers.request import CompileRequest
from neuralart.errors import NeuralArtError, nearest
from neuralart.network.facts import PoolUse, Port, to_json
from neuralart.network.pools import PoolFile, default_initializers, initializer_name
from neuralart.network.targets import NPU
from neuralart.vendor import mpool
from neuralart_reference import common_steps
from neuralart_reference.common_steps import write
from neuralart_reference.emit.c_info import c_info
from neuralart_reference.emit.emission import Emission
from neuralart_reference.emit.network_c import abi_stamp, network_c, network_h
from neuralart_reference.emit.report import report as make_report
from neuralart_reference.emit.rows import port_rows
from neuralart_reference.ir import Program
from neuralart_reference.model.graph import Model
from neuralart_reference.planning.lifetimes import user_allocated
from neuralart_reference.planning.planner import MemoryPlan, plan
from neuralart_reference.planning.sharing import share
from neuralart_reference.planning.stripes import smallest

__all__ = ["CompileRequest", "CompileResult", "build", "compile_network", "write"]


@dataclass(frozen=True)
class CompileResult(common_steps.Compiled):
    """What came out."""

    plan: MemoryPlan = field(repr=False)  # where everything is
    notes: tuple[str, ...]  # options without effect
    initializers: tuple[str, ...]  # fnames of the declared initializers


def _declared(request: CompileRequest, pools: PoolFile) -> tuple[str, ...]:
    if request.initializers is None:
        return default_initializers(pools)
    known = [pool.fname for pool in pools.enabled]
    for fname in request.initializers:
        if fname not in known:
            raise NeuralArtError(
                f"--initializers: no enabled pool '{fname}'", where=pools.path, hint=nearest(fname, known)
            )
    return tuple(dict.fromkeys(request.initializers))


def _raws(name: str, pools: PoolFile, placed: MemoryPlan, declared: Sequence[str]) -> dict[str, bytes]:
    """Content of every declared initializer, empty ones too; what is not declared would never be loaded: refused."""
    missing = [fname for fname in placed.images if fname not in declared]
    if missing:
        wanted = [*declared, *missing]
        sizes = ", ".join(f"{fname} ({len(placed.images[fname])} bytes)" for fname in missing)
        what = f"network {name} has constants in {sizes}, whose initializer is not declared and would not be loaded"
        hint = f"add the line   initializers: [{', '.join(wanted)}]   or --initializers {','.join(wanted)}"
        raise NeuralArtError(what, where=pools.path, hint=hint)
    return {initializer_name(name, pools.prefix, fname): placed.images.get(fname, b"") for fname in declared}


def _banner_options(request: CompileRequest, asked: Choices) -> common_steps.Pairs:
    flags = (
        ("enable-virtual-mem-pools", asked.virtual_pools),
        ("all-buffers-info", asked.all_buffers),
        ("Opreserve-inputs", asked.keep_inputs),
    )
    pools = (("load-mpool-file", f'"{common_steps.plain_stem(request.mpool)}"'),)
    return common_steps.shaping_options(request, flags, pools, (("network-name", f'"{request.name}"'),))


def _ports(emission: Emission, kind: str) -> list[Port]:
    return [
        common_steps.port_facts(emission, kind, index, pool=row.pool, address=row.address, shape=row.memory)
        for index, row in enumerate(port_rows(emission, kind))
    ]


@dataclass(frozen=True)
class Arranged:
    """A program and where everything of it is."""

    program: Program  # with shared memory, and in stripes where that was asked for
    plan: MemoryPlan
    owned: dict[int, tuple[str, int]]  # what the application provides
    choices: Choices


def arranged(request: CompileRequest, program: Program, pools: PoolFile) -> Arranged:
    """Place a lowered program. NeuralArtError: it does not fit, or an option of the profile is refused."""
    asked = choices(request.profile_options, request.options_where)
    program = share(program, inputs_writable=request.allocate_inputs and not asked.keep_inputs)
    owned = user_allocated(program, inputs=request.allocate_inputs, outputs=request.allocate_outputs)
    keep = asked.keep_inputs

    def put(made: Program) -> MemoryPlan:
        return plan(made, pools, virtual=asked.virtual_pools, user_owned=tuple(owned), keep_inputs=keep)

    if request.memory:
        program = smallest(program, put, tuple(owned), keep_inputs=keep)
    return Arranged(program, put(program), owned, asked)


def build(
    request: CompileRequest, model: Model, program: Program, pools: PoolFile, notes: Sequence[str] = ()
) -> CompileResult:
    """From a lowered program to the bytes of every file; NeuralArtError when it does not fit or is refused."""
    made = arranged(request, program, pools)
    program, placed, owned, asked = made.program, made.plan, made.owned, made.choices
    declared = _declared(request, pools)
    raws = _raws(request.name, pools, placed, declared)
    emission = Emission(
        name=request.name,
        target=request.target,
        model=model,
        program=program,
        plan=placed,
        pools=pools,
        border=request.border,
        user_owned=owned,
        all_buffers=asked.all_buffers,
        options=tuple(_banner_options(request, asked)),
        arguments=request.arguments,
        notes=(*notes, *asked.notes),
    )
    text = network_c(emission)
    stamp = abi_stamp(emission, text)
    pool_facts = (
        PoolUse(
            name=plan.name,
            fname=plan.fname,
            address=plan.address,
            size=plan.size,
            used=plan.used,
            weights=plan.weights,
            activations=plan.activations,
            rights=plan.pool.rights,
            mode=plan.pool.mode,
            virtual=bool(plan.parts),
            parts=plan.parts,
            cacheable=plan.pool.cacheable,
        )
        for plan in placed.pools
    )
    facts = common_steps.network_facts(
        emission, stamp, pool_facts, _ports(emission, "input"), _ports(emission, "output")
    )
    written = {
        f"{request.name}.c": text,
        f"{request.name}.h": network_h(emission),
        f"{request.name}_c_info.json": c_info(emission, stamp),
        FACTS: to_json(facts),
    }
    if request.report:
        written[f"{request.name}_generate_report.txt"] = make_report(emission)
    return CompileResult(
        common_steps.with_manifest(request.name, written, raws), facts, placed, emission.notes, declared
    )


def compile_network(request: CompileRequest, progress: common_steps.Progress = lambda _text: None) -> CompileResult:
    """Compile a model into the content of every file; nothing is written. ``progress`` gets a few words before each
    step. Raises NeuralArtError when the input is wrong, not supported or too large.
    """
    model, program, pools = common_steps.lowered(
        request, NPU, lambda: mpool.read(request.mpool, request.mpool_display), progress
    )
    result = build(request, model, program, pools, request.notes)
    more = [f"profile options: {' '.join(request.profile_options)}"]
    shown = request.mpool_display or str(request.mpool)
    return replace(result, files=common_steps.with_provenance(result.files, request, shown, more))
