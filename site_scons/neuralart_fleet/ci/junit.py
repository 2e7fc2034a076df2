"""Results as JUnit XML, which CI services show: the one writer of such files."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from neuralart.errors import printable
from neuralart.files import read_bytes, write_bytes

MARK = b'<testsuites name="neuralart"'


@dataclass(frozen=True)
class CheckOutcome:
    """What became of one thing that was checked."""

    suite: str  # What it belongs to: a command and a variant
    name: str  # What was checked
    failures: Sequence[str] = ()  # What is wrong; empty: it is good
    skipped: str = ""  # Why it was not checked; empty: it was
    output: Sequence[str] = ()  # Lines that help to understand the failures


def _element(each: CheckOutcome) -> ElementTree.Element:
    case = ElementTree.Element("testcase", classname=printable(each.suite), name=printable(each.name))
    skipped = [each.skipped] * bool(each.skipped)
    for tag, texts in (("failure", each.failures), ("skipped", skipped), ("system-out", each.output)):
        # XML has no way to write most control characters.
        lines = [printable(line.expandtabs()) for text in texts for line in text.splitlines() or [text]]
        if lines:
            said = {} if tag == "system-out" else {"message": lines[0]}
            ElementTree.SubElement(case, tag, said).text = "\n".join(lines)
    return case


def write(path: Path, outcomes: Sequence[CheckOutcome], others: Iterable[Path] = ()) -> None:
    """Write a report without times. ``others``: earlier reports, which come first. NeuralArtError: not writable."""
    top = ElementTree.Element("testsuites", name="neuralart")
    for other in others:
        top.extend(ElementTree.fromstring(read_bytes(other)))  # nosec B314 - our own commands wrote it
    for name, group in itertools.groupby(outcomes, lambda each: each.suite):
        ElementTree.SubElement(top, "testsuite", name=printable(name)).extend(map(_element, group))
    for each in (*top, top):
        for key, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            each.set(key, str(len(each.findall(f".//{tag}"))))
    ElementTree.indent(top)
    write_bytes(path, ElementTree.tostring(top, "utf-8", xml_declaration=True) + b"\n")
