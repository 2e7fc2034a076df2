"""A compile for a CPU target, from the request to the bytes of every file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from neuralart import __version__
from neuralart.compilers.reference.cpu.c_info import c_info
from neuralart.compilers.reference.cpu.cpu_network import CpuNetwork
from neuralart.compilers.reference.cpu.data_c import data_c, data_h, data_params_c, data_params_h
from neuralart.compilers.reference.cpu.facts import facts as make_facts
from neuralart.compilers.reference.cpu.headers import config_h, network_h
from neuralart.compilers.reference.cpu.network_c import network_c
from neuralart.compilers.reference.cpu.placing import place
from neuralart.compilers.reference.cpu.pool_file import ActivationMemory, read
from neuralart.compilers.reference.cpu.report import report as make_report
from neuralart.compilers.reference.emit.emission import TOOL, Emission
from neuralart.compilers.reference.emit.network_c import abi_stamp
from neuralart.compilers.reference.fileset import FACTS, PROVENANCE, write_set
from neuralart.compilers.reference.ir import BorderOptions, Program
from neuralart.compilers.reference.options import CPU
from neuralart.compilers.reference.planning.lifetimes import user_allocated
from neuralart.compilers.reference.planning.sharing import share
from neuralart.compilers.reference.targets import usable
from neuralart.files import read_bytes
from neuralart.model.graph import Model
from neuralart.network.facts import Network, to_json
from neuralart.network.manifest import NAME as MANIFEST
from neuralart.network.manifest import manifest
from neuralart.network.names import check_name


@dataclass(frozen=True)
class CpuRequest:
    """What to compile, and how.

    Attributes:
        model: The .tflite.
        memory_pool: The memory-pool file; None: one buffer as large as needed.
        name: C name of the network.
        target: As ``--target``.
        model_display: The model as the user named it; empty: the path.
        memory_pool_display: The memory-pool file likewise.
        border: Types and channel positions of inputs and outputs.
        allocate_inputs: False: the application provides the input buffers.
        allocate_outputs: Likewise for the outputs.
        split_weights: Each constant is an array of its own.
        binary: Write ``N_data.bin`` too.
        report: Write the text report.
        arguments: The command line for reports; no folders in it.
        notes: Options without effect that were found before.
    """

    model: Path
    memory_pool: Path | None = None
    name: str = "network"
    target: str = "stm32h7"
    model_display: str = ""
    memory_pool_display: str = ""
    border: BorderOptions = field(default_factory=BorderOptions)
    allocate_inputs: bool = True
    allocate_outputs: bool = True
    split_weights: bool = False
    binary: bool = False
    report: bool = True
    arguments: str = "generate"
    notes: tuple[str, ...] = ()


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


def _options(request: CpuRequest) -> tuple[tuple[str, str], ...]:
    """Options that shape the code, as (name, value); no folders."""
    border = request.border
    lists = (
        ("input-data-type", border.input_dtypes),
        ("output-data-type", border.output_dtypes),
        ("inputs-ch-position", border.inputs_ch_position),
        ("outputs-ch-position", border.outputs_ch_position),
    )
    flags = (
        ("split-weights", request.split_weights),
        ("no-inputs-allocation", not request.allocate_inputs),
        ("no-outputs-allocation", not request.allocate_outputs),
    )
    pools = request.memory_pool.stem if request.memory_pool is not None else ""
    stem = "".join(char if (char.isalnum() and char.isascii()) or char in "._-" else "_" for char in pools)
    return (
        ("c-api", '"legacy"'),
        *([("memory-pool", f'"{stem}"')] if pools else []),
        *((name, "true") for name, on in flags if on),
        *((name, f'"{",".join(values)}"') for name, values in lists if values),
        ("name", f'"{request.name}"'),
    )


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
        options=_options(request),
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
    files = {each: content.encode("utf-8") for each, content in written.items()}
    if request.binary:
        files[f"{name}_data.bin"] = b"".join(each.data for each in network.weights)
    files[MANIFEST] = manifest(name, files).encode("utf-8")
    return CpuResult(files, facts, network)


def _provenance(request: CpuRequest, model: bytes) -> bytes:
    lines = [
        f"tool: {TOOL} {__version__}",
        f"model: {request.model_display or request.model}",
        f"model sha256: {hashlib.sha256(model).hexdigest()}",
        f"memory pools: {request.memory_pool_display or request.memory_pool or 'one buffer as large as needed'}",
        f"arguments: {request.arguments}",
    ]
    return ("\n".join(lines) + "\n").encode("utf-8")


def compile_network(request: CpuRequest, progress: Callable[[str], None] = lambda _text: None) -> CpuResult:
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
    from neuralart.model.tflite import read as read_model

    check_name(request.name, "--name")
    usable(request.target, CPU)
    memories = () if request.memory_pool is None else read(request.memory_pool, request.memory_pool_display)
    progress("reading the model")
    model = read_model(request.model, request.model_display or str(request.model))
    progress("lowering")
    program = lower(model, request.border)
    progress("placing and writing code")
    result = build(request, model, program, memories)
    files = {**result.files, PROVENANCE: _provenance(request, read_bytes(request.model))}
    return CpuResult(files, result.network, result.cpu)


def write(result: CpuResult, folder: Path) -> None:
    """Write the set of files.

    Raises:
        NeuralArtError: The folder cannot be written or belongs to another network.
    """
    write_set(folder, result.network.name, result.files)
