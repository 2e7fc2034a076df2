"""What the builds of a run of the tests have in common is never another object than the compiler makes."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.projects import compile_answers

pytestmark = pytest.mark.hostcc
SOURCE = '#include "a.h"\nint answer(void)\n{\n  return ANSWER;\n}\n'


@pytest.fixture
def answers(tmp_path: Path) -> Iterator[Path]:
    """A folder without any."""
    kept = compile_answers.folder
    folder = tmp_path / "answers"
    folder.mkdir()
    compile_answers.install(folder)
    yield folder
    compile_answers.folder = kept


def tree(root: Path) -> Path:
    (root / "inc").mkdir(parents=True)
    (root / "one.c").write_text(SOURCE)
    (root / "two.c").write_text('#include "b.h"\nint two;\n')
    (root / "inc/a.h").write_text("#define ANSWER 42\n")
    (root / "inc/b.h").write_text("int two;\n")
    return root


def compiled(root: Path, *more: str) -> bytes:
    words = ["cc", "-g", f"-ffile-prefix-map={root}=.", "-Iinc", *more, "-c", f"{root}/one.c", "-o", "one.o"]
    subprocess.run(words, cwd=root, check=True)
    return (root / "one.o").read_bytes()


def test_another_place_gets_the_object_that_the_compiler_would_make(tmp_path: Path, answers: Path) -> None:
    first = compiled(tree(tmp_path / "a"))
    (kept,) = answers.iterdir()
    assert kept.read_bytes() == first
    other = tree(tmp_path / "b" / "deeper")
    assert compiled(other) == first and [*answers.iterdir()] == [kept]
    with compile_answers.off():
        (other / "one.o").unlink()
        assert compiled(other) == first
    # It did come from there.
    kept.write_bytes(b"from there")
    assert compiled(other) == b"from there"


CHANGES: dict[str, Callable[[Path], object]] = {
    "code": lambda root: (root / "one.c").write_text(SOURCE.replace("return", "return 1 +")),
    "a comment": lambda root: (root / "one.c").write_text(SOURCE.replace("return", "/* */ return")),
    "a header": lambda root: (root / "inc/a.h").write_text("#define ANSWER 43\n"),
    "a comment of a header": lambda root: (root / "inc/a.h").write_text("#define ANSWER 42 /* */\n"),
    "a header in front of it": lambda root: (root / "a.h").write_text("#define ANSWER 42\n"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_is_compiled(change: str, tmp_path: Path, answers: Path) -> None:
    root = tree(tmp_path / "a")
    compiled(root)
    (kept,) = answers.iterdir()
    kept.write_bytes(b"of the state before")
    CHANGES[change](root)
    assert compiled(root) != b"of the state before" and len([*answers.iterdir()]) == 2


def test_what_was_read_before_is_not_read_again(tmp_path: Path, answers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither there nor in another tree, until a file has another text, or a header comes in front."""
    roots = [tree(tmp_path / name) for name in ("a", "b")]
    for root in roots:
        (root / "front").mkdir()
    asked: list[object] = []
    silent = compile_answers._silent
    monkeypatch.setattr(compile_answers, "_silent", lambda words, around: asked.append(words) or silent(words, around))
    for count in (2, 3):
        compiled(roots[0], "-iquotefront")
        assert len(asked) == count, "not all ways to search are known"
    asked.clear()
    first = [_in_front(root) for root in roots]
    assert first[0] == first[1] and len(asked) == 2
    assert _in_front(roots[1]) == first[0] and len(asked) == 2
    (roots[1] / "front/a.h").write_text("#define ANSWER 43\n")
    assert _in_front(roots[1]) != first[0] and len(asked) == 4
    assert _in_front(roots[0]) == first[0] and len(asked) == 4
    (roots[0] / "inc/a.h").write_text("#define ANSWER 44\n")
    assert _in_front(roots[0]) not in first and len(asked) == 6


def _in_front(root: Path) -> bytes:
    words = ["cc", "-g", f"-ffile-prefix-map={root}=.", "-Ifront", "-Iinc", "-c", "one.c", "-o", "one.o"]
    subprocess.run(words, cwd=root, check=True)
    return (root / "one.o").read_bytes()


def test_words_and_variables_count(tmp_path: Path, answers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree(tmp_path / "a")
    for words in ([], ["-O2"], ["-DANSWER=1", "-Wno-error", "-w"]):
        compiled(root, *words)
    assert len([*answers.iterdir()]) == 3
    monkeypatch.setenv("COMPILER_PATH", "/nowhere")
    (root / "one.c").write_text("int other;\n")
    compiled(root)
    assert len([*answers.iterdir()]) == 3, "nothing is known of it"


def test_several_objects(tmp_path: Path, answers: Path) -> None:
    made = []
    for name in ("a", "b"):
        root = tree(tmp_path / name)
        subprocess.run(["cc", "-Iinc", "-c", "one.c", "two.c"], cwd=root, check=True)
        made.append([(root / object_).read_bytes() for object_ in ("one.o", "two.o")])
    assert made[0] == made[1] and made[0][0] != made[0][1]
    assert len([*answers.iterdir()]) == 2


def test_what_the_compiler_says_is_said_each_time(tmp_path: Path, answers: Path) -> None:
    root = tree(tmp_path / "a")
    for text, code, words in (("int f(void) { int unused; return 1; }\n", 0, "unused"), ("int f(\n", 1, "error")):
        (root / "one.c").write_text(text)
        for _ in range(2):
            command = ["cc", "-Wall", "-c", "one.c", "-o", "one.o"]
            done = subprocess.run(command, cwd=root, capture_output=True, text=True)
            assert done.returncode == code and words in done.stderr
    assert not [*answers.iterdir()]


def test_other_files_that_it_writes_are_written(tmp_path: Path, answers: Path) -> None:
    root = tree(tmp_path / "a")
    for _ in range(2):
        compiled(root, "-MMD")
        assert "inc/a.h" in (root / "one.d").read_text()
        (root / "one.d").unlink()
    assert not [*answers.iterdir()]


def test_a_script_is_no_compiler_that_is_known(tmp_path: Path, answers: Path) -> None:
    root = tree(tmp_path / "a")
    script = tmp_path / "mycc"
    script.write_text(f'#!/bin/sh\nexec {shutil.which("cc")} "$@"\n')
    script.chmod(0o755)
    subprocess.run([str(script), "-Iinc", "-c", "one.c", "-o", "one.o"], cwd=root, check=True)
    assert (root / "one.o").exists() and not [*answers.iterdir()]


def test_a_scons_that_is_started_has_them_too(tmp_path: Path, answers: Path) -> None:
    root = tree(tmp_path / "a")
    (root / "SConstruct").write_text(
        "import subprocess\nsubprocess.run(['cc', '-Iinc', '-c', 'one.c', '-o', 'one.o'])\nprint(ARGUMENTS['x'])\n"
    )
    done = subprocess.run([sys.executable, "-m", "SCons", "-Q", "x=7"], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("7\n"), done.stderr
    assert len([*answers.iterdir()]) == 1


def test_what_is_installed_is_hashed_once(answers: Path) -> None:
    with Path("/usr/bin/cc").open("rb") as file:
        said = hashlib.file_digest(file, "sha256").hexdigest()
    assert said == hashlib.sha256(Path("/usr/bin/cc").read_bytes()).hexdigest()
    (kept,) = (answers.parent / "digests").iterdir()
    kept.write_text("from there", "utf-8")
    with Path("/usr/bin/cc").open("rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == "from there"
