"""The builders that ``env.Tool("neuralart")`` adds, and the reference page of their construction variables.

``python -m neuralart.scons.builders.table`` prints docs/reference/scons-variables.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neuralart.scons.builders import (
    app_config,
    flash,
    flash_plan,
    image,
    initializers,
    network,
    patched_sources,
    relocatable,
)
from neuralart.scons.builders.variables import COMMON, Variable

BUILDERS: tuple[Any, ...] = (network, initializers, patched_sources, relocatable, image, flash_plan, flash, app_config)
"""Modules with ``NAME``, ``VARIABLES`` and ``add_to(env)``, in the order of the reference."""


def sections() -> list[tuple[str, Sequence[Variable]]]:
    """All variables, by the builder that reads them."""
    return [("all builders", COMMON), *((each.NAME, each.VARIABLES) for each in BUILDERS)]


def _code(variable: Variable) -> str:
    if variable.shown:
        return variable.shown
    value = variable.value()
    return f"`{value}`" if isinstance(value, str) and value else f"`{value!r}`"


def page() -> str:
    """The reference page, as Markdown."""
    lines = [
        "# Construction variables",
        "",
        "<!-- Made by `python -m neuralart.scons.builders.table`: change the tables in scons/builders instead. -->",
        "",
        "Set them in an environment, in a `Clone`, or in one call. A value that you set before `Tool` stays.",
        "The builders are in [scons-builders.md](scons-builders.md).",
    ]
    for title, variables in sections():
        lines += ["", f"## {title if ' ' in title else f'`{title}`'}", ""]
        lines += ["| variable | type | default | meaning |", "|---|---|---|---|"]
        for variable in variables:
            if not variable.name.startswith("_"):
                default = _code(variable).replace("|", "\\|")
                lines.append(f"| `{variable.name}` | {variable.kind} | {default} | {variable.doc} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    print(page(), end="")
