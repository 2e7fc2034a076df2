"""Random one-operator graphs: pads, concatenations, transpositions, slices."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from support.cases.operator_draws import Case, Draw, f32, ratio, scale, values, zero_point
from tflite_writer import ModelWriter

DTYPES = ("int8", "int8", "int8", "int8", "int16", "int32", "float32")


def _shape(rng: np.random.Generator, low: int = 1, high: int = 5, largest: int = 6) -> tuple[int, ...]:
    """Odd sizes and ones among them; fewer elements per dimension where there are many."""
    rank = int(rng.integers(low, high + 1))
    most = largest if rank < 4 else 4
    return tuple(int(d) for d in rng.choice(np.arange(1, most + 1), rank))


def _drawn(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> list[list[np.ndarray]]:
    if dtype in ("int8", "uint8", "int16"):
        return values(rng, shape, dtype)
    bits = rng.integers(-(2**31), 2**31, (3, *shape)).astype(np.int32)
    if dtype == "float32":
        # Finite ones of all sizes, zeros of both signs.
        wide = rng.choice([-1.0, 1.0, 0.0, -0.0, 1e-30, 3e38], (3, *shape)) * rng.uniform(0.5, 1, (3, *shape))
        return [[np.array(value)] for value in wide.astype(np.float32)]
    return [[np.array(value)] for value in bits]


def _columns(drawn: list[list[list[np.ndarray]]]) -> list[list[np.ndarray]]:
    """Vectors of single inputs -> vectors of all inputs."""
    return [[value for one in vector for value in one] for vector in zip(*drawn, strict=True)]


class _Builder:
    """Tensors of an operator of a drawn type; the quantization of an output is often another one, and ignored."""

    def __init__(self, rng: np.random.Generator, writer: ModelWriter, dtypes: tuple[str, ...] = DTYPES) -> None:
        self.rng, self.writer = rng, writer
        self.dtype = str(rng.choice(dtypes))
        self.number = len(writer.tensors)
        self.scale, self.zero = scale(rng), zero_point(rng, "uint8" if self.dtype == "uint8" else "int8")
        if self.dtype == "int16":
            self.zero = 0

    def tensor(
        self, shape: tuple[int, ...], *, same: bool = True, data: np.ndarray | None = None, dtype: str = ""
    ) -> int:
        name = f"m{len(self.writer.tensors)}"
        wanted = dtype or self.dtype
        if wanted not in ("int8", "uint8", "int16"):
            return self.writer.tensor(name, shape, wanted, data=data)
        s, z = (self.scale, self.zero) if same else (f32(self.scale * ratio(self.rng, 2)), zero_point(self.rng, wanted))
        z = 0 if wanted == "int16" else z
        return self.writer.tensor(name, shape, wanted, s, z, data)

    def other(self, shape: tuple[int, ...]) -> int:
        """Where LiteRT copies bytes without looking at scales."""
        return self.tensor(shape, same=self.rng.random() < 0.7)

    def numbers(self, given: Any) -> int:
        array = np.array(given, np.int32)
        return self.writer.tensor(f"n{len(self.writer.tensors)}", array.shape, "int32", data=array)

    def values(self, shape: tuple[int, ...]) -> list[list[np.ndarray]]:
        return _drawn(self.rng, shape, self.dtype)

    def constant(self, shape: tuple[int, ...]) -> np.ndarray:
        return self.values(shape)[0][0]


def _paddings(rng: np.random.Generator, shape: tuple[int, ...], most: int) -> np.ndarray:
    """Often only inner dimensions, often none at a side."""
    given = rng.integers(0, most + 1, (len(shape), 2)) * (rng.random((len(shape), 2)) < 0.6)
    if rng.random() < 0.5:
        given[0] = 0
    if rng.random() < 0.5:
        given[-1] = 0
    return given


def _padded(shape: tuple[int, ...], paddings: np.ndarray) -> tuple[int, ...]:
    return tuple(int(size + sum(pair)) for size, pair in zip(shape, paddings, strict=True))


def pad(kind: str) -> Draw:
    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        build = _Builder(rng, writer)
        shape = _shape(rng)
        paddings = _paddings(rng, shape, 3 if len(shape) < 5 else 1)
        x, p = build.tensor(shape), build.numbers(paddings)
        y = build.other(_padded(shape, paddings))
        vectors = build.values(shape)
        inputs, drawn = [x], [vectors]
        operands = [x, p]
        if kind == "PADV2":
            computed = rng.random() < 0.4
            value = build.tensor(() if rng.random() < 0.5 else (1,), data=None if computed else build.constant((1,)))
            # Its quantization must be the output's.
            made = writer.tensors[value], writer.tensors[y]
            writer.tensors[value] = type(made[0])(
                **{**vars(made[0]), "scales": made[1].scales, "zero_points": made[1].zero_points}
            )
            operands.append(value)
            if computed:
                inputs.append(value)
                drawn.append(build.values(writer.tensors[value].shape))
        writer.op(kind, operands, [y])
        return Case(inputs, [y], _columns(drawn), f"{build.dtype} {shape} + {paddings.tolist()}")

    return draw


def mirror_pad(rng: np.random.Generator, writer: ModelWriter) -> Case:
    build = _Builder(rng, writer)
    mode = str(rng.choice(["REFLECT", "SYMMETRIC"]))
    shape = _shape(rng)
    most = np.array(shape)[:, None] - (1 if mode == "REFLECT" else 0)
    paddings = np.minimum(_paddings(rng, shape, 5 if len(shape) < 4 else 2), most)
    x, p, y = build.tensor(shape), build.numbers(paddings), build.tensor(_padded(shape, paddings))
    writer.op("MIRROR_PAD", [x, p], [y], mode=mode)
    return Case([x], [y], build.values(shape), f"{mode} {build.dtype} {shape} + {paddings.tolist()}")


def concatenation(dtypes: tuple[str, ...]) -> Draw:
    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        build = _Builder(rng, writer, dtypes)
        shape, rescaled = _shape(rng), "uint8" in dtypes
        axis = int(rng.integers(0, len(shape)))
        sizes = [int(s) for s in rng.integers(1, 6, int(rng.integers(1, 5)))]
        inputs, drawn, operands = [], [], []
        for number, size in enumerate(sizes):
            part = (*shape[:axis], size, *shape[axis + 1 :])
            constant = number > 0 and rng.random() < 0.25
            # LiteRT rescales uint8 and refuses to rescale int8.
            same = not rescaled or rng.random() < 0.3
            made = build.tensor(part, same=same, data=build.constant(part) if constant else None)
            operands.append(made)
            if not constant:
                inputs.append(made)
                drawn.append(build.values(part))
        if rng.random() < 0.15:
            operands.append(operands[0])
            sizes.append(sizes[0])
        y = build.tensor((*shape[:axis], sum(sizes), *shape[axis + 1 :]))
        given = axis - len(shape) if rng.random() < 0.5 else axis
        writer.op("CONCATENATION", operands, [y], axis=given)
        return Case(inputs, [y], _columns(drawn), f"{build.dtype} {shape} along {axis}: {sizes}")

    return draw


def transpose(rng: np.random.Generator, writer: ModelWriter) -> Case:
    build = _Builder(rng, writer)
    shape = _shape(rng, 1, 6, 7)
    order = [int(a) for a in rng.permutation(len(shape))]
    given = [a - len(shape) if rng.random() < 0.2 else a for a in order]
    x, p, y = build.tensor(shape), build.numbers(given), build.other(tuple(shape[a] for a in order))
    writer.op("TRANSPOSE", [x, p], [y])
    return Case([x], [y], build.values(shape), f"{build.dtype} {shape} in order {order}")


def _strided_axis(rng: np.random.Generator, size: int) -> tuple[int, int, int]:
    """Begin, end and stride that take something; often beyond the ends, or counted from the end."""
    while True:
        stride = int(rng.choice([1, 1, 1, 2, 3, -1, -1, -2]))
        begin, end = (int(v) for v in rng.integers(-size - 2, size + 3, 2))
        if len(range(size)[begin:end:stride]):
            return begin, end, stride


def strided_slice(rng: np.random.Generator, writer: ModelWriter) -> Case:
    build = _Builder(rng, writer)
    shape = _shape(rng)
    spec, index, masks = [], [], dict.fromkeys(("begin", "end", "ellipsis", "new_axis", "shrink_axis"), 0)
    spoken = int(rng.integers(1, len(shape) + 1))
    ellipsis = int(rng.integers(0, spoken)) if rng.random() < 0.3 else -1
    axis, room = 0, 5 - len(shape)
    for at in range(spoken):
        bit = 1 << len(spec)
        if room and rng.random() < 0.2:
            masks["new_axis"] |= bit
            spec.append((0, 0, 1))
            index.append(None)
            room -= 1
            bit <<= 1
        if at == ellipsis:
            masks["ellipsis"] |= bit
            spec.append((0, 0, 1))
            index.append(Ellipsis)
            axis += len(shape) - spoken + 1
            continue
        begin, end, stride = _strided_axis(rng, shape[axis])
        if rng.random() < 0.2:
            masks["shrink_axis"] |= bit
            begin = int(rng.integers(-shape[axis], shape[axis]))
            spec.append((begin, begin + 1, 1))
            index.append(begin)
        else:
            first = None if rng.random() < 0.2 else begin
            last = None if rng.random() < 0.2 else end
            if not len(range(shape[axis])[first:last:stride]):
                first, last = begin, end
            masks["begin"] |= bit * (first is None)
            masks["end"] |= bit * (last is None)
            spec.append((begin, end, stride))
            index.append(slice(first, last, stride))
        axis += 1
    out = np.empty(shape, np.int8)[tuple(index)].shape
    x, y = build.tensor(shape), build.other(out)
    parts = [build.numbers(column) for column in zip(*spec, strict=True)]
    options = {f"{name}_mask": mask for name, mask in masks.items()}
    writer.op("STRIDED_SLICE", [x, *parts], [y], **options)
    text = f"{build.dtype} {shape} {spec} {masks} -> {out}"
    return Case([x], [y], build.values(shape), text)


def slice_(rng: np.random.Generator, writer: ModelWriter) -> Case:
    build = _Builder(rng, writer)
    shape = _shape(rng)
    begin = [int(rng.integers(0, d)) if rng.random() < 0.4 else 0 for d in shape]
    size = [int(rng.integers((d - b + 1) // 2, d - b + 1)) or 1 for d, b in zip(shape, begin, strict=True)]
    x, y = build.tensor(shape), build.other(tuple(size))
    given = [-1 if b + s == d and rng.random() < 0.5 else s for b, s, d in zip(begin, size, shape, strict=True)]
    writer.op("SLICE", [x, build.numbers(begin), build.numbers(given)], [y])
    return Case([x], [y], build.values(shape), f"{build.dtype} {shape} from {begin} sizes {given}")


def split(kind: str) -> Draw:
    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        build = _Builder(rng, writer)
        shape = list(_shape(rng))
        axis, count = int(rng.integers(0, len(shape))), int(rng.integers(1, 5))
        sizes = [int(rng.integers(1, 4))] * count
        if kind == "SPLIT_V":
            sizes = [int(s) for s in rng.integers(1, 5, count)]
        shape[axis] = sum(sizes)
        x = build.tensor(tuple(shape))
        ys = [build.other((*shape[:axis], size, *shape[axis + 1 :])) for size in sizes]
        given = axis - len(shape) if rng.random() < 0.5 else axis
        at = build.numbers(given if kind == "SPLIT" or rng.random() < 0.5 else [given])
        if kind == "SPLIT":
            writer.op(kind, [at, x], ys)
        else:
            rest = int(rng.integers(0, count)) if rng.random() < 0.5 else -1
            wanted = [-1 if position == rest else size for position, size in enumerate(sizes)]
            writer.op(kind, [x, build.numbers(wanted), at], ys)
        return Case([x], ys, build.values(tuple(shape)), f"{build.dtype} {shape} along {axis}: {sizes}")

    return draw


def pack(rng: np.random.Generator, writer: ModelWriter) -> Case:
    build = _Builder(rng, writer)
    shape = _shape(rng, 0, 4)
    count, axis = int(rng.integers(1, 5)), int(rng.integers(0, len(shape) + 1))
    inputs, drawn, operands = [], [], []
    for number in range(count):
        constant = number > 0 and rng.random() < 0.25
        made = build.tensor(shape, data=build.constant(shape) if constant else None)
        operands.append(made)
        if not constant:
            inputs.append(made)
            drawn.append(build.values(shape))
    y = build.tensor((*shape[:axis], count, *shape[axis:]))
    given = axis - len(shape) - 1 if rng.random() < 0.5 else axis
    writer.op("PACK", operands, [y], axis=given)
    return Case(inputs, [y], _columns(drawn), f"{build.dtype} {count} x {shape} along {axis}")


def unpack(rng: np.random.Generator, writer: ModelWriter) -> Case:
    build = _Builder(rng, writer)
    shape = _shape(rng)
    axis = int(rng.integers(0, len(shape)))
    x = build.tensor(shape)
    ys = [build.tensor((*shape[:axis], *shape[axis + 1 :])) for _ in range(shape[axis])]
    writer.op("UNPACK", [x], ys, axis=axis - len(shape) if rng.random() < 0.5 else axis)
    return Case([x], ys, build.values(shape), f"{build.dtype} {shape} along {axis}")


def blocks(kind: str) -> Draw:
    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        build = _Builder(rng, writer, tuple(dtype for dtype in DTYPES if dtype != "int16"))  # LiteRT has none
        size = int(rng.choice([1, 2, 2, 3, 4]))
        batches, height, width, channels = (int(d) for d in rng.integers(1, 5, 4))
        deep = (batches, height, width, channels * size * size)
        flat = (batches, height * size, width * size, channels)
        source, target = (deep, flat) if kind == "DEPTH_TO_SPACE" else (flat, deep)
        x, y = build.tensor(source), build.other(target)
        writer.op(kind, [x], [y], block_size=size)
        return Case([x], [y], build.values(source), f"{build.dtype} {source} by {size}")

    return draw


def renamed(kind: str) -> Draw:
    """SQUEEZE and EXPAND_DIMS, between an input and an output, or behind an operator."""

    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        build = _Builder(rng, writer, ("int8",))
        shape = _shape(rng, 1, 4)
        axis = int(rng.integers(0, len(shape) + 1))
        more = (*shape[:axis], 1, *shape[axis:])
        source, target = (shape, more) if kind == "EXPAND_DIMS" else (more, shape)
        x = build.tensor(source)
        last = x
        if rng.random() < 0.5:
            last = build.tensor(source)
            writer.op("RELU", [x], [last])
        given = axis - len(more) if rng.random() < 0.5 else axis
        if kind == "EXPAND_DIMS":
            y = build.tensor(target)
            writer.op(kind, [last, build.numbers(given if rng.random() < 0.5 else [given])], [y])
        elif rng.random() < 0.3:
            target = tuple(size for size in source if size > 1)
            y = build.other(target)
            writer.op(kind, [last], [y])
        else:
            y = build.other(target)
            writer.op(kind, [last], [y], squeeze_dims=[given])
        return Case([x], [y], build.values(source), f"{source} -> {target}")

    return draw


def arg_max(kind: str) -> Draw:
    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        build = _Builder(rng, writer, ("int8",))
        shape = _shape(rng, 1, 5, 9)
        if rng.random() < 0.2:
            shape = (*shape[:2], int(rng.integers(50, 300)))
        axis = int(rng.integers(0, len(shape)))
        x = build.tensor(shape)
        y = build.tensor((*shape[:axis], *shape[axis + 1 :]), dtype="int32")
        given = axis - len(shape) if rng.random() < 0.5 else axis
        writer.op(kind, [x, build.numbers(given if rng.random() < 0.5 else [given])], [y])
        return Case([x], [y], build.values(shape), f"{shape} along {axis}")

    return draw


def gather(rng: np.random.Generator, writer: ModelWriter) -> Case:
    build = _Builder(rng, writer)
    shape, wanted = _shape(rng, 1, 4), _shape(rng, 0, 2)
    axis = int(rng.integers(0, len(shape)))
    batches = int(rng.integers(0, min(axis, 2) + 1)) if rng.random() < 0.5 else 0
    wanted = (*shape[:batches], *wanted[: 5 - len(shape)])
    x = build.tensor(shape)
    constant = rng.random() < 0.5
    indices = [rng.integers(0, shape[axis], wanted).astype(np.int32) for _ in range(3)]
    i = build.tensor(wanted, dtype="int32", data=indices[0] if constant else None)
    y = build.other((*shape[:axis], *wanted[batches:], *shape[axis + 1 :]))
    given = axis - len(shape) if rng.random() < 0.5 else axis
    writer.op("GATHER", [x, i], [y], axis=given, batch_dims=batches)
    text = f"{build.dtype} {shape} along {axis}, {wanted} indices, {batches} batch_dims"
    vectors = build.values(shape)
    if constant:
        return Case([x], [y], vectors, text)
    return Case([x, i], [y], [[*v, index] for v, index in zip(vectors, indices, strict=True)], text)


def tile(rng: np.random.Generator, writer: ModelWriter) -> Case:
    build = _Builder(rng, writer)
    shape = _shape(rng, 1, 5, 5)
    # No more dimensions than the kernel walks.
    times = [int(t) if at < 3 else 1 for at, t in enumerate(rng.choice([1, 1, 2, 3, 5], len(shape)))]
    rng.shuffle(times)
    x, y = build.tensor(shape), build.other(tuple(s * t for s, t in zip(shape, times, strict=True)))
    writer.op("TILE", [x, build.numbers(times)], [y])
    return Case([x], [y], build.values(shape), f"{build.dtype} {shape} x {times}")


def reverse(rng: np.random.Generator, writer: ModelWriter) -> Case:
    """Neighboring dimensions only: LiteRT takes no others."""
    build = _Builder(rng, writer)
    shape = _shape(rng)
    first = int(rng.integers(0, len(shape)))
    axes = list(range(first, int(rng.integers(first + 1, len(shape) + 1))))
    x, y = build.tensor(shape), build.tensor(shape)
    writer.op("REVERSE_V2", [x, build.numbers(axes)], [y])
    return Case([x], [y], build.values(shape), f"{build.dtype} {shape} along {axes}")


def broadcast_to(rng: np.random.Generator, writer: ModelWriter) -> Case:
    build = _Builder(rng, writer)
    out = _shape(rng)
    shape = tuple(size if rng.random() < 0.5 else 1 for size in out)[int(rng.integers(0, 2)) :] or (1,)
    x, y = build.tensor(shape), build.tensor(out)
    writer.op("BROADCAST_TO", [x, build.numbers(out)], [y], version=2)
    return Case([x], [y], build.values(shape), f"{build.dtype} {shape} -> {out}")


def batches(kind: str) -> Draw:
    """SPACE_TO_BATCH_ND, padded or not, and back, cropped or not."""

    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        build = _Builder(rng, writer, ("int8", "int8", "float32"))
        count = int(rng.choice([1, 2, 2]))
        sizes = [int(b) for b in rng.integers(1, 4, count)]
        inner = [int(n) for n in rng.integers(1, 5, count)]
        margins = [[int(m) for m in rng.choice([0, 0, 1, 2], 2)] for _ in sizes]
        whole = [max(b * n, sum(m) + 1) for b, n, m in zip(sizes, inner, margins, strict=True)]
        whole = [-(-size // b) * b for size, b in zip(whole, sizes, strict=True)]
        space = (
            (n := int(rng.integers(1, 3))),
            *(size - sum(m) for size, m in zip(whole, margins, strict=True)),
            int(rng.integers(1, 4)),
        )
        batch = (n * prod(sizes), *(size // b for size, b in zip(whole, sizes, strict=True)), space[-1])
        ends = (space, batch) if kind == "SPACE_TO_BATCH_ND" else (batch, space)
        x, y = (build.tensor(shape) for shape in ends)
        writer.op(kind, [x, build.numbers(sizes), build.numbers(margins)], [y])
        return Case([x], [y], build.values(ends[0]), f"{build.dtype} {ends[0]} -> {ends[1]} {sizes} {margins}")

    return draw


def constant_outputs(rng: np.random.Generator, writer: ModelWriter) -> Case:
    """Beside one that is computed: a constant, one that is tiled, one that is dequantized, one that is quantized."""
    build = _Builder(rng, writer, ("int8", "uint8"))
    shape = _shape(rng, 1, 3)
    x, y, given = build.tensor(shape), build.tensor(shape), build.tensor(shape, data=build.constant(shape))
    writer.op("RELU", [x], [y])
    times = [int(t) for t in rng.integers(1, 4, len(shape))]
    wide = tuple(s * t for s, t in zip(shape, times, strict=True))
    real, whole = np.float32(rng.uniform(-300, 300, shape) * build.scale), build.constant(shape)
    tiled, constant = build.tensor(wide), build.tensor(shape, data=whole)
    dequantized, floats = build.tensor(wide, dtype="float32"), build.tensor(shape, data=real, dtype="float32")
    quantized = build.tensor(shape)
    writer.op("TILE", [given, build.numbers(times)], [tiled])
    writer.op("DEQUANTIZE", [tiled], [dequantized])
    writer.op("QUANTIZE", [floats], [quantized])
    outputs = [y, tiled, dequantized, quantized, constant]
    return Case([x], outputs, build.values(shape), f"{build.dtype} {shape} x {times}")


def open_batch(rng: np.random.Generator, writer: ModelWriter) -> Case:
    """A reshape of any number of vectors, as Keras writes it: the wanted shape is computed from the input's."""
    build = _Builder(rng, writer, ("int8",))
    shape = (1, *_shape(rng, 2, 3))
    depth = int(rng.choice([d for d in range(1, prod(shape) + 1) if prod(shape) % d == 0]))
    target = (1, prod(shape) // depth, depth)
    signature = [-1, *shape[1:]]
    x = writer.tensor(f"x{len(writer.tensors)}", shape, "int8", build.scale, build.zero, signature=signature)
    size = build.tensor((len(shape),), dtype="int32")
    writer.op("SHAPE", [x], [size])
    first = build.tensor((), dtype="int32")
    bounds = [build.numbers([value]) for value in (0, 1, 1)]
    writer.op("STRIDED_SLICE", [size, *bounds], [first], shrink_axis_mask=1)
    wanted = build.tensor((3,), dtype="int32")
    rest = build.numbers(-1 if rng.random() < 0.5 else target[1])
    if rng.random() < 0.5:
        writer.op("PACK", [first, rest, build.numbers(depth)], [wanted])
    else:
        front = build.tensor((1,), dtype="int32")
        writer.op("EXPAND_DIMS", [first, build.numbers(0)], [front])
        writer.op("CONCATENATION", [front, build.numbers([target[1], depth])], [wanted])
    y = writer.tensor(f"y{len(writer.tensors)}", target, "int8", build.scale, build.zero, signature=[-1, *target[1:]])
    writer.op("RESHAPE", [x, wanted], [y])
    z = build.tensor(target)
    writer.op("RELU", [y], [z])
    return Case([x], [z], build.values(shape), f"{shape} -> {target}")


OPERATORS: dict[str, Draw] = {
    "PAD": pad("PAD"),
    "PADV2": pad("PADV2"),
    "MIRROR_PAD": mirror_pad,
    "CONCATENATION": concatenation(DTYPES),
    "CONCATENATION rescaled": concatenation(("uint8",)),
    "TRANSPOSE": transpose,
    "STRIDED_SLICE": strided_slice,
    "SLICE": slice_,
    "SPLIT": split("SPLIT"),
    "SPLIT_V": split("SPLIT_V"),
    "PACK": pack,
    "UNPACK": unpack,
    "DEPTH_TO_SPACE": blocks("DEPTH_TO_SPACE"),
    "SPACE_TO_DEPTH": blocks("SPACE_TO_DEPTH"),
    "SQUEEZE": renamed("SQUEEZE"),
    "EXPAND_DIMS": renamed("EXPAND_DIMS"),
    "ARG_MAX": arg_max("ARG_MAX"),
    "ARG_MIN": arg_max("ARG_MIN"),
    "GATHER": gather,
    "RESHAPE open batch": open_batch,
    "TILE": tile,
    "REVERSE_V2": reverse,
    "BROADCAST_TO": broadcast_to,
    "BATCH_TO_SPACE_ND": batches("BATCH_TO_SPACE_ND"),
    "SPACE_TO_BATCH_ND": batches("SPACE_TO_BATCH_ND"),
    "DEQUANTIZE constant": constant_outputs,
}
"""What is compared; the first word is the operator's kind."""
