"""The keys of a variant in variants.yaml, and of its section ``relocatable:``."""

from __future__ import annotations

from typing import Any, NoReturn

from neuralart.config import patch
from neuralart.config.application import application
from neuralart.config.keys import (
    MACHINES,
    VARIANT,
    Key,
    Settings,
    added_values,
    define,
    distinct,
    either,
    machine,
    members,
    named,
    names,
    one_of,
    pairs,
    record,
    section,
    with_added,
)
from neuralart.config.keys import read_settings as read_keys
from neuralart.config.types import KERNELS, LOAD_MODES, RelocatableConfig, Reserved, SignConfig, ToolchainConfig
from neuralart.quick import lazy_regex
from neuralart.text.values import Value

BOOT_MODES = ("load-and-run", "xip", "ram")
LIBCS = ("auto", "picolibc", "newlib", "newlib-nano")
DEAD_BANKS = ("fault", "zeros")
OPTIMIZATIONS = ("-O0", "-O1", "-O2", "-O3", "-Os", "-Og", "-Oz")

NAME = lazy_regex(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_VERSION = lazy_regex(r"[0-9]+(?:\.[0-9]+)*")
FLAG = lazy_regex(r"\+?-[^\s\x00-\x1f]+")
_SLOT = lazy_regex(r"[a-z][a-z0-9_-]*")

TOOLCHAIN_KEYS: tuple[Key, ...] = (
    Key("prefix", lambda value: value.text(empty=True)).says(
        "of the programs, with a folder if they are not on the PATH: `/opt/gcc-14/bin/arm-none-eabi-`"
    ),
    Key("libc", one_of(LIBCS), either(LIBCS)),
    Key("version", lambda value: value.matching(_VERSION, "a version of gcc, like 12 or 12.2", empty=True)).says(
        'of gcc, as many leading parts as matter: `"12"`, `"12.2"`. Quote it: YAML reads 12.10 as a number', "any"
    ),
    Key("tolerate", lambda value: distinct(value, lambda item: item.matching(FLAG, "a flag, or + and a flag"))).says(
        "flags that gcc does without in your own build, see [below](applications.md#flags-that-your-gcc-refuses)",
        "none",
    ),
)
LAYOUTS = ("aligned", "vendor")
# The firmware aligns what it keeps for a model to this, and a model has at least a context and a vector of pools.
_LEAST_EXEC_RAM = 4 << 10
_MOST_EXEC_RAM = 16 << 20
_DOC = "relocatable-build.md"
# What a resolved variant has in another form than it was read.
_ELSEWHERE = ("title", "board", "network", "networks", "overrides")


def _joined_toolchain(merged: Settings) -> ToolchainConfig:
    return ToolchainConfig(**{name: setting[0] for name, setting in members(merged, "toolchain").items()})


def _slots(value: Value) -> Settings:
    wrong = "the name of a slot must be small letters, digits, '_' and '-'"
    return named("slots", value, _SLOT, wrong, Value.integer)


def _reserved(value: Value) -> tuple[Reserved, ...]:
    made: dict[str, Reserved] = {}
    for item in value.items():
        fields = item.fields(("name", "address", "size"))
        for key in ("name", "address", "size"):
            if key not in fields:
                raise item.error(f"'{key}' is missing", "a reserved range is {name: ..., address: 0x..., size: ...}")
        name = fields["name"].matching(NAME, "letters, digits, '.', '_' and '-'")
        if name in made:
            raise fields["name"].error(f"'{name}' is reserved already, in line {made[name].where.line}")
        address = fields["address"].integer()
        size = fields["size"].integer(1, 1 << 32)
        if address + size > 1 << 32:
            raise fields["size"].error(f"{address:#010x} + {size:#x} bytes runs over the end of the address space")
        made[name] = Reserved(name, address, size, item.where)
    return tuple(made.values())


def _network_names(value: Value) -> tuple[str, ...]:
    return distinct(value) or _empty(value, "name at least one network")


def _empty(value: Value, hint: str) -> NoReturn:
    raise value.error("is empty", hint)


def _optimization(value: Value) -> str:
    text = value.text()
    if text == "-Ofast":
        hint = "allowed: " + ", ".join(OPTIMIZATIONS)
        raise value.error("-Ofast changes the results of floating-point arithmetic", hint)
    return value.choice(OPTIMIZATIONS)


def _one_network(value: Value) -> Settings:
    return {"networks": ((value.text(),), value.where)}


def _modes(value: Value) -> tuple[str, ...]:
    modes = distinct(value, lambda item: item.choice(LOAD_MODES))
    return modes or _empty(value, f"one or more of {', '.join(LOAD_MODES)}")


RELOCATABLE_KEYS: tuple[Key, ...] = (
    Key("split", Value.boolean).says(
        "`true`: the constants in a file and a flash slot of their own, `network_rel_params.bin`"
    ),
    Key("secure", Value.boolean, "`false`: for firmware in the non-secure state"),
    Key("debug_info", Value.boolean, "`false`: epochs carry no numbers; the firmware is compiled alike"),
    Key("layout", one_of(LAYOUTS, empty=True), f"`aligned` or `vendor`, see [{_DOC}]({_DOC}#layouts)", "`aligned`"),
    Key("modes", _modes).says(
        "what `load-<variant>` tries, of `xip` (code stays in flash) and `copy` (code is copied into RAM); the first "
        "is what `run-`, `flash-` and `boot-` use",
        "`[xip, copy]`",
    ),
    Key("clear", Value.boolean, "`true`: the loader fills activation pools with zeros"),
    Key("also_on", distinct).says(
        "further boards: `load-<variant>` runs the same file there, with a firmware of their own", "none"
    ),
    Key("exec_ram", lambda value: value.integer(_LEAST_EXEC_RAM, _MOST_EXEC_RAM)).says(
        "bytes that the firmware keeps for code and data of the model, `4K` to `16M`", "`256K`"
    ),
    Key("name", lambda value: value.text(empty=True)).says(
        "base name of the files of the model, in lower case the C name in the image", "the network's"
    ),
    Key("ecblob_in_params", Value.boolean, "`true`: epoch-controller blobs in front of the constants"),
    Key("gen_c_file", Value.boolean, "`true`: also the image as C, `<name>_rel.c` and `<name>_rel.h`"),
    Key("pack_dir", lambda value: value.text(empty=True)).says(
        "the installation of ST Edge AI Core with the runtime of a network for `ll_aton`",
        "the installation that compiles the network, or `STEDGEAI_CORE_DIR`",
    ),
)


def _relocatable(value: Value) -> RelocatableConfig | None:
    """``true``, ``false``, or a mapping of what differs from the defaults."""
    if not value.is_mapping:
        return RelocatableConfig() if value.boolean() else None
    return record(RelocatableConfig, value, RELOCATABLE_KEYS)


SIGNERS = ("header", "vendor")
IMAGE_TYPES = ("application", "ssbl", "fsbl")
SIGN_KEYS: tuple[Key, ...] = (
    Key("by", one_of(SIGNERS)).says(
        "`header`: this package, without a signature; `vendor`: STM32_SigningTool_CLI, which must be on PATH or where "
        "its installer puts it"
    ),
    Key("type", one_of(IMAGE_TYPES), f"{either(IMAGE_TYPES)}: what the boot chain takes it for"),
    Key("header_version", lambda value: value.matching(_VERSION, 'a version of the header: "2.3" or "2.1"')).says(
        'of the header: `"2.3"` or `"2.1"`. Quote it', "the board's"
    ),
    Key("tool_options", distinct).says(
        "words for the vendor's tool instead of `-nk`: `[-pubk, key.pem, -prvk, private.pem]`; files are relative to "
        "the top folder",
        "none",
    ),
)


def _sign(value: Value) -> SignConfig:
    """``header``, ``vendor``, or a mapping of what differs from the defaults."""
    if not value.is_mapping:
        return SignConfig(value.choice(SIGNERS))
    made = record(SignConfig, value, SIGN_KEYS)
    if made.tool_options and made.by != "vendor":
        raise value.error("'tool_options' are for the vendor's tool", "add by: vendor")
    return made


KEYS: tuple[Key, ...] = (
    Key("title", Value.text, "for `scons -h`", "the networks and the board", shared=False),
    Key("board", Value.text, "a board; `neuralart boards` lists them", "refused"),
    Key("machine", machine).says(
        f"{either(MACHINES)}, or the name of a plugin: where the image executes", "the first machine of the board"
    ),
    Key("runner", Value.text).says(
        "who writes the flash of `machine: silicon` ([flash-runners.md](flash-runners.md)); `RUNNER=` wins",
        "what is installed and knows the board",
    ),
    Key("network", _one_network, "one network", needed=True, decides=("networks",)),
    Key("networks", _network_names, "several: `[digits, wake_word]`; one of the two keys must be there", needed=True),
    Key(
        "overrides",
        # They are the keys of networks, read when the variant's networks are known.
        lambda value: {},
        "by network: keys that differ in this variant",
        needed=True,
        section=True,
        shared=False,
    ),
    Key("application", application).says(
        "the firmware around the networks: `reference`, or your own: `sources`, `make`, `cmake`, `cubeide`, `elf` "
        "([applications.md](applications.md))",
        "`reference`",
    ),
    Key(
        "toolchain", lambda value: section("toolchain", value, TOOLCHAIN_KEYS), section=True, join=_joined_toolchain
    ).says("`prefix`, `libc` and `version`, see below", "`arm-none-eabi-`, `auto`, any version"),
    Key("optimization", _optimization, f"{either(OPTIMIZATIONS)}. `-Ofast` is refused: it changes results"),
    Key("slots", _slots, section=True, join=pairs("slots")).says(
        "flash addresses by name, instead of the board's: `{application: 0x70080000}`; also `descriptor`, `staging` "
        "and `relocatable`, with `relocatable:` also `load_table` and `relocatable_params`; not `weights`",
        "the board's; for the identity descriptor and staged initializers a free place is found",
    ),
    Key("reserved", _reserved, "ranges to keep free: a list of `{name: nvs, address: 0x70090000, size: 64K}`", "none"),
    Key("dead_bank", one_of(DEAD_BANKS)).says(
        "what a virtual board does with a memory bank that is off: `fault`, or `zeros` (reads zero, forgets writes)"
    ),
    Key("allow_reference_on_hardware", Value.boolean).says(
        "`true`: a network that computes on the core of `machine: silicon` is meant",
        "`false`: such an image is refused",
    ),
    Key("kernels", one_of(KERNELS)).says(
        "`c`; `mve`: most kernels use MVE (Cortex-M55, Cortex-M85); `dsp`: convolutions and fully connected layers use "
        "the DSP extension (Cortex-M4, Cortex-M7, Cortex-M33 and later). The results are the same, bit by bit"
    ),
    Key("patch", patch.read_settings, section=True, join=patch.resolve).says(
        "how an application's sources are fitted to the network, see below", "as `aspect_ratio` of `app_config` says"
    ),
    Key("defines", lambda value: tuple(define(item) for item in value.items())).says(
        "preprocessor definitions of the firmware: `NAME` or `NAME=value`", "none"
    ),
    Key("fsbl", Value.text).says(
        "the first-stage boot loader: `.hex`, `.bin` or `.elf`. It gets a [header](image-header.md) if it has none, "
        "and is the first write of the flash plan",
        "it is not in the plan; a board needs one all the same",
    ),
    Key("boot", one_of(BOOT_MODES)).says(
        "where the image runs: `load-and-run` (copied into RAM by the boot loader), `xip` (in its slot), `ram` (loaded "
        "by a debugger), see [boards.md](boards.md#boot-modes)",
        "as the board has it",
    ),
    Key("sign", _sign).says(
        "who puts the [header](image-header.md) in front of the image: `header` (this package), `vendor` (its signing "
        "tool), or a mapping, see [there](image-header.md)",
        "`header`",
    ),
    Key("relocatable", _relocatable).says(
        "`true`, or a mapping of what differs: the firmware loads its network from flash, see below",
        "`false`: it is linked in",
    ),
)


def keys_of(value: Value | None) -> tuple[Key, ...]:
    """The keys of variants, with those of plugins that a mapping has."""
    return with_added(VARIANT, KEYS, value)


def read_settings(value: Value, known: tuple[str, ...] = ()) -> Settings:
    """Read a variant's keys without its overrides: ``network`` becomes ``networks``, sections become names like
    ``toolchain.prefix``. ``known``: the allowed keys; empty: all.
    """
    keys = keys_of(value)
    known = known or names(keys)
    fields = value.fields(known)
    if "network" in fields and "networks" in fields:
        raise fields["network"].error("'network' and 'networks' cannot both be there", "keep one of them")
    return read_keys(value, keys, known)


def values_of(merged: Settings) -> dict[str, Any]:
    """Make a variant's fields from its settings, except those that depend on its networks and its title."""
    values = {field: found for key in KEYS if key.name not in _ELSEWHERE for field, found in key.values(merged).items()}
    return {**values, "added": added_values(VARIANT, merged, KEYS)}
