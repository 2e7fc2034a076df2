"""Commands of the reference compiler."""

from __future__ import annotations

from neuralart.command import ModuleCommand
from neuralart.plugins import register

_COMMANDS = (
    ModuleCommand(
        "operators",
        "more",
        "list what the reference compiler takes, with its limits",
        "operators CONV_2D SOFTMAX",
        "neuralart_reference.operators_cli",
    ),
)
for _command in _COMMANDS:
    register("commands", _command.name, _command, protocol=1)
