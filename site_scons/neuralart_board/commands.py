"""Commands for real boards."""

from __future__ import annotations

from neuralart.command import ModuleCommand
from neuralart.plugins import register

_COMMANDS = (
    ModuleCommand(
        "device",
        "more",
        "reset a real board, load an image, debug it, show its serial port",
        "device load --board stm32n6570-dk --runner gdb --elf firmware.elf",
        "neuralart_board.device_cli",
    ),
    ModuleCommand(
        "sign",
        "tool",
        "put the header that the boot chain reads in front of an image",
        "sign firmware.bin -o application.bin",
        "neuralart_board.signing.cli",
    ),
    ModuleCommand(
        "boards",
        "begin",
        "list boards, show one, or list what is connected",
        "boards stm32n6570-dk",
        "neuralart_board.boards_cli",
    ),
)
for _command in _COMMANDS:
    register("commands", _command.name, _command, protocol=1)
