"""The key ``relocatable`` of a variant: what is read, and the one line that says why it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuralart import config
from neuralart.config.types import RelocatableConfig
from neuralart.errors import NeuralArtError

TEXT = """\
schema: 1
networks:
  digits: {{model: digits.tflite}}
{defaults}variants:
  v:
    board: stm32n6570-dk
    network: digits
{key}"""


def read(tmp_path: Path, value: str, defaults: str = "") -> RelocatableConfig | None:
    path = tmp_path / "variants.yaml"
    key = f"    relocatable: {value}\n" if value else ""
    above = f"defaults:\n  variant:\n    relocatable: {defaults}\n" if defaults else ""
    path.write_text(TEXT.format(defaults=above, key=key), "utf-8")
    return config.read(path, "variants.yaml").variant("v").relocatable


def refusal(tmp_path: Path, value: str) -> str:
    with pytest.raises(NeuralArtError) as caught:
        read(tmp_path, value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("value", "made"),
    [
        ("", None),
        ("false", None),
        ("true", RelocatableConfig()),
        ("{}", RelocatableConfig()),
        ("{split: true}", RelocatableConfig(split=True)),
        ("{split: false, secure: false}", RelocatableConfig(secure=False)),
        ("{debug_info: false, clear: true}", RelocatableConfig(debug_info=False, clear=True)),
        ("{layout: vendor}", RelocatableConfig(layout="vendor")),
        ("{layout: aligned}", RelocatableConfig(layout="aligned")),
        ('{layout: ""}', RelocatableConfig()),
        ("{modes: [copy]}", RelocatableConfig(modes=("copy",))),
        ("{modes: [copy, xip]}", RelocatableConfig(modes=("copy", "xip"))),
        ("{also_on: [mps3-an547, mine]}", RelocatableConfig(also_on=("mps3-an547", "mine"))),
        ("{also_on: []}", RelocatableConfig()),
        ("{exec_ram: 4K}", RelocatableConfig(exec_ram=4096)),
        ("{exec_ram: 16M}", RelocatableConfig(exec_ram=16 << 20)),
        (
            "{name: cat, ecblob_in_params: true, gen_c_file: true, pack_dir: st/4.0}",
            RelocatableConfig(name="cat", ecblob_in_params=True, gen_c_file=True, pack_dir="st/4.0"),
        ),
    ],
)
def test_values(tmp_path: Path, value: str, made: RelocatableConfig | None) -> None:
    assert read(tmp_path, value) == made


def test_a_variant_takes_back_what_defaults_say(tmp_path: Path) -> None:
    assert read(tmp_path, "", defaults="{split: true}") == RelocatableConfig(split=True)
    assert read(tmp_path, "false", defaults="{split: true}") is None
    assert read(tmp_path, "{clear: true}", defaults="{split: true}") == RelocatableConfig(clear=True), "replaced whole"


KNOWN = (
    "also_on, clear, debug_info, ecblob_in_params, exec_ram, gen_c_file, layout, modes, name, pack_dir, secure, split"
)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("yes", ": must be true or false, this is 'yes'"),
        ("[xip]", ": must be true or false, this is a list"),
        ("1", ": must be true or false, this is '1'"),
        ("{splitt: true}", f"unknown key 'splitt' in variants.v.relocatable (did you mean 'split'? known: {KNOWN})"),
        ("{split: yes}", ".split: must be true or false, this is 'yes'"),
        ("{secure: 0}", ".secure: must be true or false, this is '0'"),
        ("{debug_info: []}", ".debug_info: must be true or false, this is a list"),
        ("{clear: ''}", ".clear: must be true or false, this is ''"),
        ("{layout: align}", ".layout: 'align' is not allowed (did you mean 'aligned'? known: aligned, vendor)"),
        ("{modes: []}", ".modes: is empty (one or more of xip, copy)"),
        ("{modes: xip}", ".modes: must be a list, like [a, b], this is 'xip'"),
        ("{modes: [xpi]}", ".modes[0]: 'xpi' is not allowed (did you mean 'xip'? known: copy, xip)"),
        ("{modes: [xip, xip]}", ".modes[1]: 'xip' is named twice"),
        ("{also_on: mine}", ".also_on: must be a list, like [a, b], this is 'mine'"),
        ("{also_on: [mine, mine]}", ".also_on[1]: 'mine' is named twice"),
        ("{also_on: ['']}", ".also_on[0]: is empty (give it a value, or leave the key out)"),
        ("{exec_ram: 2K}", ".exec_ram: 2K is out of range, allowed: 0x1000 to 0x1000000"),
        ("{exec_ram: 17M}", ".exec_ram: 17M is out of range, allowed: 0x1000 to 0x1000000"),
        ("{exec_ram: lots}", ".exec_ram: must be a number, this is 'lots' (decimal, 0x34200000, or a size such as"),
    ],
)
def test_refusals(tmp_path: Path, value: str, said: str) -> None:
    start = "variants.yaml:8: " + ("" if said.startswith("unknown") else "variants.v.relocatable")
    assert refusal(tmp_path, value).startswith(start + said)
