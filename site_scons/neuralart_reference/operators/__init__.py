"""The operators: one small file each, found by itself.

A file, of this folder or of a plugin, registers a function with :func:`operator`; the function checks what it is given
and emits kernel calls. Files whose name starts with an underscore are shared helpers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache

from neuralart import plugins
from neuralart_reference.context import Lowering
from neuralart_reference.model.graph import Operator

Lower = Callable[[Lowering, Operator], None]
TYPES = ("int8", "uint8", "int16", "int32", "uint32", "int64", "uint64", "float32", "bool")
"""Element types that operators compute on."""
_LISTED = re.compile(r"(?:^|; (?:also|or) )(?:between )?({0})(?:(?:, | or | and )(?:{0})\b)*".format("|".join(TYPES)))


@dataclass(frozen=True)
class Plain:
    """How an operator is lowered whose first input is of another type than int8."""

    lower: Lower  # emits its calls
    types: tuple[str, ...]  # of the first input; a scale, if the tensor has one, does not count


@dataclass(frozen=True)
class Registration:
    """A supported operator.

    Attributes:
        kind: Upper-case TFLite name.
        limits: What of it is supported, for people.
        lower: Emits its calls.
        floats: It takes float32 tensors itself.
    """

    kind: str
    limits: str
    lower: Lower
    floats: bool = False

    @property
    def types(self) -> tuple[str, ...]:
        """Element types of what it computes on, as the limits begin, or go on behind ``also`` or ``or``."""
        found = {name for match in _LISTED.finditer(self.limits) for name in re.findall(r"\w+\d|bool", match[0])}
        if "int8" in found and "not uint8" not in self.limits:
            found.add("uint8")  # computed as int8
        return tuple(name for name in TYPES if name in found)


def operator(
    *kinds: str, limits: str, floats: bool = False, plain: Plain | None = None, protocol: int = 0
) -> Callable[[Lower], Lower]:
    """Register the lowering of an operator kind, or of several with the same limits.

    Args:
        kinds: Upper-case TFLite names.
        limits: What of it is supported, for people: types, shapes, options.
        floats: It takes float32 tensors itself; otherwise they are refused before it is called.
        plain: What lowers it instead where its first input is a plain number; the limits name the types.
        protocol: Of a plugin: the version of the protocol that it was written for.
    """

    def register(lower: Lower) -> Lower:
        made, said, real = lower, limits, floats
        if plain is not None:
            said = f"{limits}; also {' and '.join(plain.types)}" if limits else " and ".join(plain.types)
            made, real = _either(lower, plain), floats or "float32" in plain.types
        for kind in kinds:
            plugins.register("operators", kind, Registration(kind, said, made, real), protocol=protocol)
        return lower

    return register


def _either(lower: Lower, plain: Plain) -> Lower:
    def chosen(ctx: Lowering, op: Operator) -> None:
        first = ctx.input(op)
        (plain.lower if first.dtype in plain.types else lower)(ctx, op)

    return chosen


@cache
def registry() -> Mapping[str, Registration]:
    """The package's own operators by kind, in alphabetical order."""
    return {plugin.name: plugin.made for plugin in sorted(plugins.own("operators"), key=lambda each: each.name)}


def every() -> tuple[Registration, ...]:
    """All operators, those of plugins too, in alphabetical order; NeuralArtError when a plugin cannot be loaded."""
    added = (plugin.made for plugin in plugins.added("operators"))
    return tuple(sorted((*registry().values(), *added), key=lambda entry: entry.kind))


def lookup(kind: str) -> Registration | None:
    """The operator of a kind; plugins are looked for only where it is none of ours. Raises NeuralArtError when a plugin
    cannot be loaded.
    """
    own = registry().get(kind)
    if own is not None:
        return own
    plugin = next((plugin for plugin in plugins.added("operators") if plugin.name == kind), None)
    return None if plugin is None else replace(plugin.made, lower=plugin.guarded("lower"))
