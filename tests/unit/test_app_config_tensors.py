"""Tensors from network.json and from a vendor's c_info.json."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from neuralart.app_config import tensors
from neuralart.app_config.tensors import TensorInfo
from neuralart.errors import NeuralArtError
from neuralart.network import facts
from support import smallboard as small


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
        TensorInfo("t2", (1, 84, 1344), "NCH", "float32", 0.0, 0),
        TensorInfo("t3", (1, 8, 9, 3), "NHWC", "int8", 0.5, -3),
        TensorInfo("t4", (1, 256, 32), "NCH", "int8", 0.25, 7),
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
        ({"graphs": [], "buffers": []}, "this c_info.json holds no graph"),
        ({"graphs": {}}, "'graphs' is an object, it must be a list"),
        ({"graphs": [{}]}, "'buffers' is missing (is it a c_info.json?)"),
        ({"graphs": [{}], "buffers": []}, "'name' is missing"),
        (c_info(graphs=[{"name": "m", "inputs": [9], "outputs": []}]), "inputs: there is no buffer 9"),
        (c_info(buffer(2, shape=[])), "'shape' must be whole numbers from 1 on (no dynamic sizes)"),
        (c_info(buffer(2, shape=[1, -1, 3])), "'shape' must be whole numbers from 1 on"),
        (c_info(buffer(2, shape=[1, 2.5])), "'shape' must be whole numbers from 1 on"),
        (c_info(buffer(2, format="STAI_FORMAT_Q7")), "unknown format 'STAI_FORMAT_Q7' (known: STAI_FORMAT_FLOAT"),
        (c_info(buffer(2, format=3)), "'format' is a number, it must be a text"),
        (c_info(buffer(2, intq={"scales": ["x"]})), "'scales' must be numbers"),
        (c_info({"name": "x"} | {"id": True}), "'id' is true or false, it must be a number"),
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


@pytest.mark.real
def test_real_files() -> None:
    import os

    found = 0
    for path in sorted(Path(os.environ["NEURALART_REAL_DATA"]).rglob("*c_info*.json")):
        try:
            got = tensors.read(path)
        except NeuralArtError as error:
            assert "holds no graph" in str(error), path
            continue
        assert got.inputs and got.outputs and all(t.layout for t in (*got.inputs, *got.outputs)), path
        found += 1
    assert found
