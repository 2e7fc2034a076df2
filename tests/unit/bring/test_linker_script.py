"""The reader of GNU linker scripts, alone and beside arm-none-eabi-ld."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralart.errors import NeuralArtError
from neuralart_bring.linker_script.expression import Expression, Scope, value_of
from neuralart_bring.linker_script.read import parse, read
from neuralart_bring.linker_script.types import LinkerScript
from support.boards.h747_app import LINKER_TEXT


def evaluate(text: str, symbols: dict[str, int | None]) -> int | None:
    """The value of a whole text."""
    tree, end = Expression(text, 0, len(text)).parse()
    assert not text[end:].strip()
    return value_of(tree, Scope(dict(symbols)))


def script(text: str) -> LinkerScript:
    return parse(text.encode(), "a.ld").complete()


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
        ("MEMORY { A : ORIGIN = 0, LENGTH = 5 5 }", "a.ld:1: not a line of MEMORY: '5 }'"),
        ("MEMORY {\n A : ORIGIN = 0, LENGTH = }", "a.ld:2: LENGTH of A: not understood"),
        ("MEMORY {\n A : ORIGIN = 0 }", "a.ld:2: not a line of MEMORY: A has no 'LENGTH ='"),
        ("MEMORY { A : ORIGIN = 0, LENGTH = 8G }", "a.ld:1: LENGTH of A: not understood: '8G'"),
        ("MEMORY { A : ORIGIN = 0, LENGTH = 0x200000000 }", "no number of 32 bits"),
        ("MEMORY { A : ORIGIN = 0, LENGTH = 0 - 1 }", "no number of 32 bits"),
        ("MEMORY { A : ORIGIN = 0, LENGTH = 1 / 0 }", "no number of 32 bits"),
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
    assert evaluate(f"{left} {sign} {right}", {}) == expected % (1 << 64)
    assert evaluate(f"a {sign} b", {"a": left, "b": right}) == expected % (1 << 64)
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


def test_a_memory_that_is_declared_twice_has_the_last_numbers() -> None:
    """GNU ld warns of it and goes on."""
    made = script("MEMORY { A (rx) : o = 1, l = 2 B : o = 3, l = 4 A (rw) : o = 5, l = 6 }")
    assert [(m.name, m.origin, m.length, m.attributes) for m in made.memories] == [("A", 5, 6, "rw"), ("B", 3, 4, "")]


def test_one_line_holds_many_memories() -> None:
    made = script(
        "MEMORY { ROM (xrw) : ORIGIN = 0x24000400, LENGTH = 1023K  RAM (rw) : ORIGIN = 0x24100000, LENGTH = 2M }"
    )
    assert [(m.name, m.origin, m.length) for m in made.memories] == [
        ("ROM", 0x24000400, 1023 << 10),
        ("RAM", 0x24100000, 2 << 20),
    ]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0100K", 0x10000),
        ("010", 8),
        ("089K", 0),
        ("10h", 16),
        ("101B", 5),
        ("12o", 10),
        ("10D", 10),
        ("bad", 0),  # digits with a D behind them, as GNU ld has it
        ("$10", 16),
        ("0X10m", 1 << 24),
        ("1 << 27", 1 << 27),
        ("-7 / 2", (1 << 64) - 3),
        ("-7 % 4", (1 << 64) - 3),
        ("!3 + ~0", (1 << 64) - 1),
        ("-1 < 1", 0),
        ("1 + 2 == 3 & 1 | 4 << 1 > 3 ? 7 : 8", 7),
        ("1 ? 0 ? 3 : 4 : 5", 4),
        ("DEFINED(nobody) ? nobody : 3", 3),
        ("MAX(3, LOG2CEIL(1025))", 11),
        ("ALIGN(0x1001, 0x1000) + MIN(1, 2)", 0x2001),
        ('SEGMENT_START("text-segment", 0x30)', 0x30),
        ("a-1", 3),
        ("a/2", None),  # a name
        ("1 / 0", None),
        ("1 || nobody", None),
        ("SIZEOF(.x)", None),
    ],
)
def test_numbers_and_signs_of_the_linker(text: str, value: int | None) -> None:
    assert evaluate(text, {"a": 4}) == value


def test_memory_is_worked_out_behind_all_assignments() -> None:
    """A symbol may be assigned behind it and counts with its last value; ORIGIN() in one is 0 at that time."""
    made = script("MEMORY { A : o = X, l = 4 B : o = s, l = LENGTH(A) } X = 1; s = ORIGIN(A) + 2; X = 0x100; X += 8;")
    assert [(m.origin, m.length) for m in made.memories] == [(0x108, 4), (2, 4)]
    assert made.value("s") == 0x10A


def test_provided_symbols_give_way() -> None:
    made = script("PROVIDE(a = 1); a = 2; PROVIDE_HIDDEN(b = 3); HIDDEN(c = DEFINED(a) + DEFINED(b)); " + ONE + "}")
    assert [made.value(name) for name in "abcd"] == [2, 3, 1, None]


def test_what_is_relative_to_a_section_is_not_known() -> None:
    assert script(ONE + ".a : { x = 5; *(.x) } >RAM y = 6; }").value("x") is None
    assert script(ONE + ".a : { x = 5; *(.x) } >RAM y = 6; }").value("y") == 6


def test_included_files(tmp_path: Path) -> None:
    (tmp_path / "a.ld").write_text(
        "INCLUDE sizes.ld\nMEMORY {\n  INCLUDE memory.ld\n}\nSECTIONS { INCLUDE none.ld .a : { INCLUDE body.ld } >RAM }"
    )
    (tmp_path / "sizes.ld").write_text("SIZE = 4K;")
    (tmp_path / "memory.ld").write_text("\nRAM : ORIGIN = 0, LENGTH = SIZE")
    (tmp_path / "body.ld").write_text("*(.x)")
    made = read(tmp_path / "a.ld", "a.ld").complete()
    assert (made.place(".x").length, made.place(".x").where, made.includes) == (4096, "memory.ld:2", ("none.ld",))
    (tmp_path / "sizes.ld").write_text("INCLUDE sizes.ld")
    with pytest.raises(NeuralArtError, match=r"^sizes\.ld:1: INCLUDE sizes\.ld: more than 10 files"):
        read(tmp_path / "a.ld", "a.ld")


def test_overlays() -> None:
    made = script(ONE + "OVERLAY 0x20000000 : NOCROSSREFS { .a { *(.x) } .b { *(.y) } } >RAM .c : { *(.z) } >ROM }")
    assert [(s.name, s.patterns, s.memory) for s in made.sections] == [
        (".a", (".x",), "RAM"),
        (".b", (".y",), "RAM"),
        (".c", (".z",), "ROM"),
    ]


# Beside the linker ----------------------------------------------------------------------------------------------------

SCRIPTS = 200
INPUTS = [f".s{n}" for n in range(12)]


class Writer:
    """Writes scripts that GNU ld takes, from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = [f"sym{n}" for n in range(4)]
        self.regions = [f"R{n}" for n in range(self.random.randint(2, 6))]
        self.assigned: list[str] = []

    def number(self) -> str:
        n = self.random.choice([0, 1, 2, 7, 8, 64, self.random.randrange(1 << 12), self.random.randrange(1 << 28)])
        forms = [str(n), hex(n), f"0X{n:X}", f"0{n:o}", f"{n % 4096}K", f"{n % 64}M", f"0{n % 512:o}K", f"${n:x}"]
        forms += [f"0x{n % 512:x}k", f"0{n:X}H", f"{n:b}B", f"0{n:o}O", f"{n}D"]
        return self.random.choice(forms)

    def expression(self, depth: int, regions: list[str]) -> str:
        pick = self.random.random()
        if depth == 0 or pick < 0.25:
            leaves = [self.number, self.number]
            if self.assigned:
                leaves.append(lambda: self.random.choice(self.assigned))
            if regions:
                leaves.append(lambda: f"{self.random.choice(['ORIGIN', 'LENGTH'])}({self.random.choice(regions)})")
            return self.random.choice(leaves)()

        def inner() -> str:
            return self.expression(depth - 1, regions)

        if pick < 0.75:
            sign = self.random.choice(["+", "-", "*", "/", "%", "&", "|", "&&", "||", "==", "!=", "<", ">", "<=", ">="])
            return f"{inner()} {sign} {inner()}"
        if pick < 0.8:
            return f"{inner()} {self.random.choice(['<<', '>>'])} {self.random.randint(0, 20)}"
        if pick < 0.85:
            return f"({inner()})"
        if pick < 0.9:
            return f"{self.random.choice(['-', '~', '!'])} ({inner()})"
        if pick < 0.95:
            name = self.random.choice([*self.names, "nobody"])
            return f"({self.random.choice([f'DEFINED({name})', inner()])} ? {inner()} : {inner()})"
        return self.random.choice([f"MAX({inner()}, {inner()})", f"MIN({inner()}, {inner()})", f"LOG2CEIL({inner()})"])

    def script(self) -> str:
        lines: list[str] = []
        for name in self.random.sample(self.names, 3):
            lines.append(f"{name} = {self.expression(2, [])} ;")
            self.assigned.append(name)
        if self.random.random() < 0.4:
            lines.append(
                f"{self.assigned[0]} {self.random.choice(['+=', '-=', '*=', '<<='])} {self.random.randint(0, 9)} ;"
            )
        entries = []
        for n, region in enumerate(self.regions):
            before = self.regions[:n]
            origin, length = (self.expression(2, before) for _ in range(2))
            if self.random.random() < 0.5:
                origin, length = f"{(n + 1) << 24:#x}", self.random.choice(["64K", "1 << 20", "0x10000 + 1M", "0200K"])
            words = self.random.choice([("ORIGIN", "LENGTH"), ("org", "len"), ("o", "l")])
            rights = self.random.choice(["", "(rwx) ", "(rw!x) "])
            entries.append(f"{region} {rights}: {words[0]} = {origin}, {words[1]} = {length}")
        if self.random.random() < 0.3:
            entries.append(f"{self.regions[0]} (rwx) : ORIGIN = 0x9000000, LENGTH = 1M")
        blank = self.random.choice([" ", "\n  ", "\t/* a comment */ "])
        comment = self.random.choice(["", "/* MEMORY { X : o = 1, l = 2 } */\n", "# a comment\n"])
        lines.append(f"{comment}MEMORY {{{blank}{blank.join(entries)}{blank}}}")
        if self.random.random() < 0.4:
            lines.append(f'REGION_ALIAS("ALIAS", {self.regions[-1]})')
            self.regions.append("ALIAS")
        lines.append("SECTIONS {")
        inputs = self.random.sample(INPUTS, len(INPUTS))
        for n in range(4):
            mine = inputs[3 * n : 3 * n + 3]
            body = self.random.choice(
                [
                    f"*({' '.join(mine)})",
                    f"KEEP (*({mine[0]})) *({mine[1]}) *(SORT({mine[2]}))",
                    f"libc.a:*(*) *({mine[0]} {mine[1]}*) . = ALIGN(4) ; *.o({mine[2]})",
                    f"_a{n} = . ; *(EXCLUDE_FILE(*crt.o) {mine[0]} {mine[1]}) *[a-z].o({mine[2]})",
                ]
            )
            lines.append(
                f"  .out{n} {self.random.choice(['', '(NOLOAD) '])}: {{ {body} }} > {self.random.choice(self.regions)}"
            )
        lines.append("}")
        return "\n".join(lines) + "\n"


@pytest.mark.arm
def test_as_the_linker_reads_it(tmp_path: Path) -> None:
    """Memories and the places of sections are those of arm-none-eabi-ld, for many scripts of all kinds."""
    ld = shutil.which("arm-none-eabi-ld") or "arm-none-eabi-ld"
    sections = "".join(f'.section {name},"aw"\n.word 1\n' for name in INPUTS)
    subprocess.run([ld.replace("-ld", "-as"), "-o", "main.o"], input=sections.encode(), cwd=tmp_path, check=True)
    compared = known = placed = 0
    for seed in range(2 * SCRIPTS):
        if compared == SCRIPTS:
            break
        text = Writer(seed).script()
        (tmp_path / "a.ld").write_text(text)
        link = subprocess.run(
            [ld, "--noinhibit-exec", "-T", "a.ld", "main.o", "-o", "a.elf", "-Map", "a.map"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        said = link.stderr
        refused = re.search(r"a\.ld:\d+: syntax error|[/%] by zero|undefined symbol", said)
        assert not refused or "by zero" in refused[0], f"{text}{said}"
        if refused:
            continue
        compared += 1
        shown = (tmp_path / "a.map").read_text()
        made = parse(text.encode(), "a.ld")
        table = shown.split("Memory Configuration")[1].split("Linker script and memory map")[0]
        theirs = {m[1]: (int(m[2], 16), int(m[3], 16)) for m in re.finditer(r"(?m)^(\w+) +0x(\w+) +0x(\w+)", table)}
        ours = {memory.name: (memory.origin, memory.length) for memory in made.memories}
        for name, numbers in ours.items():
            # The map has 32 bits of each.
            assert tuple(number & 0xFFFFFFFF for number in numbers) == theirs[name], f"{name}: {text}"
        unknown = {error.what.split(" of ")[1].split()[0] for error in made.unknown}
        assert len(made.memories) + len(unknown) == len(theirs), text
        known += len(ours)
        for name in INPUTS:
            at = re.search(rf"(?m)^ \{name}\s+0x(\w+) +0x4 main\.o", shown)
            output = next((s for s in made.sections if s.name != "/DISCARD/" and name in expanded(s.patterns)), None)
            assert at is not None and output is not None, f"{name}: {text}"
            if output.memory in ours:
                origin, length = ours[output.memory]
                inside = origin <= int(at[1], 16) < (origin + max(length, 1 << 16)) & 0xFFFFFFFF
                assert inside or "overflowed" in said or "will not fit" in said, f"{name} {at[1]}: {text}{said}"
                placed += inside
    assert compared == SCRIPTS and known > 2.5 * SCRIPTS and placed > 8 * SCRIPTS, (compared, known, placed)


def expanded(patterns: tuple[str, ...]) -> set[str]:
    """Names of input sections that patterns take; ``.s1*`` takes ``.s10``, too."""
    return {name for name in INPUTS for pattern in patterns if re.fullmatch(pattern.replace("*", ".*"), name)}
