"""Imports what a compile needs, in a process of which compiles are copies (:mod:`neuralart.scons.fork_server`).

The modules are names: the code of a compile does not depend on what is loaded before it.
"""

from __future__ import annotations

import importlib

from neuralart import plugins

# These import the rest.
_MODULES = (
    "tempfile",
    "yaml",
    "neuralart.boards.loading",
    "neuralart.cli",
    "neuralart.compilers.builtin",
    "neuralart.compilers.cli",
    "neuralart.compilers.request",
    "neuralart_reference.model.reader",
    "neuralart.own_commands",
    "neuralart.text.json_grammar",
    "neuralart.vendor.profile",
    "neuralart_reference.cli",
    "neuralart_reference.compile",
    "neuralart_reference.compiler",
    "neuralart_reference.lower",
)
for _name in _MODULES:
    importlib.import_module(_name)
plugins.own("operators")
