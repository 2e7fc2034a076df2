"""What GNU ld and gcc print (12.2, binutils 2.40) becomes one line; the texts are theirs."""

from __future__ import annotations

import pytest

from neuralart.applications.link_errors import ProgramFacts, no_entry, of_compile, of_link, symbols, users

LD = "/usr/lib/gcc/arm-none-eabi/12.2.1/../../../arm-none-eabi/bin/ld: "
END = "collect2: error: ld returned 1 exit status\n"
NO_MAIN = f"""\
{LD}build/firmware/b/libprogram.a(run_main.o): in function `__wrap_main':
./firmware/program/run_main.c:14: undefined reference to `main'
"""
TYPO = f"""\
{LD}build/bell/obj/main.o: in function `helper':
./src/main.c:7: undefined reference to `LL_ATON_RT_RuntimInit'
"""
LIBC = f"""\
{LD}/usr/lib/picolibc/arm-none-eabi/lib/thumb/hard/libc.a(libc_tinystdio_printf.c.o): in function `printf':
./arm-none-eabi/../../../newlib/libc/tinystdio/printf.c:46: undefined reference to `stdout'
"""
TWICE = f"""\
{LD}build/firmware/b/libprogram.a(startup_armv8m.o): in function `fault_handler':
./firmware/boards/startup_armv8m.c:78: multiple definition of `fault_handler'; build/bell/obj/main.o:./main.c:3: first \
defined here
"""
FULL = f"""\
{LD}f.elf section `.text' will not fit in region `CODE'
{LD}f.elf section `.bss' will not fit in region `DATA'
{LD}region `CODE' overflowed by 10140 bytes
{LD}region `DATA' overflowed by 1068952 bytes
"""
# Names of sections that are long stand on a line of their own.
MAP = """\
Discarded input sections

 .text.unused   0x00000000      0x999 a.o

Memory Configuration

Name             Origin             Length             Attributes
CODE             0x00000000         0x00000400         xr
DATA             0x30000000         0x00020000         rw
*default*        0x00000000         0xffffffff

Linker script and memory map

.text           0x00000080      0x900
 *(.text .text.*)
 .text.helper   0x00000080       0x20 build/bell/obj/main.o
 .text.a_function_with_a_long_name
                0x000000a0      0x800 /usr/lib/libc.a(libc_printf.c.o)
 .rodata        0x000008a0       0x40 build/bell/obj/main.o
 .bss.x         0x30000000   0x124f80 build/bell/obj/main.o
 .debug_info    0x00000000    0x99999 build/bell/obj/main.o
 *fill*         0x000008e0        0x4~
""".replace("~", " ")
NEWER = ProgramFacts(lambda: {"LL_ATON_RT_RuntimeInit", "console_puts", "_LL_ATON_RT_RuntimInit"}, lambda: MAP)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            NO_MAIN,
            "no main(), which the start-up code calls (write 'int main(void)' in one of the files of application: "
            "{sources: {files}})",
        ),
        (
            TYPO,
            "src/main.c:7: nothing defines 'LL_ATON_RT_RuntimInit', which helper uses (did you mean "
            "'LL_ATON_RT_RuntimeInit'?)",
        ),
        (
            LIBC,
            "printf of libc.a needs 'stdout', which nothing defines (the C library needs it: define it, or leave "
            "'linker_script' out, then it is the board's console)",
        ),
        (
            TWICE,
            "main.c:3: 'fault_handler' is defined twice, here and in firmware/boards/startup_armv8m.c:78 (rename it; "
            "or define all that the program uses of firmware/boards/startup_armv8m.c, then yours are taken)",
        ),
        (
            f"{LD}b.o:(.bss.x+0x0): multiple definition of `x'; a.o:/w/a.c:7: first defined here\n",
            "b.o: 'x' is defined twice, here and in /w/a.c:7 (remove one of them, or make it static)",
        ),
        (
            FULL,
            "region CODE is full: 10140 bytes too many, and 1068952 in DATA (largest: a_function_with_a_long_name of "
            "libc.a(libc_printf.c.o), 2048 bytes; .rodata of main.o, 64 bytes; helper of main.o, 32 bytes; make one of "
            "these smaller, or the region larger in the linker script)",
        ),
        (
            f"{LD}DATA is too small: less than __stack_minimum (8 KiB unless defined) is left for the stack\n",
            "DATA is too small: less than __stack_minimum (8 KiB unless defined) is left for the stack (largest: x of "
            "main.o, 1200000 bytes; make one of these smaller, or the region larger in the linker script)",
        ),
        (
            f"{LD}warning: cannot find entry symbol Reset_Handler; defaulting to 34000400\n",
            "no entry: the linker script starts the program at 'Reset_Handler', which nothing defines (define it, or "
            "leave 'linker_script' out: the board's start-up code is taken then)",
        ),
        (
            f"{LD}cannot find -lcmsis: No such file or directory\n",
            "there is no library 'cmsis' for this core (application: {sources: {libraries}}: a name as behind -l, or "
            "the path of an archive)",
        ),
        (f"{LD}app.ld:7: syntax error\n", "app.ld:7: syntax error"),
        # Without debug information; on Windows.
        (
            "C:\\gcc\\bin\\ld.exe: main.o: in function `main':\n"
            "main.c:(.text.main+0x4): undefined reference to `sinf'\n",
            "main.c: nothing defines 'sinf', which main uses (a function of the C library's mathematics: "
            "libraries: [m])",
        ),
        (
            f"{LD}o.o: in function `f':\n./a.cpp:3: undefined reference to `operator new(unsigned int)'\n{TYPO}",
            "a.cpp:3: nothing defines 'operator new(unsigned int)', which f uses (1 more) (a part of C++: "
            "libraries: [stdc++])",
        ),
    ],
)
def test_one_line_of_a_link(text: str, said: str) -> None:
    found = of_link(text + END, NEWER)
    assert found is not None
    assert str(found).replace("\n  ", " (", 1) + (")" if "\n" in str(found) else "") == said


def test_what_says_most_comes_first() -> None:
    """Of everything at once: a name that is there twice, then main, then what is missing, then what is full."""
    for text, word in (
        (FULL + TYPO + NO_MAIN + TWICE, "twice"),
        (FULL + TYPO + NO_MAIN, "main()"),
        (FULL + TYPO, "Runtim"),
    ):
        found = of_link(text + END)
        assert found is not None and word in found.what
    missing = of_link(NO_MAIN, ProgramFacts(lambda: {"mian"}))
    assert missing is not None and missing.hint.startswith("did you mean 'mian'? write 'int main(void)'")


def test_nothing_that_is_known() -> None:
    assert of_link("") is None
    assert of_link(f"{LD}warning: a.o: missing .note.GNU-stack section\n{END}") is None
    assert no_entry("main.c:1: warning: unused\n") is None
    assert of_compile("") is None
    assert of_compile("arm-none-eabi-gcc: fatal error: Killed signal terminated program cc1\n") is None


def test_a_map_that_is_cut_off() -> None:
    assert users("", "CODE") == []
    for end in range(0, len(MAP), 7):
        assert all(size > 0 for size, _ in users(MAP[:end], "CODE"))
    assert [name for _, name in users(MAP, "DATA")] == ["x of main.o"]
    assert users(MAP, "none") == []


def test_one_line_of_a_compile() -> None:
    text = (
        "In file included from src/main.c:2:\nsrc/a.h:1:2: error: #error no\n    1 | #error no\n      |  ^~~~~\n"
        "src/main.c:4:3: warning: unused\nsrc/main.c: In function 'main':\nsrc/main.c:5:3: error: 'x' undeclared\n"
    )
    found = of_compile(text)
    assert found is not None and str(found) == "src/a.h:1:2: #error no (the first of 2 errors)"
    assembler = of_compile("./low.S: Assembler messages:\n./low.S:3: Error: bad instruction `movv r0,r1'\n")
    assert assembler is not None and str(assembler) == "low.S:3: bad instruction `movv r0,r1'"


def test_symbols() -> None:
    text = "lib.a[a.o]:\nmain T 00000000 00000004\nx B 0 4\n\nlib.a[b.o]:\ndeep D 0\n"
    assert symbols(text) == {"main", "x", "deep"}
