"""The kernels' fixed-point helpers against the definition of the numerics profile, in exact integers."""

from __future__ import annotations

import ctypes
import random
import subprocess
from pathlib import Path

import pytest

INCLUDE = Path(__file__).parents[3] / "firmware" / "runtime" / "include"
LOW, HIGH = -(2**31), 2**31 - 1

pytestmark = pytest.mark.hostcc

SOURCE = """
#include "neuralart_fixedpoint.h"
int32_t high_multiply(int32_t x, int32_t m);
int32_t high_multiply(int32_t x, int32_t m) { return na_high_multiply(x, m); }
int32_t round_shift(int32_t x, int32_t e);
int32_t round_shift(int32_t x, int32_t e) { return na_round_shift(x, e); }
int32_t scale(int32_t x, int32_t m, int32_t s);
int32_t scale(int32_t x, int32_t m, int32_t s) { return na_scale(x, m, s); }
"""


@pytest.fixture(scope="module")
def c(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("fixedpoint")
    (folder / "f.c").write_text(SOURCE)
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined", "-fno-sanitize-recover"]
    subprocess.run(["cc", *flags, "-shared", "-fPIC", "-I", INCLUDE, "-o", folder / "f.so", folder / "f.c"], check=True)
    return ctypes.CDLL(str(folder / "f.so"))


def truncated(a: int, b: int) -> int:
    """C's division."""
    return abs(a) // b * (1 if a >= 0 else -1)


def wanted_high_multiply(x: int, m: int) -> int:
    """As published: the doubled high half of the product, nudged by its sign, division truncates."""
    product = x * m
    nudge = 1 << 30 if product >= 0 else 1 - (1 << 30)
    return truncated(product + nudge, 1 << 31)


def wanted_round_shift(x: int, e: int) -> int:
    """To nearest, halves away from zero."""
    half = 1 << e >> 1
    return (abs(x) + half >> e) * (1 if x >= 0 else -1)


def numbers(count: int) -> list[int]:
    rng = random.Random(4)
    edges = [LOW, LOW + 1, -1, 0, 1, HIGH - 1, HIGH, 1 << 30, -(1 << 30), (1 << 30) - 1, (1 << 30) + 1]
    return edges + [rng.randint(LOW, HIGH) >> rng.randint(0, 31) for _ in range(count)]


def test_high_multiply(c: ctypes.CDLL) -> None:
    for x in numbers(200):
        for m in numbers(200):
            if (x, m) != (LOW, LOW):
                assert c.high_multiply(x, m) == wanted_high_multiply(x, m), (x, m)


def test_round_shift(c: ctypes.CDLL) -> None:
    for x in numbers(1000):
        for e in range(32):
            assert c.round_shift(x, e) == wanted_round_shift(x, e), (x, e)


def test_scale(c: ctypes.CDLL) -> None:
    multipliers = [0, 1 << 30, (1 << 30) + 1, HIGH, 1518500250]
    for x in numbers(300):
        for m in multipliers:
            for s in range(-31, 32):
                shifted = (x << max(s, 0)) + (1 << 31) & 0xFFFFFFFF
                wanted = wanted_round_shift(wanted_high_multiply(shifted - (1 << 31), m), max(-s, 0))
                assert c.scale(x, m, s) == wanted, (x, m, s)
