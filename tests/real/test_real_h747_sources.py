"""Patching on real camera applications for the STM32H747I-DISCO; NEURALART_REAL_DATA names a folder that has some.

Wanted are whole applications: a folder with ``Application/STM32H747I-DISCO`` in it, or several of them.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from neuralart import cli
from neuralart_bring.linker_script import read as linker_script
from neuralart_bring.patching import plan
from support.boards.h747_app import FILES, INTERFACE, MAIN_C, MAIN_H, ROOT, START, STOP, FakeNetwork, FakePool, tree

DATA = Path(os.environ.get("NEURALART_REAL_DATA") or "/nonexistent")
APPLICATIONS = sorted(path.parents[len(Path(ROOT, MAIN_C).parts) - 1] for path in DATA.rglob(f"{ROOT}/{MAIN_C}"))
POOL_FILES = sorted(DATA.rglob("mempools_STM32H7*.json"))

pytestmark = pytest.mark.real
needs_sources = pytest.mark.skipif(not APPLICATIONS, reason=f"no {ROOT}/{MAIN_C} in NEURALART_REAL_DATA")

ONE = FakeNetwork([FakePool("heap_overlay_pool", 123_456, 1)])
TWO = FakeNetwork(
    [FakePool("AXIRAM", 311_996, 2), FakePool("SDRAM", 266_256, 1)], (3, 416, 400), ("CH", "H", "W"), "SDRAM"
)
THREE = FakeNetwork(
    [FakePool("DTCMRAM", 18_428, 1), FakePool("AXIRAM", 311_996, 2), FakePool("SDRAM", 266_256, 3)],
    (96, 96, 1),
    input_pool="AXIRAM",
)


def each(test):
    names = [path.relative_to(DATA).as_posix() for path in APPLICATIONS]
    return needs_sources(pytest.mark.parametrize("application", APPLICATIONS or [None], ids=names or ["none"])(test))


def copy(application: Path, place: Path) -> Path:
    """The application; its linker script and memory-pool file with it."""
    shutil.copytree(application / ROOT, place / ROOT)
    for path in application.glob("mempools_*.json"):
        shutil.copy(path, place)
    for path in (place, *place.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)  # data folders are read only
    return place


def expected(lines: list[str], network: FakeNetwork, path: str, mode: str) -> list[str]:
    """The contract, line by line, as said of applications of this kind (sections of images are looked at elsewhere)."""
    numbered = sorted(network.pools, key=lambda pool: pool.number)
    names = ["AXIRAM" if pool.name == "heap_overlay_pool" else pool.name for pool in numbered]
    height, width = (dict(zip(network.axes, network.shape, strict=True))[axis] for axis in "HW")
    small = {"crop": (240, 240), "padding": (320, 320), "fit": (320, 240)}[mode]
    size = "QVGA" if width <= small[0] and height <= small[1] else "VGA"
    macros = {
        "#define CAMERA_RESOLUTION ": f"(CAMERA_R{'320x240' if size == 'QVGA' else '640x480'})",
        "#define CAM_RES_WIDTH ": f"({size}_RES_{'HEIGHT' if mode == 'crop' else 'WIDTH'})",
        "#define CAM_RES_HEIGHT ": f"({size}_RES_HEIGHT)",
    }
    block: list[str] = []
    if path == MAIN_C:
        for pool, name in zip(numbered, names, strict=True):
            macro = f"AI_ACTIVATION_{pool.number}_SIZE_BYTES"
            block += [
                f'__attribute__((section(".NN_Activation_Buffer_{name}")))',
                "__attribute__ ((aligned (32)))",
                f"static uint8_t NN_Activation_Buffer_{name}[{macro} + 32 - ({macro}%32)];",
            ]
        listed = "".join(f"NN_Activation_Buffer_{name}, " for name in names)
        block += [f"ai_handle NN_Activation_Buffer[AI_ACTIVATION_BUFFERS_COUNT] = {{ {listed}}};", ""]
    if path == INTERFACE:
        where = network.input_pool or network.pools[0].name
        number = next(pool.number for pool in network.pools if pool.name == where)
        block += [
            f"#define AI_NETWORK_INPUTS_IN_ACTIVATIONS_INDEX {number - 1}",
            f"#define AI_NETWORK_INPUTS_IN_ACTIVATIONS_SIZE AI_ACTIVATION_{number}_SIZE_BYTES",
            "",
        ]
    made = [
        next((start + value for start, value in macros.items() if path == MAIN_H and line.startswith(start)), line)
        for line in lines
    ]
    return made if path == MAIN_H else [*made[: made.index(START) + 1], *block, *made[made.index(STOP) :]]


def lines_of(path: Path) -> list[str]:
    return path.read_bytes().decode("latin-1").replace("\r\n", "\n").split("\n")


def without_images(lines: list[str]) -> list[str]:
    return [line for line in lines if "_Buffer_" not in line or "Image_Buffer" not in line]


@each
@pytest.mark.parametrize("mode", ["crop", "padding", "fit"])
@pytest.mark.parametrize("network", [ONE, TWO, THREE], ids=["one", "two", "three"])
def test_patch_diff_restore(application: Path, network: FakeNetwork, mode: str, tmp_path: Path, capsys) -> None:
    app = copy(application, tmp_path / "app")
    folder = network.write(tmp_path / "network")
    before = tree(app)
    words = ["tool", "patch", str(app), "--network", str(folder), "--aspect-ratio", mode]
    originals = {path: lines_of(app / ROOT / path) for path in FILES}

    assert cli.main([*words, "--diff"]) == 0
    shown = capsys.readouterr().out
    assert tree(app) == before
    assert cli.main([*words, "--in-place"]) == 0
    for path in FILES:
        found = [line for line in lines_of(app / ROOT / path) if not line.startswith("/* neuralart patch ")]
        wanted = expected(originals[path], network, path, mode)
        assert without_images(found) == without_images(wanted)
        changed = [line for line in found if line not in originals[path]]
        assert all(f"+{line}\n" in shown for line in changed)
    text = "\n".join(lines_of(app / ROOT / MAIN_C))
    assert text.count('section(".CapturedImage_Buffer_') == text.count('section(".RescaledImage_Buffer_') == 1

    once = tree(app)
    assert cli.main([*words, "--in-place"]) == 0
    assert tree(app) == once
    assert cli.main(["tool", "patch", str(app), "--restore"]) == 0
    assert tree(app) == before

    # Out of tree the same bytes come out, and the tree stays.
    assert cli.main([*words, "--output", str(tmp_path / "out")]) == 0
    assert tree(app) == before
    out = tree(tmp_path / "out")
    for path in FILES:
        assert out[path] == once[f"{ROOT}/{path}"]
    assert cli.main([*words, "--output", str(tmp_path / "out"), "--check"]) == 0


@each
def test_linker_script(application: Path) -> None:
    paths = sorted((application / ROOT).rglob("*CM7.ld"))
    assert paths
    for path in paths:
        script = linker_script.read(path)
        for pool in ("DTCMRAM", "AXIRAM", "SDRAM"):
            assert script.place(f".NN_Activation_Buffer_{pool}").name == pool
        for image in ("Captured", "Rescaled"):
            for place in ("AXIRAM", "SDRAM"):
                assert script.place(f".{image}Image_Buffer_{place}").name == place
        stack = script.stack()
        assert stack is not None and stack[0].name == "AXIRAM"


@pytest.mark.parametrize("path", POOL_FILES, ids=lambda path: path.relative_to(DATA).as_posix())
def test_pool_files(path: Path) -> None:
    sizes = plan.read_pool_sizes(path)
    assert sizes and all(size % 1024 == 0 for size in sizes.values())
