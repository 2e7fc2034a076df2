"""Reader of the project description of STM32H7 applications (``stmaic_<board>.conf``): JSON with comments.

It names the pool file, the flash that is left for weights, and how the application is built and flashed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.network.jsonpos import Node, parse_tolerant
from neuralart.vendor.h7_pools import amount

VERSION = "0.1"
_MEMORY = ("internalFlash_size", "externalFlash_size", "application_size", "lib_size")
_TOP = {"board", "builder", "configurations", "description", "env", "memory_pool", "series", "templates", "version"}


@dataclass(frozen=True)
class CpuProject:
    """The file.

    Attributes:
        file: Its name as shown to the user.
        version: Of its format.
        description: For people.
        series: ``stm32h7``.
        boards: Their names.
        builder: ``stm32_cube_ide``...
        variables: Name -> text with ``${name}`` as written.
        copies: (from, to, how) of generated files; ``from`` is empty for a file of the same name.
        sizes: ``internalFlash_size``, ``externalFlash_size``, ``application_size``, ``lib_size`` in bytes, if given.
        pool_file: As written; empty if none.
        configurations: Name of each build.
        notes: ``line:column: what`` was not understood.
    """

    file: str
    version: str
    description: str
    series: str
    boards: tuple[str, ...]
    builder: str
    variables: dict[str, str]
    copies: tuple[tuple[str, ...], ...]
    sizes: dict[str, int]
    pool_file: str
    configurations: tuple[str, ...]
    notes: tuple[str, ...] = ()


def _need(node: Node, kind: type, what: str) -> None:
    if not isinstance(node.value, kind):
        wanted = "a text" if kind is str else "a list [ ]" if kind is list else "an object { }"
        raise NeuralArtError(f"{what} must be {wanted}, not {node.kind}", where=node.where)


def _text(members: dict[str, Node], key: str) -> str:
    node = members.get(key)
    if node is None:
        return ""
    _need(node, str, key)
    return str(node.value)


def _texts(node: Node | None, what: str) -> tuple[str, ...]:
    """A list of texts, or one text."""
    if node is None:
        return ()
    if isinstance(node.value, str):
        return (node.value,)
    _need(node, list, what)
    for entry in node.value:
        _need(entry, str, f"an entry of {what}")
    return tuple(entry.value for entry in node.value)


def _object(members: dict[str, Node], key: str) -> dict[str, Node]:
    node = members.get(key)
    if node is None:
        return {}
    _need(node, dict, key)
    found: dict[str, Node] = node.value
    return found


def _list(members: dict[str, Node], key: str) -> list[Node]:
    node = members.get(key)
    if node is None:
        return []
    _need(node, list, key)
    found: list[Node] = node.value
    return found


def parse_cpu_project(data: bytes, file: str) -> CpuProject:
    """Read the content of such a file.

    Args:
        data: The file's bytes.
        file: Its name for messages.

    Raises:
        NeuralArtError: It is none, or a value is wrong; ``where`` is ``file:line:column``.
    """
    document, marks = parse_tolerant(data, file, relaxed=True)
    _need(document, dict, "the document")
    top: dict[str, Node] = document.value
    version = _text(top, "version")
    if "configurations" not in top and "memory_pool" not in top:
        raise NeuralArtError("neither 'configurations' nor 'memory_pool' is there", where=document.where)
    notes = [note for note in marks if "trailing comma" not in note]
    notes += [f"{node.line}:{node.column}: unknown key '{key}'" for key, node in top.items() if key not in _TOP]
    if version != VERSION:
        notes.append(f"{document.line}:{document.column}: version '{version}', {VERSION} is known")
    memory = _object(top, "memory_pool")
    variables = _object(top, "env")
    for node in variables.values():
        _need(node, str, "a variable of env")
    configurations = []
    for node in _list(top, "configurations"):
        _need(node, dict, "an entry of configurations")
        configurations.append(_text(node.value, "name"))
    return CpuProject(
        file=file,
        version=version,
        description=_text(top, "description"),
        series=_text(top, "series"),
        boards=_texts(top.get("board"), "board"),
        builder=_text(top, "builder"),
        variables={name: node.value for name, node in variables.items()},
        copies=tuple(_texts(node, "an entry of templates") for node in _list(top, "templates")),
        sizes={key: amount(memory[key], key) for key in _MEMORY if key in memory},
        pool_file=_text(memory, "memory_pool_path"),
        configurations=tuple(configurations),
        notes=tuple(notes),
    )


def read(path: Path, display: str = "") -> CpuProject:
    """Read such a file.

    Raises:
        NeuralArtError: It cannot be read, or as :func:`parse_cpu_project`.
    """
    return parse_cpu_project(read_bytes(path), display or str(path))
