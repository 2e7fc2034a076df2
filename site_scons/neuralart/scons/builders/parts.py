"""Builders whose files are made in parts: one call names them all, and each part is made again for itself alone.

SCons makes all targets of a call together. The files of a program's constants have different sources: new weights are
new images, and start-up code that stays what it is. So an emitter names all files, says of each to which
:class:`Part` it belongs, and the builder declares part by part.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import SCons.Action
import SCons.Builder
import SCons.Node

from neuralart.scons.builders import plans
from neuralart.scons.builders.variables import Variable
from neuralart.scons.failures import at_read_time, in_action


@dataclass(frozen=True, eq=False)
class Part:
    """Files that are made together.

    Attributes:
        kind: What they are; for readers.
        tag: First word of the message.
        targets: Nodes; the first one is shown.
        sources: Nodes that they are made of, in the order in which ``work`` takes them.
        work: Makes them; None: the command of ``piece`` does.
        data: For ``work``.
        counts: What else counts, as text: a change makes the files again.
        values: Nodes that count and are no sources, such as the code that runs.
        after: Nodes that must be there before, and do not count.
        write: How a flash plan writes the (only) target: name, kind, address; None: it does not go into flash.
        piece: Which command of the builder makes them.
    """

    kind: str
    tag: str
    targets: tuple[Any, ...]
    sources: tuple[Any, ...]
    work: Callable[[Part], None] | None = None
    data: Any = None
    counts: str = ""
    values: tuple[Any, ...] = ()
    after: tuple[Any, ...] = ()
    write: tuple[str, str, int] | None = None
    piece: str = ""

    def __post_init__(self) -> None:
        """Let the targets know."""
        for node in self.targets:
            plans.remember(node, self)

    @property
    def names(self) -> list[str]:
        """Paths of the targets. Not before they have a builder: SCons would name sources."""
        return [str(node) for node in self.targets]


@functools.cache
def _code(work: Callable[..., None]) -> str:
    return str(bytes(SCons.Action._function_contents(work)))


def _tag(target: Any, source: Any, env: Any, for_signature: bool) -> str:
    """``$_NEURALART_TAG``: what kind of file is made."""
    return f"{plans.of(target, Part, 'the builder').tag:<9}"


def _counts(target: Any, source: Any, env: Any, for_signature: bool) -> str:
    """``$_NEURALART_COUNTS``: what counts of a part besides its sources."""
    part = plans.of(target, Part, "the builder")
    return part.counts + (_code(part.work) if part.work is not None else "")


VARIABLES = (
    Variable("_NEURALART_TAG", "callable", _tag, "What kind of file is made."),
    Variable("_NEURALART_COUNTS", "callable", _counts, "What counts of a part besides its sources."),
)


def write(target: list[Any], source: list[Any], env: Any) -> None:
    """Make the files of a part."""

    def work() -> None:
        part = plans.of(target, Part, "the builder")
        assert part.work is not None
        part.work(part)

    in_action(work, target, env)


def emitted(env: Any, parts: Sequence[Part], others: Sequence[Any] = ()) -> tuple[list[Any], list[Any]]:
    """What an emitter returns for some parts: all their targets, and all their sources that nothing here makes.

    Args:
        env: The environment of the call.
        parts: In the order in which they are returned.
        others: Sources of the call that are none of a part.
    """
    targets = [node for part in parts for node in part.targets]
    made = set(targets)
    for part in parts:
        nodes = list(part.targets)
        if part.values:
            env.Depends(nodes, list(part.values))
        if part.after:
            env.Requires(nodes, list(part.after))
    sources = [node for part in parts for node in part.sources if node not in made]
    return targets, list(dict.fromkeys([*sources, *others]))


class PartsBuilder(SCons.Builder.BuilderBase):
    """A builder that declares the parts of a call one by one."""

    def __init__(self, name: str, emitter: str, pieces: Mapping[str, Any], **keywords: Any) -> None:
        """Take its commands.

        Args:
            name: Of the builder.
            emitter: Name of the construction variable with its emitters.
            pieces: Action of each kind of part (:attr:`Part.piece`).
            **keywords: Of ``Builder``.
        """
        first = next(iter(pieces.values()))
        super().__init__(action=first, emitter=SCons.Builder.EmitterProxy(emitter), name=name, **keywords)
        self._pieces = {
            piece: SCons.Builder.BuilderBase(action=action, name=name, **keywords) for piece, action in pieces.items()
        }

    @at_read_time
    def _execute(
        self, env: Any, target: Any, source: Any, overwarn: Any = None, executor_kw: Mapping[str, Any] | None = None
    ) -> Any:
        """Declare what the emitters named."""
        targets, sources = self._create_nodes(env, target, source)
        groups: dict[Part | None, list[Any]] = {}
        for node in targets:
            groups.setdefault(plans.known(node, Part), []).append(node)
        # What users' emitters add belongs to the first part, and so do the sources that no part knows.
        added = groups.pop(None, [])
        known = {node for part in groups if part is not None for node in (*part.sources, *part.targets)}
        extra = [node for node in sources if node not in known]
        for number, (part, nodes) in enumerate(groups.items()):
            assert part is not None
            piece = self._pieces[part.piece]
            mine = [*part.sources, *(extra if not number else [])]
            piece._execute(env, [*nodes, *(added if not number else [])], mine, overwarn, dict(executor_kw or {}))
        return SCons.Node.NodeList(targets)
