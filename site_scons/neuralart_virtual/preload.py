"""Imports what a virtual board needs, for a process that runs are copies of (:mod:`neuralart.scons.fork_server`)."""

from __future__ import annotations

import contextlib
import importlib

_MODULES = (
    "neuralart.app_config.kinds",
    "neuralart.files",
    "neuralart.flashing.nor",
    "neuralart_fleet.ci.junit",
    "neuralart_virtual.commands",
    "neuralart_virtual.emulator.cli",
    "neuralart_virtual.emulator.coherency",
    "neuralart_virtual.emulator.gdb.server",
    "neuralart_virtual.emulator.image",
    "neuralart_virtual.emulator.runner",
    "neuralart_virtual.emulator.boot_chain",
)
_OF_OTHERS = ("elftools.elf.elffile", "unicorn.arm_const", "unicorn.unicorn_py3.arch.arm")
for _name in _MODULES:
    importlib.import_module(_name)
for _name in _OF_OTHERS:
    with contextlib.suppress(ImportError):  # A run says that it is missing
        importlib.import_module(_name)
