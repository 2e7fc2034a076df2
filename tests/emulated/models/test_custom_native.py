"""Custom operators: boxes against LiteRT. Signal operators, and SVDF with a state of 8 bits, which LiteRT has not (and
TensorFlow Lite Micro has), against a second formulation in plain integers.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import oracle
from neuralart.compilers.request import CompileRequest
from neuralart_reference.compile import compile_network, write
from neuralart_reference.quantize import quantize_multiplier
from neuralart_reference.tables import scaled
from support.cases.cases_custom import detections, speech
from support.cases.operator_draws import f32
from support.cases.speech_plain import Plain
from support.host_c import native
from tflite_writer import ModelWriter

ROOT = Path(__file__).parents[3]
MPOOL = ROOT / "site_scons" / "neuralart" / "boards" / "data" / "pools" / "stm32n6570-dk.mpool"
BRANCHES = 12

pytestmark = [
    pytest.mark.hostcc,
    pytest.mark.long,
    pytest.mark.skipif(bool(native.unavailable()), reason=native.unavailable()),
]


def compiled(folder: Path, name: str, model: bytes) -> Path:
    path = folder / f"{name}.tflite"
    path.write_bytes(model)
    write(compile_network(CompileRequest(model=path, mpool=MPOOL, name=name, report=False)), folder / name)
    return folder / name


def test_boxes_are_those_of_litert(tmp_path: Path) -> None:
    """Rows that LiteRT leaves as they were (behind the last detection, and classes that there are not) are 0 here."""
    made = []
    for number in range(6):
        rng, writer = np.random.default_rng([31, number]), ModelWriter()
        cases = [detections(rng, writer) for _ in range(BRANCHES)]
        made.append((writer.finish([i for c in cases for i in c.inputs], [o for c in cases for o in c.outputs]), cases))
    folders = [compiled(tmp_path, f"m{number}", model) for number, (model, _) in enumerate(made)]
    counts, several = set(), 0
    for network, (model, cases) in zip(native.build(folders, tmp_path, sanitize=True), made, strict=True):
        inputs = [[value for case in cases for value in case.vectors[at]] for at in range(4)]
        for want, got in zip(oracle.run(model, inputs), network.run(inputs), strict=True):
            for at, case in enumerate(cases):
                theirs, ours = want[4 * at : 4 * at + 4], got[4 * at : 4 * at + 4]
                assert [each.shape for each in ours] == [each.shape for each in theirs]
                assert ours[3] == theirs[3], case.text
                given = dict(part.split(": ") for part in case.text.partition("{")[2].strip("}").split(", "))
                each, classes = int(given["'max_classes_per_detection'"]), int(given["'num_classes'"])
                rows = np.arange(ours[1].shape[1])
                filled = (rows < int(ours[3][0]) * each) & (rows % each < classes)
                for a, b in zip(ours[:3], theirs[:3], strict=True):
                    assert a[0][filled].tobytes() == b[0][filled].tobytes(), case.text
                    assert not a[0][~filled].any(), case.text
                counts.add(int(ours[3][0]))
                several += each > 1
    assert len(counts) > 8 and several


def test_speech_is_that_of_plain_integers(tmp_path: Path) -> None:
    """Ten frames each: what is remembered of the noise counts."""
    drawn = []
    for number in range(24):
        rng, writer = np.random.default_rng([32, number]), ModelWriter()
        given, case = speech(rng, writer)
        drawn.append((given, case, compiled(tmp_path, f"s{number}", writer.finish(case.inputs, case.outputs))))
    varied = 0
    for network, (given, case, _) in zip(
        native.build([f for *_, f in drawn], tmp_path, sanitize=True), drawn, strict=True
    ):
        plain = Plain(given)
        for got, (samples,) in zip(network.run(case.vectors), case.vectors, strict=True):
            want = plain.frame(samples)
            assert [a.tobytes() for a in got] == [b.tobytes() for b in want], case.text
            varied += len(np.unique(want[0])) > 1
    assert varied > 80, varied


def test_an_input_that_is_an_output_is_copied(tmp_path: Path) -> None:
    """In a model without operators, and beside others; as float32 too."""
    writer = ModelWriter()
    x, y = (writer.tensor(name, (3, 5), "int8", 0.5, 3) for name in "xy")
    alone = compiled(tmp_path, "alone", writer.finish([x], [x]))
    writer.op("RELU", [x], [y])
    both = compiled(tmp_path, "both", writer.finish([x], [y, x]))
    value = np.random.default_rng(1).integers(-128, 128, (3, 5)).astype(np.int8)
    first, second = native.build([alone, both], tmp_path, sanitize=True)
    ((copied,),), ((rectified, beside),) = first.run([[value]]), second.run([[value]])
    assert (copied == value).all() and (beside == value).all()
    assert (rectified == np.maximum(value, 3)).all() and (rectified != value).any()


def svdf(rng: np.random.Generator) -> tuple[bytes, list[np.ndarray], list[np.ndarray]]:
    """A model, its inputs one after the other, and what it makes of them."""
    writer, inputs, units, rank, memory = ModelWriter(), 6, 4, int(rng.choice([1, 2])), int(rng.choice([1, 3, 8]))
    filters, z_x, z_s = units * rank, int(rng.integers(-128, 128)), int(rng.integers(-60, 60))
    weights, time = (rng.integers(-127, 128, (filters, size)) for size in (inputs, memory))
    bias = rng.integers(-9000, 9000, units)
    scales = dict(zip("xwtsy", map(f32, (0.05, 0.01, 0.015, 0.05 * 0.01 * 180, 0.05)), strict=True))
    x = writer.tensor("x", (1, inputs), "int8", scales["x"], z_x)
    w = writer.tensor("w", weights.shape, "int8", scales["w"], 0, weights)
    t = writer.tensor("t", time.shape, "int8", scales["t"], 0, time)
    b = writer.tensor("b", (units,), "int32", scales["s"] * scales["t"], 0, bias)
    state = writer.tensor("s", (1, filters * memory), "int8", scales["s"], z_s, variable=True)
    y = writer.tensor("y", (1, units), "int8", scales["y"], -128)
    writer.op("SVDF", [x, w, t, b, state], [y], rank=rank, fused_activation_function="RELU")
    before = quantize_multiplier(float(np.float32(np.float32(scales["x"] * scales["w"]) / np.float32(scales["s"]))))
    after = quantize_multiplier(float(np.float32(np.float32(scales["s"] * scales["t"]) / np.float32(scales["y"]))))
    kept, given, wanted = np.full((filters, memory), z_s), list[np.ndarray](), list[np.ndarray]()
    for _ in range(12):
        given.append(rng.integers(-128, 128, (1, inputs)).astype(np.int8))
        sums = weights @ (given[-1][0].astype(np.int64) - z_x)
        made = [min(max(scaled(int(value), before), -128), 127) + z_s for value in sums]
        kept = np.concatenate([kept[:, 1:], np.array(made, np.int64).astype(np.int8)[:, None]], axis=1)
        totals = ((kept - z_s) * time).sum(1).reshape(units, rank).sum(1) + bias
        wanted.append(np.array([min(max(scaled(int(v), after) - 128, -128), 127) for v in totals], np.int8))
    return writer.finish([x], [y]), given, wanted


def test_svdf_with_a_state_of_8_bits(tmp_path: Path) -> None:
    drawn = [svdf(np.random.default_rng([33, number])) for number in range(12)]
    folders = [compiled(tmp_path, f"v{number}", model) for number, (model, _, _) in enumerate(drawn)]
    varied = 0
    for network, (_, given, wanted) in zip(native.build(folders, tmp_path, sanitize=True), drawn, strict=True):
        for (got,), want in zip(network.run([[value] for value in given]), wanted, strict=True):
            assert got.ravel().tolist() == want.tolist()
            varied += len(set(want.tolist())) > 2
    assert varied > 60, varied
