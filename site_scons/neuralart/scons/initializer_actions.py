"""What makes the files of ``NeuralArtInitializers``; each takes some milliseconds."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuralart.memory.layout.placements import Initializer
from neuralart.memory.layout.relative_pools import placed_in
from neuralart.scons.failures import in_action

if TYPE_CHECKING:
    from neuralart.scons.builders.parts import Part


def _facts(part: Part) -> list[Any]:
    from neuralart.network import facts

    return [facts.load(Path(str(node))) for node in part.sources if str(node).endswith("network.json")]


def write_sources(part: Part) -> None:
    """``npu_memory_init.c`` and ``.h``, once all that the networks use has its place."""
    from neuralart.files import write_text
    from neuralart.memory.plan import plan
    from neuralart.memory.startup import startup

    board, layout, board_layout = part.data
    networks = placed_in(layout, _facts(part))
    # Before anything is compiled: what the networks really use has its place.
    plan.check(plan.make_plan(layout, board, networks, {}))
    text = startup.source(board, layout, networks, with_firmware=board_layout)
    write_text(Path(part.names[0]), text)
    write_text(Path(part.names[1]), startup.HEADER)


def write_io(part: Part) -> None:
    """``network_io.h`` and its JSON twin."""
    from neuralart.files import write_text
    from neuralart.memory.startup import network_io

    board, layout = part.data
    networks = placed_in(layout, _facts(part))
    header, twin = network_io.source(board, networks), network_io.json_text(board, networks)
    write_text(Path(part.names[0]), header)
    write_text(Path(part.names[1]), twin)


def copy_image(part: Part) -> None:
    """The bytes of a file under another name."""
    from neuralart.files import read_bytes, write_bytes

    write_bytes(Path(part.names[0]), read_bytes(Path(str(part.sources[0]))))


def copy(target: list[Any], source: list[Any], env: Any) -> None:
    """The bytes of a file under another name."""
    from neuralart.files import read_bytes, write_bytes

    in_action(lambda: write_bytes(Path(str(target[0])), read_bytes(Path(str(source[0])))), target, env)


def write_hex(part: Part) -> None:
    """A binary as Intel HEX at its address."""
    from neuralart.files import read_bytes, write_text
    from neuralart.text.ihex import ihex

    write_text(Path(part.names[0]), ihex(part.data.address, read_bytes(Path(str(part.sources[0])))))


def write_descriptor(part: Part) -> None:
    """The identity descriptor."""
    from neuralart.files import read_bytes, write_bytes
    from neuralart.memory.layout import identity

    networks = _facts(part)
    raws = {}
    # The sources behind the facts are the raw files, in the order of the described initializers.
    described: list[Initializer] = part.data
    for item, node in zip(described, part.sources[len(networks) :], strict=True):
        data = read_bytes(Path(str(node)))
        raws[(item.network, item.pool)] = (len(data), zlib.crc32(data))
    write_bytes(Path(part.names[0]), identity.describe(networks, described, raws))


def write_link_object(part: Part) -> None:
    """A C file with the bytes of a raw file in it."""
    from neuralart.files import read_bytes, write_text
    from neuralart.memory.startup import tables

    item: Initializer = part.data
    raw = Path(str(part.sources[0]))
    text = tables.link_object_c(item.network, item.pool, raw.name)
    # The assembler reads the raw file and no scanner sees that: with its checksum here it is compiled again.
    write_text(Path(part.names[0]), f"{text}/* CRC-32 of the constants: {zlib.crc32(read_bytes(raw)):08x} */\n")
