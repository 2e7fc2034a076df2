"""What is read from an application's sources: the wrapper's symbols, what it reads, the generation that it expects."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuralart.app_config import application, generations
from neuralart.app_config.generations import GENERATIONS
from neuralart.errors import NeuralArtError
from support.models.app_configs import wrapper_header, wrapper_source, write_application

YOLO = "POSTPROCESS_OD_YOLO_V8_UI"

# The C reader ---------------------------------------------------------------------------------------------------------


# The wrapper ----------------------------------------------------------------------------------------------------------

ONE_FOR_ALL = """\
#include "app_postprocess.h"
static int always[AI_COMMON];
/* AI_IN_A_COMMENT */
#if POSTPROCESS_TYPE == POSTPROCESS_A_UF
static int a[AI_A_BOXES];
#elif (POSTPROCESS_TYPE == POSTPROCESS_B_UF) || (POSTPROCESS_TYPE == POSTPROCESS_B_UI)
static int b[AI_B_BOXES];
#if POSTPROCESS_TYPE == POSTPROCESS_B_UI
static float scale = AI_B_SCALE;
#else
static float none = AI_B_NONE;
#endif
#ifdef AI_B_EXTRA
static int extra[AI_B_EXTRA];
#endif
#else
static int other[AI_OTHER];
#endif
#if !defined(FAST)
static int slow[AI_SLOW];
#endif
"""


@pytest.mark.parametrize(
    ("symbol", "needed", "optional"),
    [
        ("POSTPROCESS_A_UF", {"AI_COMMON", "AI_A_BOXES"}, {"AI_SLOW"}),
        ("POSTPROCESS_B_UF", {"AI_COMMON", "AI_B_BOXES", "AI_B_NONE"}, {"AI_B_EXTRA", "AI_SLOW"}),
        ("POSTPROCESS_B_UI", {"AI_COMMON", "AI_B_BOXES", "AI_B_SCALE"}, {"AI_B_EXTRA", "AI_SLOW"}),
        ("POSTPROCESS_C", {"AI_COMMON", "AI_OTHER"}, {"AI_SLOW"}),
    ],
)
def test_what_is_read_under_a_symbol(symbol: str, needed: set[str], optional: set[str]) -> None:
    got = application.parse(None, [("pp.c", ONE_FOR_ALL)]).reads_under(symbol)
    assert {read.name for read in got if not read.optional} == needed
    assert {read.name for read in got if read.optional} == optional


def test_symbols_with_their_places() -> None:
    header = (
        "#define POSTPROCESS_A_UF (10) /* x */\n#define POSTPROCESS_B  POSTPROCESS_A_UF\n"
        "#define POSTPROCESS_TYPE_X 1\n#define POSTPROCESS_WRAPPER_SECTION\n// #define POSTPROCESS_OLD (3)\n"
        "#define \\\n  POSTPROCESS_SPLIT_UI \\\n  201\n"
    )
    got = application.parse(("inc/pp.h", header), [("pp.c", ONE_FOR_ALL)])
    assert got.symbols == {
        "POSTPROCESS_A_UF": "inc/pp.h:1",
        "POSTPROCESS_B": "inc/pp.h:2",
        "POSTPROCESS_SPLIT_UI": "inc/pp.h:6",
    }
    assert got.numbers == {"POSTPROCESS_A_UF": 10, "POSTPROCESS_SPLIT_UI": 201}
    assert got.tested == {"POSTPROCESS_A_UF": "pp.c:4", "POSTPROCESS_B_UF": "pp.c:6", "POSTPROCESS_B_UI": "pp.c:6"}


@pytest.mark.parametrize("text", ["#endif\n#else\n#elif X\n", "#if POSTPROCESS_TYPE == A\n", "#if\n#elif\n#endif\n"])
def test_directives_that_do_not_pair(text: str) -> None:
    application.parse(("h", text), [("c", text + "AI_X;\n")])


# The application ------------------------------------------------------------------------------------------------------


def tree(tmp_path: Path, files: dict[str, str]) -> application.Application:
    return application.find(write_application(tmp_path / "fw", files), "fw", "v.yaml:3")


H7_SOURCE = (
    '#include "app_postprocess.h"\n#if POSTPROCESS_TYPE == POSTPROCESS_CENTER_NET\n'
    "int x = AI_OBJDETECT_CENTERNET_PP_GRID_WIDTH;\n#elif POSTPROCESS_TYPE == POSTPROCESS_ST_SSD\n"
    "int x = AI_OBJDETECT_SSD_ST_PP_NB_CLASSES;\n#endif\n"
)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        # By the wrapper: its numbers, its runtime, the names that it reads.
        ({"PP/app_postprocess.h": wrapper_header("n6-v3")}, "n6-v3"),
        (
            {
                "app_postprocess.h": "#define POSTPROCESS_A_UF (10)\n",
                "app_postprocess.c": "int f(stai_network_info *i);\n",
            },
            "n6-v3",
        ),
        (
            {
                "Inc/app_postprocess.h": wrapper_header("n6-v2"),
                "Src/app_postprocess_y.c": wrapper_source(YOLO, "AI_OD_YOLOV8_PP_NB_CLASSES"),
            },
            "n6-v2",
        ),
        (
            {
                "Inc/app_postprocess.h": wrapper_header("n6-v1"),
                "Src/app_postprocess.c": wrapper_source(YOLO, "AI_OBJDETECT_YOLOV8_PP_NB_CLASSES"),
            },
            "n6-v1",
        ),
        # POSTPROCESS_CUSTOM has a large number in every wrapper.
        ({"app_postprocess.h": "#define POSTPROCESS_A_UF (10)\n#define POSTPROCESS_CUSTOM (1000)\n"}, "n6-v2"),
        ({"Inc/CM7/app_postprocess.h": wrapper_header("h7"), "Src/CM7/app_postprocess.c": H7_SOURCE}, "h7"),
        # Without a wrapper: what the application's own sources read.
        ({"Src/main.c": "int w = NN_WIDTH;\n"}, "n6-v2"),
        ({"Src/main.c": "int w = STAI_NETWORK_IN_1_WIDTH;\n"}, "n6-v3"),
        ({"Src/main.c": "int w = STAI_NETWORK_IN_1_WIDTH;\n#define NN_WIDTH (1)\n"}, "n6-v3"),
        ({"Src/CM7/app_camera.c": "#if PP_COLOR_MODE == RGB_FORMAT\n#endif\n"}, "h7"),
        ({"Src/net.c": "#if QUANT_INPUT_TYPE == UINT8_FORMAT\n#endif\n"}, "h7"),
        ({"Core/a.c": "char *l[CTRL_X_CUBE_AI_MODE_CLASS_NUMBER] = CTRL_X_CUBE_AI_MODE_CLASS_LIST;\n"}, "audio-v1"),
        ({"Core/a.c": "char *l[CTRL_X_CUBE_AI_MODEL_CLASS_NUMBER];\n"}, "audio-v2"),
        # A header that was generated before, libraries, comments and builds say nothing.
        (
            {
                "Inc/app_config.h": "#define NN_WIDTH (1)\nint x = NN_WIDTH;\n",
                "Drivers/cam/cam.c": "int x = NN_WIDTH;\n",
                "build/main.c": "int x = NN_WIDTH;\n",
                ".git/main.c": "int x = NN_WIDTH;\n",
                "Src/main.c": "/* NN_WIDTH */ int w = STAI_NETWORK_IN_1_HEIGHT;\n",
            },
            "n6-v3",
        ),
    ],
)
def test_the_generation_that_sources_expect(tmp_path: Path, files: dict[str, str], expected: str) -> None:
    assert generations.expected(tree(tmp_path, files)) == expected


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (
            {"Src/main.c": "int main(void) { return 0; }\n"},
            "v.yaml:3: there is no app_postprocess.h below fw, and no source reads a macro of a generated header "
            "(say it: generation: n6-v2, for example)",
        ),
        (
            {"a.c": "int x = QUANT_INPUT_TYPE;\n", "b.c": "int x = STAI_NETWORK_IN_1_WIDTH;\n"},
            "sources of two generations: h7, fw/a.c:1 reads QUANT_INPUT_TYPE; n6-v3, fw/b.c:1 reads "
            "STAI_NETWORK_IN_1_WIDTH",
        ),
        ({"app_postprocess.h": "int x;\n"}, "fw/app_postprocess.h: defines no POSTPROCESS_ symbol"),
        (
            {"app_postprocess_y.c": f"\n#if POSTPROCESS_TYPE == {YOLO}\n#endif\n"},
            f"fw/app_postprocess_y.c:2: compares POSTPROCESS_TYPE with {YOLO}, which no app_postprocess.h defines",
        ),
    ],
)
def test_sources_that_do_not_show_a_generation(tmp_path: Path, files: dict[str, str], said: str) -> None:
    with pytest.raises(NeuralArtError) as caught:
        generations.expected(tree(tmp_path, files), "v.yaml:3")
    assert said in str(caught.value)


def test_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for name in ("none", "file"):
        with pytest.raises(NeuralArtError, match=rf"v.yaml:3: no such folder: {name} \(application: "):
            application.find(tmp_path / name, name, "v.yaml:3")


def test_two_wrappers_are_refused_unless_they_are_equal(tmp_path: Path) -> None:
    files = {"a/app_postprocess.h": wrapper_header("n6-v3"), "b/app_postprocess.h": wrapper_header("n6-v3")}
    assert generations.expected(tree(tmp_path, files)) == "n6-v3"
    with pytest.raises(NeuralArtError) as caught:
        tree(tmp_path, {"b/app_postprocess.h": wrapper_header("n6-v2")})
    assert str(caught.value) == (
        "fw: 2 different app_postprocess.h: a/app_postprocess.h, b/app_postprocess.h "
        "(name the folder of one application)"
    )


def test_a_tree_too_large_to_be_one_application(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application, "MOST_FILES", 2)
    with pytest.raises(NeuralArtError, match="more than 2 C files"):
        tree(tmp_path, {f"{name}.c": "" for name in "abc"})


def test_odd_bytes_and_line_ends(tmp_path: Path) -> None:
    text = wrapper_header("n6-v3").replace("\n", "\r\n")
    write_application(tmp_path / "fw", {"app_postprocess.h": text})
    (tmp_path / "fw" / "x.c").write_bytes(b"\xff\xfe// latin\xe9\nint w = STAI_NETWORK_IN_1_WIDTH;\n")
    got = application.find(tmp_path / "fw", "fw")
    assert got.wrapper is not None and set(got.wrapper.symbols) == set(GENERATIONS["n6-v3"].symbols)
    assert got.reads == {"STAI_NETWORK_IN_1_WIDTH": "fw/x.c:2"}


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("#define AI_X (1)\n", True),
        ("enum { AI_W, AI_X };\n", True),
        ("enum {\n  AI_X = 3,\n};\n", True),
        ("static const float AI_X[2] = {1, 2};\n", True),
        ("/* AI_X */\n", False),
        ("#define AI_Y AI_X\n", False),
        ("int size[AI_X];\n", False),
        ("#define AI_XY (1)\n", False),
    ],
)
def test_what_a_library_defines(tmp_path: Path, text: str, given: bool) -> None:
    assert tree(tmp_path, {"Middlewares/lib.h": text, "Inc/app_config.h": "#define AI_X\n"}).provides("AI_X") is given
