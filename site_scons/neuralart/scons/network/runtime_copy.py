"""Copies the runtime into the user's tree, for programs whose project files must name it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from neuralart.applications.runtime import RuntimePart, runtime_parts
from neuralart.files import read_bytes, write_bytes
from neuralart.scons import commands, making, node_plans
from neuralart.scons.failures import in_action
from neuralart.scons.registry import fact


@in_action
def _copy_runtime(target: list[Any], source: list[Any], env: Any) -> None:
    for node, part in zip(target, node_plans.of(target, _Copies, "Network").parts, strict=True):
        write_bytes(Path(str(node)), read_bytes(part.path))


class _Copies(NamedTuple):
    parts: tuple[RuntimePart, ...]


_COPY = commands.function(_copy_runtime, "COPY     ${TARGET.dir}")


def copied_runtime(env: Any, folder: str, *, cpu: bool) -> tuple[Callable[[], list[Any]], list[Any]]:
    """As :func:`~.nodes.runtime_nodes`, for a copy in the user's ``folder``, headers included."""
    copies = _Copies(runtime_parts(ours=True, cpu=cpu))
    digest = hashlib.sha256(b"".join(hashlib.sha256(part.path.read_bytes()).digest() for part in copies.parts))

    @cache
    def declare() -> list[Any]:
        nodes = env.Command([f"#{folder}/runtime/{part.name}" for part in copies.parts], [], _COPY)
        node_plans.remember(nodes[0], copies)
        env.Depends(nodes, fact(digest.hexdigest(), "runtime"))
        env.Precious(nodes)
        making.watch(env, nodes)
        return [node for node in nodes if node.name.endswith(".c")]

    names = ("include", "legacy/include") if cpu else ("include",)
    return declare, [env.Dir(f"#{folder}/runtime/{name}") for name in names]
