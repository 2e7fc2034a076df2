"""Finds the data files of the package, in a checkout and in an installed wheel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

PACKAGE = Path(__file__).resolve().parent
IMPORTED = Path(__file__).parent
"""The same as Python names it in frames of its stack: a folder above it may be a link."""
# How templates are read (Jinja): a line with nothing but a tag leaves nothing.
TEMPLATE_RULES: dict[str, Any] = {"trim_blocks": True, "lstrip_blocks": True, "keep_trailing_newline": True}


def package_parent() -> Path:
    """The folder for PYTHONPATH with which ``python -m neuralart`` finds this package."""
    return PACKAGE.parent


def firmware_dir() -> Path:
    """The folder of the C sources (runtime, kernels, boards): in a wheel, or beside site_scons in a checkout."""
    packed = PACKAGE / "data" / "firmware"
    return packed if packed.is_dir() else PACKAGE.parent.parent / "firmware"


def board_data_dir() -> Path:
    """The folder of board files, families, stock memory pools and profiles."""
    return PACKAGE / "boards" / "data"


def templates(folder: Path, **more: Any) -> Environment:
    """Load the Jinja templates of a folder of the package; a name without a value is an error."""
    import jinja2

    loader = jinja2.FileSystemLoader(folder)
    rules = {"undefined": jinja2.StrictUndefined, **TEMPLATE_RULES, **more}
    return jinja2.Environment(loader=loader, **rules)  # nosec B701 - templates of HTML set autoescape


def stable_name(text: str) -> str:
    """Shorten a place (``file`` or ``file:line``) in a file of the package, so that it is the same on every machine."""
    head = str(PACKAGE)
    if text.startswith((f"{head}/", f"{head}\\")):
        return "neuralart:" + text[len(head) + 1 :].replace("\\", "/")
    if text.startswith(f"{head}_"):
        package, _, rest = text[len(str(PACKAGE.parent)) + 1 :].replace("\\", "/").partition("/")
        return f"{package}:{rest}"
    return text
