"""A software bill of materials in CycloneDX 1.6: equal parts give equal bytes, without a time or a random number."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuralart import __version__, jsontext, products
from neuralart.errors import NeuralArtError

FILE, LIBRARY, APPLICATION, FIRMWARE = "file", "library", "application", "firmware"
DATA, MODEL = "data", "machine-learning-model"
_PROPERTY = "neuralart:role"
# The serial number of a bill is this name space and the hash of what the bill says.
_SPACE = uuid.uuid5(uuid.NAMESPACE_URL, "pkg:pypi/scons-neuralart#sbom")


@dataclass(frozen=True)
class BillPart:
    """A component."""

    kind: str  # Its type in CycloneDX
    name: str  # For files the path: relative to the top folder, or the name alone if the file is outside
    role: str  # What it is here: ``model``, ``weights``, ``compiler``...
    sha256: str = ""  # Of a file; of several files as :func:`of_files` has it; empty: there is nothing to hash
    version: str = ""  # If it has one
    purl: str = ""  # Name and version of a package on PyPI, which scanners look up
    license: str = ""  # SPDX expression, or a name
    parts: tuple[BillPart, ...] = ()  # What it is made of


def sha256(path: Path) -> str:
    """Of a file, in pieces: a toolchain's compiler has tens of megabytes. NeuralArtError: It cannot be read, or is not
    what the build made.
    """
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise NeuralArtError(f"cannot read: {error.strerror or error}", where=str(path)) from error
    products.check(path, digest)
    return digest


def of_files(hashes: Mapping[str, str]) -> str:
    """The hash of several files: that of what ``sha256sum`` prints for them in the order of their names."""
    lines = (f"{digest}  {name}\n" for name, digest in sorted(hashes.items()))
    return hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def files(role: str, named: Iterable[tuple[str, Path]]) -> tuple[BillPart, ...]:
    """A part for each file, by name. NeuralArtError: A file cannot be read."""
    return tuple(BillPart(FILE, name, role, sha256(path)) for name, path in sorted(dict(named).items()))


def group(kind: str, name: str, role: str, parts: Sequence[BillPart], version: str = "") -> BillPart:
    """A part that is made of files."""
    return BillPart(kind, name, role, of_files({part.name: part.sha256 for part in parts}), version, parts=tuple(parts))


def text(subject: BillPart, parts: Sequence[BillPart]) -> str:
    """The bill of something that is made of some parts, as JSON. NeuralArtError: The library is not installed."""
    try:
        from cyclonedx.contrib.license.factories import LicenseFactory
        from cyclonedx.model import HashAlgorithm, HashType, Property
        from cyclonedx.model.bom import Bom
        from cyclonedx.model.component import Component, ComponentType
        from cyclonedx.output.json import JsonV1Dot6
        from packageurl import PackageURL
    except ImportError as error:
        what = f"a bill of materials needs the package cyclonedx-python-lib: {error}"
        raise NeuralArtError(what, hint="pip install 'scons-neuralart[sbom]'") from error

    def component(part: BillPart, above: str = "") -> Component:
        ref = f"{above}/{part.role}:{part.name}" + (f"@{part.version}" if part.version else "")
        return Component(
            name=part.name,
            type=ComponentType(part.kind),
            version=part.version or None,
            bom_ref=ref.removeprefix("/"),
            hashes=[HashType(alg=HashAlgorithm.SHA_256, content=part.sha256)] if part.sha256 else [],
            licenses=[LicenseFactory().make_from_string(part.license)] if part.license else [],
            purl=PackageURL("pypi", name=part.purl, version=part.version) if part.purl else None,
            components=[component(each, ref) for each in part.parts],
            properties=[Property(name=_PROPERTY, value=part.role)],
        )

    bom, root = Bom(), component(subject)
    bom.metadata.component = root
    maker = BillPart(APPLICATION, "scons-neuralart", "maker", version=__version__, purl="scons-neuralart")
    bom.metadata.tools.components.add(component(maker))
    components = [component(part) for part in parts]
    bom.components.update(components)
    bom.register_dependency(root, components)
    said: dict[str, Any] = jsontext.loads(JsonV1Dot6(bom).output_as_string())
    # The library puts in when it ran, and a random number.
    del said["metadata"]["timestamp"], said["serialNumber"]
    said["serialNumber"] = uuid.uuid5(_SPACE, json.dumps(said, sort_keys=True)).urn
    return json.dumps(said, indent=1, sort_keys=True) + "\n"
