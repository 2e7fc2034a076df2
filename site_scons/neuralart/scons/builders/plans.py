"""What an emitter has worked out stays with the target: its command, scanners and other builders ask for it there."""

from __future__ import annotations

from typing import Any, TypeVar

from neuralart.errors import NeuralArtError

P = TypeVar("P")
# Set for one call by a method that has worked it out already.
GIVEN = "_NEURALART_PLAN"


def given(env: Any, kind: type[P]) -> P | None:
    """The plan that a method of ours made before it called the builder; None: work it out from the variables."""
    found = env.get(GIVEN)
    return found if isinstance(found, kind) else None


def remember(node: Any, plan: Any) -> None:
    """Keep a plan with its (first) target."""
    node.attributes.neuralart = plan


def known(node: Any, kind: type[P]) -> P | None:
    """The plan of a target; None: no emitter of ours has seen it."""
    found = getattr(node.attributes, "neuralart", None)
    return found if isinstance(found, kind) else None


def behind(nodes: Any, kind: type[P]) -> P | None:
    """The plan of the command that makes one of some nodes.

    Args:
        nodes: Sources of a builder: for example all that another builder returned, or one of that.
        kind: Class of the plan.
    """
    for node in nodes:
        if node.has_builder():
            # The executor, so that any target leads to the plan that is kept with the first.
            for target in node.get_executor().get_all_targets():
                found = known(target, kind)
                if found is not None:
                    return found
    return None


def each_behind(nodes: Any, kind: type[P]) -> list[tuple[Any, P]]:
    """The plans of all commands that make one of some nodes, each once, with the node that it is kept with.

    Args:
        nodes: Sources of a builder.
        kind: Class of the plans.
    """
    found: dict[Any, P] = {}
    for node in nodes:
        if node.has_builder():
            for target in node.get_executor().get_all_targets():
                plan = known(target, kind)
                if plan is not None:
                    found.setdefault(target, plan)
    return list(found.items())


def of(target: Any, kind: type[P], builder: str) -> P:
    """The plan of a command's targets.

    Args:
        target: Its targets.
        kind: Class of the plan.
        builder: Who makes such targets, for the message.

    Raises:
        NeuralArtError: The builder's own emitter did not run.
    """
    for node in target:
        found = known(node, kind)
        if found is not None:
            return found
    raise NeuralArtError(
        f"nothing is known of '{target[0]}'", hint=f"its emitters must begin with that of {builder}: append yours"
    )
