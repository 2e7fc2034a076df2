from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import oracle
import vectors
from digits import generate, integer, synthetic
from neuralart_reference.model import tflite
from support.cases.small_models import CASES, HANDLES
from tflite_writer import ModelWriter

FOLDER = Path(generate.__file__).resolve().parent
MODEL = FOLDER / "digits.tflite"


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the command line has filled, in another place than the committed one."""
    to = tmp_path_factory.mktemp("models") / "a folder"
    modules = ("command.py", "tflite_writer.py", "oracle.py", "vectors.py")
    for name in (*modules, "digits/generate.py", "digits/integer.py", "digits/synthetic.py"):
        (to / name).parent.mkdir(exist_ok=True, parents=True)
        (to / name).write_bytes((FOLDER.parent / name).read_bytes())
    folder = to / "digits"
    assert subprocess.run([sys.executable, folder / "generate.py"], check=False).returncode == 0
    return folder


def files_of(folder: Path) -> dict[str, bytes]:
    found = sorted([*folder.glob("*.tflite"), *folder.glob("vectors/*")])
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


@pytest.mark.long
def test_generator_makes_the_committed_bytes(generated: Path) -> None:
    made = files_of(generated)
    assert sorted(made) == ["digits.tflite", "vectors/inputs.bin", "vectors/outputs.bin", "vectors/vectors.json"]
    for name, data in made.items():
        assert (FOLDER / name).read_bytes() == data, f"{name} is not what generate.py makes"


@pytest.mark.long
def test_command_line(
    generated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """--check notices a changed and a missing file and repairs nothing; without it both are written."""
    folder, made = shutil.copytree(generated, tmp_path / "digits"), files_of(generated)
    monkeypatch.setattr(generate, "HERE", folder)
    monkeypatch.setattr(generate, "generate", lambda: made)
    assert generate.main(["--check"]) == 0
    (folder / "vectors" / "outputs.bin").write_bytes(b"")
    (folder / "vectors" / "inputs.bin").unlink()
    assert generate.main(["--check"]) == 1
    assert "not as generated: vectors/inputs.bin, vectors/outputs.bin" in capfd.readouterr().err
    assert not (folder / "vectors" / "inputs.bin").exists()
    assert generate.main(["--chekc"]) == 2
    assert generate.main([]) == 0
    assert files_of(folder) == made


def test_size_and_layers() -> None:
    model = tflite.read(MODEL)
    assert 5_000 <= MODEL.stat().st_size <= 10_000
    assert [operator.kind for operator in model.operators] == [
        "CONV_2D",
        "MAX_POOL_2D",
        "CONV_2D",
        "MAX_POOL_2D",
        "RESHAPE",
        "FULLY_CONNECTED",
        "SOFTMAX",
    ]


@pytest.mark.needs("ai_edge_litert")
def test_golden_outputs_are_those_of_litert() -> None:
    inputs, outputs, described = vectors.read(FOLDER / "vectors")
    assert described["oracle"] == oracle.identity() == "ai-edge-litert 2.3.0 BUILTIN_REF"
    assert len(inputs) == len(outputs) == described["count"] == 20
    computed = oracle.run(MODEL, inputs)
    for expected, got in zip(outputs, computed, strict=True):
        assert [value.tobytes() for value in expected] == [value.tobytes() for value in got]


def test_golden_vectors_tell_the_digits_apart() -> None:
    """Vectors on which a broken kernel gives the right answer are worth nothing."""
    inputs, outputs, _ = vectors.read(FOLDER / "vectors")
    assert len({one[0].tobytes() for one in inputs}) == 20
    assert len({one[0].tobytes() for one in outputs}) == 20
    assert {int(one[0].argmax()) for one in outputs} == set(range(10))
    values = {int(value) for one in outputs for value in one[0].ravel()}
    assert len(values) > 30, "the probabilities are all 0 or 1"


def test_vectors_agree_with_the_model() -> None:
    described = json.loads((FOLDER / "vectors" / "vectors.json").read_text(encoding="utf-8"))
    model = tflite.read(MODEL)
    for key, numbers in (("inputs", model.inputs), ("outputs", model.outputs)):
        tensors = [model.tensors[number] for number in numbers]
        assert described[key] == [
            {"name": t.name, "dtype": t.dtype, "shape": list(t.shape), "bytes": t.bytes} for t in tensors
        ]
        size = (FOLDER / "vectors" / f"{key}.bin").stat().st_size
        assert size == described["count"] * sum(t.bytes for t in tensors)
    assert described["schema"] == 1


@pytest.mark.needs("ai_edge_litert")
def test_accuracy() -> None:
    pictures, labels = synthetic.dataset(generate.HELD_OUT, generate.SEED_HELD_OUT)
    correct = generate.accuracy(MODEL.read_bytes(), pictures, labels)
    assert correct >= 0.95 * len(labels)
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert f"{correct} of {len(labels)} held-out" in readme
    assert f"{MODEL.stat().st_size} bytes" in readme


def test_held_out_pictures_are_not_the_training_ones() -> None:
    training, _ = synthetic.dataset(200, generate.SEED_TRAINING)
    held_out, _ = synthetic.dataset(200, generate.SEED_HELD_OUT)
    assert not {p.tobytes() for p in training} & {p.tobytes() for p in held_out}


@pytest.mark.needs("ai_edge_litert")
def test_integer_layers_are_those_of_litert() -> None:
    pictures, _ = synthetic.dataset(50, 77)
    index = next(t.index for t in tflite.read(MODEL).tensors if t.name == "features")
    traced = oracle.trace(MODEL, [[picture[np.newaxis]] for picture in generate.quantize(pictures)])
    assert np.array_equal(np.concatenate([one[index] for one in traced]), generate.Parameters().features(pictures))


@pytest.mark.parametrize(
    ("real", "expected"),
    [(0.5, (1 << 30, 0)), (1.0, (1 << 30, 1)), (0.75, (3 << 29, 0)), (1 - 2**-40, (1 << 30, 1)), (0.001, None)],
)
def test_quantize_multiplier(real: float, expected: tuple[int, int] | None) -> None:
    fixed, shift = integer.quantize_multiplier(real)
    assert 1 << 30 <= fixed < 1 << 31
    assert abs(fixed * 2.0 ** (shift - 31) - real) <= real * 2**-31
    assert expected in (None, (fixed, shift))


@pytest.mark.parametrize(
    ("value", "expected"), [(1, 1), (-1, 0), (2, 1), (3, 2), (-3, -1), (-5, -2), (5, 3), (7, 4), (-7, -3), (0, 0)]
)
def test_rescale_by_half(value: int, expected: int) -> None:
    """Halves go up in the first rounding, as gemmlowp has it."""
    assert int(integer.rescale(np.array([value]), 1 << 30, 0)[0]) == expected


@pytest.mark.parametrize(("value", "expected"), [(2, 1), (-2, -1), (6, 2), (-6, -2), (5, 2), (-5, -1)])
def test_rescale_by_a_quarter_rounds_twice(value: int, expected: int) -> None:
    """5/4 is 2: half of 5 goes up to 3, half of 3 goes away from zero to 2."""
    assert int(integer.rescale(np.array([value]), 1 << 30, -1)[0]) == expected


@pytest.mark.needs("ai_edge_litert")
# LiteRT takes L2_NORMALIZATION of bytes only with a scale of 1/128.
@pytest.mark.parametrize("kind", sorted({*CASES} - {*HANDLES, "L2_NORMALIZATION"}))
def test_litert_accepts_what_the_writer_writes(kind: str) -> None:
    """And agrees about the shapes of the outputs."""
    make, _ = CASES[kind]
    data = make()
    model = tflite.parse(data, "m.tflite", "m")
    feeds = [np.ones(model.tensors[n].shape, model.tensors[n].dtype) for n in model.inputs]
    (outputs,) = oracle.run(data, [feeds])
    assert [o.shape for o in outputs] == [model.tensors[n].shape for n in model.outputs]
    assert [o.dtype.name for o in outputs] == [model.tensors[n].dtype for n in model.outputs]
    assert make() == data


def test_writer_refuses_options_that_it_does_not_know() -> None:
    writer = ModelWriter()
    x = writer.tensor("x", (1,), "int8", 1.0)
    with pytest.raises(ValueError, match="RELU is written without options"):
        writer.op("RELU", [x], [x], alpha=1)


def test_vectors_of_the_wrong_length_are_noticed(tmp_path: Path) -> None:
    one = [[np.arange(4, dtype=np.int16)]]
    for name, data in vectors.encode(one, one, ["a"], ["b"], "none").items():
        (tmp_path / name).write_bytes(data)
    inputs, outputs, _ = vectors.read(tmp_path)
    assert np.array_equal(inputs[0][0], one[0][0])
    assert np.array_equal(outputs[0][0], one[0][0])
    (tmp_path / "inputs.bin").write_bytes(bytes(10))
    with pytest.raises(ValueError, match="10 bytes where"):
        vectors.read(tmp_path)
