"""What each epoch of a network wrote on a virtual board, compared with the same tensors of a model that LiteRT runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from neuralart.errors import NeuralArtError, shown
from neuralart.network.facts import Network, Port
from neuralart.vendor.c_info import read as c_info
from neuralart.vendor.c_info.ports import ports
from neuralart.vendor.tables import plural, table
from neuralart_virtual.emulator.inputs.preprocessing import library, shape_text
from neuralart_virtual.vectors import expected

HEADS = ("epoch", "tensor", "type", "shape", "max steps", "max difference", "samples")
NPU_HEADS = (*HEADS[:4], "equal", "allowed", *HEADS[4:])
_WIDEST = 60


@dataclass(frozen=True)
class LayerFigures:
    """How far one tensor is from that of the reference, over all samples."""

    epoch: int  # Number of the epoch that writes it
    name: str  # As in the model
    dtype: str  # ``int8``, ``float32``...
    shape: tuple[int, ...]  # With the batch
    # Largest difference, in steps of the tensor's quantization; None: it has none, or no finite one
    steps: float | None
    difference: float | None  # Largest difference of real values; None: one of them is no number, or nothing compared
    samples: tuple[int, ...] = ()  # The samples in which it differs, by more than is allowed, from 0
    note: str = ""  # Why it was not compared; empty: it was
    # Of the virtual NPU: steps that it may differ, None if no rule says it; else no difference is allowed
    allowed: float | None = 0.0
    equal: float | None = None  # Of the virtual NPU: share of elements that are equal


def first_difference(layers: Sequence[LayerFigures]) -> LayerFigures | None:
    """The first tensor, in order of execution, that differs by more than is allowed."""
    return next((layer for layer in layers if layer.samples), None)


class EpochTensors:
    """Keeps what the epochs of a network write while a virtual board runs it."""

    def __init__(self, folder: Path, network: Network) -> None:
        """Read which tensors there are from the c_info of a compile. NeuralArtError: it is missing, or wrong."""
        info = c_info.read(folder / f"{network.name}_c_info.json")
        # What is computed over its input has the place and the name of that, which is another tensor of the model.
        own = [[each for each in node.outputs if each not in node.inputs] for node in info.epochs]
        self.written = [(node.number or 0, ports(info, ids)) for node, ids in zip(info.epochs, own, strict=True)]
        self.samples: list[dict[str, bytes]] = []
        self._name = network.name
        self._memory: Callable[[int, int], bytes] = lambda address, size: b""

    def calls(self) -> dict[str, Callable[[Callable[[int, int], bytes]], None]]:
        """What is to be called at the beginning of which function of the image."""
        names = (f"LL_ATON_Start_EpochBlock_{epoch}_{self._name}" for epoch, _ in self.written)
        return {name: partial(self._begins, at) for at, name in enumerate(names)}

    def _begins(self, at: int, memory: Callable[[int, int], bytes]) -> None:
        if at == 0:
            self.samples.append({})
            self._memory = memory
        else:
            self._keep(at - 1)

    def _keep(self, at: int) -> None:
        # Later epochs reuse the memory: a tensor is read before the next epoch begins.
        for port in self.written[at][1]:
            if not port.user_allocated:
                self.samples[-1][port.name] = self._memory(port.address, port.bytes)

    def sample_ends(self) -> None:
        """The outputs of an inference have arrived: its last epoch is over."""
        if self.written:
            self._keep(len(self.written) - 1)


def _real(np: Any, values: Any, scale: float, zero_point: int) -> Any:
    real = values.astype(np.float64)
    return (real - zero_point) * scale if scale else real


def _differences(np: Any, port: Port, ours: bytes, theirs: Any, scale: float, zero_point: int) -> Any:
    """Of each element; in steps where both tensors have the same quantization, which is exact."""
    found = np.frombuffer(ours, np.dtype(port.dtype).newbyteorder("<")).reshape(-1)
    other = theirs.reshape(-1)
    if (port.scale, port.zero_point, found.dtype.kind) == (scale, zero_point, other.dtype.kind) and port.scale:
        return np.abs(found.astype(np.float64) - other)
    one, two = _real(np, found, port.scale, port.zero_point), _real(np, other, scale, zero_point)
    with np.errstate(invalid="ignore"):
        apart = np.where((one == two) | (np.isnan(one) & np.isnan(two)), 0.0, np.abs(one - two))
    return np.where(np.isnan(apart), np.inf, apart) / (port.scale or 1.0)


def compare_layers(
    tensors: EpochTensors, model: Path, given: Sequence[Port], inputs: Sequence[bytes], cut: Sequence[str] = ()
) -> tuple[LayerFigures, ...]:
    """Compare epochs with a model's tensors of the same names, by sample. NeuralArtError: no LiteRT, or it fails."""
    np = library("numpy", "--per-layer")
    known: set[str] = set()
    worst: dict[str, float] = {}
    differing: dict[str, list[int]] = {}
    notes: dict[str, str] = {}
    named = {port.name: port for _, written in tensors.written for port in written}
    computed = _reference(model, given, inputs, cut, named)
    for number, (ours, theirs) in enumerate(zip(tensors.samples, computed, strict=True)):
        for name, (values, scale, zero_point) in theirs.items():
            port, data = named[name], ours.get(name, b"")
            known.add(name)
            if not port.dtype or values.size * np.dtype(port.dtype).itemsize != len(data):
                notes[name] = f"the model has {values.dtype.name}[{shape_text(values.shape)}]"
                continue
            apart = float(_differences(np, port, data, values, scale, zero_point).max(initial=0.0))
            worst[name] = max(worst.get(name, 0.0), apart)
            if apart:
                differing.setdefault(name, []).append(number)
    figures = []
    for epoch, written in tensors.written:
        for port in written:
            note = notes.get(port.name, "" if port.name in known else "the model has no tensor of this name")
            most = None if note or not np.isfinite(worst[port.name]) else worst[port.name]
            real = most if most is None else most * (port.scale or 1.0)
            steps = most if port.scale else None
            samples = () if note else tuple(differing.get(port.name, ()))
            figures.append(LayerFigures(epoch, port.name, port.dtype, port.shape, steps, real, samples, note))
    return tuple(figures)


def _reference(
    model: Path, given: Sequence[Port], inputs: Sequence[bytes], cut: Sequence[str], wanted: Mapping[str, Port]
) -> Iterator[dict[str, tuple[Any, float, int]]]:
    """For each sample the tensors of a model by name: elements, scale and zero point."""
    for interpreter in expected.litert_runs(model, given, inputs, cut, every_tensor=True):
        found = {}
        for detail in interpreter.get_tensor_details():
            if detail["name"] in wanted and detail["name"] not in found:
                scale, zero_point = detail["quantization"]
                try:
                    found[detail["name"]] = interpreter.get_tensor(detail["index"]), float(scale), int(zero_point)
                except ValueError as error:
                    raise NeuralArtError(f"tensor '{detail['name']}': {error}", where=str(model)) from error
        yield found


def layer_lines(layers: Sequence[LayerFigures], indent: str = "  ") -> list[str]:
    """For people: the first tensor that differs by more than is allowed, and a table."""
    rows, npu = [], any(layer.allowed != 0 for layer in layers)
    for layer in layers:
        # Fused operators have the names of all of them.
        about = [layer.epoch, shown(layer.name.split(";")[0], _WIDEST), layer.dtype or "-", shape_text(layer.shape)]
        if npu:
            allowed = "-" if layer.allowed is None else f"{layer.allowed:.2f}"
            about += ["-" if layer.equal is None else f"{100 * layer.equal:.2f} %", allowed]
        had = _shown(layer.steps), _shown(layer.difference), len(layer.samples)
        rows.append([*about, *(("-", layer.note, "-") if layer.note else had)])
    first = first_difference(layers)
    more_than = " by more than is allowed" if npu else ""
    if first is None:
        said = f"no tensor differs from the reference{more_than}"
    else:
        how = f"by up to {plural(int(first.steps), 'step')}" if first.steps else "by values that are no steps"
        how += f" ({first.allowed:.2f} are allowed)" if first.allowed else ""
        name = first.name.split(";")[0] if npu else first.name
        said = f"the first that differs{more_than}: '{name}' of epoch {first.epoch}, {how}, in sample "
        said += f"{first.samples[0]}" + (f" and {len(first.samples) - 1} more" if len(first.samples) > 1 else "")
    return [f"{indent}layers     {said}", *table(NPU_HEADS if npu else HEADS, rows, f"{indent}  ")]


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"
