"""What others add to this package, and what the package itself brings, registered by the same call.

A plugin is a module that calls :func:`register` when it is imported. Modules come from three places: the table of the
core (:mod:`neuralart.plugins.kinds`), entry points of packages (group ``neuralart.<kind>``; our packages beside the
core come in this way), and ``site_scons/neuralart_plugins/*.py`` of a project. A module is imported only when
something of its kind is asked for that the package itself does not have.
"""

from __future__ import annotations

from neuralart.plugins.collection import Plugin as Plugin
from neuralart.plugins.collection import added as added
from neuralart.plugins.collection import blamed as blamed
from neuralart.plugins.collection import code_of as code_of
from neuralart.plugins.collection import every as every
from neuralart.plugins.collection import find as find
from neuralart.plugins.collection import forget as forget
from neuralart.plugins.collection import kinds as kinds
from neuralart.plugins.collection import known as known
from neuralart.plugins.collection import names as names
from neuralart.plugins.collection import own as own
from neuralart.plugins.collection import package_of as package_of
from neuralart.plugins.collection import problems as problems
from neuralart.plugins.collection import register as register
from neuralart.plugins.collection import use_project as use_project
from neuralart.plugins.origins import OWN as OWN
from neuralart.plugins.origins import parts as parts
