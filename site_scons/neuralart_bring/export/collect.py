"""The parts of an export from what a build made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from neuralart.applications.runtime import runtime_parts
from neuralart.boards.types import Board
from neuralart.config.types import RelocatableConfig, VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.memory.layout.strategies import BOOT_COPY, EXTERNAL, FLASH, LINK, Initializer, Layout, LoadPlaces
from neuralart.network.facts import NEURALART, Network, check_files
from neuralart_bring.export.plan import ExportInputs, ImagePart, NetworkPart, Raw

_AGAIN = "build the variant again"


@dataclass(frozen=True)
class BuiltNetwork:
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
