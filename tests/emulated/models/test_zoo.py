"""Other people's models: every layer byte-equal to LiteRT natively, four of them whole on both virtual machines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import oracle
import vectors as golden
from neuralart_reference.model import tflite
from support.cases import layers
from support.host_c import native
from support.models import zoo
from support.projects.sconsproject import Project, copy_sources, shared_objects

SEED = 4
VECTORS = 3

pytestmark = [
    pytest.mark.long,
    pytest.mark.zoo,
    pytest.mark.skipif(bool(zoo.unavailable()), reason=zoo.unavailable() or "they are there"),
]


@pytest.mark.hostcc
@pytest.mark.skipif(bool(native.unavailable()), reason=native.unavailable() or "it does")
@pytest.mark.parametrize("name", zoo.MODELS)
def test_every_layer(name: str, tmp_path: Path) -> None:
    """All tensors are outputs: a layer whose bytes differ is named, and not only what follows from it."""
    assert layers.wrong(zoo.path(name), name, tmp_path, VECTORS) == []


BOARDS = ("stm32n6570-dk", "mps3-an547")
WHOLE = ("anomaly_detection", "image_classification", "keyword_spotting", "rock_paper_scissors")
VARIANTS = """schema: 1
networks:
{networks}
variants:
{variants}
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Four of them as variants on both boards."""
    made = copy_sources(tmp_path_factory.mktemp("zoo") / "tree")
    networks, variants = [], []
    rng = np.random.default_rng(SEED)
    for name in WHOLE:
        folder = made.path(f"models/{name}")
        folder.mkdir()
        (folder / "model.tflite").write_bytes(zoo.path(name).read_bytes())
        model = tflite.read(zoo.path(name))
        inputs = [layers.inputs_of(model, rng) for _ in range(2)]
        outputs = oracle.run(zoo.path(name), inputs)
        names = [[model.tensors[i].name for i in group] for group in (model.inputs, model.outputs)]
        (folder / "vectors").mkdir()
        for file, data in golden.encode(inputs, outputs, *names, oracle.identity()).items():
            (folder / "vectors" / file).write_bytes(data)
        networks.append(f"  {name}: {{model: models/{name}/model.tflite, vectors: models/{name}/vectors}}")
        for board in BOARDS:
            variants.append(f"  {name}-{board}: {{board: {board}, network: {name}}}")
    text = VARIANTS.format(networks="\n".join(networks), variants="\n".join(variants))
    made.path("variants.yaml").write_text(text, "utf-8")
    return made


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.parametrize("name", WHOLE)
def test_whole_network(project: Project, tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    out = project.run(*(f"run-{name}-{board}" for board in BOARDS), env=shared_objects(tmp_path_factory)).out
    assert out.count(f"{name}: 2 vectors bit-exact") == len(BOARDS)
