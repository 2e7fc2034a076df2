"""Texts of operations: small templates over the decision."""

from __future__ import annotations

from collections.abc import Callable

from neuralart.errors import NeuralArtError
from neuralart.patching.decide import Decision
from neuralart.patching.patchlist import BLOCK, SECTION, Operation


def renderer(decision: Decision) -> Callable[[Operation, Callable[[str], bool]], str]:
    """A function that gives the text of an operation."""
    import jinja2
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )

    def render(operation: Operation, defined: Callable[[str], bool]) -> str:
        try:
            text = environment.from_string(operation.template).render(
                camera=decision.camera,
                activations=decision.activations,
                images=decision.images,
                input=decision.input,
                defined=defined,
            )
            text.encode("latin-1")
        except (jinja2.TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
            raise NeuralArtError(
                f"{operation.key}: the template does not work: {error}", where=operation.where
            ) from error
        if operation.kind != BLOCK and ("\n" in text or not text.strip()):
            raise NeuralArtError(
                f"{operation.key}: the template gives '{text}', one line is needed", where=operation.where
            )
        if operation.kind == SECTION and not (text == operation.name or text.startswith(f"{operation.name}_")):
            raise NeuralArtError(
                f"{operation.key}: the template gives '{text}', which the next patch would not find again",
                where=operation.where,
            )
        return text

    return render
