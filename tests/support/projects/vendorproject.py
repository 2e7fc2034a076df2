"""A consumer's repository whose networks are compiled by a made-up ST Edge AI Core, built by a real ``scons``."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from neuralart import toolchain
from neuralart.cli import main
from neuralart.config.types import ToolchainConfig
from support.fake_stedgeai import calls, install, middlewares
from support.models import stedgeai_case
from support.projects.sconsproject import REPO, Project, Result

# Programs and their networks stand in programs.json. An "app" is all C of a program in one object file.
_SCONSTRUCT = f"""\
import json, os
from pathlib import Path

DefaultEnvironment(tools=[])
seen = {{name: text for name, text in os.environ.items() if name == "PATH" or name.startswith("FAKE_")}}
env = Environment(tools=["gcc"], CC="arm-none-eabi-gcc", CCFLAGS=FLAGS, ENV=seen)
env.Replace(CCCOMSTR="CC       $TARGET", OBJSUFFIX=".o")
env.Tool("neuralart", toolpath=[{str(REPO / "site_scons")!r}])
for program, parts in json.loads(Path("programs.json").read_text()).items():
    nets = [env.Network(**each) for each in parts["networks"]]
    out = "out/" + program
    if parts.get("only_networks"):
        continue
    memory = env.MemoryInitializers(*nets, folder=out)
    objects = []
    for net in nets:
        folders = ["ll_aton", *net.include_dirs]
        for node in net.code:
            objects += env.Object(f"{{out}}/{{net.name}}.{{Path(str(node)).name}}.o", node, CPPPATH=folders)
    for node in memory.sources:
        objects += env.Object(f"{{out}}/memory.{{Path(str(node)).name}}.o", node, CPPPATH=[*memory.include_dirs])
    link = Action("arm-none-eabi-gcc -r -nostdlib -o $TARGET $SOURCES", "LINK     $TARGET")
    env.Default(env.Command(out + "/app.o", objects, link))
    env.Default(memory.files)
    for net in nets:
        env.Default(net.files, net.pair.files if net.pair else [])
"""
NETWORK = {
    "name": "net",
    "model": "net.tflite",
    "board": "stm32n6570-dk",
    "compiler": "stedgeai",
    "profile": "blobs@na.json",
}


@dataclass(frozen=True)
class VendorProject(Project):
    """A consumer's folder, and the installation that is named in its environment.

    Attributes:
        core: Root of the installation.
    """

    core: Path = Path()

    def run(self, *args: str, code: int | None = 0, env: dict[str, str] | None = None, timeout: float = 300) -> Result:
        """Call scons; no installation of this machine is seen."""
        mine = {"STEDGEAI_CORE_DIR": str(self.core), "NEURALART_STEDGEAI_ROOTS": str(self.root / "nowhere")}
        return super().run(*args, code=code, env={**mine, **(env or {})}, timeout=timeout)

    def programs(self, **programs: Any) -> None:
        """Say what is built: a list of networks for each program, or more."""
        listed = {name: parts if isinstance(parts, dict) else {"networks": parts} for name, parts in programs.items()}
        self.path("programs.json").write_text(json.dumps(listed, indent=1), "utf-8")

    def compiles(self) -> int:
        """How often the tool compiled."""
        return len(calls(self.core, "generate"))

    def folder(self, name: str = "net") -> Path:
        """The folder of a network that was built once."""
        (found,) = self.path("build/networks").glob(f"{name}-stm32n6570-dk-*")
        return found

    def kept(self) -> dict[str, bytes]:
        """All that was built, but the records of runs and what is only remembered for later."""
        found = self.files("build", "out")
        return {
            name: data for name, data in found.items() if "/.vendor/" not in name and name != "build/.stedgeai.json"
        }


def call(folder: Path, *words: str, **environ: str) -> Result:
    """The command line in this process, as if it were one in a folder with this environment and no other."""
    out, err, status = io.StringIO(), io.StringIO(), None
    with (
        mock.patch.dict(os.environ, environ, clear=True),
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            status = main(words)
        except SystemExit as end:
            status = end.code
    return Result(int(status or 0), out.getvalue(), err.getvalue())


def neuralart(project: VendorProject, *words: str) -> Result:
    """Call the command line in the project's folder."""
    return call(project.root, *words, **{**os.environ, "STEDGEAI_CORE_DIR": str(project.core)})


def network(**changes: Any) -> dict[str, Any]:
    """The network of these projects with some of its keys changed."""
    return {**NETWORK, **changes}


def make(folder: Path, core: Path, version: str = "4.0.1") -> VendorProject:
    """A project with one network, and the installation that compiles it.

    Args:
        folder: Of the project.
        core: Of the installation; it is made unless it is there.
        version: Of the tool.
    """
    if not core.exists():
        middlewares.add(install(core, version), version)
    stedgeai_case.make(folder)
    shutil.copytree(core / "Middlewares/ST/AI/Npu/ll_aton", folder / "ll_aton")
    flags = ["-mcpu=cortex-m55", "-mthumb", "-O1", *toolchain.find(ToolchainConfig(), os.environ).libc_flags]
    (folder / "SConstruct").write_text(f"FLAGS = {flags!r}\n{_SCONSTRUCT}", "utf-8")
    project = VendorProject(folder, core)
    project.programs(app=[NETWORK])
    return project


def copy(project: VendorProject, folder: Path) -> VendorProject:
    """The project in another folder, with the same installation."""
    shutil.copytree(project.root, folder)
    return VendorProject(folder, project.core)


def new_weights(path: Path) -> None:
    """Other bytes of a model, as many as before: weights that were trained on."""
    data = bytearray(path.read_bytes())
    data[64] ^= 0x55
    path.write_bytes(bytes(data))
