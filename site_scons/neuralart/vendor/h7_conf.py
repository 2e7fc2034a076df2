"""Reader of the project description of STM32H7 applications (``stmaic_<board>.conf``): JSON with comments.

It names the pool file, the flash that is left for weights, and how the application is built and flashed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from neuralart.files import read_bytes
from neuralart.text.json_values import JsonValue, parse_tolerant
from neuralart.text.sizes import amount

VERSION = "0.1"
_MEMORY = ("internalFlash_size", "externalFlash_size", "application_size", "lib_size")
_TOP = {"board", "builder", "configurations", "description", "env", "memory_pool", "series", "templates", "version"}


@dataclass(frozen=True)
class CpuProject:
    """The file."""

    file: str  # Its name as shown to the user
    version: str  # Of its format
    description: str  # For people
    series: str  # ``stm32h7``
    boards: tuple[str, ...]  # Their names
    builder: str  # ``stm32_cube_ide``...
    variables: dict[str, str]  # Name -> text with ``${name}`` as written
    # (from, to, how) of generated files; ``from`` is empty for a file of the same name
    copies: tuple[tuple[str, ...], ...]
    # ``internalFlash_size``, ``externalFlash_size``, ``application_size``, ``lib_size`` in bytes, if given
    sizes: dict[str, int]
    pool_file: str  # As written; empty if none
    configurations: tuple[str, ...]  # Name of each build
    notes: tuple[str, ...] = ()  # ``line:column: what`` was not understood


def _texts(value: JsonValue | None) -> tuple[str, ...]:
    """A list of texts, or one text."""
    if value is None:
        return ()
    if type(value.value) is str:
        return (value.string(),)
    return tuple(entry.string() for entry in value.items())


def parse_cpu_project(data: bytes, file: str) -> CpuProject:
    """Read the content of such a file.

    Args:
        data: The file's bytes.
        file: Its name for messages.

    Raises:
        NeuralArtError: It is none, or a value is wrong; ``where`` is ``file:line:column``.
    """
    document, marks = parse_tolerant(data, file, relaxed=True)
    version = document.string_at("version")
    if document.get("configurations") is None and document.get("memory_pool") is None:
        document.fail("neither 'configurations' nor 'memory_pool' is there")
    notes = [note for note in marks if "trailing comma" not in note] + document.unknown(_TOP)
    if version != VERSION:
        notes.append(document.note(f"version '{version}', {VERSION} is known"))
    memory, variables = document.get("memory_pool"), document.get("env")
    sizes = memory.mapping() if memory else {}
    return CpuProject(
        file=file,
        version=version,
        description=document.string_at("description"),
        series=document.string_at("series"),
        boards=_texts(document.get("board")),
        builder=document.string_at("builder"),
        variables={name: value.string() for name, value in variables.mapping().items()} if variables else {},
        copies=tuple(_texts(value) for value in document.items_at("templates")),
        sizes={key: amount(sizes[key].called(key)) for key in _MEMORY if key in sizes},
        pool_file=memory.string_at("memory_pool_path") if memory else "",
        configurations=tuple(value.string_at("name") for value in document.items_at("configurations")),
        notes=tuple(notes),
    )


def read(path: Path, display: str = "") -> CpuProject:
    """Read such a file.

    Raises:
        NeuralArtError: It cannot be read, or as :func:`parse_cpu_project`.
    """
    return parse_cpu_project(read_bytes(path), display or str(path))
