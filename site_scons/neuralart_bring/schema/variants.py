"""JSON Schema of ``variants.yaml``, for editors: made from the declarations of its keys."""

from __future__ import annotations

from collections.abc import Iterable

from neuralart.config import app_config, application, network_sections, networks, patch, variant_keys
from neuralart.config.keys import NETWORK, PROJECT, VARIANT, Key, every_key
from neuralart.config.read import SCHEMA
from neuralart_bring.schema import json_schema
from neuralart_bring.schema.json_schema import Schema, closed, described

_DECLARED: tuple[tuple[Key, ...], ...] = (
    network_sections.BUDGET_KEYS,
    app_config.KEYS,
    app_config.AUDIO_KEYS,
    patch.KEYS,
    variant_keys.TOOLCHAIN_KEYS,
    variant_keys.RELOCATABLE_KEYS,
    variant_keys.SIGN_KEYS,
    *application.KEYS.values(),
)
_DOCS = {frozenset(key.name for key in keys): {key.name: key.doc for key in keys} for keys in _DECLARED}
for _of in (NETWORK, VARIANT, PROJECT):
    for _, _added in every_key(_of):
        for _keys, _ in _added.sections.values():
            _DOCS[frozenset(key.name for key in _keys)] = {key.name: key.doc for key in _keys}

# What a network must have: generated C that is there already needs no model.
_MODEL: Schema = {"required": ["model"]}
_ADOPTED: Schema = {"required": ["compiler"], "properties": {"compiler": {"required": ["adopted"], "type": "object"}}}


def variants() -> Schema:
    """The schema; names of plugins that are installed here are among the words that it allows."""
    network = {**_properties(networks.KEYS), **_of_plugins(NETWORK)}
    variant = {**_properties(variant_keys.KEYS), **_of_plugins(VARIANT)}
    variant["overrides"] |= {"type": "object", "additionalProperties": _ref("network")}
    names = {"type": "string", "minLength": 1}
    shared = {"network": _shared("network", networks.KEYS), "variant": _shared("variant", variant_keys.KEYS)}
    top = {
        "schema": described({"const": SCHEMA}, "version of this format"),
        "default": described(
            {"anyOf": [names, {"type": "array", "items": names}]},
            "what a bare `scons` builds; without it: all variants",
        ),
        "boards": described({"type": "array", "items": names}, "board files of your own"),
        "defaults": described(closed(shared), "keys that all networks or all variants share"),
        "networks": _named({"allOf": [_ref("network"), {"anyOf": [_MODEL, _ADOPTED]}]}, networks.NAME.pattern),
        "variants": _named(_ref("variant"), variant_keys.NAME.pattern),
    }
    return {
        **json_schema.HEAD,
        "title": "variants.yaml of scons-neuralart",
        **closed({**top, **_of_plugins(PROJECT)}, ("schema", "networks", "variants")),
        "$defs": {"network": closed(network), "variant": closed(variant)},
    }


def _of_plugins(of: str) -> dict[str, Schema]:
    return {name: described(json_schema.found(key.read).schema(_DOCS), key.doc) for name, key in every_key(of)}


def _properties(keys: Iterable[Key]) -> dict[str, Schema]:
    return {key.name: described(json_schema.found(key.settings).schema(_DOCS), key.doc) for key in keys}


def _shared(owner: str, keys: Iterable[Key]) -> Schema:
    return closed({key.name: _ref(f"{owner}/properties/{key.name}") for key in keys if key.shared})


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _named(schema: Schema, pattern: str) -> Schema:
    return {
        "type": "object",
        "propertyNames": {"pattern": f"^(?:{pattern})$"},
        "minProperties": 1,
        "additionalProperties": schema,
    }
