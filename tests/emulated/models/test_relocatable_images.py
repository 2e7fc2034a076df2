"""Built images, executed: installed at two places, in both modes, by a loader of the test's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from neuralart.relocatable.build import builder
from neuralart.relocatable.build.request import BuildRequest
from neuralart.relocatable.format.container import parse
from neuralart.relocatable.format.types import Image
from neuralart.relocatable.verify.verifier import verify
from neuralart.resources import board_data_dir
from support.projects.compile_answers import relocatable_objects
from support.relocatable.rel_networks import MODELS, compile_digits, compile_model

pytest.importorskip("unicorn")
pytestmark = [pytest.mark.arm, pytest.mark.long]

KINDS = {
    "internal": (("AXISRAM3", "AXISRAM5"), "AXISRAM5", ()),
    "flash": (("AXISRAM3", "xSPI2"), "xSPI2", ("xSPI2",)),
    "external": (("xSPI1", "xSPI2"), "xSPI2", ("xSPI1", "xSPI2")),
    "mixed": (("xSPI1",), "xSPI1", ("xSPI1",)),
}
PLACES = (
    {"file": 0x71000000, "ram": 0x34064000, "external": 0x90000000, "params": 0x71800000},
    {"file": 0x7123A580, "ram": 0x341CA5C0, "external": 0x90A40040, "params": 0x92345680},
)


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    root: Path = tmp_path_factory.mktemp("images")
    made: dict[tuple[str, bool, bool], Image] = {}

    def get(kind: str, split: bool, debug_info: bool = True) -> Image:
        key = (kind, split, debug_info)
        if key not in made:
            pools, constants, relative = KINDS[kind]
            folder = root / kind
            code = folder / "network.c"
            if not code.is_file():
                compile_digits(folder, *pools, constants=constants, relative=relative)
            request = BuildRequest(
                code,
                folder / "out",
                "network",
                split=split,
                debug_info=debug_info,
                objects=relocatable_objects(root / "objects"),
            )
            built = builder.build(request)
            made[key] = parse(built.container.image, "network_rel.bin", built.container.params)
        return made[key]

    return get


def golden() -> list[tuple[bytes, bytes]]:
    folder = MODELS / "digits" / "vectors"
    inputs, outputs = (folder / "inputs.bin").read_bytes(), (folder / "outputs.bin").read_bytes()
    return [(inputs[256 * n : 256 * (n + 1)], outputs[10 * n : 10 * (n + 1)]) for n in range(len(outputs) // 10)]


@pytest.mark.parametrize("split", [False, True], ids=["combined", "split"])
@pytest.mark.parametrize("copy", [False, True], ids=["xip", "copy"])
@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_outputs_are_golden(images, kind: str, place: int, copy: bool, split: bool) -> None:
    from support.relocatable.rel_machine import Machine, Model

    image, at = images(kind, split), dict(PLACES[place])
    if not split:
        del at["params"]
    model = Model(Machine(), image, copy=copy, **at)
    for pixels, expected in golden()[:5]:
        assert model.run(pixels) == expected


def test_two_models_at_once(images) -> None:
    """Two copies of one image do not know of each other."""
    from support.relocatable.rel_machine import Machine, Model

    machine, image = Machine(), images("external", False)
    models = [Model(machine, image, file=p["file"], ram=p["ram"], external=p["external"]) for p in PLACES]
    for number, (pixels, expected) in enumerate(golden()):
        assert models[number % 2].run(pixels) == expected


def test_a_wrong_weight_changes_the_output(images) -> None:
    """The vectors depend on the params: what is compared is not left over from anywhere."""
    from dataclasses import replace

    from support.relocatable.rel_machine import Machine, Model

    image = images("external", False)
    start = image.header["params_offset"]
    data = image.data[:start] + bytes(len(image.data) - start)
    model = Model(Machine(), replace(image, data=data), **{k: v for k, v in PLACES[0].items() if k != "params"})
    assert any(model.run(pixels) != expected for pixels, expected in golden()[:5])


def test_getters_without_the_data_base(images) -> None:
    """Loaders call the getters of encryption with r9 = 0; internal buffers are not exported."""
    from support.relocatable.rel_machine import Machine, Model

    model = Model(Machine(), images("flash", False), file=0x71000000, ram=0x34064000)
    for name in ("weight_encryption_info", "blob_encryption_info", "get_internal_buffers_info"):
        assert model.machine.call(model.entries[name], 0) == 0


def vectors(model: str) -> list[tuple[bytes, bytes]]:
    """Golden inputs and outputs of a model with one of each."""
    folder = MODELS / model / "vectors"
    inputs, outputs = (folder / "inputs.bin").read_bytes(), (folder / "outputs.bin").read_bytes()
    about = json.loads((folder / "vectors.json").read_text("utf-8"))
    x, y = about["inputs"][0]["bytes"], about["outputs"][0]["bytes"]
    return [(inputs[x * n : x * (n + 1)], outputs[y * n : y * (n + 1)]) for n in range(about["count"])]


STOCK = {
    "external": MODELS / "digits" / "pools" / "external.mpool",
    **{
        board: board_data_dir() / "pools" / f"{board}-relocatable.mpool"
        for board in ("stm32n6570-dk", "nucleo-n657x0-q", "mps3-an547")
    },
}


@pytest.mark.parametrize("copy", [False, True], ids=["xip", "copy"])
@pytest.mark.parametrize("pools", STOCK)
def test_pools_that_are_part_of_the_package(tmp_path_factory, pools: str, copy: bool) -> None:
    from support.relocatable.rel_machine import Machine, Model

    root = tmp_path_factory.getbasetemp() / "stock"
    code = compile_model("digits", STOCK[pools], root / pools)
    built = builder.build(
        BuildRequest(code, root / pools / "out", "network", objects=relocatable_objects(root / "objects"))
    )
    image = parse(built.container.image, "network_rel.bin")
    assert [finding for finding in verify(image) if finding.check == "relocations" or finding.level == "error"] == []
    at = {key: place for key, place in PLACES[1].items() if key != "params"}
    model = Model(Machine(), image, copy=copy, **at)
    assert all(model.run(pixels) == expected for pixels, expected in vectors("digits")[:3])


def test_mobilenet(tmp_path) -> None:
    from support.relocatable.rel_machine import Machine, Model

    code = compile_model("mobilenet", STOCK["stm32n6570-dk"], tmp_path / "net")
    built = builder.build(BuildRequest(code, tmp_path / "out", "network"))
    image = parse(built.container.image, "network_rel.bin")
    assert [finding for finding in verify(image) if finding.check == "relocations" or finding.level == "error"] == []
    assert [pool.notation for pool in image.pools] == ["RELOC.PARAM.0.RCACHED", "RESET.ACTIV.WRITE"]
    model = Model(Machine(), image, file=0x71000000, ram=0x34064000)
    pixels, expected = vectors("mobilenet")[0]
    assert model.run(pixels) == expected
