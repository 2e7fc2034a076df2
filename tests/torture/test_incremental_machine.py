"""Edits of any kind, in any order: what is built on is what a clean build of the same files makes.

After each step every file that the variants declare has the bytes of a clean build in another folder, and a second run
does nothing. All builds but the clean ones have a remote cache.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from support.models import tflite_edit
from support.projects.machine_edits import (
    CODE,
    MODEL,
    MODEL_KEYS,
    NETWORK_KEYS,
    SOURCES,
    VARIANT_KEYS,
    Toolchain,
    exchange,
)
from support.projects.sconsproject import REPO, Project, Result, copy_built, copy_small, copy_sources
from support.projects.torture import FIRST_ROUND, LONG, in_time, many, progress
from support.servers.cache_server import serving

pytestmark = [pytest.mark.torture, pytest.mark.long, pytest.mark.arm]

PARTS = ("SConstruct", "variants.yaml", "site_scons", "firmware", "models")
Keys = dict[str, dict[str, int]]


def flow(keys: dict[str, str]) -> str:
    """A mapping of YAML in one line, without what is empty."""
    return ", ".join(f"{key}: {value}" for key, value in keys.items() if value)


class Tree:
    """A project that is edited and built on, and a folder for clean builds of the same files."""

    # (code, bytes by name) of clean builds, by what they were built from; of all trees of this process.
    known: ClassVar[dict[str, tuple[int, dict[str, bytes]]]] = {}
    done: ClassVar[Counter[str]] = Counter()

    def __init__(self, common: Path) -> None:
        self.base = Path(tempfile.mkdtemp(prefix="tree-", dir=common))
        built = common / "built"
        if built.exists():
            self.project = copy_built(Project(built), self.base / "tree")
        else:
            self.project = copy_sources(built) if LONG else copy_small(built, "")
        self.tools = Toolchain(common / "tools")
        self.tables = {"network": NETWORK_KEYS, "variant": VARIANT_KEYS, "model": MODEL_KEYS}
        self.keys: Keys = {name: dict.fromkeys(table, 0) for name, table in self.tables.items()}
        self.environment: dict[str, str] = {}
        self.flags: list[str] = []
        self.kept: list[tuple[Path, Keys]] = []
        self.write_variants()
        if self.project.root == built:
            assert self.scons(built).code == 0
            self.project = copy_built(self.project, self.base / "tree")
        self.keep()

    def keep(self) -> None:
        """As it is now, for later."""
        folder = self.base / f"kept{len(self.kept)}"
        self.copy_sources(self.project.root, folder)
        self.kept.append((folder, {name: dict(keys) for name, keys in self.keys.items()}))

    def said(self, table: str) -> dict[str, str]:
        """What stands in the file now."""
        return {key: values[self.keys[table][key]] for key, values in self.tables[table].items()}

    def write_variants(self) -> None:
        variant, model = self.said("variant"), self.said("model")
        mpool, strategy = variant.pop("mpool"), variant.pop("strategies")
        networks = variant.pop("networks")
        if mpool:
            own = {"mpool": mpool, "strategies": f"{{AXISRAM5: {strategy}}}" if strategy else ""}
            variant["overrides"] = f"{{digits: {{{flow(own)}}}}}"
        elif "digits_b" in networks:
            variant["overrides"] = "{digits: {mpool: models/digits/pools/first.mpool}}"
        text = (
            f"schema: 1\ndefault: [one, moved]\nnetworks:\n  digits: {{{flow(self.said('network'))}}}\n"
            f"  digits_b: {{model: {MODEL}, mpool: models/digits/pools/second.mpool}}\nvariants:\n"
            f"  one: {{{networks}, {flow(variant)}}}\n"
            f"  moved: {{board: stm32n6570-dk, network: digits, relocatable: {{{flow(model)}}}}}\n"
        ).replace("relocatable: {}", "relocatable: true")
        self.project.path("variants.yaml").write_text(text, "utf-8")

    def scons(self, root: Path, *words: str) -> Result:
        own = {"NEURALART_TOOLCHAIN": str(self.tools.folder), **self.environment}
        if root == self.base / "clean":
            own["NEURALART_CACHE"] = "off"  # all others take what they can from the cache of the test
        if self.environment:
            # Some of it counts when Python starts: no process that has started already.
            own["PYTHONDONTWRITEBYTECODE"] = "1"
        return Project(root).run("-j2", *self.flags, *words, code=None, env=own)

    def surroundings(self) -> dict[str, str]:
        own = {"PYTHONDONTWRITEBYTECODE": "1", "NEURALART_TOOLCHAIN": str(self.tools.folder)}
        return {**os.environ, **own, **self.environment}

    def clean(self) -> tuple[int, dict[str, bytes]]:
        """What a clean build of the files as they are makes."""
        around = (self.flags, sorted(self.environment.items()), self.tools.identity.replace(str(self.base), ""))
        digest = hashlib.sha256(repr(around).encode())
        for name, data in sorted(self.project.files(*PARTS[2:]).items()):
            if "__pycache__" not in name:
                digest.update(f"{name} {hashlib.sha256(data).hexdigest()}\n".encode())
        digest.update(self.project.path("variants.yaml").read_bytes())
        key = digest.hexdigest()
        if key not in self.known:
            root = self.base / "clean"
            shutil.rmtree(root, ignore_errors=True)
            self.copy_sources(self.project.root, root)
            code = self.scons(root).code
            self.known[key] = (code, declared(root) if code == 0 else {})
        return self.known[key]

    @staticmethod
    def copy_sources(source: Path, target: Path) -> None:
        target.mkdir()
        for name in PARTS:
            if (source / name).is_dir():
                shutil.copytree(source / name, target / name)
            else:
                shutil.copy2(source / name, target / name)

    def check(self, what: str) -> bool:
        """The next build equals the clean one, and the one after it does nothing; is it one that is not refused?"""
        done = self.scons(self.project.root)
        code, wanted = self.clean()
        said = f"{what}: {done.out}{done.err}"
        assert (done.code == 0) == (code == 0), said
        if not code:
            found = declared(self.project.root)
            assert found.keys() == wanted.keys(), said
            assert [name for name in wanted if found[name] != wanted[name]] == [], said
            assert self.scons(self.project.root, "-q", "--no-stamps").code == 0, (
                self.scons(self.project.root, "-n", "--debug=explain", "--no-stamps").out,
                said,
            )
        self.done[f"{what}, refused" if code else what] += 1
        if sum(self.done.values()) % 4 == 0:
            self.keep()
        progress(f"step {sum(self.done.values())}: {what}, {code}")
        return not code

    def compiled(self) -> list[str]:
        """Results of compiles, which each reading of the project compares with what was built."""
        return sorted(
            f"{path.parent.relative_to(self.project.root).as_posix()}/{row['name']}"
            for path in self.project.root.glob("build/networks/**/manifest.json")
            for row in json.loads(path.read_bytes())["files"]
        )


def declared(root: Path) -> dict[str, bytes]:
    """The files that the variants name in their indexes, and those of their folders."""
    found: dict[str, bytes] = {}
    for index in sorted(root.glob("build/*/index.json")):
        for name in json.loads(index.read_bytes())["artefacts"]:
            path = root / name
            assert stat.S_ISREG(path.lstat().st_mode), f"{name} is no file of its own"
            found[name] = path.read_bytes()
        found[index.relative_to(root).as_posix()] = index.read_bytes()
    assert found
    return found


def drawn(table: dict[str, list[str]]) -> st.SearchStrategy[tuple[str, int]]:
    """A key, and which of its values."""
    return st.sampled_from([(key, number) for key, values in table.items() for number in range(len(values))])


class IncrementalEqualsClean(RuleBasedStateMachine):
    """Each rule is an edit and the two builds that show whether it was seen."""

    common: ClassVar[Path]

    def __init__(self) -> None:
        super().__init__()
        self.tree = Tree(self.common)
        self.path = self.tree.project.path

    def teardown(self) -> None:
        shutil.rmtree(self.tree.base)

    def check(self, what: str) -> bool:
        return self.tree.check(what) if in_time() else True

    def key(self, table: str, key: str, value: int) -> None:
        before, self.tree.keys[table][key] = self.tree.keys[table][key], value
        self.tree.write_variants()
        if not self.check(f"key {key}"):
            # Else soon everything would be refused.
            self.tree.keys[table][key] = before
            self.tree.write_variants()

    @rule(drawn=drawn(NETWORK_KEYS))
    def key_of_a_network(self, drawn: tuple[str, int]) -> None:
        self.key("network", *drawn)

    @rule(drawn=drawn(VARIANT_KEYS))
    def key_of_a_variant(self, drawn: tuple[str, int]) -> None:
        self.key("variant", *drawn)

    @rule(drawn=drawn(MODEL_KEYS))
    def key_of_a_relocatable_model(self, drawn: tuple[str, int]) -> None:
        self.key("model", *drawn)

    @rule(place=st.sampled_from(SOURCES), value=st.integers(0, 9))
    def text_of_a_source(self, place: tuple[str, list[str]], value: int) -> None:
        exchange(self.path(place[0]), place[1], value)
        self.check(Path(place[0]).name)

    @rule(place=st.sampled_from(CODE), value=st.integers(0, 9))
    def code_of_the_package(self, place: tuple[str, list[str]], value: int) -> None:
        exchange(self.path(place[0]), place[1], value)
        self.check("code of the package")

    @rule()
    def nothing(self) -> None:
        """Hypothesis begins with as many of the simplest rule as it may have: this one costs nothing."""

    @rule()
    def weights(self) -> None:
        tflite_edit.change_weight(self.path(MODEL))
        self.check("weights")

    @rule(model=st.sampled_from(["digits", "heatmap"]))
    def structure_of_the_model(self, model: str) -> None:
        """Another network under the same name."""
        shutil.copyfile(REPO / f"models/{model}/{model}.tflite", self.path(MODEL))
        if not self.check("structure of the model"):
            shutil.copyfile(REPO / MODEL, self.path(MODEL))

    @rule(words=st.sampled_from([[], ["VERBOSE=1"], ["--debug=explain"], ["-j1"]]))
    def words_of_the_command_line(self, words: list[str]) -> None:
        self.tree.flags = words
        self.check("flags")

    @rule(
        folder=st.sampled_from(["first", "second"]),
        version=st.sampled_from(["", "99.1.0"]),
        more=st.sampled_from(["", "-fno-inline"]),
    )
    def toolchain(self, folder: str, version: str, more: str) -> None:
        """In another place, or replaced where it is; another code need not come with another version."""
        self.tree.tools.choose(folder, version, more)
        self.check("toolchain")

    @rule(
        change=st.sampled_from(
            [
                {},
                # In C, Python does not start in an environment whose path has letters outside of ASCII.
                {"LC_ALL": "C" if sys.executable.isascii() else "C.UTF-8"},
                {"HOME": "/nonexistent"},
                {"CFLAGS": "-O0"},
                {"CPATH": "/nonexistent"},
                {"TZ": "Asia/Tokyo"},
            ]
        )
    )
    def environment(self, change: dict[str, str]) -> None:
        self.tree.environment = change
        self.check("environment")

    @rule(seed=st.integers(0, 2**32))
    def deleted_output(self, seed: int) -> None:
        found = sorted(declared_paths(self.tree.project.root))
        if found:
            self.path(random.Random(seed).choice(found)).unlink()
        self.check("deleted output")

    @rule(seed=st.integers(0, 2**32), how=st.sampled_from(["edited", "cut off", "a link"]))
    def damaged_result_of_a_compile(self, seed: int, how: str) -> None:
        """It is made again, though no source has changed."""
        # Without builds, what was damaged before is still so.
        names = [name for name in self.tree.compiled() if self.path(name).is_file()] if in_time() else []
        if names:
            damage(self.path(random.Random(seed).choice(names)), how, self.tree.base / "elsewhere")
        self.check(f"result of a compile is {how}")

    @rule(seed=st.integers(0, 2**32), how=st.sampled_from(["edited", "cut off", "a link"]))
    def damaged_outputs_whose_sources_change(self, seed: int, how: str) -> None:
        """Outputs that somebody has edited stay, as in any SCons build, until their sources change."""
        if not in_time():
            return
        _, before = self.tree.clean()
        tflite_edit.change_weight(self.path(MODEL))
        self.text_of_a_line(seed)
        _, after = self.tree.clean()
        names = [name for name in after if name in before and after[name] != before[name] and self.path(name).is_file()]
        for name in random.Random(seed).sample(names, min(3, len(names))):
            damage(self.path(name), how, self.tree.base / "elsewhere")
        self.check(f"outputs are {how}, sources change")

    @rule(which=st.integers(0, 99))
    def an_old_state_comes_back(self, which: int) -> None:
        """With its old times, as from an archive."""
        self.restore(which)
        self.check("old state")

    def restore(self, which: int) -> None:
        folder, keys = self.tree.kept[which % len(self.tree.kept)]
        self.tree.keys = {name: dict(each) for name, each in keys.items()}
        for name in PARTS:
            target = self.path(name)
            shutil.rmtree(target) if target.is_dir() else target.unlink()
        for name in PARTS:
            copy = shutil.copytree if (folder / name).is_dir() else shutil.copy2
            copy(folder / name, self.path(name))

    @rule(commands=st.integers(1, 30), seed=st.integers(0, 2**32), which=st.none() | st.integers(0, 99))
    def interrupted_build(self, commands: int, seed: int, which: int | None) -> None:
        """Weights and the firmware change, the build is killed while it makes something of them; perhaps they are taken
        back then.
        """
        old = {name: self.path(name).read_bytes() for name in (MODEL, LINE)}
        tflite_edit.change_weight(self.path(MODEL))
        self.text_of_a_line(seed)
        process = subprocess.Popen(
            [sys.executable, "-u", "-m", "SCons", "-Q", "-j2"],
            cwd=self.tree.project.root,
            env=self.tree.surroundings(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        assert process.stdout is not None
        for _ in range(commands):
            if not process.stdout.readline():
                break
        os.killpg(process.pid, signal.SIGKILL)
        process.stdout.close()
        process.wait()
        if which is not None and seed % 2:
            self.restore(which)
        elif seed % 4 == 2:
            for name, data in old.items():
                self.path(name).write_bytes(data)
        self.check("interrupted build")

    def text_of_a_line(self, seed: int) -> None:
        path = self.path(LINE)
        text = path.read_text("utf-8").partition("\nextern const char torture")[0].rstrip()
        path.write_text(f'{text}\nextern const char torture[];\nconst char torture[] = "{seed}";\n', "utf-8")


LINE = "firmware/app/text_line.c"


def damage(path: Path, how: str, elsewhere: Path) -> None:
    """What people, programs and disks do to a file."""
    data = path.read_bytes()
    if how == "edited":
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]) if data else b"x")
    elif how == "cut off":
        path.write_bytes(data[: len(data) // 2])
    else:
        elsewhere.write_bytes(data + b"x")
        path.unlink()
        path.symlink_to(elsewhere)


def declared_paths(root: Path) -> set[str]:
    """Names of the files that a build has declared so far."""
    return {
        name
        for index in root.glob("build/*/index.json")
        for name in json.loads(index.read_bytes())["artefacts"]
        if (root / name).is_file() and not (root / name).is_symlink()
    }


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
def test_incremental_equals_clean(tmp_path: Path, tell: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    IncrementalEqualsClean.common = tmp_path
    wanted, rounds = many(5, 320), FIRST_ROUND
    cache = ExitStack()
    server = cache.enter_context(serving())
    monkeypatch.setenv("NEURALART_CACHE", server.url)
    try:
        while sum(Tree.done.values()) < wanted and in_time():
            rounds += 1
            progress(f"round {rounds}")
            run_state_machine_as_test(  # type: ignore[no-untyped-call]
                seed(rounds)(IncrementalEqualsClean),
                settings=settings(
                    # The first of them does nothing.
                    max_examples=many(2, 3),
                    stateful_step_count=many(5, 20),
                    deadline=None,
                    database=None,
                    # A step builds twice: to look for a shorter example would take hours.
                    phases=[Phase.generate],
                    suppress_health_check=list(HealthCheck),
                ),
            )
    finally:
        cache.close()
        found = sum(method == "GET" and "/cas/" in path for method, path, _ in server.asked)
        tell(f"remote cache: {len(server.of('ac'))} steps kept, {found} files found")
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(Tree.done.items()))
        tell(f"incremental equals clean: {sum(Tree.done.values())} steps, {len(Tree.known)} clean builds: {kinds}")
