"""C sources: what the compiler sees, macros, marker blocks, section attributes; bytes survive."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralart.errors import NeuralArtError
from neuralart.text.c_source import CSource, Edit
from neuralart_bring.patching import edit_sites
from neuralart_bring.patching.edit_sites import Markers
from support.servers.messages import one_message

MARKERS = Markers(" /*** @START@ ***/", " /*** @STOP@ ***/")


def source(text: str) -> CSource:
    return CSource.of_text("f.h", text)


def names(text: str) -> list[tuple[str, str]]:
    made = source(text)
    return [(each.name, edit_sites.value_text(made, each)) for each in edit_sites.definitions(made)]


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("#define A (1)\n", [("A", "(1)")]),
        ("#define  A\t (1)\r\n", [("A", "(1)")]),
        ("  #  define A 1 /* why */\n", [("A", "1")]),
        ("#define A 1 // why \\\n#define B 2\n#define C 3\n", [("A", "1"), ("C", "3")]),
        ("#define A \\\n  1\n", [("A", "1")]),
        ("#define A \\ \r\n  1 + \\\r\n 2\r\n#define B 3", [("A", "1 + 2"), ("B", "3")]),
        ("/* #define A 1 */\n// #define A 1\n", []),
        ("/* x\n#define A 1\n*/ #define B 2\n", [("B", "2")]),
        ('char *s = "/*";\n#define A 1\nchar *t = "*/";\n', [("A", "1")]),
        ("char q = '\"';\n#define A 1\n", [("A", "1")]),
        ("#error don't\n#define A 1\n", [("A", "1")]),
        ('char *s = "\\\n#define A 1\n";\n', []),
        ("#if 0\n#define A 1\n#else\n#define A 2\n#endif\n", [("A", "2")]),
        ("#if 1\n#define A 1\n#else\n#define A 2\n#endif\n", [("A", "1")]),
        ("#if 0\n#ifdef X\n#define A 1\n#endif\n#define B 1\n#endif\n#define C 1", [("C", "1")]),
        ("#if 0\n#elif X\n#define A 1\n#endif\n", [("A", "1")]),
        ("#if 1\n#elif X\n#define A 1\n#else\n#define B 1\n#endif\n", []),
        ("#ifdef X\n#define A 1\n#else\n#define A 2\n#endif\n", [("A", "1"), ("A", "2")]),
        ("#endif\n#define A 1\n", [("A", "1")]),
        ("#define A 1 /* never closed\n#define B 2\n", [("A", "1")]),
        ("int x; #define A 1\n", []),
        ("#defined A 1\n#define\n#undef A\n", []),
    ],
)
def test_what_the_preprocessor_sees(text: str, seen: list[tuple[str, str]]) -> None:
    assert names(text) == seen


@pytest.mark.hostcc
@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_the_same_macros_as_the_compiler(eol: str, tmp_path) -> None:
    """Of a source full of traps, the definitions that are alive are those that ``cc -dM`` knows."""
    text = eol.join(
        [
            "#define A (1) /* one */ // two",
            "/* #define A (2) */",
            'const char *s = "// \\" /* #define B 1";',
            "#define\tC \\",
            "  (3 /* \\",
            "  */ + 4)",
            "#if 0",
            "it's dead",
            "#define D 1",
            "#endif",
            "// a comment that goes on \\",
            "#define E 1",
            "/*/ #define F 1 /*/",
            "#define G 'x'",
            '#define H "/*" /* " */',
            "#if 1",
            "#define I 1",
            "#else",
            "#define J 1",
            "#endif",
            "/**/#/**/define/**/K/**/1",
            "",
        ]
    )
    path = tmp_path / "t.c"
    path.write_bytes(text.encode())
    done = subprocess.run(
        [shutil.which("cc") or "cc", "-E", "-dM", "-undef", str(path)], capture_output=True, text=True, check=True
    )
    known = {
        line.split()[1]: re.sub(r"\s+", " ", line.split(None, 2)[2])
        for line in done.stdout.splitlines()
        if re.match(r"#define [A-Z] ", line)
    }
    found = dict(names(text))
    assert set(found) == set(known) == set("ACGHIK")
    assert {key: value.replace(" ", "") for key, value in found.items()} == {
        key: value.replace(" ", "") for key, value in known.items()
    }


def test_a_value_changes_and_nothing_else() -> None:
    made = source("  #\tdefine  A\t(1)\t/* kept */  \r\n#define B 2")
    first = edit_sites.require_macro(made, "A")
    data = made.edited([Edit(*first.value, "(9)")])
    assert data == b"  #\tdefine  A\t(9)\t/* kept */  \r\n#define B 2"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("#define CAM_RES_WIDHT 1\n", "no #define CAM_RES_WIDTH found (did you mean 'CAM_RES_WIDHT'?)"),
        ("", "f.h: no #define CAM_RES_WIDTH found"),
        ("#ifdef X\n#define CAM_RES_WIDTH 1\n#else\n#define CAM_RES_WIDTH 2\n#endif\n", "2 times, in lines 2, 4"),
        ("\n#define CAM_RES_WIDTH(x) 1\n", "f.h:2: CAM_RES_WIDTH has parameters"),
    ],
)
def test_a_macro_that_is_not_clear(text: str, said: str) -> None:
    with pytest.raises(NeuralArtError) as caught:
        edit_sites.require_macro(source(text), "CAM_RES_WIDTH")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("value", "number"),
    [("(18428)", 18428), ("7u", 7), ("((0x10UL))", 16), ("( 5 )", 5), ("0", 0), ("5 /* five */", 5)],
)
def test_numbers(value: str, number: int) -> None:
    made = source(f"#define A {value}\n")
    assert edit_sites.integer(made, edit_sites.require_macro(made, "A")) == number


@pytest.mark.parametrize("value", ["", "B", "(1 + 2)", "010", "1.5", "(1", "-1", "1)("])
def test_no_numbers(value: str) -> None:
    made = source(f"\n#define A {value}\n")
    with pytest.raises(NeuralArtError, match=r"f\.h:2: A is"):
        edit_sites.integer(made, edit_sites.require_macro(made, "A"))


def filled(block: edit_sites.MarkedBlock, text: str) -> Edit:
    """The edit that puts a text into a block."""
    return Edit(block.start, block.stop, text.replace("\n", block.eol))


def test_a_block_and_its_line_ends() -> None:
    for eol in ("\n", "\r\n"):
        made = source(eol.join(["a", MARKERS.start, "x", "y", MARKERS.stop, "b"]))
        block = edit_sites.find_block(made, MARKERS)
        assert (edit_sites.content(made, block), block.first, block.eol) == ("x\ny\n", 3, eol)
        data = made.edited([filled(block, "1\n2\n3\n")])
        assert data.decode() == eol.join(["a", MARKERS.start, "1", "2", "3", MARKERS.stop, "b"])


def test_an_empty_block_and_one_at_the_end() -> None:
    made = source(f"{MARKERS.start}\n{MARKERS.stop}")
    assert made.edited([filled(edit_sites.find_block(made, MARKERS), "x\n")]) == (
        f"{MARKERS.start}\nx\n{MARKERS.stop}".encode()
    )


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["x"], "'␣/*** @START@ ***/' is missing, and no line looks like it"),
        ([MARKERS.start.strip(), MARKERS.stop], "line 1 looks like it: '/*** @START@ ***/' (another indentation)"),
        (["", MARKERS.start + "  ", MARKERS.stop], "line 2 looks like it: '␣/*** @START@ ***/␣␣' (blanks at its end)"),
        (["\t" + MARKERS.start.strip(), MARKERS.stop], "'\\t/*** @START@ ***/' (another indentation)"),
        ([" /*** @STRAT@ ***/", MARKERS.stop], "(another text)"),
        (["/* before", MARKERS.start, MARKERS.stop], "within a comment or a string"),
        ([MARKERS.start, "x", "*/"], "the block that starts in line 1 has no end"),
        ([MARKERS.start, "x", MARKERS.stop + " "], "line 3 looks like it"),
        ([MARKERS.stop, MARKERS.start], "ends in line 1 before it starts in line 2"),
        ([MARKERS.start, MARKERS.start, MARKERS.stop], "2 times, in lines 1, 2"),
        ([MARKERS.start, MARKERS.stop, "", MARKERS.stop], "'␣/*** @STOP@ ***/' stands there 2 times, in lines 2, 4"),
    ],
)
def test_a_block_that_is_not_clear(lines: list[str], said: str) -> None:
    with pytest.raises(NeuralArtError) as caught:
        edit_sites.find_block(source("\n".join(lines) + "\n"), MARKERS)
    assert said in str(caught.value) and str(caught.value).startswith("f.h: ")


@pytest.mark.parametrize(
    "text",
    [
        '__attribute__((section(".A_X"))) int x;',
        '__attribute__ ( ( aligned (4), __section__ ( ".A_X" ) ) ) int x;',
        '/* section(".A_Y") */ [[gnu::section(".A_X")]] int x; // section(".A_Z")',
        '#if 0\nint y __attribute__((section(".A_Y")));\n#endif\nint x __attribute__((section(".A_X")));',
        '__attribute__((section(".A"))) int x; __attribute__((section(".AB_X"))) int y;',
    ],
)
def test_a_section_attribute(text: str) -> None:
    made = source(text)
    found = edit_sites.require_attribute(made, ".A")
    assert found.name in (".A_X", ".A")
    data = made.edited([Edit(found.start, found.stop, ".A_NEW")]).decode()
    assert data == text.replace(f'"{found.name}"', '".A_NEW"')


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('int section; char *s = ".A_X";', "no variable has a section attribute .A..."),
        ('__attribute__((section(".B"))) int x;', "sections that are named there: .B"),
        ('S section(".A_X")\n\nS section(".A_Y")', "2 section attributes .A..., in lines 1, 3"),
    ],
)
def test_a_section_attribute_that_is_not_clear(text: str, said: str) -> None:
    with pytest.raises(NeuralArtError) as caught:
        edit_sites.require_attribute(source(text), ".A")
    assert said in str(caught.value)


def test_edits_must_not_overlap() -> None:
    with pytest.raises(NeuralArtError, match=r"f\.h:2: two operations"):
        source("ab\ncdef").edited([Edit(3, 6, "x"), Edit(5, 7, "y")])


@pytest.mark.parametrize(("data", "said"), [(b"\xff\xfea\0", "UTF-16"), (b"ab\0", "a zero byte at offset 2")])
def test_what_is_no_c_source(data: bytes, said: str) -> None:
    with pytest.raises(NeuralArtError, match=said):
        CSource("f.h", data)


TRAPS = st.lists(
    st.sampled_from(
        ["/*", "*/", "//", '"', "'", "\\", "\n", "\r\n", "\r", " ", "#define A 1", "#if 0", "#else", "#endif", "A", "é"]
    ),
    max_size=40,
).map("".join)


@given(TRAPS)
def test_bytes_survive_and_offsets_stay(text: str) -> None:
    made = CSource("f.c", text.encode("utf-8"))
    assert made.edited([]) == text.encode("utf-8")
    assert len(made.code) == len(made.text)
    assert "".join(made.text[line.start : line.end] for line in made.lines) == made.text
    for start, stop in made.comments:
        assert made.code[start:stop].strip() == "" and made.text[start] == "/"
    for before, after in zip(made.text, made.code, strict=True):
        assert after in (before, " ")
    for each in edit_sites.definitions(made):
        assert made.alive(each.start) and each.value[0] <= each.value[1] <= len(made.text)


@given(TRAPS, TRAPS, st.sampled_from(["\n", "\r\n"]))
def test_a_block_between_traps_is_replaced_whole_or_refused(before: str, inside: str, eol: str) -> None:
    text = f"{before}{eol}{MARKERS.start}{eol}{inside}{eol}{MARKERS.stop}{eol}"
    made = CSource("f.c", text.encode())
    try:
        block = edit_sites.find_block(made, MARKERS)
    except NeuralArtError as error:
        one_message(str(error))
        return
    data = made.edited([filled(block, "new\n")])
    assert data == f"{before}{eol}{MARKERS.start}{eol}new{eol}{MARKERS.stop}{eol}".encode()
    again = CSource("f.c", data)
    assert again.edited([filled(edit_sites.find_block(again, MARKERS), "new\n")]) == data
