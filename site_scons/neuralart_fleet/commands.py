"""Commands for many builds."""

from __future__ import annotations

from neuralart.command import ModuleCommand
from neuralart.plugins import register

_COMMANDS = (
    ModuleCommand(
        "watch",
        "daily",
        "build it again, and run it, whenever a file changes",
        "watch digits-n6 --run",
        "neuralart_fleet.scons.watch_cli",
    ),
)
for _command in _COMMANDS:
    register("commands", _command.name, _command, protocol=1)
