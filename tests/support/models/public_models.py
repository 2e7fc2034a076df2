"""Public models that were refused once, as tables of the documentation list them; NEURALART_REFUSED_MODELS names the
folder that has them as OWNER+REPOSITORY@COMMIT/PATH.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import pytest

from neuralart.compilers.request import CompileRequest
from neuralart_reference.compile import compile_network, write
from support.host_c import native

ROOT = Path(__file__).parents[3]
MPOOL = ROOT / "site_scons" / "neuralart" / "boards" / "data" / "pools" / "stm32n6570-dk.mpool"
FOLDER = Path(os.environ.get("NEURALART_REFUSED_MODELS") or "/nonexistent")
MARKS = [
    pytest.mark.long,
    pytest.mark.skipif(not FOLDER.is_dir(), reason="NEURALART_REFUSED_MODELS is not set"),
    pytest.mark.skipif(bool(native.unavailable()), reason=native.unavailable()),
]


class Case(NamedTuple):
    """A row of the table in the documentation."""

    repository: str
    commit: str
    path: str
    how: str

    @property
    def file(self) -> Path:
        return FOLDER / f"{self.repository.replace('/', '+')}@{self.commit}" / self.path

    def __str__(self) -> str:
        return f"{self.repository}-{Path(self.path).stem}"

    def need(self) -> Path:
        """The file, or the test is skipped."""
        if not self.file.is_file():
            pytest.skip(f"{self.file.name} is not there")
        return self.file


def cases(page: str) -> list[Case]:
    text = (ROOT / "docs" / "reference" / page).read_text("utf-8").partition("| repository | commit |")[2]
    rows = [line.strip("| ").split(" | ") for line in text.partition("\n\n")[0].splitlines()[2:]]
    return [Case(*row) for row in rows]


def compiled(path: Path, into: Path, mpool: Path = MPOOL, cut: tuple[str, ...] = ()) -> Path:
    write(compile_network(CompileRequest(model=path, mpool=mpool, name=into.name, report=False, cut=cut)), into)
    return into
