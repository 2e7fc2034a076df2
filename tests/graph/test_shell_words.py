"""What a shell sees of our commands: whole words in quotes, whatever users write into any of them.

SCons joins the words of a command to one text for ``sh -c``. Here that text is made as SCons makes it, for every
command of a variant, and taken apart again as a shell does.
"""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import SCons.Action
import SCons.Errors
import SCons.Subst

from neuralart import boards, toolchain
from neuralart.config.application import MAKE, SOURCES, ApplicationConfig, ExternalConfig, SourcesConfig
from neuralart.config.patch import PatchConfig
from neuralart.config.types import NetworkConfig, RelocatableConfig, ToolchainConfig, VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.resources import board_data_dir
from neuralart.scons import paths
from support.projects import graphs

pytestmark = [pytest.mark.usefixtures("gcc"), pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell")]
EVIL = "$(touch x) `touch x` ; touch x > x * ? ' \" # & | ${TARGET} $$ \\ ~ !\nend"
NAME = EVIL.replace("\n", " ")
# What stands as it is: no shell, whichever, gives a meaning to these letters.
PLAIN = re.compile(r"[A-Za-z0-9_.,:+@%/=-]+", re.ASCII)
MODEL = "models/digits.tflite"
MINE = """\
schema: 1
base: stm32n6570-dk
title: Mine
machines:
  unicorn:
    cpu_flags: [-mcpu=cortex-m33, "-DX=;touch$IFS`x`>x"]
    model: cortex-m33
    isa: Armv8-M
    note: none
    cpuid: 0x410fd210
"""


def shell_texts(node: Any) -> list[str]:
    """What the shell gets to see to make a node, as SCons's ``CommandAction`` puts it together."""
    executor = node.get_executor()
    env = executor.get_build_env()
    texts = []
    for action in graphs.actions(node):
        if isinstance(action, SCons.Action.CommandAction):
            lines, _, _ = action.process(executor.get_all_targets(), executor.get_all_sources(), env, executor)
            for line in lines:
                words = SCons.Subst.escape_list(line, shlex.quote)
                for given, word in zip(line, words, strict=True):
                    # In double quotes SCons puts what has blanks and is no literal: a shell expands those.
                    assert PLAIN.fullmatch(word) or word == shlex.quote(str(given)), f"{node}: {word}"
                assert shlex.split(" ".join(words)) == [str(word) for word in line]
                texts.append(" ".join(words))
    return texts


def check(made: Any, *seen: str) -> None:
    """All commands behind a variant, and each of these texts is in one of them, as a part of a word."""
    texts = [text for node in graphs.built_nodes([made.alias[0], *made.effects["run"]]) for text in shell_texts(node)]
    assert texts
    for text in seen:
        assert any(text in word for each in texts for word in shlex.split(each)), text


@pytest.fixture
def evil(tree: Path) -> Path:
    """Folders and files of a user with all that in their names."""
    folder = tree / "models" / NAME
    folder.mkdir()
    (tree / MODEL).rename(folder / f"{NAME}.tflite")
    pools = board_data_dir() / "pools" / "stm32n6570-dk.mpool"
    (folder / f"{NAME}.mpool").write_text(pools.read_text("utf-8"), "utf-8")
    (tree / "mine.yaml").write_text(MINE, "utf-8")
    return folder


def network(folder: Path, **changes: Any) -> NetworkConfig:
    given: dict[str, Any] = {"vectors": str(folder), "mpool": str(folder / f"{NAME}.mpool"), **changes}
    return NetworkConfig("digits", str(folder / f"{NAME}.tflite"), **given)


def variant(*networks: NetworkConfig, **changes: Any) -> VariantConfig:
    return replace(VariantConfig("v", NAME, "stm32n6570-dk", "", networks), **changes)


def test_the_check_finds_what_it_is_for(make_env: Any) -> None:
    env = make_env()
    for words in (["echo", NAME], ["echo", "$(touch", "x)"], "echo `touch x`", "echo 'a b'; touch x"):
        (node,) = env.Command("x", [], words if isinstance(words, str) else [words])
        with pytest.raises(AssertionError):
            shell_texts(node)
        node.builder = None


def test_a_variant(env: Any, evil: Path) -> None:
    options = (f"--st-extra={EVIL}", f"--other={NAME}")
    made = env.NeuralArtVariant(variant(network(evil, options=options), defines=(f"TEXT={NAME}",)))
    check(made, *options, f"-DTEXT={NAME}", f"/{NAME}.tflite", f"/{NAME}.mpool")


def test_words_for_profiles(env: Any, evil: Path) -> None:
    net = network(evil, mpool="", profile_add=(f"--enable={EVIL}",), profile_remove=(f"--disable={EVIL}",))
    check(env.NeuralArtVariant(variant(net)), f"--enable={EVIL}", f"--disable={EVIL}")


def test_flags_of_a_board(env: Any, evil: Path) -> None:
    env["NEURALART_BOARD_FILES"] = ["mine.yaml"]
    check(env.NeuralArtVariant(variant(network(evil, mpool=""), board="mine")), "-DX=;touch$IFS`x`>x")


def test_a_relocatable_model(env: Any, evil: Path) -> None:
    net = network(evil, mpool="", options=(f"--other={NAME}",))
    check(env.NeuralArtVariant(variant(net, relocatable=RelocatableConfig())), f"--other={NAME}")


def test_a_network_for_a_core(env: Any, evil: Path) -> None:
    net = network(evil, mpool="", options=(f"--other={NAME}",))
    check(
        env.NeuralArtVariant(variant(net, board="stm32h747i-disco", patch=PatchConfig(aspect_ratio="crop"))),
        f"--other={NAME}",
        f"/{NAME}.tflite",
    )


def test_sources_of_an_application(env: Any, evil: Path, tree: Path) -> None:
    for name in ("main.c", "app.ld", "libx.a"):
        (evil / name).write_text("")
    where = evil.relative_to(tree).as_posix()
    app = SourcesConfig(
        (f"{where}/main.c",),
        (where,),
        (f"A={NAME}",),
        f"{where}/app.ld",
        ("m;touch x", "m`touch x`>$(x)", f"{where}/libx.a"),
    )
    given = variant(network(evil), application=ApplicationConfig(SOURCES, sources=app))
    made = env.NeuralArtVariant(given)
    texts = [text for node in graphs.built_nodes(made.alias) for text in shell_texts(node)]
    words = {word for text in texts for word in shlex.split(text)}
    assert {"-lm;touch x", "-lm`touch x`>$(x)", f"-DA={NAME}", f"-I{where}"} <= words
    # Libraries stand behind the objects that need them.
    link = next(shlex.split(text) for text in texts if "firmware.map" in text)
    assert link.index("-lm;touch x") > max(n for n, word in enumerate(link) if word.endswith(".o"))


def test_a_build_of_the_users_own(env: Any, evil: Path, tree: Path) -> None:
    (evil / "Makefile").write_text("all:\n")
    variables = (("A", EVIL), ("B", "`touch x`"))
    app = ExternalConfig(evil.relative_to(tree).as_posix(), "a.elf", target="$(touch<x);", variables=variables)
    made = env.NeuralArtVariant(variant(network(evil), application=ApplicationConfig(MAKE, external=app)))
    texts = [text for node in graphs.built_nodes(made.alias) for text in shell_texts(node)]
    words = {word for text in texts for word in shlex.split(text)}
    assert {f"--variable=A={EVIL}", "--variable=B=`touch x`", "--target=$(touch<x);"} <= words


def test_builders_without_variants(make_env: Any, evil: Path) -> None:
    env = make_env(NEURALART_BOARD="stm32n6570-dk", NEURALARTFLAGS=["--other=`touch x`;", "--more=a b>x"])
    made = env.NeuralArtNetwork("out `touch x`/digits.c", env.File(evil / f"{NAME}.tflite".replace("$", "$$")))
    texts = [text for node in made for text in shell_texts(node)]
    assert any("--other=`touch x`;" in shlex.split(text) and "--more=a b>x" in shlex.split(text) for text in texts)


def test_the_folder_of_a_build(make_env: Any) -> None:
    for name in ("a;b", "a`b`", "a>b", "a*", "a'b", "a$$b", "a\nb", "~root"):
        env = make_env(NEURALART_BUILD_DIR=name)
        with pytest.raises((SCons.Errors.UserError, NeuralArtError), match="NEURALART_BUILD_DIR is"):
            env.NeuralArtVariant(variant(NetworkConfig("digits", MODEL)))


@pytest.mark.parametrize("prefix", ["a;touch x;", "`touch x`-", "$(touch x)", "a b-"])
def test_names_of_compilers(prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    with pytest.raises(NeuralArtError, match="is no name of a compiler"):
        toolchain.find(ToolchainConfig(prefix), {"PATH": "/nowhere"})


def test_boards_are_what_the_test_above_needs(evil: Path) -> None:
    assert "-DX=;touch$IFS`x`>x" in boards.load("mine", [Path("mine.yaml")]).machines["unicorn"].cpu_flags


def test_a_name_that_is_not_utf_8(make_env: Any, tree: Path) -> None:
    env = make_env(NEURALART_BOARD="stm32n6570-dk")
    odd = tree / "models" / "odd \udcff.tflite"
    try:
        (tree / MODEL).rename(odd)
    except OSError as error:
        pytest.skip(f"no file can have such a name here: {error}")
    with pytest.raises(SCons.Errors.UserError) as caught:
        env.NeuralArtNetwork("out/digits.c", env.fs.File(str(odd)))
    assert str(caught.value) == "models/odd \\udcff.tflite: its name has bytes that are no UTF-8 (rename it)"


def test_the_interpreter(make_env: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", f"/opt/{NAME}/\u00fc/python")
    env = make_env(NEURALART_BOARD="stm32n6570-dk")
    (text,) = shell_texts(env.NeuralArtNetwork("out/digits.c", MODEL)[0])
    assert paths.words_of([text]) == shlex.split(text)
    assert shlex.split(text)[:4] == [sys.executable, "-m", "neuralart", "compile"]
