"""What a variant demands of its networks (``check``, ``budgets``), its ``pair``, and ``export-<variant>``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from neuralart.config.types import Budgets, NetworkConfig, RelocatableConfig, VariantConfig
from neuralart.text.values import Location
from neuralart.toolchain import Toolchain
from neuralart_virtual.emulator.vectors import parse
from support.projects import graphs

BOARD = "stm32n6570-dk"
MODEL = "models/digits.tflite"
FOLDER = "build/v"
DIGITS = NetworkConfig("digits", MODEL, vectors="models")


def variant(*networks: NetworkConfig, **changes: Any) -> VariantConfig:
    made = VariantConfig("v", "V", BOARD, "", networks or (DIGITS,), where=Location("variants.yaml", 9))
    return replace(made, **changes)


def _others() -> NetworkConfig:
    """A second network that has pools of its own."""
    return NetworkConfig("other", MODEL, vectors="models", mpool="second.mpool")


@pytest.fixture
def second(tree: Path) -> None:
    from neuralart.resources import board_data_dir

    text = (board_data_dir() / "pools" / f"{BOARD}.mpool").read_text("utf-8")
    (tree / "second.mpool").write_text(text.replace("0x70380000", "0x74000000"), "utf-8")


# ---- check


def _checks(env: Any, *networks: NetworkConfig, verb: str = "run") -> list[str]:
    words = graphs.command(env.NeuralArtVariant(variant(*networks)).effects[verb][0])
    return [words[n + 1] for n, word in enumerate(words) if word == "--check"]


def test_exact_needs_no_word(env: Any, gcc: Toolchain) -> None:
    assert _checks(env) == []


@pytest.mark.parametrize("verb", ["run", "boot"])
def test_bounds_reach_the_command_as_they_were_written(env: Any, gcc: Toolchain, verb: str) -> None:
    bounds = (("cos", 0.9999999), ("max_lsb", 1234567), ("rmse", 1e-7))
    (text,) = _checks(env, replace(DIGITS, check=bounds), verb=verb)
    wanted = parse(text)
    assert (wanted.cos, wanted.max_lsb, wanted.rmse) == (0.9999999, 1234567, 1e-7)


def test_each_network_has_its_own(make_env: Any, gcc: Toolchain, second: None) -> None:
    assert _checks(make_env(), DIGITS, replace(_others(), check=(("max_lsb", 1),))) == ["exact", "max_lsb=1"]
    assert _checks(make_env(), replace(DIGITS, check=(("cos", 0.5),)), _others()) == ["cos=0.5", "exact"]


def test_bounds_are_no_matter_of_the_compile(make_env: Any, gcc: Toolchain) -> None:
    plain = make_env().NeuralArtVariant(variant()).networks[0].folder
    other = make_env().NeuralArtVariant(variant(replace(DIGITS, check=(("cos", 0.5),)))).networks[0].folder
    assert plain == other


# ---- budgets


def limited(**limits: Any) -> NetworkConfig:
    return replace(DIGITS, budgets=Budgets(**limits))


def test_without_budgets_nothing_is_checked(env: Any, gcc: Toolchain) -> None:
    made = env.NeuralArtVariant(variant(limited()))
    assert not [name for name in graphs.names(graphs.built_nodes(made.alias)) if "budgets" in name]
    assert not made.firmware.elf.prerequisites


def test_the_link_waits_for_the_budgets(env: Any, gcc: Toolchain, second: None) -> None:
    made = env.NeuralArtVariant(variant(limited(max_weights=1), replace(_others(), budgets=Budgets(max_sw_epochs=1))))
    waits = graphs.names(made.firmware.elf.prerequisites)
    assert waits == [f"{FOLDER}/digits.budgets.json", f"{FOLDER}/other.budgets.json"]
    node = made.firmware.elf.prerequisites[0]
    assert graphs.names(node.sources) == [str(made.networks[0].facts), str(made.networks[0].c_info)]
    assert {each.name for each in node.depends} == {"budgets", "code of budget-check", "what was made"}


def test_a_limit_is_a_reason_to_check_and_not_to_compile(make_env: Any, gcc: Toolchain) -> None:
    def of(**limits: Any) -> tuple[list[str], list[str], bytes]:
        made = make_env().NeuralArtVariant(variant(limited(**limits)))
        node = made.firmware.elf.prerequisites[0]
        network = made.networks[0]
        return [each.get_csig() for each in node.depends], [network.folder], graphs.signature(network.c)

    one, other = of(max_weights=4096), of(max_weights=8192)
    assert one[0] != other[0]
    assert one[1:] == other[1:]
    assert of(max_weights=4096) == one


def test_a_relocatable_model_waits_for_them_too(env: Any, gcc: Toolchain) -> None:
    made = env.NeuralArtVariant(variant(limited(max_weights=1), relocatable=RelocatableConfig()))
    assert made.model is not None
    assert graphs.names(made.model.image.prerequisites) == [f"{FOLDER}/digits.budgets.json"]


# ---- pair


def test_the_pair_is_a_part_of_the_variant(env: Any, gcc: Toolchain) -> None:
    made = env.NeuralArtVariant(variant(replace(DIGITS, pair="profiling")))
    pair = made.networks[0].pair
    assert pair.folder != made.networks[0].folder
    built = graphs.names(graphs.built_nodes(made.alias))
    assert set(graphs.names(pair.files)) <= set(built)
    assert str(pair.c) not in graphs.names(graphs.built_nodes([made.firmware.elf])), "but not of its image"
    assert not set(graphs.names(pair.files)) & set(graphs.names(graphs.built_nodes(made.effects["run"])))


# ---- export


def test_export(env: Any, gcc: Toolchain) -> None:
    made = env.NeuralArtVariant(variant())
    (alias,) = made.effects["export"]
    assert str(alias) == "export-v"
    assert alias.always_build
    needed = set(graphs.names(graphs.built_nodes([alias])))
    assert set(graphs.names(made.networks[0].files)) <= needed
    assert {f"{FOLDER}/npu_memory_init.c", f"{FOLDER}/network_io.h", f"{FOLDER}/descriptor.hex"} <= needed
    assert f"{FOLDER}/firmware.elf" not in needed, "it is for another program"
    assert "export-v" not in graphs.names(graphs.built_nodes(made.alias)), "and nobody asks for it by the way"


def test_the_export_of_a_relocatable_variant_is_its_model(env: Any, gcc: Toolchain) -> None:
    (alias,) = env.NeuralArtVariant(variant(relocatable=RelocatableConfig())).effects["export"]
    needed = set(graphs.names(graphs.built_nodes([alias])))
    assert {f"{FOLDER}/network_rel.bin", f"{FOLDER}/load_table.xip.bin", f"{FOLDER}/npu_memory_init.c"} <= needed
    assert f"{FOLDER}/firmware.elf" not in needed


@pytest.mark.parametrize("machine", ["unicorn", "silicon"])
def test_export_needs_no_machine_and_no_vectors(env: Any, gcc: Toolchain, machine: str) -> None:
    network = replace(DIGITS, vectors="")
    made = env.NeuralArtVariant(variant(network, machine=machine, allow_reference_on_hardware=True))
    assert graphs.names(graphs.built_nodes(made.effects["export"]))
