"""Whole headers: golden files, what a compiler makes of them, templates of users.

``NEURALART_UPDATE_GOLDEN=1`` writes the golden files anew.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from neuralart.app_config import generate, render
from neuralart.app_config.generations import GENERATIONS
from neuralart.app_config.kinds import KINDS
from neuralart.errors import NeuralArtError
from support.models import app_configs as made
from support.models.app_configs import Case, wrapper_header
from support.servers.messages import flat

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "app_config"
ALL = [pytest.param(case, generation, id=f"{case.name}-{generation}") for case, generation in made.possible()]


def header(case: Case, generation: str, **changes) -> generate.Header:
    return generate.header(case.config, case.tensors, generation=generation, **changes)


@pytest.mark.parametrize(("case", "generation"), ALL)
def test_golden(case: Case, generation: str) -> None:
    got = header(case, generation, model_name=f"{case.name}.tflite")
    assert got.name == GENERATIONS[generation].header
    path = GOLDEN / f"{case.name}-{generation}.h"
    if os.environ.get("NEURALART_UPDATE_GOLDEN"):
        path.write_bytes(got.text.encode())
    assert got.text == path.read_text("utf-8")


def test_every_golden_file_is_used() -> None:
    assert {path.stem for path in GOLDEN.glob("*")} == {f"{case.name}-{g}" for case, g in made.possible()}


def test_the_movenet_example() -> None:
    """Input 192x192, 13 keypoints, heatmaps 48x48, threshold 0.4: every macro of the header, and no other."""
    text = header(made.MOVENET, "n6-v2", model_name="st_movenet_lightning_heatmaps_192_int8_pc.tflite").text
    found = re.findall(r"^#define (\w+) *(.*)$", text, re.M)
    assert found == [
        ("APP_CONFIG", ""),
        ("USE_DCACHE", ""),
        ("CAMERA_FLIP", "CMW_MIRRORFLIP_NONE"),
        ("ASPECT_RATIO_CROP", "(1)"),
        ("ASPECT_RATIO_FIT", "(2)"),
        ("ASPECT_RATIO_FULLSCREEN", "(3)"),
        ("ASPECT_RATIO_MODE", "ASPECT_RATIO_CROP"),
        ("CAPTURE_FORMAT", "DCMIPP_PIXEL_PACKER_FORMAT_RGB565_1"),
        ("CAPTURE_BPP", "2"),
        ("CAMERA_WIDTH", "0"),
        ("CAMERA_HEIGHT", "0"),
        ("LCD_FG_WIDTH", "800"),
        ("LCD_FG_HEIGHT", "480"),
        ("LCD_FG_FRAMEBUFFER_SIZE", "(LCD_FG_WIDTH * LCD_FG_HEIGHT * 2)"),
        ("NN_WIDTH", "(192)"),
        ("NN_HEIGHT", "(192)"),
        ("NN_BPP", "3"),
        ("POSTPROCESS_TYPE", "POSTPROCESS_SPE_MOVENET_UF"),
        ("COLOR_BGR", "(0)"),
        ("COLOR_RGB", "(1)"),
        ("COLOR_MODE", "COLOR_RGB"),
        ("AI_SPE_MOVENET_POSTPROC_HEATMAP_WIDTH", "(48)"),
        ("AI_SPE_MOVENET_POSTPROC_HEATMAP_HEIGHT", "(48)"),
        ("AI_SPE_MOVENET_POSTPROC_NB_KEYPOINTS", "(13)"),
        ("AI_POSE_PP_POSE_KEYPOINTS_NB", "(13)"),
        ("AI_POSE_PP_CONF_THRESHOLD", "(0.4f)"),
        ("WELCOME_MSG_1", '"st_movenet_lightning_heatmaps_192_int8_pc.tflite"'),
        ("WELCOME_MSG_2", '"Model runs on the STM32"'),
    ]


@pytest.mark.parametrize(("case", "generation"), ALL)
def test_form(case: Case, generation: str) -> None:
    """What editors and compilers stumble over: tabs, blanks at line ends, a macro that runs into the next line."""
    got = header(case, generation)
    for text in (got.text, *got.companions.values()):
        assert text.isascii() and text.endswith("\n") and not text.endswith("\n\n")
        assert not re.search(r"[ \t]\n|\t|\r|\n\n\n", text)
        assert not re.search(r"\\\n\n|\\\n#|\\\n\Z", text)
    ids = re.findall(r"^#define (\w+)", got.text, re.M)
    assert len(ids) == len(set(ids))
    # A symbol, never its number; only the STM32H747's header numbers the symbols itself.
    assert not re.search(r"define POSTPROCESS_TYPE +\(?\d", got.text)
    assert generation == "h7" or not re.search(r"define POSTPROCESS_(?!TYPE)", got.text)


def test_the_same_bytes_from_another_process_and_folder(tmp_path: Path) -> None:
    script = (
        "import hashlib\nfrom support.models import app_configs as made\nfrom neuralart.app_config import generate\n"
        "d = hashlib.sha256()\nfor case, generation in made.possible():\n"
        "    h = generate.header(case.config, case.tensors, generation=generation)\n"
        "    d.update(repr((h.text, sorted(h.companions.items()), h.notes)).encode())\nprint(d.hexdigest())\n"
    )
    digests = set()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for seed, folder in (("0", tmp_path), ("1", elsewhere)):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        words = [sys.executable, "-c", script]
        digests.add(subprocess.run(words, cwd=folder, env=env, check=True, capture_output=True, text=True).stdout)
    assert len(digests) == 1


# A compiler's opinion -------------------------------------------------------------------------------------------------

ARM_MATH = "#ifndef ARM_MATH_H\n#define ARM_MATH_H\n#include <stdint.h>\ntypedef float float32_t;\n#endif\n"
SOUND = (
    "enum { CTRL_AI_CLASS_DISTRIBUTION, COM_TYPE_MIC, CTRL_AI_SPECTROGRAM_LOG_MEL, MEL_HTK, MEL_SLANEY,\n"
    "SPECTRUM_TYPE_MAGNITUDE, SPECTRUM_TYPE_POWER, LOGMELSPECTROGRAM_SCALE_LOG, LOGMELSPECTROGRAM_SCALE_DB,\n"
    "CTRL_CMD_PARAM_AI };\n"
)


def program(case: Case, generation: str, got: generate.Header) -> str:
    """A program that prints every number and text of a header, as the compiler sees them."""
    lines = ["#include <stdio.h>", '#include "app_postprocess.h"', SOUND, f'#include "{got.name}"']
    lines += [f'#include "{name}"' for name in got.companions if name.endswith(".h")]
    lines += ["int main(void) {"]
    if got.symbol:
        lines += [f"#if POSTPROCESS_TYPE != {got.symbol}", "#error the symbol is unknown here", "#endif"]
    if generation.startswith("audio"):
        lines += [
            "static const char *const names[CTRL_X_CUBE_AI_CLASSES] = CTRL_X_CUBE_AI_LIST;".replace(
                "CTRL_X_CUBE_AI_CLASSES", next(iter(re.findall(r"(\w+_CLASS_NUMBER)", got.text)))
            ).replace("CTRL_X_CUBE_AI_LIST", next(iter(re.findall(r"(\w+_CLASS_LIST)", got.text)))),
            "static const int sequence[] = CTRL_SEQUENCE; (void)sequence;",
            'for (unsigned i = 0; i < sizeof names / sizeof *names; i++) printf("class %s\\n", names[i]);',
        ]
    elif "CLASSES_TABLE" in got.text:
        lines += ["static CLASSES_TABLE;"]
        lines += ['for (unsigned i = 0; i < NB_CLASSES; i++) printf("class %s\\n", classes_table[i]);']
    for name, value in re.findall(
        r"^#define ((?:AI_|NB_|INPUT_|CTRL_X\w+_SPECTRO|CTRL_X\w+_OOD)\w*) +(\(.*\))$", got.text, re.M
    ):
        if re.search(r"\d|_WIDTH \*", value):
            lines.append(f'printf("{name} %.9g\\n", (double)({name}));')
    for name, size in re.findall(r"^static const float(?:32_t)? (\w+)\[(.*?)\]", got.text, re.M):
        lines.append(f'for (int i = 0; i < {size}; i++) printf("{name} %.9g\\n", (double){name}[i]);')
    if "WELCOME_MSG_1" in got.text:
        lines.append('printf("%s\\n%s\\n", WELCOME_MSG_1, WELCOME_MSG_2);')
    return "\n".join([*lines, "return 0; }", ""])


@pytest.mark.hostcc
@pytest.mark.parametrize(("case", "generation"), ALL)
def test_a_compiler_takes_it_and_sees_the_values(case: Case, generation: str, tmp_path: Path) -> None:
    got = header(case, generation)
    numbered = wrapper_header(generation) if not generation.startswith("audio") else ""
    stub = "typedef struct { int none; } stai_network_info;\n"
    files = {
        "arm_math.h": ARM_MATH,
        "app_postprocess.h": stub + numbered,
        got.name: got.text,
        "main.c": program(case, generation, got),
        **got.companions,
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    sources = [name for name in files if name.endswith(".c")]
    words = ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-trigraphs", "-I.", *sources, "-o", "program"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    printed = subprocess.run(["./program"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    rows = printed.splitlines()
    names = case.config.class_names
    if case is made.SSD:
        names = ("background", *names)
    if case is made.FACES:
        names = ("face",)
    if generation.startswith("audio"):
        names = tuple(sorted(names))
    assert tuple(row[6:] for row in rows if row.startswith("class ")) == names
    seen = {row.split()[0]: row.split()[1] for row in rows if row.startswith(("AI_", "CTRL_"))}
    # The greeting comes last, and stands in headers of the N6 only.
    assert rows[-2:] == ["network", "Model runs on the STM32"] or not generation.startswith("n6")
    for end, wanted in (("_CONF_THRESHOLD", case.config.confidence_thresh), ("_IOU_THRESHOLD", case.config.nms_thresh)):
        for value in (value for name, value in seen.items() if name.endswith(end)):
            assert float(value) == pytest.approx(wanted, rel=1e-7)
    if case is made.YOLO_V2:
        assert next(value for name, value in seen.items() if name.endswith("NB_INPUT_BOXES")) == "91"
        assert [float(r.split()[1]) for r in rows if "_ANCHORS " in r and "NB_" not in r] == pytest.approx(
            case.config.anchors, rel=1e-6
        )
    if case is made.AUDIO:
        assert seen["CTRL_X_CUBE_AI_SPECTROGRAM_NFFT"] == "512" and seen["CTRL_X_CUBE_AI_OOD_THR"] == "0.5"


@pytest.mark.hostcc
def test_the_greeting_of_the_nucleo_compiles(tmp_path: Path) -> None:
    got = header(made.MOVENET, "n6-v3", board="nucleo-n657x0-q", narrow_display=True)
    main = '#include <stdio.h>\n#include "app_config.h"\n'
    main += "int main(void) { puts(WELCOME_MSG_2[0]); puts(WELCOME_MSG_2[1]); }\n"
    for name, text in {"app_config.h": got.text, "arm_math.h": ARM_MATH, "main.c": main}.items():
        (tmp_path / name).write_text(text)
    subprocess.run(["cc", "-std=c11", "-Wall", "-Werror", "-I.", "main.c", "-o", "p"], cwd=tmp_path, check=True)
    printed = subprocess.run(["./p"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert printed == "Model runs on\nthe STM32\n"


# Templates of users ---------------------------------------------------------------------------------------------------


def with_template(tmp_path: Path, text: str | bytes, case: Case = made.MOVENET, generation: str = "n6-v2") -> str:
    path = tmp_path / "mine.h.j2"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return header(case, generation, template=path, template_display="mine.h.j2").text


def test_a_template_that_extends_ours(tmp_path: Path) -> None:
    plain = header(made.MOVENET, "n6-v2").text
    text = with_template(
        tmp_path,
        "{% extends default_template %}\n"
        "{% block camera %}\n{{ super() }}#define CAMERA_FPS {{ 30 | cint }}\n{% endblock %}\n"
        "{% block welcome %}\n\n#define WELCOME_MSG_1 {{ ('network ' + network) | cstring }}\n{% endblock %}\n",
    )
    assert "#define CAMERA_FLIP CMW_MIRRORFLIP_NONE\n#define CAMERA_FPS (30)\n" in text
    assert text.endswith('\n#define WELCOME_MSG_1 "network network"\n\n#endif\n')
    assert set(plain.splitlines()) - set(text.splitlines()) == {
        '#define WELCOME_MSG_1 "network"',
        '#define WELCOME_MSG_2 "Model runs on the STM32"',
    }


def test_a_template_may_name_ours_and_stand_alone(tmp_path: Path) -> None:
    assert with_template(tmp_path, '{% extends "pose_movenet.h.j2" %}') == header(made.MOVENET, "n6-v2").text
    assert with_template(tmp_path, "/* {{ size.width }} {{ outputs[0].shape[3] }} */") == "/* 192 13 */\n"
    assert with_template(tmp_path, "\ufeffa  \r\nb\r\n\r\n".encode()) == "a\nb\n"


@pytest.mark.parametrize("name", render.names())
def test_every_template_of_ours_can_be_extended(tmp_path: Path, name: str) -> None:
    cases = {case.config.use_case: (case, generation) for case, generation in made.possible()}
    fitting = [
        (c, g)
        for c, g in made.possible()
        if name in (KINDS[c.config.use_case, c.config.model_type].template, GENERATIONS[g].layout)
    ]
    for case, generation in fitting or [cases["object_detection"]]:
        assert with_template(tmp_path, f'{{% extends "{name}" %}}', case, generation)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ok\n{% extends default_template", "mine.h.j2:2: template: unexpected end of template"),
        ("{% block a %}\n", "mine.h.j2:1: template: Unexpected end of template"),
        ("\n\n{{ netwrok }}", "mine.h.j2:3: template: 'netwrok' is undefined"),
        ("{{ values.widht }}", "mine.h.j2:1: template: 'dict object' has no attribute 'widht'"),
        ("a\n{{ outputs[7] }}", "mine.h.j2:2: template: "),
        ("a\n{{ 1 // 0 }}", "mine.h.j2:2: template: "),
        ("a\n{{ 'x' + 1 }}", "mine.h.j2:2: template: "),
        ("a\n{{ 1e99 | cfloat }}", "mine.h.j2:2: template: 1e+99 is too large for a float32"),
        ("a\n{{ 1 | cfloatt }}", "mine.h.j2:2: template: No filter named 'cfloatt'"),
        ("a\n{{ 'x' | cint }}", "mine.h.j2:2: template: invalid literal for int()"),
        ('{% extends "pose.h.j2" %}', "template: there is no 'pose.h.j2' (extend one of: default_template (here pose_"),
        ('x\n{% include "../secret" %}', "mine.h.j2:2: template: there is no '../secret'"),
        ('{% extends "mine.h.j2" %}', "mine.h.j2: template: it extends or includes itself"),
        ("a\n{{ ''.__class__.__mro__ }}", "mine.h.j2:2: template: access to attribute '__class__'"),
        (
            "{% extends default_template %}\n{% block camera %}\n{{ x }}\n{% endblock %}",
            "mine.h.j2:3: template: 'x' is",
        ),
        (b"ok\n\xff", "mine.h.j2:2: byte 0xff is not UTF-8 (save the file as UTF-8)"),
    ],
)
def test_a_template_that_is_wrong_is_one_line_with_its_place(tmp_path: Path, text: str | bytes, said: str) -> None:
    with pytest.raises(NeuralArtError) as caught:
        with_template(tmp_path, text)
    message = flat(str(caught.value))
    assert said in message and message.startswith("mine.h.j2")


def test_no_template(tmp_path: Path) -> None:
    with pytest.raises(NeuralArtError, match=r"^t.h.j2: cannot read"):
        header(made.MOVENET, "n6-v2", template=tmp_path / "none", template_display="t.h.j2")


def test_a_name_cannot_end_the_comment(tmp_path: Path) -> None:
    case = replace(made.MOVENET, tensors=replace(made.MOVENET.tensors, network="x */ #error\n??/"))
    first = header(case, "n6-v2").text.splitlines()[0]
    assert first.count("*/") == 1 and first.endswith(" */") and "??/" not in first
