"""What an emitter has worked out stays with the target: its command, scanners and other builders ask for it there.

SCons makes all targets of a call together. The files of a program's constants have different sources: new weights are
new images, and start-up code that stays what it is. So an emitter names all files, says of each to which
:class:`FilePart` it belongs, and :class:`PartsBuilder` declares part by part.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import SCons.Action
import SCons.Builder
import SCons.Errors
import SCons.Node

from neuralart.errors import NeuralArtError
from neuralart.quick import dataclass
from neuralart.scons import commands, making
from neuralart.scons.commands import Variable, carried
from neuralart.scons.failures import at_read_time, in_action
from neuralart.scons.registry import registry_of

P = TypeVar("P")
# Set for one call by a method that has worked it out already.
GIVEN = "_NEURALART_PLAN"


def given(env: Any, kind: type[P]) -> P | None:
    """The plan that a method made before it called the builder; None: the emitter makes it from variables."""
    found = env.get(GIVEN)
    return found if isinstance(found, kind) else None


def remember(node: Any, plan: Any) -> None:
    """Keep a plan with its first target."""
    node.attributes.neuralart = plan


def known(node: Any, kind: type[P]) -> P | None:
    """The plan of a target; None: none of our emitters made one."""
    found = getattr(node.attributes, "neuralart", None)
    return found if isinstance(found, kind) else None


def _plans_behind(nodes: Any, kind: type[P]) -> Iterator[tuple[Any, P]]:
    for node in nodes:
        if node.has_builder():
            # The executor, so that any target leads to the plan that is kept with the first.
            for target in node.get_executor().get_all_targets():
                found = known(target, kind)
                if found is not None:
                    yield target, found


def behind(nodes: Any, kind: type[P]) -> P | None:
    """The plan of the command that makes one of these nodes."""
    return next((plan for _, plan in _plans_behind(nodes, kind)), None)


def each_behind(nodes: Any, kind: type[P]) -> list[tuple[Any, P]]:
    """The plans of all commands that make one of these nodes, each once, with its node."""
    return list(dict(_plans_behind(nodes, kind)).items())


def of(target: Any, kind: type[P], builder: str) -> P:
    """The plan of a command's targets. NeuralArtError: The builder's own emitter did not run."""
    for node in target:
        found = known(node, kind)
        if found is not None:
            return found
    hint = f"its emitters must begin with that of {builder}: append yours"
    raise NeuralArtError(f"nothing is known of '{target[0]}'", hint=hint)


def of_plan(name: str, kind: type[P], builder: str, text: Callable[[P, Any], Any]) -> Variable:
    """An inner construction variable, which says something of the plan of a command's targets.
    SCons.Errors.UserError, when it is expanded: The builder's own emitter did not run.
    """

    def expand(target: Any, source: Any, env: Any, for_signature: bool) -> Any:
        try:
            return text(of(target, kind, builder), env)
        except NeuralArtError as error:
            raise SCons.Errors.UserError(str(error)) from None

    return Variable(name, "callable", expand, "What follows from all other variables.")


def make(
    env: Any,
    builder: str,
    variables: Iterable[Variable],
    plan: Any,
    target: Any,
    source: Any,
    base: Any = None,
    **settings: Any,
) -> list[Any]:
    """Call a builder for a plan, with the commands, messages and emitters of the environment of a method.
    ``variables``: of the builder. ``base``: the environment that it works in, if not the one that all share.
    ``settings``: further construction variables.
    """
    base = registry_of(env).base if base is None else base
    own = carried(env, base, variables)
    return list(getattr(base, builder)(target, source, **settings, **own, **{GIVEN: plan}))


def board_name(env: Any, builder: str, where: Any, known: str = "") -> str:
    """Read ``NEURALART_BOARD``, else take the known board. NeuralArtError: there is neither."""
    name = str(env.subst(env["NEURALART_BOARD"])) or known
    if not name:
        raise NeuralArtError(f"{builder}: no board", where=str(where), hint="set NEURALART_BOARD")
    return name


@dataclass(frozen=True, eq=False)
class FilePart:
    """Files that are made together."""

    kind: str  # What they are; for readers
    tag: str  # First word of the message
    targets: tuple[Any, ...]  # Nodes; the first one is shown
    sources: tuple[Any, ...]  # Nodes that they are made of, in the order in which ``work`` takes them
    work: Callable[[FilePart], None] | None = None  # Makes them; None: the command of ``piece`` does
    data: Any = None  # For ``work``
    counts: str = ""  # What else counts, as text: a change makes the files again
    values: tuple[Any, ...] = ()  # Nodes that count and are no sources, such as the code that runs
    after: tuple[Any, ...] = ()  # Nodes that must be there before, and do not count
    # How a flash plan writes the (only) target: name, kind, address; None: it does not go into flash
    write: tuple[str, str, int] | None = None
    piece: str = ""  # Which command of the builder makes them

    def __post_init__(self) -> None:
        """Let the targets know."""
        for node in self.targets:
            remember(node, self)

    @property
    def names(self) -> list[str]:
        """Paths of the targets. Not before they have a builder: SCons would name sources."""
        return [str(node) for node in self.targets]


@functools.cache
def _code(work: Callable[..., None]) -> str:
    return str(bytes(SCons.Action._function_contents(work)))


def _counts(part: FilePart, env: Any) -> str:
    return part.counts + (_code(part.work) if part.work is not None else "")


_ANY = "the builder"
VARIABLES = (
    of_plan("_NEURALART_TAG", FilePart, _ANY, lambda part, env: f"{part.tag:<9}"),
    of_plan("_NEURALART_COUNTS", FilePart, _ANY, _counts),
)


@in_action
def write(target: list[Any], source: list[Any], env: Any) -> None:
    """Make the files of a part."""
    part = of(target, FilePart, _ANY)
    assert part.work is not None
    part.work(part)


def words(
    name: str, emitter: Callable[..., Any], shown: str, tag: str = "${_NEURALART_TAG}$TARGET"
) -> tuple[Variable, ...]:
    """The variables of a builder whose command makes the files of a part."""
    made = commands.function(write, f"${name}COMSTR", "_NEURALART_COUNTS")
    return commands.words(name, tag, made, emitter, shown)


def emitted(env: Any, parts: Sequence[FilePart]) -> tuple[list[Any], list[Any]]:
    """What an emitter returns for some parts: all their targets, and all their sources that nothing here makes."""
    targets = [node for part in parts for node in part.targets]
    made = set(targets)
    for part in parts:
        nodes = list(part.targets)
        if part.values:
            env.Depends(nodes, list(part.values))
        if part.after:
            env.Requires(nodes, list(part.after))
    sources = [node for part in parts for node in part.sources if node not in made]
    return targets, list(dict.fromkeys(sources))


class PartsBuilder(SCons.Builder.BuilderBase):
    """A builder that declares the parts of a call separately."""

    def __init__(self, name: str, emitter: str, pieces: Mapping[str, Any], **keywords: Any) -> None:
        """Take its commands. ``keywords``: of ``Builder``."""
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
        groups: dict[FilePart | None, list[Any]] = {}
        for node in targets:
            groups.setdefault(known(node, FilePart), []).append(node)
        # What users' emitters add belongs to the first part, and so do the sources that no part knows.
        added = groups.pop(None, [])
        theirs = {node for part in groups if part is not None for node in (*part.sources, *part.targets)}
        extra = [node for node in sources if node not in theirs]
        for number, (part, nodes) in enumerate(groups.items()):
            assert part is not None
            piece = self._pieces[part.piece]
            mine = [*part.sources, *(extra if not number else [])]
            named = [*nodes, *(added if not number else [])]
            making.watch(env, piece._execute(env, named, mine, overwarn, dict(executor_kw or {})))
        return SCons.Node.NodeList(targets)
