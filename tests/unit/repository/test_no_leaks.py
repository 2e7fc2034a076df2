"""What is published speaks of the project alone: no folder of a developer's machine, no note to oneself."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[3]
# /bin/sh, /opt/st and the like are places that every machine of a kind has. In tests a made-up place stands for one.
HOMES = re.compile(rb"(?:(?<![\w.$}~:/-])|(?<=-[ILB]))/(?:home|root|Users|work|tmp|mnt)/[\w.-]+")
# In small letters: looked for in any letters, all of it would take three times as long.
WORDS = re.compile(
    r"\b(?:helper [a-h]\b|(?:this|next|last|previous|earlier|later) session\b|in session \d"
    r"|shared/(?:spec|design|lab|data)\b|spec/\w+\.md\b|lab/|brief\.md\b|issues? #?\d+\b"
    r"|(?:pypi|pythonhosted|deb\.debian)\.org\b|github\.io/simple\b|ai assistant\b|language model\b)"
    r"|\.\./shared\b|/opt/(?:pypi|wheels)|<<<<<<<|>>>>>>>"
)
NOTES = re.compile(r"\b(?:TODO|FIXME|XXX)\b")


def _tracked() -> list[str]:
    """Files of the repository, and those that would join it with the next commit."""
    if not (REPO / ".git").exists() or shutil.which("git") is None:
        return []
    words = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(words, cwd=REPO, capture_output=True, check=True)
    return sorted(name for name in done.stdout.decode().split("\0") if name and (REPO / name).is_file())


TRACKED = _tracked()
pytestmark = pytest.mark.skipif(not TRACKED, reason="not a git checkout")
BINARY = (".tflite", ".bin", ".png", ".raw", ".onnx")
OWN = Path(__file__).relative_to(REPO).as_posix()


def test_no_folder_of_a_machine() -> None:
    """Binary files too: debug information and models like to carry them."""
    found = []
    for name in TRACKED:
        if name == OWN:
            continue
        for hit in HOMES.finditer((REPO / name).read_bytes()):
            found.append(f"{name}: {hit.group().decode('utf-8', 'replace')}")
    assert found == []


def test_no_words_of_the_workplace() -> None:
    found = []
    for name in TRACKED:
        if name in (OWN, "LICENSE") or name.endswith(BINARY):
            continue
        text = (REPO / name).read_text("utf-8")
        for hit in (*WORDS.finditer(text.lower()), *NOTES.finditer(text)):
            found.append(f"{name}: {hit.group()}")
    assert found == []


def test_the_patterns_find_what_they_are_for() -> None:
    for text in (b"cd /home/jane/x", b'"/tmp/build"', b"-I/root/.cache", b"=/work/main"):
        assert HOMES.search(text), text
    for text in (b"build/home/x", b"$HOME/tmp/x", b"#!/bin/sh", b"tests/tmp/x", b"https://x.org/home/page"):
        assert not HOMES.search(text), text
    for line in ("see issue 12", "Helper B writes it", "as in ../shared/x", "the next session"):
        assert WORDS.search(line.lower()), line
    for line in ('@pytest.fixture(scope="session")', "a helper function", "label/x", "an issue"):
        assert not WORDS.search(line), line


def test_text_is_utf8_with_lf_and_no_blanks_at_line_ends() -> None:
    found = []
    for name in TRACKED:
        if name.endswith(BINARY):
            continue
        data = (REPO / name).read_bytes()
        assert b"\0" not in data, f"{name} is no text: say so in .gitattributes and in BINARY"
        if b"\r" in data:
            found.append(f"{name}: CR")
        found.extend(
            f"{name}:{n}: blank at the end"
            for n, line in enumerate(data.split(b"\n"), 1)
            if line[-1:] in b" \t" and line
        )
    assert found == []
