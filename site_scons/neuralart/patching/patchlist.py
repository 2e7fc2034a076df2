"""Patch lists: what of an application is patched, and with what. All of it is data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from neuralart.errors import NeuralArtError, nearest
from neuralart.patching.blocks import Markers
from neuralart.patching.camera import Resolution
from neuralart.resources import PACKAGE, stable_name
from neuralart.text.values import Value
from neuralart.text.yaml_values import check_schema
from neuralart.text.yaml_values import read as read_yaml

SCHEMA = 1
DATA = PACKAGE / "patching" / "data"
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_SECTION = re.compile(r"\.[A-Za-z0-9_.]+")
_TEMPLATED = re.compile(r"\.?[A-Za-z0-9_.]*\{pool\}[A-Za-z0-9_.]*")
BLOCK, MACRO, SECTION = "block", "macro", "section"


@dataclass(frozen=True)
class Operation:
    """One thing to change in a file."""

    kind: str  # ``block``, ``macro`` or ``section``
    name: str  # of the macro; the part of the section's name that stays; empty for the block
    template: str  # what to put there
    where: str  # line of the patch list
    optional: bool = False  # a macro that the application need not have

    @property
    def key(self) -> str:
        """Its name in records: ``macro CAM_RES_WIDTH``."""
        return f"{self.kind} {self.name}".strip()


@dataclass(frozen=True)
class FilePatch:
    """A file, relative to the list's root, and what to change in it."""

    path: str
    operations: tuple[Operation, ...]


@dataclass(frozen=True)
class ImageBuffer:
    """An image buffer of the application."""

    name: str  # in templates
    of: str  # ``camera`` or ``network``: whose pixels it holds
    section: str  # its section's name less ``_<place>``
    places: tuple[str, ...]  # where it may be, the best first


@dataclass(frozen=True)
class PatchList:
    """A patch list."""

    name: str  # of its file
    title: str  # for people
    target: str  # whose networks it is for, ``stm32h7``
    root: str  # folder of the application that all paths start from; the application's own folder may be given, too
    linker_script: str  # path
    memory_pools: str  # memory-pool file beside ``root``, which limits budgets if it is there; empty if there is none
    reserve: Mapping[str, int]  # memory -> bytes
    network: str  # C name the application expects
    markers: Markers  # round the blocks
    bytes_per_pixel: int  # of image buffers
    resolutions: tuple[Resolution, ...]  # of the camera, smallest first
    activation_section: str  # name of the section of an activation buffer, with ``{pool}``
    activation_symbol: str  # its C name, with ``{pool}``
    pool_names: Mapping[str, str]  # name of a pool -> what to call it instead
    images: tuple[ImageBuffer, ...]  # in the order in which they get room
    files: tuple[FilePatch, ...]  # to be patched

    @property
    def folders(self) -> tuple[str, ...]:
        """Folders that hold a patched file; none lies in another of them."""
        found = sorted({str(PurePosixPath(each.path).parent) for each in self.files})
        return tuple(f for f in found if not any(PurePosixPath(g) in PurePosixPath(f).parents for g in found))


def names() -> tuple[str, ...]:
    """Patch lists that come with the package."""
    return tuple(sorted(path.stem for path in DATA.glob("*.yaml")))


def load(name: str) -> PatchList:
    """A patch list by name, or from a file (a name with a slash or ending in ``.yaml``).

    Raises:
        NeuralArtError: There is none, or it is wrong.
    """
    if name.endswith((".yaml", ".yml")) or "/" in name or "\\" in name:
        return read(Path(name))
    if name not in names():
        raise NeuralArtError(f"no patch list '{name}'", hint=nearest(name, names()))
    return read(DATA / f"{name}.yaml")


def _required(fields: Mapping[str, Value], top: Value, *keys: str) -> None:
    for key in keys:
        if key not in fields:
            raise top.error(f"'{key}' is missing")


def _path(value: Value, *, dot: bool = False) -> str:
    text = value.text()
    path = PurePosixPath(text)
    if "\\" in text or path.is_absolute() or ".." in path.parts or ":" in text or (not path.parts and not dot):
        raise value.error(f"'{text}' must be a path within the application, with /")
    return path.as_posix()


def read(path: Path) -> PatchList:
    """Read a patch list; NeuralArtError: it is wrong; ``where`` is ``file:line``."""
    top = read_yaml(path, stable_name(str(path)))
    check_schema(top, SCHEMA)
    keys = ("schema", "title", "target", "root", "linker_script", "memory_pools", "reserve", "network", "marker",
            "camera", "activations", "images", "files")  # fmt: skip
    fields = top.fields(keys)
    _required(fields, top, "title", "target", "linker_script", "marker", "camera", "activations", "files")
    marker = fields["marker"].fields(("start", "stop"))
    _required(marker, fields["marker"], "start", "stop")
    camera = fields["camera"].fields(("bytes_per_pixel", "resolutions"))
    _required(camera, fields["camera"], "resolutions")
    activations = fields["activations"].fields(("section", "symbol", "pools"))
    _required(activations, fields["activations"], "section", "symbol")
    pools = activations["pools"].mapping() if "pools" in activations else {}
    resolutions = tuple(_resolution(item) for item in camera["resolutions"].items())
    if not resolutions:
        raise camera["resolutions"].error("a camera without resolutions")
    if list(resolutions) != sorted(resolutions, key=lambda each: each.width * each.height):
        raise camera["resolutions"].error("must stand in order of size, the smallest first")
    files = tuple(_file(item) for item in fields["files"].items())
    if not files:
        raise fields["files"].error("no file")
    return PatchList(
        name=path.stem,
        title=fields["title"].text(),
        target=fields["target"].text(),
        root=_path(fields["root"], dot=True) if "root" in fields else ".",
        linker_script=_path(fields["linker_script"]),
        memory_pools=_path(fields["memory_pools"]) if "memory_pools" in fields else "",
        reserve={k: v.integer() for k, v in fields["reserve"].mapping().items()} if "reserve" in fields else {},
        network=fields["network"].matching(_NAME, "a C name") if "network" in fields else "network",
        markers=_markers(marker["start"], marker["stop"]),
        bytes_per_pixel=camera["bytes_per_pixel"].integer(1, 4) if "bytes_per_pixel" in camera else 2,
        resolutions=resolutions,
        activation_section=activations["section"].matching(_TEMPLATED, "a section's name with {pool}"),
        activation_symbol=activations["symbol"].matching(_TEMPLATED, "a C name with {pool}"),
        pool_names={key: value.matching(_NAME, "a C name") for key, value in pools.items()},
        images=tuple(_image(item) for item in fields["images"].items()) if "images" in fields else (),
        files=_distinct(files, fields["files"]),
    )


def _markers(start: Value, stop: Value) -> Markers:
    for value in (start, stop):
        if not value.text().strip().startswith(("/*", "//")):
            raise value.error("a marker must be a comment")
    if start.text() == stop.text():
        raise stop.error("both markers are the same")
    return Markers(start.text(), stop.text())


def _resolution(item: Value) -> Resolution:
    keys = ("constant", "width", "height", "width_symbol", "height_symbol")
    fields = item.fields(keys)
    _required(fields, item, *keys)
    made = Resolution(
        fields["constant"].matching(_NAME, "a C name"),
        fields["width"].integer(1, 1 << 14),
        fields["height"].integer(1, 1 << 14),
        fields["width_symbol"].matching(_NAME, "a C name"),
        fields["height_symbol"].matching(_NAME, "a C name"),
    )
    if made.height > made.width:
        raise item.error(f"{made.width}x{made.height}: higher than wide")
    return made


def _image(item: Value) -> ImageBuffer:
    fields = item.fields(("name", "of", "section", "places"))
    _required(fields, item, "name", "of", "section", "places")
    places = tuple(each.matching(_NAME, "a C name") for each in fields["places"].items())
    if not places:
        raise fields["places"].error("no place")
    return ImageBuffer(
        fields["name"].matching(_NAME, "a C name"),
        fields["of"].choice(("camera", "network")),
        fields["section"].matching(_SECTION, "the name of a section"),
        places,
    )


def _file(item: Value) -> FilePatch:
    fields = item.fields(("path", "operations"))
    _required(fields, item, "path", "operations")
    operations = tuple(_operation(each) for each in fields["operations"].items())
    seen: set[str] = set()
    for operation in operations:
        if operation.key in seen:
            raise NeuralArtError(f"'{operation.key}' a second time for {fields['path'].text()}", where=operation.where)
        seen.add(operation.key)
    if not operations:
        raise fields["operations"].error("nothing to do for this file")
    return FilePatch(_path(fields["path"]), operations)


def _operation(item: Value) -> Operation:
    fields = item.fields((BLOCK, MACRO, SECTION, "value", "optional"))
    kinds = [kind for kind in (BLOCK, MACRO, SECTION) if kind in fields]
    if len(kinds) != 1:
        raise item.error("an operation is one of block, macro, section")
    kind, where = kinds[0], str(item.where)
    if kind == BLOCK:
        for key in ("value", "optional"):
            if key in fields:
                raise fields[key].error("means nothing for a block")
        lines = [line.text(empty=True) for line in fields[BLOCK].items()]
        return Operation(BLOCK, "", "".join(f"{line}\n" for line in lines), where)
    _required(fields, item, "value")
    if kind == SECTION and "optional" in fields:
        raise fields["optional"].error("means nothing for a section")
    pattern, words = (_NAME, "a C name") if kind == MACRO else (_SECTION, "the name of a section")
    optional = fields["optional"].boolean() if "optional" in fields else False
    return Operation(kind, fields[kind].matching(pattern, words), fields["value"].text(), where, optional)


def _distinct(files: tuple[FilePatch, ...], value: Value) -> tuple[FilePatch, ...]:
    paths = [each.path for each in files]
    for path in paths:
        if paths.count(path) > 1:
            raise value.error(f"'{path}' stands there twice")
    return files
