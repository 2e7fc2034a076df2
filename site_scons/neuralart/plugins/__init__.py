"""Plugins: what this package, our other packages and others add, all registered by the same call. A module calls
:func:`register` when it is imported. Modules come from the core's table (:mod:`neuralart.plugins.kinds`), entry points
of packages (group ``neuralart.<kind>``), and ``site_scons/neuralart_plugins/*.py`` of a project. They are imported only
when a name is asked for that the package itself does not have.
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
