"""The resolved contents of variants.yaml: a frozen object for each network and variant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from neuralart.config.application import ApplicationConfig
from neuralart.config.keys import Located
from neuralart.quick import dataclass, field
from neuralart.text.values import NOWHERE, Location

if TYPE_CHECKING:
    from neuralart.config.app_config import AppConfig
    from neuralart.config.patch import PatchConfig

# How the constants of a pool reach it.
STRATEGIES = ("flash", "boot-copy", "link", "external-loader", "relocatable")
# The kernels of a variant: plain C, or with the DSP or the M-profile Vector Extension where a kernel uses it.
KERNELS = ("c", "dsp", "mve")
REFERENCE_APPLICATION = ApplicationConfig()
# Who compiles networks; auto: ST Edge AI Core where it is installed.
COMPILERS = ("reference", "stedgeai", "auto", "recorded", "adopted")
# How a loader installs a relocatable model: its code stays in flash, or is copied into RAM.
LOAD_MODES = ("xip", "copy")


@dataclass(frozen=True)
class ToolchainConfig:
    prefix: str = "arm-none-eabi-"  # Program prefix, with or without a folder
    libc: str = "auto"  # ``auto``, ``picolibc``, ``newlib`` or ``newlib-nano``
    version: str = ""  # Wanted version of gcc, leading parts suffice (``12``, ``12.2``); empty: any
    # Flags that gcc does not get to see in builds of the user's own, and with ``+`` in front those that it gets besides
    tolerate: tuple[str, ...] = ()


_BUILT_IN = "profile-"


def of_compiler(text: str) -> bool:
    """Whether a profile is ``profile-NAME``: one of the installation, or our stock profiles."""
    return text.startswith(_BUILT_IN) and "@" not in text and not text.endswith(".json")


def split_profile(text: str) -> tuple[str, str]:
    """Split ``name@file``, ``file``, ``name@`` or ``profile-name`` into name (or ``default``) and file (or empty)."""
    if of_compiler(text):
        return text.removeprefix(_BUILT_IN), ""
    name, at, file = text.partition("@")
    return (name or "default", file) if at else ("default", text)


@dataclass(frozen=True)
class Budgets:
    """Limits of one network; None and empty: no limit."""

    max_sw_epochs: int | None = None  # Epochs that the CPU computes, alone or together with the NPU
    forbidden_pools: tuple[str, ...] = ()  # Pools, by fname or report name, of which nothing may be used
    max_weights: int | None = None  # Bytes of constants, all pools together
    max_activations: int | None = None  # Bytes of activations, all pools together
    max_cycles: int | None = None  # NPU cycles of one inference as the compiler estimates them
    min_offload: int | None = None  # Per cent of the epochs that the NPU computes alone
    min_inferences_per_second: float | None = None
    max_sw_share: float | None = None  # Per cent of the measured time, else of the epochs, that the CPU computes
    max_bytes: tuple[tuple[str, int], ...] = ()  # Traffic of one inference over a pool, by report name
    max_instructions: int | None = None  # Of one inference on a virtual board, without the scheduler
    baseline: str = ""  # Path of a ``profile.json``, relative to the project file
    tolerance: float | None = None  # Per cent that figures may be above the baseline
    # Where each limit was written
    places: Mapping[str, Location] = field(default_factory=dict, compare=False, repr=False)

    def __bool__(self) -> bool:
        """There is a limit."""
        return self != Budgets()

    def said(self, key: str) -> str:
        """Where a limit was written, for messages; its name if no file has it."""
        place = self.places.get(key)
        return str(place) if place is not None and place.file else f"budgets.{key}"


@dataclass(frozen=True)
class AdoptedConfig:
    """A network whose generated C is in the user's tree. Paths are relative to the file that names them."""

    folder: str  # Where its C is
    c_file: str = ""  # Name of that in the folder; empty: the only network there
    initializers: tuple[tuple[str, str], ...] = ()  # (fname of a pool, its file); others: found in the folder


@dataclass(frozen=True)
class NetworkConfig(Located):
    """One network of one variant, overrides applied."""

    name: str  # C identifier
    model: str  # Path, relative to the file that names it; empty: unknown, of an adopted network
    compiler: str = "reference"  # One of COMPILERS
    compiler_version: str = ""  # Wanted version of ST Edge AI Core, such as ``4.0.*``; empty: any
    recording: str = ""  # Folder of a recorded compile, for ``recorded``
    adopted: AdoptedConfig | None = None  # Generated C that is there already, for ``adopted``
    profile: str = ""  # ``[profile@]file.json``; empty: the board's own
    profile_add: tuple[str, ...] = ()  # Options to add to the profile's, as words
    profile_remove: tuple[str, ...] = ()  # Options of the profile to leave out
    pair: str = ""  # ``profiling``: once more without the epoch controller, to measure its epochs; empty: no
    extra_options: tuple[str, ...] = ()  # Words for ST Edge AI Core that nothing here looks at
    failures: str = ""  # The user's own table of failures (path), read before the built-in one
    timeout: float | None = None  # Seconds that ST Edge AI Core may take; None: any
    mpool: str = ""  # Pool file instead of the profile's; empty: the profile's
    cut: tuple[str, ...] = ()  # Names of the tensors where the model ends; empty: its own outputs
    input_shapes: tuple[str, ...] = ()  # ``NAME=1x3x48x320`` of inputs whose sizes the model leaves open
    memory: str = ""  # ``smallest``: layers in stripes of rows where that takes less memory; empty: none
    input_data_type: str = ""  # As ``--input-data-type``; empty: the model's
    output_data_type: str = ""  # As ``--output-data-type``
    inputs_ch_position: str = ""  # ``chlast``, ``chfirst`` or empty
    outputs_ch_position: str = ""  # The same for outputs
    allocate_inputs: bool = True  # False as with ``--no-inputs-allocation``
    allocate_outputs: bool = True  # False as with ``--no-outputs-allocation``
    dispatch_weights: tuple[str, ...] = ()  # ``SECTION=BYTES``, in order; none: as the linker script says
    options: tuple[str, ...] = ()  # Further options of generate, in order
    initializers: tuple[str, ...] | None = None  # fnames of the pools whose raw file is declared; None: by rule
    vectors: str = ""  # Folder of golden vectors; empty: none
    input: str = ""  # File or folder of inputs for runs without vectors; empty: pseudo-random ones
    labels: str = ""  # File with the names of the classes; empty: those of ``app_config``
    check: tuple[tuple[str, float], ...] = ()  # Bounds of outputs: ``max_lsb``, ``cos``, ``rmse``; none: exact
    min_cos: float | None = None  # Least cosine of an output that ``neuralart validate`` accepts; None: any
    min_accuracy: float | None = None  # Least share of samples with the right class, 0 to 1; None: any
    strategies: tuple[tuple[str, str], ...] = ()  # fname of a pool, how its initializer reaches it; others: by rule
    app_config: AppConfig | None = None  # What the header of its application says beyond the network
    budgets: Budgets | None = None  # What it may use; more is an error. None: there is no limit
    added: Mapping[str, Any] = field(default_factory=dict, compare=False)  # Values of keys that plugins add

    def unsaid(self) -> str:
        """What messages call it."""
        return f"network {self.name}"


@dataclass(frozen=True)
class Reserved:
    """A range of addresses that the user keeps free."""

    name: str
    address: int
    size: int
    where: Location = NOWHERE


@dataclass(frozen=True)
class RelocatableConfig:
    """Options of a variant whose model a loader in the firmware installs at run time."""

    split: bool = False  # The constants in a file (and a flash slot) of their own
    secure: bool = True  # Made for the secure state
    debug_info: bool = True  # Epoch items carry numbers and estimates
    layout: str = ""  # ``aligned`` or ``vendor``; empty: the default of the runtime
    modes: tuple[str, ...] = LOAD_MODES  # What ``load-`` tries; the first is what flash and boot use
    clear: bool = False  # The loader fills activation pools with zeros
    also_on: tuple[str, ...] = ()  # Further boards that ``load-`` runs the same file on
    exec_ram: int = 256 << 10  # Bytes that the firmware keeps for code and data of the model
    name: str = ""  # Base name of its files, in lower case its C name; empty: the network's
    ecblob_in_params: bool = False  # Epoch-controller blobs in front of the constants instead of among the code
    gen_c_file: bool = False  # The image as C, too
    pack_dir: str = ""  # Installation with its runtime (path); empty: that of the compiler, or STEDGEAI_CORE_DIR

    @property
    def loader_defines(self) -> tuple[str, ...]:
        """Macros for the compile of the loader."""
        return ("LL_ATON_RT_RELOC", *(("LL_ATON_EB_DBG_INFO",) if self.debug_info else ()))


@dataclass(frozen=True)
class SignConfig:
    """Who makes the header of an image, and its fields."""

    by: str = "header"  # ``header``: this package, without a signature; ``vendor``: the vendor's signing tool
    type: str = "application"  # What the boot chain takes the image for: ``application``, ``ssbl`` or ``fsbl``
    header_version: str = ""  # ``2.3`` or ``2.1``; empty: the board's
    tool_options: tuple[str, ...] = ()  # Words for the vendor's tool instead of ``-nk``, for example keys


@dataclass(frozen=True)
class VariantConfig(Located):
    name: str  # Name of its alias and its folder
    title: str  # For ``scons -h``
    board: str  # Name of a board
    machine: str  # ``unicorn``, ``qemu``, ``silicon``; empty: the board's first
    networks: tuple[NetworkConfig, ...]  # In the order given
    runner: str = ""  # Name of the flash runner; empty: what fits the machine
    toolchain: ToolchainConfig = ToolchainConfig()  # Cross compiler
    optimization: str = "-O2"  # GCC optimization flag of the firmware, for example ``-O2``
    kernels: str = "c"  # One of :data:`KERNELS`; the results are the same
    slots: tuple[tuple[str, int], ...] = ()  # (name, address) of flash slots that the variant moves
    reserved: tuple[Reserved, ...] = ()  # Ranges to keep free
    dead_bank: str = "fault"  # What a virtual board does at an access to a bank that is off: ``fault`` or ``zeros``
    allow_reference_on_hardware: bool = False  # The reference runtime computes in software there: that is meant
    defines: tuple[str, ...] = ()  # Further preprocessor definitions of the firmware, ``NAME`` or ``NAME=value``
    fsbl: str = ""  # File of the first-stage boot loader, relative to the project file; empty: not in the flash plan
    sign: SignConfig = SignConfig()  # The header of the image
    relocatable: RelocatableConfig | None = None  # The firmware loads its network; None: it is linked in
    patch: PatchConfig | None = None  # How sources of an application are fitted; None: as the board's kind has it
    application: ApplicationConfig = REFERENCE_APPLICATION  # Who supplies the firmware around the networks
    boot: str = (
        ""  # How its image comes to where it runs, ``load-and-run``, ``xip``, ``ram``; empty: as its board has it
    )
    folder: str = ""  # What paths of the application are relative to; empty: the current SConscript
    added: Mapping[str, Any] = field(default_factory=dict, compare=False)  # Values of keys that plugins add

    def unsaid(self) -> str:
        """What messages call it."""
        return f"variant {self.name}"

    @property
    def booted(self) -> tuple[str, str]:
        """Its board in its boot mode, and where that was written."""
        moved = dict(self.slots).get("application") if self.boot == "xip" else None
        mode = self.boot if moved is None else f"{self.boot}-0x{moved:08x}"
        return (f"{self.board}+{mode}", self.said("boot")) if mode else (self.board, self.said("board"))


@dataclass(frozen=True)
class ProjectConfig:
    path: str  # As named
    default: tuple[str, ...]  # Variants that a bare ``scons`` builds
    titles: dict[str, str] = field(default_factory=dict)  # By variant, in the order of the file
    boards: tuple[str, ...] = ()  # The user's own board files (paths), in order
    added: Mapping[str, Any] = field(default_factory=dict)  # Values of keys that plugins add
