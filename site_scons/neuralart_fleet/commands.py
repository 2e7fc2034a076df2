"""Commands for many builds."""

from __future__ import annotations

from neuralart.command import module_commands
from neuralart.plugins import register

_COMMANDS = """
    daily neuralart_fleet.scons.watch_cli: build it again, and run it, whenever a file changes
        watch digits-n6 --run
"""
for _command in module_commands(_COMMANDS):
    register("commands", _command.name, _command, protocol=1)
