"""network_io.h and network_io.json: what an application reads in them, and when they cannot be made."""

from __future__ import annotations

import ctypes
import json
import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from neuralart import boards, toolchain
from neuralart.boards.types import MemoryRegion
from neuralart.config.types import ToolchainConfig
from neuralart.errors import NeuralArtError
from neuralart.memory.startup import network_io
from neuralart.network.facts import Network, Port
from support.projects import smallboard as small

BOARD = small.board()


def port(name: str = "in", address: int = 0x2400_1010, **changes) -> Port:
    fields = {
        "pool": "A",
        "bytes": 64,
        "shape": (1, 8, 8, 1),
        "dtype": "int8",
        "scale": 0.5,
        "zero_point": -3,
        **changes,
    }
    return Port(name=name, address=address, **fields)


def network(name: str = "digits", inputs=None, outputs=None, kinds=("SW",), cacheable: bool = False) -> Network:
    made = small.network(small.pool("A", 0x2400_1000, 0x800, cacheable=cacheable), name=name, kinds=kinds)
    return replace(
        made,
        inputs=(port(),) if inputs is None else tuple(inputs),
        outputs=(port("out", 0x2400_1100),) if outputs is None else tuple(outputs),
    )


def macros(text: str) -> dict[str, str]:
    found = re.findall(r"^#define (\w+) (.+)$", text, re.M)
    assert len(dict(found)) == len(found) == text.count("#define") - 1  # and the include guard
    return dict(found)


def of(made: Network, **changes) -> dict[str, str]:
    return macros(network_io.source(small.board(**changes), [made]))


def test_everything_about_a_tensor() -> None:
    found = {k[len("DIGITS_IN_1_") :]: v for k, v in of(network()).items() if k.startswith("DIGITS_IN_1_")}
    assert found == {
        "NAME": '"in"',
        "ADDRESS": "0x34001010u",  # the firmware is secure
        "ALIAS": "0x24001010u",
        "USER_ALLOCATED": "0",
        "BYTES": "64u",
        "TYPE": "int8_t",
        "TYPE_NAME": '"int8"',
        "ELEMENTS": "64u",
        "RANK": "4",
        "SHAPE": "{1, 8, 8, 1}",
        "DIM_0": "1",
        "DIM_1": "8",
        "DIM_2": "8",
        "DIM_3": "1",
        "LAYOUT": '"NHWC"',
        "QUANTIZED": "1",
        "SCALE": "0.5f",
        "ZERO_POINT": "(-3)",
        "CACHE_CLEAN_BEFORE_RUN": "0",
        "CACHE_CLEAN_INVALIDATE_AROUND_DMA": "1",
        "NPU_CACHE_CLEAN_INVALIDATE_BEFORE_RUN": "0",
    }


def test_counts_and_numbers() -> None:
    found = of(network(inputs=[port("a"), port("b")], outputs=[]))
    assert (found["DIGITS_IN_COUNT"], found["DIGITS_OUT_COUNT"]) == ("2", "0")
    assert (found["DIGITS_IN_1_NAME"], found["DIGITS_IN_2_NAME"]) == ('"a"', '"b"')
    assert not [name for name in found if name.startswith("DIGITS_OUT_1")]
    assert found["NETWORK_IO_CACHE_LINE"] == "32u"


def test_memory_with_one_address() -> None:
    found = of(network(inputs=[port(address=0x7000_0010)]))
    assert (found["DIGITS_IN_1_ADDRESS"], found["DIGITS_IN_1_ALIAS"]) == ("0x70000010u", "0x00000000u")


def test_buffer_of_the_application() -> None:
    mine = port(address=0, pool="", user_allocated=True, dtype="float32", scale=0.0, zero_point=0, bytes=256)
    found = of(network(inputs=[mine]))
    assert [found[f"DIGITS_IN_1_{key}"] for key in ("ADDRESS", "ALIAS", "USER_ALLOCATED", "TYPE", "QUANTIZED")] == [
        *("0x00000000u", "0x00000000u", "1", "float", "0")
    ]
    assert found["DIGITS_IN_1_SCALE"] == "0.0f"
    assert found["DIGITS_IN_1_CACHE_CLEAN_INVALIDATE_AROUND_DMA"] == "1"


@pytest.mark.parametrize(
    ("shape", "position", "layout"),
    [
        ((1, 8, 8, 3), "last", "NHWC"),
        ((1, 3, 8, 8), "first", "NCHW"),
        ((1, 10), "last", "NC"),
        ((1, 10), "first", "NC"),
        ((1, 16, 3), "last", "NWC"),
        ((1, 3, 16), "first", "NCW"),
        ((1, 2, 8, 8, 3), "last", "NDHWC"),
        ((10,), "last", "C"),
        ((), "last", "undefined"),
        ((1, 8, 8, 3), "undefined", "undefined"),
        ((1, 1, 2, 8, 8, 3), "last", "undefined"),
    ],
)
def test_meaning_of_axes(shape: tuple[int, ...], position: str, layout: str) -> None:
    found = of(network(inputs=[port(shape=shape, channel_position=position)]))
    assert found["DIGITS_IN_1_LAYOUT"] == f'"{layout}"'
    assert found["DIGITS_IN_1_RANK"] == str(len(shape))


@pytest.mark.parametrize("scale", [0.1, 1.0, 1e-30, 3.4e38, 0.003921568859368563, 2.0**-20])
def test_scales_survive_to_the_bit(scale: float) -> None:
    text = of(network(inputs=[port(scale=ctypes.c_float(scale).value)]))["DIGITS_IN_1_SCALE"]
    assert re.fullmatch(r"[\d.e+-]*[.e][\d.e+-]*f", text)
    assert ctypes.c_float(float(text[:-1])).value == ctypes.c_float(scale).value


# ---- caches


def duties(made: Network, **changes) -> dict[str, int]:
    return {k: int(v) for k, v in of(made, **changes).items() if "CACHE_" in k and k.startswith("DIGITS")}


CPU_ONLY = {
    "DIGITS_IN_1_CACHE_CLEAN_BEFORE_RUN": 0,
    "DIGITS_IN_1_CACHE_CLEAN_INVALIDATE_AROUND_DMA": 1,
    "DIGITS_IN_1_NPU_CACHE_CLEAN_INVALIDATE_BEFORE_RUN": 0,
    "DIGITS_OUT_1_CACHE_CLEAN_INVALIDATE_AROUND_RUN": 0,
    "DIGITS_OUT_1_CACHE_CLEAN_BEFORE_DMA": 1,
    "DIGITS_OUT_1_NPU_CACHE_CLEAN_AFTER_RUN": 0,
}
NPU_ONLY = {
    **CPU_ONLY,
    "DIGITS_IN_1_CACHE_CLEAN_BEFORE_RUN": 1,
    "DIGITS_OUT_1_CACHE_CLEAN_INVALIDATE_AROUND_RUN": 1,
    "DIGITS_OUT_1_CACHE_CLEAN_BEFORE_DMA": 0,
}
MIXED = {**NPU_ONLY, "DIGITS_OUT_1_CACHE_CLEAN_BEFORE_DMA": 1}


@pytest.mark.parametrize(
    ("kinds", "wanted"),
    [
        (("SW", "SW"), CPU_ONLY),
        (("HW",), NPU_ONLY),
        (("EC", "HW"), NPU_ONLY),
        (("HW", "SW"), MIXED),
        (("HYBRID",), MIXED),
    ],
)
def test_duty_follows_from_who_computes(kinds: tuple[str, ...], wanted: dict[str, int]) -> None:
    assert duties(network(kinds=kinds)) == wanted
    # A cacheable pool matters to the NPU only.
    through = {name: value or int("NPU_CACHE" in name and wanted is not CPU_ONLY) for name, value in wanted.items()}
    assert duties(network(kinds=kinds, cacheable=True)) == through


def test_core_without_a_cache() -> None:
    assert set(duties(network(kinds=("HW", "SW")), cpu="cortex-m33").values()) == {0}
    assert "does not cache" in network_io.source(small.board(cpu="cortex-m4"), [network()])


@pytest.mark.parametrize(
    ("region", "cached"),
    [
        (MemoryRegion("DTCM", 0x2000_0000, 0x1000, "ram"), 0),
        (MemoryRegion("AXIRAM", 0x2000_0000, 0x1000, "ram"), 1),
        (MemoryRegion("NOR", 0x9000_0000, 0x1000, "flash"), 1),
        (MemoryRegion("SDRAM", 0xD000_0000, 0x1000, "ram"), 0),
        (MemoryRegion("SDRAM", 0xD000_0000, 0x1000, "ram", mpu_normal=True), 1),
    ],
)
def test_memory_that_the_core_does_not_cache(region: MemoryRegion, cached: int) -> None:
    made = network(inputs=[port(address=region.base + 16)], outputs=[])
    found = duties(made, cpu="cortex-m7", memory=(*small.MEMORY, region))
    assert found["DIGITS_IN_1_CACHE_CLEAN_INVALIDATE_AROUND_DMA"] == cached


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        (("SW",), ("the CPU computes every epoch", "nothing to do, the CPU reads it too")),
        (("HW",), ("the NPU computes every epoch", "the NPU reads memory")),
        (("HW", "SW"), ("the NPU computes, and the CPU some epochs", "the NPU wrote it to memory")),
    ],
)
def test_words_say_the_same(kinds: tuple[str, ...], words: tuple[str, str]) -> None:
    text = network_io.source(BOARD, [network(kinds=kinds)]).lower()
    assert all(word.lower() in text for word in words)


def test_every_macro_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "network-io.md").read_text("utf-8")
    for name in of(network(kinds=("HW",))):
        stem = re.sub(r"^DIGITS_(IN|OUT)_1_", "", name)
        assert re.search(rf"(?:`|_){re.sub(r'_[1-9]$', '_0', stem)}`", page), name


# ---- several networks, bad input, JSON


def test_several_networks_in_one_header() -> None:
    text = network_io.source(BOARD, [network("one"), network("two")])
    found = macros(text)
    assert found["ONE_IN_1_BYTES"] == found["TWO_IN_1_BYTES"] == "64u"


@pytest.mark.parametrize("names", [("digits", "Digits"), ("x", "X")])
def test_networks_that_differ_in_capitals_only(names: tuple[str, str]) -> None:
    for make in (network_io.source, network_io.json_text):
        with pytest.raises(NeuralArtError) as caught:
            make(BOARD, [network(names[0]), network(names[1])])
        assert caught.value.what == (
            f"network_io.h would define {names[0].upper()}_IN_COUNT twice for networks {names[0]} and {names[1]}"
        )


def test_a_type_that_c_does_not_have() -> None:
    with pytest.raises(NeuralArtError, match=r"output 'out' of network digits: elements of type 'int4' have no C type"):
        network_io.source(BOARD, [network(outputs=[port("out", dtype="int4")])])


def test_a_tensor_in_no_memory() -> None:
    with pytest.raises(NeuralArtError, match="there is no memory at 0x9abc0000"):
        network_io.source(BOARD, [network(inputs=[port(address=0x9ABC_0000)])])


def test_json_says_the_same() -> None:
    made = [network("one", kinds=("HW",)), network("two", outputs=[port(address=0, user_allocated=True, scale=0.0)])]
    data = json.loads(network_io.json_text(BOARD, made))
    assert (data["schema"], data["board"], data["cache_line"]) == (1, "small", 32)
    assert [n["name"] for n in data["networks"]] == ["one", "two"]
    found = macros(network_io.source(BOARD, made))
    for entry in data["networks"]:
        for kind in ("inputs", "outputs"):
            for tensor in entry[kind]:
                prefix = tensor["macros"]
                assert found[f"{prefix}_ADDRESS"] == (tensor["address"] or "0x00000000") + "u"
                assert found[f"{prefix}_ALIAS"] == (tensor["alias"] or "0x00000000") + "u"
                assert found[f"{prefix}_BYTES"] == f"{tensor['bytes']}u"
                assert found[f"{prefix}_SHAPE"] == "{" + ", ".join(map(str, tensor["shape"])) + "}"
                assert found[f"{prefix}_QUANTIZED"] == str(int(tensor["scale"] is not None))
                flags = {name: value for name, value in tensor["cache"].items() if name != "words"}
                assert len(flags) == 3
                for name, value in flags.items():
                    assert found[f"{prefix}_{name.upper()}"] == str(int(value))


def test_equal_input_gives_equal_bytes_and_weights_are_no_part_of_it() -> None:
    before = network()
    after = replace(before, abi_stamp="f" * 16, macc=1, pools=tuple(replace(p, weights=8) for p in before.pools))
    for make in (network_io.source, network_io.json_text):
        assert make(BOARD, [before]) == make(BOARD, [before]) == make(BOARD, [after])


USER = """
#include "network_io.h"
#include "network_io.h"
_Static_assert(NET_IN_1_ELEMENTS * sizeof(NET_IN_1_TYPE) == NET_IN_1_BYTES, "bytes");
_Static_assert(NET_IN_1_ADDRESS - NET_IN_1_ALIAS == 0x10000000u, "alias");
_Static_assert(NET_IN_1_ZERO_POINT == -128 && 1 - NET_IN_1_ZERO_POINT == 129, "zero point");
#if !NET_IN_1_CACHE_CLEAN_INVALIDATE_AROUND_DMA || NET_IN_1_CACHE_CLEAN_BEFORE_RUN
#error duty
#endif
const int shape[NET_IN_1_RANK] = NET_IN_1_SHAPE;
const char *const names[] = {NET_IN_1_NAME, NET_IN_1_TYPE_NAME, NET_IN_1_LAYOUT};
const float scale = NET_IN_1_SCALE;
"""


def _compile(tmp_path: Path, gcc: list[str]) -> None:
    board = boards.load("stm32n6570-dk")
    tensor = port('we"ird\\name /*??/ é', 0x342E_0040, zero_point=-128, scale=1.0)
    made = replace(network("net", inputs=[tensor], outputs=[port("out", 0x342E_0100)]), pools=())
    (tmp_path / "network_io.h").write_text(network_io.source(board, [made]), "utf-8")
    (tmp_path / "user.c").write_text(USER, "utf-8")
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wundef", "-Werror", "-Wtrigraphs", "-c", "user.c"]
    done = subprocess.run([*gcc, *flags], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert b'we"ird\\name' in (tmp_path / "user.o").read_bytes()


@pytest.mark.hostcc
def test_c_takes_it(tmp_path: Path) -> None:
    _compile(tmp_path, ["cc"])


@pytest.mark.arm
def test_the_cross_compiler_takes_it(tmp_path: Path) -> None:
    found = toolchain.find(ToolchainConfig(), os.environ)
    _compile(
        tmp_path, [str(Path(found.folder) / f"{found.prefix}gcc"), *found.libc_flags, "-mcpu=cortex-m33", "-mthumb"]
    )
