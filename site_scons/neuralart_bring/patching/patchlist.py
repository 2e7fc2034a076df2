"""Patch lists: what of an application is patched, and with what. All of it is data."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from neuralart.errors import NeuralArtError, nearest
from neuralart.files import searched
from neuralart.resources import stable_name
from neuralart.text.values import Value
from neuralart.text.yaml_values import check_schema
from neuralart.text.yaml_values import read as read_yaml
from neuralart_bring.patching.edit_sites import Markers

SCHEMA = 1
DATA = Path(__file__).parent / "data"
BLOCK, MACRO, SECTION = "block", "macro", "section"
_NAME, _A_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII), "a C name"
_SECTION, _A_SECTION = re.compile(r"\.[A-Za-z0-9_.]+"), "the name of a section"
_TEMPLATED = re.compile(r"\.?[A-Za-z0-9_.]*\{pool\}[A-Za-z0-9_.]*")
_N6 = re.compile(r"stm32n6", re.IGNORECASE)
_DEEP, _MANY = 4, 4000  # folders, names that are looked at


@dataclass(frozen=True)
class Resolution:
    constant: str  # what the driver calls it, ``CAMERA_R320x240``
    width: int  # pixels
    height: int  # pixels
    width_symbol: str  # macro of the application for the width
    height_symbol: str  # macro of the application for the height


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
    name: str  # in templates
    of: str  # ``camera`` or ``network``: whose pixels it holds
    section: str  # its section's name less ``_<place>``
    places: tuple[str, ...]  # where it may be, the best first


@dataclass(frozen=True)
class PatchList:
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


# Which list an application has ---------------------------------------------------------------------------------------


def names() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in DATA.glob("*.yaml")))


def load(name: str) -> PatchList:
    """A patch list by name, or a file (its name has a slash or ends in ``.yaml``). NeuralArtError: none, or wrong."""
    if name.endswith((".yaml", ".yml")) or "/" in name or "\\" in name:
        return read(Path(name))
    if name not in names():
        raise NeuralArtError(f"no patch list '{name}'", hint=nearest(name, names()))
    return read(DATA / f"{name}.yaml")


def find_root(application: Path, patches: PatchList) -> Path | None:
    """Folder that the list's paths start from; None if files of the list are missing in both places."""
    for root in (application / patches.root, application):
        if all((root / each.path).is_file() for each in patches.files):
            return root
    return None


def choose_list(application: Path, name: str = "") -> PatchList:
    """The list that is named, else that whose files the application has. NeuralArtError: none, or it is for STM32N6."""
    if not application.is_dir():
        raise NeuralArtError("no such folder", where=str(application))
    candidates = [load(name)] if name else [load(each) for each in names()]
    fitting = [each for each in candidates if find_root(application, each) is not None]
    if len(fitting) == 1:
        check_target(fitting[0].target, str(application))
        return fitting[0]
    if fitting:
        listed = ", ".join(each.name for each in fitting)
        raise NeuralArtError(f"several patch lists fit: {listed}", where=str(application), hint="name one: --list NAME")
    seen = looks_like_n6(application)
    if seen:
        raise refuse_n6(str(application), f"it has {seen}")
    missing = []
    for each in candidates:
        lacks = (f.path for f in each.files if not (application / each.root / f.path).is_file())
        missing.append(f"{each.name} wants {', '.join(lacks)} in {each.root}")
    what = f"no patch list fits this application: {'; '.join(missing)}"
    hint = "give the folder of the application, or a patch list of your own: --list FILE.yaml"
    raise NeuralArtError(what, where=str(application), hint=hint)


def refuse_n6(where: str, seen: str) -> NeuralArtError:
    """Why an STM32N6 application or network is not patched; ``seen``: by what it was recognized."""
    what = f"{seen}: an STM32N6 application is not patched: its compiler places activations at fixed addresses, "
    what += "and it reads sizes in headers of the network"
    hint = "set the memory-pool file of the network instead, and let neuralart write app_config.h and network_io.h "
    return NeuralArtError(what, where=where, hint=f"{hint}for the application")


def check_target(target: str, where: str = "") -> None:
    """Refuse the target of a board that needs no patching; NeuralArtError: it is an STM32N6."""
    if _N6.match(target):
        raise refuse_n6(where, f"target {target}")


def looks_like_n6(folder: Path) -> str:
    """Name of a file or folder that only an STM32N6 application has, empty if none is near the top."""
    seen = 0
    for root, folders, files in os.walk(searched(folder, deep=True)):
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


# Reading -------------------------------------------------------------------------------------------------------------


def _fields(value: Value, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, Value]:
    fields = value.fields((*required, *optional))
    for key in required:
        if key not in fields:
            raise value.error(f"'{key}' is missing")
    return fields


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
    needed = ("title", "target", "linker_script", "marker", "camera", "activations", "files")
    fields = _fields(top, needed, ("schema", "root", "memory_pools", "reserve", "network", "images"))
    marker = _fields(fields["marker"], ("start", "stop"))
    camera = _fields(fields["camera"], ("resolutions",), ("bytes_per_pixel",))
    activations = _fields(fields["activations"], ("section", "symbol"), ("pools",))
    pools = activations["pools"].mapping() if "pools" in activations else {}
    resolutions = tuple(_resolution(item) for item in camera["resolutions"].items())
    if not resolutions:
        raise camera["resolutions"].error("a camera without resolutions")
    if list(resolutions) != sorted(resolutions, key=lambda each: each.width * each.height):
        raise camera["resolutions"].error("must stand in order of size, the smallest first")
    files = tuple(_file(item) for item in fields["files"].items())
    if not files:
        raise fields["files"].error("no file")
    paths = [each.path for each in files]
    for each in paths:
        if paths.count(each) > 1:
            raise fields["files"].error(f"'{each}' stands there twice")
    return PatchList(
        name=path.stem,
        title=fields["title"].text(),
        target=fields["target"].text(),
        root=_path(fields["root"], dot=True) if "root" in fields else ".",
        linker_script=_path(fields["linker_script"]),
        memory_pools=_path(fields["memory_pools"]) if "memory_pools" in fields else "",
        reserve={k: v.integer() for k, v in fields["reserve"].mapping().items()} if "reserve" in fields else {},
        network=fields["network"].matching(_NAME, _A_NAME) if "network" in fields else "network",
        markers=_markers(marker["start"], marker["stop"]),
        bytes_per_pixel=camera["bytes_per_pixel"].integer(1, 4) if "bytes_per_pixel" in camera else 2,
        resolutions=resolutions,
        activation_section=activations["section"].matching(_TEMPLATED, "a section's name with {pool}"),
        activation_symbol=activations["symbol"].matching(_TEMPLATED, "a C name with {pool}"),
        pool_names={key: value.matching(_NAME, _A_NAME) for key, value in pools.items()},
        images=tuple(_image(item) for item in fields["images"].items()) if "images" in fields else (),
        files=files,
    )


def _markers(start: Value, stop: Value) -> Markers:
    for value in (start, stop):
        if not value.text().strip().startswith(("/*", "//")):
            raise value.error("a marker must be a comment")
    if start.text() == stop.text():
        raise stop.error("both markers are the same")
    return Markers(start.text(), stop.text())


def _resolution(item: Value) -> Resolution:
    fields = _fields(item, ("constant", "width", "height", "width_symbol", "height_symbol"))
    width, height = (fields[key].integer(1, 1 << 14) for key in ("width", "height"))
    names = [fields[key].matching(_NAME, _A_NAME) for key in ("constant", "width_symbol", "height_symbol")]
    made = Resolution(names[0], width, height, names[1], names[2])
    if made.height > made.width:
        raise item.error(f"{made.width}x{made.height}: higher than wide")
    return made


def _image(item: Value) -> ImageBuffer:
    fields = _fields(item, ("name", "of", "section", "places"))
    places = tuple(each.matching(_NAME, _A_NAME) for each in fields["places"].items())
    if not places:
        raise fields["places"].error("no place")
    name, of = fields["name"].matching(_NAME, _A_NAME), fields["of"].choice(("camera", "network"))
    return ImageBuffer(name, of, fields["section"].matching(_SECTION, _A_SECTION), places)


def _file(item: Value) -> FilePatch:
    fields = _fields(item, ("path", "operations"))
    operations: dict[str, Operation] = {}
    for operation in map(_operation, fields["operations"].items()):
        if operation.key in operations:
            raise NeuralArtError(f"'{operation.key}' a second time for {fields['path'].text()}", where=operation.where)
        operations[operation.key] = operation
    if not operations:
        raise fields["operations"].error("nothing to do for this file")
    return FilePatch(_path(fields["path"]), tuple(operations.values()))


def _operation(item: Value) -> Operation:
    fields = item.fields((BLOCK, MACRO, SECTION, "value", "optional"))
    kinds = [kind for kind in (BLOCK, MACRO, SECTION) if kind in fields]
    if len(kinds) != 1:
        raise item.error("an operation is one of block, macro, section")
    kind, where = kinds[0], str(item.where)
    for key in {BLOCK: ("value", "optional"), SECTION: ("optional",)}.get(kind, ()):
        if key in fields:
            raise fields[key].error(f"means nothing for a {kind}")
    if kind == BLOCK:
        lines = [line.text(empty=True) for line in fields[BLOCK].items()]
        return Operation(BLOCK, "", "".join(f"{line}\n" for line in lines), where)
    if "value" not in fields:
        raise item.error("'value' is missing")
    name = fields[kind].matching(*((_NAME, _A_NAME) if kind == MACRO else (_SECTION, _A_SECTION)))
    return Operation(kind, name, fields["value"].text(), where, "optional" in fields and fields["optional"].boolean())
