"""Networks of float32, and ones with a quantized part and a float one, on the virtual boards: what LiteRT computes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import oracle
import vectors as golden
from neuralart_reference.model import tflite
from support.models.float_twins import twin
from support.projects.sconsproject import Project, copy_sources, shared_objects
from tflite_writer import ModelWriter

pytestmark = [pytest.mark.long, pytest.mark.arm, pytest.mark.qemu, pytest.mark.needs("ai_edge_litert")]
MODELS = Path(__file__).parents[3] / "models"
OWN = ("digits", "mobilenet", "heatmap", "detector")
BOARDS = ("stm32n6570-dk", "stm32h747i-disco", "mps3-an547", "mps2-an500")
TWIN_BOARDS = BOARDS[:3]
SIZE, CLASSES = 16, 5


def network(mixed: bool) -> bytes:
    """Convolutions, pools, a fully connected layer and a softmax of a picture; ``mixed``: convolutions in int8."""
    rng, writer = np.random.default_rng(8), ModelWriter()
    dtype = "int8" if mixed else "float32"

    def tensor(name: str, *shape: int, scale: float = 0.05, dtype: str = dtype) -> int:
        return writer.tensor(name, shape, dtype, scale if dtype == "int8" else None)

    def layer(kind: str, source: int, target: int, shape: tuple[int, ...], axis: int, stride: int) -> None:
        count = shape[axis]
        if mixed:
            w = writer.tensor(f"w{target}", shape, "int8", 0.01, 0, rng.integers(-127, 128, shape), axis)
            scale = 0.01 * (1 / 255 if source == 0 else 0.05)
            b = writer.tensor(f"b{target}", (count,), "int32", scale, 0, rng.integers(-99, 99, count))
        else:
            w = writer.tensor(f"w{target}", shape, "float32", data=rng.normal(0, 0.5, shape).astype(np.float32))
            b = writer.tensor(f"b{target}", (count,), "float32", data=rng.normal(0, 1, count).astype(np.float32))
        options = {"padding": "SAME", "stride_h": stride, "stride_w": stride, "fused_activation_function": "RELU6"}
        writer.op(kind, [source, w, b], [target], **options)

    x = tensor("image", 1, SIZE, SIZE, 3, scale=1 / 255)
    first, second = tensor("first", 1, 8, 8, 6), tensor("second", 1, 8, 8, 6)
    layer("CONV_2D", x, first, (6, 3, 3, 3), 0, 2)
    layer("DEPTHWISE_CONV_2D", first, second, (1, 3, 3, 6), 3, 1)
    third = tensor("third", 1, 4, 4, 6)
    writer.op(
        "MAX_POOL_2D", [second], [third], padding="VALID", stride_h=2, stride_w=2, filter_height=2, filter_width=2
    )
    real = third
    if mixed:
        real = tensor("real", 1, 4, 4, 6, dtype="float32")
        writer.op("DEQUANTIZE", [third], [real])
    mean, scores, result = (
        tensor(name, 1, *shape, dtype="float32")
        for name, shape in (("mean", (2, 2, 6)), ("scores", (CLASSES,)), ("result", (CLASSES,)))
    )
    writer.op(
        "AVERAGE_POOL_2D", [real], [mean], padding="VALID", stride_h=2, stride_w=2, filter_height=2, filter_width=2
    )
    weights = rng.normal(0, 0.4, (CLASSES, 24)).astype(np.float32)
    bias = writer.tensor("fb", (CLASSES,), "float32", data=rng.normal(0, 1, CLASSES).astype(np.float32))
    writer.op("FULLY_CONNECTED", [mean, writer.tensor("fw", (CLASSES, 24), "float32", data=weights), bias], [scores])
    writer.op("SOFTMAX", [scores], [result], beta=1.0)
    return writer.finish([x], [result])


def _project(folder: Path, models: dict[str, bytes], boards: Sequence[str], count: int, check: str = "") -> Project:
    """Each model for each board, with one or two vectors of LiteRT's results."""
    made = copy_sources(folder / "tree")
    networks, variants = [], []
    for name, data in models.items():
        place, rng = made.path(f"models/{name}"), np.random.default_rng(4)
        (place / "vectors").mkdir(parents=True)
        (place / "model.tflite").write_bytes(data)
        ends = oracle.interpreter(data)
        (asked,), results = ends.get_input_details(), ends.get_output_details()
        whole = asked["dtype"] is np.float32
        inputs = [
            [
                rng.random(asked["shape"], np.float32)
                if whole
                else rng.integers(-128, 128, asked["shape"]).astype(np.int8)
            ]
            for _ in range(2)
        ]
        outputs = oracle.run(data, inputs)
        assert all(len(np.unique(value)) >= CLASSES for value in outputs[0])
        assert outputs[0][0].tobytes() != outputs[1][0].tobytes()
        names = [asked["name"]], [result["name"] for result in results]
        for file, text in golden.encode(inputs[:count], outputs[:count], *names, oracle.identity()).items():
            (place / "vectors" / file).write_bytes(text)
        networks.append(f"  {name}: {{model: models/{name}/model.tflite, vectors: models/{name}/vectors{check}}}")
        for board in boards:
            core = board in ("stm32h747i-disco", "mps2-an500")
            # The application is that of a camera; it leaves the float heatmap 32 bytes too few.
            reserve = ", reserve: {DTCMRAM: 7K}" if name == "heatmap_float" else ""
            more = f", patch: {{aspect_ratio: fit{reserve}}}" if core else ""
            variants.append(f"  {name}-{board}: {{board: {board}, network: {name}{more}}}")
    lines = ["schema: 1", "networks:", *networks, "variants:", *variants, ""]
    made.path("variants.yaml").write_text("\n".join(lines), "utf-8")
    return made


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    models = {"whole": network(False), "mixed": network(True)}
    return _project(tmp_path_factory.mktemp("floats"), models, BOARDS, 2)


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return shared_objects(tmp_path_factory)


@pytest.mark.parametrize("name", ["whole", "mixed"])
def test_bytes_are_those_of_litert(project: Project, objects: dict[str, str], name: str) -> None:
    out = project.run(*(f"run-{name}-{board}" for board in BOARDS), env=objects).out
    assert out.count("2 vectors bit-exact") == len(BOARDS)


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Project:
    models = {}
    for name in OWN:
        path = MODELS / name / f"{name}.tflite"
        middle = len(tflite.read(path).operators) // 2
        models |= {f"{name}_float": twin(path), f"{name}_mixed": twin(path, middle)}
    # The last steps of a logistic depend on the C library of LiteRT.
    return _project(tmp_path_factory.mktemp("twins"), models, TWIN_BOARDS, 1, ", check: {rmse: 1.0e-6}")


@pytest.mark.parametrize("name", OWN)
def test_twins_of_our_models(twins: Project, objects: dict[str, str], name: str) -> None:
    """All in float32, and from the middle on. One vector: that nothing is left of the one before, others hold."""
    runs = [f"run-{name}_{form}-{board}" for form in ("float", "mixed") for board in TWIN_BOARDS]
    assert twins.run(*runs, env=objects).out.count("1 vectors") == len(runs)
