"""Golden vectors: reading, belonging to a network, the first difference."""

from __future__ import annotations

import json
import math
import struct
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralart.errors import NeuralArtError
from neuralart.network.facts import Network
from neuralart_virtual.emulator import Difference, vectors
from neuralart_virtual.emulator.vectors import Vectors, VectorTensor
from support.boards.firmware import facts, pixels, reference, write_vectors

NETWORK = Network("net", "neuralart", (0, 1, 0, 0), "0" * 16, "", (), (), (), (), 0)


def test_reading(tmp_path):
    read = vectors.load(write_vectors(tmp_path, 3))
    assert read.count == 3
    assert read.input_data == tuple(pixels(n) for n in range(3))
    assert read.output_data == tuple(reference(pixels(n)) for n in range(3))
    assert read.outputs[1] == VectorTensor("sums", "int16", (1, 4), 8)
    vectors.check(read, facts())


def row(**changes):
    return [{"name": "pixels", "dtype": "int8", "shape": [1, 16], "bytes": 16, **changes}]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schema": 2}, "schema 2, this version reads 1"),
        ({"count": 4}, r"inputs.bin: 80 bytes, but 4 vectors of 16 bytes are 64"),
        ({"count": 0}, "0 vectors, 1 inputs, 2 outputs: nothing to compare"),
        ({"count": "many"}, "not a vectors.json: ValueError"),
        ({"inputs": []}, "0 inputs"),
        ({"inputs": {}}, "0 inputs"),
        ({"inputs": 5}, "not a vectors.json: TypeError"),
        ({"inputs": row(dtype="int88")}, "'pixels' has dtype 'int88' .did you mean 'int8'"),
        ({"inputs": row(bytes=15)}, r"'pixels' says 15 bytes, shape \[1, 16\] of int8 has 16"),
        ({"inputs": row(dtype="int16")}, r"shape \[1, 16\] of int16 has 32"),
        ({"inputs": [{"name": "pixels"}]}, "not a vectors.json: KeyError: 'dtype'"),
        ({"inputs": row(shape=3)}, "not a vectors.json: TypeError"),
    ],
)
def test_bad_descriptions(tmp_path, changes, message):
    with pytest.raises(NeuralArtError, match=message):
        vectors.load(write_vectors(tmp_path, 5, **changes))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "\udcff"])
def test_no_description_at_all(tmp_path, text):
    write_vectors(tmp_path)
    (tmp_path / "vectors.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(NeuralArtError, match=r"not a vectors.json"):
        vectors.load(tmp_path)


@pytest.mark.parametrize("name", ["vectors.json", "inputs.bin", "outputs.bin"])
def test_a_missing_file_is_named(tmp_path, name):
    write_vectors(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(NeuralArtError, match=f"{name}: cannot read"):
        vectors.load(tmp_path)


@given(st.text(max_size=40) | st.recursive(st.none() | st.integers() | st.text(max_size=5), st.lists).map(json.dumps))
def test_no_text_breaks_the_reader(tmp_path_factory, text):
    folder = tmp_path_factory.mktemp("v")
    (folder / "vectors.json").write_text(text, encoding="utf-8")
    with pytest.raises(NeuralArtError):
        vectors.load(folder)


def test_vectors_of_another_network(tmp_path):
    read, network = vectors.load(write_vectors(tmp_path)), facts()
    with pytest.raises(NeuralArtError, match="1 inputs, network toy has 0"):
        vectors.check(read, replace(network, inputs=()))
    for change in ({"name": "x"}, {"dtype": "uint8"}, {"bytes": 32}):
        other = replace(network, inputs=(replace(network.inputs[0], **change),))
        with pytest.raises(NeuralArtError, match="input 0 is 'pixels' int8 of 16 bytes, in network toy it is"):
            vectors.check(read, other)
    swapped = replace(network, outputs=network.outputs[::-1])
    with pytest.raises(NeuralArtError, match="output 0 is 'scores'"):
        vectors.check(read, swapped)


def one(dtype: str, expected: bytes) -> Vectors:
    size = struct.calcsize("<" + vectors.DTYPES[dtype])
    outputs = (
        VectorTensor("first", "int8", (3,), 3),
        VectorTensor("softmax", dtype, (len(expected) // size,), len(expected)),
    )
    return Vectors("v", (), outputs, (b"",), (b"\x01\x02\x03" + expected,))


@pytest.mark.parametrize(
    ("dtype", "expected", "got", "text"),
    [
        ("int8", struct.pack("8b", *range(-8, 0)), struct.pack("8b", *range(-8, -1), 5), "7: expected -1, got 5"),
        ("uint8", b"\x80", b"\x7f", "0: expected 128, got 127"),
        ("int16", struct.pack("<2h", 1, -300), struct.pack("<2h", 1, -44), "1: expected -300, got -44"),
        ("int32", struct.pack("<i", -1), struct.pack("<i", 0xFFFF), "0: expected -1, got 65535"),
        ("int64", struct.pack("<q", -1), struct.pack("<q", 1), "0: expected -1, got 1"),
        ("bool", b"\1", b"\0", "0: expected 1, got 0"),
        (
            "float32",
            struct.pack("<f", 0.5),
            struct.pack("<f", 0.25),
            "0: expected 0.5 (0x3f000000), got 0.25 (0x3e800000)",
        ),
        ("float32", struct.pack("<f", 0.0), b"\0\0\0\x80", "0: expected 0.0 (0x00000000), got -0.0 (0x80000000)"),
    ],
)
def test_the_first_difference(dtype, expected, got, text):
    golden = one(dtype, expected)
    with pytest.raises(Difference) as caught:
        vectors.compare(golden, 0, b"\x01\x02\x03" + got, NETWORK)
    assert str(caught.value) == f"net: vector 0, output 'softmax' index {text}"
    assert vectors.first_difference(golden, 0, golden.output_data[0]) == ""


def test_a_difference_in_the_first_output():
    assert vectors.first_difference(one("int8", b"\x09"), 0, b"\x01\x02\xff\x08") == (
        "vector 0, output 'first' index 2: expected 3, got -1"
    )


def test_outputs_of_another_size():
    assert vectors.first_difference(one("int8", b"\x09"), 0, b"\x01") == (
        "vector 0: expected 4 bytes of outputs, got 1"
    )


@given(st.binary(min_size=12, max_size=12), st.integers(0, 11), st.integers(1, 255))
def test_every_changed_byte_is_found(data, at, flip):
    golden = Vectors(
        "v", (), (VectorTensor("a", "int32", (2,), 8), VectorTensor("b", "int16", (2,), 4)), (b"",), (data,)
    )
    changed = bytearray(data)
    changed[at] ^= flip
    name, index = ("a", at // 4) if at < 8 else ("b", (at - 8) // 2)
    assert f"output '{name}' index {index}: expected" in vectors.first_difference(golden, 0, bytes(changed))


def test_the_largest_difference_of_outputs() -> None:
    tensors = (vectors.VectorTensor("a", "int8", (2,), 2), vectors.VectorTensor("b", "float32", (2,), 8))

    def data(a: tuple[int, int], b: tuple[float, float]) -> bytes:
        return struct.pack("<2b2f", *a, *b)

    golden = vectors.Vectors("", (), tensors, (b"",), (data((-128, 5), (1.0, math.nan)),))
    assert vectors.largest_difference(golden, 0, data((127, 4), (0.5, math.nan))) == (255, 0.5)
    assert vectors.largest_difference(golden, 0, data((-128, 5), (1.0, 2.0))) == (0, math.inf)
    assert vectors.largest_difference(golden, 0, b"") == (None, None)
    whole = vectors.Vectors("", (), tensors[:1], (b"",), (b"\1\2",))
    assert vectors.largest_difference(whole, 0, b"\1\4") == (2, None)
