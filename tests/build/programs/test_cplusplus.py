"""Programs in C++ use the runtime and generated headers: each public one as C++17 and as C, with all warnings.

That a C++ file asks for functions by their C names is read from its object: a name that C++ has decorated is an error.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from neuralart.app_config import audio
from neuralart.cli import main
from neuralart.config.app_config import AudioConfig
from neuralart.relocatable.build.build_cli import header_h
from neuralart.relocatable.format.container import parse
from support.cases.small_models import CASES
from support.projects.sconsproject import REPO, Project
from support.relocatable.rel_images import build as relocatable_image

RUNTIME = REPO / "firmware/runtime"
FOLDERS = (RUNTIME / "include", RUNTIME / "legacy/include")
CORE = ["-mcpu=cortex-m55", "-mfloat-abi=hard"]
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-Wcast-align", "-Wundef"]
CXX = ["arm-none-eabi-g++", "-std=c++17", "-fno-exceptions", "-fno-rtti", *CORE, *WARNINGS]
C = ["arm-none-eabi-gcc", "-std=c11", "-Wbad-function-cast", "-Wstrict-prototypes", *CORE, *WARNINGS]
_DECLARED = re.compile(r"^(?!typedef|static|#)[a-zA-Z_][\w \t\n*]*?[ *](\w+)\([^;{}()]*\);", re.M)
_COMMENT = re.compile(r"/\*.*?\*/", re.S)

pytestmark = pytest.mark.long


def compiles(words: list[str], source: Path, folders: list[Path]) -> set[str]:
    """Names that an object asks for. AssertionError: the compiler says something."""
    made = source.with_suffix(".o")
    include = [word for folder in folders for word in ("-I", str(folder))]
    done = subprocess.run([*words, *include, "-c", str(source), "-o", str(made)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    asked = subprocess.run(["arm-none-eabi-nm", "-u", str(made)], capture_output=True, text=True, check=True)
    return {line.split()[-1] for line in asked.stdout.splitlines()}


def check(tmp_path: Path, header: Path, folders: list[Path], head: str = "") -> set[str]:
    """Compile a file that uses all functions of a header, in both languages."""
    text = _COMMENT.sub("", header.read_text("utf-8"))
    names = set(_DECLARED.findall(re.sub(r"^#define (?:.*\\\n)*.*", "", text, flags=re.M)))
    uses = "".join(f"  use((void (*)(void))&{name});\n" for name in sorted(names))
    own = f"void use(void (*function)(void));\nvoid all(void);\nvoid all(void) {{\n{uses}}}\n"
    body = f'{head}#include "{header.name}"\n%s{own}%s'
    quiet = ["-Wno-cast-function-type"]  # of this file, which takes their addresses
    (tmp_path / "use.cpp").write_text(body % ('extern "C" {\n', "}\n"), "utf-8")
    asked = compiles([*CXX, *quiet], tmp_path / "use.cpp", folders)
    (tmp_path / "use_c.c").write_text(body % ("", ""), "utf-8")
    assert compiles([*C, *quiet], tmp_path / "use_c.c", folders) == asked
    assert asked == (names | {"use"} if names else set())
    return names


@pytest.mark.parametrize(
    "header", [path for folder in FOLDERS for path in sorted(folder.glob("*.h"))], ids=lambda p: p.name
)
def test_a_header_of_the_runtime(tmp_path: Path, header: Path) -> None:
    # Families of kernels are parts of one header.
    head = '#include "neuralart_kernels.h"\n' if header.name.startswith("neuralart_kernels_") else ""
    check(tmp_path, header, list(FOLDERS), head)


def test_headers_of_a_build(template: Project, tmp_path: Path) -> None:
    made = sorted((template.root / "build").rglob("*.h"))
    assert {"network_io.h", "npu_memory_init.h", "board_config.h", "digits.h"} <= {path.name for path in made}
    found = [check(tmp_path, path, [path.parent, *FOLDERS]) for path in made]
    assert {"npu_memory_init"} in found


@pytest.mark.parametrize(("board", "functions"), [("stm32n6570-dk", 1), ("stm32h747i-disco", 14)])
def test_headers_of_a_network_with_a_state(tmp_path: Path, board: str, functions: int) -> None:
    (tmp_path / "keyword.tflite").write_bytes(CASES["SVDF"][0]())
    words = ["-m", f"{tmp_path}/keyword.tflite", "--target", board, "-o", f"{tmp_path}/out"]
    assert main(["compile", "--quiet", *words]) == 0
    made = sorted((tmp_path / "out").glob("*.h"))
    names = set[str]().union(*(check(tmp_path, path, [path.parent, *FOLDERS]) for path in made))
    assert len(names) >= functions and any("reset" in name.lower() for name in names)


def test_the_instance_of_a_network_is_declared_in_a_cplusplus_file(tmp_path: Path) -> None:
    text = '#include "ll_aton.h"\nLL_ATON_DECLARE_NAMED_NN_INSTANCE_AND_INTERFACE(digits);\n'
    text += "bool start();\nbool start() { return LL_ATON_RT_Init_Network(&NN_Instance_digits); }\n"
    (tmp_path / "use.cpp").write_text(text, "utf-8")
    for more in ([], ["-DLL_ATON_RT_RELOC"]):
        asked = compiles([*CXX, *more], tmp_path / "use.cpp", list(FOLDERS))
        assert {"LL_ATON_EpochBlockItems_digits", "LL_ATON_EC_Network_Init_digits"} <= asked
        assert not [name for name in asked if name.startswith("_Z")]


def test_buffers_of_a_core_network_in_a_cplusplus_file(tmp_path: Path) -> None:
    text = """#include "ai_platform.h"
static ai_u8 memory[64];
extern "C" void *place(void);
extern "C" ai_network_params made(void) {
  const ai_handle data = AI_HANDLE_PTR(memory);
  const ai_buffer one =
      AI_BUFFER_INIT(AI_FLAG_NONE, AI_BUFFER_FORMAT_U8, AI_BUFFER_SHAPE_NONE, sizeof memory, NULL, data);
  ai_network_params both = AI_NETWORK_PARAMS_INIT(one, one);
  both.params.data = AI_HANDLE_PTR(AI_PTR(place()));
  return both;
}
"""
    (tmp_path / "use.cpp").write_text(text, "utf-8")
    assert "place" in compiles(CXX, tmp_path / "use.cpp", list(FOLDERS))
    plain = text.replace('extern "C" ', "").replace("made(void) {", "made(void);\nai_network_params made(void) {")
    (tmp_path / "use_c.c").write_text(plain, "utf-8")
    assert "place" in compiles(C, tmp_path / "use_c.c", list(FOLDERS))


def test_header_of_a_relocatable_model(tmp_path: Path) -> None:
    built = relocatable_image()
    (tmp_path / "pose_rel.h").write_text(header_h("pose", parse(bytes(built.data), built.params)), "utf-8")
    assert check(tmp_path, tmp_path / "pose_rel.h", []) == {"ai_pose_reloc_img_get"}


def test_headers_of_an_audio_application(tmp_path: Path) -> None:
    settings = AudioConfig(n_mels=64, patch_length=96, n_fft=512, window_length=400)
    (tmp_path / "user_mel_tables.h").write_text(audio.tables(settings, "float32_t")["user_mel_tables.h"], "utf-8")
    (tmp_path / "arm_math.h").write_text("#include <stdint.h>\ntypedef float float32_t;\n", "utf-8")
    check(tmp_path, tmp_path / "user_mel_tables.h", [tmp_path])


@pytest.mark.parametrize("header", sorted((REPO / "tests/golden/app_config").glob("*.h")), ids=lambda p: p.stem)
def test_app_config(tmp_path: Path, header: Path) -> None:
    (tmp_path / "arm_math.h").write_text("#include <stdint.h>\ntypedef float float32_t;\n", "utf-8")
    check(tmp_path, header, [header.parent, tmp_path])
