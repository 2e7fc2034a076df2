"""A consumer's project: a camera application for the STM32H747 and a network that it is fitted to."""

from __future__ import annotations

import shutil
from pathlib import Path

from support.boards.h747_app import ROOT, App
from support.projects.sconsproject import REPO, Project

APP = f"app/{ROOT}"
"""Where the files of the application are."""
COPY = "build/patched/app-"
SCONSTRUCT = """\
import os
DefaultEnvironment(tools=[])
env = Environment(
    tools=["gcc", "gnulink"], CC="arm-none-eabi-gcc", OBJSUFFIX=".o", CCCOMSTR="CC       $TARGET",
    CCFLAGS=["-mcpu=cortex-m7", "--specs=picolibc.specs", "-MD"],
)
env["ENV"]["PATH"] = os.environ["PATH"]
env.Tool("neuralart", toolpath=["TOOLPATH"])
net = env.Network("network", model="digits.tflite", board="stm32h747i-disco")
copy = env.PatchedSources("app", net, KEYWORDS)
paths = [*copy.include_dirs, *net.include_dirs]
for source in copy.sources:
    env.Object("build/obj/" + source.name.replace(".c", ".o"), source, CPPPATH=paths)
"""
KEYWORDS = 'aspect_ratio="fit"'


def write_project(root: Path, keywords: str = KEYWORDS) -> Project:
    """The project, nothing built."""
    root.mkdir(parents=True, exist_ok=True)
    App(root)
    shutil.copy2(REPO / "models" / "digits" / "digits.tflite", root / "digits.tflite")
    text = SCONSTRUCT.replace("TOOLPATH", (REPO / "site_scons").as_posix()).replace("KEYWORDS", keywords)
    (root / "SConstruct").write_text(text, "utf-8")
    return Project(root)
