"""Files that strategies of plugins add to the constants of a pool."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuralart import plugins
from neuralart.config.types import STRATEGIES
from neuralart.memory.layout.placements import Initializer
from neuralart.memory.layout.strategies import Constants
from neuralart.plugins import Plugin
from neuralart.scons.builders.parts import Part
from neuralart.scons.layout import Member


@dataclass(frozen=True)
class _Job:
    """What the plugin is given: itself, and whose constants they are."""

    plugin: Plugin
    item: Initializer


def strategy_files(env: Any, first: Any, network: Member, item: Initializer, after: tuple[Any, ...]) -> list[Part]:
    """The files that the strategy of a pool adds, as one part; none without a plugin.

    Args:
        env: The environment of the call.
        first: A node in the folder where they go.
        network: Whose constants they are.
        item: Where they lie.
        after: Nodes that must be there before.

    Raises:
        NeuralArtError: The plugin cannot be loaded, or names a file that it cannot have.
    """
    name = dict(network.config.strategies).get(item.pool, "")
    if not name or name in STRATEGIES:
        return []
    plugin = plugins.find("strategies", name, network.config.said(f"strategies.{item.pool}"))
    names = tuple(plugin.call("files", item.network, item.pool))
    for each in names:
        if Path(each).name != each or names.count(each) > 1:
            raise plugin.error(f"files() has '{each}'", "names of different files, without folders")
    if not names:
        return []
    code = env.Value(plugin.code, name=f"plugin-of-strategy {plugin.name}")
    return [
        Part(
            "strategy",
            "IMAGE",
            tuple(first.dir.File(each) for each in names),
            (network.initializers[item.pool],),
            _write,
            _Job(plugin, item),
            f"{item.network} {item.pool} {item.run_address} {item.load_address}",
            (code,),
            after,
        )
    ]


def _write(part: Part) -> None:
    from neuralart.files import read_bytes, write_bytes

    plugin, item = part.data.plugin, part.data.item
    data = read_bytes(Path(str(part.sources[0])))
    made = plugin.call("make", Constants(item.network, item.pool, item.run_address, item.load_address, data))
    missing = [node.name for node in part.targets if not isinstance(made.get(node.name), bytes)]
    if missing:
        raise plugin.error(f"make() did not return {missing[0]}", "bytes for each name of files()")
    for node in part.targets:
        write_bytes(Path(str(node)), made[node.name])
