"""How far buffers may be from a reference: the rule 1 + 0.5 * q * passes, worked out by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from neuralart_virtual.npu.bounds import RoundedSums
from neuralart_virtual.npu.reference import BufferComparison, ReferenceTensor, tensor_of
from neuralart_virtual.npu.run import load
from neuralart_virtual.npu.state import NpuState
from neuralart_virtual.npu.units.switch import links
from support.npu import npu_build as build
from support.npu import npu_network as made

A, RES, OUT_A, OUT_RES = 20000, 15, 16384, 18


def chain() -> NpuState:
    """An accelerator, a factor for each channel, bytes at the end: one unit of a sum is up to 20000/2^15/16 steps."""
    state = NpuState()
    build.convolution(state, 0, DFORMAT={"OUTSHIFT": 4})
    unit = build.arithmetic(state, 0, CTRL={"COEFFA": 1, "OBYTES": 2}, SHIFT={"RES": RES})
    for entry, a in enumerate((100, -A & 0xFFFF, 300)):
        unit.coefficients[2 * entry] = a
    build.arithmetic(state, 1, COEFFAC={"A": OUT_A}, SHIFT={"RES": OUT_RES})
    build.engine(state, 8, build.RAM, 64)
    build.engine(state, 7, build.FLASH, 64)
    build.engine(state, 0, build.RAM + 0x1000, 64, write=True)
    for port, source in (
        (("CONVACC", 0, 0), ("STRENG", 8)),
        (("CONVACC", 0, 1), ("STRENG", 7)),
        (("ARITH", 0, 0), ("CONVACC", 0)),
        (("ARITH", 1, 0), ("ARITH", 0)),
        (("STRENG", 0, 0), ("ARITH", 1)),
    ):
        state.link(port, (source, 1, 0))
    return state


def allowed(state: NpuState) -> float | None:
    return RoundedSums({key: unit for key, unit in state.units.items() if unit.enabled}, links(state)).allowed(0)


Q = A / 2**RES * OUT_A / 2**OUT_RES


def test_a_layer() -> None:
    assert allowed(chain()) == pytest.approx(1 + 0.5 * Q)


def test_sums_that_are_not_cut_lose_nothing() -> None:
    state = chain()
    state.unit("CONVACC", 0).set("DFORMAT", OUTSHIFT=0)
    assert allowed(state) == 1


def test_eight_passes_through_memory() -> None:
    """The last of every eight sums leaves the epoch; the others come back."""
    state = chain()
    state.link(("ARITH", 0, 0), (("CONVACC", 0), 0, 7), (("CONVACC", 0), 1, 1))
    assert allowed(state) == pytest.approx(1 + 0.5 * Q * 8)


def chained_by_sums(state: NpuState, shift: int) -> None:
    build.convolution(state, 1, DFORMAT={"OUTSHIFT": shift, "INSHIFT": 4})
    state.unit("CONVACC", 1).set("CTRL", NOSUM=0)
    build.engine(state, 9, build.RAM, 64)
    state.link(("CONVACC", 1, 0), (("STRENG", 9), 1, 0))
    state.link(("CONVACC", 1, 2), (("CONVACC", 0), 1, 0))
    state.link(("ARITH", 0, 0), (("CONVACC", 1), 1, 0))


@pytest.mark.parametrize(("first", "passes"), [(4, 2), (0, 1)])
def test_sums_of_another_accelerator(first: int, passes: int) -> None:
    state = chain()
    state.unit("CONVACC", 0).set("DFORMAT", OUTSHIFT=first)
    chained_by_sums(state, 4)
    assert allowed(state) == pytest.approx(1 + 0.5 * Q * passes)


def test_sums_of_an_earlier_epoch() -> None:
    state = chain()
    state.unit("CONVACC", 0).set("CTRL", NOSUM=0)
    build.engine(state, 9, build.RAM + 0x2000, 64)
    state.link(("CONVACC", 0, 2), (("STRENG", 9), 1, 0))
    assert allowed(state) is None, "nobody knows how often they were rounded"
    state.unit("STRENG", 9).write(8, build.RAM + 0x1000)
    assert allowed(state) == pytest.approx(1 + 0.5 * Q), "sums of this epoch"


def test_what_the_rule_does_not_know() -> None:
    state = chain()
    build.setup(state, "ACTIV", 0)
    state.link(("ACTIV", 0, 0), (("ARITH", 0), 1, 0))
    state.link(("ARITH", 1, 0), (("ACTIV", 0), 1, 0))
    assert allowed(state) is None, "an activation"
    state = chain()
    chained_by_sums(state, 4)
    state.link(("CONVACC", 1, 0), (("CONVACC", 0), 1, 0))
    assert allowed(state) is None, "another layer in the same epoch"
    state = chain()
    state.link(("CONVACC", 0, 0), (("ARITH", 1), 1, 0))
    assert allowed(state) is None, "a circle"


def test_copies_and_averages() -> None:
    state = chain()
    state.link(("ARITH", 0, 0), (("STRENG", 8), 1, 0))
    assert allowed(state) == 1
    state = chain()
    pool = build.setup(state, "POOL", 0, CTRL={"TYPE": 10, "OUTSHIFT": 18}, MULVAL={"MULVAL": 29127})
    pool.set("PDIMS", BSIZE=8)
    pool.set("FDIMS", FEATX=24, FEATY=3)
    state.link(("POOL", 0, 0), (("ARITH", 0), 1, 0))
    state.link(("ARITH", 1, 0), (("POOL", 0), 1, 0))
    assert allowed(state) == pytest.approx(1 + 0.5 * Q * 9 * 29127 / 2**18)


def compared(folder: Path, *changes: int, feed: bool = False) -> BufferComparison:
    """Two inferences; the reference of epoch 2 is what the network computes, one value changed by so many steps."""
    network = load(made.write(folder, controller=False), bounds=True)
    samples = [np.random.default_rng(n).integers(-128, 128, made.IN_ELEMENTS, dtype=np.int8) for n in range(2)]
    pooled = []
    for sample in samples:
        network.set_input("image", sample.tobytes())
        network.run()
        pooled.append(network.memory.view(made.RAM + made.POOLED, made.COARSE).view(np.int8).copy())

    def references() -> Iterator[dict[str, ReferenceTensor]]:
        for tensor, change in zip(pooled, changes, strict=True):
            other = tensor.astype(np.int16)
            other[5] += change if other[5] + change < 128 else -change
            yield {"pooled": tensor_of(other.reshape(made.HALF, made.HALF, made.COUNT))}

    comparison = BufferComparison(references(), feed=feed)
    for sample in samples:
        network.set_input("image", sample.tobytes())
        comparison.begins(network.memory)
        network.run(comparison)
    return comparison


def test_the_sample_that_exceeds_its_bound(tmp_path: Path) -> None:
    (pair,) = (pair for pair in compared(tmp_path, 1, 4).pairs if pair.epoch == "2")
    factor = int(np.abs(made.Weights().factors.astype(int)).max())
    assert pair.allowed == pytest.approx(1 + 0.5 * factor / 2**14 * 17929 / 2**20)
    assert (pair.largest, pair.exceeding) == (4, (1,))
    assert pair.different == pytest.approx(1 / made.COARSE)
    (pair,) = (pair for pair in compared(tmp_path, 1, 1).pairs if pair.epoch == "2")
    assert (pair.largest, pair.exceeding) == (1, ())
