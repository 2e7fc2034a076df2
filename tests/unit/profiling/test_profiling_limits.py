"""Limits of a profile: what is above one names the epochs that cost most, and what nothing tells is not kept."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from neuralart.config.types import Budgets
from neuralart.errors import NeuralArtError
from neuralart_insight.profiling import totals
from neuralart_insight.profiling.counter_log import parse_counter_log
from neuralart_insight.profiling.estimate import EpochEstimate, NetworkEstimate, PoolAccess
from neuralart_insight.profiling.instructions import CountedEpoch, InstructionProfile, _functions
from neuralart_insight.profiling.join import join
from neuralart_insight.profiling.limits import broken
from neuralart_insight.profiling.measured_report import measured_record
from support.boards.counter_logs import LoggedEpoch, log

NET = NetworkEstimate(
    "net",
    ("c_info.json",),
    (
        EpochEstimate(1, "HW", ("Conv",), max_cycles=400, pools={"flash": PoolAccess(300, 0)}),
        EpochEstimate(2, "HW", ("Pool",), max_cycles=100, pools={"ram": PoolAccess(8, 8)}),
        EpochEstimate(3, "HYBRID", ("Resize",), max_cycles=250),
        EpochEstimate(4, "SW", ("Softmax",)),
    ),
)
SILENT = replace(NET, epochs=tuple(EpochEstimate(n, "SW") for n in (1, 2)))


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({}, ""),
        ({"max_cycles": 750, "min_inferences_per_second": 1e6, "max_sw_share": 50}, ""),
        ({"max_bytes": (("flash", 300), ("ram", 16), ("none", 0))}, ""),
        (
            {"max_cycles": 749},
            "budgets.max_cycles: max_cycles: estimated NPU cycles of network net: 750, allowed: 749; most of it: "
            "epoch 1 (Conv) 400, epoch 3 (Resize) 250, epoch 2 (Pool) 100",
        ),
        (
            {"min_inferences_per_second": 1_400_000},
            "inferences per second of network net: 1.33333e+06, wanted: 1.4e+06; most of it: epoch 1 (Conv) 400",
        ),
        (
            {"max_sw_share": 49.5},
            "per cent of the epochs that the CPU computes of network net: 50, allowed: 49.5; most of it: "
            "epoch 3 (Resize) 1, epoch 4 (Softmax) 1",
        ),
        (
            {"max_bytes": (("flash", 299),)},
            "max_bytes.flash: bytes over flash in an inference of network net: 300, allowed: 299; most of it: epoch 1",
        ),
    ],
)
def test_limits_of_an_estimate(limits: dict[str, Any], said: str) -> None:
    found = broken(Budgets(**limits), NET, None, 1e9, Path())
    assert len(found) == bool(said) and said in "".join(found)


@pytest.mark.parametrize("limits", [{"max_cycles": 1}, {"min_inferences_per_second": 1}, {"max_bytes": (("ram", 1),)}])
def test_what_nothing_tells_is_not_kept(limits: dict[str, Any]) -> None:
    (said,) = broken(Budgets(**limits), SILENT, None, 1e9, Path())
    assert said.endswith(" of network net: nothing tells it")


COUNTED = InstructionProfile(
    "net",
    "unicorn",
    "a core",
    "c",
    "zeros",
    1,
    (CountedEpoch(0, ("CONV_2D",), 900), CountedEpoch(1, ("ADD", "RELU"), 50), CountedEpoch(2, ("SOFTMAX",), 50)),
)


def test_instructions_are_counted_only_for_their_limit() -> None:
    def refuse() -> InstructionProfile:
        raise AssertionError

    assert broken(Budgets(max_cycles=750), NET, None, 1e9, Path(), refuse) == []
    assert broken(Budgets(max_instructions=1000), NET, None, 1e9, Path(), lambda: COUNTED) == []
    assert broken(Budgets(max_instructions=999), NET, None, 1e9, Path(), lambda: COUNTED) == [
        "budgets.max_instructions: max_instructions: instructions of an inference on a virtual board of network net: "
        "1,000, allowed: 999; most of it: epoch 0 (CONV_2D) 900, epoch 1 (ADD, RELU) 50, epoch 2 (SOFTMAX) 50"
    ]


def test_instructions_for_people_and_for_programs() -> None:
    record = COUNTED.record()
    assert record["total"] == 1000 and record["kernels"] == "c" and record["machine"] == "unicorn"
    assert record["epochs"][0] == {"id": 0, "operators": ("CONV_2D",), "instructions": 900, "share": 0.9}
    json.dumps(record)
    text = "\n".join(COUNTED.lines(1))
    assert "net: instructions on unicorn (a core; kernels: c); no cycles\n  1,000 in the epochs" in text
    assert "      1  50            5.0   95.0     ADD, RELU" in text and len(COUNTED.lines(0)) == 2


def test_which_functions_are_counted() -> None:
    epochs = (SimpleNamespace(number=0), SimpleNamespace(number=7))
    network = SimpleNamespace(symbol="net", epochs=epochs)
    plain = SimpleNamespace(relocatable=None)
    for target, names in (
        ("stm32n6", ["LL_ATON_Start_EpochBlock_0_net", "LL_ATON_Start_EpochBlock_7_net"]),
        ("stm32h7", ["net_layer_0", "net_layer_7"]),
    ):
        subject: Any = SimpleNamespace(variant=plain, network=network, board=SimpleNamespace(target=target))
        assert _functions(subject) == dict(zip(names, (0, 7), strict=True))
    loaded: Any = SimpleNamespace(variant=SimpleNamespace(relocatable=1, said=lambda key: f"v.yaml:3: {key}"))
    with pytest.raises(NeuralArtError, match=r"v.yaml:3: relocatable: the epochs of a relocatable model are loaded at"):
        _functions(loaded)


def measured() -> Any:
    epochs = [LoggedEpoch(1), LoggedEpoch(2), LoggedEpoch(3, "HYBRID", None, (0, 300, 0)), LoggedEpoch(4, "SW")]
    (found,) = parse_counter_log(log(epochs, samples=1).encode(), "x.log")
    return join(found, NET, found.clocks)


def test_times_are_measured_where_they_can_be() -> None:
    fine = Budgets(min_inferences_per_second=800e6 / 600, max_sw_share=66.7)
    assert broken(fine, NET, measured(), 1e9, Path()) == []
    slow, share = broken(Budgets(min_inferences_per_second=2e6, max_sw_share=60), NET, measured(), 1e9, Path())
    assert "1.33333e+06, wanted: 2e+06; most of it: EpochBlock_3 0.000375" in slow
    assert "per cent of the time that the CPU computes of network net: 66.6667" in share
    assert share.endswith("most of it: EpochBlock_3 0.000375, EpochBlock_4 0.000125")


def test_a_baseline(tmp_path: Path) -> None:
    def kept(before: NetworkEstimate, tolerance: float | None = None, **more: Any) -> list[str]:
        record = {**totals.to_record(before, 1e9), "measured": None, **more}
        (tmp_path / "b.json").write_text(json.dumps(record))
        whole = measured() if more else None
        return broken(Budgets(baseline="b.json", tolerance=tolerance), NET, whole, 1e9, tmp_path)

    assert kept(NET) == [] and kept(replace(NET, name="other")) == []
    first, *rest = NET.epochs
    faster = replace(NET, epochs=(replace(first, max_cycles=390, pools={"flash": PoolAccess(200, 0)}), *rest))
    cycles, bytes_of = kept(faster)
    assert "baseline: estimated NPU cycles of network net: 750, allowed: 740; most of it: epoch 1 (Conv) 400" in cycles
    assert "baseline: bytes over flash in an inference of network net: 300, allowed: 200" in bytes_of
    assert kept(faster, 1.4) == [bytes_of.replace("200", "202.8")] and kept(faster, 50) == []
    slower = measured_record(measured())
    slower["totals"]["duration_ms"] /= 2
    (said,) = kept(NET, measured=slower)
    assert (
        "baseline: measured milliseconds of network net: 0.00075, allowed: 0.000375; most of it: EpochBlock_3" in said
    )


@pytest.mark.parametrize(
    ("content", "said"), [("{}", "no profile of network 'net'"), ("x", "b.json:1:1"), (None, "b.json")]
)
def test_a_baseline_that_is_none(tmp_path: Path, content: str | None, said: str) -> None:
    if content is not None:
        (tmp_path / "b.json").write_text(content)
    with pytest.raises(NeuralArtError, match=said):
        broken(Budgets(baseline="b.json"), NET, None, 1e9, tmp_path)
