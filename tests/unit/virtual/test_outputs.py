"""What is said of outputs that nothing is compared with."""

from __future__ import annotations

import math
import struct
from dataclasses import replace

import pytest

from neuralart_virtual.emulator.vectors import described
from support.boards.firmware import facts

NETWORK = facts()
PORT = NETWORK.outputs[1]  # 4 x int16


def one(dtype: str, code: str, values: list[float], labels: tuple[str, ...] = (), **changes: object) -> str:
    data = struct.pack(f"<{len(values)}{code}", *values)
    port = replace(PORT, name="o", dtype=dtype, bytes=len(data), shape=(1, len(values)), **changes)
    (line,) = described(replace(NETWORK, outputs=(port,)), data, labels)
    return line


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (
            one("int8", "b", [-128, 127, 0], scale=0.5, zero_point=-128),
            "int8[1,3]: min 0, max 127.5, mean 63.83; first 0, 127.5, 64",
        ),
        (one("int16", "h", [1, -2], scale=0.0), "int16[1,2]: min -2, max 1, mean -0.5; first 1, -2"),
        (one("float32", "f", [0.5] * 9, scale=0.0), "min 0.5, max 0.5, mean 0.5; first " + "0.5, " * 8 + "..."),
        (
            one("float32", "f", [1, math.nan, math.inf], ("a", "b", "c"), scale=0.0),
            "min 1, max 1, mean 1; 2 of 3 are no numbers; first 1, nan, inf",
        ),
        (one("float32", "f", [math.nan], scale=0.0), "float32[1,1]: 1 of 1 are no numbers; first nan"),
        (
            one("int8", "b", [1, 5, 5, 2, 3, 4], tuple("abcdef"), scale=0.1, zero_point=0),
            "int8[1,6]: b 0.5, c 0.5, f 0.4, e 0.3, d 0.2",
        ),
        (one("int8", "b", [1, 5], ("a", "b"), scale=0.0), "int8[1,2]: b 5, a 1"),
        (
            one("int8", "b", [1, 5], ("a", "b", "c"), scale=0.0),
            "min 1, max 5, mean 3; first 1, 5 (3 names of classes, but 2 scores: names not used)",
        ),
        (one("bool", "?", [True, False], scale=0.0), "bool[1,2]: min 0, max 1, mean 0.5; first 1, 0"),
    ],
)
def test_one_line_for_an_output(made: str, said: str) -> None:
    assert made.startswith("output 'o' ") and made.endswith(said)


def test_every_output_has_its_line() -> None:
    data = bytes(range(16)) + struct.pack("<4h", 1, 2, 3, 4)
    assert [line.split(":")[0] for line in described(NETWORK, data)] == [
        "output 'scores' int8[1,16]",
        "output 'sums' int16[1,4]",
    ]
