"""A network of float32, and one with a quantized part and a float one, on the virtual boards: LiteRT's bytes."""

from __future__ import annotations

import numpy as np
import pytest

import oracle
import vectors as golden
from support.sconsproject import Project, copy_sources
from tflite_writer import ModelWriter

pytestmark = [pytest.mark.long, pytest.mark.arm, pytest.mark.qemu, pytest.mark.needs("ai_edge_litert")]
BOARDS = ("stm32n6570-dk", "stm32h747i-disco", "mps3-an547", "mps2-an500")
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


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = copy_sources(tmp_path_factory.mktemp("floats") / "tree")
    networks, variants = [], []
    for name in ("whole", "mixed"):
        folder = made.path(f"models/{name}")
        (folder / "vectors").mkdir(parents=True)
        data, rng = network(name == "mixed"), np.random.default_rng(4)
        (folder / "model.tflite").write_bytes(data)
        shape = (1, SIZE, SIZE, 3)
        inputs = [
            [rng.integers(-128, 128, shape).astype(np.int8) if name == "mixed" else rng.random(shape, np.float32)]
            for _ in range(2)
        ]
        outputs = oracle.run(data, inputs)
        assert len(np.unique(outputs[0][0])) == CLASSES and outputs[0][0].tobytes() != outputs[1][0].tobytes()
        for file, text in golden.encode(inputs, outputs, ["image"], ["result"], oracle.identity()).items():
            (folder / "vectors" / file).write_bytes(text)
        networks.append(f"  {name}: {{model: models/{name}/model.tflite, vectors: models/{name}/vectors}}")
        for board in BOARDS:
            core = board in ("stm32h747i-disco", "mps2-an500")
            more = ", patch: {aspect_ratio: fit}" if core else ""  # The application is that of a camera
            variants.append(f"  {name}-{board}: {{board: {board}, network: {name}{more}}}")
    lines = ["schema: 1", "networks:", *networks, "variants:", *variants, ""]
    made.path("variants.yaml").write_text("\n".join(lines), "utf-8")
    return made


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("name", ["whole", "mixed"])
def test_bytes_are_those_of_litert(project: Project, name: str, board: str) -> None:
    assert "2 vectors bit-exact" in project.run(f"run-{name}-{board}").out
