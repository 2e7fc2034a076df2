"""Files that strategies of plugins add to the constants of a pool."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from neuralart import plugins
from neuralart.config.types import STRATEGIES
from neuralart.memory.layout.placements import Initializer, Layout
from neuralart.memory.layout.strategies import Constants
from neuralart.plugins import Plugin
from neuralart.scons import messages
from neuralart.scons.compiled import NetworkNodes
from neuralart.scons.failures import in_action


def added_files(base: Any, folder: str, networks: Sequence[NetworkNodes], layout: Layout) -> list[Any]:
    """Declare them.

    Args:
        base: The environment of our commands.
        folder: Where they go, relative to the top folder.
        networks: All networks of a program.
        layout: Where everything is.

    Raises:
        NeuralArtError: A plugin cannot be loaded, or names a file that it cannot have.
    """
    found: list[Any] = []
    by_name = {network.name: network for network in networks}
    for item in layout.initializers:
        network = by_name[item.network]
        name = dict(network.config.strategies).get(item.pool, "")
        if not name or name in STRATEGIES:
            continue
        plugin = plugins.find("strategies", name, network.config.said(f"strategies.{item.pool}"))
        names = tuple(plugin.call("files", item.network, item.pool))
        for each in names:
            if Path(each).name != each or names.count(each) > 1:
                raise plugin.error(f"files() has '{each}'", "names of different files, without folders")
        if names:
            found += _declare(base, folder, plugin, names, item, network.initializers[item.pool])
    return found


def _declare(base: Any, folder: str, plugin: Plugin, names: tuple[str, ...], item: Initializer, raw: Any) -> list[Any]:
    nodes = base.Command(
        [base.File(f"#{folder}/{name}") for name in names],
        raw,
        messages.function(_write, f"IMAGE    {folder}/{names[0]}"),
        NEURALART_STRATEGY=plugin,
        NEURALART_ITEM=item,
    )
    base.Depends(nodes, base.Value(plugin.code, name=f"plugin-of-strategy {plugin.name}"))
    base.Depends(nodes, base.Value(f"{item.network} {item.pool} {item.run_address} {item.load_address}", name="placed"))
    return list(nodes)


def _write(target: list[Any], source: list[Any], env: Any) -> None:
    from neuralart.files import read_bytes, write_bytes

    def work() -> None:
        plugin: Plugin = env["NEURALART_STRATEGY"]
        item: Initializer = env["NEURALART_ITEM"]
        data = read_bytes(Path(str(source[0])))
        constants = Constants(item.network, item.pool, item.run_address, item.load_address, data)
        made = plugin.call("make", constants)
        missing = [node.name for node in target if not isinstance(made.get(node.name), bytes)]
        if missing:
            raise plugin.error(f"make() did not return {missing[0]}", "bytes for each name of files()")
        for node in target:
            write_bytes(Path(str(node)), made[node.name])

    in_action(work, target, env)
