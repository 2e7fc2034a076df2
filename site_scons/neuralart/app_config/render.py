"""Fills in templates, ours and those of users, which extend ours; writes values as C."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.resources import PACKAGE, TEMPLATE_RULES
from neuralart.text.c_values import string

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = PACKAGE / "app_config" / "templates"
_SMALLEST = 2.0**-126  # of the normal float32; smaller ones are flushed to zero on some cores
_FIRST_PLAIN, _LAST_PLAIN = -5, 8  # exponents of numbers that are written without one


def ccomment(text: str) -> str:
    """Change a text so that it cannot end a C comment."""
    shown = "".join(char if " " <= char <= "~" else "?" for char in str(text))
    return shown.replace("*/", "* /").replace("/*", "/ *").replace("??/", "? ?/")


def cint(value: int) -> str:
    """Write a whole number as C, in parentheses. NeuralArtError: it does not fit into 32 bits."""
    number = int(value)
    if not -(1 << 31) < number < 1 << 32:
        raise NeuralArtError(f"{number} does not fit into 32 bits")
    return f"({number})"


def _single(value: float) -> float:
    """The nearest float32; infinite where there is none."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def cfloat(value: float) -> str:
    """Write a float32 as C, in the fewest digits that keep it. NeuralArtError: not a number, or too large."""
    number = float(value)
    if not math.isfinite(number):
        raise NeuralArtError(f"{number} is not a number that C can write")
    rounded = _single(number)
    if not math.isfinite(rounded):
        raise NeuralArtError(f"{number:g} is too large for a float32")
    if number and abs(rounded) < _SMALLEST:
        raise NeuralArtError(f"{number:g} is too small for a float32")
    if not rounded:
        return "0.0f"
    text = next(text for text in (f"{rounded:.{n}e}" for n in range(9)) if _single(float(text)) == rounded)
    if _FIRST_PLAIN <= int(text.partition("e")[2]) <= _LAST_PLAIN:
        text = format(Decimal(text), "f")
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"


@cache
def names() -> tuple[str, ...]:
    """List the templates that a user's template can extend."""
    return tuple(sorted(path.name for path in TEMPLATES.glob("*.j2")))


def _text(path: Path, shown: str) -> str:
    data = read_bytes(path, display=shown)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, what = data[: error.start].count(b"\n") + 1, f"byte 0x{data[error.start]:02x} is not UTF-8"
        raise NeuralArtError(what, where=f"{shown}:{line}", hint="save the file as UTF-8") from error


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

    rules = {"undefined": jinja2.StrictUndefined, **TEMPLATE_RULES}
    environment = ImmutableSandboxedEnvironment(loader=jinja2.FunctionLoader(load), **rules)
    environment.filters.update(cstring=string, cfloat=cfloat, cint=cint, ccomment=ccomment)
    return environment


def render(template: str, context: Mapping[str, object], user: Path | None = None, display: str = "") -> str:
    """Fill in a template; line ends are LF. ``template``: one of ours; ``user``: the user's, which extends
    ``default_template``; ``display``: its name in messages. NeuralArtError: a template is wrong; ``where`` is its file
    and line.
    """
    import jinja2

    shown = (display or user.as_posix()) if user is not None else ""
    environment = _environment(shown, _text(user, shown) if user is not None else "")
    entry = shown or template

    def refuse(error: BaseException, what: str, where: str = "", hint: str = "") -> NeuralArtError:
        return NeuralArtError(f"template: {what}", where=where or _place(error, entry), hint=hint)

    try:
        text = environment.get_template(entry).render({**context, "default_template": template})
    except jinja2.TemplateSyntaxError as error:
        where = f"{error.filename or error.name or entry}:{error.lineno}"
        raise refuse(error, str(error.message), where) from error
    except jinja2.TemplateNotFound as error:
        hint = f"extend one of: default_template (here {template}), {', '.join(names())}"
        raise refuse(error, f"there is no '{error.name}'", hint=hint) from error
    except NeuralArtError as error:  # of a filter
        raise refuse(error, error.what, hint=error.hint) from error
    except RecursionError as error:
        raise refuse(error, "it extends or includes itself", entry) from error
    except Exception as error:  # whatever an expression of the user's does: a division by zero, a wrong type
        raise refuse(error, str(error) or type(error).__name__) from error
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    # An empty block leaves its blank lines behind.
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in lines)).rstrip("\n") + "\n"


def _place(error: BaseException, entry: str) -> str:
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
