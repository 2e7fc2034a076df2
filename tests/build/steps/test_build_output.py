"""What a build prints, counted in lines: nothing changed, something changed, a terminal, colors."""

from __future__ import annotations

import re

import pytest

from support.projects.sconsproject import Project

pytestmark = [pytest.mark.arm, pytest.mark.long]

DEFAULT = ("digits-n6", "digits-an547", "digits-n6-rel", "mobilenet-n6-rel", "digits-n6-rel-ext")
UP_TO_DATE = [f"scons: `{name}' is up to date." for name in DEFAULT]


def numbers(text: str) -> list[tuple[int, int]]:
    """Numbers of the steps, and of how many."""
    return [(int(one), int(of)) for one, of in re.findall(r"^\[(\d+)/(\d+)\] ", text, re.M)]


def test_nothing_changed_is_one_line_for_each_variant(built: Project) -> None:
    result = built.run()
    assert (result.raw.splitlines(), result.err) == (UP_TO_DATE, "")
    assert built.on_a_terminal() == "".join(f"\x1b[32m{line}\x1b[0m\n" for line in UP_TO_DATE)
    for words, env in ((("--no-color",), {}), ((), {"NO_COLOR": "1"}), ((), {"TERM": "dumb"})):
        assert built.on_a_terminal(*words, "digits-n6", **env) == UP_TO_DATE[0] + "\n"


def test_steps_are_numbered_up_to_the_last(built: Project) -> None:
    # Everything of one variant but its networks and the objects of its machine, which another one has in common.
    built.path("build/digits-n6/app/main.o").unlink()
    built.edit("firmware/app/text_line.c", "#include", "int more;\n#include")
    foreseen = numbers(built.run("-n").raw)
    assert foreseen[0][1] > 10, "what is built without targets is foreseen, too"
    said = built.run("-j2", "digits-n6", "digits-n6-rel").raw
    steps = numbers(said)
    assert [number for number, _ in steps] == [*range(1, len(steps) + 1)]
    first, last = steps[0][1], steps[-1]
    # What is made again with the same bytes lets later steps fall away, and none comes that was not foreseen.
    assert last[0] == last[1] <= first < last[0] + 8
    assert [of for _, of in steps] == sorted((of for _, of in steps), reverse=True)
    summaries = said.split("\n\n")[1:]
    assert [text.partition(":")[0] for text in summaries] == ["digits-n6", "digits-n6-rel"]
    for text in summaries:
        name, lines = text.partition(":")[0], text.splitlines()
        assert len(lines) <= 12 and "artefacts\n" not in text
        assert re.fullmatch(rf"  more +\d+ artefacts(?: and \d+ more lines?)?: build/{name}/summary.txt", lines[-1])
        assert any(line.startswith("  firmware ") for line in lines), "sizes of the firmware are never left out"
    # All of it on demand: whole commands, too.
    built.edit("firmware/app/text_line.c", "int more;", "int other;")
    told = built.run("VERBOSE=1", "digits-n6").raw
    assert told.rstrip().endswith(built.path("build/digits-n6/summary.txt").read_text("utf-8").rstrip())
    assert re.search(r"^\[1/\d+\] \S*arm-none-eabi-gcc .* -c ", told, re.M)
    # What has the same bytes as before ends there: the variant says in one line that it is as it was.
    built.edit("firmware/app/text_line.c", "int other;", "int other; // and a word")
    ended = built.run("digits-n6").raw.splitlines()
    assert re.fullmatch(r"\[1/\d+\] CC       build/firmware/runtime-[0-9a-f]{8}/app/text_line\.o", ended[0])
    assert ended[1:] == UP_TO_DATE[:1]


def test_errors_and_results_on_a_terminal(built: Project) -> None:
    built.edit("firmware/app/main.c", "#include", "#warning careful\n#error no\n#include")
    said = built.on_a_terminal("digits-n6")
    # All that the compiler says, as editors find it, and the first of it in SCons's line.
    assert re.search(r"firmware/app/main.c:\d+:\d+: (?:.*m)?error: (?:.*m)?#error no", said), said
    error = r"scons: \*\*\* \[build/digits-n6/app/main.o\] firmware/app/main.c:\d+:\d+: #error no"
    error += r" \(the first of \d+ errors\)"
    assert re.search(rf"^\x1b\[31m{error}\x1b\[0m$", said, re.M), said
    # As a file, the same without colors, errors apart.
    failed = built.run("digits-n6", code=2)
    assert "\x1b" not in failed.raw + failed.err and re.search(rf"^{error}$", failed.err, re.M)
    shown = r"^firmware/app/main.c:(\d+):2: error: #error no\n +\1 \| #error no\n +\|  \^~~~~$"
    assert re.search(shown, failed.err, re.M), "with its line and a caret"
    assert failed.err.count(": error: ") > 1, "all of them"
    # A warning alone stays as it is.
    built.edit("firmware/app/main.c", "#error no\n", "")
    said = built.on_a_terminal("digits-n6")
    assert re.search(r"^\x1b\[33mfirmware/app/main.c:\d+:\d+: warning: .*careful.*\x1b\[0m$", said, re.M), said


@pytest.mark.qemu
def test_runs_on_a_terminal_name_their_variant(built: Project) -> None:
    drawn = built.on_a_terminal("-j2", "run-digits-n6", "run-digits-an547")
    # Without what moves the cursor: a slow machine shows bars.
    said = re.sub(r"\r|\x1b\[\??[\d;]*[A-Za-ln-z]", "\n", drawn)
    assert numbers(said) == [(1, 2), (2, 2)]
    for name, machine in (("digits-n6", "unicorn"), ("digits-an547", "qemu")):
        result = rf"\x1b\[32m{name}: digits: 20 vectors bit-exact on {machine} .*\x1b\[0m$"
        assert re.search(result, said, re.M), said
        assert f"  {name} | scons-neuralart reference application" in said
    assert "\x1e" not in said, "numbers of commands are not for people"
