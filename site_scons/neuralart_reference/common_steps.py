"""What every compile does, for targets with and without an NPU: the request, the steps, the files beside the code."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from neuralart import __version__
from neuralart.compilers.fileset import PROVENANCE, write_set
from neuralart.compilers.request import CommonRequest
from neuralart.files import log, read_bytes, utf8
from neuralart.network.facts import MANIFEST, NEURALART, NEURALART_VERSION, Epoch, Network, PoolUse, Port, manifest
from neuralart.network.targets import check_name, usable
from neuralart.resources import stable_name
from neuralart_reference.emit.emission import NUMERICS, TOOL, Emission
from neuralart_reference.ir import Program
from neuralart_reference.model.graph import Model

Pools = TypeVar("Pools")
Progress = Callable[[str], None]
Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Compiled:
    """What came out of every compile."""

    files: Mapping[str, bytes] = field(repr=False)  # name -> content of the whole set
    network: Network


def write(result: Compiled, folder: Path) -> None:
    """Write the set of files; NeuralArtError when the folder cannot be written or belongs to another network."""
    write_set(folder, result.network.name, result.files)


def plain_stem(path: Path | None) -> str:
    """The stem of a file as generated code may show it; empty without a file."""
    stem = path.stem if path is not None else ""
    return "".join(char if (char.isalnum() and char.isascii()) or char in "._-" else "_" for char in stem)


def shaping_options(request: CommonRequest, flags: Sequence[tuple[str, bool]], first: Pairs, last: Pairs) -> Pairs:
    """Options that shape the code, as (name, value): those of the target around those of all."""
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
        *((("memory", f'"{request.memory}"'),) if request.memory else ()),
        *last,
    )


def with_manifest(name: str, texts: Mapping[str, str], data: Mapping[str, bytes]) -> dict[str, bytes]:
    """The bytes of all files, and the manifest of them."""
    files = {**data, **{each: utf8(text) for each, text in texts.items()}}
    files[MANIFEST] = manifest(name, files).encode("utf-8")
    return files


def lowered(
    request: CommonRequest, flow: str, read_pools: Callable[[], Pools], progress: Progress
) -> tuple[Model, Program, Pools]:
    """The steps before anything is placed, in the order in which their errors are wanted. Raises NeuralArtError when
    the input is wrong, not supported, or the target is of another flow.
    """
    from neuralart_reference.lower import lower
    from neuralart_reference.model.reader import read

    check_name(request.name, "--name")
    usable(request.target, flow)
    pools = read_pools()
    progress("reading the model")
    border = request.border
    asked = (border.input_dtypes, border.output_dtypes, border.inputs_ch_position, border.outputs_ch_position)
    model = read(request.model, request.model_display or str(request.model), asked, request.cut, request.input_shapes)
    progress("lowering")
    program = lower(model, request.border)
    progress("placing and writing code")
    return model, program, pools


def port_facts(emission: Emission, kind: str, index: int, *, pool: str, address: int, shape: tuple[int, ...]) -> Port:
    """An input or output in ``network.json``."""
    number = emission.port_tensors(kind)[index]
    tensor = emission.tensor(number)
    quantization = tensor.quantization
    return Port(
        name=tensor.name,
        pool=pool,
        address=address,
        bytes=tensor.bytes,
        shape=shape,
        dtype=tensor.dtype,
        scale=quantization.scale if quantization is not None else 0.0,
        zero_point=quantization.zero_point if quantization is not None else 0,
        channel_position=emission.channel_position(kind, index),
        user_allocated=emission.owner(number) is not None,
    )


def network_facts(
    emission: Emission, stamp: str, pools: Iterable[PoolUse], inputs: Iterable[Port], outputs: Iterable[Port]
) -> Network:
    """``network.json``: the facts that the build decides by."""
    calls = emission.program.calls
    return Network(
        name=emission.name,
        runtime=NEURALART,
        runtime_version=NEURALART_VERSION,
        abi_stamp=stamp,
        numerics=NUMERICS,
        pools=tuple(pools),
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        epochs=tuple(Epoch(number, "SW", (call.kind,)) for number, call in enumerate(calls)),
        macc=sum(call.macc for call in calls),
    )


def with_provenance(
    files: Mapping[str, bytes], request: CommonRequest, pools: str, more: Sequence[str] = ()
) -> dict[str, bytes]:
    """The files, and what they were made from by whom; nothing depends on that one."""
    lines = [
        f"tool: {TOOL} {__version__}",
        f"model: {request.model_display or request.model}",
        f"model sha256: {hashlib.sha256(read_bytes(request.model)).hexdigest()}",
        f"memory pools: {stable_name(pools)}",
        f"arguments: {request.arguments}",
        *more,
    ]
    return {**files, PROVENANCE: log(lines)}
