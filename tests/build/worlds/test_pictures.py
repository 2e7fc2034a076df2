"""Pictures of the README: a terminal with what its commands print, and the plan that the last one draws; and gdb.

``NEURALART_PICTURES=1`` writes them again; look at them then.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from io import StringIO
from pathlib import Path

import pytest

from neuralart_virtual.vectors import expected
from support.boards.debugging import Debugged, command
from support.projects.sconsproject import REPO, shared_objects
from support.servers import pages

rich = pytest.importorskip("rich", reason="rich is not installed: pip install -e '.[progress]'")
pytestmark = [
    pytest.mark.arm,
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("bash") is None, reason="no bash"),
    pytest.mark.skipif(not expected.has_litert(), reason="LiteRT is not installed"),
]
PICTURES = REPO / "docs" / "pictures"
COLUMNS = 104
# Background, text, and the eight colors of a terminal (black, red, green, yellow, blue, magenta, cyan, white).
DARK = ((13, 17, 23), (230, 237, 243), (126, 231, 135), (145, 152, 161))
LIGHT = ((255, 255, 255), (31, 35, 40), (26, 127, 55), (87, 96, 106))


def _terminal(shown: list[tuple[str, str]], colors: tuple[tuple[int, int, int], ...], title: str = "doorbell") -> str:
    """An SVG of lines, each with ``command``, ``good`` or nothing; it names no font of a server."""
    from rich._export_format import CONSOLE_SVG_FORMAT
    from rich.console import Console
    from rich.terminal_theme import TerminalTheme
    from rich.text import Text

    paper, ink, green, gray = colors
    console = Console(record=True, width=COLUMNS, file=StringIO(), force_terminal=True, color_system="truecolor")
    styles = {"command": "bold", "good": "bold rgb({},{},{})".format(*green), "left out": "rgb({},{},{})".format(*gray)}
    for line, kind in shown:
        console.print(Text(line, style=styles.get(kind, ""), no_wrap=True, overflow="ellipsis"))
    layout = re.sub(r"@font-face \{\{.*?\}\}\n", "", CONSOLE_SVG_FORMAT, flags=re.S)
    layout = layout.replace("Fira Code", "ui-monospace, Consolas")
    theme = TerminalTheme(paper, ink, [ink] * 8)
    svg = console.export_svg(title=title, theme=theme, code_format=layout, unique_id="terminal")
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "").replace("https://www.textualize.io", "")
    return re.sub(r"[ \t]+$", "", svg, flags=re.M).rstrip("\n") + "\n"


def _shown(command: str, output: str) -> list[tuple[str, str]]:
    """What a terminal shows, without the steps of a build and what only a table would say."""
    lines: list[tuple[str, str]] = [(f"$ {command}", "command")]
    for line in output.splitlines():
        if re.match(r"\[\d+/\d+\] |\.\.\. |Retrieved ", line) or {"plan", "build"} & {*command.split()}:
            lines += [("[...]", "left out")] if lines[-1][0] != "[...]" else []
        elif line:
            lines.append((line, "good" if "bit-exact" in line else ""))
    return lines


def _debugged(folder: Path) -> list[tuple[str, str]]:
    """What gdb shows of the project's check: where it stops, who called, and what the input holds."""
    network = next((folder / "build" / "networks").glob("*/network.json"))
    place = folder / "build" / "doorbell-check"
    at = json.loads(network.read_text("utf-8"))["inputs"][0]["address"]
    typed = ["break LL_ATON_Start_EpochBlock_3_doorbell", "continue", "backtrace", f"x/8db 0x{at:08x}"]
    more = ("--plan", str(place / "flash_plan.json"))
    words = command("stm32n6570-dk", place / "firmware.elf", network, folder / "models" / "vectors", *more)
    run = Debugged(words, folder)
    script = ["set print frame-arguments none", "set width 0"]
    script += [line for each in typed for line in (f"echo (gdb) {each}\\n", each)]
    said = run.gdb(*script, "echo (end)\\n", "kill").replace(f"{folder}/", "").partition("(gdb) ")
    run.end()
    assert "Breakpoint 1, LL_ATON_Start_EpochBlock_3_doorbell" in said[2]
    lines = "".join(said[1:]).partition("(end)")[0].expandtabs().splitlines()
    shown = [(each, "command" if each.startswith("(gdb)") else "") for each in lines if each]
    return [("$ gdb-multiarch build/doorbell-check/firmware.elf -ex 'target remote :3333'", "command"), *shown]


def _same(one: str, other: str) -> bool:
    """But for addresses of code, which another compiler of C puts elsewhere."""
    return re.sub(r"0x340[0-9a-f]{5}", "", one) == re.sub(r"0x340[0-9a-f]{5}", "", other)


@pytest.mark.gdb
def test_the_pictures(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    shutil.copy(REPO / "models" / "digits" / "digits.tflite", tmp_path / "doorbell.tflite")
    all_done = pages.commands(REPO / "README.md")
    end = next(n for n, each in enumerate(all_done) if "plan.svg" in each.text) + 1
    done = all_done[:end]
    outputs = pages.executed(done, tmp_path, shared_objects(tmp_path_factory))
    typed = [pair for each, output in zip(done[:-1], outputs, strict=False) for pair in _shown(each.text, output)]
    assert sum(kind == "good" for _, kind in typed) == 1
    debugged = _debugged(tmp_path / "doorbell")
    wanted = {
        "debugger-light.svg": _terminal(debugged, LIGHT, "gdb"),
        "debugger-dark.svg": _terminal(debugged, DARK, "gdb"),
        "terminal-light.svg": _terminal(typed, LIGHT),
        "terminal-dark.svg": _terminal(typed, DARK),
        "plan.svg": (tmp_path / "doorbell" / "plan.svg").read_text("utf-8"),
    }
    for name, text in wanted.items():
        if os.environ.get("NEURALART_PICTURES"):
            (PICTURES / name).write_text(text, "utf-8")
        assert _same((PICTURES / name).read_text("utf-8"), text), f"{name}: NEURALART_PICTURES=1 writes it again"
    # Browsers do not draw the same bytes: that one was taken by hand.
    assert {path.name for path in PICTURES.iterdir()} == wanted.keys() | {"report.png"}
