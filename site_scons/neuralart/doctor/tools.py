"""The programs of others: what they are called, how they say their version, where installers put them."""

from __future__ import annotations

from dataclasses import dataclass, field

_CLT = ("/opt/st/stm32cubeclt_*", "/opt/ST/STM32CubeCLT_*")


@dataclass(frozen=True)
class Tool:
    """A program."""

    name: str  # How rows, conditions and documentation call it
    programs: tuple[str, ...]  # Its file names, by preference
    question: tuple[str, ...]  # Arguments that make it say its version; empty: it is never started
    answer: str  # Regular expression whose first group is the version in what it prints, or in its path
    means: str  # What does not work without it
    get: str  # How to get it
    # Globs of the program where installers put it, by system
    places: dict[str, tuple[str, ...]] = field(default_factory=dict)
    fits: str = ""  # Range of versions that work; empty: any


def _programmer(program: str) -> dict[str, tuple[str, ...]]:
    inside = f"STM32CubeProgrammer/bin/{program}"
    return {
        "linux": (
            f"/usr/local/STMicroelectronics/STM32Cube/{inside}",
            f"~/STMicroelectronics/STM32Cube/{inside}",
            *(f"{root}/{inside}" for root in _CLT),
        ),
        "windows": (
            f"C:/Program Files/STMicroelectronics/STM32Cube/{inside}.exe",
            f"C:/ST/STM32CubeCLT_*/{inside}.exe",
        ),
        "mac": (
            "/Applications/STMicroelectronics/STM32Cube/STM32CubeProgrammer/STM32CubeProgrammer.app/Contents/MacOs/bin/"
            + program,
        ),
    }


QEMU = Tool(
    "qemu-system-arm",
    ("qemu-system-arm",),
    ("--version",),
    r"QEMU emulator version (\d+(?:\.\d+)+)",
    means="run- and boot- of variants with machine: qemu",
    get="install QEMU with its Arm system emulator (Debian, Ubuntu: qemu-system-arm)",
)
PROGRAMMER = Tool(
    "cubeprogrammer",
    ("STM32_Programmer_CLI", "STM32_Programmer_CLI.sh"),
    ("--version",),
    r"STM32CubeProgrammer(?: version:?)?\s+v?(\d+(?:\.\d+)+)",
    means="writing to the flash of a real board",
    get="install STM32CubeProgrammer or STM32CubeCLT of ST, and put its bin folder on PATH",
    places=_programmer("STM32_Programmer_CLI"),
)
SIGNING = Tool(
    "signing-tool",
    ("STM32_SigningTool_CLI",),
    ("--version",),
    r"(?i)signing\s*tool[^\n\d]*v?(\d+(?:\.\d+)+)",
    means="signed images, the only ones that the boot ROM of an STM32N6 starts from flash",
    get="it comes with STM32CubeProgrammer; put its bin folder on PATH",
    places=_programmer("STM32_SigningTool_CLI"),
)
CUBEIDE = Tool(
    "stm32cubeide",
    ("stm32cubeidec", "stm32cubeide"),
    (),
    r"(?i)stm32cubeide[_-](\d+(?:\.\d+)+)",
    means="applications that are built with STM32CubeIDE without its window (application: cubeide)",
    get="install STM32CubeIDE of ST; it is found in the folder that its installer proposes, or on PATH",
    places={
        "linux": ("/opt/st/stm32cubeide_*/stm32cubeide",),
        "windows": ("C:/ST/STM32CubeIDE_*/STM32CubeIDE/stm32cubeidec.exe",),
        "mac": ("/Applications/STM32CubeIDE.app/Contents/MacOS/STM32CubeIDE",),
    },
)
CMAKE = Tool(
    "cmake",
    ("cmake",),
    ("--version",),
    r"cmake version (\d+(?:\.\d+)+)",
    means="applications that are built with CMake (application: cmake), and use of an exported network.cmake",
    get="install CMake, for example with pip install cmake",
    fits=">=3.16",
)
MAKE = Tool(
    "make",
    ("make", "gmake", "mingw32-make"),
    ("--version",),
    r"GNU Make (\d+(?:\.\d+)+)",
    means="applications that are built with make (application: make), and use of an exported network.mk",
    get="install GNU make",
    fits=">=3.81",
)
TOOLS = (QEMU, PROGRAMMER, SIGNING, CUBEIDE, CMAKE, MAKE)
