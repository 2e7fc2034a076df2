"""Commands for many builds."""

from __future__ import annotations

from neuralart.command import ModuleCommand
from neuralart.plugins import register

_COMMANDS = (
    ModuleCommand(
        "watch",
        "build",
        "build variants again, and run them, whenever one of their files changes",
        "watch digits-n6 --run",
        "neuralart_fleet.scons.watch_cli",
    ),
)
for _command in _COMMANDS:
    register("commands", _command.name, _command, protocol=1)
