"""Finding and reading what the generator wrote."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.patching import family, numbering
from neuralart.patching.inputs import NetworkForPatching, network_for_patching, read_c_info
from neuralart.text.c_source import Source

HEADERS = ("{}_data_params.h", "{}_data.h", "{}_config.h", "{}.h")


@dataclass(frozen=True)
class NetworkFiles:
    """Where they are.

    Attributes:
        c_info: ``network_c_info.json``.
        headers: Folder of the headers.
        sources: Folder of ``network.c``; need not hold it.
    """

    c_info: Path
    headers: Path
    sources: Path

    @classmethod
    def in_folder(cls, folder: Path, name: str) -> NetworkFiles:
        """All in one folder, as the generator writes them; or in ``Inc`` and ``Src`` within it."""
        headers = folder / "Inc" if not _any_header(folder, name) and _any_header(folder / "Inc", name) else folder
        sources = folder / "Src" if not (folder / f"{name}.c").is_file() else folder
        return cls(folder / f"{name}_c_info.json", headers, sources)

    def all(self, name: str) -> tuple[Path, ...]:
        """Files that are read if they are there: what a patch depends on."""
        return (self.c_info, *(self.headers / each.format(name) for each in HEADERS), self.sources / f"{name}.c")


def _any_header(folder: Path, name: str) -> bool:
    return any((folder / each.format(name)).is_file() for each in HEADERS)


def read(files: NetworkFiles, name: str) -> NetworkForPatching:
    """Read a network.

    Args:
        files: Where it is.
        name: The C name that the application expects.

    Raises:
        NeuralArtError: Something is missing or wrong, or it is a network that no application is patched for.
    """
    if not files.c_info.is_file():
        others = sorted(path.name for path in files.c_info.parent.glob("*_c_info.json"))
        hint = f"there is {', '.join(others)}: the application wants --name {name}" if others else "generate writes it"
        raise NeuralArtError("no such file", where=str(files.c_info), hint=hint)
    info = read_c_info(read_bytes(files.c_info), str(files.c_info))
    family.check_network(info)
    headers = [
        Source(str(path), read_bytes(path))
        for path in (files.headers / each.format(name) for each in HEADERS)
        if path.is_file()
    ]
    said = numbering.read_headers(headers, name)
    if said is None:
        raise family.legacy_missing(info, headers, str(files.headers), name)
    generated = files.sources / f"{name}.c"
    network_c = Source(str(generated), read_bytes(generated)) if generated.is_file() else None
    network = network_for_patching(info, name, numbering.numbers(info, said, network_c))
    shape = (network.height, network.width, network.channels)
    if said.input and said.input != shape:
        raise NeuralArtError(
            f"the input is {_picture(shape)} by {info.file}, and {_picture(said.input)} by the generated header",
            where=str(files.headers),
            hint="files of different compiles? take all from one",
        )
    return network


def _picture(shape: tuple[int, ...]) -> str:
    height, width, channels = shape
    return f"{width}x{height}, {channels} channel{'s' if channels > 1 else ''}"
