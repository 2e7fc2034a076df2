"""The keys of a network in variants.yaml."""

from __future__ import annotations

from functools import partial
from typing import Any

from neuralart import plugins
from neuralart.config import app_config
from neuralart.config.keys import (
    NETWORK,
    PATH,
    WORDS,
    Key,
    Settings,
    added_values,
    distinct,
    either,
    listed,
    members,
    named,
    names,
    one_of,
    rooms,
    text_or_none,
    with_added,
)
from neuralart.config.keys import read_settings as read_keys
from neuralart.config.network_sections import BUDGET_KEYS, MODEL_KEYS, POOL, read_budgets, resolve_budgets
from neuralart.config.types import COMPILERS, STRATEGIES, AdoptedConfig, NetworkConfig
from neuralart.errors import NeuralArtError
from neuralart.quick import lazy_regex
from neuralart.text.values import Location, Value

DATA_TYPES = ("float32", "int8", "uint8", "int32")
PAIRS = ("profiling",)
MEMORY = ("smallest",)
# Bounds of `check:`, and the largest of each.
LARGEST = {"max_lsb": 1 << 31, "cos": 1, "rmse": 1e30}
METRICS = tuple(LARGEST)
# Compilers that take something.
_PINNED = ("stedgeai", "recorded", "adopted")
# A version or its beginning; a star ends it.
_N = "[0-9]{1,4}"
PIN = lazy_regex(rf"{_N}(?:\.(?:\*|{_N}(?:\.(?:\*|{_N}(?:-(?:\*|[0-9A-Za-z]+))?))?))?")
PIN_FORM = 'a version of ST Edge AI Core, like "4.0.*" or "4.0.1"'
CHANNEL_POSITIONS = ("chfirst", "chlast")
_positions = one_of(CHANNEL_POSITIONS, empty=True)

NAME = lazy_regex(r"[A-Za-z_][A-Za-z0-9_]*")
_C_FILE = lazy_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]*\.c")


def _data_types(value: Value) -> str:
    """One type, or one for each input, separated by commas."""
    text = value.text(empty=True)
    for part in text.split(",") if text else ():
        if part not in DATA_TYPES:
            hint = f"known: {', '.join(DATA_TYPES)}; one, or one per tensor: uint8,int8"
            raise value.error(f"'{part}' is not a data type", hint)
    return text


def _compiler(value: Value) -> Settings:
    """``stedgeai``, ``{stedgeai: "4.0.*"}``, ``{recorded: FOLDER}``, ``{adopted: FOLDER}``. Keyed with what goes with
    it, so that an override replaces all of it.
    """
    version = recording = ""
    adopted: AdoptedConfig | None = None
    if value.is_mapping:
        fields = value.fields(_PINNED)
        if len(fields) != 1:
            raise value.error("names no compiler, or several", '{stedgeai: "4.0.*"}, {recorded: FOLDER}')
        name, entry = next(iter(fields.items()))
        if name == "recorded":
            recording = entry.text()
        elif name == "adopted":
            adopted = _adopted(entry)
        else:
            version = entry.matching(PIN, PIN_FORM)
    else:
        name = _named(value, COMPILERS, "compilers")
        if name == "recorded":
            raise value.error("names no recording", "compiler: {recorded: FOLDER}, as `neuralart record` made it")
        if name == "adopted":
            raise value.error("names no folder", "compiler: {adopted: FOLDER}, where network.c is")
    made = {"compiler": name, "compiler_version": version, "recording": recording, "adopted": adopted}
    return {key: (text, value.where) for key, text in made.items()}


def _adopted(value: Value) -> AdoptedConfig:
    if not value.is_mapping:
        return AdoptedConfig(value.text())
    fields = value.fields(("folder", "c_file", "initializers"))
    if "folder" not in fields:
        raise value.error("'folder' is missing", "{folder: FOLDER, c_file: NAME, initializers: {POOL: FILE}}")
    c_file = fields["c_file"].matching(_C_FILE, "the name of a C file, like network.c") if "c_file" in fields else ""
    files = fields["initializers"].mapping() if "initializers" in fields else {}
    for pool, entry in files.items():
        if not POOL.fullmatch(pool):
            raise entry.error("the key must be the fname of a pool, like xSPI2")
    return AdoptedConfig(fields["folder"].text(), c_file, tuple((pool, entry.text()) for pool, entry in files.items()))


def _named(value: Value, own: tuple[str, ...], kind: str) -> str:
    """One of ours, or the name of a plugin; those are looked for only where it is none of ours."""
    return value.text() if value.text() in own else value.choice(tuple(dict.fromkeys((*own, *plugins.names(kind)))))


def _profile(value: Value) -> Settings:
    """A profile, or ``{base: a profile, add: [options], remove: [options]}``."""
    if not value.is_mapping:
        return {"profile": (_profile_name(value), value.where)}
    fields = value.fields(("base", "add", "remove"))
    made: dict[str, tuple[Any, Location]] = {}
    if "base" in fields:
        made["profile"] = (_profile_name(fields["base"]), fields["base"].where)
    for key in ("add", "remove"):
        if key in fields:
            made[f"profile_{key}"] = (fields[key].texts(), fields[key].where)
    return made


def _check(value: Value) -> tuple[tuple[str, float], ...]:
    """``exact``, or bounds such as ``{max_lsb: 1, cos: 0.999}``."""
    if not value.is_mapping:
        value.choice(("exact",))
        return ()
    fields = value.fields(METRICS)
    if not fields:
        raise value.error("names no bound", "exact, or max_lsb, cos, rmse")
    bounds: dict[str, float] = {}
    for name, entry in fields.items():
        top = LARGEST[name]
        bounds[name] = entry.integer(0, int(top)) if name == "max_lsb" else entry.real(0.0, top)
    return tuple(sorted(bounds.items()))


def _profile_name(value: Value) -> str:
    """``file.json``, ``profile@file.json``, or ``profile@`` for a profile of the board's own file."""
    text = value.text(empty=True)
    if text.startswith("@"):
        raise value.error(f"'{text}' names no profile before the @", "profile@file.json, profile@ or file.json")
    return text


def _strategy(value: Value) -> str:
    return _named(value, STRATEGIES, "strategies") if value.text(empty=True) else ""


def _strategies(value: Value) -> Settings:
    """Keyed like ``strategies.AXISRAM5``, so that an override may change one pool and keep the rest."""
    return named("strategies", value, POOL, "the key must be the fname of a pool, like xSPI2", _strategy)


def _chosen(merged: Settings) -> tuple[tuple[str, str], ...]:
    return tuple((pool, strategy) for pool, (strategy, _) in members(merged, "strategies").items() if strategy)


# In the order of the documentation, which is that of the words of a compile.
KEYS: tuple[Key, ...] = (
    Key(
        "model",
        Value.text,
        "the `.tflite` or `.onnx` file",
        "refused, unless the network is `adopted`",
        form=PATH,
        # env.Network has an argument for it.
        keyword=False,
        taken=("--model", "-m"),
        # It belongs to one network: as a default for all of them it could only be a mistake.
        shared=False,
    ),
    Key(
        "compiler",
        _compiler,
        '`reference`; `stedgeai` or `{stedgeai: "4.0.*"}`: your ST Edge AI Core; `auto`: that if it is installed, else '
        "`reference`; `{recorded: FOLDER}`: what `neuralart record` stored ([stedgeai.md](stedgeai.md)); "
        "`{adopted: FOLDER}`: C that is generated already ([adopt.md](adopt.md))",
        decides=("compiler", "compiler_version", "recording", "adopted"),
        form={"recorded": PATH, "adopted": PATH},
        taken=("--compiler", "--compiler-version", "--recording", "--adopted", "--c-file", "--initializer"),
    ),
    Key(
        "profile",
        _profile,
        "`file.json`, `profile@file.json`; `profile@`: of the board's own file; `profile-NAME`: of the compiler "
        "([stedgeai.md](stedgeai.md#stock-profiles)); `{base: one of those, add: [options], remove: [options]}`",
        "profile `default` of the board's own file",
        decides=("profile", "profile_add", "profile_remove"),
        form={"": PATH, "base": PATH, "add": WORDS, "remove": WORDS},
        taken=("--st-neural-art", "--profile-add", "--profile-remove"),
    ),
    Key("pair", lambda value: value.choice(PAIRS, empty=True), taken=("--pair",)).says(
        "`profiling`: the network is also compiled without the epoch controller, to measure each epoch", "one compile"
    ),
    Key("mpool", text_or_none, form=PATH, taken=("--mpool", "--load-mpool", "--memory-pool")).says(
        "a pool file, instead of the one that the profile names", "the profile's"
    ),
    *MODEL_KEYS,
    Key("memory", lambda value: value.choice(MEMORY, empty=True), option="--memory").says(
        "`smallest`: the reference compiler computes layers in stripes of rows where that saves memory "
        "([cpu-networks.md](cpu-networks.md#layers-in-stripes))",
        "nothing is computed twice",
    ),
    Key("input_data_type", _data_types, option="--input-data-type").says(
        "`float32`, `int8` or `uint8`; several inputs: one each, with commas; `int32` for one that is int32 anyway",
        "as in the model",
    ),
    Key("output_data_type", _data_types, "the same for outputs", "as in the model", option="--output-data-type"),
    Key("inputs_ch_position", _positions, option="--inputs-ch-position").says(
        f"of inputs: {either(CHANNEL_POSITIONS)}", "as in the model"
    ),
    Key("outputs_ch_position", _positions, "the same for outputs", "as in the model", option="--outputs-ch-position"),
    Key("allocate_inputs", Value.boolean, option="--no-inputs-allocation").says(
        "`false`: the application gives the input buffers"
    ),
    Key("allocate_outputs", Value.boolean, option="--no-outputs-allocation").says(
        "`false`: the application gives the output buffers"
    ),
    Key("dispatch_weights", rooms, option="--dispatch-weights").says(
        "of a network on a core: bytes for constants in sections of the linker script "
        "([cpu-networks.md](cpu-networks.md#constants-in-two-flashes))",
        "where the linker script puts constants",
    ),
    Key("options", Value.texts, form=WORDS).says("further options of the compiler, a list of words", "none"),
    Key("extra_options", Value.texts, form=WORDS, taken=("--extra-options",)).says(
        "words for `stedgeai generate` that nothing here looks at", "none"
    ),
    Key("failures", text_or_none, form=PATH, taken=("--failures",)).says(
        "a YAML file that explains failures of ST Edge AI Core, read before our table", "our table"
    ),
    Key("timeout", lambda value: value.real(0.1, 1e6), taken=("--timeout",)).says(
        "seconds that ST Edge AI Core may take for this network", "no limit"
    ),
    Key(
        "initializers",
        lambda value: distinct(value, lambda item: item.matching(POOL, "the fname of a pool, like xSPI2")),
        "the pools (by `fname`) that hold constants and get a raw file",
        "pools that are read-only or prefer constants; if there is none, all pools",
        form=WORDS,
        taken=("--initializers",),
    ),
    Key(
        "app_config",
        app_config.read_settings,
        "what the header of an application (`app_config.h`, `ai_model_config.h`) says: [app-config.md](app-config.md)",
        "no header",
        section=True,
        join=app_config.resolve,
        # env.AppConfig makes it.
        keyword=False,
    ),
    Key("strategies", _strategies, section=True, join=_chosen).says(
        "how the initializer of a pool reaches it, by `fname`: `{AXISRAM5: boot-copy}`, see below",
        "`flash` for pools in flash, `boot-copy` for pools in RAM",
    ),
    Key("vectors", text_or_none, form=PATH).says(
        "a folder of [golden vectors](vectors.md) that outputs are compared with", "outputs are shown, and not compared"
    ),
    Key("input", text_or_none, form=PATH).says(
        "instead: a file or folder of [inputs](vectors.md#inputs) whose outputs are shown", "one pseudo-random input"
    ),
    Key("labels", text_or_none, form=PATH).says(
        "a file with the names of the classes, one a line", "the class names of `app_config`, if it has any"
    ),
    Key("check", _check).says(
        "how close outputs must come to the vectors: `exact`, or bounds `{max_lsb: 1, cos: 0.999, rmse: 0.1}` for each "
        "output tensor",
        "`exact`",
    ),
    Key("min_cos", lambda value: value.real(0.0, 1.0), keyword=False).says(
        "the least cosine of each output that [`neuralart validate`](validate.md) accepts", "any"
    ),
    Key("min_accuracy", lambda value: value.real(0.0, 1.0), keyword=False).says(
        "the least accuracy that it accepts of a classifier, 0 to 1", "any"
    ),
    Key("budgets", read_budgets, section=True, join=resolve_budgets).says(
        f"limits, checked before the link or by `profile-<variant>`: {listed(BUDGET_KEYS)}. [lint.md](lint.md)",
        "no limit",
    ),
)
KEYWORDS = tuple(key.name for key in KEYS if key.keyword)
keys_of = partial(with_added, NETWORK, KEYS)


def read_settings(value: Value, known: tuple[str, ...] = ()) -> Settings:
    """Read a network's keys, or only the ``known`` ones; members of sections are named like ``strategies.xSPI2``."""
    return read_keys(value, keys := keys_of(value), known or names(keys))


def resolve(name: str, where: Location, *layers: Settings) -> NetworkConfig:
    """Make a network from its layers; later ones win. NeuralArtError: keys of ``app_config`` contradict each other."""
    merged = {key: setting for layer in layers for key, setting in layer.items()}
    values = {field: value for key in KEYS for field, value in key.values(merged).items()}
    if "model" not in values and values.get("compiler") != "adopted":
        raise NeuralArtError(f"network {name} names no model", where=str(where), hint="model: models/digits.tflite")
    if values.get("vectors") and values.get("input"):
        what = f"network {name}: 'vectors' and 'input' cannot both be there"
        hint = "vectors have inputs of their own; 'vectors: \"\"' in an override takes them away"
        raise NeuralArtError(what, where=str(merged["input"][1]), hint=hint)
    places = {key: setting[1] for key, setting in merged.items()}
    values = {"model": "", **values, "added": added_values(NETWORK, merged, KEYS)}
    return NetworkConfig(name=name, where=where, places=places, **values)
