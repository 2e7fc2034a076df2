"""How many steps a build takes: ``[3/17]``.

SCons finds out one by one what is out of date. Before the first step, what it remembers of the last build is compared
with what is there now, as far as that changes nothing: a build in which nothing has changed never comes here. Whatever
is found to be up to date later (its source was made anew with the same bytes) is not counted any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import SCons.Node
import SCons.Node.FS
from SCons.Util import hash_signature

from neuralart.scons import making

_DONE = (SCons.Node.up_to_date, SCons.Node.executed, SCons.Node.failed)


class Steps:
    """Numbers the steps of a build in the order in which they are shown. ``targets``: the nodes asked for; ``shown``:
    whether an environment's steps are numbered.
    """

    def __init__(self, targets: Iterable[Any], shown: Callable[[Any], bool]) -> None:
        self._number = 0
        # By executor: what makes several files makes them in one step.
        self._left: dict[Any, tuple[Any, int]] = {}
        found = _Forecast(targets)
        for node in found.nodes:
            if node.has_builder() and found.will_be_made(node):
                executor = node.get_executor()
                # An alias may have none.
                if executor is not None and (lines := _lines(executor)) and shown(executor.get_build_env()):
                    self._left[executor] = (node, lines)

    def next(self, target: Any) -> str:
        """The number of the step that makes a target, and the number of steps as far as known."""
        self._number += 1
        executor = target.get_executor()
        node, lines = self._left.pop(executor, (None, 0))
        if lines > 1:
            self._left[executor] = (node, lines - 1)
        self._left = {key: one for key, one in self._left.items() if one[0].get_state() not in _DONE}
        return f"[{self._number}/{self._number + sum(lines for _, lines in self._left.values())}]"


def _lines(executor: Any) -> int:
    """Lines that its actions show."""
    actions = [each for action in executor.get_action_list() for each in getattr(action, "list", [action])]
    return sum(getattr(action, "cmdstr", "") is not None for action in actions)


class _Forecast:
    """What will be made, as far as can be said before anything is."""

    def __init__(self, targets: Iterable[Any]) -> None:
        self.nodes: dict[Any, list[Any]] = {}  # What is not done yet, and what each is made from
        self._known: dict[Any, bool] = {}
        todo = list(targets)
        while todo:
            node = todo.pop().disambiguate()  # a target that is not there yet is no file yet
            if node not in self.nodes and node.get_state() not in _DONE:
                self.nodes[node] = _below(node)
                todo += [*self.nodes[node], *(node.prerequisites or ())]
        self._named = {str(node): node for node in self.nodes}

    def will_be_made(self, node: Any) -> bool:
        """Whether a node is out of date, or made from what is."""
        known = self._known.get(node)
        if known is None:
            self._known[node] = False  # what leads to itself does not count, nor what is done
            if node.get_state() in _DONE:
                return False
            stored = node.get_stored_info().binfo if node.has_builder() and _is_file(node) else None
            below = [
                *self.nodes.get(node, ()),
                *(self._named.get(str(name)) for name in getattr(stored, "bimplicit", ())),
            ]
            known = any([self.will_be_made(each) for each in below if each is not None])
            self._known[node] = known = known or (node.has_builder() and _changed(node, stored))
        return known


def _below(node: Any) -> list[Any]:
    if isinstance(node, SCons.Node.FS.Dir):
        return [child for name, child in node.entries.items() if name not in (".", "..")]
    # SCons drops these lists of what another thread has found to be up to date.
    return [*(node.sources or ()), *(node.depends or ())]


def _changed(node: Any, stored: Any) -> bool:
    """Whether a node whose sources are up to date has to be made: what SCons asks, without looking for includes."""
    if node.always_build:
        return True
    if stored is None:
        return False  # no file
    try:
        if making.is_watched(node) and making.reason(node):
            return True
        if not node.exists():
            return True
        if node.sources is None or node.depends is None:
            return node.get_state() not in _DONE
        now = {str(each): each for each in _below(node)}
        # SCons keeps texts; what was looked at in this build are nodes.
        if [*now] != [*map(str, stored.bsources), *map(str, stored.bdepends)]:
            return True
        signatures = (each.csig for each in (*stored.bsourcesigs, *stored.bdependsigs))
        if any(_signature(each) != before for each, before in zip(now.values(), signatures, strict=True)):
            return True
        if any(map(_touched, stored.bimplicit, stored.bimplicitsigs)):
            return True
        return bool(stored.bactsig != hash_signature(node.get_executor().get_contents()))
    except (AttributeError, OSError, ValueError):
        # Nothing is known of it; or another thread has found it to be up to date just now, and forgot the rest.
        return node.get_state() not in _DONE


def _is_file(node: Any) -> bool:
    return isinstance(node, SCons.Node.FS.File)


def _signature(node: Any) -> str:
    """Contents of a file: a made one's as SCons remembers it, whose own signature must not be asked for too early."""
    if node.has_builder() and _is_file(node) and node.get_state() not in _DONE:
        return str(node.get_stored_info().ninfo.csig)
    return str(node.get_csig())


def _touched(name: Any, before: Any) -> bool:
    """Whether an included file has another size or time. A directory or a program on the way has neither."""
    if not hasattr(before, "timestamp"):
        return False
    state = Path(str(name)).stat()
    return (int(state.st_mtime), state.st_size) != (int(before.timestamp), before.size)
