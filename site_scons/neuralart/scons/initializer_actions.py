"""Actions that write what :mod:`neuralart.scons.initializers` declares; each takes some milliseconds."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

from neuralart.memory.layout.loader_places import placed_in
from neuralart.memory.layout.placements import Initializer
from neuralart.scons.failures import in_action
from neuralart.scons.registry import Registry


def _facts(source: list[Any]) -> list[Any]:
    from neuralart.network import facts

    return [facts.load(Path(str(node))) for node in source if str(node).endswith("network.json")]


def write_sources(target: list[Any], source: list[Any], env: Any) -> None:
    """``npu_memory_init.c`` and ``.h``, once all that the networks use has its place."""
    from neuralart.files import write_text
    from neuralart.memory.plan import plan
    from neuralart.memory.startup import startup

    def work() -> None:
        registry: Registry = env["NEURALART_REGISTRY"]
        board, layout = registry.board(env["NEURALART_BOARD"]), env["NEURALART_LAYOUT"]
        networks = placed_in(layout, _facts(source))
        # Before anything is compiled: what the networks really use has its place.
        plan.check(plan.make_plan(layout, board, networks, {}))
        text = startup.source(board, layout, networks, with_firmware=env["NEURALART_BOARD_LAYOUT"])
        write_text(Path(str(target[0])), text)
        write_text(Path(str(target[1])), startup.HEADER)

    in_action(work, target, env)


def write_io(target: list[Any], source: list[Any], env: Any) -> None:
    """``network_io.h`` and its JSON twin."""
    from neuralart.files import write_text
    from neuralart.memory.startup import network_io

    def work() -> None:
        registry: Registry = env["NEURALART_REGISTRY"]
        board = registry.board(env["NEURALART_BOARD"])
        networks = placed_in(env["NEURALART_LAYOUT"], _facts(source))
        header, twin = network_io.source(board, networks), network_io.json_text(board, networks)
        write_text(Path(str(target[0])), header)
        write_text(Path(str(target[1])), twin)

    in_action(work, target, env)


def copy(target: list[Any], source: list[Any], env: Any) -> None:
    """The bytes of a raw file as an image."""
    from neuralart.files import read_bytes, write_bytes

    in_action(lambda: write_bytes(Path(str(target[0])), read_bytes(Path(str(source[0])))), target, env)


def write_hex(target: list[Any], source: list[Any], env: Any) -> None:
    """A binary as Intel HEX at ``NEURALART_ADDRESS``."""
    from neuralart.files import read_bytes, write_text
    from neuralart.text.ihex import ihex

    in_action(
        lambda: write_text(
            Path(str(target[0])), ihex(int(env["NEURALART_ADDRESS"], 0), read_bytes(Path(str(source[0]))))
        ),
        target,
        env,
    )


def write_descriptor(target: list[Any], source: list[Any], env: Any) -> None:
    """The identity descriptor."""
    from neuralart.files import read_bytes, write_bytes
    from neuralart.memory.layout import descriptor_of

    def work() -> None:
        networks = _facts(source)
        raws = {}
        # The sources behind the facts are the raw files, in the order of the described initializers.
        described: list[Initializer] = env["NEURALART_DESCRIBED"]
        for item, node in zip(described, source[len(networks) :], strict=True):
            data = read_bytes(Path(str(node)))
            raws[(item.network, item.pool)] = (len(data), zlib.crc32(data))
        write_bytes(Path(str(target[0])), descriptor_of.build(networks, described, raws))

    in_action(work, target, env)


def write_link_object(target: list[Any], source: list[Any], env: Any) -> None:
    """A C file with the bytes of a raw file in it."""
    from neuralart.files import read_bytes, write_text
    from neuralart.memory.startup import link_object

    def work() -> None:
        raw = Path(str(source[0]))
        text = link_object.source(env["NEURALART_NETWORK"], env["NEURALART_POOL"], raw.name)
        # The assembler reads the raw file and no scanner sees that: with its checksum here it is compiled again.
        write_text(Path(str(target[0])), f"{text}/* CRC-32 of the constants: {zlib.crc32(read_bytes(raw)):08x} */\n")

    in_action(work, target, env)
