"""Regular expressions that are compiled at their first use."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _LazyRegex:
    def __init__(self, text: Any, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        # Kept in the object: this is not asked again.
        found = self.__dict__[name] = getattr(re.compile(self._text, self._flags), name)
        return found


def lazy_regex(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Make what ``re.compile`` returns, compiled at its first use."""
    return cast("re.Pattern[AnyStr]", _LazyRegex(text, flags))
