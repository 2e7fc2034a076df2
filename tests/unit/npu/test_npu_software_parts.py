"""Software kernels of the virtual NPU that split and pad: calls as generated C makes them, results by plain Python."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from neuralart.errors import NeuralArtError
from support.npu.npu_kernels import Function, bytes8, numbers, reals, tensors


def split(x: Any, shape: tuple[int, ...], parts: list[tuple[int, ...]], axis: int, kind: int, **how: Any) -> list[Any]:
    """Split an array that stands in memory as it is; returns the outputs as they stand in memory."""
    element, innermost = x.dtype.itemsize, str(how.get("innermost", True)).lower()
    work = Function(
        f"LL_ATON_LIB_Split(&in[0], {innermost}, &out, {len(parts)}, {len(shape)}, {axis}, 1, {kind}, 5, 6)"
    )
    start = work.place(x)
    likes = [np.zeros(int(np.prod(part)), x.dtype) for part in parts]
    outs = [work.place(like) for like in likes]
    group = how.get("group", 1)
    places = [(out, part, element, group) for out, part in zip(outs, parts, strict=True)]
    work.before = tensors("in", (start, shape, element, shape[0])) + tensors("out", *places)
    noted = work.run()
    assert [(n.start, n.size, n.elements) for n in noted] == [
        (out, element, like.size) for out, like in zip(outs, likes, strict=True)
    ]
    return [work.result(out, like) for out, like in zip(outs, likes, strict=True)]


@pytest.mark.parametrize("kind", [0, 1, 2, 3, 4])
def test_split_of_channels(kind: int) -> None:
    """Channels are innermost in memory: an output has some of each pixel."""
    x = bytes8(3, 5, 7)  # Height, width, channels
    first, second = split(x, (7, 3, 5), [(4, 3, 5), (3, 3, 5)], 0, kind, group=0)
    for part, (begin, end) in ((first, (0, 4)), (second, (4, 7))):
        assert part.tolist() == [int(x[y, c, d]) for y in range(3) for c in range(5) for d in range(begin, end)]


@pytest.mark.parametrize("kind", [3, 4])
def test_split_into_groups_of_channels(kind: int) -> None:
    """Outputs have two channels together, one group behind the other."""
    x = bytes8(3, 5, 8)
    for number, part in enumerate(split(x, (8, 3, 5), [(4, 3, 5)] * 2, 0, kind, group=2)):
        rows = [(g, y, c, d) for g in range(2) for y in range(3) for c in range(5) for d in range(2)]
        assert part.tolist() == [int(x[y, c, 4 * number + 2 * g + d]) for g, y, c, d in rows]


@pytest.mark.parametrize("kind", [5, 8, 12])
def test_split_one_behind_the_other(kind: int) -> None:
    x = np.arange(24, dtype=np.int16)
    assert [part.tolist() for part in split(x, (1, 8, 3), [(1, 4, 3)] * 2, 1, kind, innermost=False)] == [
        *[list(range(12)), list(range(12, 24))]
    ]


@pytest.mark.parametrize(("axis", "innermost"), [(1, False), (2, False), (2, True), (3, True)])
def test_split_along_other_axes(axis: int, innermost: bool) -> None:
    shape = (2, 4, 6, 8)  # Batch, channels, height, width
    values = bytes8(*shape)
    memory = values.transpose(0, 2, 3, 1).copy() if innermost else values
    half = tuple(n // 2 if i == axis else n for i, n in enumerate(shape))
    for number, part in enumerate(split(memory, shape, [half, half], axis, 0, innermost=innermost)):
        expected = np.take(values, range(number * half[axis], (number + 1) * half[axis]), axis)
        assert np.array_equal(part, (expected.transpose(0, 2, 3, 1) if innermost else expected).reshape(-1))


@pytest.mark.parametrize(
    ("shape", "parts", "axis", "kind", "said"),
    [
        ((4, 3, 5), [(2, 3, 5), (3, 3, 5)], 0, 0, "splits 60 bytes of the shape (4, 3, 5) into [2, 3] along axis 0"),
        ((4, 3, 5), [(2, 3, 4)], 0, 0, "splits the shape (4, 3, 5) into [(2, 3, 4)]"),
        ((4, 3, 5), [(2, 3, 5)], 3, 0, "has the shape (4, 3, 5), rank 3, axis 3, 1 bytes and kind 0"),
        ((4, 3, 5), [(2, 3, 5)], 0, 13, "has the shape (4, 3, 5), rank 3, axis 0, 1 bytes and kind 13"),
    ],
)
def test_splits_that_do_not_fit(shape: Any, parts: Any, axis: int, kind: int, said: str) -> None:
    with pytest.raises(NeuralArtError) as caught:
        split(bytes8(60), shape, parts, axis, kind)
    assert caught.value.what == f"LL_ATON_LIB_Split {said}" and ".c:" in (caught.value.where or "")


# ---- pad ----


def pad(x: Any, front: tuple[int, ...], behind: tuple[int, ...], constant: str, *, last: int, mode: int = 0) -> Any:
    """Pad (or crop, where numbers are negative) an array as it stands in memory; returns the output."""
    element = x.dtype.itemsize
    shape = tuple(n + a + b for n, a, b in zip(x.shape, front, behind, strict=True))
    least = tuple(n + min(a, 0) + min(b, 0) for n, a, b in zip(x.shape, front, behind, strict=True))
    work = Function("")
    source, target = work.place(x), work.place(np.full(shape, 9, x.dtype))
    work.before = ""
    for name, address, size in (("a", source, x.nbytes), ("b", target, int(np.prod(shape)) * element)):
        work.before += f"  unsigned char* {name}_start = ((unsigned char *)((0x{address:08x}UL + 0))) /* here */;\n"
        work.before += f"  unsigned char* {name}_limit = ((unsigned char *)((0x{address:08x}UL + {size + 64})));\n"
    inner = [int(np.prod(x.shape[i + 1 :])) * element for i in range(x.ndim)]
    outer = [int(np.prod(shape[i + 1 :])) * element for i in range(x.ndim)]
    for name, amounts in (("f", front), ("e", behind)):
        work.before += numbers(f"in_{name}", tuple(n * s for n, s in zip(amounts, inner, strict=True)))
        work.before += numbers(f"out_{name}", tuple(n * s for n, s in zip(amounts, outer, strict=True)))
    work.before += numbers("least", least) + numbers("shape", shape) + numbers("steps", tuple(outer))
    work.before += f"  const {constant};\n  assert(sizeof(float) == 4);\n"
    together = int(np.prod(least[last:]))
    work.call = f"LL_ATON_LIB_Pad(a_start, b_start, a_limit, b_limit, least, {mode}, {element}, {int(np.prod(shape))}, "
    work.call += f"*((int32_t*)&value), {last}, {together}, in_f, in_e, out_f, out_e, shape, steps, {x.ndim}, 2, 3)"
    (noted,) = work.run()
    assert (noted.start, noted.size, noted.elements) == (target, element, int(np.prod(shape)))
    return work.result(target, np.zeros(shape, x.dtype))


def plain(x: Any, front: tuple[int, ...], behind: tuple[int, ...], value: Any) -> Any:
    shape = [n + a + b for n, a, b in zip(x.shape, front, behind, strict=True)]
    expected = np.full(shape, value, x.dtype)
    for place in np.ndindex(*shape):
        source = tuple(p - a for p, a in zip(place, front, strict=True))
        if all(0 <= s < n for s, n in zip(source, x.shape, strict=True)):
            expected[place] = x[source]
    return expected


@pytest.mark.parametrize(
    ("front", "behind", "last"),
    [
        ((0, 0, 0, 0), (0, 4, 0, 0), 1),
        ((0, 1, 2, 3), (0, 2, 1, 0), 3),
        ((0, 1, 0, 0), (0, 0, 0, 2), 3),
        ((0, -1, 0, 1), (0, 2, -2, 0), 3),
        ((0, 0, 0, 0), (0, 0, 0, 0), 0),
    ],
)
def test_pad(front: tuple[int, ...], behind: tuple[int, ...], last: int) -> None:
    x = reals(1, 3, 4, 5)
    found = pad(x, front, behind, "float value = -1.5", last=last)
    assert np.array_equal(found, plain(x, front, behind, -1.5))


def test_pad_bytes() -> None:
    x = bytes8(2, 3, 4)
    found = pad(x, (0, 1, 1), (1, 0, 1), "int8_t value = -128", last=2)
    assert np.array_equal(found, plain(x, (0, 1, 1), (1, 0, 1), -128))


def test_pads_that_are_refused() -> None:
    x = bytes8(2, 3, 4)
    with pytest.raises(NeuralArtError, match="has the mode 1: only padding with a constant is modeled"):
        pad(x, (0, 0, 1), (0, 0, 1), "int8_t value = 0", last=2, mode=1)
    with pytest.raises(NeuralArtError, match="has the constant 'nothing', no number"):
        pad(x, (0, 0, 1), (0, 0, 1), "float value = nothing", last=2)
    with pytest.raises(NeuralArtError, match="walks 4 axes of 3"):
        pad(x, (0, 0, 1), (0, 0, 1), "float value = 0", last=3)


def loops(call: str = "source, source_end, limit, target, target_end, target_end, 7, 2, reads, writes, 2, 3") -> Any:
    """Rows 1 and 2 of 3x4 elements into the middle of 4x6, which is 7 elsewhere."""
    x = np.arange(12, dtype=np.int16).reshape(3, 4)
    work = Function(f"LL_ATON_LIB_Pad_4Loop({call})")
    source, target = work.place(x), work.place(np.zeros((4, 6), np.int16))
    for name, address in (("source", source), ("source_end", source + 24), ("limit", source + 24)):
        work.before += f"  unsigned char* {name} = ((unsigned char *)((0x{address:08x}UL + 0)));\n"
    for name, address in (("target", target), ("target_end", target + 48)):
        work.before += f"  unsigned char* {name} = ((unsigned char *)((0x{address:08x}UL + 0)));\n"
    work.before += numbers("reads", (8, 0, 0, 16)) + numbers("writes", (14, 8, 1, 16, 12, 2))
    work.before += numbers("far", (8, 8, 1, 16, 12, 3))
    (noted,) = work.run()
    assert (noted.start, noted.size, noted.elements) == (target, 2, 24)
    return work.result(target, np.zeros((4, 6), np.int16))


def test_pad_in_loops() -> None:
    expected = np.full((4, 6), 7)
    expected[1:3, 1:5] = [[4, 5, 6, 7], [8, 9, 10, 11]]
    assert np.array_equal(loops(), expected)
    with pytest.raises(NeuralArtError, match=r"takes \(3, 8\) bytes, \(12, 1\) apart, at 0x\w+, beyond its buffer"):
        loops("source, source_end, limit, target, target_end, target_end, 7, 2, far, writes, 2, 3")
    with pytest.raises(NeuralArtError, match=r"reads 16 bytes, and writes \(3, 8\)"):
        loops("source, source_end, limit, target, target_end, target_end, 7, 2, reads, far, 2, 3")
    with pytest.raises(NeuralArtError, match="has elements of 3 bytes"):
        loops("source, source_end, limit, target, target_end, target_end, 7, 3, reads, writes, 2, 3")
    with pytest.raises(NeuralArtError, match=r"argument 1 of LL_ATON_LIB_Pad_4Loop is '', no address"):
        loops("elsewhere, source_end, limit, target, target_end, target_end, 7, 2, reads, writes, 2, 3")


# ---- normalization, and a convolution whose output is smaller ----


def test_batch_normalization() -> None:
    x = reals(1, 2, 3, 4)
    constants = {name: reals(4) for name in ("scale", "bias", "mean")} | {"var": np.abs(reals(4)) + 0.5}
    work = Function("bn", {"general.type": "LL_SW_BATCHNORM"})
    work.tensor("general.input", x)
    for name, values in constants.items():
        work.constant(name, *values.tolist())
    out = work.tensor("general.output", x)
    work.run()
    expected = [
        (float(x[place]) - constants["mean"][place[3]])
        / float(constants["var"][place[3]]) ** 0.5
        * constants["scale"][place[3]]
        + constants["bias"][place[3]]
        for place in np.ndindex(*x.shape)
    ]
    np.testing.assert_allclose(work.result(out, x).reshape(-1), expected, rtol=1e-5, atol=1e-6)
    work.constant("mean", 1.0, 2.0)
    with pytest.raises(NeuralArtError, match="has 2 numbers in mean for 4 channels"):
        work.run()


def test_an_output_that_is_smaller_than_its_windows() -> None:
    """ST Edge AI Core writes such calls for parts of a kernel that is as large as its frame."""
    x, weights = reals(1, 3, 3, 2), reals(2, 1, 1, 1)
    work = Function("conv", {"ngroup": 2, "pads": "{0, 0, 0, 0}", "strides": "{1, 1}", "dilations": "{1, 1}"})
    work.tensor("general.input", x)
    work.tensor("weights", weights)
    like = reals(1, 1, 1, 2)
    out = work.tensor("general.output", like)
    work.run()
    assert work.result(out, like).reshape(-1).tolist() == (x[0, 0, 0] * weights.reshape(-1)).tolist()


def test_values_without_a_result_are_no_warning() -> None:
    """Sums beyond single precision are infinite, as on a board."""
    x, weights = np.full((1, 1, 1, 1), 3e38, np.float32), np.full((1, 1, 1, 1), 3e38, np.float32)
    work = Function("conv", {"ngroup": 1})
    work.tensor("general.input", x)
    work.tensor("weights", weights)
    out = work.tensor("general.output", x)
    work.run()
    assert struct.unpack("<f", work.result(out, x).tobytes())[0] == float("inf")
