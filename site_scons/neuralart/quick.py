"""What a module may have that is loaded quickly: frozen dataclasses, and regular expressions.

``dataclasses`` compiles six methods for each class, which takes 0.7 ms: a build in which nothing has changed has a
hundred classes. Here they share theirs, and are dataclasses for all others. Regular expressions are compiled at their
first use: a run needs few of those that its modules have.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from dataclasses import KW_ONLY, MISSING, asdict, astuple, field, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, AnyStr, NoReturn, cast

__all__ = ["KW_ONLY", "MISSING", "asdict", "astuple", "dataclass", "field", "fields", "lazy_regex", "replace"]


@cache
def _shape(cls: type) -> tuple[tuple[Any, ...], tuple[str, ...], tuple[str, ...]]:
    """The fields of a class, the names of those that are no keywords, and of those that are compared."""
    every = fields(cls)
    return every, tuple(f.name for f in every if not f.kw_only), tuple(f.name for f in every if f.compare)


def _init(self: Any, *values: Any, **given: Any) -> None:
    every, names, _ = _shape(self.__class__)
    if len(values) > len(names) or not given.keys().isdisjoint(names[: len(values)]):
        raise TypeError(f"{self.__class__.__name__}: too many values: {len(values)}, and {', '.join(given) or 'none'}")
    given.update(zip(names, values, strict=False))
    for each in every:
        name = each.name
        if name in given:
            value = given.pop(name)
        elif each.default is not MISSING:
            value = each.default
        elif each.default_factory is not MISSING:
            value = each.default_factory()
        else:
            raise TypeError(f"{self.__class__.__name__}: no value for '{name}'")
        object.__setattr__(self, name, value)
    if given:
        raise TypeError(f"{self.__class__.__name__}: no field '{next(iter(given))}'")
    if hasattr(self, "__post_init__"):
        self.__post_init__()


def _repr(self: Any) -> str:
    shown = (f"{f.name}={getattr(self, f.name)!r}" for f in _shape(self.__class__)[0] if f.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _compared(self: Any) -> tuple[Any, ...]:
    return tuple([getattr(self, name) for name in _shape(self.__class__)[2]])


def _eq(self: Any, other: object) -> bool:
    return _compared(self) == _compared(other) if other.__class__ is self.__class__ else NotImplemented


def _hash(self: Any) -> int:
    return hash(_compared(self))


def _refuse(self: Any, name: str, *_: Any) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(*, frozen: bool, eq: bool = True, kw_only: bool = False) -> Callable[[type], type]:
        """``dataclasses.dataclass(frozen=True)``, for fields that are all given to the constructor."""
        shared = {"__init__": _init, "__repr__": _repr, "__setattr__": _refuse, "__delattr__": _refuse}
        shared |= {"__eq__": _eq, "__hash__": _hash} if eq else {}

        def made(cls: type) -> type:
            for name, method in shared.items():
                if cls.__dict__.get(name) is None:
                    setattr(cls, name, method)
            above = [c.__dataclass_params__ for c in cls.__mro__[1:] if "__dataclass_params__" in c.__dict__]
            for params in above:
                params.frozen = False  # or what is compiled is asked for
            dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)
            for params in (*above, cls.__dataclass_params__):
                params.frozen = frozen
            return cls

        return made


class _LazyRegex:
    def __init__(self, text: Any, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        # Kept in the object: this is not asked again.
        found = self.__dict__[name] = getattr(re.compile(self._text, self._flags), name)
        return found


def lazy_regex(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """What ``re.compile`` returns, for use in a module."""
    return cast("re.Pattern[AnyStr]", _LazyRegex(text, flags))
