"""What variants have in common is declared, compiled and worked out once."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from SCons.Platform import posix

from neuralart.config.types import NetworkConfig, VariantConfig
from neuralart.scons import project
from neuralart.scons.paths import direct
from neuralart.toolchain import Toolchain
from support.projects import graphs


def _objects(env: Any, name: str, **changes: Any) -> set[str]:
    networks = (NetworkConfig("digits", "models/digits.tflite"),)
    made = env.NeuralArtVariant(VariantConfig(name, "", "stm32n6570-dk", "", networks, **changes))
    return {str(node) for node in made.firmware.elf.sources}


def test_an_application_has_its_start_alone(env: Any, gcc: Toolchain) -> None:
    one, two = _objects(env, "one"), _objects(env, "two")
    own = {"app/main.o", "app/start.o", "app_networks.o", "npu_memory_init.o"}
    assert one - two == {f"build/one/{name}" for name in own}
    assert two - one == {f"build/two/{name}" for name in own}
    (shared,) = [name for name in one & two if name.endswith("/app/host_link.o")]
    (words,) = graphs.commands(env.File(shared))
    assert not [word for word in words if word.startswith("-Ibuild/")], "no header of a variant"
    assert shared not in _objects(env, "three", defines=("MORE",)), "other flags, other objects"


def test_the_runtime_below_a_network_is_named_for_who_asks(env: Any, tree: Path) -> None:
    def named() -> list[str]:
        return [name for name in env.fs.Root[""]._lookupDict if "networks/digits-" in name and "/runtime/" in name]

    net = env.Network("digits", model="models/digits.tflite", board="stm32n6570-dk")
    assert not named()
    first = net.runtime_sources
    assert len(first) > 40 and len(named()) > 40
    assert all(one is other for one, other in zip(first, net.sources[1:], strict=True)), "declared once"


def test_what_counts_of_a_command_outlives_it(env: Any) -> None:
    env.Command("out.txt", [], "command $TARGET")
    executor = env.File("out.txt").get_executor()
    counts = executor.get_contents()
    executor.get_unignored_sources(None)
    assert len(executor._memo) > 1
    project._cleanup(executor)
    assert executor._memo == {"get_contents": counts} and counts == b"command out.txt"


@pytest.mark.skipif(not Path("/bin/sh").exists(), reason="no POSIX shell")
def test_a_shell_starts_where_it_has_something_to_do(tmp_path: Path) -> None:
    env = {"PATH": str(tmp_path)}
    (tmp_path / "program").symlink_to("/bin/echo")
    plain, captured = direct(posix.subprocess_spawn), direct(posix.piped_env_spawn)
    with (tmp_path / "said").open("w") as said:
        for words in (["program", "-I.", "a=b"], ["program", '"a b"']):
            assert captured("sh", None, " ".join(words), words, env, said, subprocess.STDOUT) == 0
    assert (tmp_path / "said").read_text() == "-I. a=b\na b\n"
    for words in (["program", ">x"], ["nothing"]):
        with pytest.raises(FileNotFoundError, match="'sh'"):
            plain("sh", None, words[0], words, env)
    with pytest.raises(FileNotFoundError, match="'other'"):
        plain("other", None, "program", ["program"], env)
    assert direct(print) is print, "a user's own stays"
