"""``application: {sources: ...}`` with a plain ``main()``: it runs, and what is wrong with it is one line."""

from __future__ import annotations

import contextlib
import difflib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from neuralart import cli
from neuralart.resources import package_parent
from support.projects.sconsproject import REPO, Project, once, shared_objects
from support.servers.messages import one_message

pytestmark = [pytest.mark.arm, pytest.mark.long]
MODEL = REPO / "models" / "digits" / "digits.tflite"
PAGE = REPO / "docs" / "how-to" / "typical-mistakes.md"
_ROW = re.compile(r"^\| main\.c \| `([^`]+)` \| `([^`]+)` \| [^|]+ \|$", re.M)
ROWS: list[tuple[str, str]] = _ROW.findall(PAGE.read_text("utf-8"))
M55 = """\
  doorbell-m55:
    board: mps3-an547
    network: doorbell
    kernels: mve
    application: {sources: {files: [main.c]}}
"""


@pytest.fixture
def objects(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in shared_objects(tmp_path_factory).items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def doorbell(objects: None, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """What ``neuralart new`` makes, built once by each worker for all tests of this file; each puts ``main.c`` back."""

    def make(folder: Path) -> None:
        root = folder / "doorbell"
        words = ["new", str(root), "--board", "stm32n6570-dk", "--model", str(MODEL)]
        assert cli.main([*words, "--toolpath", str(package_parent())]) == 0
        with (root / "variants.yaml").open("a", encoding="utf-8") as file:
            file.write(M55)
        (root / "main.c.first").write_bytes((root / "main.c").read_bytes())

    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    project = Project(once(tmp_path_factory, f"own-program-{worker}", make) / "doorbell")
    project.path("main.c").write_bytes(project.path("main.c.first").read_bytes())
    return project


def _failure(project: Project, *words: str) -> str:
    failed = project.run("doorbell", *words, code=2)
    (line,) = [line for line in failed.errors if line.startswith("scons: ***")]
    return line


def _mistaken(text: str, wrote: str) -> str:
    lines = text.splitlines()
    if wrote.startswith("void "):
        return f"{text}{wrote}\n"
    like = "LL_ATON_RT_RuntimeInit();" if wrote == "HAL_Init();" else wrote
    like = "DOORBELL_IN_1_TYPE *input = (DOORBELL_IN_1_TYPE *)DOORBELL_IN_1_ADDRESS;" if "static" in wrote else like
    same = difflib.get_close_matches(like, [line.strip() for line in lines], 1, 0.4)
    at = next(number for number, line in enumerate(lines) if line.strip() == same[0])
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    lines[at] = indent + wrote
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(("wrote", "said"), ROWS, ids=[wrote for wrote, _ in ROWS])
def test_typical_mistakes(doorbell: Project, wrote: str, said: str) -> None:
    main = doorbell.path("main.c")
    main.write_text(_mistaken(main.read_text("utf-8"), wrote), "utf-8")
    line = _failure(doorbell)
    one_message(line)
    wanted = re.escape(said).replace(re.escape("[...]"), ".*")
    assert re.fullmatch(wanted, line), f"the row must have:\n{line}"


def test_the_page_has_these_rows() -> None:
    assert len(ROWS) >= 7


def test_two_files_of_the_user_and_all_that_was_printed(doorbell: Project) -> None:
    doorbell.edit("main.c", "int main(void) {", "void helper(void) {}\nint main(void) {\n  helper();")
    doorbell.path("helper.c").write_text("int calls;\nvoid helper(void) { calls++; }\n", "utf-8")
    text = doorbell.path("variants.yaml").read_text("utf-8")
    try:
        doorbell.edit("variants.yaml", "[main.c]", "[main.c, helper.c]")
        line = _failure(doorbell)
        assert "] helper.c:2: 'helper' is defined twice, here and in main.c:12 (remove one of them, or make it" in line
        raw = doorbell.run("doorbell", code=2)
        assert "multiple definition of `helper'" in raw.err and line in raw.errors
    finally:
        doorbell.path("variants.yaml").write_text(text, "utf-8")


@pytest.mark.qemu
def test_it_runs_until_main_returns(doorbell: Project) -> None:
    doorbell.run("doorbell", "doorbell-m55")
    doorbell.up_to_date("doorbell", "doorbell-m55")
    ran = [doorbell.run(f"run-{name}").out for name in ("doorbell", "doorbell-m55")]
    lines = [re.findall(r"\| (digit\[.*)", out) for out in ran]
    assert len(lines[0]) == 10 and lines[0][0].startswith("digit[0] = 0.")
    assert lines[0] == lines[1], "both boards compute the same, one of them with MVE"
    assert "the program ended with status 0 on unicorn" in ran[0]
    assert "the program ended with status 0 on qemu" in ran[1]
    # Only the kernels that the network calls are in it.
    linked = doorbell.path("build/doorbell/firmware.map").read_text("utf-8", "replace").partition("Discarded")[0]
    assert "libkernels-c.a(conv2d.o)" in linked and "libkernels-c.a(transpose_conv.o)" not in linked
    assert "libruntime.a(relocatable_loader.o)" not in linked


def test_a_status_and_what_only_the_user_stops(doorbell: Project) -> None:
    doorbell.edit("main.c", "  return 0;", '  char *text = malloc(8);\n  scanf("%7s", text);\n  exit(text[0]);')
    doorbell.edit("main.c", "#include <stdio.h>", "#include <stdio.h>\n#include <stdlib.h>")
    failed = doorbell.run("run-doorbell", code=2)
    assert "can come: waited for the end of main; the firmware waits for input at console_getc" in failed.err
    doorbell.edit("main.c", 'scanf("%7s", text);', "*text = 3;")
    failed = doorbell.run("run-doorbell", code=2)
    assert "the program ended with status 3 (it is what main returned, or exit() was given)" in failed.err
    doorbell.edit("main.c", "exit(text[0]);", 'for (;;) __asm__ volatile("wfi");')
    assert "the core sleeps at main+0x" in doorbell.run("run-doorbell").out


def test_a_board_without_an_npu(objects: None, tmp_path: Path) -> None:
    words = ["new", str(tmp_path / "bell"), "--board", "stm32h747i-disco", "--model", str(MODEL)]
    assert cli.main([*words, "--toolpath", str(package_parent())]) == 0
    out = Project(tmp_path / "bell").run("run-bell").out
    assert "| output[0] = 0." in out and "the program ended with status 0 on unicorn" in out


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_on_a_terminal(doorbell: Project) -> None:
    """Where output is captured for the sake of bars, the line is the same."""
    import pty

    doorbell.edit("main.c", "int error =", "intt error =")
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "SCons", "-Q", "doorbell"]
    with subprocess.Popen(words, cwd=doorbell.root, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        said = b""
        with contextlib.suppress(OSError):  # how Linux says that nothing comes any more
            while data := os.read(ours, 1 << 16):
                said += data
    os.close(ours)
    assert process.returncode == 2
    assert b"main.o] main.c:14:3: unknown type name 'intt'; did you mean 'int'?" in said
    # The compiler's own lines are there once, with the line and its caret.
    assert said.count(b"unknown type name") == 2 and said.count(b"error:") == 1
    assert b"14 |   intt error =" in said and b"|   ^~~~" in said
