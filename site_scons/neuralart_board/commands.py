"""Commands for real boards."""

from __future__ import annotations

from neuralart.command import module_commands
from neuralart.plugins import register

_COMMANDS = """
    more neuralart_board.device_cli: reset a real board, load an image, debug it, show its serial port
        device load --board stm32n6570-dk --runner gdb --elf firmware.elf
    tool neuralart_board.signing.cli: put the header that the boot chain reads in front of an image
        sign firmware.bin -o application.bin
    begin neuralart_board.boards_cli: list boards, show one, or list what is connected
        boards stm32n6570-dk
"""
for _command in module_commands(_COMMANDS):
    register("commands", _command.name, _command, protocol=1)
