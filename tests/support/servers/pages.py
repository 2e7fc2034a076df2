"""Commands of a page of the documentation, executed, and what the page says that they print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from neuralart.resources import package_parent

# A comment in front of a block that is not executed, or whose commands fail; its language; its text.
_BLOCK = re.compile(r"^(?:<!-- (not executed|fails)\b:? ?([^\n]*?) ?-->\n)?```(\w+)\n(.*?)^```$", re.M | re.S)
_TYPED = re.compile(r"(?:\$ |(?:\$ )?(?:neuralart|scons|\./sconsw|pip install|cmake) [^:=\[]+$)")
_MARK = "@@ command {} @@"
_ANY = "[...]"


@dataclass(frozen=True)
class Command:
    """A command of a page."""

    text: str
    said: tuple[str, ...]  # Lines that it prints, in their order; [...] stands for anything
    fails: bool = False  # It ends with another status than 0, and what it prints includes its error output

    def missing(self, output: str) -> str:
        """The first line that the output does not have behind those before it; empty: it has all."""
        lines = iter(output.splitlines())
        for wanted in self.said:
            pattern = ".*".join(map(re.escape, wanted.split(_ANY)))
            if wanted != _ANY and not any(re.fullmatch(pattern, line) for line in lines):
                return wanted
        return ""


def not_executed(page: Path) -> list[str]:
    """Why consoles of a page are not executed, a reason for each."""
    found = _BLOCK.findall(page.read_text("utf-8"))
    return [why for comment, why, language, _ in found if language == "console" and comment == "not executed"]


def hidden(page: Path) -> list[str]:
    """Lines that look typed and are in no console: nothing would execute them."""
    text = page.read_text("utf-8")
    others = [body for _, _, language, body in _BLOCK.findall(text) if language in ("text", "sh", "bash", "shell")]
    rest = _BLOCK.sub("", text)
    others += [part[1] for part in re.finditer(r"^```\n(.*?)^```$", rest, re.M | re.S)]
    others += [part[0] for part in re.finditer(r"(?<=\n\n)(?:    [^\n]*\n)+", rest)]
    lines = (line.strip() for part in others for line in part.splitlines())
    return [line for line in lines if _TYPED.match(line)]


def commands(page: Path, yaml: bool = True) -> list[Command]:
    """What a page does. With ``yaml``, a block of that language is added to the end of variants.yaml."""
    found = []
    for comment, _, language, text in _BLOCK.findall(page.read_text("utf-8")):
        if comment == "not executed":
            continue
        if language == "yaml" and yaml:
            found.append(Command(f"cat >> variants.yaml <<'END'\n{text}END", ()))
        elif language == "console":
            for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
                command, *said = re.sub(r"\\\n *", "", part).splitlines()
                if ended := re.search(r"<<'(\w+)'$", command):
                    at = said.index(ended[1]) + 1
                    command, said = "\n".join([command, *said[:at]]), said[at:]
                found.append(Command(command, tuple(said), comment == "fails"))
    return found


def rows(page: Path) -> list[Command]:
    """Commands of tables whose rows end with a command and a line that it prints; how it ends does not matter."""
    found = re.findall(r"^\|.*\| `([^`]+)` \| `([^`]+)` \|$", page.read_text("utf-8"), re.M)
    return [Command(f"{{ {typed}; }} 2>&1 || true", (said,)) for typed, said in found]


def executed(found: list[Command], folder: Path, more: Mapping[str, str]) -> list[str]:
    """Run commands one after the other in one shell, with ``more`` variables. Returns what each prints."""
    script = "set -e\n"
    for number, each in enumerate(found):
        line = f"if {each.text} 2>&1; then echo 'it did not fail' >&2; exit 1; fi" if each.fails else each.text
        script += f"echo '{_MARK.format(number)}'\n{line}\n"
    # What ``. .venv/bin/activate`` does, and an installed package.
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = {
        **os.environ,
        "PATH": path,
        "PYTHONPATH": str(package_parent()),
        "PYTHONDONTWRITEBYTECODE": "1",
        **more,
    }
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, capture_output=True, text=True, env=environment, timeout=900, check=False
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr}"
    parts = re.split(_MARK.replace("{}", r"\d+") + "\n", done.stdout)[1:]
    assert len(parts) == len(found)
    return parts
