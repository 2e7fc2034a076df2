"""What variants.yaml says, resolved: one frozen object per network and variant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from neuralart.config.application_types import ApplicationConfig
from neuralart.text.values import NOWHERE, Location

if TYPE_CHECKING:
    from neuralart.config.app_config import AppConfig
    from neuralart.config.budgets import Budgets
    from neuralart.config.patch import PatchConfig

# How the constants of a pool reach it.
STRATEGIES = ("flash", "boot-copy", "link", "external-loader", "relocatable")
# The kernels of a variant: plain C, or with the M-profile Vector Extension where there is a kernel that uses it.
KERNELS = ("c", "mve")
REFERENCE_APPLICATION = ApplicationConfig()
# Who compiles networks; auto: ST Edge AI Core where it is installed.
COMPILERS = ("reference", "stedgeai", "auto", "recorded")
# How a loader installs a relocatable model: its code stays in flash, or is copied into RAM.
LOAD_MODES = ("xip", "copy")


@dataclass(frozen=True)
class ToolchainConfig:
    """Which cross compiler.

    Attributes:
        prefix: Program prefix, with or without a folder.
        libc: ``auto``, ``picolibc``, ``newlib`` or ``newlib-nano``.
        version: Wanted version of gcc, leading parts suffice (``12``, ``12.2``); empty: any.
    """

    prefix: str = "arm-none-eabi-"
    libc: str = "auto"
    version: str = ""


def split_profile(text: str) -> tuple[str, str]:
    """Profile name and file of a network's ``profile``.

    Args:
        text: ``name@file.json``, ``file.json`` or ``name@``. The name ends at the first ``@``, as on the command line.

    Returns:
        The name (``default`` where none is given) and the file (empty: the board's own).
    """
    name, at, file = text.partition("@")
    return (name or "default", file) if at else ("default", text)


@dataclass(frozen=True)
class NetworkConfig:
    """One network of one variant, overrides applied.

    Attributes:
        name: C identifier.
        model: Path, relative to the file that names it.
        compiler: One of :data:`COMPILERS`.
        compiler_version: Wanted version of ST Edge AI Core, such as ``4.0.*``; empty: any.
        recording: Folder of a recorded compile, for ``recorded``.
        profile: ``[profile@]file.json``; empty: the board's own.
        profile_add: Options to add to the profile's, as words.
        profile_remove: Options of the profile to leave out.
        pair: ``profiling``: the network once more without the epoch controller, to measure its epochs; empty: no.
        extra_options: Words for ST Edge AI Core that nothing here looks at.
        failures: Table of failures of one's own (path), asked before ours.
        mpool: Pool file instead of the profile's; empty: the profile's.
        input_data_type: As ``--input-data-type``; empty: the model's.
        output_data_type: As ``--output-data-type``.
        inputs_ch_position: ``chlast``, ``chfirst`` or empty.
        outputs_ch_position: Likewise.
        allocate_inputs: False as with ``--no-inputs-allocation``.
        allocate_outputs: Likewise.
        options: Further options of generate, in order.
        initializers: fnames of the pools whose raw file is declared; None: by rule.
        vectors: Folder of golden vectors; empty: none.
        check: How close outputs must come to them: (metric, bound) of ``max_lsb``, ``cos``, ``rmse``; none: exactly.
        strategies: (fname of a pool, how its initializer reaches it); pools not named follow the rule.
        app_config: What the header of its application says beyond the network; None: there is none.
        budgets: What it may use; more is an error. None: there is no limit.
        where: Where the network was written.
        places: Where each of its keys was written (in the network, in an override or in the defaults).
    """

    name: str
    model: str
    compiler: str = "reference"
    compiler_version: str = ""
    recording: str = ""
    profile: str = ""
    profile_add: tuple[str, ...] = ()
    profile_remove: tuple[str, ...] = ()
    pair: str = ""
    extra_options: tuple[str, ...] = ()
    failures: str = ""
    mpool: str = ""
    input_data_type: str = ""
    output_data_type: str = ""
    inputs_ch_position: str = ""
    outputs_ch_position: str = ""
    allocate_inputs: bool = True
    allocate_outputs: bool = True
    options: tuple[str, ...] = ()
    initializers: tuple[str, ...] | None = None
    vectors: str = ""
    check: tuple[tuple[str, float], ...] = ()
    strategies: tuple[tuple[str, str], ...] = ()
    app_config: AppConfig | None = None
    budgets: Budgets | None = None
    where: Location = NOWHERE
    places: Mapping[str, Location] = field(default_factory=dict, compare=False, repr=False)

    def place(self, key: str) -> Location:
        """Where a key was written; the network's own place if nobody wrote it."""
        return self.places.get(key, self.where)

    def said(self, key: str = "") -> str:
        """The place of a key for a message; the network's name where no file said it."""
        place = self.place(key)
        return str(place) if place.file else f"network {self.name}"


@dataclass(frozen=True)
class Reserved:
    """A range of addresses that the user keeps for something of their own."""

    name: str
    address: int
    size: int
    where: Location = NOWHERE


@dataclass(frozen=True)
class RelocatableConfig:
    """The model of a variant is not linked into its firmware: a loader in the firmware installs it at run time.

    Attributes:
        split: The constants in a file (and a flash slot) of their own.
        secure: Made for the secure state.
        debug_info: Epoch items carry numbers and estimates.
        layout: ``aligned`` or ``vendor``; empty: the default of the runtime.
        modes: What ``load-`` tries, of ``xip`` and ``copy``; the first is what flash and boot use.
        clear: The loader fills activation pools with zeros.
        also_on: Further boards that ``load-`` runs the same file on.
        exec_ram: Bytes that the firmware keeps for code and data of the model.
    """

    split: bool = False
    secure: bool = True
    debug_info: bool = True
    layout: str = ""
    modes: tuple[str, ...] = LOAD_MODES
    clear: bool = False
    also_on: tuple[str, ...] = ()
    exec_ram: int = 256 << 10


@dataclass(frozen=True)
class VariantConfig:
    """One variant.

    Attributes:
        name: Name of its alias and its folder.
        title: For ``scons -h``.
        board: Name of a board.
        machine: ``unicorn``, ``qemu``, ``silicon``; empty: the board's first.
        networks: In the order given.
        toolchain: Cross compiler.
        optimization: GCC optimization flag of the firmware, for example ``-O2``.
        kernels: ``c``, or ``mve``: for cores with the M-profile Vector Extension; the same results.
        slots: (name, address) of flash slots that the variant moves.
        reserved: Ranges to keep free.
        dead_bank: What a virtual board does at an access to a bank that is off: ``fault`` or ``zeros``.
        allow_reference_on_hardware: A network of the reference runtime on silicon is meant: it computes in software.
        defines: Further preprocessor definitions of the firmware, ``NAME`` or ``NAME=value``.
        relocatable: Its network becomes a relocatable model that the firmware loads; None: it is linked in.
        patch: Sources of an application are fitted to its network; None: as the board's kind has it.
        application: Who supplies the firmware around the networks.
        folder: What paths of the application are relative to; empty: the current SConscript.
        where: Where the variant was written.
        places: Where each of its keys was written.
    """

    name: str
    title: str
    board: str
    machine: str
    networks: tuple[NetworkConfig, ...]
    toolchain: ToolchainConfig = ToolchainConfig()
    optimization: str = "-O2"
    kernels: str = "c"
    slots: tuple[tuple[str, int], ...] = ()
    reserved: tuple[Reserved, ...] = ()
    dead_bank: str = "fault"
    allow_reference_on_hardware: bool = False
    defines: tuple[str, ...] = ()
    relocatable: RelocatableConfig | None = None
    patch: PatchConfig | None = None
    application: ApplicationConfig = REFERENCE_APPLICATION
    folder: str = ""
    where: Location = NOWHERE
    places: Mapping[str, Location] = field(default_factory=dict, compare=False, repr=False)

    def place(self, key: str) -> Location:
        """Where a key was written; the variant's own place if nobody wrote it."""
        return self.places.get(key, self.where)

    def said(self, key: str = "") -> str:
        """The place of a key for a message; the variant's name where no file said it."""
        place = self.place(key)
        return str(place) if place.file else f"variant {self.name}"


@dataclass(frozen=True)
class ProjectConfig:
    """The whole file.

    Attributes:
        path: As named.
        default: Variants that a bare ``scons`` builds.
        titles: Title of each variant, in the order of the file (cheap: nothing else is resolved).
        boards: The user's own board files (paths), in order.
    """

    path: str
    default: tuple[str, ...]
    titles: dict[str, str] = field(default_factory=dict)
    boards: tuple[str, ...] = ()
