"""Layers in stripes with the kernels themselves: chains of any windows in any stripes, and networks against LiteRT."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import oracle
import vectors as golden
from neuralart_reference.cpu import compile as cpu
from neuralart_reference.cpu.compile import CpuRequest, CpuResult, compile_network, write
from neuralart_reference.ir import Program
from neuralart_reference.planning.planner import MemoryPlan
from neuralart_reference.planning.stripes import chains, striped
from support.cases.operator_draws import values
from support.host_c import cpu_native
from support.models.networks import PUBLISHED, Network, tflite_of
from support.projects.sconsproject import MODELS
from tflite_writer import ModelWriter

ROOT = Path(__file__).parents[3]

pytestmark = [pytest.mark.hostcc, pytest.mark.long]


class Drawn:
    """A chain in the making, of int8 or of uint8 (whose weights have a zero point)."""

    def __init__(self, rng: np.random.Generator, writer: ModelWriter, dtype: str) -> None:
        self.rng, self.writer, self.dtype = rng, writer, dtype
        self.zero = int(rng.integers(100, 156)) if dtype == "uint8" else int(rng.integers(-128, 128))
        self.shape = tuple(int(n) for n in (1, *rng.integers(4, 13, 2), rng.integers(1, 6)))
        self.first = self.last = self._tensor(self.shape)

    def _tensor(self, shape: tuple[int, ...]) -> int:
        return self.writer.tensor(f"t{len(self.writer.tensors)}", shape, self.dtype, 0.05, self.zero)

    def step(self) -> None:
        """One more layer."""
        kinds = ["CONV_2D", "CONV_2D", "DEPTHWISE_CONV_2D", "MAX_POOL_2D", "AVERAGE_POOL_2D"]
        kind = str(self.rng.choice([*kinds, "LEAKY_RELU"] if self.dtype == "int8" else kinds))
        if kind == "LEAKY_RELU":
            return self._add(kind, self.shape, [], alpha=0.3)
        pool, channels = "POOL" in kind, self.shape[3]
        taps = [int(n) for n in self.rng.integers(1, 4, 2)]
        stride = [int(n) for n in self.rng.choice([1, 1, 2], 2)]
        dilation = [
            1 if pool or s > 1 or t == 1 else int(self.rng.integers(1, 3)) for s, t in zip(stride, taps, strict=True)
        ]
        reach = [(t - 1) * d + 1 for t, d in zip(taps, dilation, strict=True)]
        fits = all(r <= size for r, size in zip(reach, self.shape[1:3], strict=True))
        padding = str(self.rng.choice(["SAME", "VALID"])) if fits else "SAME"
        out = [
            -(-size // s) if padding == "SAME" else (size - r) // s + 1
            for size, s, r in zip(self.shape[1:3], stride, reach, strict=True)
        ]
        options = {"padding": padding, "stride_h": stride[0], "stride_w": stride[1]}
        options["fused_activation_function"] = str(self.rng.choice(["NONE", "NONE", "RELU6"]))
        if pool:
            return self._add(kind, (1, *out, channels), [], filter_height=taps[0], filter_width=taps[1], **options)
        if kind == "CONV_2D":
            outputs = int(self.rng.integers(1, 6))
            weights = (outputs, *taps, channels)
        else:
            outputs = channels * int(self.rng.integers(1, 3))
            weights = (1, *taps, outputs)
            options["depth_multiplier"] = outputs // channels
        options |= {"dilation_h_factor": dilation[0], "dilation_w_factor": dilation[1]}
        low, high, zero = (0, 256, 120) if self.dtype == "uint8" else (-127, 128, 0)
        name, rng = len(self.writer.tensors), self.rng
        more = [
            self.writer.tensor(f"w{name}", weights, self.dtype, 0.02, zero, rng.integers(low, high, weights)),
            self.writer.tensor(f"b{name}", (outputs,), "int32", 0.001, 0, rng.integers(-999, 999, outputs)),
        ]
        return self._add(kind, (1, *out, outputs), more, **options)

    def _add(self, kind: str, shape: tuple[int, ...], more: list[int], **options: object) -> None:
        made = self._tensor(shape)
        self.writer.op(kind, [self.last, *more], [made], **options)
        self.last, self.shape = made, shape


def anyhow(rng: np.random.Generator, seen: Counter[str]) -> Callable[..., Program]:
    """Instead of the best choice: chains of any length in any number of stripes."""

    def chosen(program: Program, place: Callable[[Program], MemoryPlan], owned: tuple[int, ...]) -> Program:
        calls, epoch = program.calls, 0
        while epoch < len(program.calls):
            found = [chain for start, chain in chains(program, epoch, calls) if start == epoch]
            if found:
                chain, before = found[int(rng.integers(len(found)))], len(program.calls)
                count = int(rng.integers(1, chain[-1].made.height + 1))
                program = striped(program, epoch, chain, count)
                seen.update(layer.call.kernel for layer in chain)
                seen["stripes"] += count
                epoch += len(program.calls) - before + len(chain)
            else:
                epoch += 1
        return program

    return chosen


def ran(result: CpuResult, folder: Path, inputs: list[list[np.ndarray]]) -> list[bytes]:
    write(result, folder)
    program = cpu_native.build(folder, "network", folder / "runner", sanitize=False)
    made = cpu_native.run(program, b"".join(each.tobytes() for vector in inputs for each in vector))
    size = len(made) // len(inputs)
    return [made[at : at + size] for at in range(0, len(made), size)]


def flat(outputs: list[list[np.ndarray]]) -> list[bytes]:
    return [b"".join(each.tobytes() for each in one) for one in outputs]


def test_chains_of_any_windows_in_any_stripes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, writer, seen = np.random.default_rng(19), ModelWriter(), Counter[str]()
    drawn = [Drawn(rng, writer, "uint8" if number % 4 == 0 else "int8") for number in range(60)]
    for each in drawn:
        for _ in range(int(rng.integers(2, 6))):
            each.step()
    model = tmp_path / "m.tflite"
    model.write_bytes(writer.finish([each.first for each in drawn], [each.last for each in drawn]))
    made = [values(rng, writer.tensors[each.first].shape, each.dtype) for each in drawn]
    inputs = [[one[number][0] for one in made] for number in range(3)]
    monkeypatch.setattr(cpu, "smallest", anyhow(rng, seen))
    result = compile_network(CpuRequest(model, report=False, memory="smallest"))
    assert len(seen) == 9 and min(seen.values()) > 3 and seen["stripes"] > 150, seen
    assert ran(result, tmp_path / "out", inputs) == flat(oracle.run(model, inputs))


def test_a_published_network(tmp_path: Path) -> None:
    """squeezenet 1.1 128: published are 242 KiB; its first convolution makes 248."""
    model = tmp_path / "m.tflite"
    model.write_bytes(tflite_of(PUBLISHED["squeezenet_v1.1_128"]()))
    result = compile_network(CpuRequest(model, memory="smallest"))
    assert result.cpu.activation_sizes[0] <= 181 * 1024
    inputs = [[np.random.default_rng(3).integers(-128, 128, (1, 128, 128, 3)).astype(np.int8)]]
    want = flat(oracle.run(model, inputs))
    assert ran(result, tmp_path / "out", inputs) == want and len(set(want[0])) > 50


@pytest.mark.parametrize("name", sorted({*MODELS} - {"heatmap"}))  # In that one no chain needs less.
def test_networks_of_this_repository(name: str, tmp_path: Path) -> None:
    folder = ROOT / "models" / name
    inputs, outputs, _ = golden.read(folder / "vectors")
    sizes = [
        compile_network(CpuRequest(folder / f"{name}.tflite", report=False, memory=memory))
        for memory in ("", "smallest")
    ]
    plain, small = (each.cpu.activation_sizes[0] for each in sizes)
    assert small < 0.6 * plain
    assert ran(sizes[1], tmp_path, inputs) == flat(outputs)


def test_a_network_in_place(tmp_path: Path) -> None:
    """What is computed in place stays so in each stripe, and costs no memory."""
    net = Network(16, 4)
    value = net.conv(net.input, 24, 3)
    relu = net.tensor("relu", net.shape(value), "int8", 0.5, 0)
    net.op("LEAKY_RELU", [value], [relu], alpha=0.5)
    net.last = relu
    net.depthwise(relu, 3, 2)
    (tmp_path / "m.tflite").write_bytes(tflite_of(net))
    plain, small = (compile_network(CpuRequest(tmp_path / "m.tflite", memory=each)) for each in ("", "smallest"))
    program = small.cpu.emission.program
    tables = [call for call in program.calls if call.kernel == "na_table_s8"]
    assert len(tables) > 1 and all(program.root(call.reads[0]) == program.root(call.writes[0]) for call in tables)
    assert small.cpu.activation_sizes[0] < 0.7 * plain.cpu.activation_sizes[0]
    inputs = [[np.random.default_rng(3).integers(-128, 128, (1, 16, 16, 4)).astype(np.int8)]]
    assert ran(small, tmp_path / "out", inputs) == flat(oracle.run(tmp_path / "m.tflite", inputs))
