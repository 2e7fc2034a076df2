"""The head of network.c: origin, options, includes, the guard on the runtime's version."""

from __future__ import annotations

from neuralart.compilers.reference.emit.emission import TOOL, Emission
from neuralart.network.facts import NEURALART_VERSION

INCLUDES = ("ll_aton_NN_interface.h", "ll_aton.h", "ll_aton_lib.h", "ll_aton_version.h", "ll_sw.h")
BANNER_END = " */\n"


def banner(emission: Emission) -> str:
    """The first comment. No version, date or folder: equal inputs give equal bytes."""
    options = "".join(f" * --{name} = {value}\n" for name, value in emission.options)
    version = ".".join(map(str, NEURALART_VERSION))
    return (
        "/*\n"
        f" * Network {emission.name}, made by the neuralart reference compiler. Do not edit: changes are lost.\n"
        " * Every epoch is software and runs on the CPU: no part is mapped to an NPU.\n"
        " *\n"
        ' * GIT_SHA         "none"\n'
        f' * GIT_BRANCH      "{TOOL}"\n'
        f' * GIT_DESCRIPTION "{TOOL}-runtime-{version}"\n'
        " *\n"
        " * Command Line options:\n"
        f"{options}{BANNER_END}"
    )


def head(_emission: Emission) -> str:
    """Includes, guard, defaults."""
    includes = "".join(f'#include "{name}"\n' for name in INCLUDES)
    numbers = zip(("MAJOR", "MINOR", "MICRO", "DEV"), NEURALART_VERSION, strict=True)
    guard = " || ".join(f"LL_ATON_VERSION_{part} != {number}" for part, number in numbers)
    return (
        f"{includes}\n#if {guard}\n"
        '#  error "Possible mismatch in ll_aton library used"\n'
        "#endif\n\n"
        "#if !defined(LL_ATON_DBG_BUFFER_INFO_EXCLUDED)\n"
        "#  define LL_ATON_DBG_BUFFER_INFO_EXCLUDED 0\n"
        "#endif\n"
    )
