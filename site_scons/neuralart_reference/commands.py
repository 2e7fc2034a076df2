"""Commands of the reference compiler."""

from __future__ import annotations

from neuralart.command import module_commands
from neuralart.plugins import register

_COMMANDS = """
    more neuralart_reference.operators_cli: list what the reference compiler takes, with its limits
        operators CONV_2D SOFTMAX
"""
for _command in module_commands(_COMMANDS):
    register("commands", _command.name, _command, protocol=1)
