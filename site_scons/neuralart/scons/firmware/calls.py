"""``env.NetworkCalls(...)``: the same calls for networks on the NPU and on the core, as one C file and its header."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neuralart.files import write_bytes, write_text
from neuralart.memory.startup import calls
from neuralart.network import facts
from neuralart.quick import dataclass
from neuralart.scons import commands, making
from neuralart.scons.failures import at_read_time, in_action
from neuralart.scons.firmware.memory_files import board_of
from neuralart.scons.network.nodes import check_compiled
from neuralart.scons.paths import build_dir
from neuralart.scons.registry import board_value, code_value, fact, registry_of

_ROOMS = ("memory/startup/calls.py", "memory/startup/network_io.py")


@dataclass(frozen=True)
class CallNodes:
    """What ``env.NetworkCalls`` returns."""

    sources: list[Any]  # ``neuralart_networks.c``
    header: Any  # ``neuralart_networks.h``
    include_dirs: list[Any]  # For CPPPATH


@in_action
def _write(target: list[Any], source: list[Any], env: Any) -> None:
    networks = [facts.load(Path(str(node))) for node in source]
    text = calls.source(registry_of(env).board(env["NEURALART_BOARD"]), networks)
    write_text(Path(str(target[0])), text)
    write_bytes(Path(str(target[1])), calls.header())


@at_read_time
def calls_method(env: Any, *networks: Any, folder: str = "") -> CallNodes:
    """``env.NetworkCalls(net, ...)``: find networks by name, run them, put errors in words.

    ``*networks``: what ``env.Network`` returned; all networks of the program. ``folder``: where the files go; empty:
    below the build folder. SCons.Errors.UserError: no network, or networks for different boards.
    """
    for network in networks:
        check_compiled(network, "NetworkCalls")
    base, board = registry_of(env).base, board_of(networks, "NetworkCalls")
    stem = "-".join(Path(network.folder).name for network in networks)
    where = folder.removeprefix("#") or f"{build_dir(env)}/calls/{stem}"
    source, header = base.Command(
        [f"#{where}/neuralart_networks.c", f"#{where}/neuralart_networks.h"],
        [network.facts for network in networks],
        commands.function(_write, "SOURCES  $TARGET"),
        source_scanner=commands.NO_INCLUDES,
        NEURALART_BOARD=board.name,
    )
    base.Depends([source, header], fact(calls.header().decode(), name="header of calls"))
    base.Depends([source, header], [code_value(base, "network-calls", *_ROOMS), board_value(base, board)])
    making.watch(base, [source, header])
    return CallNodes([source], header, [base.Dir(f"#{where}")])
