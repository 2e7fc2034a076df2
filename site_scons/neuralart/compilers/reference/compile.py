"""A compile from the request to the bytes of every file; nothing is written before all of it succeeded."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from neuralart import __version__
from neuralart.compilers.reference.emit.c_info import c_info
from neuralart.compilers.reference.emit.emission import TOOL, Emission
from neuralart.compilers.reference.emit.network_c import abi_stamp, network_c
from neuralart.compilers.reference.emit.network_h import network_h
from neuralart.compilers.reference.emit.network_json import network as make_facts
from neuralart.compilers.reference.emit.report import report as make_report
from neuralart.compilers.reference.fileset import FACTS, PROVENANCE, initializer_name, write_set
from neuralart.compilers.reference.ir import BorderOptions, Program
from neuralart.compilers.reference.planning.lifetimes import user_allocated
from neuralart.compilers.reference.planning.planner import Plan, plan
from neuralart.compilers.reference.planning.sharing import share
from neuralart.compilers.reference.profile_options import Choices, choices
from neuralart.compilers.reference.targets import usable
from neuralart.errors import NeuralArtError, nearest
from neuralart.files import read_bytes
from neuralart.model.graph import Model
from neuralart.network.facts import Network, to_json
from neuralart.network.manifest import NAME as MANIFEST
from neuralart.network.manifest import manifest
from neuralart.network.names import check_name
from neuralart.network.pools import PoolFile, default_initializers
from neuralart.vendor import mpool


@dataclass(frozen=True)
class CompileRequest:
    """What to compile, and how.

    Attributes:
        model: The .tflite.
        mpool: The memory-pool file.
        name: C name of the network.
        target: As ``--target``.
        model_display: The model as the user named it; empty: the path.
        mpool_display: The pool file as the user named it; empty: the path.
        profile_options: Options of the profile.
        options_where: Their place, for messages.
        border: Types and channel positions of inputs and outputs.
        allocate_inputs: False: the application provides the input buffers.
        allocate_outputs: Likewise for the outputs.
        initializers: fnames of the declared initializers; None: by rule.
        report: Write the text report.
        arguments: The command line for reports; no folders in it.
        notes: Options without effect that were found before.
    """

    model: Path
    mpool: Path
    name: str = "network"
    target: str = "stm32n6"
    model_display: str = ""
    mpool_display: str = ""
    profile_options: tuple[str, ...] = ()
    options_where: str = "profile options"
    border: BorderOptions = field(default_factory=BorderOptions)
    allocate_inputs: bool = True
    allocate_outputs: bool = True
    initializers: tuple[str, ...] | None = None
    report: bool = True
    arguments: str = "generate"
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class CompileResult:
    """What came out.

    Attributes:
        files: Name -> content of the whole set.
        network: The facts.
        plan: Where everything is.
        notes: Options without effect.
        initializers: fnames of the declared initializers.
    """

    files: Mapping[str, bytes] = field(repr=False)
    network: Network
    plan: Plan = field(repr=False)
    notes: tuple[str, ...]
    initializers: tuple[str, ...]


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


def _raws(name: str, pools: PoolFile, placed: Plan, declared: Sequence[str]) -> dict[str, bytes]:
    """Content of every declared initializer, empty ones too.

    Raises:
        NeuralArtError: One that is not declared has content: it would never be loaded.
    """
    missing = [fname for fname in placed.images if fname not in declared]
    if missing:
        wanted = [*declared, *missing]
        sizes = ", ".join(f"{fname} ({len(placed.images[fname])} bytes)" for fname in missing)
        raise NeuralArtError(
            f"network {name} has constants in {sizes}, whose initializer is not declared and would not be loaded",
            where=pools.path,
            hint=f"add the line   initializers: [{', '.join(wanted)}]   or --initializers {','.join(wanted)}",
        )
    return {initializer_name(name, pools.prefix, fname): placed.images.get(fname, b"") for fname in declared}


def _banner_options(request: CompileRequest, asked: Choices) -> tuple[tuple[str, str], ...]:
    """Options that shape the code, as (name, value); no folders."""
    border = request.border
    lists = (
        ("input-data-type", border.input_dtypes),
        ("output-data-type", border.output_dtypes),
        ("inputs-ch-position", border.inputs_ch_position),
        ("outputs-ch-position", border.outputs_ch_position),
    )
    flags = (
        ("enable-virtual-mem-pools", asked.virtual_pools),
        ("all-buffers-info", asked.all_buffers),
        ("Opreserve-inputs", asked.keep_inputs),
        ("no-inputs-allocation", not request.allocate_inputs),
        ("no-outputs-allocation", not request.allocate_outputs),
    )
    stem = "".join(char if (char.isalnum() and char.isascii()) or char in "._-" else "_" for char in request.mpool.stem)
    return (
        ("load-mpool-file", f'"{stem}"'),
        *((name, "true") for name, on in flags if on),
        *((name, f'"{",".join(values)}"') for name, values in lists if values),
        ("network-name", f'"{request.name}"'),
    )


def build(
    request: CompileRequest, model: Model, program: Program, pools: PoolFile, notes: Sequence[str] = ()
) -> CompileResult:
    """From a lowered program to the bytes of every file.

    Args:
        request: How.
        model: Where the program came from.
        program: What to place and write.
        pools: Where to place it.
        notes: Further options without effect.

    Raises:
        NeuralArtError: It does not fit, or an option is refused.
    """
    asked = choices(request.profile_options, request.options_where)
    program = share(program, inputs_writable=request.allocate_inputs and not asked.keep_inputs)
    owned = user_allocated(program, inputs=request.allocate_inputs, outputs=request.allocate_outputs)
    placed = plan(program, pools, virtual=asked.virtual_pools, user_owned=tuple(owned), keep_inputs=asked.keep_inputs)
    declared = _declared(request, pools)
    files = _raws(request.name, pools, placed, declared)
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
        options=_banner_options(request, asked),
        arguments=request.arguments,
        notes=(*notes, *asked.notes),
    )
    text = network_c(emission)
    stamp = abi_stamp(emission, text)
    facts = make_facts(emission, stamp)
    written = {
        f"{request.name}.c": text,
        f"{request.name}.h": network_h(emission),
        f"{request.name}_c_info.json": c_info(emission, stamp),
        FACTS: to_json(facts),
    }
    if request.report:
        written[f"{request.name}_generate_report.txt"] = make_report(emission)
    files |= {name: content.encode("utf-8") for name, content in written.items()}
    files[MANIFEST] = manifest(request.name, files).encode("utf-8")
    return CompileResult(files, facts, placed, emission.notes, declared)


def _provenance(request: CompileRequest, model: bytes) -> bytes:
    lines = [
        f"tool: {TOOL} {__version__}",
        f"model: {request.model_display or request.model}",
        f"model sha256: {hashlib.sha256(model).hexdigest()}",
        f"memory pools: {request.mpool_display or request.mpool}",
        f"arguments: {request.arguments}",
        f"profile options: {' '.join(request.profile_options)}",
    ]
    return ("\n".join(lines) + "\n").encode("utf-8")


def compile_network(request: CompileRequest, progress: Callable[[str], None] = lambda _text: None) -> CompileResult:
    """Compile a model.

    Args:
        request: What and how.
        progress: Called with a few words before each step.

    Returns:
        The content of every file; nothing is written.

    Raises:
        NeuralArtError: The input is wrong, not supported or too large; said in one line.
    """
    from neuralart.compilers.reference.lower import lower
    from neuralart.model.tflite import read

    check_name(request.name, "--name")
    usable(request.target)
    pools = mpool.read(request.mpool, request.mpool_display)
    progress("reading the model")
    model = read(request.model, request.model_display or str(request.model))
    progress("lowering")
    program = lower(model, request.border)
    progress("placing and writing code")
    result = build(request, model, program, pools, request.notes)
    files = {**result.files, PROVENANCE: _provenance(request, read_bytes(request.model))}
    return CompileResult(files, result.network, result.plan, result.notes, result.initializers)


def write(result: CompileResult, folder: Path) -> None:
    """Write the set of files.

    Raises:
        NeuralArtError: The folder cannot be written or belongs to another network.
    """
    write_set(folder, result.network.name, result.files)
