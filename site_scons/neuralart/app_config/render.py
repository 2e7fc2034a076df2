"""Templates: ours, and the user's own, which extends ours block by block."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuralart.app_config import ctext
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.resources import PACKAGE

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = PACKAGE / "app_config" / "templates"


@cache
def names() -> tuple[str, ...]:
    """Templates that a user's own one can extend."""
    return tuple(sorted(path.name for path in TEMPLATES.glob("*.j2")))


def _text(path: Path, shown: str) -> str:
    try:
        data = read_bytes(path)
    except NeuralArtError as error:
        raise NeuralArtError(error.what, where=shown) from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise NeuralArtError(
            f"byte 0x{data[error.start]:02x} is not UTF-8", where=f"{shown}:{line}", hint="save the file as UTF-8"
        ) from error


@cache
def _environment(user: str, source: str) -> Environment:
    import jinja2
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    def load(name: str) -> tuple[str, str, None] | None:
        if user and name == user:
            return source, user, None
        if name in names():
            return _text(TEMPLATES / name, name), f"neuralart:{name}", None
        return None

    environment = ImmutableSandboxedEnvironment(
        loader=jinja2.FunctionLoader(load),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters.update(cstring=ctext.cstring, cfloat=ctext.cfloat, cint=ctext.cint, ccomment=ctext.ccomment)
    return environment


def render(template: str, context: Mapping[str, object], user: Path | None = None, display: str = "") -> str:
    """Text of a header.

    Args:
        template: One of ours.
        context: What templates can name.
        user: The user's own template; it finds the name of ours as ``default_template``.
        display: Its name in messages; the path unless given.

    Returns:
        Text with LF line ends.

    Raises:
        NeuralArtError: A template is wrong; ``where`` is its file and line.
    """
    import jinja2

    shown = (display or user.as_posix()) if user is not None else ""
    environment = _environment(shown, _text(user, shown) if user is not None else "")
    entry = shown or template
    try:
        text = environment.get_template(entry).render({**context, "default_template": template})
    except jinja2.TemplateSyntaxError as error:
        name = error.filename or error.name or entry
        raise NeuralArtError(f"template: {error.message}", where=f"{name}:{error.lineno}") from error
    except jinja2.TemplateNotFound as error:
        hint = f"extend one of: default_template (here {template}), {', '.join(names())}"
        raise NeuralArtError(
            f"template: there is no '{error.name}'", where=_place(error, entry, environment), hint=hint
        ) from error
    except NeuralArtError as error:  # of a filter
        raise NeuralArtError(
            f"template: {error.what}", where=_place(error, entry, environment), hint=error.hint
        ) from error
    except RecursionError as error:
        raise NeuralArtError("template: it extends or includes itself", where=entry) from error
    except Exception as error:  # whatever an expression of the user's does: a division by zero, a wrong type
        said = str(error) or type(error).__name__
        raise NeuralArtError(f"template: {said}", where=_place(error, entry, environment)) from error
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    # An empty block leaves its blank lines behind.
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in lines)).rstrip("\n") + "\n"


def _place(error: BaseException, entry: str, environment: Environment) -> str:
    """Innermost line of a template in the traceback, which jinja2 writes in terms of templates."""
    known = {entry, *(f"neuralart:{name}" for name in names())}
    place = entry
    trace: Any = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if name in known:
            place = f"{name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place
