"""What a build says of its result, by figures that are known."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from neuralart import summary
from neuralart.text import sizes
from support.projects import smallboard as small

ALLOC = 2


def write_elf(path: Path, sections: list[tuple[str, int, int, int]]) -> None:
    """An Arm ELF that is section headers only: (name, address, size, flags); NOBITS, so that no byte is needed."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name, *_ in sections) + b".shstrtab\0"
    headers = [bytes(40)]
    at = 1
    for name, address, size, flags in sections:
        headers.append(struct.pack("<10I", at, 8, flags, address, 52, size, 0, 0, 4, 0))
        at += len(name) + 1
    headers.append(struct.pack("<10I", at, 3, 0, 0, 52, len(names), 0, 0, 1, 0))
    ident = b"\x7fELF" + bytes([1, 1, 1]) + bytes(9)
    header = ident + struct.pack(
        "<HHIIIIIHHHHHH", 2, 40, 1, 0, 0, 52 + len(names), 0x05000000, 52, 0, 0, 40, len(headers), len(headers) - 1
    )
    path.write_bytes(header + names + b"".join(headers))


@pytest.fixture
def elf(tmp_path: Path) -> Path:
    path = tmp_path / "firmware.elf"
    write_elf(
        path,
        [
            (".data", 0x3001_0000, 0x40, ALLOC | 1),
            (".bss", 0x3001_0040, 0xC0, ALLOC | 1),
            (".text", 0x3000_0100, 0x200, ALLOC | 4),
            (".debug_info", 0, 0x5000, 0),
            (".empty", 0x3400_0000, 0, ALLOC),
        ],
    )
    return path


def info(elf: Path | None, **changes: Any) -> summary.Info:
    network = small.network(
        small.pool("AXISRAM5", 0x3400_1000, 0x300, size=0xC00, activations=0x300),
        small.pool("xSPI2", 0x7000_0000, 0x8000, size=0x10_0000, weights=0x8000, activations=0),
        kinds=("SW", "SW"),
    )
    fields: dict[str, Any] = {
        "variant": "digits-small",
        "title": "Digits on the small board",
        "machine": "unicorn (baseline)",
        "compilers": ["reference"],
        "toolchain": "arm-none-eabi-gcc 12.2.1, picolibc",
        "board": small.board(),
        "networks": [network],
        "elf": elf,
        "artefacts": ["build/digits-small/firmware.elf", "build/digits-small/net.xSPI2.bin"],
        **changes,
    }
    return summary.Info(**fields)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (10239, "10239 B"),
        (10240, "10.0 KiB"),
        (13005, "12.7 KiB"),
        ((10 << 20) - 1, "10240.0 KiB"),
        (10 << 20, "10.0 MiB"),
        (61 << 20, "61.0 MiB"),
    ],
)
def test_size(count: int, text: str) -> None:
    assert sizes.size(count) == text


def test_region_use(elf: Path) -> None:
    assert summary.region_use(elf, small.board()) == {"CODE": (0x200, 0x800), "ALWAYS": (0x100, 0x400)}


def test_region_use_outside_all_memories(tmp_path: Path) -> None:
    path = tmp_path / "x.elf"
    write_elf(
        path, [(".far", 0x1234_0000, 8, ALLOC), (".nor", 0x7000_0000, 16, ALLOC), (".text", 0x3000_0000, 4, ALLOC)]
    )
    assert list(summary.region_use(path, small.board()).items()) == [
        ("CODE", (4, 0x800)),
        ("NOR", (16, 0)),
        ("0x12340000", (8, 0)),
    ]


def test_text(elf: Path) -> None:
    assert summary.text(info(elf)) == (
        "digits-small: Digits on the small board\n"
        "  board        small, image for unicorn (baseline)\n"
        "  compiler     reference; firmware by arm-none-eabi-gcc 12.2.1, picolibc\n"
        "  network      net: 2 epochs: 0 HW, 2 SW, 1234 MACC, runtime neuralart\n"
        "    weights      xSPI2      32.0 KiB of 1.0 MiB (3.1 %) at 0x70000000\n"
        "    activations  AXISRAM5   768 B of 3072 B (25.0 %) at 0x34001000\n"
        "  firmware     CODE       512 B of 2048 B (25.0 %)\n"
        "  firmware     ALWAYS     256 B of 1024 B (25.0 %)\n"
        "  artefacts\n"
        "    build/digits-small/firmware.elf\n"
        "    build/digits-small/net.xSPI2.bin\n"
    ).replace("32.0 KiB of 1.0 MiB", f"{sizes.size(0x8000)} of {sizes.size(0x10_0000)}")


def test_without_an_image() -> None:
    """A model that the vendor's firmware loads: no machine here executes anything."""
    lines = summary.text(info(None, toolchain="")).splitlines()
    assert lines[1] == "  board        small, no image is made here"
    assert not any("unicorn" in line or "firmware" in line for line in lines[:6])


def test_buffers_of_a_core_that_the_linker_places(elf: Path) -> None:
    network = replace(small.network(small.pool("RAM", 0, 16)), runtime="network_runtime")
    (line,) = [each for each in summary.text(info(elf, networks=[network])).splitlines() if " RAM " in each]
    assert line.endswith(" where the application links it")


def test_text_without_title(elf: Path) -> None:
    assert summary.text(info(elf, title="")).splitlines()[0] == "digits-small"


@pytest.mark.parametrize(
    ("kinds", "text"),
    [
        ((), "unknown epochs"),
        (("SW",), "1 epochs: 0 HW, 1 SW"),
        (("HW", "EC", "SW"), "3 epochs: 2 HW, 1 SW"),
        (("HW", "HYBRID", "SW", "HYBRID"), "4 epochs: 1 HW, 1 SW, 2 hybrid"),
    ],
)
def test_epochs_by_kind(elf: Path, kinds: tuple[str, ...], text: str) -> None:
    network = small.network(small.pool("A", 0x3400_1000, 16), kinds=kinds)
    assert f"  network      net: {text}, " in summary.text(info(elf, networks=[network]))


def test_a_pool_without_capacity_has_no_share(elf: Path) -> None:
    network = small.network(small.pool("A", 0x3400_1000, 16, size=0))
    assert "    activations  A          16 B at 0x34001000\n" in summary.text(info(elf, networks=[network]))


def test_index(elf: Path) -> None:
    text = summary.index(info(elf))
    assert json.loads(text) == {
        "schema": 1,
        "variant": "digits-small",
        "board": "small",
        "machine": "unicorn (baseline)",
        "toolchain": "arm-none-eabi-gcc 12.2.1, picolibc",
        "networks": [{"name": "net", "abi_stamp": "0123456789abcdef"}],
        "firmware": {"CODE": {"used": 0x200, "capacity": 0x800}, "ALWAYS": {"used": 0x100, "capacity": 0x400}},
        "artefacts": ["build/digits-small/firmware.elf", "build/digits-small/net.xSPI2.bin"],
    }
    assert text.endswith("}\n")


def test_the_place_of_the_tree_does_not_show(elf: Path, tmp_path: Path) -> None:
    here = info(elf)
    moved = tmp_path / "elsewhere.elf"
    moved.write_bytes(elf.read_bytes())
    there = replace(here, elf=moved)
    assert summary.text(here) == summary.text(there)
    assert summary.index(here) == summary.index(there)
    assert str(tmp_path) not in summary.text(here) + summary.index(here)


def test_shortened_for_the_screen(elf: Path) -> None:
    short = summary.shortened(summary.text(info(elf)), "build/x/summary.txt").splitlines()
    assert short == [*summary.text(info(elf)).splitlines()[:8], "  more         2 artefacts: build/x/summary.txt"]
    details = [f"    detail {number}" for number in range(9)]
    long = "\n".join(["title", "  network", *details, "  firmware A", "  firmware B", "  artefacts", "    a.elf", ""])
    assert summary.shortened(long, "p").splitlines() == [
        *("title", "  network", *details[:7], "  firmware A", "  firmware B"),
        "  more         1 artefact and 2 more lines: p",
    ]
    without = "\n".join(["title", *(f"  firmware {number}" for number in range(20)), "  artefacts", ""])
    assert summary.shortened(without, "p").count("\n") == summary.LINES, "more than fits without details"
