"""The keywords of ``env.Network`` as the settings that variants.yaml gives a network."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import SCons.Util

from neuralart.config import networks
from neuralart.config.keys import PATH, WORDS, value_of
from neuralart.config.types import NetworkConfig
from neuralart.errors import NeuralArtError
from neuralart.network.targets import check_name
from neuralart.scons.failures import caller
from neuralart.scons.paths import literal

_FORMS = {key.name: key.form for key in networks.KEYS}


def config_of(env: Any, name: str, model: Any, options: Mapping[str, Any]) -> NetworkConfig:
    """A network from the keywords of a SConstruct, checked by the code that checks variants.yaml.

    Args:
        env: Its variables are expanded in paths and words.
        name: C name.
        model: A path or a node.
        options: As in variants.yaml; mappings are dicts, and None is as if the keyword were not there.

    Raises:
        NeuralArtError: An option is unknown, or has a value that it cannot have.
    """
    place = caller(env)
    where = str(place)
    if not isinstance(name, str):
        raise NeuralArtError(f"{name!r} is not a C identifier", where=where)
    check_name(name, where)
    if SCons.Util.is_Sequence(model) and len(model) != 1:
        raise NeuralArtError(f"networks.{name}: one model, not {len(model)}", where=where)
    if model is None:
        raise NeuralArtError(f"networks.{name}: no model", where=where)
    given = {key: _plain(env, value, _FORMS.get(key, "")) for key, value in options.items() if value is not None}
    # At the place, and with the key, that it would have in a file.
    written = value_of({"networks": {name: given}}, place).mapping()["networks"].mapping()[name]
    settings = networks.read_settings(written, networks.KEYWORDS)
    return networks.resolve(name, place, {"model": (literal(env, model), place)}, settings)


def _plain(env: Any, value: Any, form: str | Mapping[str, str]) -> Any:
    """Text and lists for what an SConstruct may write; anything else stays for the check to refuse."""
    if isinstance(form, Mapping):
        if isinstance(value, Mapping):
            return {name: _plain(env, item, form.get(name, "")) for name, item in value.items()}
        form = form.get("", "")
    if form == PATH:
        one = value[0] if SCons.Util.is_Sequence(value) and len(value) == 1 else value
        return literal(env, one) if isinstance(one, (str, PurePath)) or hasattr(one, "get_abspath") else value
    if form == WORDS:
        # As everywhere in SCons, one text is a list of words.
        return env.Split(value) if SCons.Util.is_Sequence(value) or isinstance(value, str) else value
    return value
