"""variants.yaml: what is read, and the one line that says why it is not."""

from __future__ import annotations

import string
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from neuralart import config
from neuralart.config import variant_keys
from neuralart.config.read import KEYS as TOP_KEYS
from neuralart.config.read import RESERVED, verbs
from neuralart.config.types import STRATEGIES, Location, NetworkConfig, Reserved, ToolchainConfig
from neuralart.errors import NeuralArtError
from neuralart.text import yaml_values
from support.cases.variants_text import GOOD
from support.servers.messages import one_message

ROOT = Path(__file__).resolve().parents[3]


def read(tmp_path: Path, text: str | bytes) -> config.ProjectFile:
    path = tmp_path / "variants.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return config.read(path, "variants.yaml")


def refusal(tmp_path: Path, text: str | bytes) -> str:
    with pytest.raises(NeuralArtError) as caught:
        read(tmp_path, text)
    said = str(caught.value)
    one_message(said)
    return said


def test_whole_file(tmp_path: Path) -> None:
    file = read(tmp_path, GOOD)
    assert file.config.path == "variants.yaml"
    assert file.config.default == ("one",)
    assert file.config.titles == {"one": "First", "two": "wake_word, digits on mine"}
    assert file.config.boards == ("boards/mine.yaml",)


def test_defaults_fill_what_nobody_wrote(tmp_path: Path) -> None:
    one = read(tmp_path, GOOD).variant("one")
    assert one.toolchain == ToolchainConfig("arm-none-eabi-", "picolibc", "")
    assert (one.board, one.machine, one.optimization, one.defines) == ("stm32n6570-dk", "", "-O2", ())
    assert one.networks == (
        NetworkConfig(
            name="digits",
            model="models/digits.tflite",
            input_data_type="uint8",
            options=("--all-buffers-info",),
            vectors="models/vectors",
            where=Location("variants.yaml", 12),
        ),
    )


def test_override_beats_network_beats_defaults(tmp_path: Path) -> None:
    two = read(tmp_path, GOOD).variant("two")
    wake, digits = two.networks
    assert (wake.name, wake.input_data_type, wake.allocate_inputs, wake.initializers) == (
        "wake_word",
        "int8",
        False,
        ("xSPI2",),
    )
    assert (digits.input_data_type, digits.output_data_type, digits.options) == ("uint8", "float32", ())
    assert two.toolchain == ToolchainConfig("arm-none-eabi-", "newlib", "12.2")
    assert (two.machine, two.optimization, two.defines) == ("qemu", "-Os", ("TRACE", "LIMIT=3"))


def test_an_override_stays_in_its_variant(tmp_path: Path) -> None:
    file = read(tmp_path, GOOD)
    file.variant("two")
    assert file.variant("one").networks[0].output_data_type == ""


def test_places_are_kept(tmp_path: Path) -> None:
    two = read(tmp_path, GOOD).variant("two")
    assert str(two.where) == "variants.yaml:25"
    assert str(two.place("board")) == "variants.yaml:26"
    assert str(two.place("toolchain.prefix")) == "variants.yaml:9"
    assert str(two.place("title")) == "variants.yaml:25", "not written: the variant's own place"
    digits = two.networks[1]
    assert str(digits.place("model")) == "variants.yaml:13"
    assert str(digits.place("output_data_type")) == "variants.yaml:33"
    assert str(digits.place("input_data_type")) == "variants.yaml:6"


def test_without_default_all_variants_are_built(tmp_path: Path) -> None:
    assert read(tmp_path, GOOD.replace("default: [one]\n", "")).config.default == ("one", "two")


def test_default_may_be_one_word(tmp_path: Path) -> None:
    assert read(tmp_path, GOOD.replace("[one]", "two")).config.default == ("two",)


def test_unknown_variant(tmp_path: Path) -> None:
    with pytest.raises(NeuralArtError) as caught:
        read(tmp_path, GOOD).variant("oen")
    assert str(caught.value) == "variants.yaml: no variant 'oen' (did you mean 'one'? known: one, two)"


def test_byte_order_mark_crlf_anchors_and_hex_are_read(tmp_path: Path) -> None:
    text = GOOD.replace("toolchain: {prefix", "toolchain: &tc {prefix").replace(
        '{libc: newlib, version: "12.2"}', "*tc"
    )
    file = read(tmp_path, b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert file.variant("two").toolchain == ToolchainConfig("arm-none-eabi-", "picolibc", "")
    assert file.variant("two").place("board").line == 26


def test_both_loaders_read_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = read(tmp_path, GOOD)
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    slow = read(tmp_path, GOOD)
    assert slow.config == fast.config
    assert [slow.variant(n) for n in ("one", "two")] == [fast.variant(n) for n in ("one", "two")]


def test_own_project_file() -> None:
    file = config.read(ROOT / "variants.yaml", "variants.yaml")
    assert file.config.default == (
        "digits-n6",
        "digits-an547",
        "digits-n6-rel",
        "mobilenet-n6-rel",
        "digits-n6-rel-ext",
    )
    for name, board in (("digits-n6", "stm32n6570-dk"), ("digits-an547", "mps3-an547")):
        variant = file.variant(name)
        assert variant.board == board
        assert [(n.name, n.model, n.compiler) for n in variant.networks] == [
            ("digits", "models/digits/digits.tflite", "reference")
        ]


VARIANT_KEYS = (
    "allow_reference_on_hardware, application, assume, board, boot, dead_bank, defines, fsbl, kernels, machine, "
    "network, networks, optimization, overrides, patch, relocatable, reserved, runner, sign, slots, ties, title, "
    "toolchain"
)
NETWORK_KEYS = (
    "allocate_inputs, allocate_outputs, app_config, budgets, check, compiler, cut, dispatch_weights, "
    "extra_options, failures, initializers, input, input_data_type, input_shapes, inputs_ch_position, labels, memory, "
    "min_accuracy, min_cos, model, mpool, options, output_data_type, outputs_ch_position, pair, profile, "
    "strategies, timeout, vectors"
)

# (what is replaced in GOOD, by what, the whole line that must be said)
BAD = [
    ("schema: 1", "schema: 2", "variants.yaml:1: schema: 2 is not a version this program reads (it reads schema: 1)"),
    ("schema: 1\n", "", "variants.yaml:1: 'schema' is missing (begin the file with 'schema: 1')"),
    (
        "schema: 1",
        "schema: one",
        "variants.yaml:1: schema: must be a number, this is 'one' (decimal, 0x34200000, or a size such as 448K, 1M)",
    ),
    (
        "default: [one]",
        "defaut: [one]",
        "variants.yaml:2: unknown key 'defaut' (did you mean 'default'? known: boards, cache, default, defaults, "
        "execute, networks, schema, variants)",
    ),
    (
        "default: [one]",
        "default: [on3]",
        "variants.yaml:2: default[0]: no variant 'on3' (did you mean 'one'? known: one, two)",
    ),
    ("default: [one]", "default: three", "variants.yaml:2: default: no variant 'three' (known: one, two)"),
    ("default: [one]", "default: [one, one]", "variants.yaml:2: default[1]: 'one' is named twice"),
    (
        "default: [one]",
        "default: []",
        "variants.yaml:2: default: is empty "
        "(name at least one variant, or leave 'default' out: then it is all of them)",
    ),
    ("default: [one]", "default:", "variants.yaml:2: default: is empty (give it a value, or leave the key out)"),
    (
        "default: [one]",
        "default: [on]",
        'variants.yaml:2: default[0]: on is a true/false value in YAML, this must be text (quote it: "on")',
    ),
    (
        "boards: [boards/mine.yaml]",
        "boards: boards/mine.yaml",
        "variants.yaml:3: boards: must be a list, like [a, b], this is 'boards/mine.yaml'",
    ),
    ("boards: [boards/mine.yaml]", "boards: [a.yaml, a.yaml]", "variants.yaml:3: boards[1]: 'a.yaml' is named twice"),
    (
        "    input_data_type: uint8",
        "    model: x.tflite",
        "variants.yaml:6: defaults.network.model: cannot be the same for all of them\n  allowed here: "
        + NETWORK_KEYS.replace(" model,", "").replace(" cut,", "").replace(" input_shapes,", ""),
    ),
    (
        "    input_data_type: uint8",
        "    input_data_type: uint16",
        "variants.yaml:6: defaults.network.input_data_type: 'uint16' is not a data type "
        "(known: float32, int8, uint8, int32; one, or one per tensor: uint8,int8)",
    ),
    (
        "    options: [--all-buffers-info]",
        "    options: --all-buffers-info",
        "variants.yaml:7: defaults.network.options: must be a list, like [a, b], this is '--all-buffers-info'",
    ),
    (
        "    optimization: -O2",
        "    title: all",
        "variants.yaml:10: defaults.variant.title: cannot be the same for all of them (allowed here: "
        "allow_reference_on_hardware, application, board, boot, dead_bank, "
        "defines, fsbl, kernels, machine, network, networks, optimization, patch, relocatable, reserved, runner, sign, "
        "slots, "
        "toolchain)",
    ),
    (
        "    optimization: -O2",
        "    optimization: -o2",
        "variants.yaml:10: defaults.variant.optimization: '-o2' is not allowed "
        "(did you mean '-O2'? known: -O0, -O1, -O2, -O3, -Og, -Os, -Oz)",
    ),
    (
        "    optimization: -O2",
        "    optimization: -Ofast",
        "variants.yaml:10: defaults.variant.optimization: -Ofast changes the results of floating-point arithmetic "
        "(allowed: -O0, -O1, -O2, -O3, -Os, -Og, -Oz)",
    ),
    (
        "prefix: arm-none-eabi-,",
        "perfix: arm-none-eabi-,",
        "variants.yaml:9: unknown key 'perfix' in defaults.variant.toolchain "
        "(did you mean 'prefix'? known: libc, prefix, tolerate, version)",
    ),
    (
        "libc: picolibc}",
        "libc: glibc}",
        "variants.yaml:9: defaults.variant.toolchain.libc: 'glibc' is not allowed "
        "(did you mean 'picolibc'? known: auto, newlib, newlib-nano, picolibc)",
    ),
    (
        "  digits:\n    model",
        "  my-net:\n    model",
        "variants.yaml:12: networks.my-net: the name must be a C identifier",
    ),
    (
        "  wake_word:\n",
        "  Digits:\n",
        "variants.yaml:15: networks.Digits: the name differs from 'digits' only in upper and lower case",
    ),
    ("  wake_word:\n", "  digits:\n", "variants.yaml:15: networks.digits: is written twice, first in line 12"),
    (
        "    vectors: models/vectors",
        "    vector: models/vectors",
        "variants.yaml:14: unknown key 'vector' in networks.digits\n  did you mean 'vectors'? known: " + NETWORK_KEYS,
    ),
    (
        "    model: models/digits.tflite\n",
        "",
        "variants.yaml:12: networks.digits: names no model (for example model: models/digits/digits.tflite)",
    ),
    (
        "    model: models/digits.tflite",
        "    model:",
        "variants.yaml:13: networks.digits.model: is empty (give it a value, or leave the key out)",
    ),
    (
        "    model: models/digits.tflite",
        "    model: [a, b]",
        "variants.yaml:13: networks.digits.model: must be text, this is a list",
    ),
    (
        "    model: models/digits.tflite",
        "    model: !path a",
        "variants.yaml:13: networks.digits.model: the tag !path means nothing here (leave it out)",
    ),
    (
        "    model: models/digits.tflite",
        '    model: "a\\0b"',
        "variants.yaml:13: networks.digits.model: has a control character in it",
    ),
    (
        "    model: models/digits.tflite",
        '    model: "a\\nb"',
        "variants.yaml:13: networks.digits.model: must be one line of text",
    ),
    (
        "    vectors: models/vectors",
        "    compiler: stedge",
        "variants.yaml:14: networks.digits.compiler: 'stedge' is not allowed (did you mean 'stedgeai'? known: adopted, "
        "auto, recorded, reference, stedgeai)",
    ),
    (
        "    vectors: models/vectors",
        "    inputs_ch_position: last",
        "variants.yaml:14: networks.digits.inputs_ch_position: 'last' is not allowed "
        "(did you mean 'chlast'? known: chfirst, chlast)",
    ),
    (
        "    vectors: models/vectors",
        "    profile: '@p.json'",
        "variants.yaml:14: networks.digits.profile: '@p.json' names no profile before the @ "
        "(profile@file.json, profile@ or file.json)",
    ),
    (
        "    allocate_inputs: false",
        "    allocate_inputs: no",
        "variants.yaml:18: networks.wake_word.allocate_inputs: must be true or false, this is 'no'",
    ),
    (
        "    allocate_inputs: false",
        "    allocate_inputs: 'false'",
        "variants.yaml:18: networks.wake_word.allocate_inputs: must be true or false, this is 'false'",
    ),
    ("[xSPI2]", "[xSPI2, xSPI2]", "variants.yaml:19: networks.wake_word.initializers[1]: 'xSPI2' is named twice"),
    (
        "[xSPI2]",
        "[../x]",
        "variants.yaml:19: networks.wake_word.initializers[0]: '../x' is not the fname of a pool, like xSPI2",
    ),
    (
        "    network: digits",
        "    netwrk: digits",
        "variants.yaml:24: unknown key 'netwrk' in variants.one (did you mean 'network'? known: " + VARIANT_KEYS + ")",
    ),
    (
        "    network: digits\n",
        "",
        "variants.yaml:21: variants.one: names no network (add network: NAME; known: digits, wake_word)",
    ),
    (
        "    network: digits",
        "    network: digit",
        "variants.yaml:24: variants.one: no network 'digit' (did you mean 'digits'? known: digits, wake_word)",
    ),
    (
        "    network: digits",
        "    network: digits\n    networks: [digits]",
        "variants.yaml:24: variants.one.network: 'network' and 'networks' cannot both be there (keep one of them)",
    ),
    (
        "networks: [wake_word, digits]",
        "networks: [digits, digits]",
        "variants.yaml:28: variants.two.networks[1]: 'digits' is named twice",
    ),
    (
        "networks: [wake_word, digits]",
        "networks: []",
        "variants.yaml:28: variants.two.networks: is empty (name at least one network)",
    ),
    (
        "    board: stm32n6570-dk\n",
        "",
        "variants.yaml:21: variants.one: names no board (for example board: stm32n6570-dk)",
    ),
    (
        "    title: First",
        "    title: 2024",
        'variants.yaml:22: variants.one.title: 2024 is a number in YAML, this must be text (quote it: "2024")',
    ),
    (
        "    title: First",
        "    title: 2024-01-01",
        "variants.yaml:22: variants.one.title: 2024-01-01 is a date in YAML, this must be text "
        '(quote it: "2024-01-01")',
    ),
    (
        "    machine: qemu",
        "    machine: renode",
        "variants.yaml:27: variants.two.machine: 'renode' is not allowed (known: qemu, silicon, unicorn)",
    ),
    (
        'version: "12.2"',
        "version: 12.10",
        "variants.yaml:29: variants.two.toolchain.version: 12.10 is a number in YAML, this must be text "
        '(quote it: "12.10")',
    ),
    (
        'version: "12.2"',
        "version: twelve",
        "variants.yaml:29: variants.two.toolchain.version: 'twelve' is not a version of gcc, like 12 or 12.2",
    ),
    (
        "defines: [TRACE, LIMIT=3]",
        "defines: [TRACE, 3=LIMIT]",
        "variants.yaml:30: variants.two.defines[1]: '3=LIMIT' is not NAME or NAME=value",
    ),
    (
        "      digits: {output_data_type: float32, options: []}",
        "      digit: {output_data_type: float32}",
        "variants.yaml:33: variants.two.overrides.digit: this variant does not build such a network "
        "(did you mean 'digits'? known: digits, wake_word)",
    ),
    (
        "      digits: {output_data_type: float32, options: []}",
        "      digits: {vector: x}",
        "variants.yaml:33: unknown key 'vector' in variants.two.overrides.digits\n"
        "  did you mean 'vectors'? known: " + NETWORK_KEYS,
    ),
    (
        "      digits: {output_data_type: float32, options: []}",
        "      digits:",
        "variants.yaml:33: variants.two.overrides.digits: must be a mapping of keys and values, this is empty",
    ),
    (
        "  two:\n",
        "  run-two:\n",
        "variants.yaml:25: variants.run-two: the name must not begin with 'run-' "
        "('run-NAME' is an alias of a variant NAME)",
    ),
    (
        "  two:\n",
        "  Verify-two:\n",
        "variants.yaml:25: variants.Verify-two: the name must not begin with 'verify-' "
        "('verify-NAME' is an alias of a variant NAME)",
    ),
    (
        "  two:\n",
        "  networks:\n",
        "variants.yaml:25: variants.networks: this name is taken by a folder of the build "
        "(taken: app_config, firmware, initializers, networks, patched, relocatable)",
    ),
    (
        "  two:\n",
        "  ../two:\n",
        "variants.yaml:25: variants.../two: the name must be letters, digits, '.', '_' and '-'",
    ),
    (
        "  two:\n",
        "  <<: {}\n  two:\n",
        "variants.yaml:25: variants: merge keys (<<) are not read (write the keys out; anchors and aliases are read)",
    ),
    ("  two:\n", "  [a]: {}\n  two:\n", "variants.yaml:25: variants: a key must be a plain word"),
    ("  two:\n", "  ~: {}\n  two:\n", "variants.yaml:25: variants: a key must be a plain word"),
    (
        "  two:\n",
        "  two: &x [*x]\n  three:\n",
        "variants.yaml:25: variants.two: must be a mapping of keys and values, this is a list",
    ),
]


@pytest.mark.parametrize(
    ("old", "new", "said"), BAD, ids=[f"{index}-{b[1].strip()[:24]}" for index, b in enumerate(BAD)]
)
def test_refusals(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert GOOD.count(old) == 1, old
    assert refusal(tmp_path, GOOD.replace(old, new)) == said


def test_inputs_come_from_one_place(tmp_path: Path) -> None:
    """Vectors have inputs; an override may take them away."""
    both = GOOD.replace("    vectors: models/vectors", "    vectors: models/vectors\n    input: a.npy")
    with pytest.raises(NeuralArtError, match=r"variants\.yaml:15: network digits: 'vectors' and 'input' cannot"):
        read(tmp_path, both).variant("one")
    only = both.replace("options: []", 'vectors: ""')
    assert [(net.vectors, net.input) for net in read(tmp_path, only).variant("two").networks][1] == ("", "a.npy")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "variants.yaml: the file is empty"),
        (b"# only a comment\n", "variants.yaml: the file is empty"),
        (b"- a\n", "variants.yaml:1: the file must be a mapping of keys and values (key: value)"),
        (b"words\n", "variants.yaml:1: the file must be a mapping of keys and values (key: value)"),
        (
            b"schema: 1\nnetworks: {}\n",
            "variants.yaml:1: 'variants' is missing (known: schema, default, boards, defaults, networks, variants)",
        ),
        (
            b"schema: 1\nnetworks: {}\nvariants: {}\n",
            "variants.yaml:2: networks: is empty (the file needs at least one network and one variant)",
        ),
        (b"schema: 1\ntitle: caf\xe9\n", "variants.yaml:2: byte 0xe9 is not UTF-8 (save the file as UTF-8)"),
        (b"schema: 1\r\n\r\nx: \xff\r\n", "variants.yaml:3: byte 0xff is not UTF-8 (save the file as UTF-8)"),
        (b"schema: 1\nx: \x07\n", "variants.yaml:2: character U+0007 is not allowed in YAML"),
        (b"PK\x03\x04", "variants.yaml:1: character U+0003 is not allowed in YAML"),
        (
            b"schema: 1\nnetworks:\n\tdigits: {}\n",
            "variants.yaml:3: a tab indents this line, YAML allows spaces only (replace it by spaces)",
        ),
        (
            b"schema: 1\nnetworks: {}\n\tdigits: {}\n",
            "variants.yaml:3: a tab indents this line, YAML allows spaces only (replace it by spaces)",
        ),
        (b"a: " + b"[" * 200000, "variants.yaml:1: nested deeper than 100 levels"),
        (b"- " * 5000, "variants.yaml:1: nested deeper than 100 levels"),
        (b"a: 1\n" * (1 << 18), "variants.yaml: 1310720 bytes, at most 1048576 are read (is it the file?)"),
    ],
)
def test_not_a_project_file(tmp_path: Path, text: bytes, said: str) -> None:
    assert refusal(tmp_path, text) == said


@pytest.mark.parametrize(
    ("text", "begin"),
    [
        ("schema: 1\nnetworks: [1, 2\nx: 1\n", "variants.yaml:3: not valid YAML: "),
        ("a: b: c\n", "variants.yaml:1: not valid YAML: mapping values are not allowed"),
        ("a: *x\n", "variants.yaml:1: not valid YAML: found undefined alias"),
        ("a: 1\n---\nb: 2\n", "variants.yaml:2: not valid YAML: but found another document"),
        ("a: 1\nb: 'x\n", "variants.yaml:3: not valid YAML: found unexpected end of stream"),
        ("a: @b\n", "variants.yaml:1: not valid YAML: found character"),
    ],
)
@pytest.mark.parametrize("loader", ["fast", "pure"])
def test_not_yaml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loader: str, text: str, begin: str) -> None:
    if loader == "pure":
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    assert refusal(tmp_path, text).startswith(begin)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(NeuralArtError) as caught:
        config.read(tmp_path / "no.yaml", "no.yaml")
    assert str(caught.value) == "no.yaml: cannot read: No such file or directory (is this the right folder?)"


# Memory: strategies, slots, reserved ranges, dead banks ----------------------------------------------------------

MEMORY = """\
schema: 1
defaults:
  network:
    strategies: {AXISRAM5: link, AXISRAM6: boot-copy}
  variant:
    slots: {descriptor: 0x70200000}
    reserved: [{name: all, address: 0, size: 4}]
    dead_bank: zeros
networks:
  digits:
    model: digits.tflite
    strategies:
      AXISRAM5: external-loader
      xSPI2: flash
variants:
  one:
    board: b
    network: digits
  two:
    board: b
    network: digits
    slots:
      application: 0x70080000
      descriptor: 0x70300000
    reserved:
      - {name: nvs, address: 0x70090000, size: 64K}
      - {name: log, address: 0x700A0000, size: 1M}
    dead_bank: fault
    overrides:
      digits:
        strategies: {AXISRAM6: "", xSPI2: link}
"""


def test_strategies_are_joined_pool_by_pool(tmp_path: Path) -> None:
    file = read(tmp_path, MEMORY)
    one, two = (file.variant(name).networks[0] for name in ("one", "two"))
    assert one.strategies == (("AXISRAM5", "external-loader"), ("AXISRAM6", "boot-copy"), ("xSPI2", "flash"))
    assert two.strategies == (("AXISRAM5", "external-loader"), ("xSPI2", "link")), '"" takes one back'
    assert str(one.place("strategies.AXISRAM5")) == "variants.yaml:13"
    assert str(one.place("strategies.AXISRAM6")) == "variants.yaml:4"
    assert str(two.place("strategies.xSPI2")) == "variants.yaml:31"


def test_slots_are_joined_one_by_one_and_ranges_replaced(tmp_path: Path) -> None:
    file = read(tmp_path, MEMORY)
    one, two = (file.variant(name) for name in ("one", "two"))
    assert one.slots == (("descriptor", 0x70200000),)
    assert one.reserved == (Reserved("all", 0, 4, Location("variants.yaml", 7)),)
    assert (one.dead_bank, two.dead_bank) == ("zeros", "fault")
    assert two.slots == (("descriptor", 0x70300000), ("application", 0x70080000))
    assert two.reserved == (
        Reserved("nvs", 0x70090000, 65536, Location("variants.yaml", 26)),
        Reserved("log", 0x700A0000, 1 << 20, Location("variants.yaml", 27)),
    )
    assert str(two.place("slots.application")) == "variants.yaml:23"
    assert str(one.place("slots.descriptor")) == "variants.yaml:6"


def test_without_any_of_it(tmp_path: Path) -> None:
    one = read(tmp_path, GOOD).variant("one")
    assert (one.slots, one.reserved, one.dead_bank, one.networks[0].strategies) == ((), (), "fault", ())


def test_the_reference_runtime_on_hardware_is_asked_for(tmp_path: Path) -> None:
    line = "    dead_bank: fault\n"
    assert not read(tmp_path, MEMORY).variant("two").allow_reference_on_hardware
    file = read(tmp_path, MEMORY.replace(line, line + "    allow_reference_on_hardware: true\n"))
    assert file.variant("two").allow_reference_on_hardware
    assert not file.variant("one").allow_reference_on_hardware


def test_kernels(tmp_path: Path) -> None:
    line = "    dead_bank: fault\n"
    file = read(tmp_path, MEMORY.replace(line, line + "    kernels: mve\n"))
    assert (file.variant("one").kernels, file.variant("two").kernels) == ("c", "mve")
    assert str(file.variant("two").place("kernels")) == "variants.yaml:29"
    with pytest.raises(NeuralArtError) as caught:
        read(tmp_path, MEMORY.replace(line, line + "    kernels: neon\n"))
    said = "variants.yaml:29: variants.two.kernels: 'neon' is not allowed (known: c, dsp, mve)"
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("part", ["application", "model"])
def test_names_that_would_make_one_target_of_two(tmp_path: Path, part: str) -> None:
    """flash-model-one: to flash the model of one, or all of model-one?"""
    assert read(tmp_path, MEMORY.replace("  two:", f"  {part}-two:")).config.titles.keys() == {"one", f"{part}-two"}
    with pytest.raises(NeuralArtError) as caught:
        read(tmp_path, MEMORY.replace("  two:", f"  {part}-ONE:"))
    assert str(caught.value) == (
        f"variants.yaml:19: variants.{part}-ONE: flash-{part}-ONE would mean two things: to flash this variant, and a "
        "part of 'ONE' (rename one of them)"
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "AXISRAM5: external-loader",
            "AXISRAM5: boot_copy",
            "13: networks.digits.strategies.AXISRAM5: 'boot_copy' is not allowed "
            "(did you mean 'boot-copy'? known: boot-copy, external-loader, flash, link, relocatable)",
        ),
        (
            "      xSPI2: flash",
            "      ../x: flash",
            "14: networks.digits.strategies.../x: the key must be the fname of a pool, like xSPI2",
        ),
        (
            "{AXISRAM5: link, AXISRAM6: boot-copy}",
            "boot-copy",
            "4: defaults.network.strategies: must be a mapping of keys and values, this is 'boot-copy'",
        ),
        (
            "      application: 0x70080000",
            "      Application: 0x70080000",
            "23: variants.two.slots.Application: the name of a slot must be small letters, digits, '_' and '-'",
        ),
        (
            "      application: 0x70080000",
            "      application: x",
            "23: variants.two.slots.application: must be a number, this is 'x' "
            "(decimal, 0x34200000, or a size such as 448K, 1M)",
        ),
        (
            "name: nvs, ",
            "",
            "26: variants.two.reserved[0]: 'name' is missing "
            "(a reserved range is {name: ..., address: 0x..., size: ...})",
        ),
        ("name: log", "name: nvs", "27: variants.two.reserved[1].name: 'nvs' is reserved already, in line 26"),
        ("name: log", "nam: log", "27: unknown key 'nam' in variants.two.reserved[1] (did you mean 'name'? known: "),
        ("size: 64K", "size: 0", "26: variants.two.reserved[0].size: 0 is out of range, allowed: 0x1 to 0x100000000"),
        (
            "size: 64K",
            "size: 3G",
            "26: variants.two.reserved[0].size: 0x70090000 + 0xc0000000 bytes runs over the end of the address space",
        ),
        (
            "dead_bank: fault",
            "dead_bank: zero",
            "28: variants.two.dead_bank: 'zero' is not allowed (did you mean 'zeros'? known: fault, zeros)",
        ),
    ],
)
def test_refused_memory_keys(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert MEMORY.count(old) == 1, old
    assert refusal(tmp_path, MEMORY.replace(old, new)).startswith(f"variants.yaml:{said}")


def scalar(text: str) -> yaml_values.YamlValue:
    return yaml_values.parse(b"x: " + text.encode(), "f").mapping()["x"]


@given(st.integers(0, 0xFFFFFFFF))
def test_numbers_in_every_spelling(number: int) -> None:
    for text in (str(number), hex(number), f"0x{number:08X}", f"{number:_}", f"'{number}'"):
        assert scalar(text).integer() == number


@pytest.mark.parametrize(
    ("text", "number"), [("448K", 458752), ("1M", 1 << 20), ("3G", 3 << 30), ("'64K'", 65536), ("0", 0)]
)
def test_sizes(text: str, number: int) -> None:
    assert scalar(text).integer() == number


@pytest.mark.parametrize(
    "text",
    ["010", "1.5", "1:30", "-1", "0x", "64k", "64KB", "1e3", "ten", "[1]", "", "~", "true", "9" * 5000, "1__0", "_1"],
)
def test_what_is_no_number(text: str) -> None:
    with pytest.raises(NeuralArtError, match="f:1: x: must be a number"):
        scalar(text).integer()


@pytest.mark.parametrize("text", ["0x100000000", "4G", "4294967296"])
def test_out_of_range(text: str) -> None:
    with pytest.raises(NeuralArtError, match=r"f:1: x: .* is out of range, allowed: 0x0 to 0xffffffff"):
        scalar(text).integer()


@settings(max_examples=300)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_in_one_line(data: bytes) -> None:
    try:
        yaml_values.parse(data, "f")
    except NeuralArtError as error:
        assert str(error).startswith("f:")
        one_message(str(error))


@settings(max_examples=300)
@given(
    st.integers(0, len(GOOD) - 1),
    st.integers(0, 12),
    st.text(alphabet=string.ascii_lowercase + string.digits + " \n\t:-[]{},&*!|>'\"%@#~", max_size=6),
)
def test_damaged_files_are_read_or_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, at: int, length: int, insert: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.yaml"
    path.write_text(GOOD[:at] + insert + GOOD[at + length :])
    try:
        file = config.read(path, "variants.yaml")
        for name in file.config.titles:
            file.variant(name)
    except NeuralArtError as error:
        assert str(error).startswith("variants.yaml")
        one_message(str(error))


DOC = ROOT / "docs" / "reference" / "variants.md"


def test_documented_file_is_right(tmp_path: Path) -> None:
    file = read(tmp_path, DOC.read_text().split("```yaml\n")[1].split("```")[0])
    assert file.config.default == ("digits-n6",)
    changed = file.variant("digits-float-out")
    assert changed.toolchain == ToolchainConfig("arm-none-eabi-", "picolibc", "12.2")
    assert changed.networks[0].output_data_type == "float32"
    assert changed.networks[0].options == ("--optimization", "ram")


def test_every_key_of_the_file_and_every_word_is_documented() -> None:
    text = DOC.read_text()
    assert [key for key in sorted(TOP_KEYS) if f"| `{key}` |" not in text] == []
    for words in (
        verbs(),
        RESERVED,
        variant_keys.OPTIMIZATIONS,
        variant_keys.LIBCS,
        variant_keys.MACHINES,
        variant_keys.DEAD_BANKS,
        STRATEGIES,
    ):
        assert [word for word in words if f"`{word}`" not in text] == []
