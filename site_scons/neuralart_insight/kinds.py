"""The kinds of plugins that this package takes."""

from __future__ import annotations

from neuralart.plugins.kinds import Kind

KINDS = (
    Kind("lint", "lint rule", 1, "neuralart_insight.lint.types:Rule", "a rule of `neuralart lint`"),
    Kind("inspect", "kind of file", 1, "neuralart_insight.inspect.kinds:FileKind").says(
        "a kind of file that `neuralart inspect` reads"
    ),
)
