"""profile.c on this machine, with an emulated counter unit of the NPU; what it prints is read as a measurement."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from neuralart.resources import firmware_dir
from neuralart_insight.profiling.counter_log import parse_counter_log
from neuralart_insight.profiling.measured import (
    CacheCounts,
    Clocks,
    MeasuredEpoch,
    NetworkMeasurement,
    Phases,
    StreamActivity,
)

pytestmark = pytest.mark.hostcc

SUPPORT = Path(__file__).parents[2] / "support" / "npu_counters"
# Phases in NPU cycles; together more than a counter of 32 bits holds. The fourth is a part of the third.
TOOK = ((100, 1000, 50), (400, 3_000_000_000, 200), (50, 100, 0), (10, 2_000_000_000, 20), (900, 5, 5))
READS = (range(276, 284, 2), range(277, 284, 2))
WRITES = (range(284, 292, 2), range(285, 292, 2))


def build(folder: Path, *flags: str) -> Path:
    program = folder / "check"
    firmware = firmware_dir()
    sources = [SUPPORT / "profile_check.c", firmware / "app" / "profile.c", firmware / "runtime" / "ll_aton_runtime.c"]
    includes = [f"-I{place}" for place in (SUPPORT, firmware / "app", firmware / "runtime" / "include")]
    command = [str(shutil.which("cc")), "-std=c11", "-Wall", "-Wextra", "-Werror", "-DNEURALART_PROFILE", *flags]
    subprocess.run([*command, *includes, *map(str, sources), "-o", str(program)], check=True)
    return program


def lines_of(program: Path, *passes: str) -> str:
    done = subprocess.run([program, *passes], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("counted"), "-DNEURALART_PROFILE_NPU", "-DLL_ATON_EB_DBG_INFO")


@pytest.fixture(scope="module")
def measured(counted: Path) -> NetworkMeasurement:
    (found,) = parse_counter_log(lines_of(counted, "31", "51", "08").encode(), "console.log")
    return found


def merged(values: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The EXTRA epoch counts as a part of the one before it."""
    extra = tuple(a + b for a, b in zip(values[2], values[3], strict=True))
    return [*values[:2], extra, values[4]]


def test_epochs_clocks_and_samples(measured: NetworkMeasurement) -> None:
    assert [(e.first, e.last, e.kind) for e in measured.epochs] == [
        (1, 1, "HW"),
        (2, 22, "EC"),
        (23, 23, "HYBRID"),
        (24, 24, "SW"),
    ]
    assert measured.clocks == Clocks(800_000_000, 1_000_000_000, 400_000_000, 900_000_000)
    assert (measured.samples, measured.missing) == (2, ())


def test_phases_go_through_the_end_of_32_bits(measured: NetworkMeasurement) -> None:
    assert [e.npu for e in measured.epochs] == [Phases(*row) for row in merged(list(TOOK))]
    assert [e.mcu for e in measured.epochs] == [
        Phases(*row) for row in merged([tuple(n * 4 // 5 for n in t) for t in TOOK])
    ]


def test_each_of_ten_engines_is_told_by_its_direction(measured: NetworkMeasurement) -> None:
    blob = TOOK[1][1]
    first = [StreamActivity("i", e, 1000 * (e + 1) // 10 + 10) for e in (0, 2, 9)]
    assert list(measured.epochs[0].streams) == [*first, StreamActivity("o", 2, 1000 * 3 // 20 + 10)]
    inputs = [StreamActivity("i", e, blob * (e + 1) // 10 + 10) for e in range(10)]
    outputs = [StreamActivity("o", e, blob * (e + 1) // 20 + 10) for e in range(10)]
    assert list(measured.epochs[1].streams) == inputs + outputs
    # Engines that only were set up are not told.
    assert measured.epochs[3].streams == ()


def test_bursts_of_both_interfaces(measured: NetworkMeasurement) -> None:
    def bursts(epoch: MeasuredEpoch, took: list[tuple[int, ...]]) -> None:
        for port in (0, 1):
            for found, signals in ((epoch.ports[port].read, READS), (epoch.ports[port].written, WRITES)):
                assert found == tuple(sum(n // (s - 266) for t in took for n in t) for s in signals[port])

    for epoch, took in zip(measured.epochs, ([TOOK[0]], [TOOK[1]], [TOOK[2], TOOK[3]], [TOOK[4]]), strict=True):
        bursts(epoch, took)


def test_the_cache_counts_round_too(measured: NetworkMeasurement) -> None:
    assert measured.epochs[0].cache == CacheCounts((10, 11, 12, 13), (14, 15, 16, 17))
    assert measured.epochs[2].cache == CacheCounts((70, 72, 74, 76), (78, 80, 82, 84))


def test_engines_of_the_epoch_alone(counted: Path) -> None:
    text = lines_of(counted, "02").splitlines()
    first = [
        line for line in text[: text.index("s:node:evt_pre_start:1:2:2:22:00000017:05000004:EC")] if "streng" in line
    ]
    assert first == [
        "s:node:streng_active:i:0:110:890",
        "s:node:streng_active:i:2:310:690",
        "s:node:streng_active:i:9:1010:-10",
        "s:node:streng_active:o:2:160:840",
        "s:node:streng_active:max:i:9:1010",
    ]
    # The blob uses 20 engines, and one of 16 counters is the clock.
    begin, end = (text.index(f"s:node:evt_post_end:{n}:0") for n in ("1:2:2:22", "2:23:23:23"))
    assert sum("streng_active" in line and "max" not in line for line in text[begin:end]) == 15
    henv = [line for line in lines_of(counted, "04").splitlines() if "streng" in line]
    assert henv[:3] == [
        "s:node:streng_henv:i:0:54:946",
        "s:node:streng_henv:i:2:154:846",
        "s:node:streng_henv:i:9:504:496",
    ]


def test_an_extra_epoch_keeps_the_number_of_the_one_before(counted: Path) -> None:
    text = lines_of(counted, "01")
    assert "s:node:evt_pre_start:3:23:-3:-3:00000013:05000000:HW" not in text
    assert "s:node:evt_pre_start:3:23:-3:-3:00000013:05000031:EXTRA\n" in text
    assert (
        "streng" not in text
        and "burst" not in text
        and "npu_cache:r" not in text
        and "npu_cycles:10:2000000000:20" in text
    )


def test_software_epochs_of_our_runtime(tmp_path: Path) -> None:
    text = lines_of(build(tmp_path))
    (found,) = parse_counter_log(text.encode(), "console.log")
    assert [(e.first, e.kind, e.mcu, e.npu) for e in found.epochs] == [
        (0, "SW", Phases(40, 0, 0), None),
        (1, "SW", Phases(0, 0, 40), None),
    ]
    assert found.samples == 2 and "npu_" not in text
