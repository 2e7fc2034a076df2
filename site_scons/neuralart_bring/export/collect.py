"""The parts of an export from what a build made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from neuralart.boards.types import Board
from neuralart.config.types import RelocatableConfig, VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.memory.layout.placements import Initializer, Layout, LoadPlaces
from neuralart.memory.layout.strategies import BOOT_COPY, EXTERNAL, FLASH, LINK
from neuralart.network.facts import NEURALART, Network, check_files
from neuralart.resources import firmware_dir
from neuralart_bring.export.plan import ExportInputs, ImagePart, NetworkPart, Raw, RuntimePart

_AGAIN = "build the variant again"
_KERNELS, _OTHER_KERNELS = "kernels/", "kernels_"
# Code of relocatable models, and of networks for a core without an NPU.
_OF_OTHER_PROGRAMS = ("relocatable/", "legacy/")
_OF_CORES = (_KERNELS, "include/", "legacy/")
# What other runtimes have themselves; the start-up code of the memories is ours with any of them.
_MEMORY = ("memory/", "include/npu_memory.h")
_CODE = (".c", ".h")


@dataclass(frozen=True)
class BuiltNetwork:
    """A compiled network in a build folder."""

    facts: Network  # Its ``network.json``
    folder: Path  # Where its files are; its ``manifest.json`` lists them
    pools: dict[str, int]  # Base address of each pool, by fname


def network_part(built: BuiltNetwork, linked: bool) -> NetworkPart:
    """A network from its folder. NeuralArtError: The folder is not whole, or a file in it was changed."""
    facts, folder = built.facts, built.folder
    names = [row.name for row in check_files(folder)]
    # That of an adopted network may be called otherwise.
    if not any(name.endswith(".c") for name in names):
        raise NeuralArtError(f"{facts.name}.c is not listed", where=str(folder / "manifest.json"), hint=_AGAIN)
    raws = []
    for fname, address in built.pools.items():
        found = [name for name in names if name.endswith(f".{fname}.raw")]
        raws += [Raw(fname, address, folder / name) for name in found]
    return NetworkPart(
        name=facts.name,
        runtime=facts.runtime,
        runtime_version=facts.runtime_version,
        abi_stamp=facts.abi_stamp,
        sources=tuple(folder / name for name in names if name.endswith(".c")),
        headers=tuple(folder / name for name in names if name.endswith(".h")),
        raws=tuple(raws),
        others=tuple(folder / name for name in ("network.json",) if name in names),
        linked=linked,
    )


def runtime_parts(
    ours: bool, kernels: str = "c", root: Path | None = None, *, cpu: bool = False
) -> tuple[RuntimePart, ...]:
    """Sources and headers of our runtime. ``kernels``: ``c``, or others that stand for the plain ones of the same name;
    empty: none. ``cpu``: that of networks for a core without an NPU.
    """
    root = root or firmware_dir() / "runtime"
    found = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.suffix in _CODE}
    plain = {name: path for name, path in found.items() if not name.startswith(_OTHER_KERNELS)}
    if not kernels:
        plain = {name: path for name, path in plain.items() if not name.startswith(_KERNELS)}
    others = f"kernels_{kernels}/"
    for name in [name for name in found if name.startswith(others)]:
        plain.pop(f"{_KERNELS}{name.removeprefix(others)}", None)
        plain[name] = found[name]
    if cpu:
        chosen = [name for name in plain if name.startswith((*_OF_CORES, others))]
    else:
        chosen = [name for name in plain if not name.startswith(_OF_OTHER_PROGRAMS)]
    return tuple(RuntimePart(name, plain[name]) for name in sorted(chosen) if ours or name.startswith(_MEMORY))


def _image(program: Path, item: Initializer) -> ImagePart:
    external = item.strategy == EXTERNAL
    stem = f"{item.network}.{item.pool}"
    address = item.run_address if external else item.load_address
    return ImagePart(item.network, item.pool, address, program / f"{stem}.bin", program / f"{stem}.hex", external)


def collect(
    variant: VariantConfig,
    board: Board,
    layout: Layout | None,
    networks: Sequence[BuiltNetwork],
    program: Path,
    cpu_flags: Sequence[str] = (),
) -> ExportInputs:
    """Everything that a variant's build made for a program that is built elsewhere. NeuralArtError: something is
    missing.

    The ``layout`` says how each initializer reaches its pool, hence which files there are; None: the networks run on
    the core and are C alone. ``program``: folder of the files for all networks together, ``build/<variant>``.
    ``cpu_flags``: GCC flags of the core, for information.
    """
    common: dict[str, Any] = {"name": variant.name, "title": variant.title, "board": board.name}
    common["cpu_flags"] = tuple(cpu_flags)
    ours = any(built.facts.runtime == NEURALART for built in networks)
    if layout is None:
        parts = tuple(network_part(built, linked=False) for built in networks)
        runtime = runtime_parts(ours, variant.kernels, cpu=True) if ours else ()
        return ExportInputs(**common, networks=parts, runtime=runtime, defines=variant.defines)
    linked = {item.network for item in layout.initializers if item.strategy == LINK}
    images = [_image(program, item) for item in layout.initializers if item.strategy in (FLASH, BOOT_COPY, EXTERNAL)]
    if layout.descriptor is not None and images:
        at = program / "descriptor"
        images.append(ImagePart("", "", layout.descriptor, at.with_suffix(".bin"), at.with_suffix(".hex")))
    links = (item for item in layout.initializers if item.strategy == LINK)
    sources = [program / "npu_memory_init.c", *(program / f"npu_link_{each.network}_{each.pool}.c" for each in links)]
    parts = tuple(network_part(built, built.facts.name in linked) for built in networks)
    defines, kernels = variant.defines, variant.kernels
    if layout.loaded is not None and variant.relocatable is not None:
        # Its C and its kernels are in the model.
        parts = tuple(replace(part, sources=(), headers=(), raws=()) for part in parts)
        images += _model(variant.relocatable, layout.loaded, parts[0].name, program)
        defines, kernels = (*defines, *variant.relocatable.loader_defines), ""
    return ExportInputs(
        **common,
        networks=parts,
        sources=tuple(sources),
        headers=(program / "npu_memory_init.h", program / "network_io.h"),
        images=tuple(images),
        runtime=runtime_parts(ours, kernels),
        defines=defines,
    )


def _model(config: RelocatableConfig, places: LoadPlaces, network: str, program: Path) -> list[ImagePart]:
    """A relocatable model in its slots, and the table by which a firmware of ours loads it in its first mode."""
    files = [("relocatable", places.model, "network_rel.bin")]
    files += [("relocatable_params", places.params, "network_rel_params.bin")] if places.params is not None else []
    files.append(("load_table", places.table, f"load_table.{config.modes[0]}.bin"))
    return [ImagePart(network, slot, address, program / name, None) for slot, address, name in files]
