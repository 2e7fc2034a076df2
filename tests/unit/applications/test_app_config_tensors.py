"""Tensors from network.json and from a vendor's c_info.json."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path

import pytest

from neuralart.app_config import tensors
from neuralart.app_config.tensors import TensorInfo
from neuralart.compilers.stedgeai.facts_of import cpu_facts
from neuralart.errors import NeuralArtError
from neuralart.network import facts
from neuralart.vendor.c_info.read import parse_c_info
from neuralart.vendor.c_info.types import CPU
from support.models import vendor_reports
from support.projects import smallboard as small


def port(shape: tuple[int, ...], position: str) -> facts.Port:
    return facts.Port("in", "A", 0x2400_1000, 4, shape, "int8", 0.5, -3, position)


@pytest.mark.parametrize(
    ("shape", "position", "layout"),
    [
        ((1, 8, 9, 3), "last", "NHWC"),
        ((1, 3, 8, 9), "first", "NCHW"),
        ((1, 8, 9, 3), "undefined", ""),
        ((1, 10), "last", "NC"),
        ((10,), "last", "C"),
        ((1, 30, 4), "last", "NWC"),
        ((1, 4, 30), "first", "NCW"),
        ((1, 2, 3, 4, 5), "last", "NDHWC"),
        ((1, 2, 3, 4, 5, 6), "last", ""),
    ],
)
def test_layout(shape: tuple[int, ...], position: str, layout: str) -> None:
    made = replace(small.network(small.pool("A", 0x2400_1000, 64)), inputs=(port(shape, position),))
    assert tensors.from_network(made).inputs == (TensorInfo("in", shape, layout, "int8", 0.5, -3),)


def test_axes() -> None:
    made = TensorInfo("t", (1, 3, 8, 9), "NCHW", "int8", 1.0, 0)
    assert [made.axis(letter) for letter in "NCHWD"] == [1, 3, 8, 9, None]
    assert made.elements == 216 and str(made) == "'t' (int8[1,3,8,9])"
    assert replace(made, layout="").axis("H") is None


def test_network_json(tmp_path: Path) -> None:
    made = replace(small.network(small.pool("A", 0x2400_1000, 64)), inputs=(port((1, 2, 2, 1), "last"),), outputs=())
    path = tmp_path / "network.json"
    path.write_text(facts.to_json(made))
    assert tensors.read(path, "n.json") == replace(tensors.from_network(made), where="n.json")


def buffer(number: int, **changes) -> dict[str, object]:
    return {
        "id": number,
        "name": f"t{number}",
        "shape": [1, 8, 9, 3],
        "shape_map": ["BATCH", "H", "W", "CH"],
        "format": "STAI_FORMAT_U8",
        "intq": {"scales": [0.25], "offsets": [7]},
        **changes,
    }


def c_info(*buffers: dict[str, object], **changes) -> dict[str, object]:
    return {
        "json_schema_version": "2.0",
        "environment": {"generated_model": {"name": "od"}},
        "buffers": [buffer(1), *buffers],
        "graphs": [{"name": "model", "inputs": [1], "outputs": [b["id"] for b in buffers]}],
        **changes,
    }


def read(tmp_path: Path, data: object) -> tensors.Tensors:
    path = tmp_path / "c_info.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return tensors.read(path, "c_info.json")


def test_c_info(tmp_path: Path) -> None:
    got = read(
        tmp_path,
        c_info(
            buffer(2, format="STAI_FORMAT_FLOAT", shape=[1, 84, 1344], shape_map=["BATCH", "CH", "H"], intq={}),
            buffer(3, format="STAI_FORMAT_S8", intq={"scale": [0.5, 0.25], "zero": [-3, 0]}),
            # CPU targets leave the batch out.
            buffer(4, shape=[256, 32], shape_map=["CH", "H"], format="STAI_FORMAT_S8"),
            buffer(5, shape=[10], shape_map=["CH"], intq=None),
            buffer(6, shape=[1, 2, 3, 4], shape_map=[]),
            buffer(7, shape=[1, 2], shape_map=None),
        ),
    )
    assert (got.network, got.where) == ("od", "c_info.json")
    assert got.inputs == (TensorInfo("t1", (1, 8, 9, 3), "NHWC", "uint8", 0.25, 7),)
    assert got.outputs == (
        TensorInfo("t2", (1, 84, 1344), "NCW", "float32", 0.0, 0),
        TensorInfo("t3", (1, 8, 9, 3), "NHWC", "int8", 0.5, -3),
        TensorInfo("t4", (1, 256, 32), "NCW", "int8", 0.25, 7),
        TensorInfo("t5", (1, 10), "NC", "uint8", 0.0, 0),
        TensorInfo("t6", (1, 2, 3, 4), "", "uint8", 0.25, 7),
        TensorInfo("t7", (1, 2), "", "uint8", 0.25, 7),
    )


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("{", "c_info.json:1:2: "),
        ("[]", "not a network.json"),
        ("{}", "not a network.json"),
        (
            {"json_schema_version": "2.0", "validation": {}},
            "this c_info.json holds no graph (take the one that generate",
        ),
        ({"graphs": [], "buffers": []}, "not a c_info.json: there is no 'json_schema_version'"),
        ({"json_schema_version": "2.0", "graphs": [], "buffers": []}, "this c_info.json holds no graph"),
        ({"json_schema_version": "2.0", "graphs": {}}, "c_info.json:1:42: graphs must be a list [ ], not an object"),
        (c_info(graphs=[{"name": "m", "inputs": [9], "outputs": []}]), "there is no buffer 9, which is an input"),
        (c_info(buffer(2, shape=[])), "'shape' of 't2' is [], it must be whole numbers from 1 on (no dynamic sizes)"),
        (c_info(buffer(2, shape=[1, -1, 3])), "'shape' of 't2' is [1, ?, 3], it must be whole numbers from 1 on"),
        (c_info(buffer(2, shape=[1, 2.5])), "buffers[1].shape[1] must be a whole number, not a number"),
        (c_info(buffer(2, format="STAI_FORMAT_Q7")), "unknown format 'STAI_FORMAT_Q7' of 't2' (known: float32"),
        (c_info(buffer(2, format=3)), "buffers[1].format must be a text, not a number"),
        (c_info(buffer(2, intq={"scales": ["x"]})), "buffers[1].intq.scales[0] must be a number, not a text"),
        (c_info({"name": "x"} | {"id": True}), "graphs[0].outputs[0] must be a whole number, not true or false"),
    ],
)
def test_files_that_are_none(tmp_path: Path, data: object, said: str) -> None:
    with pytest.raises(NeuralArtError) as caught:
        read(tmp_path, data)
    message = str(caught.value)
    assert said in message and message.startswith("c_info.json") and "\n" not in message


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(NeuralArtError, match="cannot read"):
        tensors.read(tmp_path / "none.json")


# ---- a network's facts and its c_info.json say the same


def cpu_data(release: str, **changes: object) -> dict[str, object]:
    """A CPU network of the vendor's tool: a picture in, classes out; shapes without the batch."""
    data = copy.deepcopy(vendor_reports.cpu_c_info(release))
    ids = {*data["graphs"][0]["inputs"], *data["graphs"][0]["outputs"]}
    for each in data["buffers"]:
        if each["id"] in ids:
            each.update(changes)
    return data


@pytest.mark.parametrize("release", vendor_reports.RELEASES)
@pytest.mark.parametrize(
    ("shape", "axes", "position", "expected"),
    [
        ([64, 48, 3], ["H", "W", "CH"], "last", ((1, 64, 48, 3), "NHWC")),
        ([3, 64, 48], ["CH", "H", "W"], "first", ((1, 3, 64, 48), "NCHW")),
        ([40, 30], ["H", "CH"], "last", ((1, 40, 30), "NWC")),
        ([10], ["CH"], "last", ((1, 10), "NC")),
        ([48, 64, 3], ["W", "H", "CH"], "last", ((1, 48, 64, 3), "")),
    ],
)
def test_a_cpu_network_is_the_same_by_its_facts_and_by_its_c_info(
    tmp_path: Path, release: str, shape: list[int], axes: list[str], position: str, expected: tuple[object, str]
) -> None:
    flags = {"channel_last": position == "last", "channel_first": position == "first"}
    data = cpu_data(release, shape=shape, shape_map=axes, batch=0, **flags)
    (tmp_path / "network_c_info.json").write_text(json.dumps(data))
    network = cpu_facts("network", parse_c_info(json.dumps(data).encode(), "c.json"), ["int x;"])
    (tmp_path / "network.json").write_text(facts.to_json(network))
    told, own = (tensors.read(tmp_path / name, "x") for name in ("network_c_info.json", "network.json"))
    assert (told.inputs, told.outputs) == (own.inputs, own.outputs)
    assert (own.inputs[0].shape, own.inputs[0].layout) == expected


@pytest.mark.real
def test_real_files(tmp_path: Path) -> None:
    import os

    found = 0
    for path in sorted(Path(os.environ["NEURALART_REAL_DATA"]).rglob("*c_info*.json")):
        try:
            got = tensors.read(path)
        except NeuralArtError as error:
            assert "holds no graph" in str(error), path
            continue
        assert got.inputs and got.outputs and all(t.layout for t in (*got.inputs, *got.outputs)), path
        info = parse_c_info(path.read_bytes(), "c.json")
        if info.flow == CPU and info.core is not None:
            (tmp_path / "network.json").write_text(facts.to_json(cpu_facts(got.network, info, ())))
            own = tensors.read(tmp_path / "network.json")
            assert (own.inputs, own.outputs) == (got.inputs, got.outputs), path
        found += 1
    assert found
