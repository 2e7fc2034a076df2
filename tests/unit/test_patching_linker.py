"""The reader of linker scripts, budgets and sizes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralart.errors import NeuralArtError
from neuralart.patching import linker_script, mempools, units
from neuralart.patching.budget import Budget, Use
from neuralart.patching.linker_tokens import evaluate
from support.h747_app import LINKER_TEXT


def script(text: str) -> linker_script.LinkerScript:
    return linker_script.parse(text.encode(), "a.ld")


ONE = "MEMORY { RAM (xrw) : ORIGIN = 0x20000000, LENGTH = 64K  ROM (rx): org = 0, len = 1M }\nSECTIONS {\n"


def test_an_application_script() -> None:
    made = script(LINKER_TEXT)
    assert [(m.name, m.origin, m.length, m.writable) for m in made.memories] == [
        ("FLASH_BK1", 0x08000000, 1 << 20, False),
        ("DTCMRAM", 0x20000000, 128 << 10, True),
        ("AXIRAM", 0x24000000, 512 << 10, True),
        ("SDRAM", 0xD0000000, 32 << 20, True),
    ]
    for section, memory in (
        (".NN_Activation_Buffer_AXIRAM", "AXIRAM"),
        (".NN_Activation_Buffer_DTCMRAM", "DTCMRAM"),
        (".CapturedImage_Buffer_AXIRAM", "AXIRAM"),
        (".CapturedImage_Buffer_SDRAM", "SDRAM"),
        (".data.x", "AXIRAM"),
    ):
        assert made.place(section).name == memory
    stack = made.stack()
    assert stack is not None and (stack[0].name, stack[1]) == ("AXIRAM", 1024)


@pytest.mark.parametrize(
    ("memory", "origin", "length"),
    [
        ("ORIGIN = 0x10, LENGTH = 2K", 0x10, 2048),
        ("o = 16 , l = 0x2M", 16, 2 << 20),
        ("org = 4K + 2 * (8 - 4), len = 64K - 0x400", 4104, 63 << 10),
        ("ORIGIN = ORIGIN(A) + LENGTH(A), LENGTH = BASE / 2", 0x1100, 0x800),
        ("ORIGIN = 1 << 4 | 1, LENGTH = 0xFF & 0x0F", 17, 15),
        ("ORIGIN = 0 /* here */, LENGTH = /* so much */ 1", 0, 1),
    ],
)
def test_expressions_in_memory(memory: str, origin: int, length: int) -> None:
    made = script(
        f"BASE = 0x1000;\nMEMORY {{ A : ORIGIN = 0x1000, LENGTH = 0x100\nB (rw!x) : {memory} C : o = 1, l = 1 }}"
    )
    assert [(m.name, m.origin, m.length) for m in made.memories][1] == ("B", origin, length)
    assert [m.name for m in made.memories] == ["A", "B", "C"]


@pytest.mark.parametrize(
    "body",
    [
        "*(.x)",
        "KEEP(*(.a .x))",
        "KEEP (*(SORT_BY_NAME(.x)))",
        "*(SORT(.a.*) EXCLUDE_FILE(*crt.o) .x)",
        "*(EXCLUDE_FILE (*b.o *c.o) .x)",
        '_s = .; . = ALIGN(4); FILL(0xFF) BYTE(1) *(.x) ASSERT(. < 4, "too (large")',
        "*.o(.x)",
        "*main.o (.x)",
        "*(.[wxy])",
        ":main.o(.x)",
        "*(*)",
        '*(".x")',
    ],
)
def test_bodies_that_take_a_section(body: str) -> None:
    assert (
        script(f"{ONE} .out 0x20000000 (NOLOAD) : ALIGN(8) SUBALIGN(4) {{ {body} }} >RAM AT> ROM :phdr =0x00\n}}")
        .place(".x")
        .name
        == "RAM"
    )


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        (".out : { *(.y) } >RAM", "a.ld: no output section takes '.x': the linker would place it anywhere"),
        (".out : { libc.a(*) *lib.a:*(.x) a.a:*(*) crt0.o(.x) *startup.o(.x) } >RAM", "no output section takes '.x'"),
        (".out : { *(.x) }", "a.ld:3: output section .out takes '.x' and does not say which memory"),
        (".out : { *(.x) } >ROM", "'.x' would go to ROM (rx), which is not for variables"),
        (".out : { *(.x) } >RAMM", "no memory 'RAMM' in MEMORY (did you mean 'RAM'? known: RAM, ROM)"),
        ("/DISCARD/ : { *(.x) }", "'.x' is thrown away by /DISCARD/"),
        ("INCLUDE more.ld .out : { *(.y) } >RAM", "more.ld is included and was not read"),
        ('. = 4; PROVIDE(x = .); ASSERT(x, "y")', "no output section takes '.x'"),
    ],
)
def test_sections_without_a_place(sections: str, said: str) -> None:
    with pytest.raises(NeuralArtError) as caught:
        script(f"{ONE}{sections}\n}}").place(".x")
    assert said in str(caught.value)


def test_aliases_of_memories() -> None:
    text = 'REGION_ALIAS("FAST", RAM)\nREGION_ALIAS(SLOW, NOWHERE)\n'
    made = script(f"{ONE.split('SECTIONS')[0]}{text}SECTIONS {{ .a : {{ *(.x) }} >FAST .b : {{ *(.y) }} >SLOW }}")
    assert made.place(".x").name == "RAM"
    with pytest.raises(NeuralArtError, match="no memory 'NOWHERE'"):
        made.place(".y")


def test_the_first_section_that_takes_it_gets_it() -> None:
    assert (
        script(f"{ONE} .a : {{ *(.y*) }} >ROM\n .b : {{ *(.x*) }} > RAM\n .c : {{ *(.x) }} >ROM }}").place(".x").name
        == "RAM"
    )


def test_known_sections_of_the_family_are_named() -> None:
    with pytest.raises(NeuralArtError, match=r"it knows \.NN_Activation_Buffer_AXIRAM, .*DTCMRAM"):
        script(LINKER_TEXT).place(".NN_Activation_Buffer_npuRAM4")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no MEMORY"),
        ("SECTIONS { }", "no MEMORY"),
        ("MEMORY { A : ORIGIN = 0, LENGTH = 1 ", "'{' is not closed"),
        ("MEMORY { A ORIGIN = 0 }", "not a line of MEMORY"),
        ("MEMORY { A : ORIGIN = x, LENGTH = 1 }", "ORIGIN of A is 'x'"),
        ("MEMORY { A : ORIGIN = 0, LENGTH = 5 5 }", "LENGTH of A: not understood"),
        ("MEMORY { A : ORIGIN = 0, LENGTH = 8G }", "LENGTH of A"),
        ("MEMORY { A : ORIGIN = 0, LENGTH = 0x200000000 }", "no number of 32 bits"),
        ("MEMORY { A : ORIGIN = 0, LENGTH = 0 - 1 }", "no number of 32 bits"),
        ("MEMORY { A : ORIGIN = 0, LENGTH = 1 / 0 }", "no number of 32 bits"),
        ("MEMORY { A : o = 0, l = 1 A : o = 0, l = 1 }", "memory A stands twice"),
        ("MEMORY { A : o = 0, l = 1 }\nSECTIONS { .x : }", "a.ld:2: output section .x has no body"),
        ("MEMORY { A : o = 0, l = 1 }\n/* never", "a.ld:2: not a linker script: a comment that does not end"),
        ('\n"', "a.ld:2: not a linker script"),
        ("MEMORY { ) }", "')' closes nothing"),
        ("MEMORY { A : o = 0, l = " + "(" * 9999 + "1" + ")" * 9999 + " }", "nested too deep"),
    ],
)
def test_what_is_no_linker_script(text: str, said: str) -> None:
    with pytest.raises(NeuralArtError) as caught:
        script(text)
    assert said in str(caught.value) and "\n" not in str(caught.value)


WORDS = [
    "MEMORY",
    "SECTIONS",
    "ORIGIN",
    "LENGTH",
    "INCLUDE",
    "REGION_ALIAS",
    ".a",
    "*",
    "A",
    "0x1",
    "4K",
    *'{}():;=>,"',
    "/*",
    "*/",
]


@given(st.lists(st.sampled_from(WORDS)))
def test_any_words_are_read_or_refused(words: list[str]) -> None:
    for text in (" ".join(words), ONE + " ".join(words) + "}"):
        try:
            script(text)
        except NeuralArtError as error:
            assert "\n" not in str(error)


@given(st.integers(0, 1 << 30), st.integers(1, 999), st.sampled_from(["+", "-", "*", "/", "<<", ">>", "&", "|"]))
def test_arithmetic(left: int, right: int, sign: str) -> None:
    right = right % 8 if sign in ("<<", ">>") else right
    expected = left // right if sign == "/" else eval(f"{left} {sign} {right}")
    assert evaluate(f"{left} {sign} {right}", {}) == expected
    assert evaluate(f"a{sign}b", {"a": left, "b": right}) == expected
    assert evaluate(f"{left} {sign} nobody", {}) is None


@pytest.mark.arm
def test_the_linker_places_them_where_the_reader_says(tmp_path: Path) -> None:
    """Every section of the script, linked by the real linker."""
    made = script(LINKER_TEXT)
    sections = sorted(
        pattern
        for section in made.sections
        for pattern in section.patterns
        if pattern.startswith(".") and "Buffer" in pattern and section.memory != "FLASH_BK1"
    )
    assert len(sections) > 6
    lines = [f'char v{n}[{64 + n}] __attribute__((section("{name}")));' for n, name in enumerate(sections)]
    (tmp_path / "main.c").write_text("\n".join([*lines, "void Reset_Handler(void) { for (;;) v0[0]++; }", ""]))
    (tmp_path / "a.ld").write_text(LINKER_TEXT)
    gcc = shutil.which("arm-none-eabi-gcc") or "arm-none-eabi-gcc"
    subprocess.run(
        [gcc, "-mcpu=cortex-m7", "-mthumb", "-nostdlib", "-Wl,-T,a.ld", "main.c", "-o", "a.elf"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    shown = subprocess.run(
        [gcc.replace("gcc", "nm"), "a.elf"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    address = {line.split()[2]: int(line.split()[0], 16) for line in shown.stdout.splitlines()}
    for n, name in enumerate(sections):
        memory = made.place(name)
        assert memory.origin <= address[f"v{n}"] < memory.origin + memory.length, name


# Budgets --------------------------------------------------------------------------------------------------------------


def test_what_fits_exactly_fits() -> None:
    budget = Budget(script(LINKER_TEXT), {"AXIRAM": 24 << 10}, {"AXIRAM": 450 << 10})
    assert budget.regions["AXIRAM"].capacity == 450 << 10
    budget.take("AXIRAM", Use("a", 449 << 10))
    assert budget.choose(Use("b", 1 << 10), [("AXIRAM", "AXIRAM"), ("SDRAM", "SDRAM")]) == "AXIRAM"
    assert budget.free("AXIRAM") == 0
    assert budget.choose(Use("c", 1), [("AXIRAM", "AXIRAM"), ("SDRAM", "SDRAM")]) == "SDRAM"
    assert budget.choose(Use("nothing", 0), [("AXIRAM", "AXIRAM")]) == "AXIRAM"


def test_what_does_not_fit_is_told_with_every_number() -> None:
    budget = Budget(script(LINKER_TEXT), {"DTCMRAM": 8192}, {"DTCMRAM": 100_000})
    budget.take("DTCMRAM", Use("first", 60_000))
    with pytest.raises(NeuralArtError) as caught:
        budget.take("DTCMRAM", Use("second", 40_001))
    for text in (
        "second needs 40001",
        "40000 of 100000",
        "131072 less 8192 reserved",
        "at most 100000",
        "first takes 60000",
    ):
        assert text in str(caught.value)
    with pytest.raises(NeuralArtError) as caught:
        budget.choose(Use("huge", 1 << 26), [("a", "DTCMRAM"), ("b", "SDRAM")])
    assert "DTCMRAM has 40000" in str(caught.value) and "SDRAM has 33554432" in str(caught.value)


def test_reserves_that_make_no_sense() -> None:
    with pytest.raises(NeuralArtError, match=r"reserve for 'AXIRAN', no such memory \(did you mean 'AXIRAM'"):
        Budget(script(LINKER_TEXT), {"AXIRAN": 1}, {})
    with pytest.raises(NeuralArtError, match="reserve of 524289 bytes in AXIRAM, which has 524288"):
        Budget(script(LINKER_TEXT), {"AXIRAM": 524289}, {})


def test_the_stack_at_the_end_of_a_memory_is_told() -> None:
    for reserve, said in ((0, True), (1023, True), (1024, False)):
        budget = Budget(script(LINKER_TEXT), {"AXIRAM": reserve}, {})
        assert budget.stack_note() == ""  # nothing in there to run into
        budget.take("AXIRAM", Use("a", 1))
        assert ("wants 1024 bytes" in budget.stack_note()) is said


# Sizes ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("8B", 8),
        ("1024KB", 1 << 20),
        ("72K", 73728),
        ("72k", 73728),
        ("1M", 1 << 20),
        ("0x400", 1024),
        ("128000KB", 131072000),
        ("4G", 1 << 32),
        (" 2 MB ", 2 << 20),
        ("010", 10),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert units.parse(text, "here") == size


@pytest.mark.parametrize("text", ["", "K", "-1", "1.5K", "1T", "5G", "1 K B", "0x", "1KiB", "99999999999", "１"])
def test_no_sizes(text: str) -> None:
    with pytest.raises(NeuralArtError, match="here: "):
        units.parse(text, "here")


@pytest.mark.parametrize(
    ("size", "bytes_"),
    [
        ('{"value": "440", "magnitude": "KBYTES"}', 450_560),
        ('{"value": "20000", "magnitude": "KBYTES"}', 20_480_000),
        ('{"value": 8, "magnitude": "BYTES"}', 8),
        ('{"value": "0x10", "magnitude": "MBYTES"}', 16 << 20),
        ('{"value": "7"}', 7),
        ('"96KB"', 98_304),
    ],
)
def test_pool_sizes(size: str, bytes_: int, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    other = '{"name": "B", "size": "1M", "usable_size": "1K"}'
    path.write_text('{"memory": {"mempools": [{"name": "A", "size": ' + size + "}, " + other + "]}}")
    assert mempools.read_pool_sizes(path) == {"A": bytes_, "B": 1024}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "not a memory-pool file"),
        ("[]", "not a memory-pool file"),
        ('{"memory": {"mempools": 1}}', "not a memory-pool file"),
        ('{"memory": {"mempools": [1]}}', "not a memory-pool file"),
        ('{"memory": {"mempools": [{"name": "A"}]}}', "not a memory-pool file"),
        ('{"memory": {"mempools": [{"name": "A", "size": {}}]}}', "a size without 'value'"),
        ('{"memory": {"mempools": [{"name": "A", "size": {"value": "4", "magnitude": "KB"}}]}}', "magnitude is 'KB'"),
        (
            '{"memory": {"mempools": [{"name": "A", "size": {"value": "4K", "magnitude": "BYTES"}}]}}',
            "no number of BYTES",
        ),
        (
            '{"memory": {"mempools": [{"name": "A", "size": {"value": true, "magnitude": "BYTES"}}]}}',
            "no number of BYTES",
        ),
        ('{"memory": {"mempools": [{"name": "A", "size": "1"}, {"name": "A", "size": "1"}]}}', "stands there twice"),
        ('{"memory":', "p.json:1"),
    ],
)
def test_what_is_no_pool_file(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(text)
    with pytest.raises(NeuralArtError) as caught:
        mempools.read_pool_sizes(tmp_path / "p.json", "p.json")
    assert said in str(caught.value) and str(caught.value).startswith("p.json:")
