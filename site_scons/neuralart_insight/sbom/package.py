"""``neuralart sbom``: what this package consists of on this machine: its own files, and the packages it runs with."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart import __version__, outputs
from neuralart.plugins.origins import own_files
from neuralart_insight.sbom import bill
from neuralart_insight.sbom.bill import BillPart

if TYPE_CHECKING:
    from importlib.metadata import Distribution

NAME, LICENSE = "scons-neuralart", "Apache-2.0"
# What an installation writes by itself: other bytes on each machine.
_OWN = ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json")


def _contents(found: Distribution) -> str:
    """The hash of what a distribution installed, but for what differs between machines."""
    hashes = {}
    for entry in found.files or ():
        path = Path(str(found.locate_file(entry)))
        if ".." not in entry.parts and entry.name not in _OWN and "__pycache__" not in entry.parts and path.is_file():
            hashes[entry.as_posix()] = bill.sha256(path)
    return bill.of_files(hashes) if hashes else ""


def requirements() -> tuple[BillPart, ...]:
    """The packages that are needed and installed, with those that they need in turn."""
    from importlib import metadata

    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    from neuralart_insight.doctor.python_environment import EXTRAS, PACKAGES

    parts: dict[str, BillPart] = {}
    todo = [*PACKAGES, *EXTRAS, "cyclonedx-python-lib"]
    while todo:
        name = todo.pop()
        try:
            found = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # an extra that was not asked for
        key = canonicalize_name(name)
        if key not in parts:
            fields = found.metadata.json
            terms = str(fields.get("license_expression") or fields.get("license") or "")
            if "\n" in terms or len(terms) >= 80:
                terms = ""  # Some put the whole text there.
            digest = _contents(found)
            parts[key] = BillPart(bill.LIBRARY, key, "dependency", digest, found.version, key, terms)
            needed = [Requirement(text) for text in found.requires or ()]
            todo += [each.name for each in needed if each.marker is None or each.marker.evaluate({"extra": ""})]
    return tuple(parts[key] for key in sorted(parts))


def text() -> str:
    """The bill of the package. NeuralArtError: The library is not installed."""
    own = bill.files("file", own_files())
    digest = bill.of_files({part.name: part.sha256 for part in own})
    subject = BillPart(bill.LIBRARY, NAME, "package", digest, __version__, purl=NAME, license=LICENSE, parts=own)
    return bill.text(subject, requirements())


def _is_bill(data: bytes) -> bool:
    return b'"bomFormat": "CycloneDX"' in data and f'"name": "{NAME}"'.encode() in data


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    outputs.add(parser, "--output", mine=_is_bill, help="write it to a file (default: print it)")


def run(args: argparse.Namespace) -> int:
    """Print or write the bill. NeuralArtError: The library is not installed, or the file cannot be written."""
    from neuralart.files import write_text

    if args.output is not None:
        write_text(args.output, text())
    else:
        print(text(), end="")
    return 0
