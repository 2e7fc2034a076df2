"""Traps of an application's C, build files and linker scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from neuralart.findings import NOTE, WARNING
from neuralart.memory.regions import is_on, turned_on_by
from neuralart.network.facts import NETWORK_RUNTIME
from neuralart.text.c_source import Lines
from neuralart_insight.lint.types import Facts, Hit, Source, rule

_RAMCFG = re.compile(r"\b0[xX]42023[0-9a-fA-F]{3}(?:[uUlL]*\b)|\bRAMCFG\w*_NS\b")
_HEX = re.compile(r"\b0[xX]([0-9a-fA-F]{8})[uUlL]*\b")
_MAIN = re.compile(r"\bLL_ATON_RT_(?:Main|RunEpochBlock)\s*\(")
_INIT = re.compile(r"\b(?:LL_ATON_RT_RuntimeInit|stai_runtime_init)\s*\(")
_INSTANCE = re.compile(r"\bLL_ATON_DECLARE_NAMED_NN_(?:INSTANCE_AND_INTERFACE|INSTANCE|INTERFACE)\s*\(\s*(\w+)\s*[,)]")
_DEFINED = re.compile(r"#[ \t]*define[ \t]+LL_ATON_DECLARE_NAMED_NN_")
_BLOBS = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^">\n]*_ecblobs\.h)[">]', re.M)
_PRINTF = re.compile(r"\b(?:v?s?n?printf|v?fprintf|v?snprintf|asprintf)\s*\(")
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_FLOAT = re.compile(r"(?<!%)(?:%%)*%[-+ #0]*(?:\d+|\*)?(?:\.(?:\d+|\*)?)?[lL]?[fFeEgGaA]")
_SECTION = re.compile(r'\bsection\s*\(\s*"([^"\n]+)"')
_MAKE_FLAG = re.compile(r"-fcyclomatic-complexity\b")
_NEAR = 600
STACKS = ("_estack", "__StackTop", "__stack_top", "_stack_top", "__initial_sp", "__INITIAL_SP", "__stack", "stack_top")


def _sources(facts: Facts, kind: str = "c") -> list[Source]:
    return [source for source in facts.sources if source.kind == kind]


def _matches(
    facts: Facts, pattern: re.Pattern[str], *, kind: str = "c", code: bool = True
) -> Iterator[tuple[Source, re.Match[str], str]]:
    """Source, match and place of what stands in the code, or in the whole text with its comments and quoted texts."""
    for source in _sources(facts, kind):
        text = source.code if code else source.text
        lines = Lines(text)
        yield from ((source, found, f"{source.file}:{lines.of(found.start())}") for found in pattern.finditer(text))


def _blocks(facts: Facts) -> set[int]:
    """The 4 KiB blocks of the registers that the board's file names, by their non-secure addresses."""
    board = facts.board
    if board is None or not facts.secure:
        return set()
    registers = board.registers
    named = [registers.memory_clock, registers.ramcfg_clock, registers.npu_cache, registers.rimc_npu]
    named += [board.console.base if board.console is not None else None]
    named += [window.control for window in board.windows]
    secure = [address for address in named if address is not None and 0x50000000 <= address < 0x60000000]
    return {(address - 0x10000000) & ~0xFFF for address in secure}


@rule("""error: sources
    RAMCFG at 0x42023000 (or RAMCFG_..._NS) in the C of a secure application
    That is its non-secure alias: before the clock of RAMCFG is on, or with the firewall as it is after reset, the
    access faults, and banks AXISRAM3 to 6 stay off.
    turn on RAMCFG's clock (bit 12 of RCC_AHB2ENR) and use 0x52023000; generated start-up code does""")
def _ramcfg_alias(facts: Facts) -> Iterator[Hit]:
    if facts.board is not None and (not facts.secure or facts.board.registers.ramcfg is None):
        return
    for _, match, where in _matches(facts, _RAMCFG):
        name = match.group()
        secure = f", the secure one is 0x5{name.rstrip('uUlL')[3:]}" if name[0] == "0" else ""
        yield Hit(where, f"{name} is RAMCFG through its non-secure alias{secure}")


@rule("""warning: board, sources
    other registers that turn memories on, through their non-secure alias, in the C of a secure application
    Whether the access does anything is a matter of the firewall; often it is ignored without a word.
    use the secure address, or the names of the device header without _NS""")
def _ns_register(facts: Facts) -> Iterator[Hit]:
    blocks = _blocks(facts)
    for _, match, where in _matches(facts, _HEX) if blocks else ():
        address = int(match[1], 16)
        if address & ~0xFFF in blocks:
            said = f"0x{address:08x} is a register through its non-secure alias, the secure one is "
            yield Hit(where, f"{said}0x{address + 0x10000000:08x}")


@rule("""error: sources
    a call that runs a network, and none of LL_ATON_RT_RuntimeInit
    The core waits for an event of the NPU that never comes.
    call LL_ATON_RT_RuntimeInit() once before""")
def _no_runtime_init(facts: Facts) -> Iterator[Hit]:
    if next(_matches(facts, _INIT), None) is None:
        for _, _, where in islice(_matches(facts, _MAIN), 1):
            yield Hit(where, "a network runs, and nothing initializes the runtime")


@rule("""error: network, sources
    LL_ATON_DECLARE_NAMED_NN_... of a network that is not there
    The link ends with undefined references. The default name of networks changed between 2.2 and 3.0.
    use the network's name; this tool always gives it one (--name)""")
def _unknown_network(facts: Facts) -> Iterator[Hit]:
    names = [network.name for network in facts.networks]
    for source, match, where in _matches(facts, _INSTANCE) if names else ():
        if match[1] not in names and not _DEFINED.search(source.text):
            old = "; up to 2.2 Default is what a network without --name is called, from 3.0 on network is"
            said = f"there is no network {match[1]}, but {', '.join(names)}"
            yield Hit(where, said + (old if match[1] == "Default" else ""))


@rule("""error: sources
    an application that includes a network's ..._ecblobs.h
    The header defines the blobs and two functions; network.c includes it. A second time everything is there twice.
    do not include it""")
def _blobs_included(facts: Facts) -> Iterator[Hit]:
    for source, match, where in _matches(facts, _BLOBS, code=False):
        if source.code[match.start() : match.end()].lstrip().startswith("#"):  # not in a comment
            yield Hit(where, f"{match[1]} is included here, too")


@rule("""warning: sources, build files
    printf of a float without -u _printf_float
    newlib-nano prints nothing for %f unless the link asks for it. Where no build file shows nano.specs, this is a note.
    link with -u _printf_float, or print integers""")
def _printf_float(facts: Facts) -> Iterator[Hit]:
    built = "\n".join(source.text for source in _sources(facts, "make"))
    if "_printf_float" in built:
        return
    level = WARNING if "nano.specs" in built else NOTE
    for source, call, where in _matches(facts, _PRINTF):
        end = source.code.find(";", call.end(), call.end() + _NEAR)
        part = source.text[call.end() : end if end >= 0 else call.end() + _NEAR]
        if any(_FLOAT.search(text) for text in _STRING.findall(part)):
            yield Hit(where, "a float is printed", level)


@rule("""warning: sources, linker script
    a section that is named in C and in no linker script
    The linker puts it where it likes, next to something that looks similar: buffers land in the wrong memory.
    name it in the linker script""")
def _orphan_section(facts: Facts) -> Iterator[Hit]:
    scripts = [script for script in facts.scripts if script.places_sections]
    names = ", ".join(script.name for script in scripts)
    for source, match, where in _matches(facts, _SECTION, code=False) if scripts else ():
        # The word must be code, not a comment: the blanked text has it at the same place.
        code = source.code[match.start() : match.start() + len("section")] == "section"
        if code and not any(script.takes(match[1]) for script in scripts):
            yield Hit(where, f"no linker script says where section {match[1]} goes ({names})")


@rule("""error: network, linker script
    a pool of a CPU network whose section .NN_Activation_Buffer_<pool> no linker script has
    The names of pools come from the pool file, the sections from the linker script: nothing compares them.
    name the pool as the linker script does, or add the section to it""")
def _pool_section(facts: Facts) -> Iterator[Hit]:
    scripts = [script for script in facts.scripts if script.places_sections]
    patterns = [each for script in scripts for section in script.sections for each in section.patterns]
    if not any(each.startswith(".NN_Activation_Buffer") for each in patterns):
        return
    names = ", ".join(script.name for script in scripts)
    for network in facts.networks:
        for pool in network.pools if network.runtime == NETWORK_RUNTIME else ():
            section = ".NN_Activation_Buffer_" + ("AXIRAM" if pool.name == "heap_overlay_pool" else pool.name)
            if pool.writable and pool.used and not any(script.takes(section) for script in scripts):
                said = f"network {network.name} has {pool.used} bytes of activations in pool {pool.name}"
                yield Hit(network.where, f"{said}; no linker script says where section {section} goes ({names})")


@rule("""note: build files
    -fcyclomatic-complexity in a build file
    Other compilers than ST's refuse it, and say so of every single file.
    drop the flag: toolchain: {tolerate: [-fcyclomatic-complexity]}""")
def _vendor_gcc_flag(facts: Facts) -> Iterator[Hit]:
    for _, match, where in _matches(facts, _MAKE_FLAG, kind="make", code=False):
        yield Hit(where, f"{match.group()} is known to ST's own build of gcc alone")


@rule("""error: board, linker script
    a stack in a memory that is off at reset: above 0x34200000 on an STM32N6
    AXISRAM3 to 6 are shut down after reset. The first push is a fault, or its value is lost.
    end the stack at 0x34200000 at the latest, or put it in DTCM""")
def _stack_bank(facts: Facts) -> Iterator[Hit]:
    board = facts.board
    for symbol in (each for script in facts.scripts for each in script.symbols):
        if board is None or symbol.name not in STACKS or symbol.value < 8:
            continue
        # What counts is where the first push goes: the end of a memory is a fine place to begin at.
        region = board.region_at(symbol.value - 4)
        said = f"the stack ({symbol.name}) begins at 0x{symbol.value:08x}"
        if region is None:
            yield Hit(symbol.where, f"{said}, where board {board.name} has no memory")
        elif region.kind not in ("ram", "psram"):
            yield Hit(symbol.where, f"{said}, in {region.name}, which is {region.kind}")
        elif not is_on(board, region):
            yield Hit(symbol.where, f"{said}, in {region.name}, which is off at reset: {turned_on_by(board, region)}")
