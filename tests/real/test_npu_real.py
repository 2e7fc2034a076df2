"""The virtual NPU on public compiled networks; NEURALART_NPU_DATA names the folder (docs/reference/npu-cases.md)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from neuralart_virtual import npu_cli
from neuralart_virtual.npu.reference import BufferComparison, tensor_of
from neuralart_virtual.npu.run import Run, VirtualNetwork, load
from neuralart_virtual.npu.units.rounding import AWAY, EVEN, TIES, UP, Ties
from support.npu import npu_driver, npu_oracles, npu_recorded
from support.npu.npu_cases import BOARD, CASES, DATA, NpuCase

pytestmark = [pytest.mark.long, pytest.mark.skipif(not DATA.is_dir(), reason="NEURALART_NPU_DATA is not set")]
BY_NAME = {case.name: case for case in CASES}


def ready(case: NpuCase) -> VirtualNetwork:
    """A case, loaded anew."""
    if missing := case.missing():
        pytest.skip(missing)
    files = {pool: case.folder / path for pool, path in case.initializers.items()}
    return load(case.folder / case.network, files, assume=case.assume)


@cache
def oracle(name: str) -> tuple[bytes, dict[str, Any], dict[str, Any]]:
    """The bytes of the input, inner tensors and outputs."""
    case = BY_NAME[name]
    if case.model.endswith(".onnx"):
        x, inner = npu_oracles.onnx_tensors(case.folder / case.model)
        # Channels first, without sign.
        return (x.transpose(2, 0, 1) & 0xFF).astype(np.uint8).tobytes(), inner, {}
    x, inner, outputs = npu_oracles.litert(case.folder / case.model)
    return x.tobytes(), inner, outputs


def run(name: str, *, force: bool, ties: Ties | None = None) -> tuple[Run, BufferComparison]:
    case = BY_NAME[name]
    network = ready(case)
    if ties is not None:
        object.__setattr__(network.settings, "ties", ties)
    if case.as_command:
        npu_cli._set_inputs(network, {}, 1)
        comparison = npu_cli._comparison(network, case.folder / case.model, force)
    else:
        x, inner, _ = oracle(name)
        network.set_input(network.network.inputs[0].row.name, x)
        comparison = BufferComparison(iter([{name: tensor_of(values) for name, values in inner.items()}]), feed=force)
    comparison.begins(network.memory)
    return network.run(comparison), comparison


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_forced(case: NpuCase, tell: Callable[[str], None]) -> None:
    """Each epoch is fed with the reference: buffers that pair, how equal they are."""
    if missing := case.missing():
        pytest.skip(missing)
    done, comparison = run(case.name, force=True)
    pairs = comparison.pairs
    good = [pair for pair in pairs if pair.different < 0.1]
    mean = 100 * (1 - float(np.mean([pair.different for pair in good])))
    largest = max(pair.largest for pair in good)
    tell(f"{case.name}: {len(good)} of {len(pairs)} buffers, {mean:.2f} % equal, largest {largest}")
    bad = [(p.epoch, p.output.elements, round(p.different, 3), p.largest) for p in pairs if p.different >= 0.1]
    assert len(pairs) >= case.pairs and len(good) >= case.good, bad
    assert round(mean, 2) >= case.mean and largest <= case.largest
    assert [note.split(":")[0] for note in done.notes] == [f"assumed {name}" for name in case.assume]


@pytest.mark.parametrize(("name", "equal"), [("mobilenet-2.1", 5), ("mobilenet-4.0", 3)])
def test_logits_without_help(name: str, equal: int) -> None:
    """Free: nothing is fed; five logits, equal or one apart."""
    _, comparison = run(name, force=False)
    logits = next(pair for pair in comparison.pairs if pair.output.elements == 5)
    assert round(5 * (1 - logits.different)) >= equal and logits.largest <= 1


def test_heatmaps_without_help() -> None:
    done, _ = run("movenet", force=False)
    (found,) = done.outputs.values()
    (expected,) = oracle("movenet")[2].values()
    step = float(np.diff(np.unique(expected))[0])
    steps = np.rint((found.reshape(expected.shape) - expected) / step)
    assert (steps == 0).mean() >= 0.974 and np.abs(steps).max() <= 12


@pytest.mark.parametrize(("rule", "expected"), [(AWAY, (0, 399, 1728, 14)), (UP, (0, 393, 1722, 13))])
def test_four_epochs_of_twenty_inputs(rule: str, expected: tuple[int, ...]) -> None:
    """Elements that differ from LiteRT, all of them by one, by epoch."""
    case = BY_NAME["rppg"]
    network = ready(case)
    object.__setattr__(network.settings, "ties", Ties(rule))
    rng = np.random.default_rng(1)
    differ, largest = np.zeros(4, int), 0
    for number in range(20):
        if number % 2:
            x = rng.integers(-128, 128, (1, 36, 36, 3), dtype=np.int8)
        else:
            slope = np.cumsum(rng.normal(0, 9, (1, 36, 36, 3)), 1) + rng.normal(0, 40)
            x = np.clip(slope, -128, 127).astype(np.int8)
        _, inner, _ = npu_oracles.litert(case.folder / case.model, x)
        wanted = [x[0], inner["9"][0], inner["11"][0], inner["13"].reshape(1, 1, 16)]
        network.set_input(network.network.inputs[0].row.name, x.tobytes())
        seen: list[np.ndarray[Any, Any]] = []

        def keep(result: Any, seen: list[np.ndarray[Any, Any]] = seen, wanted: Any = wanted) -> None:
            # Partial sums are written, too, in elements of two bytes.
            output = next(each for each in result.outputs if each.size == 1)
            height, width, channels = wanted[len(seen)].shape
            group = (3, 8, 8, 16)[len(seen)]
            data = network.memory.view(output.start, height * width * channels).astype(int)
            if len(seen) < 3:
                data = data - 128
            else:
                data = (data + 128) % 256 - 128
            blocks = data.reshape(channels // group, height, width, group)
            seen.append(blocks.transpose(1, 2, 0, 3).reshape(height, width, channels))

        network.run(keep)
        for i, (found, tensor) in enumerate(zip(seen, wanted, strict=True)):
            difference = np.abs(found - tensor.astype(int))
            differ[i] += np.count_nonzero(difference)
            largest = max(largest, int(difference.max()))
    assert tuple(differ) == expected and largest == 1


@pytest.mark.parametrize(
    ("name", "interrupts", "epochs", "copies", "programs"),
    [
        ("rppg", False, 4, 0, 0),
        ("rppg", True, 4, 0, 0),
        ("mobilenet-2.1", True, 0, 0, 1),
        ("mobilenet-4.0", True, 0, 0, 1),
        ("blazeface", False, 78, 22, 0),
        ("blazeface", True, 78, 22, 0),
    ],
)
def test_register_writes_leave_the_same_memory(
    name: str, interrupts: bool, epochs: int, copies: int, programs: int
) -> None:
    """All of RAM and all buffers, byte by byte; transposes are epochs of two engines."""
    direct, driven = (ready(BY_NAME[name]) for _ in range(2))
    for network in (direct, driven):
        network.set_input(network.network.inputs[0].row.name, oracle(name)[0])
    direct.run()
    driver = npu_driver.run(driven, interrupts=interrupts)
    assert (driver.epochs, driver.copies, driver.programs) == (epochs, copies, programs)
    for ours, theirs in zip(direct.memory.regions, driven.memory.regions, strict=False):
        assert (ours.name, ours.base) == (theirs.name, theirs.base)
        assert np.array_equal(ours.data, theirs.data), ours.name


# ---- outputs that a board recorded ----


@cache
def recorded(model: str) -> npu_recorded.Recorded:
    folder = DATA / BOARD[0].replace("/", "+")
    records = npu_recorded.MODELS[model][0]
    path = folder / "Output/Output_Baseline/CubeMX xcubeai" / records / "network_val_io.npz"
    if not path.is_file():
        pytest.skip(f"not in NEURALART_NPU_DATA: {path.relative_to(DATA)}")
    return npu_recorded.read(folder / "Models/baseline" / f"{model}.tflite", path)


@pytest.mark.parametrize("model", npu_recorded.MODELS)
def test_outputs_of_a_board(model: str) -> None:
    """Half away from zero at every stage: all recorded outputs."""
    _, shift, rows = npu_recorded.MODELS[model]
    given = recorded(model)
    found = npu_recorded.outputs(given, shift, rows, Ties(AWAY))
    assert found.size == given.board.size and np.count_nonzero(found != given.board) == 0


def test_the_board_has_2270_outputs() -> None:
    assert sum(recorded(model).board.size for model in npu_recorded.MODELS) == 2270


@pytest.mark.parametrize("rule", [UP, EVEN])
def test_another_rule_for_the_average_does_not_fit(rule: str) -> None:
    """The stage that decides: with another rule there, three outputs or more differ."""
    models = [m for m, (_, _, rows) in npu_recorded.MODELS.items() if len(rows) == 1]
    wrong = 0
    for model in models:
        _, shift, rows = npu_recorded.MODELS[model]
        found = npu_recorded.outputs(recorded(model), shift, rows, Ties(AWAY, {"average": rule}))
        wrong += int(np.count_nonzero(found != recorded(model).board))
    assert rule in TIES and wrong >= 3
