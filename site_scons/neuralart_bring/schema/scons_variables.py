"""The reference page of construction variables: ``python -m neuralart_bring.schema.scons_variables`` prints
docs/reference/scons-variables.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import neuralart.scons.tool  # noqa: F401 - it registers the builders
from neuralart import plugins
from neuralart.scons.commands import COMMON, Variable


def sections() -> list[tuple[str, Sequence[Variable]]]:
    """All variables, by the builder that reads them."""
    builders = (plugin.made for plugin in plugins.own("builders"))
    return [("all builders", COMMON), *((builder.NAME, builder.VARIABLES) for builder in builders)]


def _default(variable: Variable) -> str:
    value = variable.value() if not variable.shown else None
    return variable.shown or (f"`{value}`" if isinstance(value, str) and value else f"`{value!r}`")


def page() -> str:
    """The reference page, as Markdown."""
    lines = [
        "# Construction variables",
        "",
        "<!-- Made by `python -m neuralart_bring.schema.scons_variables`: change the tables of the builders below "
        "scons/ instead. -->",
        "",
        "Set them in an environment, in a `Clone`, or in one call. A value that you set before `Tool` stays.",
        "The builders are in [scons-builders.md](scons-builders.md).",
    ]
    for title, variables in sections():
        lines += ["", f"## {title if ' ' in title else f'`{title}`'}", ""]
        lines += ["| variable | type | default | meaning |", "|---|---|---|---|"]
        for variable in variables:
            if not variable.name.startswith("_"):
                default = _default(variable).replace("|", "\\|")
                lines.append(f"| `{variable.name}` | {variable.kind} | {default} | {variable.doc} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    print(page(), end="")
