"""From a network and an application's memories to every value that is patched in. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from neuralart.errors import NeuralArtError
from neuralart.patching import camera as cameras
from neuralart.patching.budget import Budget, Use
from neuralart.patching.camera import LINE, Camera
from neuralart.patching.inputs import ActivationPool, NetworkForPatching
from neuralart.patching.patchlist import ImageBuffer, PatchList
from neuralart.text.linker_script.types import LinkerScript

_NO_NAME = re.compile(r"\W", re.ASCII)


@dataclass(frozen=True)
class Activation:
    """An activation buffer of the application."""

    number: int  # n of the generator's macro; ``number - 1`` is its place in the table of handles
    pool: str  # as the compiler calls it
    name: str  # the same, fit for C and the linker
    section: str  # name of its section
    symbol: str  # C name
    region: str  # memory
    # of the array: a whole cache line more than rounding up would give where the size is a multiple of it, which is
    # what the application's cache maintenance assumes
    bytes: int


@dataclass(frozen=True)
class Image:
    """An image buffer of the application."""

    name: str
    section: str
    region: str
    bytes: int
    width: int
    height: int


@dataclass(frozen=True)
class Input:
    """Which activation buffer holds the network's input: ``number`` from 1, ``index`` from 0."""

    number: int

    @property
    def index(self) -> int:
        """Place in the table of handles."""
        return self.number - 1


@dataclass(frozen=True)
class RegionUse:
    """A memory in which buffers were placed, for reports; bytes."""

    name: str
    budget: str
    capacity: int
    used: int


@dataclass(frozen=True)
class Decision:
    """All values."""

    camera: Camera  # what is captured
    activations: tuple[Activation, ...]  # by number
    input: Input | None  # None if the input lies in no activation buffer
    images: Mapping[str, Image]  # by name
    regions: tuple[RegionUse, ...]  # memories in use
    notes: tuple[str, ...] = field(default=())  # what the user should know


def array_bytes(size: int) -> int:
    """Bytes of the array that ``[n + 32 - (n % 32)]`` declares: never just n."""
    return size + LINE - size % LINE


def decide(
    what: PatchList,
    network: NetworkForPatching,
    script: LinkerScript,
    aspect_ratio: str,
    reserve: Mapping[str, int],
    pools: Mapping[str, int],
) -> Decision:
    """Decide everything.

    Args:
        what: The patch list.
        network: The network.
        script: The application's linker script.
        aspect_ratio: ``crop``, ``padding`` or ``fit``.
        reserve: Memory -> bytes, in place of those of the patch list.
        pools: Sizes in the memory-pool file; empty without one.

    Raises:
        NeuralArtError: It cannot be done; with all numbers.
    """
    camera = cameras.decide(
        aspect_ratio, what.resolutions, network.width, network.height, network.channels, network.file
    )
    budget = Budget(script, {**what.reserve, **reserve}, pools)
    activations = tuple(_activation(what, script, pool) for pool in network.activations)
    _check_names(activations, network.file)
    for each in activations:
        budget.take(each.region, Use(f"activation buffer {each.number} (pool {each.pool})", each.bytes))
    images = {image.name: _image(what, image, camera, network, script, budget) for image in what.images}
    notes = [
        f"pool '{each.pool}' is called {each.name} in C and in sections"
        for each in activations
        if _NO_NAME.search(each.pool)
    ]
    if not network.input_pool:
        notes.append(
            "the network's input lies in no activation buffer: macros that say in which it does are left out, and the "
            "application must give it a buffer of its own"
        )
    notes += filter(None, [budget.stack_note()])
    regions = tuple(
        RegionUse(name, region.text(), region.capacity, budget.used(name))
        for name, region in budget.regions.items()
        if budget.uses[name]
    )
    found = Input(network.input_pool) if network.input_pool else None
    return Decision(camera, activations, found, images, regions, tuple(notes))


def _activation(what: PatchList, script: LinkerScript, pool: ActivationPool) -> Activation:
    name = what.pool_names.get(pool.name) or _NO_NAME.sub("_", pool.name)
    section = what.activation_section.replace("{pool}", name)
    return Activation(
        number=pool.number,
        pool=pool.name,
        name=name,
        section=section,
        symbol=what.activation_symbol.replace("{pool}", name),
        region=script.place(section).name,
        bytes=array_bytes(pool.used),
    )


def _check_names(activations: tuple[Activation, ...], where: str) -> None:
    for each in activations:
        same = [other.pool for other in activations if other.symbol == each.symbol]
        if len(same) > 1:
            raise NeuralArtError(
                f"pools {' and '.join(repr(pool) for pool in same)} would both be the buffer {each.symbol}",
                where=where,
                hint="give the pools of the memory-pool file names that differ in letters, digits and _",
            )


def _image(
    what: PatchList,
    image: ImageBuffer,
    camera: Camera,
    network: NetworkForPatching,
    script: LinkerScript,
    budget: Budget,
) -> Image:
    if image.of == "camera":
        width, height = camera.buffer_width, camera.buffer_height
    else:
        width, height = network.width, network.height
    size = cameras.image_bytes(width, height, what.bytes_per_pixel)
    places = [(place, script.place(f"{image.section}_{place}").name) for place in image.places]
    place = budget.choose(Use(f"image buffer '{image.name}' ({width}x{height})", size), places)
    return Image(image.name, f"{image.section}_{place}", dict(places)[place], size, width, height)
