"""`neuralart tool schema`: what the readers take is valid, a misspelled key is not, and every declared key is in it."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from neuralart import boards, cli, config
from neuralart.config import app_config, application, network_sections, networks, patch, variant_keys
from neuralart.config.keys import every_key, names
from neuralart.errors import NeuralArtError
from neuralart.resources import board_data_dir
from neuralart.text.values import Value
from neuralart_bring.own_model import project
from neuralart_bring.schema import json_schema
from support.projects.machine_edits import MODEL_KEYS, NETWORK_KEYS, VARIANT_KEYS

REPO = Path(__file__).resolve().parents[3]
PROJECTS = [REPO / "variants.yaml", REPO / "examples/plugin/product/variants.yaml"]
BOARDS = sorted([*board_data_dir().rglob("*.yaml"), *(REPO / "tests").rglob("board*.yaml")])
BLOCK = re.compile(r"^```yaml\n(.*?)^```$", re.M | re.S)


@cache
def validator(kind: str) -> jsonschema.Draft202012Validator:
    schema = json.loads(project.schema_text(kind))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def _valid(kind: str, text: str) -> bool:
    return bool(validator(kind).is_valid(yaml.safe_load(text)))


def _in_docs() -> Iterator[tuple[str, Any]]:
    """(page, value) of YAML in the documentation."""
    for page in sorted((REPO / "docs").rglob("*.md")):
        for text in BLOCK.findall(page.read_text("utf-8")):
            # The one of the page about plugins has a machine that its plugin brings.
            yield page.name, yaml.safe_load(text.replace("\n  lab:\n", "\n  silicon:\n"))


def test_the_projects_of_this_repository() -> None:
    for path in PROJECTS:
        text = path.read_text("utf-8")
        # The one of the example names a compiler that its plugin brings.
        validator("variants").validate(yaml.safe_load(text.replace("compiler: hashed", "compiler: auto")))


def test_what_the_documentation_shows() -> None:
    """Whole files, and parts of them."""
    schema, board = validator("variants").schema, validator("board").schema
    known = {"network": names(networks.KEYS), "variant": names(variant_keys.KEYS)}
    count = 0
    for page, value in _in_docs():
        part = {"$defs": schema["$defs"]}
        if set(value) <= set(schema["properties"]):
            part |= {key: each for key, each in schema.items() if key != "required"}
        elif kind := next((kind for kind in known if set(value) <= set(known[kind])), ""):
            part["$ref"] = f"#/$defs/{kind}"
        elif all(isinstance(each, dict) for each in value.values()) and page == "own-model.md":
            part |= {"additionalProperties": {"$ref": "#/$defs/variant"}}
        elif set(value) <= set(board["properties"]):
            part = board
        else:
            continue
        count += 1
        try:
            jsonschema.Draft202012Validator(part).validate(value)
        except jsonschema.ValidationError as error:
            raise AssertionError(f"{page}: {error.message}: {value}") from None
    assert count >= 11


@pytest.mark.parametrize("path", BOARDS, ids=lambda path: path.stem)
def test_boards(path: Path) -> None:
    validator("board").validate(yaml.safe_load(path.read_text("utf-8")))


def test_a_new_project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["new", str(tmp_path / "cam"), "--board", "mps3-an547"]) == 0
    text = (tmp_path / "cam/variants.yaml").read_text("utf-8")
    named = re.match(r"# yaml-language-server: \$schema=(\S+)\n", text)
    assert named is not None
    capsys.readouterr()
    assert cli.main(["tool", "schema"]) == 0
    assert (tmp_path / "cam" / named[1]).read_text("utf-8") == capsys.readouterr().out
    assert _valid("variants", text)
    assert cli.main(["tool", "schema", "board"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "board of scons-neuralart"


def _keys(schema: dict[str, Any], top: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Names of the keys of each mapping that has known ones."""
    if "$ref" in schema:
        return
    if "properties" in schema:
        assert schema["additionalProperties"] is False
        yield tuple(schema["properties"])
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", ()), *schema.get("$defs", {}).values()]
    inner += [schema[key] for key in ("items", "additionalProperties") if isinstance(schema.get(key), dict)]
    for each in inner:
        yield from _keys(each, top)


def test_every_declared_key() -> None:
    schema = validator("variants").schema
    found = set(_keys(schema, schema))
    tables = [networks.KEYS, network_sections.BUDGET_KEYS, variant_keys.KEYS, variant_keys.TOOLCHAIN_KEYS]
    tables += [
        variant_keys.RELOCATABLE_KEYS,
        patch.KEYS,
        app_config.KEYS,
        app_config.AUDIO_KEYS,
        *application.KEYS.values(),
    ]
    added = tuple(name for name, _ in every_key("variant"))
    assert {(*names(table), *(added if table is variant_keys.KEYS else ())) for table in tables} <= found
    for name, table in (("network", networks.KEYS), ("variant", variant_keys.KEYS)):
        rows = schema["$defs"][name]["properties"]
        assert all(rows[key.name]["description"] and len(rows[key.name]) > 1 for key in table)
    board = validator("board").schema
    assert set(board["properties"]) == set(boards.loading.KEYS)
    # An empty schema would take anything: a reader failed in front of what it did not read.
    assert "{}" not in json.dumps(board)


def _misspelled(value: Any) -> Iterator[Any]:
    """The value with one key changed, at each place."""
    if isinstance(value, dict):
        for key in value:
            yield {(f"{name}_" if name == key else name): each for name, each in value.items()}
            for inner in _misspelled(value[key]):
                yield {**value, key: inner}
    elif isinstance(value, list):
        for index, item in enumerate(value):
            for inner in _misspelled(item):
                yield [*value[:index], inner, *value[index + 1 :]]


# Free names stand above these: networks, variants, pools, slots.
FULL = """\
schema: 1
default: a
defaults: {network: {compiler: auto}, variant: {optimization: -Os}}
networks:
  n:
    model: m.tflite
    profile: {base: p.json, add: [-x], remove: [-y]}
    compiler: {stedgeai: "4.0.*"}
    check: {max_lsb: 1}
    budgets: {max_weights: 4K, forbidden_pools: [xSPI1]}
    app_config: {use_case: audio_event_detection, audio: {n_fft: 512, htk: true}}
variants:
  a:
    board: b
    network: n
    toolchain: {libc: picolibc}
    reserved: [{name: x, address: 0x70000000, size: 64K}]
    relocatable: {split: true, modes: [copy]}
    patch: {aspect_ratio: fit}
    application: {make: {folder: f, artefact: a.elf}}
    overrides: {n: {output_data_type: float32}}
"""


def test_a_misspelled_key_anywhere() -> None:
    value = yaml.safe_load(FULL)
    assert validator("variants").is_valid(value)
    wrong = list(_misspelled(value))
    # Those of networks and variants are free names.
    free = [
        {**value, "networks": {"n_": value["networks"]["n"]}},
        {**value, "variants": {"a_": value["variants"]["a"]}},
    ]
    changed = copy.deepcopy(value)
    changed["variants"]["a"]["overrides"] = {"n_": changed["variants"]["a"]["overrides"]["n"]}
    accepted = [each for each in wrong if validator("variants").is_valid(each)]
    assert accepted == [free[0], free[1], changed] and len(wrong) > 40


DRAWN = [
    *(("network", key, text) for key, texts in NETWORK_KEYS.items() for text in texts if text),
    *(("variant", key, text) for key, texts in VARIANT_KEYS.items() for text in texts if text),
    *(("relocatable", key, text) for key, texts in MODEL_KEYS.items() for text in texts if text),
]


def test_what_the_readers_take_is_valid() -> None:
    """A schema that marks what works would be worse than none."""
    for kind, key, text in DRAWN:
        line = text if key == "networks" else f"{key}: {text}"
        if key in ("mpool", "strategies"):
            line = f"overrides: {{n: {{{key}: {text if key == 'mpool' else f'{{xSPI2: {text}}}'}}}}}"
        if key == "application":
            line = "application: reference"
        network = f"    {line}\n" if kind == "network" and key != "model" else ""
        variant = (
            f"    {line}\n" if kind == "variant" else f"    relocatable: {{{line}}}\n" if kind == "relocatable" else ""
        )
        needed = [
            each for each in ("board: b", "network: digits") if not variant.startswith(f"    {each.partition(':')[0]}")
        ]
        file = "schema: 1\nnetworks:\n  digits:\n    model: m\n" + network + "variants:\n  v:\n" + variant
        file += "".join(f"    {each}\n" for each in needed)
        assert _valid("variants", file), file


@pytest.mark.parametrize(
    "wrong",
    [
        "machine: silcon",
        "optimization: -Ofast",
        "relocatable: {modes: [xpi]}",
        "relocatable: 1",
        "defines: A",
        "allow_reference_on_hardware: 3",
        "reserved: [{name: x, address: here}]",
        "slots: {application: [1]}",
        "toolchain: gcc",
    ],
)
def test_wrong_values(wrong: str) -> None:
    head = "schema: 1\nnetworks: {n: {model: m}}\nvariants:\n  v:\n    board: b\n    network: n\n"
    assert _valid("variants", head) and not _valid("variants", f"{head}    {wrong}\n")


@pytest.mark.parametrize(
    "text", ["networks: {n: {model: m}}", "schema: 2", "schema: 1\nnetworks: {}\nvariants: {v: {}}"]
)
def test_what_is_needed(text: str) -> None:
    assert not _valid("variants", text)


def _sometimes(value: Value) -> None:
    """Members behind one that is refused, and alternatives."""
    fields = value.fields(("a", "b", "c"))
    if len(fields) > 1:
        raise value.error("one only")
    if "a" in fields:
        fields["a"].items()[0].boolean()
    elif "b" in fields and not fields["b"].is_list:
        fields["b"].choice(("x", "y"), empty=True)
    elif "b" in fields:
        fields["b"].reals(0, 1)
    else:
        fields["c"].get("name")


def test_readers_are_asked_until_nothing_is_new() -> None:
    said = {frozenset("abc"): {"a": "see [page](page.md#x)"}}
    assert json_schema.found(_sometimes).schema(said) == {
        "type": "object",
        "properties": {
            "a": {"description": "see page", "type": "array", "items": {"type": "boolean"}},
            "b": {
                "anyOf": [
                    {"enum": ["x", "y", ""]},
                    {"type": "array", "items": {"type": "number", "minimum": 0, "maximum": 1}},
                ]
            },
            "c": {"type": "object", "additionalProperties": {}},
        },
        "additionalProperties": False,
    }


def test_a_text_that_may_be_empty_and_one_that_means_something() -> None:
    def word(value: Value) -> str:
        return value.choice(("yes", "no")) if value.text(empty=True) else ""

    assert json_schema.found(lambda value: value.text(empty=True)).schema({}) == {"type": "string"}
    assert json_schema.found(word).schema({}) == {"anyOf": [{"enum": ["yes", "no"]}, {"enum": [""]}]}
    assert json_schema.found(lambda value: None).schema({}) == {}


def test_what_the_schema_cannot_know_the_reader_says(tmp_path: Path) -> None:
    text = "schema: 1\nnetworks: {n: {model: m}}\nvariants: {v: {board: b, network: other}}\n"
    assert _valid("variants", text)
    (tmp_path / "variants.yaml").write_text(text, "utf-8")
    with pytest.raises(NeuralArtError, match="no network 'other'"):
        config.read(tmp_path / "variants.yaml")
