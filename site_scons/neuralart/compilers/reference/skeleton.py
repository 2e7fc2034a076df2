"""What every compile does, for targets with and without an NPU: the request, the steps, the files beside the code."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from neuralart import __version__
from neuralart.compilers.reference.emit.emission import TOOL
from neuralart.compilers.reference.fileset import PROVENANCE
from neuralart.compilers.reference.ir import BorderOptions, Program
from neuralart.files import read_bytes
from neuralart.model.graph import Model
from neuralart.network.facts import MANIFEST, manifest
from neuralart.network.targets import check_name, usable

Pools = TypeVar("Pools")
Progress = Callable[[str], None]
Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class CommonRequest:
    """What all requests have.

    Attributes:
        name: C name of the network.
        model_display: The model as the user named it; empty: the path.
        border: Types and channel positions of inputs and outputs.
        allocate_inputs: False: the application provides the input buffers.
        allocate_outputs: Likewise for the outputs.
        report: Write the text report.
        arguments: The command line for reports; no folders in it.
        notes: Options without effect that were found before.
    """

    name: str = "network"
    model_display: str = ""
    border: BorderOptions = field(default_factory=BorderOptions)
    allocate_inputs: bool = True
    allocate_outputs: bool = True
    report: bool = True
    arguments: str = "generate"
    notes: tuple[str, ...] = ()


def plain_stem(path: Path | None) -> str:
    """The stem of a file as generated code may show it; empty without a file."""
    stem = path.stem if path is not None else ""
    return "".join(char if (char.isalnum() and char.isascii()) or char in "._-" else "_" for char in stem)


def shaping_options(request: CommonRequest, flags: Sequence[tuple[str, bool]], first: Pairs, last: Pairs) -> Pairs:
    """Options that shape the code, as (name, value); no folders.

    Args:
        request: The request.
        flags: Options of this kind of target, and whether they are on.
        first: What stands before.
        last: What stands behind.
    """
    border = request.border
    lists = (
        ("input-data-type", border.input_dtypes),
        ("output-data-type", border.output_dtypes),
        ("inputs-ch-position", border.inputs_ch_position),
        ("outputs-ch-position", border.outputs_ch_position),
    )
    allocation = (
        ("no-inputs-allocation", not request.allocate_inputs),
        ("no-outputs-allocation", not request.allocate_outputs),
    )
    return (
        *first,
        *((name, "true") for name, on in (*flags, *allocation) if on),
        *((name, f'"{",".join(values)}"') for name, values in lists if values),
        *last,
    )


def with_manifest(name: str, texts: Mapping[str, str], data: Mapping[str, bytes]) -> dict[str, bytes]:
    """The bytes of all files, and the manifest of them."""
    files = {**data, **{each: text.encode("utf-8") for each, text in texts.items()}}
    files[MANIFEST] = manifest(name, files).encode("utf-8")
    return files


def lowered(
    request: CommonRequest,
    path: Path,
    target: str,
    flow: str,
    read_pools: Callable[[], Pools],
    progress: Progress,
) -> tuple[Model, Program, Pools]:
    """The steps before anything is placed, in the order in which their errors are wanted.

    Args:
        request: What and how.
        path: The model.
        target: As ``--target``.
        flow: What the target must have.
        read_pools: Reads the memory pools.
        progress: Called with a few words before each step.

    Raises:
        NeuralArtError: The input is wrong or not supported; said in one line.
    """
    from neuralart.compilers.reference.lower import lower
    from neuralart.model.tflite import read

    check_name(request.name, "--name")
    usable(target, flow)
    pools = read_pools()
    progress("reading the model")
    model = read(path, request.model_display or str(path))
    progress("lowering")
    program = lower(model, request.border)
    progress("placing and writing code")
    return model, program, pools


def with_provenance(
    files: Mapping[str, bytes], request: CommonRequest, path: Path, pools: str, more: Sequence[str] = ()
) -> dict[str, bytes]:
    """The files, and what they were made from by whom; nothing depends on that one.

    Args:
        files: All others.
        request: What and how.
        path: The model.
        pools: The memory pools as the user named them.
        more: Further lines.
    """
    lines = [
        f"tool: {TOOL} {__version__}",
        f"model: {request.model_display or path}",
        f"model sha256: {hashlib.sha256(read_bytes(path)).hexdigest()}",
        f"memory pools: {pools}",
        f"arguments: {request.arguments}",
        *more,
    ]
    return {**files, PROVENANCE: ("\n".join(lines) + "\n").encode("utf-8")}
