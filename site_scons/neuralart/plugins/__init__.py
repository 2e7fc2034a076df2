"""What others add to this package, and what the package itself brings, registered by the same call.

A plugin is a module that calls :func:`register` when it is imported. Modules come from three places: the table of this
package (:mod:`neuralart.plugins.kinds`), entry points of installed packages (group ``neuralart.<kind>``), and
``site_scons/neuralart_plugins/*.py`` of a project. A module is imported only when something of its kind is asked for
that the package itself does not have.
"""

from __future__ import annotations

from neuralart.plugins.collection import (
    Plugin,
    added,
    blamed,
    code_of,
    every,
    find,
    forget,
    known,
    names,
    own,
    problems,
    register,
    use_project,
)
from neuralart.plugins.sources import OWN

__all__ = [
    "OWN",
    "Plugin",
    "added",
    "blamed",
    "code_of",
    "every",
    "find",
    "forget",
    "known",
    "names",
    "own",
    "problems",
    "register",
    "use_project",
]
