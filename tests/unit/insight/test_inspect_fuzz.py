"""Heaps of parts of generated C: a record or one line, in time that grows with length alone; never a traceback.

Damaged files of every kind: tests/torture/test_fuzz.py.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuralart.errors import NeuralArtError
from neuralart.text import c_source
from neuralart.vendor.network_c import checks, pools
from neuralart.vendor.network_c.read import parse
from neuralart_insight.inspect import cli as inspector
from neuralart_insight.inspect import kinds
from neuralart_virtual.network_c import ecblobs
from support.models import vendor_network_c as vendor
from support.models.vendor_network_c import Want

ROUNDS = int(os.environ.get("NEURALART_FUZZ", "60"))
SMALL = Want(version="4.0.1", ec=True, relative=True, user_io=True, all_buffers=True, internals=2, weights=3, padding=1)
NETWORK = vendor.make(SMALL).files["network.c"].decode()
PARTS = [
    "{",
    "}",
    '"',
    "/*",
    "*/",
    "//",
    "\\",
    "#",
    ",",
    ".name",
    "= NULL",
    "buff_info[] = {",
    "0x",
    "UL",
    ";",
    "(",
    ")",
    "\n",
    "\r\n",
    "\0",
    "EpochBlock_Flags_",
    "last_eb",
    "/* global pool 0 is ",
    "/* index=0 file postfix=",
    "LL_ATON_VERSION_MAJOR",
    "LL_ATON_EpochBlockItems_a(void) {",
    "LL_ATON_Input_Buffers_Info_a(void) {",
    "const LL_Buffer_InfoTypeDef buff_info[] = {{",
    ".addr_base = {(unsigned char *)(0x1UL)}",
    ".epoch_num = 1",
    "uint64_t _ec_blob_a_0[] = {",
    "uint64_t _mem_pool_a_b[1] = {",
    "\u00e9",
    "\ud7ff",
    "[",
    "]",
    "LL_ATON_RT_EpochBlockItem_t a[] = {{",
    "scheduling epoch=1 kind=A node=b",
]


def one_line(error: NeuralArtError) -> None:
    assert "\n" not in str(error) and str(error)


def look(path: Path) -> None:
    """A record that is JSON and has a text, or one line."""
    try:
        kind, record = inspector.inspect(path)
    except NeuralArtError as error:
        one_line(error)
        return
    assert record["kind"] == kind.name
    inspector.to_json(record)
    assert kinds.reader(kind).text(record).endswith("\n")


@given(st.lists(st.sampled_from(PARTS), max_size=60).map("".join))
@settings(max_examples=4 * ROUNDS, deadline=None)
def test_heaps_of_parts(text):
    for read in (parse, ecblobs.parse, pools.parse_initializer):
        try:
            found = read(c_source.decode(text.encode("utf-8", "surrogatepass")), "n.c")
        except NeuralArtError as error:
            one_line(error)
        else:
            for problem in checks.problems(found) if read is parse else found.problems:
                assert "\n" not in problem.text


def test_a_quoted_line_end_is_no_line_end():
    at = NETWORK.index(".epoch_num = ") + len(".epoch_num = ")
    network = parse(NETWORK[:at] + "1\n  .epoch_num = " + NETWORK[at:], "n.c")
    (text,) = [problem.text for problem in checks.problems(network) if "no number" in problem.text]
    assert text.endswith(": epoch_num is '1 .epoch_num = 1', no number")


@given(st.data())
@settings(max_examples=2 * ROUNDS, deadline=None, suppress_health_check=[HealthCheck.data_too_large])
def test_parts_in_a_network(data):
    """Parts put into a whole file, or lines of it moved."""
    lines = NETWORK.split("\n")
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(lines) - 1))
        kind = data.draw(st.integers(0, 3))
        if kind == 0:
            lines[at] = data.draw(st.sampled_from(PARTS)) + lines[at]
        elif kind == 1:
            lines[at] += data.draw(st.sampled_from(PARTS))
        elif kind == 2:
            del lines[at]
        else:
            lines.insert(at, lines[data.draw(st.integers(0, len(lines) - 1))])
    try:
        network = parse("\n".join(lines), "n.c")
    except NeuralArtError as error:
        one_line(error)
    else:
        for problem in checks.problems(network):
            assert "\n" not in problem.text


HEAD = "LL_ATON_EpochBlockItems_a(void) {\n LL_ATON_Input_Buffers_Info_a(void) {\nLL_Buffer_InfoTypeDef buff_info[] = {"
SLOW = {
    "open braces": "{" * 300_000,
    "pairs of braces": "{}" * 150_000,
    "quotes": '"' * 300_000,
    "quotes and backslashes": '"\\' * 150_000,
    "open comments": "/*" * 150_000,
    "stars": "/*" + "*" * 300_000,
    "slashes": "/" * 300_000,
    "members": "{ .a" * 80_000,
    "members with strings": '{ .a = "b" ' * 30_000,
    "nested": "{{" * 100_000 + "}}" * 100_000,
    "rows that do not end": ('{ .name = "a", .addr_base = {1}, ' * 10_000),
    "numbers": "1" * 300_000,
    "blanks": " " * 300_000,
    "lines": "\n" * 300_000,
    "directives": "\n#" * 150_000,
    "epochs": "scheduling epoch=1 kind=a node=" * 10_000,
    "pools": "/* index=1 file postfix=a name=b offset=0x1 " * 7_000,
    "pools without an end": "/* index=1 file postfix=a name=b offset=0x1 absolute_mode " * 5_000,
    "versions": "LL_ATON_VERSION_MAJOR != 1 " * 3_000,
    "headers": "_ecblobs.h" * 30_000,
    "getters": "LL_ATON_Input_Buffers_Info_a(void) {" * 8_000,
    "blobs": "uint64_t _ec_blob_a_1[1] = {" * 8_000,
    "kinds of numbers": "uint64_t " * 30_000,
    "options": "\n * --a = " * 6_000,
    "names": "_mem_pool_" * 30_000,
}


@pytest.mark.parametrize("name", SLOW)
def test_no_text_makes_it_slow(name, tmp_path):
    """Three hundred thousand characters of anything take seconds at most, even on a slow machine."""
    path = tmp_path / "network.c"
    for text in (SLOW[name], f"{HEAD}{{ {SLOW[name]}", f"uint64_t _ec_blob_a_0[] = {{ {SLOW[name]}"):
        path.write_text(text, encoding="utf-8")
        start = time.process_time()
        look(path)
        assert time.process_time() - start < 5
