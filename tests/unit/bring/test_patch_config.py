"""The keys of ``patch:`` and ``app_config:`` in variants.yaml: layers, places, refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuralart import config
from neuralart.config import patch
from neuralart.config.patch import PatchConfig
from neuralart.config.types import VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.text.values import Location

GOOD = """\
schema: 1
defaults:
  variant:
    patch: {aspect_ratio: crop, reserve: {AXIRAM: 72K}}
  network:
    app_config:
      color_mode: bgr
      welcome: [hello]
networks:
  digits:
    model: digits.tflite
    app_config:
      use_case: image_classification
      class_names: [a, b]
variants:
  one:
    board: stm32h747i-disco
    network: digits
  two:
    board: stm32h747i-disco
    network: digits
    patch:
      application: ../camera
      aspect_ratio: fit
      list: own.yaml
      linker_script: camera.ld
      memory_pools: ""
      reserve: {SDRAM: 0x1000}
      include: [Inc/CM7, ../Drivers]
    overrides:
      digits:
        app_config: {color_mode: rgb}
"""


def variant(tmp_path: Path, name: str, text: str = GOOD) -> VariantConfig:
    path = tmp_path / "variants.yaml"
    path.write_text(text, "utf-8")
    return config.read(path, "variants.yaml").variant(name)


def test_layers_are_joined_key_by_key(tmp_path: Path) -> None:
    one, two = (variant(tmp_path, name) for name in ("one", "two"))
    assert one.patch == PatchConfig(
        aspect_ratio="crop", reserve=(("AXIRAM", 72 << 10),), where=Location("variants.yaml", 4)
    )
    assert two.patch == PatchConfig(
        application="../camera",
        aspect_ratio="fit",
        list="own.yaml",
        linker_script="camera.ld",
        reserve=(("AXIRAM", 72 << 10), ("SDRAM", 4096)),
        include=("Inc/CM7", "../Drivers"),
        where=Location("variants.yaml", 22),
    )
    assert two.patch is not None and one.patch is not None
    assert one.patch.said("aspect_ratio") == "variants.yaml:4"
    assert two.patch.said("reserve.SDRAM") == "variants.yaml:28"
    assert two.patch.said("reserve.AXIRAM") == "variants.yaml:4"
    first, second = (each.networks[0].app_config for each in (one, two))
    assert first is not None and second is not None
    assert (first.color_mode, first.welcome, first.class_names) == ("bgr", ("hello",), ("a", "b"))
    assert (second.color_mode, second.said("color_mode")) == ("rgb", "variants.yaml:32")


def test_without_them(tmp_path: Path) -> None:
    text = "schema: 1\nnetworks:\n  n: {model: m.tflite}\nvariants:\n  v: {board: b, network: n}\n"
    made = variant(tmp_path, "v", text)
    assert (made.patch, made.networks[0].app_config) == (None, None)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("aspect_ratio: fit", "aspect_ratio: full_screen", "variants.yaml:24: variants.two.patch.aspect_ratio: "),
        ("aspect_ratio: fit", "aspct_ratio: fit", "variants.yaml:24: unknown key 'aspct_ratio' in variants.two.patch "),
        ("{SDRAM: 0x1000}", "{SDRAM: lots}", "variants.yaml:28: variants.two.patch.reserve.SDRAM: must be a number"),
        ("{SDRAM: 0x1000}", "{S-1: 4}", "variants.yaml:28: variants.two.patch.reserve.S-1: the key must be a memory"),
        ("{SDRAM: 0x1000}", "[4]", "variants.yaml:28: variants.two.patch.reserve: must be a mapping"),
        ("[Inc/CM7, ../Drivers]", "Inc", "variants.yaml:29: variants.two.patch.include: must be a list"),
        ("application: ../camera", 'application: ""', "variants.yaml:23: variants.two.patch.application: is empty"),
        ("{color_mode: rgb}", "{color: rgb}", "variants.yaml:32: unknown key 'color' in variants.two.overrides"),
        (
            "class_names: [a, b]",
            "class_names: []",
            "variants.yaml:14: networks.digits.app_config.class_names: is empty",
        ),
        ("  two:", "  patched:", "variants.yaml:19: variants.patched: this name is taken by a folder of the build"),
        ("  two:", "  App_Config:", "variants.yaml:19: variants.App_Config: this name is taken"),
    ],
)
def test_refusals(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert GOOD.count(old) == 1, old
    with pytest.raises(NeuralArtError) as caught:
        variant(tmp_path, "one", GOOD.replace(old, new))
    assert str(caught.value).startswith(said), str(caught.value)


def test_keys_that_need_each_other_are_looked_at_with_all_layers(tmp_path: Path) -> None:
    text = GOOD.replace("      use_case: image_classification\n", "")
    with pytest.raises(NeuralArtError) as caught:
        variant(tmp_path, "one", text)
    assert str(caught.value).startswith("variants.yaml:12: app_config: 'use_case' is missing")


@pytest.mark.parametrize(
    ("here", "there", "found"), [("fit", "", "fit"), ("", "padding", "padding"), ("crop", "crop", "crop")]
)
def test_the_aspect_ratio_is_said_once_or_twice_alike(here: str, there: str, found: str) -> None:
    assert patch.aspect_ratio(PatchConfig(aspect_ratio=here), there, "v.yaml:9", "variant v") == found


@pytest.mark.parametrize(
    ("here", "there", "said"),
    [
        ("", "", "v.yaml:3: 'aspect_ratio' is missing (crop, padding or fit"),
        ("fit", "crop", "v.yaml:4: aspect_ratio is fit here, and crop in app_config (v.yaml:9)"),
        ("", "full_screen", "v.yaml:9: aspect_ratio: full_screen does not exist in applications that are patched"),
    ],
)
def test_aspect_ratios_that_cannot_be(here: str, there: str, said: str) -> None:
    places = {"aspect_ratio": Location("v.yaml", 4)} if here else {}
    made = PatchConfig(aspect_ratio=here, where=Location("v.yaml", 3), places=places)
    with pytest.raises(NeuralArtError) as caught:
        patch.aspect_ratio(made, there, "v.yaml:9" if there else "", "variant v")
    assert str(caught.value).startswith(said)


def test_names_of_lists() -> None:
    assert [patch.is_file(name) for name in ("stm32h747i-disco", "x.yaml", "x.yml", "a/b", "a\\b", "")] == [
        *(False, True, True, True, True, False)
    ]
