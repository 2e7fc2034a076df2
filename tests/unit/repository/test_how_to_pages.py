"""What the documentation tells to type exists: commands, options, rules of lint, targets; every option is on a page."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from neuralart import cli, plugins
from neuralart.config import networks

REPO = Path(__file__).resolve().parents[3]
HOW_TO = REPO / "docs" / "how-to"
PAGES = [REPO / "README.md", *sorted((REPO / "docs").rglob("*.md"))]
MISTAKES = "typical-mistakes.md"
# Options of ST's tools, not of our help; tests/build/worlds/test_pages.py types every command of these pages.
EXECUTED = (MISTAKES, "coming-from-st-tools.md", "st-tools.md")
ST, TROUBLE = REPO / "docs" / "reference" / "st-tools.md", HOW_TO / "troubleshooting.md"
# Options that no page has yet: describe them, and remove them here.
# Of the scripts, as their own help and manuals have them.
THEIRS = {
    "stedgeai generate": "--target --st-neural-art --load-mpool --input-data-type --enable-epoch-controller -O3 "
    "--Oalt-sched --Ocache-opt --mvei --all-buffers-info --csv-file --output-info-file --ec-single-epoch",
    "N6_reloc/npu_driver.py": "--input -i --output -o --name -n --no-secure --split --pack-dir --gen-c-file "
    "--parse-only --no-clean --log --verbosity -v --debug --no-color STEDGEAI_CORE_DIR",
    "N6_reloc/st_load_and_run.py": "--input -i --board --address --mode copy xip no-flash no-run max-speed "
    "--cube-ide-dir STM32_CUBE_IDE_DIR serial:921600",
    "N6_scripts/n6_loader.py and ai_runner npu_profiler.py": "n6_loader.py --cfile --name --desc --batch -b --log "
    "--verbosity --plot --no-color LL_Dbgtrc_ LL_ATON_RT_SetRuntimeCallback LL_ATON_RT_SetEpochCallback",
    "Model zoo": "external_memory_mgt.py update_activation_c_code c_project_path path_network_c_info available_AXIRAM "
    "custom_objects user_config.yaml app_config.h common_deploy.py aspect_ratio",
}


def _calls(page: Path) -> list[str]:
    """Commands of this package in code spans and code blocks."""
    text = page.read_text("utf-8")
    spans = re.findall(r"`(neuralart [^`\n]+)`", text)
    blocks = re.findall(r"^(?: {4}|\$ )(?:\.venv/bin/)?(neuralart .+?)(?: +#.*)?$", text, re.MULTILINE)
    # The last is what `neuralart inspect` calls our compiler.
    return [call for call in (*spans, *blocks) if ": error: " not in call and call != "neuralart reference compiler"]


@cache
def _help(*words: str) -> str:
    """The help of a command; empty if there is no such command."""
    from contextlib import redirect_stderr, redirect_stdout
    from io import StringIO

    out = StringIO()
    with pytest.raises(SystemExit) as ended, redirect_stdout(out), redirect_stderr(StringIO()):
        cli.main([*words, "--help"])
    return out.getvalue() if ended.value.code == 0 else ""


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in EXECUTED], ids=lambda page: page.name)
def test_commands_and_options_exist(page: Path) -> None:
    added = re.findall(r'register\("commands", "([a-z-]+)"', page.read_text("utf-8"))  # by the page itself
    for call in _calls(page):
        words = [word.rstrip(".,:;") for word in call.split()[1:]]
        if not re.fullmatch(r"[a-z][a-z-]*", words[0]) or words[0] in added:
            continue  # neuralart VERB, neuralart --help and the like
        below_tool = words[0] == "tool" and len(words) > 1
        words = words[below_tool:]
        assert words[0] in cli.commands() or words == ["tool"], f"{page.name}: {call}"
        if words == ["tool"]:
            continue
        assert (cli.commands()[words[0]].made.group == "tool") <= below_tool, f"{page.name}: {call}: below tool"
        text = _help(*words[: 2 if " ACTION" in _help(words[0]) and len(words) > 1 else 1])
        assert text, f"{page.name}: {call}"
        for option in (word.partition("=")[0] for word in words if re.match(r"-{1,2}[a-z]", word)):
            assert re.search(rf"(?<![\w-]){option}(?![\w-])", text), f"{page.name}: {call}: no option {option}"


def test_each_option_is_on_a_page() -> None:
    text = "".join(page.read_text("utf-8") for page in PAGES)
    # What a build writes because of a key.
    said = {word for key in networks.KEYS for word in key.taken}
    missing = []
    # What a build calls `application` with are keys of variants.yaml in other words.
    for command in cli.commands().keys() - {"application"}:
        helps = [_help(command)]
        if " ACTION" in helps[0]:
            helps += [_help(command, part) for part in re.findall(r"^    ([a-z]+)  ", helps[0], re.M)]
            assert len(helps) > 2 and all(helps)
        unfolded = re.sub(r"-\n +", "-", "".join(helps))
        options = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", unfolded)) - {"--help"}
        missing += [f"{command} {each}" for each in sorted(options - said) if not re.search(rf"{each}(?![\w-])", text)]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_verbs_of_targets_exist(page: Path) -> None:
    found = set(re.findall(r"\b(\w+)-<variant>", page.read_text("utf-8")))
    assert found <= {*plugins.names("targets"), "flash-application", "flash-model", "application", "model"}, page.name


def test_each_option_of_the_scripts_has_a_row() -> None:
    rows = [line.split(" | ") for line in ST.read_text("utf-8").splitlines() if line.startswith("| ")]
    left = " ".join(row[0] for row in rows)
    for title, names in THEIRS.items():
        missing = [name for name in names.split() if not re.search(rf"(?<![\w-]){re.escape(name)}(?![a-z])", left)]
        assert missing == [], title


def test_rules_of_troubleshooting_exist() -> None:
    named = re.findall(r"rules? ((?:`[\w-]+`(?:,| and)? ?)+)", TROUBLE.read_text("utf-8"))
    found = {rule for text in named for rule in re.findall(r"`([\w-]+)`", text)}
    assert len(found) > 8
    assert found <= set(re.findall(r"^([\w-]+) ", _rules(), re.MULTILINE))


def _rules() -> str:
    from contextlib import redirect_stdout
    from io import StringIO

    out = StringIO()
    with redirect_stdout(out):
        assert cli.main(["lint", "--rules"]) == 0
    return out.getvalue()


SOURCE = """\
int main(void) {
    /* the alias that generated code has */
    *(volatile unsigned *)0x42023100 = 0;


    LL_ATON_RT_Main(&NN_Instance_Default);
}
"""
SCRIPT = """\
MEMORY { RAM (rwx) : ORIGIN = 0x34000400, LENGTH = 1023K
         AXI (rw) : ORIGIN = 0x342E0000, LENGTH = 448K }
_estack = ORIGIN(AXI) + LENGTH(AXI);
SECTIONS { .text : { *(.text*) } > RAM }
"""


def test_lint_finds_what_troubleshooting_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Src").mkdir()
    (tmp_path / "Src" / "main.c").write_text(SOURCE)
    (tmp_path / "app.ld").write_text(SCRIPT)
    block = re.search(r"```console\n\$ neuralart (lint .+)\n([^`]+)```", TROUBLE.read_text("utf-8"))
    assert block is not None
    assert cli.main(block[1].split()) == 1
    printed = capsys.readouterr()
    lines = [line for line in (printed.out + printed.err).splitlines() if ": error: " in line]
    shown = block[2].splitlines()
    assert len(lines) == len(shown)
    for line, wanted in zip(lines, shown, strict=True):
        assert re.fullmatch(re.escape(wanted).replace(re.escape("[...]"), ".*"), line), line
