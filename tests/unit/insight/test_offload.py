"""How much the NPU computes, and why the rest does not: from c_info, from reports, from blocks of network.c."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from neuralart.vendor.c_info.read import parse_c_info
from neuralart_insight.report import offload
from neuralart_insight.vendor.q_json import parse_q_json
from neuralart_insight.vendor.report.read import parse_report
from support.models import vendor_reports as vendor


@dataclass(frozen=True)
class Block:
    """As network.c has them."""

    number: int | None
    last: int | None
    kind: str
    operators: tuple[str, ...] = ()


def of(data, names=None, warnings=()):
    return offload.from_c_info(parse_c_info(vendor.dump(data), "c.json"), names, warnings)


def names():
    return parse_q_json(vendor.dump(vendor.q_json()), "q.json")


def softmax(data):
    return data["graphs"][0]["nodes"][4]


@pytest.mark.parametrize("ec", [False, True])
@pytest.mark.parametrize("release", vendor.RELEASES)
def test_the_figure_is_the_same_in_every_release(release, ec):
    """Parameters and return are epochs to some releases, and do not count in any."""
    found = of(vendor.c_info(release, ec=ec))
    assert (found.hardware, found.hybrid, found.software, found.total, found.percent) == (3, 0, 1, 4, 75.0)
    (row,) = found.rows
    assert (row.number, row.kind, row.operators, row.nodes) == (4, "SW", ("Softmax",), ("Softmax_9",))


@pytest.mark.parametrize("release", vendor.RELEASES)
def test_the_report_says_the_same(release):
    report = parse_report(vendor.report(release).encode(), "r.txt")
    assert offload.from_epochs(report.epochs).percent == of(vendor.c_info(release)).percent


def test_layers_of_the_model():
    (row,) = of(vendor.c_info("4.0"), names()).rows
    assert (row.layers, row.inserted) == (("SOFTMAX_4",), False)
    data = vendor.c_info("4.0")
    softmax(data)["subgraph_nodes"][0]["name"] = "Quantize_2_cp_5"
    (row,) = of(data, names()).rows
    assert (row.layers, row.inserted) == ((), True)
    softmax(data)["subgraph_nodes"][0]["name"] = "Unheard_7"
    (row,) = of(data, names()).rows
    assert (row.layers, row.inserted, row.nodes) == ((), False, ("Unheard_7",))


def reason(edit, warnings=()):
    data = vendor.c_info("3.0")
    edit(data)
    (row,) = of(data, None, warnings).rows
    return row.reason, row.types


def test_reasons():
    """Scratch memory, which is read and written, and constants say nothing about the type of the data."""
    assert reason(lambda data: None) == ("unsupported operator", "S8 -> S8")

    def floating(data):
        data["buffers"][1] |= {"format": "STAI_FORMAT_FLOAT", "nbits": 32}

    assert reason(floating) == ("not quantized", "FLOAT -> S8")

    def wide(data):
        data["buffers"][2] |= {"format": "STAI_FORMAT_S32", "nbits": 32}

    assert reason(wide) == ("type", "S8 -> S32")

    def conversion(data):
        floating(data)
        softmax(data)["subgraph_nodes"][0]["type"] = "QuantizeLinear"

    assert reason(conversion) == ("type", "FLOAT -> S8")

    def blind(data):
        softmax(data)["inputs"] = softmax(data)["outputs"] = []

    assert reason(blind) == ("unknown", "")
    assert reason(blind, ["WARNING: Softmax_9 is not quantized"]) == ("not quantized", "")
    assert reason(blind, ["WARNING: Other_9 is not quantized"]) == ("unknown", "")


def test_counts_of_a_report_go_before_its_list():
    text = vendor.report("2.2").replace("epochs: 4 of which 1", "epochs: 9 of which 2")
    found = offload.from_report(parse_report(text.encode(), "r.txt"))
    assert (found.total, found.software, found.percent) == (9, 2, 77.8)
    listed = vendor.OLD_EPOCHS.split("---\n", 1)[1]
    assert offload.from_report(parse_report(b"ST Edge AI Core v2.2.0\n" + listed.encode(), "r.txt")).percent == 75.0


def test_hybrid_epochs_are_not_offloaded():
    data = vendor.c_info("3.0")
    data["graphs"][0]["nodes"][1]["mapping"] = "NODE_SW_HW"
    found = of(data)
    assert (found.hardware, found.hybrid, found.software, found.percent) == (2, 1, 1, 50.0)
    assert [row.kind for row in found.rows] == ["HYBRID", "SW"]


def test_nothing_of_a_cpu_target_is_offloaded():
    found = of(vendor.cpu_c_info("4.0"))
    assert (found.total, found.percent) == (1, 0.0)
    assert (found.rows[0].operators, found.rows[0].layers) == (("Dense",), ("dense",))


def test_no_graph_no_figure():
    found = of(vendor.results_c_info("2.2"))
    assert (found.total, found.percent) == (0, None)


def test_blocks_of_network_c():
    found = offload.from_epochs(
        [
            Block(1, 3, "EC"),
            # One epoch in two parts: started by hardware, ended by software.
            Block(4, 4, "HW", ("Conv",)),
            Block(4, 4, "SW", ("Cast",)),
            Block(5, 5, "SW", ("Softmax",)),
            Block(6, None, "HYBRID", ("Resize",)),
            Block(7, 7, "NONE"),
        ]
    )
    assert (found.hardware, found.hybrid, found.software) == (3, 2, 1)
    assert [(row.number, row.kind, row.operators, row.reason) for row in found.rows] == [
        (4, "HYBRID", ("Conv", "Cast"), "unknown"),
        (5, "SW", ("Softmax",), "unknown"),
        (6, "HYBRID", ("Resize",), "unknown"),
    ]


def test_blocks_without_numbers_are_one_epoch_each():
    found = offload.from_epochs([Block(None, None, "HW"), Block(None, None, "SW", ("Cast",)), Block(None, None, "HW")])
    assert (found.hardware, found.software, found.percent) == (2, 1, 66.7)
    assert (found.rows[0].number, found.rows[0].reason) == (None, "type")


def test_all_and_none():
    assert offload.from_epochs([Block(1, 9, "EC")]).percent == 100.0
    assert offload.from_epochs([]).percent is None


def test_what_programs_see():
    found = of(vendor.c_info("4.0"), names())
    assert offload.as_data(found) == {
        "percent": 75.0,
        "epochs": 4,
        "hardware": 3,
        "hybrid": 0,
        "software": 1,
        "cpu_epochs": [
            {
                "number": 4,
                "kind": "SW",
                "operators": ["Softmax"],
                "nodes": ["Softmax_9"],
                "layers": ["SOFTMAX_4"],
                "inserted": False,
                "reason": "unsupported operator",
                "types": "S8 -> S8",
            }
        ],
    }
