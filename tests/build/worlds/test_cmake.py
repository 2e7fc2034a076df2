"""find_package(NeuralArt): networks as sources of CMake targets, for this machine and for boards."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from neuralart import cli, toolchain
from neuralart.config.types import ToolchainConfig
from support.boards.plain_qemu import run_in_qemu
from support.models import tflite_edit
from support.projects.sconsproject import REPO
from support.projects.wheels import python_of, python_with_wheel

PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)])
CMAKE, NINJA = shutil.which("cmake", path=PATH), shutil.which("ninja", path=PATH)
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(CMAKE is None or NINJA is None, reason="needs cmake and ninja (pip install cmake ninja)"),
]
CONFIG = REPO / "site_scons/neuralart_bring/cmake"
EXAMPLE = REPO / "examples/cmake"
FINDS = (f"-DNeuralArt_DIR={CONFIG}", f"-DPython3_EXECUTABLE={sys.executable}")


def cmake(folder: Path, *words: str, code: int = 0) -> str:
    """What CMake prints, its errors in one line."""
    done = subprocess.run(
        [str(CMAKE), *words], cwd=folder, env={**os.environ, "PATH": PATH}, capture_output=True, text=True, timeout=300
    )
    assert (done.returncode != 0) == bool(code), done.stdout + done.stderr
    return done.stdout + " ".join(done.stderr.split())


def configure(folder: Path, *words: str, code: int = 0) -> str:
    return cmake(folder, "-G", "Ninja", "-B", "build", *FINDS, *words, code=code)


def build(folder: Path) -> tuple[list[str], list[str]]:
    """Files that a build compiled, and what else it did."""
    said = cmake(folder, "--build", "build")
    steps = re.findall(r"^\[\d+/\d+\] (.+)$", said, re.M)
    compiled = [Path(step.split()[-1]).name for step in steps if step.startswith("Building C ")]
    return compiled, [step for step in steps if not step.startswith("Building C ")]


def said_by(folder: Path) -> str:
    return subprocess.run([folder / "build/doorbell"], capture_output=True, text=True, timeout=20).stdout.strip()


@pytest.mark.hostcc
def test_new_weights_compile_one_file(tmp_path: Path) -> None:
    """With new arguments there are other files; those that nothing needs any more are gone."""
    native = tmp_path / "a door bell"
    shutil.copytree(EXAMPLE, native)
    configure(native)
    assert "digits.c.o" in build(native)[0]
    assert said_by(native) == "doorbell: digit 7"
    assert build(native) == ([], []), "a null build does nothing"
    model = native / "models/digits.tflite"
    model.touch()
    assert build(native) == ([], ["Compiling network digits"]), "the same model gives the same files"
    tflite_edit.reverse_weights(model)
    compiled, others = build(native)
    assert compiled == ["digits_data_params.c.o"]
    assert others[:1] == ["Compiling network digits"] and "Linking" in others[-1]
    assert build(native) == ([], [])
    shutil.copy(EXAMPLE / "models/digits.tflite", model)
    build(native)
    assert said_by(native) == "doorbell: digit 7"
    text = (native / "CMakeLists.txt").read_text("utf-8")
    options = "BOARD ${BOARD} OPTIONS --dispatch-weights .flash=64K)"
    (native / "CMakeLists.txt").write_text(text.replace("BOARD ${BOARD})", options), "utf-8")
    compiled, _ = build(native)
    assert "digits_data_params.c.o" in compiled and "add.c.o" not in compiled
    assert said_by(native) == "doorbell: digit 7" and build(native) == ([], [])


@pytest.mark.hostcc
@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_a_new_tree(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """With Makefiles. CMake finds the wheel by the folder of programs of an environment, which is on PATH if active."""
    folder, model = tmp_path / "doorbell", str(EXAMPLE / "models/digits.tflite")
    assert cli.main(["new", str(folder), "--for", "cmake", "--board", "stm32h747i-disco", "--model", model]) == 0
    python = python_of(python_with_wheel(tmp_path_factory))
    monkeypatch.setattr(sys.modules[__name__], "PATH", os.pathsep.join([str(python.parent), PATH]))
    cmake(folder, "-G", "Unix Makefiles", "-B", "build")
    found = re.search(r"^NeuralArt_DIR:PATH=(.+)$", (folder / "build/CMakeCache.txt").read_text("utf-8"), re.M)
    assert found and Path(found[1]).is_relative_to(python.parents[1])
    cmake(folder, "--build", "build")
    printed = said_by(folder).split()
    assert printed[:2] == ["digit,", "int8:"] and len(printed) == 2 + 10
    assert "Building" not in cmake(folder, "--build", "build")
    tflite_edit.reverse_weights(folder / "models/doorbell.tflite")
    objects = re.findall(r"Building C object \S+/(\S+)", cmake(folder, "--build", "build"))
    assert objects == ["doorbell_data_params.c.o"]


@pytest.fixture(scope="module")
def bell(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, in which CMake looks at the compiler once."""
    return Path(shutil.copytree(EXAMPLE, tmp_path_factory.mktemp("wrong") / "bell"))


AN547 = "doorbell MODEL models/digits.tflite BOARD mps3-an547"


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("doorbell MODEL models/digits.tflite", "takes a target, MODEL file, BOARD name"),
        ("other MODEL models/digits.tflite BOARD stm32n6570-dk", "the target is there before"),
        ("doorbell MODEL models/seven.tflite BOARD stm32n6570-dk", "seven.tflite"),
        ("doorbell MODEL models/digits.tflite BOARD stm32h747", "no board 'stm32h747'"),
        ("doorbell MODEL models/digits.tflite BOARD stm32n6570-dk NAME 7up", "'7up' is not a C identifier"),
        ("doorbell MODEL models/digits.tflite BOARD stm32n6570-dk OPTIONS --nothing", "--nothing"),
        ("doorbell MODEL models/digits.tflite BOARD stm32n6570-dk OPTIONS --name x", "--name is given twice"),
        (f"{AN547})\nneuralart_add_network({AN547}", "it has network digits already"),
    ],
)
def test_wrong_calls(bell: Path, call: str, says: str) -> None:
    text = (EXAMPLE / "CMakeLists.txt").read_text("utf-8")
    text = re.sub(r"neuralart_add_network\(.*\)", f"neuralart_add_network({call})", text)
    (bell / "CMakeLists.txt").write_text(text, "utf-8")
    said = configure(bell, code=1)
    assert says in said and "Traceback" not in said


@pytest.mark.arm
@pytest.mark.qemu
def test_a_board_with_pools(tmp_path: Path) -> None:
    """For QEMU: start-up code, images beside the program, and the same calls as on a core."""
    product = REPO / "examples/consumer-wheel"
    main = (product / "main.c").read_text("utf-8")
    own = (EXAMPLE / "main.c").read_text("utf-8")
    calls = own[own.index("  const neuralart_network_t") : own.index("  const int8_t *scores")]
    calls = re.sub(r"    printf\(.*\n    return 1;", "    return -1;", calls)
    digit = 'return largest((const int8_t *)neuralart_output(digits, "digit")->data, 10);\n}'
    main = re.sub(
        r"(static int recognize\(void\) \{\n).*?\n\}", lambda found: found[1] + calls + digit, main, flags=re.S
    )
    main = re.sub(r"LL_ATON_DECLARE.*\n", "", main).replace('"ll_aton.h"', '"neuralart_networks.h"')
    main = re.sub(r'#include "(digits|npu_memory_init)\.h"\n', "", main)
    for name in ("image.h", "product.ld", "models"):
        (shutil.copytree if name == "models" else shutil.copy)(product / name, tmp_path / name)
    (tmp_path / "main.c").write_text(main, "utf-8")
    found = toolchain.find(ToolchainConfig(), os.environ)
    flags = " ".join(
        ["-mcpu=cortex-m55", "-mfloat-abi=hard", "-mthumb", "-Wall", "-Wextra", "-Werror", *found.libc_flags]
    )
    (tmp_path / "arm.cmake").write_text(
        "set(CMAKE_SYSTEM_NAME Generic)\nset(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)\n"
        f'set(CMAKE_C_COMPILER "{found.folder}/{found.prefix}gcc")\n'
        f'set(CMAKE_C_FLAGS_INIT "{flags} -ffunction-sections")\n'
        "set(CMAKE_FIND_ROOT_PATH /nowhere)\nset(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)\n"
    )
    (tmp_path / "CMakeLists.txt").write_text(
        (EXAMPLE / "CMakeLists.txt").read_text("utf-8")
        + 'target_link_options(doorbell PRIVATE -nostartfiles -Wl,--gc-sections "-T${CMAKE_SOURCE_DIR}/product.ld")\n'
        + "get_target_property(hex doorbell NEURALART_HEX_FILES)\n"
        + 'file(WRITE "${CMAKE_BINARY_DIR}/hex.txt" "${hex}")\n'
    )
    configure(tmp_path, "-DBOARD=mps3-an547", "-DCMAKE_TOOLCHAIN_FILE=arm.cmake")
    build(tmp_path)
    images = [Path(name) for name in (tmp_path / "build/hex.txt").read_text("utf-8").split(";")]
    assert [image.name for image in images] == ["digits.DDRFLASH.hex", "descriptor.hex"]
    assert run_in_qemu(tmp_path / "build/doorbell", images) == "doorbell: digit 7"
    tflite_edit.reverse_weights(tmp_path / "models/digits.tflite")
    before = {path.name: path.read_bytes() for path in images}
    assert build(tmp_path) == ([], ["Compiling network digits"]), "new weights are new images, and no C"
    assert all(path.read_bytes() != before[path.name] for path in images)
    assert json.loads((tmp_path / "build/neuralart/doorbell/manifest.json").read_text())["board"] == "mps3-an547"
