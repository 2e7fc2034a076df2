"""Steps that a cache on another machine has are not done again: in another folder, by another user."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.projects.sconsproject import REPO, Project, copy_sources, prepare
from support.servers.cache_server import CacheServer, serving

SCONSTRUCT = f"""
import atexit, sys
LATE = {{"grpc", "http.client", "ssl", "neuralart_fleet.remote.client"}}
atexit.register(lambda: print("loaded:", *sorted(LATE & set(sys.modules))))
DefaultEnvironment(tools=[])
env = Environment(
    tools=["cc", "link", "neuralart"],
    toolpath=[{str(REPO / "site_scons")!r}],
    NEURALART_BOARD="stm32n6570-dk",
    CC="./counted-cc",
    LINK="./counted-cc",
    LINKFLAGS=["-nostdlib", "-r"],
)
env.NeuralArtNetwork("build/kws.c", "kws.tflite")
env.Program("build/program", ["main.c", "other.c"])
env.Command("build/copy.txt", "main.c", Copy("$TARGET", "$SOURCE"))
env.NoCache(env.Command("build/own.txt", "main.c", "cp $SOURCE $TARGET"))
"""
COUNTED = '#!/bin/sh\necho "$*" >> "$0.log"\nexec cc "$@"\n'


@pytest.fixture
def server() -> Iterator[CacheServer]:
    with serving() as running:
        yield running


def tree(root: Path) -> Project:
    """A checkout: a network, a program of two files, and what no cache is asked for."""
    root.mkdir(parents=True)
    shutil.copy2(REPO / "models" / "digits" / "digits.tflite", root / "kws.tflite")
    (root / "SConstruct").write_text(SCONSTRUCT, "utf-8")
    (root / "main.c").write_text('#include "value.h"\nint other(void);\nint main(void) { return VALUE + other(); }\n')
    (root / "other.c").write_text("int other(void) { return 1; }\n")
    (root / "value.h").write_text("#define VALUE 2\n")
    (root / "counted-cc").write_text(COUNTED)
    (root / "counted-cc").chmod(0o755)
    return Project(root)


def started(project: Project) -> int:
    """Compilers and linkers that were started."""
    log = project.path("counted-cc.log")
    return len(log.read_text("utf-8").splitlines()) if log.exists() else 0


def variables(server: CacheServer, **more: str) -> dict[str, str]:
    return {"NEURALART_CACHE": server.url.replace("//", "//me:s3cret@"), "NEURALART_CACHE_TOKEN": "t0ken", **more}


@pytest.mark.hostcc
def test_another_checkout(server: CacheServer, tmp_path: Path) -> None:
    mine, theirs = tree(tmp_path / "mine"), tree(tmp_path / "another folder" / "theirs")
    first = mine.run(env=variables(server))
    made = mine.files("build")
    assert started(mine) == 3 and len(server.of("ac")) == 4
    assert ": 0 of 4 steps found (0.00 MB), 4 stored (" in first.out
    assert not [path for path, data in server.kept.items() if str(tmp_path).encode() in data]

    home = {"HOME": str(tmp_path), "USER": "somebody", "LANG": "C"}
    second = theirs.run("-j4", env=variables(server, **home))
    assert started(theirs) == 0 and ("NETWORK", "build/kws.c") not in second.commands
    assert theirs.files("build") == made
    for name in ("build/kws.c", "main.o", "other.o", "build/program"):
        assert f"CACHED   {name}\n" in second.out
    assert "CACHED   build/copy.txt" not in second.out and "cp main.c build/own.txt" in second.out
    assert ": 4 of 4 steps found (" in second.out and "s saved)" in second.out
    assert not [word for word in ("s3cret", "t0ken") if word in first.raw + first.err + second.raw + second.err]
    theirs.up_to_date()

    theirs.edit("value.h", "2", "3")
    assert ": 0 of 2 steps found (0.00 MB), 2 stored (" in theirs.run(env=variables(server)).out
    assert started(theirs) == 2, "main.o and the program"
    theirs.edit("value.h", "3", "2")
    assert ": 2 of 2 steps found (" in theirs.run(env=variables(server)).out
    assert started(theirs) == 2 and theirs.files("build") == made


@pytest.mark.hostcc
def test_who_may_only_read_and_who_asks_nobody(server: CacheServer, tmp_path: Path) -> None:
    mine = tree(tmp_path / "mine")
    words = ("build/program",)
    mine.run(*words, "--cache-readonly", env=variables(server))
    assert {method for method, _, _ in server.asked} == {"GET"} and server.kept == {}
    mine.run("-c")
    server.asked.clear()
    assert "\nloaded:\n" in mine.run("-n", *words).out, "without a cache nothing of it is loaded"
    mine.run("-n", *words, env=variables(server))
    mine.run("--cache-disable", *words, env=variables(server))
    mine.run("-c")
    mine.run(*words, env=variables(server, NEURALART_CACHE="off"))
    assert server.asked == [] and started(mine) == 9
    wrong = mine.run(*words, env=variables(server, NEURALART_CACHE="htp://me:s3cret@x"), code=2)
    assert wrong.errors[0].startswith("scons: *** NEURALART_CACHE is no URL of a cache (such as http://cache.lan:9090")
    assert "s3cret" not in wrong.err


@pytest.mark.hostcc
def test_a_source_that_is_edited_while_it_is_compiled_is_not_shared(server: CacheServer, tmp_path: Path) -> None:
    mine = tree(tmp_path / "mine")
    editing = COUNTED.replace("exec", 'case "$*" in *other.c) echo "int more;" >> other.c;; esac\nexec')
    mine.path("counted-cc").write_text(editing)
    mine.run("build/program", env=variables(server))
    assert "int more" in mine.path("other.c").read_text("utf-8")
    assert len(server.of("ac")) == 2, "main.o and the program, whose objects are what they are"


@pytest.mark.arm
def test_a_variant(server: CacheServer, tmp_path_factory: pytest.TempPathFactory) -> None:
    """All that a variant is made of, but its objects, which these tests have from elsewhere."""
    trees = [copy_sources(tmp_path_factory.mktemp(name) / "tree") for name in ("one", "two")]
    for each in trees:
        each.edit("variants.yaml", "schema: 1\n", f"schema: 1\ncache: {{url: '{server.url}', salt: tests}}\n")
    prepare(trees[0], tmp_path_factory, "digits-n6")
    second = prepare(trees[1], tmp_path_factory, "digits-n6")
    assert trees[1].results() == trees[0].results()
    assert not {"NETWORK", "LINK", "CC"} & second.tags, second.out
    assert re.search(r"^cache \S+: ([1-9]\d*) of \1 steps found \(", second.out, re.M), second.out
