"""The keywords of ``env.Network`` as the settings that variants.yaml gives a network."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import SCons.Util

from neuralart.config.networks import LARGEST, METRICS, PAIRS, PIN, PIN_FORM
from neuralart.config.types import NetworkConfig
from neuralart.errors import NeuralArtError, nearest
from neuralart.scons.compilers import RECORDED, REFERENCE, STEDGEAI
from neuralart.scons.paths import literal
from neuralart.text.values import Location

# Limits ("budgets") are kept by what links a network.
_OTHERS = {
    "name",
    "model",
    "where",
    "places",
    "compiler_version",
    "recording",
    "profile_add",
    "profile_remove",
    "budgets",
    "app_config",
}
_KEYWORDS = tuple(f.name for f in fields(NetworkConfig) if f.name not in _OTHERS)


def config_of(env: Any, name: str, model: Any, options: dict[str, Any]) -> NetworkConfig:
    """A network from the keywords of a SConstruct.

    Args:
        env: Its variables are expanded in paths and words.
        name: C name.
        model: A path or a node.
        options: As in variants.yaml.

    Raises:
        NeuralArtError: An option is unknown, or has a value that it cannot have.
    """
    where = f"Network('{name}')"
    for keyword in options:
        if keyword not in _KEYWORDS:
            raise NeuralArtError(f"unknown option '{keyword}'", where=where, hint=nearest(keyword, _KEYWORDS))
    if SCons.Util.is_Sequence(model) and len(model) != 1:
        raise NeuralArtError(f"one model, not {len(model)}", where=where)
    if model is None:
        raise NeuralArtError("no model", where=where)
    options |= {
        **_compiler_keys(options.pop("compiler", REFERENCE), where),
        **_profile_keys(options.pop("profile", ""), where),
    }
    strategies = options.get("strategies", {})
    if not isinstance(strategies, dict) or not all(isinstance(text, str) for text in strategies.values()):
        raise NeuralArtError(f"strategies must map pools to strategies, not {strategies!r}", where=where)
    options["strategies"] = tuple(sorted(strategies.items()))
    for keyword in ("options", "initializers", "extra_options", "profile_add", "profile_remove"):
        if options.get(keyword) is not None:
            # As everywhere in SCons, one text is a list of words.
            options[keyword] = tuple(env.Split(options[keyword]))
            if not all(isinstance(text, str) for text in options[keyword]):
                raise NeuralArtError(f"{keyword} must be text or a list of texts", where=where)
    for keyword in ("allocate_inputs", "allocate_outputs"):
        if not isinstance(options.get(keyword, True), bool):
            raise NeuralArtError(f"{keyword} must be True or False, not {options[keyword]!r}", where=where)
    options["check"] = _bounds(options.get("check", "exact"), where)
    if options.get("pair", "") not in ("", *PAIRS):
        raise NeuralArtError(f"no pair {options['pair']!r}", where=where, hint=nearest(str(options["pair"]), PAIRS))
    for keyword in ("profile", "mpool", "vectors", "recording", "failures"):
        options[keyword] = literal(env, options.get(keyword) or "")
    return NetworkConfig(name=name, model=literal(env, model), where=Location("", 0), **options)


def _compiler_keys(value: Any, where: str) -> dict[str, Any]:
    """``compiler="stedgeai"``, ``{"stedgeai": "4.0.*"}`` or ``{"recorded": FOLDER}`` as settings."""
    if isinstance(value, str):
        if value == RECORDED:
            raise NeuralArtError("compiler recorded names no recording", where=where, hint='{"recorded": FOLDER}')
        return {"compiler": value}
    keys = {STEDGEAI: "compiler_version", RECORDED: "recording"}
    if not isinstance(value, dict) or len(value) != 1 or not set(value) <= set(keys):
        raise NeuralArtError(
            f"compiler must be a name or {{'stedgeai': VERSION}} or {{'recorded': FOLDER}}, not {value!r}", where=where
        )
    ((kind, what),) = value.items()
    if kind == STEDGEAI and not (isinstance(what, str) and PIN.fullmatch(what)):
        raise NeuralArtError(f"compiler: {what!r} is not {PIN_FORM}", where=where)
    if not what:
        raise NeuralArtError(f"compiler {kind} names no recording", where=where, hint='{"recorded": FOLDER}')
    return {"compiler": kind, keys[kind]: what}


def _profile_keys(value: Any, where: str) -> dict[str, Any]:
    """``profile="name@file"`` or ``{"base": ..., "add": [...], "remove": [...]}`` as settings."""
    if not isinstance(value, dict):
        return {"profile": value}
    for key in value:
        if key not in ("base", "add", "remove"):
            hint = nearest(str(key), ["base", "add", "remove"])
            raise NeuralArtError(f"profile: unknown key '{key}'", where=where, hint=hint)
    made = {f"profile_{key}": value[key] for key in ("add", "remove") if key in value}
    return {"profile": value.get("base", ""), **made}


def _bounds(value: Any, where: str) -> tuple[tuple[str, float], ...]:
    """``check="exact"`` or ``{"max_lsb": 1, "cos": 0.999}`` as settings."""
    if value == "exact":
        return ()
    good = isinstance(value, dict) and value and set(value) <= set(METRICS)
    if not good or not all(_is_bound(name, bound) for name, bound in value.items()):
        raise NeuralArtError(
            f"check must be 'exact' or bounds of {', '.join(METRICS)}, not {value!r}",
            where=where,
            hint='as in {"max_lsb": 1, "cos": 0.999}: max_lsb is a whole number, cos 0 to 1',
        )
    return tuple(sorted(value.items()))


def _is_bound(name: str, bound: Any) -> bool:
    if isinstance(bound, bool) or not isinstance(bound, int if name == "max_lsb" else (int, float)):
        return False
    return bool(0 <= bound <= LARGEST[name])
