"""A consumer's project with a small pose network and an application that wants a header for it."""

from __future__ import annotations

from pathlib import Path

from support.models.app_configs import wrapper_header, write_application
from support.projects.sconsproject import REPO, Project
from tflite_writer import ModelWriter

SETTINGS = 'use_case="pose_estimation", model_type="movenet", confidence_thresh=0.4'
SOURCES = ("main", "other", "app_postprocess_spe_movenet_uf", "app_postprocess_spe_movenet_ui")
SCONSTRUCT = """\
DefaultEnvironment(tools=[])
env = Environment(
    tools=["gcc", "gnulink"], CC="arm-none-eabi-gcc", LINK="arm-none-eabi-gcc", OBJSUFFIX=".o",
    CCCOMSTR="CC       $TARGET", LINKCOMSTR="LINK     $TARGET", LINKFLAGS=["-nostdlib", "-Wl,--entry=main"],
)
import os
env["ENV"]["PATH"] = os.environ["PATH"]
env.Tool("neuralart", toolpath=["TOOLPATH"])
net = env.Network(
    "pose", model="pose.tflite", board="stm32n6570-dk", input_data_type="uint8", output_data_type="float32"
)
app = env.AppConfig(net, SETTINGS, application="firmware")
paths = ["firmware/Inc", *app.include_dirs]
objects = [env.Object(f"build/{name}.o", f"firmware/Src/{name}.c", CPPPATH=paths) for name in NAMES]
env.Program("build/app.elf", objects)
"""


def wrapper_source(symbol: str) -> str:
    """A source of the wrapper: one of its functions, for one type of output."""
    return (
        '#include "app_postprocess.h"\n#include "app_config.h"\n\n'
        f"#if POSTPROCESS_TYPE == {symbol}\n"
        "int app_postprocess_init(void *parameters)\n{\n    float *values = parameters;\n"
        "    values[0] = AI_SPE_MOVENET_POSTPROC_HEATMAP_WIDTH;\n    values[1] = AI_POSE_PP_CONF_THRESHOLD;\n"
        "    return 0;\n}\n#endif\n"
    )


FILES = {
    "Inc/app_postprocess.h": wrapper_header("n6-v3").replace(", stai_network_info *info", ""),
    "Inc/arm_math.h": "typedef float float32_t;\n",
    "Src/app_postprocess_spe_movenet_uf.c": wrapper_source("POSTPROCESS_SPE_MOVENET_UF"),
    "Src/app_postprocess_spe_movenet_ui.c": wrapper_source("POSTPROCESS_SPE_MOVENET_UI"),
    "Src/main.c": "int app_postprocess_init(void *parameters);\n"
    "int main(void) { float values[2]; return app_postprocess_init(values); }\n",
    "Src/other.c": '#include "own.h"\nint other(void) { return OWN; }\n',
    "Inc/own.h": "#define OWN 1\n",
}
"""All that is in the folder ``firmware``."""
INCLUDERS = frozenset(f"build/{name}.o" for name in SOURCES[2:])


def pose_model() -> bytes:
    """16x16 pixels in, a heatmap of 4x4 for each of three keypoints out."""
    writer = ModelWriter()
    x = writer.tensor("image", (1, 16, 16, 3), "int8", 1 / 255, -128)
    y = writer.tensor("heatmaps", (1, 4, 4, 3), "int8", 1 / 255, -128)
    writer.op("AVERAGE_POOL_2D", [x], [y], padding="VALID", stride_w=4, stride_h=4, filter_width=4, filter_height=4)
    return writer.finish([x], [y])


def write_project(root: Path, settings: str = SETTINGS) -> Project:
    """The project, nothing built."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "pose.tflite").write_bytes(pose_model())
    write_application(root / "firmware", FILES)
    text = SCONSTRUCT.replace("TOOLPATH", (REPO / "site_scons").as_posix()).replace("SETTINGS", settings)
    (root / "SConstruct").write_text(text.replace("NAMES", repr(SOURCES)), "utf-8")
    return Project(root)
