"""Relocatable models for the vendor's runtime on the virtual NPU: in both modes as the network that is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuralart import boards, cli
from neuralart.compilers.stedgeai.facts_of import npu_facts
from neuralart.errors import NeuralArtError
from neuralart.flashing.nor import Nor, chip_of
from neuralart.network import facts
from neuralart.relocatable.format import container, load_table
from neuralart.vendor.network_c.read import read
from neuralart_virtual.emulator import RunFailure, runner
from neuralart_virtual.emulator import vectors as golden
from neuralart_virtual.npu.relocatable import InstalledModel, install, network_of
from neuralart_virtual.npu.run import load
from support.npu import npu_network as made
from support.npu import npu_relocatable
from support.relocatable import rel_images

BOARD = boards.load("stm32n6570-dk", [])
WEIGHTS = made.Weights()
MODES = ("copy", "xip")


def built(**how: Any) -> rel_images.Built:
    return rel_images.build(npu_relocatable.recipe(WEIGHTS, **how))


def loaded(mode: str, data: rel_images.Built | None = None) -> InstalledModel:
    found = data or built()
    params = found.params if found.word("params_offset") == 0 else None
    return install(container.parse(bytes(found.data), "made_rel.bin", params), BOARD, mode)


def compiled(folder: Path, *, controller: bool) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{made.NAME}.c"
    path.write_text(npu_relocatable.network_c(WEIGHTS, controller=controller), encoding="utf-8")
    return path


def alone(folder: Path) -> bytes:
    """What the same network computes that is not relocatable."""
    network = load(made.write(folder, controller=False))
    network.set_input("image", made.image())
    return network.run().outputs["scores"].tobytes()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("external", [False, True])
@pytest.mark.parametrize("controller", [False, True])
def test_outputs_are_those_of_the_network_that_is_not_relocatable(
    tmp_path: Path, mode: str, external: bool, controller: bool
) -> None:
    """Constants in flash, and those that are copied to external RAM; structures, and the programs of the image."""
    model = loaded(mode, built(external=external))
    network = network_of(model, compiled(tmp_path / "rel", controller=controller))
    network.set_input("image", made.image())
    run = network.run()
    assert run.outputs["scores"].tobytes() == alone(tmp_path / "alone")
    assert [epoch.label for epoch in run.epochs] == ["1", "2", "3", "4", "5", "6"]
    assert (model.bases["xSPI2"] == 0x90000000) == external
    code = {step.rpartition(" at ")[2] if mode == "xip" else "" for step in model.steps if step.startswith("code:")}
    assert code == {"0x71000000" if mode == "xip" else ""}


@pytest.mark.parametrize("mode", MODES)
def test_an_image_alone_whose_epochs_are_programs(tmp_path: Path, mode: str) -> None:
    """Its tables say what its network is."""
    network = network_of(loaded(mode), None)
    network.set_input("image", made.image())
    run = network.run()
    other = load(made.write(tmp_path, controller=True))
    other.set_input("image", made.image())
    other.run()
    expected = other.memory.view(made.RAM + made.AVERAGE, made.COUNT).tobytes()
    assert run.outputs["average"].tobytes() == expected and run.outputs["average"].shape == (1, 1, 1, made.COUNT)
    assert [epoch.label for epoch in run.epochs] == ["1", "2", "3", "4"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("split", [False, True])
def test_programs_in_front_of_the_constants(tmp_path: Path, mode: str, split: bool) -> None:
    """As ecblob-in-params makes them: the offset of the pool does not count the programs."""
    front = npu_relocatable.program(WEIGHTS)
    network = network_of(loaded(mode, built(blobs=(), front=front, split=split)), compiled(tmp_path, controller=True))
    network.set_input("image", made.image())
    assert network.run().outputs["scores"].tobytes() == alone(tmp_path / "alone")


@pytest.mark.parametrize("mode", MODES)
def test_split_and_other_headers(mode: str) -> None:
    for how in ({"split": True}, {"words": 26, "version": (1, 1, 3, 8), "description": "atonn-v1.1.3-8 (RELOC.GCC)"}):
        network = network_of(loaded(mode, built(**how)), None)
        network.set_input("image", made.image())
        assert network.run().outputs["average"].any()


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"flags": (0x17, 0x23)}, "epoch 5 (SW) is computed by code of the image, which is not executed"),
        ({"flags": (0x17, 0x43)}, "epoch 5 (HYBRID) is computed by code of the image, which is not executed"),
        ({"flags": (0x13,)}, "epoch 4 (HW) sets up its units by code of the image, which is not executed"),
        ({"getters": ()}, "get_epoch_items is code of another form than gcc's for a table, and code is not executed"),
        ({"blobs": ()}, "has no program that begins with epoch 1 of made_rel.bin (is it the image of this network.c?)"),
    ],
)
def test_an_image_alone_that_cannot_be_executed(how: dict[str, Any], said: str) -> None:
    with pytest.raises(NeuralArtError) as refused:
        network_of(loaded("xip", built(**how)), None)
    assert said in str(refused.value) and "\n" not in refused.value.what


def test_the_image_of_another_network(tmp_path: Path) -> None:
    path = compiled(tmp_path, controller=True)
    path.write_text(path.read_text("utf-8").replace("_mem_pool_xSPI2", "_mem_pool_xSPI1").replace("=xSPI2", "=xSPI1"))
    with pytest.raises(NeuralArtError, match=r"made\.c: the relocatable model has no pool xSPI1"):
        network_of(loaded("copy"), path)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda data: data.data.__setitem__(-1, data.data[-1] ^ 1), "CRC"),
        (lambda data: data.put("pool1.dst", 0x60000000), "pool AXISRAM5 at 0x60000000: 1568 bytes at 0x6"),
    ],
)
def test_an_image_that_no_loader_takes(spoil: Callable[[rel_images.Built], Any], said: str) -> None:
    data = built()
    spoil(data)
    with pytest.raises(NeuralArtError) as refused:
        loaded("xip", data)
    assert said in str(refused.value)


# ---- from a flash, by its load table


def flash(data: bytes, mode: Sequence[str], at: int = 0x71000000) -> Nor:
    nor = Nor(chip_of(BOARD))
    for address, content in ((at, data), (load_table.VENDOR_PLACE, load_table.make(mode, [(0x71000000, 0)]))):
        nor.program(address - nor.chip.base, content)
    return nor


def one(folder: Path) -> runner.NetworkRun:
    """A network as a build has it, beside golden vectors of the network that is not relocatable."""
    place = compiled(folder / "networks/made", controller=True)
    network = npu_facts("made", read(place, place.name), None, {"xSPI2": made.SIZE})
    place.with_name("network.json").write_text(facts.to_json(network), encoding="utf-8")
    image = golden.VectorTensor("image", "int8", (1, made.SIDE, made.SIDE, made.DEPTH), made.IN_ELEMENTS)
    scores = golden.VectorTensor("scores", "float32", (1, 1, 1, made.COUNT), 4 * made.COUNT)
    golden.write(
        folder / "golden",
        golden.Vectors("", (image,), (scores,), (made.image(),), (alone(folder / "alone"),)),
        "the test",
    )
    model = folder / "network_rel.bin"
    model.write_bytes(bytes(built().data))
    return runner.NetworkRun(place.with_name("network.json"), folder / "golden", model)


@pytest.mark.parametrize("mode", [("copy",), ("xip",), ("copy", "clear")])
def test_loaded_from_flash(tmp_path: Path, mode: Sequence[str]) -> None:
    """What ``load-`` and ``run-`` of a variant do; outputs are equal to the byte."""
    network = one(tmp_path)
    result = runner.run_loaded(BOARD, flash(bytes(built().data), mode), [network])
    (found,) = result.networks
    assert (found.name, found.vectors, found.how) == ("made", 1, "bit-exact")
    assert result.note == f"loaded in mode {mode[0]}" and "a model, not the chip; no time" in found.note


@pytest.mark.parametrize(
    ("data", "at", "said"),
    [
        (b"", 0x71000000, "the flash at 0x71000000 does not hold this model: "),
        (bytes(built().data), 0x71100000, "the flash at 0x71000000 does not hold this model: "),
        (
            bytes(rel_images.build(npu_relocatable.recipe(made.Weights(np.random.default_rng(8)))).data),
            0x71000000,
            "the flash at 0x71000000 does not hold this model: ",
        ),
    ],
)
def test_what_is_not_in_flash(tmp_path: Path, data: bytes, at: int, said: str) -> None:
    """Forgotten, at another address, of another training."""
    with pytest.raises(RunFailure) as failed:
        runner.run_loaded(BOARD, flash(data, ["copy"], at), [one(tmp_path)])
    assert said in str(failed.value) and "(flash- writes it)" in str(failed.value)


def test_a_flash_without_a_load_table(tmp_path: Path) -> None:
    with pytest.raises(RunFailure, match=r"load table at 0x70fff000.*: no load table: nothing was written there"):
        runner.run_loaded(BOARD, Nor(chip_of(BOARD)), [one(tmp_path)])


# ---- on the command line


@pytest.mark.parametrize("mode", MODES)
def test_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str], mode: str) -> None:
    data = built(split=True)
    (tmp_path / "net_rel.bin").write_bytes(bytes(data.data))
    words = ["npu", str(tmp_path / "net_rel.bin"), "--mode", mode]
    assert cli.main(words) == 1
    assert "net_rel_params.bin" in capsys.readouterr().err
    (tmp_path / "net_rel_params.bin").write_bytes(data.params)
    assert cli.main(words) == 0
    assert "made: 4 epochs on the NPU, 0 in software, " in capsys.readouterr().out
    assert cli.main([*words, "--description", str(compiled(tmp_path, controller=False))]) == 0
    assert "made: 4 epochs on the NPU, 2 in software, " in capsys.readouterr().out
    assert cli.main([*words, "--board", "mps3-an547"]) == 1
    assert "pool AXISRAM5 at 0x342e0000: 1568 bytes at 0x342e0000: no memory is there" in capsys.readouterr().err


def test_run_without_an_image(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    network = one(tmp_path)
    nor = tmp_path / "chip.nor"
    flash(bytes(built().data), ["xip"]).save(nor)
    words = ["run", "--board", "stm32n6570-dk", "--network", str(network.network), "--nor", str(nor)]
    assert cli.main(words) == 1
    assert "no image to run: give --elf (or --model with --plan or --nor" in capsys.readouterr().err
    words += ["--model", str(network.model), "--vectors", str(tmp_path / "golden")]
    assert cli.main(words) == 0
    assert "made: 1 vectors bit-exact on unicorn (the virtual NPU executes" in capsys.readouterr().out
