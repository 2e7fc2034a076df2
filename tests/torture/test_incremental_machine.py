"""Edits of any kind, in any order: what is built on is what a clean build of the same files makes.

After each step every file that the variants declare has the bytes of a clean build in another folder, and a second run
does nothing.
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
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from support import tflite_edit
from support.sconsproject import copy_sources
from support.torture import many

pytestmark = [pytest.mark.torture, pytest.mark.long, pytest.mark.arm]

MODEL = "models/digits/digits.tflite"
POOLS = "models/digits/pools/internal.mpool"
PARTS = ("SConstruct", "variants.yaml", "site_scons", "firmware", "models")
DATA = "site_scons/neuralart/boards/data"
# Keys of variants.yaml and what they may say; the first of each is the default, which is left out.
NETWORK_KEYS = {
    "model": [MODEL, "models/mobilenet/mobilenet.tflite"],
    "input_data_type": ["", "float32", "int8"],
    "output_data_type": ["", "float32"],
    "inputs_ch_position": ["", "chfirst"],
    "allocate_inputs": ["", "false"],
    "allocate_outputs": ["", "false"],
    "vectors": ["", "models/digits/vectors"],
    "check": ["", "{max_lsb: 1}"],
    "budgets": ["", "{max_weights: 8M}"],
    "options": ["", "[--enable-virtual-mem-pools]"],
    "app_config": ["", "{use_case: image_classification, class_names: [a, b, c, d, e, f, g, h, i, j]}"],
}
VARIANT_KEYS = {
    "title": ["One", "'Two $(x) `y`'", "\"Drei 'vier'\""],
    "optimization": ["", "-O1", "-Os"],
    "defines": ["", "[TORTURE=1]", "['TORTURE=2', 'B=\"x y\"']"],
    "slots": ["", "{application: 0x70120000}"],
    "reserved": ["", "[{name: nvs, address: 0x70090000, size: 64K}]"],
    "dead_bank": ["", "zeros"],
    "strategies": ["", "link", "external-loader"],
    "mpool": ["", POOLS],
}
# What may stand in a file instead of what: each changes something that is built.
TEXTS = [
    (f"{DATA}/stm32n6570-dk.yaml", ["application: 0x70100000", "application: 0x70110000"]),
    (f"{DATA}/pools/stm32n6570-dk.mpool", ["0x70380000", "0x70390000", "0x703a0000"]),
    (POOLS, ['"value": "0x342e0000"', '"value": "0x342e1000"']),
    ("firmware/app/main.c", ["  host_link_serve();", '  (void)"more";\n  host_link_serve();']),
    ("firmware/app/main.c", ['"reference application"', '"the reference application"']),
    ("firmware/app/host_link.h", ["#pragma once", "#pragma once\n#define TORTURED 1"]),
    ("firmware/runtime/kernels/softmax.c", ["#include", "\n\n#include"]),
]


class Tree:
    """A project that is edited and built on, and a folder for clean builds of the same files."""

    def __init__(self) -> None:
        self.base = Path(tempfile.mkdtemp(prefix="neuralart-machine-"))
        self.project = copy_sources(self.base / "tree")
        self.network = {key: 0 for key in NETWORK_KEYS}
        self.variant = {key: 0 for key in VARIANT_KEYS}
        self.environment: dict[str, str] = {}
        self.flags: list[str] = []
        self.kept: list[tuple[Path, dict[str, int], dict[str, int]]] = []
        # (code, bytes by name) of clean builds, by what they were built from.
        self.known: dict[str, tuple[int, dict[str, bytes]]] = {}
        self.steps = 0
        self.write_variants()

    def write_variants(self) -> None:
        network = {key: values[self.network[key]] for key, values in NETWORK_KEYS.items()}
        variant = {key: values[self.variant[key]] for key, values in VARIANT_KEYS.items()}
        mpool, strategy = variant.pop("mpool"), variant.pop("strategies")
        pools = {"mpool": mpool, "strategies": f"{{AXISRAM5: {strategy}}}" if mpool and strategy else ""}

        def flow(keys: dict[str, str]) -> str:
            return ", ".join(f"{key}: {value}" for key, value in keys.items() if value)

        if mpool:
            variant["overrides"] = f"{{digits: {{{flow(pools)}}}}}"
        text = (
            f"schema: 1\ndefault: [one, moved]\nnetworks:\n  digits: {{{flow(network)}}}\nvariants:\n"
            f"  one: {{board: stm32n6570-dk, network: digits, {flow(variant)}}}\n"
            "  moved: {board: stm32n6570-dk, network: digits, relocatable: true}\n"
        )
        self.project.path("variants.yaml").write_text(text, "utf-8")

    def scons(self, root: Path, *words: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-m", "SCons", "-Q", "-j2", *self.flags, *words],
            cwd=root,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **self.environment},
            capture_output=True,
            text=True,
        )
        assert "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr
        return done

    def clean(self) -> tuple[int, dict[str, bytes]]:
        """What a clean build of the files as they are makes."""
        digest = hashlib.sha256(repr((self.flags, sorted(self.environment.items()))).encode())
        for name, data in sorted(self.project.files(*PARTS[2:]).items()):
            if "__pycache__" not in name:
                digest.update(f"{name} {hashlib.sha256(data).hexdigest()}\n".encode())
        digest.update(self.project.path("variants.yaml").read_bytes())
        key = digest.hexdigest()
        if key not in self.known:
            root = self.base / "clean"
            shutil.rmtree(root, ignore_errors=True)
            self.copy_sources(self.project.root, root)
            code = self.scons(root).returncode
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

    def check(self) -> None:
        """The next build equals the clean one, and the one after it does nothing."""
        self.steps += 1
        done = self.scons(self.project.root)
        code, wanted = self.clean()
        assert (done.returncode == 0) == (code == 0), done.stdout + done.stderr
        if code:
            return
        found = declared(self.project.root)
        assert found.keys() == wanted.keys()
        assert [name for name in wanted if found[name] != wanted[name]] == []
        assert self.scons(self.project.root, "-q").returncode == 0, self.scons(
            self.project.root, "-n", "--debug=explain"
        ).stdout


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


class IncrementalEqualsClean(RuleBasedStateMachine):
    """Each rule is an edit and the two builds that show whether it was seen."""

    def __init__(self) -> None:
        super().__init__()
        self.tree = Tree()
        assert self.tree.clean()[0] == 0
        self.tree.check()

    def teardown(self) -> None:
        shutil.rmtree(self.tree.base)

    @rule(key=st.sampled_from(sorted(NETWORK_KEYS)), value=st.integers(0, 9))
    def key_of_a_network(self, key: str, value: int) -> None:
        self.tree.network[key] = value % len(NETWORK_KEYS[key])
        self.tree.write_variants()
        self.tree.check()

    @rule(key=st.sampled_from(sorted(VARIANT_KEYS)), value=st.integers(0, 9))
    def key_of_a_variant(self, key: str, value: int) -> None:
        self.tree.variant[key] = value % len(VARIANT_KEYS[key])
        self.tree.write_variants()
        self.tree.check()

    @rule(place=st.integers(0, len(TEXTS) - 1), value=st.integers(0, 9))
    def text_of_a_source(self, place: int, value: int) -> None:
        name, choices = TEXTS[place]
        path = self.tree.project.path(name)
        text = path.read_text("utf-8")
        now = max((choice for choice in choices if choice in text), key=len)
        path.write_text(text.replace(now, choices[value % len(choices)], 1), "utf-8")
        self.tree.check()

    @rule()
    def weights(self) -> None:
        tflite_edit.change_weight(self.tree.project.path(MODEL))
        self.tree.check()

    @rule(number=st.integers(0, 99))
    def code_of_the_package(self, number: int) -> None:
        """A change of what it writes: a line at the head of each linker fragment and startup table."""
        path = self.tree.project.path("site_scons/neuralart/__init__.py")
        text = path.read_text("utf-8")
        head, _, _ = text.partition("\nTORTURE = ")
        path.write_text(f"{head.rstrip()}\nTORTURE = {number}\n", "utf-8")
        self.tree.check()

    @rule(words=st.sampled_from([[], ["VERBOSE=1"], ["--debug=explain"], ["-j1"]]))
    def words_of_the_command_line(self, words: list[str]) -> None:
        self.tree.flags = words
        self.tree.check()

    @rule(
        change=st.sampled_from(
            [
                {},
                {"LC_ALL": "C"},
                {"HOME": "/nonexistent"},
                {"CFLAGS": "-O0"},
                {"CPATH": "/nonexistent"},
                {"TZ": "Asia/Tokyo"},
            ]
        )
    )
    def environment(self, change: dict[str, str]) -> None:
        self.tree.environment = change
        self.tree.check()

    @rule(seed=st.integers(0, 2**32))
    def deleted_output(self, seed: int) -> None:
        found = sorted(declared_paths(self.tree.project.root))
        if found:
            (self.tree.project.root / random.Random(seed).choice(found)).unlink()
        self.tree.check()

    @rule()
    def keep_this_state(self) -> None:
        folder = self.tree.base / f"kept{len(self.tree.kept)}"
        self.tree.copy_sources(self.tree.project.root, folder)
        self.tree.kept.append((folder, dict(self.tree.network), dict(self.tree.variant)))

    @rule(which=st.integers(0, 99))
    def an_old_state_comes_back(self, which: int) -> None:
        """With its old times, as from an archive."""
        if not self.tree.kept:
            return
        folder, network, variant = self.tree.kept[which % len(self.tree.kept)]
        self.tree.network, self.tree.variant = dict(network), dict(variant)
        for name in PARTS:
            target = self.tree.project.root / name
            shutil.rmtree(target) if target.is_dir() else target.unlink()
        for name in PARTS:
            copy = shutil.copytree if (folder / name).is_dir() else shutil.copy2
            copy(folder / name, self.tree.project.root / name)
        self.tree.check()

    @rule(commands=st.integers(1, 30), seed=st.integers(0, 2**32))
    def interrupted_build(self, commands: int, seed: int) -> None:
        """Weights and the firmware change, and the build is killed while it makes something of them."""
        tflite_edit.change_weight(self.tree.project.path(MODEL))
        self.text_of_main(seed)
        process = subprocess.Popen(
            [sys.executable, "-u", "-m", "SCons", "-Q", "-j2"],
            cwd=self.tree.project.root,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **self.tree.environment},
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
        self.tree.check()

    def text_of_main(self, seed: int) -> None:
        path = self.tree.project.path("firmware/app/text_line.c")
        text = path.read_text("utf-8").partition("\nextern const char torture")[0].rstrip()
        path.write_text(f'{text}\nextern const char torture[];\nconst char torture[] = "{seed}";\n', "utf-8")


def declared_paths(root: Path) -> set[str]:
    """Names of the files that a build has declared so far."""
    return {
        name
        for index in root.glob("build/*/index.json")
        for name in json.loads(index.read_bytes())["artefacts"]
        if (root / name).is_file() and not (root / name).is_symlink()
    }


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
def test_incremental_equals_clean() -> None:
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        IncrementalEqualsClean,
        settings=settings(
            max_examples=many(1, 10),
            stateful_step_count=many(5, 32),
            deadline=None,
            derandomize=True,
            database=None,
            # A step builds twice: to look for a shorter example would take hours.
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
