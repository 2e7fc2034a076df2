"""Outputs over their inputs, with the kernels themselves: how near is near enough, and networks against LiteRT."""

from __future__ import annotations

import ctypes
import itertools
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import oracle
import vectors as golden
from neuralart_reference.cpu.compile import CpuRequest, CpuResult, compile_network, write
from neuralart_reference.ir import Call, StructArg, TensorArg
from neuralart_reference.planning.lifetimes import blocks, live_bytes
from neuralart_reference.planning.overlap import MOVING, QUANTIZING, WINDOWED, distance
from support.cases import wide
from support.cases.operator_draws import values
from support.host_c import cpu_native
from support.projects.sconsproject import MODELS
from tflite_writer import ModelWriter

ROOT = Path(__file__).parents[3]
SPARE = 64  # bytes between input and output in the memory of a case, for distances that are larger

pytestmark = [pytest.mark.hostcc, pytest.mark.long]


# ---- every small window


def axes(sizes: range, taps: range, strides: tuple[int, ...]) -> list[tuple[int, int, int, int, int, int]]:
    """Size, taps, stride, dilation, padding in front, windows: all that have a tap inside of the input."""
    found = []
    for size, kernel, stride, dilation in itertools.product(sizes, taps, strides, (1, 2)):
        if dilation > 1 and (kernel == 1 or stride > 1):
            continue
        for pad in range((kernel - 1) * dilation + 1):
            most = (size - 1 + pad) // stride + 1
            fitting = (size + pad - (kernel - 1) * dilation - 1) // stride + 1
            found += [(size, kernel, stride, dilation, pad, windows) for windows in {most, fitting} if windows > 0]
    return found


DOWN, ACROSS = axes(range(1, 5), range(1, 4), (1, 2)), axes(range(2, 4), range(1, 4), (1, 2))[::3]


def parameters(kernel: str) -> Iterator[dict[str, int]]:
    """The fields of a kernel's structure, in its order, for every small window."""
    pool = "pool" in kernel
    depths = [(1, 1), (5, 5)] if pool or "depthwise" in kernel else [(1, 1), (3, 2), (2, 6)]
    for number, (down, across) in enumerate(itertools.product(DOWN, ACROSS)):
        if pool and 2 in (down[3], across[3]):
            continue
        into, out = depths[number % len(depths)]
        depth = {"channels": into} if pool else {"input_channels": into}
        fields = {"batches": 1 + number % 7 // 6, "input_height": down[0], "input_width": across[0], **depth}
        fields |= {"output_height": down[5], "output_width": across[5]} | ({} if pool else {"output_channels": out})
        fields |= {"kernel_height": down[1], "kernel_width": across[1]} | ({} if pool else {"kernel_channels": into})
        fields |= {"stride_height": down[2], "stride_width": across[2]}
        fields |= {} if pool else {"dilation_height": down[3], "dilation_width": across[3]}
        fields |= {"pad_top": down[4], "pad_left": across[4]}
        fields |= {} if pool else {"input_offset": 3, "output_offset": -2}
        limit = 1 << (15 if "_s16" in kernel else 7)
        fields |= {"activation_min": -limit, "activation_max": limit - 1}
        fields |= {"low": -(1 << 30), "high": 1 << 30} if kernel.endswith("_f32") else {}
        yield fields | ({"filter_offset": 5} if "offset" in kernel else {})


def size_of(kernel: str) -> int:
    """Bytes of an element."""
    return 4 if kernel.endswith("_f32") else 2 if "_s16" in kernel else 1


def call_of(kernel: str, fields: Mapping[str, int]) -> Call:
    struct = StructArg("", tuple((name, str(value)) for name, value in fields.items()))
    return Call(0, kernel, kernel, (TensorArg(0, "int8_t"), TensorArg(1, "int8_t", written=True), struct), (0,), (1,))


def enumerated(p: Mapping[str, int], into: int, out: int) -> int:
    """The distance, from every tap of every window; a position is written before anything is read for it."""
    first: list[int] = []  # of each position: the first byte that it reads
    for batch, y, x in itertools.product(*map(range, (p["batches"], p["output_height"], p["output_width"]))):
        down = (y * p["stride_height"] - p["pad_top"] + k * p.get("dilation_height", 1) for k in range(9))
        across = [x * p["stride_width"] - p["pad_left"] + k * p.get("dilation_width", 1) for k in range(9)]
        rows = [r for k, r in enumerate(down) if k < p["kernel_height"] and 0 <= r < p["input_height"]]
        columns = [c for k, c in enumerate(across) if k < p["kernel_width"] and 0 <= c < p["input_width"]]
        image = batch * p["input_height"]
        taps = [((image + r) * p["input_width"] + c) * into for r in rows for c in columns]
        first.append(min(taps, default=1 << 30))  # A dilated window may reach over a small input.
    needed = list(itertools.accumulate(reversed(first), min))[::-1]
    return max((number + 1) * out - byte for number, byte in enumerate(needed))


class Kernels:
    """The plain C kernels as functions of this process."""

    def __init__(self, folder: Path) -> None:
        library = folder / "kernels.so"
        words = ["cc", "-shared", *cpu_native.shared(sanitize=False), "-lm", "-o", str(library)]
        subprocess.run(words, check=True)
        self.library = ctypes.CDLL(str(library))
        rng = np.random.default_rng(1)
        self.input = rng.integers(-128, 128, 4096).astype(np.int8)
        self.filter = rng.integers(-128, 128, 4096).astype(np.int8)
        self.bias = rng.integers(-999, 999, 64).astype(np.int32)
        self.multiplier = np.full(64, 1 << 30, np.int32)

    def run(self, kernel: str, fields: Mapping[str, int], sizes: tuple[int, int], below: int | None) -> bytes:
        """The output, which begins ``below`` bytes below the input; None: behind it."""
        wide, real = "_s16" in kernel, kernel.endswith("_f32")
        given = self.input.astype(np.float32).view(np.int8) if real else self.input
        source, target = (0, sizes[0]) if below is None else (max(0, below), max(0, -below))
        memory = np.zeros(sum(sizes) + source + target, np.int8)
        memory[source : source + sizes[0]] = given[: sizes[0]]
        base, struct = memory.ctypes.data, np.array(list(fields.values()), np.int32)
        if real:
            struct[-2:] = np.array([fields["low"], fields["high"]], np.float32).view(np.int32)
        shift = np.full(64, -14 if wide else -6, np.int32)
        bias = self.bias.astype(np.int64) if wide and "b32" not in kernel else self.bias
        arrays = [] if "pool" in kernel else [self.filter, bias, self.multiplier, shift]
        if real and arrays:
            arrays = [self.filter.astype(np.float32), self.bias.astype(np.float32)]
        words = [base + source, *(each.ctypes.data for each in arrays), base + target, struct.ctypes.data]
        getattr(self.library, kernel)(*map(ctypes.c_void_p, words))
        return memory[target : target + sizes[1]].tobytes()


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    return Kernels(tmp_path_factory.mktemp("overlap"))


@pytest.mark.parametrize("kernel", WINDOWED)
def test_no_kernel_reads_what_it_has_overwritten(kernels: Kernels, kernel: str) -> None:
    """At the distance all outputs are those without an overlap; the enumeration says that less would not do."""
    found = Counter[str]()
    size = size_of(kernel)
    every = 8 if size == 2 else 1
    for fields in list(parameters(kernel))[::every]:
        into = size * (fields.get("channels") or fields["input_channels"])
        out = size * (fields.get("channels") or fields["output_channels"])
        least, exact = distance(call_of(kernel, fields)), enumerated(fields, into, out)
        dilated = 2 in (fields.get("dilation_height"), fields.get("dilation_width"))
        assert least is not None and (least >= exact if dilated else least == exact), fields
        sizes = tuple(
            fields["batches"] * fields[f"{side}_height"] * fields[f"{side}_width"] * depth
            for side, depth in (("input", into), ("output", out))
        )
        apart = kernels.run(kernel, fields, sizes, None)
        for more in (0, size, 16):
            assert kernels.run(kernel, fields, sizes, least + more) == apart, (fields, least, more)
        found["varied"] += len(set(apart)) > 1
        found["harmed"] += kernels.run(kernel, fields, sizes, least - out - size) != apart
        found["cases"] += 1
    assert found["cases"] > 1000 // every and found["varied"] > 0.7 * found["cases"], found
    # The comparison can fail: a position nearer, outputs are others.
    assert found["harmed"] > 0.25 * found["cases"], found


def call_of_texts(kernel: str, fields: Mapping[str, str]) -> Call:
    args = (TensorArg(0, "uint8_t"), TensorArg(1, "uint8_t", written=True), StructArg("", tuple(fields.items())))
    return Call(0, kernel, kernel, args, (0,), (1,))


def grids() -> Iterator[tuple[str, dict[str, str], list[tuple[int, int]], int]]:
    """Moves that walk their input upwards: kernel, fields, where each block is in input and output, its bytes."""
    for block, gap, more, rows, columns in itertools.product((1, 3), (0, 2), (0, 1, 7), (1, 2, 4), (1, 3)):
        into = (columns * (block + gap) + gap, block + gap)
        for steps in ((columns * (block + more), block + more), (block, rows * block)):
            grid = list(itertools.product(range(rows), range(columns)))
            where = [(r * into[0] + c * into[1], r * steps[0] + c * steps[1]) for r, c in grid]
            fields = {"block": str(block), "shape": f"{{1, 1, 1, 1, {rows}, {columns}}}"}
            for side, (outer, inner) in (("input", into), ("output", steps)):
                fields[f"{side}_step"] = f"{{0, 0, 0, 0, {outer}, {inner}}}"
            yield "na_move_8", fields, where, block
        where = [(r * block, r * (block + more)) for r in range(rows)]
        yield "na_map_rows_s8", {"rows": str(rows), "count": str(block), "output_step": str(block + more)}, where, block


def test_blocks_that_move(kernels: Kernels) -> None:
    """Every block is taken before anything is written over it; a byte nearer, one would not be."""
    table = np.arange(-128, 128).astype(np.int8)[::-1].copy()
    source = np.arange(1, 120).astype(np.int8)
    seen = Counter[str]()
    for kernel, fields, where, block in grids():
        below = distance(call_of_texts(kernel, fields))
        assert below == max(to + block - at for at, to in where), fields
        struct = np.array([int(n) for text in fields.values() for n in text.strip("{}").split(",")], np.int32)
        tables, values = ([table.ctypes.data], table[source.astype(int) + 128]) if "map" in kernel else ([], source)
        for more in (0, 5):
            memory = np.concatenate([np.zeros(below + more, np.int8), source, np.zeros(99, np.int8)])
            words = [memory.ctypes.data + below + more, *tables, memory.ctypes.data, struct.ctypes.data]
            getattr(kernels.library, kernel)(*map(ctypes.c_void_p, words))
            for at, to in where:
                assert memory[to : to + block].tobytes() == values[at : at + block].tobytes(), (kernel, fields)
        seen[kernel] += 1
    assert set(seen) == set(MOVING)
    backwards = {"block": "2", "shape": "{3}", "input_step": "{-2}", "output_step": "{2}"}
    assert distance(call_of_texts("na_move_8", backwards)) is None


def test_quantization_in_place(kernels: Kernels) -> None:
    struct = np.array([300, np.float32(0.5).view(np.int32), 3], np.int32)
    for kernel in QUANTIZING:
        below = distance(call_of(kernel, {"count": 300}))
        memory = np.concatenate([np.zeros(1, np.float32), np.linspace(-70, 70, 300, dtype=np.float32)])
        apart, base = np.zeros(300, np.int8), memory.ctypes.data
        for target in (apart.ctypes.data, base + 4 - below):
            getattr(kernels.library, kernel)(*map(ctypes.c_void_p, (base + 4, target, struct.ctypes.data)))
        assert memory.tobytes()[4 - below :][:300] == apart.tobytes() and len(set(apart.tolist())) > 120


# ---- against LiteRT


def behind_a_pad(rng: np.random.Generator, writer: ModelWriter) -> tuple[int, int, list[list[np.ndarray]], bool]:
    """Input, output, values, and whether the PAD can go: all but a maximum over what is not the smallest value."""
    kind = str(rng.choice(["CONV_2D", "DEPTHWISE_CONV_2D", "MAX_POOL_2D"]))
    number, pool = len(writer.operators), kind == "MAX_POOL_2D"
    zero = int(rng.choice([-128, rng.integers(-128, 128)])) if pool else int(rng.integers(-128, 128))
    taps = [int(k) for k in rng.integers(2 if pool else 1, 5, 2)]
    before, behind = ([int(rng.integers(0, k if pool else 4)) for k in taps] for _ in range(2))
    stride, padding = [int(s) for s in rng.integers(1, 4, 2)], "VALID" if pool else str(rng.choice(["SAME", "VALID"]))
    size = [int(s) for s in rng.integers(5, 9, 2)]
    padded = [sum(three) for three in zip(size, before, behind, strict=True)]
    out = [-(-p // s) if padding == "SAME" else (p - k) // s + 1 for p, k, s in zip(padded, taps, stride, strict=True)]
    channels = outputs = int(rng.integers(1, 6))
    x = writer.tensor(f"x{number}", (1, *size, channels), "int8", 0.05, zero)
    pairs = np.array([[0, 0], *zip(before, behind, strict=True), [0, 0]], np.int32)
    inputs = [x, writer.tensor(f"p{number}", (4, 2), "int32", data=pairs)]
    if rng.random() < 0.4:
        inputs.append(writer.tensor(f"v{number}", (1,), "int8", 0.05, zero, np.array([zero], np.int8)))
    middle = writer.tensor(f"m{number}", (1, *padded, channels), "int8", 0.05, zero)
    writer.op("PADV2" if len(inputs) == 3 else "PAD", inputs, [middle])
    options = {"padding": padding, "stride_h": stride[0], "stride_w": stride[1]}
    read = [middle]
    if pool:
        options |= {"filter_height": taps[0], "filter_width": taps[1]}
    else:
        outputs = channels if kind != "CONV_2D" else int(rng.integers(1, 6))
        shape = (outputs, *taps, channels) if kind == "CONV_2D" else (1, *taps, channels)
        read.append(writer.tensor(f"w{number}", shape, "int8", 0.01, 0, rng.integers(-127, 128, shape)))
        read.append(writer.tensor(f"b{number}", (outputs,), "int32", 0.0005, 0, rng.integers(-999, 999, outputs)))
    y = writer.tensor(f"y{number}", (1, *out, outputs), "int8", 0.05, zero if pool else 7)
    writer.op(kind, read, [y], **options)
    last = (np.array(out) - 1) * stride - before
    reached = not pool or bool((last < size).all())  # A window in padding alone: its PAD stays.
    return x, y, values(rng, (1, *size, channels)), reached and (not pool or zero == -128)


def ran(result: CpuResult, folder: Path, inputs: list[list[np.ndarray]]) -> list[bytes]:
    write(result, folder)
    program = cpu_native.build(folder, "network", folder / "runner", sanitize=False)
    made = cpu_native.run(program, b"".join(each.tobytes() for vector in inputs for each in vector))
    size = len(made) // len(inputs)
    return [made[at : at + size] for at in range(0, len(made), size)]


def test_padding_of_a_kernel_is_a_pad_in_front_of_it(tmp_path: Path) -> None:
    rng, writer = np.random.default_rng(19), ModelWriter()
    cases = [behind_a_pad(rng, writer) for _ in range(80)]
    (tmp_path / "m.tflite").write_bytes(writer.finish([case[0] for case in cases], [case[1] for case in cases]))
    result = compile_network(CpuRequest(tmp_path / "m.tflite", report=False))
    left = sum(call.kernel == "na_pad_8" for call in result.cpu.emission.program.calls)
    assert left == sum(not case[3] for case in cases) < 40
    inputs = [[case[2][number][0] for case in cases] for number in range(3)]
    want = oracle.run((tmp_path / "m.tflite").read_bytes(), inputs)
    assert ran(result, tmp_path / "out", inputs) == [b"".join(each.tobytes() for each in one) for one in want]


def test_a_network_of_int16_with_overlaps(tmp_path: Path) -> None:
    (tmp_path / "wide.tflite").write_bytes(wide.network())
    result = compile_network(CpuRequest(tmp_path / "wide.tflite", report=False))
    program = result.cpu.emission.program
    apart = max(live_bytes(blocks(replace(program, overlap=False)), len(program.calls)))
    assert result.cpu.activation_sizes[0] < apart
    want = [[value.tobytes() for value in one] for one in oracle.run(wide.network(), wide.vectors(3))]
    assert ran(result, tmp_path / "out", wide.vectors(3)) == [b"".join(one) for one in want]


@pytest.mark.parametrize("name", MODELS)
def test_networks_with_overlaps(name: str, tmp_path: Path) -> None:
    """The golden vectors, in less memory than what would be alive at the same time without overlaps."""
    inputs, outputs, _ = golden.read(ROOT / "models" / name / "vectors")
    result = compile_network(CpuRequest(ROOT / "models" / name / f"{name}.tflite", report=False))
    program = result.cpu.emission.program
    apart = max(live_bytes(blocks(replace(program, overlap=False)), len(program.calls)))
    (size,) = result.cpu.activation_sizes
    # What the heatmap has most of at once is a sum of two, which is computed in place anyway.
    assert size <= 1.03 * result.cpu.emission.plan.lower_bound
    assert size <= apart if name == "heatmap" else size < 0.9 * apart, (size, apart)
    assert ran(result, tmp_path, inputs) == [b"".join(each.tobytes() for each in one) for one in outputs]
