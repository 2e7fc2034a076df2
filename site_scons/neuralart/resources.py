"""Where the data files of the package are, in a checkout and in an installed wheel alike."""

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
    """The folder to put on PYTHONPATH so that ``python -m neuralart`` finds this very package."""
    return PACKAGE.parent


def firmware_dir() -> Path:
    """The C sources (runtime, kernels, boards): package data in a wheel, beside site_scons in a checkout."""
    packed = PACKAGE / "data" / "firmware"
    return packed if packed.is_dir() else PACKAGE.parent.parent / "firmware"


def board_data_dir() -> Path:
    """Board descriptions, families of boards, stock memory pools and profiles."""
    return PACKAGE / "boards" / "data"


def templates(folder: Path, **more: Any) -> Environment:
    """The templates (Jinja) of a folder of the package: a name without a value is an error."""
    import jinja2

    loader = jinja2.FileSystemLoader(folder)
    rules = {"undefined": jinja2.StrictUndefined, **TEMPLATE_RULES, **more}
    return jinja2.Environment(loader=loader, **rules)  # nosec B701 - templates of HTML set autoescape


def stable_name(text: str) -> str:
    """A place (``file`` or ``file:line``) with the same text on every machine, where its file is one of ours."""
    head = str(PACKAGE)
    if text.startswith((f"{head}/", f"{head}\\")):
        return "neuralart:" + text[len(head) + 1 :].replace("\\", "/")
    if text.startswith(f"{head}_"):
        package, _, rest = text[len(str(PACKAGE.parent)) + 1 :].replace("\\", "/").partition("/")
        return f"{package}:{rest}"
    return text
