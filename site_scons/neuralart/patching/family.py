"""Refusals: networks and applications that are not patched, and what to do instead."""

from __future__ import annotations

import os
import re
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.text.c_source import CSource
from neuralart.vendor.c_info.types import CInfo

# What the generator must be told for an application of this kind.
LEGACY_OPTIONS = ("--c-api", "legacy")
_N6 = re.compile(r"stm32n6", re.IGNORECASE)
_N6_HINT = (
    "set the memory-pool file of the network instead, and let neuralart write app_config.h and network_io.h for the "
    "application"
)
_DEEP, _MANY = 4, 4000


def refuse_n6(where: str, seen: str) -> NeuralArtError:
    """Why an STM32N6 application is not patched.

    Args:
        where: The application or the network.
        seen: By what it was recognized.
    """
    return NeuralArtError(
        f"{seen}: an STM32N6 application is not patched: its compiler places activations at fixed addresses, "
        "and it reads sizes in headers of the network",
        where=where,
        hint=_N6_HINT,
    )


def check_target(target: str, where: str = "") -> None:
    """Refuse the target of a board that needs no patching.

    Raises:
        NeuralArtError: It is an STM32N6.
    """
    if _N6.match(target):
        raise refuse_n6(where, f"target {target}")


def looks_like_n6(folder: Path) -> str:
    """Name of a file or folder that only an STM32N6 application has, empty if none is near the top."""
    seen = 0
    for root, folders, files in os.walk(folder):
        relative = Path(root).relative_to(folder)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if len(relative.parts) >= _DEEP:
            folders.clear()
        for name in (*folders, *sorted(files)):
            seen += 1
            if _N6.match(name):
                return (relative / name).as_posix()
        if seen > _MANY:
            break
    return ""


def check_network(info: CInfo) -> None:
    """Refuse what was compiled for the NPU.

    Raises:
        NeuralArtError: It was.
    """
    if any("ATONN" in tool.name for tool in info.tools):
        raise refuse_n6(info.file, "compiled by the Neural-ART compiler")
    npu = [pool.name for pool in info.pools if pool.name.startswith(("npuRAM", "cpuRAM"))]
    if npu:
        raise refuse_n6(info.file, f"pool {npu[0]} is a memory of the STM32N6")


def legacy_missing(info: CInfo, headers: list[CSource], folder: str, name: str) -> NeuralArtError:
    """The error where no header of the legacy C API is: the other API, or nothing at all."""
    generated = [file.name for file in info.files]
    arguments = " ".join(word for tool in info.tools for word in tool.arguments.split())
    st_ai = [source.name for source in headers if f"STAI_{name.upper()}_" in source.code]
    if st_ai or f"{name}_details.h" in generated or "--c-api st-ai" in arguments:
        return NeuralArtError(
            f"{st_ai[0] if st_ai else info.file} is of the C API st-ai; this application is written for the legacy API "
            f"(ai_handle, AI_{name.upper()}_DATA_ACTIVATION_n_SIZE)",
            where=folder,
            hint=f"generate with {' '.join(LEGACY_OPTIONS)}: from ST Edge AI Core 3.0 on st-ai is the default",
        )
    return NeuralArtError(
        f"no header with AI_{name.upper()}_DATA_ACTIVATION_n_SIZE: "
        + (f"read {', '.join(Path(source.name).name for source in headers)}" if headers else "found none at all"),
        where=folder,
        hint=f"name the folder of {name}_data_params.h; generate with {' '.join(LEGACY_OPTIONS)} --name {name}",
    )
