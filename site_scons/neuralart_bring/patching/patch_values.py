"""From a network and an application's memories to every value that is patched in. Pure. A memory's budget is its length
less a reserve (what the application itself keeps there: data, heap, stack, display buffers; the patch list states it,
the user may change it), and never more than the memory-pool file gives the pool of that name. What fits exactly fits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from neuralart.errors import NeuralArtError, nearest
from neuralart_bring.linker_script.types import LinkerScript
from neuralart_bring.patching.network_files import ActivationPool, NetworkForPatching
from neuralart_bring.patching.patchlist import ImageBuffer, PatchList, Resolution

CROP, PADDING, FIT = "crop", "padding", "fit"
MODES = (CROP, PADDING, FIT)
CHANNELS = (1, 3)
LINE = 32  # bytes of a cache line
_NO_NAME = re.compile(r"\W", re.ASCII)


@dataclass(frozen=True)
class Camera:
    """What an application captures for a network."""

    mode: str  # ``crop``, ``padding`` or ``fit``
    constant: str  # value of the resolution macro
    width: str  # value of the width macro, a symbol
    height: str  # value of the height macro, a symbol
    buffer_width: int  # pixels of the capture buffer
    buffer_height: int  # pixels of the capture buffer
    crop_x: int  # column at which the cut-out begins for it to be in the middle; 0 if nothing is cut
    crop_x_text: str  # the same as an expression of symbols


def whole_lines(size: int) -> int:
    """Bytes rounded up to whole cache lines."""
    return -(-size // LINE) * LINE


def choose_camera(
    mode: str, ladder: Sequence[Resolution], width: int, height: int, channels: int, where: str = ""
) -> Camera:
    """Choose the first resolution of a ladder (smallest first) whose picture holds the network's input (pixels).

    *crop* cuts a square as high as the picture, *padding* adds borders until the picture is as high as it is wide,
    *fit* takes it as it is. NeuralArtError: the mode is unknown, the input is no picture, or no resolution is large
    enough.
    """
    if mode not in MODES:
        raise NeuralArtError(f"aspect ratio '{mode}' is not known", where=where, hint=nearest(mode, MODES))
    if channels not in CHANNELS:
        what = f"the network's input has {channels} channels; a camera application feeds 1 (grayscale) or 3 (RGB)"
        raise NeuralArtError(what, where=where)
    if width < 1 or height < 1:
        raise NeuralArtError(f"the network's input is {width}x{height} pixels", where=where)
    room, crop = (0, 0), mode == CROP
    for each in ladder:
        room = (each.height if crop else each.width, each.width if mode == PADDING else each.height)
        if width <= room[0] and height <= room[1]:
            begins = (each.width - each.height) // 2 if crop else 0
            text = f"({each.width_symbol} - {each.height_symbol}) / 2" if crop else "0"
            symbol = each.height_symbol if crop else each.width_symbol
            return Camera(mode, each.constant, symbol, each.height_symbol, *room, begins, text)
    largest = ladder[-1]
    what = f"the network's input of {width}x{height} pixels exceeds what the camera gives"
    what += f": at most {room[0]}x{room[1]} with {mode} (from {largest.width}x{largest.height})"
    raise NeuralArtError(what, where=where, hint="use a network with a smaller input, or another aspect ratio")


@dataclass(frozen=True)
class MemoryBudget:
    """A memory and its budget, in bytes."""

    name: str  # in the linker script
    length: int  # in the linker script
    reserve: int  # kept free
    pool: int | None = None  # size of the pool of that name in the memory-pool file; None if it has none

    @property
    def capacity(self) -> int:
        """Bytes that buffers may take."""
        free = max(self.length - self.reserve, 0)
        return free if self.pool is None else min(free, self.pool)

    def text(self) -> str:
        pool = "" if self.pool is None else f", at most {self.pool} by the memory-pool file"
        return f"{self.length} less {self.reserve} reserved{pool}"


@dataclass(frozen=True)
class BufferUse:
    what: str
    bytes: int


class Budget:
    """What is taken so far: memories by name, and what is in each, in the order it came. ``reserve``: memory -> bytes
    kept free; ``pools``: name -> bytes (those of other names than memories do not matter). NeuralArtError: a reserve
    names no memory, or is larger than it.
    """

    def __init__(self, script: LinkerScript, reserve: Mapping[str, int], pools: Mapping[str, int]) -> None:
        self.script = script
        names = tuple(memory.name for memory in script.memories)
        for name, size in reserve.items():
            if name not in names:
                what = f"reserve for '{name}', no such memory"
                raise NeuralArtError(what, where=script.name, hint=nearest(name, names))
            length = script.memory(name).length
            if size > length:
                raise NeuralArtError(f"reserve of {size} bytes in {name}, which has {length}", where=script.name)
        self.regions = {
            memory.name: MemoryBudget(memory.name, memory.length, reserve.get(memory.name, 0), pools.get(memory.name))
            for memory in script.memories
        }
        self.uses: dict[str, list[BufferUse]] = {name: [] for name in names}

    def used(self, region: str) -> int:
        return sum(use.bytes for use in self.uses[region])

    def free(self, region: str) -> int:
        """Bytes left; never below 0."""
        return self.regions[region].capacity - self.used(region)

    def take(self, region: str, use: BufferUse) -> None:
        """Put a buffer somewhere; NeuralArtError: it does not fit; every number that plays a part is told."""
        if use.bytes > self.free(region):
            before = "".join(f", {each.what} takes {each.bytes}" for each in self.uses[region])
            capacity = self.regions[region].capacity
            what = f"{use.what} needs {use.bytes} bytes in {region}, {self.free(region)} of {capacity} are left "
            what += f"({self.regions[region].text()}{before})"
            hint = f"make the network use less of {region} (its memory-pool file), or reserve less ({region}=SIZE)"
            raise NeuralArtError(what, where=self.script.name, hint=hint)
        self.uses[region].append(use)

    def choose(self, use: BufferUse, places: Sequence[tuple[str, str]]) -> str:
        """Put a buffer into the first memory with room, of (name of place, memory); its place. NeuralArtError: none."""
        for place, region in places:
            if use.bytes <= self.free(region):
                self.take(region, use)
                return place
        left = ", ".join(f"{region} has {self.free(region)} ({self.regions[region].text()})" for _, region in places)
        what = f"{use.what} needs {use.bytes} bytes, no memory has room: {left}"
        raise NeuralArtError(what, where=self.script.name, hint="use a smaller network, or reserve less")

    def stack_note(self) -> str:
        """A sentence if the stack is at the end of a memory where less is reserved than it needs; else empty. Nothing
        else reports it: the linker counts the stack where ``_Min_Stack_Size`` stands, not where ``_estack`` is.
        """
        stack = self.script.stack()
        if stack is None:
            return ""
        memory, needed = stack
        region = self.regions[memory.name]
        if not self.uses[memory.name] or region.length - region.capacity >= needed:
            return ""
        what = f"the stack grows down from the end of {memory.name} and wants {needed} bytes"
        return f"{what}, {region.length - region.capacity} are reserved there: it would run into buffers unnoticed"


@dataclass(frozen=True)
class Activation:
    number: int  # n of the generator's macro; ``number - 1`` is its place in the table of handles
    pool: str  # as the compiler calls it
    name: str  # the same, fit for C and the linker
    section: str  # name of its section
    symbol: str  # C name
    region: str  # memory
    bytes: int  # of the array (:func:`array_bytes`)


@dataclass(frozen=True)
class PlacedImage:
    """An image buffer of the application, in bytes and pixels."""

    name: str
    section: str
    region: str
    bytes: int
    width: int
    height: int


@dataclass(frozen=True)
class InputBuffer:
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
    camera: Camera
    activations: tuple[Activation, ...]  # by number
    input: InputBuffer | None  # None if the input lies in no activation buffer
    images: Mapping[str, PlacedImage]  # by name
    regions: tuple[RegionUse, ...]  # memories in use
    notes: tuple[str, ...] = field(default=())  # what the user should know


def array_bytes(size: int) -> int:
    """Bytes of the array that ``[n + 32 - (n % 32)]`` declares: never just n. A whole cache line more where n is a
    multiple of it: the application's cache maintenance assumes so.
    """
    return size + LINE - size % LINE


def decide(
    what: PatchList,
    network: NetworkForPatching,
    script: LinkerScript,
    aspect_ratio: str,
    reserve: Mapping[str, int],
    pools: Mapping[str, int],
) -> Decision:
    """Decide everything. ``reserve``: memory -> bytes, in place of the list's; ``pools``: of the memory-pool file.
    NeuralArtError: it cannot be done; with all numbers.
    """
    shape = (network.width, network.height, network.channels)
    camera = choose_camera(aspect_ratio, what.resolutions, *shape, network.file)
    budget = Budget(script, {**what.reserve, **reserve}, pools)
    activations = tuple(_activation(what, script, pool) for pool in network.activations)
    _check_names(activations, network.file)
    for each in activations:
        budget.take(each.region, BufferUse(f"activation buffer {each.number} (pool {each.pool})", each.bytes))
    images = {image.name: _image(what, image, camera, network, budget) for image in what.images}
    renamed = [each for each in activations if _NO_NAME.search(each.pool)]
    notes = [f"pool '{each.pool}' is called {each.name} in C and in sections" for each in renamed]
    if not network.input_pool:
        left = "macros that say in which it does are left out, and the application must give it a buffer of its own"
        notes.append(f"the network's input lies in no activation buffer: {left}")
    notes += filter(None, [budget.stack_note()])
    used = ((name, region) for name, region in budget.regions.items() if budget.uses[name])
    regions = tuple(RegionUse(name, region.text(), region.capacity, budget.used(name)) for name, region in used)
    found = InputBuffer(network.input_pool) if network.input_pool else None
    return Decision(camera, activations, found, images, regions, tuple(notes))


def _activation(what: PatchList, script: LinkerScript, pool: ActivationPool) -> Activation:
    name = what.pool_names.get(pool.name) or _NO_NAME.sub("_", pool.name)
    section, symbol = (text.replace("{pool}", name) for text in (what.activation_section, what.activation_symbol))
    region = script.place(section).name
    return Activation(pool.number, pool.name, name, section, symbol, region, array_bytes(pool.used))


def _check_names(activations: tuple[Activation, ...], where: str) -> None:
    for each in activations:
        same = [other.pool for other in activations if other.symbol == each.symbol]
        if len(same) > 1:
            what = f"pools {' and '.join(repr(pool) for pool in same)} would both be the buffer {each.symbol}"
            hint = "give the pools of the memory-pool file names that differ in letters, digits and _"
            raise NeuralArtError(what, where=where, hint=hint)


def _image(
    what: PatchList, image: ImageBuffer, camera: Camera, network: NetworkForPatching, budget: Budget
) -> PlacedImage:
    """Its bytes are as the C header computes them: two a pixel (RGB565) by the list, whatever the network takes."""
    width, height = network.width, network.height
    if image.of == "camera":
        width, height = camera.buffer_width, camera.buffer_height
    size = whole_lines(width * height * what.bytes_per_pixel)
    places = [(place, budget.script.place(f"{image.section}_{place}").name) for place in image.places]
    place = budget.choose(BufferUse(f"image buffer '{image.name}' ({width}x{height})", size), places)
    return PlacedImage(image.name, f"{image.section}_{place}", dict(places)[place], size, width, height)
