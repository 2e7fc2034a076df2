"""What the tool's messages mean, and tables that users add."""

from __future__ import annotations

import os
import re

import pytest

from neuralart.compilers.stedgeai import failures
from neuralart.compilers.stedgeai.run import clean, progress
from neuralart.resources import package_parent
from support.fake_stedgeai import failures as fake
from support.models.stedgeai_case import refusal

OWN = failures.tables({})
NOISE = ["ST Edge AI Core v4.0.1-20581 7ed50de05", " >>>> EXECUTING NEURAL ART COMPILER"]


def explain(text: str, status: int = 255) -> failures.Failure:
    return failures.explain([*NOISE, *text.splitlines()], OWN, status)


def block(said: str) -> str:
    return fake.shell_block("atonn -i x", said) + fake.compiler_failure("")


@pytest.mark.parametrize(
    ("text", "id_", "said"),
    [
        (fake.FRONT["e010"], "invalid-model", "Non-numerical or not-string elements in layer_3's parameter out_0"),
        (fake.FRONT["e102"], "cli-argument", "stm32n6 cannot be used with this mode"),
        (fake.FRONT["tool"], "python-fault", "list index out of range"),
        ("TOOLS ERROR: x", "python-fault", "x"),
        (fake.FRONT["not-implemented"], "not-implemented", "Unkonwn layer format for layer Input_72"),
        (fake.FRONT["ir"], "onnx-version", "IR version 10, this tool reads up to 9"),
        (fake.FRONT["shapes"], "onnx-shapes", "shapes of the exported ONNX model"),
        (fake.FRONT["channels"], "channels", "channels in different places"),
        (fake.FRONT["load"], "board", "the board does not answer"),
        ("E801(HwIOError): no", "board", "the board does not answer"),
        ("E605(ParserNetworkError): bad", "parser", "a network is not understood: bad"),
        ("LOAD ERROR: m.h5 is damaged", "load", "m.h5 is damaged"),
        ("INTERRUPT: by user", "interrupted", "was interrupted"),
        ("INTERNAL ERROR: something new", "internal", "something new"),
        (fake.E700, "no-memory", "needed at least (bytes): 'unlimited memory': 6405160"),
        (
            "E700(UnfeasibleAllocation): Allocation Pass failed",
            "no-memory-unsized",
            "does not fit into the memory pools",
        ),
        (block(fake.COMPILER["oauto"]), "auto-left-over", "3211264 bytes find no place"),
        (block("Warning: Oauto did not find valid compile options: aborting"), "auto", "that --Oauto tried"),
        (block(fake.COMPILER["unallocated"]), "left-over", "4096 bytes find no place"),
        (block(fake.COMPILER["signo11"]), "crash-shape", "rank 5"),
        (block(fake.COMPILER["signo22"]), "crash-path", "letters outside ASCII"),
        (block("Internal compiler error (signo=6)"), "crash", "crashed (signal 6)"),
        (block("Error: unknown option --mvie"), "atonn-unknown-option", "does not know --mvie"),
        (block(fake.COMPILER["e103"]), "npu-compiler", "Error calling the Neural Art compiler"),
        ("write: No space left on device", "disk-full", "the disk is full"),
        (
            "x: error while loading shared libraries: libxcb.so.1: cannot open",
            "library",
            "lacks the library libxcb.so.1",
        ),
    ],
)
def test_documented_failures(text, id_, said):
    found = explain(text)
    assert found.id == id_
    assert said in found.text
    assert found.hint
    assert "\n" not in found.text + found.hint
    assert "{" not in found.hint


def test_every_entry_is_reached_by_a_test():
    tested = {args[1] for args in test_documented_failures.pytestmark[0].args[1]}
    assert {entry.id for entry in OWN.failures} - tested == {"license"}
    assert explain("License not accepted").id == "license"


def test_ids_are_told_once():
    ids = [entry.id for entry in (*OWN.failures, *OWN.warnings)]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        ("Segmentation fault in a new place", 139, "ended with status 139; its last words: Segmentation fault"),
        ("", 1, "ended with status 1; its last words: >>>> EXECUTING NEURAL ART COMPILER"),
        ("x", -9, "was killed by signal 9"),
        ("CLI ERROR: something", 255, "CLI ERROR: something"),
        ("E999(NewError): something", 255, "E999(NewError): something"),
    ],
)
def test_failures_that_no_table_has(text, status, said):
    found = explain(text, status)
    assert (found.id, found.cause, found.hint) == ("", "", "")
    assert said in found.text
    assert failures.explain([], OWN, 3).text == "ended with status 3; its last words: it printed nothing"


def test_the_line_of_a_failure():
    error = failures.error_of(
        explain(fake.FRONT["tool"]), where="m.onnx", tool="ST Edge AI Core 4.0.1", log="o/.vendor/log.txt"
    )
    assert str(error) == (
        "m.onnx: ST Edge AI Core 4.0.1: a fault in the tool itself: list index out of range [TOOL ERROR] (often a "
        "layer that the front end does not expect: cut the model, or try another version; log: o/.vendor/log.txt)"
    )
    unknown = failures.error_of(explain("boom"), where="m.onnx", tool="T", log="L")
    assert str(unknown) == "m.onnx: T: ended with status 255; its last words: boom (log: L)"


def test_long_texts_are_shortened():
    assert len(explain(f"E010(InvalidModelError): {'x' * 5000}").text) < 300
    assert len(explain("y" * 5000).text) < 300


def test_lines_of_cubemx_are_understood():
    prefix = "2026-06-16 21:30:29,930 [INFO] CmdLine:76 - "
    found = explain(f"{prefix}INTERNAL ERROR: Mismatch in channel position\n{prefix}stedgeai exit with status: 255")
    assert found.id == "channels"
    assert found.said == "INTERNAL ERROR: Mismatch in channel position"


# ---- warnings


def test_the_failed_size_step_is_no_failure():
    lines = fake.shell_block("arm-none-eabi-gcc -c x.c", "sh: arm-none-eabi-gcc: not found").splitlines()
    said = failures.warnings([*NOISE, *lines], OWN)
    assert len(said) == 1
    assert said[0].startswith("the tool could not measure code sizes (it needs arm-none-eabi-gcc in PATH)")


def test_float_layers_are_counted_and_named():
    lines = [f"WARNING: norm_{n} is not quantized" for n in range(7)] + ["WARNING: norm_0 is not quantized"]
    (said,) = failures.warnings(lines, OWN)
    assert said == (
        "7 layers are not quantized and will run as floating point on the CPU: "
        "norm_0, norm_1, norm_2, norm_3, norm_4 and 2 more"
    )


def test_keys_that_the_tool_ignores():
    line = "WARNING: Unsupported keys in the current profile n6 are ignored: memory_desc"
    assert failures.warnings([line], OWN) == ["the tool ignores keys of the profile: memory_desc"]
    assert failures.warnings(NOISE, OWN) == []


# ---- tables of users


def table(tmp_path, text: str, name="mine.yaml"):
    path = tmp_path / name
    path.write_text(text)
    return path


MINE = """\
schema: 1
failures:
  - id: ours
    pattern: 'list index (?P<what>\\w+ of range)'
    cause: "our own layer: {what}, {{as is}}"
    hint: "ask Jo"
warnings:
  - id: slow
    pattern: 'took (?P<name>\\d+) minutes'
    text: "{count} times slow: {names}"
"""


def test_a_table_of_the_user_comes_first(tmp_path):
    path = table(tmp_path, MINE)
    for found in (failures.tables({}, [str(path)]), failures.tables({failures.TABLES: str(path)})):
        assert (
            failures.explain([fake.FRONT["tool"]], found, 1).text == "our own layer: out of range, {as is} [TOOL ERROR]"
        )
        assert failures.explain([fake.FRONT["e010"]], found, 1).id == "invalid-model"
        assert failures.warnings(["took 3 minutes"], found) == ["1 times slow: 3"]


def test_several_tables_in_order(tmp_path):
    one = table(tmp_path, MINE, "1.yaml")
    two = table(tmp_path, MINE.replace("ours", "theirs"), "2.yaml")
    environ = {failures.TABLES: os.pathsep.join([str(one), str(two)])}
    assert [entry.id for entry in failures.tables(environ).failures][:2] == ["ours", "theirs"]
    assert [entry.id for entry in failures.tables(environ, [str(two)]).failures][:3] == ["theirs", "ours", "theirs"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("schema: 1", "schema: 2", "mine.yaml:1: schema: 2 is not a version this program reads"),
        ("schema: 1\n", "", "mine.yaml:1: 'schema' is missing"),
        ("failures:", "failure:", "mine.yaml:2: unknown key 'failure' (did you mean 'failures'?"),
        ("    hint:", "    advice:", "mine.yaml:6: unknown key 'advice' in failures[0]"),
        ("  - id: ours\n    pattern", "  - pattern", "'id' is missing"),
        ("id: ours", "id: Our Own", "'Our Own' is not a word of small letters"),
        (
            "'list index (?P<what>\\w+ of range)'",
            "'list (index'",
            "mine.yaml:4: failures[0].pattern: is no regular expression",
        ),
        ("'list index (?P<what>\\w+ of range)'", "'x*'", "matches nothing at all, so it would always fit"),
        ("{what}", "{waht}", "mine.yaml:5: failures[0].cause: {waht} is no group of the pattern (possible: {what})"),
        ("{{as is}}", "{as is", "is no text with {names} in it"),
        ("{count}", "{amount}", "mine.yaml:10: warnings[0].text: {amount} is no group"),
        ('"ask Jo"', "5", "failures[0].hint: 5 is a number in YAML, this must be text"),
        ("warnings:", "warnings: 5\nx:", "unknown key 'x'"),
    ],
)
def test_tables_that_are_wrong(tmp_path, old, new, said):
    assert old in MINE
    text = refusal(failures.tables, {}, [str(table(tmp_path, MINE.replace(old, new)))])
    assert said in text.replace(f"{tmp_path}{os.sep}", "")


def test_the_table_of_the_documentation(tmp_path):
    doc = (package_parent().parent / "docs/reference/stedgeai.md").read_text("utf-8")
    found = failures.load(table(tmp_path, doc.partition("```yaml\n")[2].partition("```")[0]))
    line = "NOT IMPLEMENTED: unknown layer attention_3"
    assert failures.explain([line], found, 1).text.startswith("our attention layer attention_3 is not known")
    assert failures.warnings(["WARNING: a is slow", "WARNING: b is slow"], found) == ["2 slow layers: a, b"]


def test_a_table_that_is_not_there(tmp_path):
    assert "none.yaml: cannot read" in refusal(failures.tables, {failures.TABLES: str(tmp_path / "none.yaml")})


# ---- output


def test_the_progress_bar_is_taken_out():
    text = (
        "ST Edge AI Core v4.0.1\n\rPASS:   0%|          | 0/103 [00:00<?, ?it/s]WARNING: a is not quantized\n"
        "\rPASS:  98%|\u2588\u2588\u258a| 102/104 [02:10<00:08,  4.46s/it]\r          \r| epoch_1 |\r\n"
        "\rPASS: 100%|#########1| 104/104 [02:13<00:00,  6.1it/s]\r    \r\n"
    )
    assert clean(text) == ["ST Edge AI Core v4.0.1", "WARNING: a is not quantized", "| epoch_1 |"]
    assert progress(text) == "100 % (104/104)"
    assert progress("words") == ""


def test_what_only_looks_like_progress_stays():
    for line in ("PASS: the test", "100%|x| of it", "COMPASS: 5% of 3"):
        assert clean(line) == [line]
    assert re.fullmatch(r"\d+ % \(\d+/\d+\)", progress("PASS:   7%|7| 7/100 [00:01<00:10, 1.1s/it]"))
