"""The field's failures, made on purpose: each stops with its own name, whatever a bank that is off does.

All of them start from the normally built variant with all pools in internal memory and the weights in AXISRAM5.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from neuralart import cli
from support.projects.sconsproject import REPO, Project, Result, copy_built, copy_small, prepare

pytestmark = [pytest.mark.arm, pytest.mark.long]

VARIANT = "digits-n6-internal"
RUN = f"run-{VARIANT}"
BANKS = "firmware/runtime/memory/banks.c"
QUANTIZE = "firmware/runtime/kernels/quantize.c"
RAMCFG_CLOCK = """  if (registers->ramcfg_clock_register != 0) {
    npu_memory_set(registers->ramcfg_clock_register, registers->ramcfg_clock);
  }
"""
LAST_STEP = """      npu_memory_clear(tables->banks[row].ramcfg, registers->shutdown);
    }
  }
"""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The variant, built once and known to be right."""
    project = copy_small(tmp_path_factory.mktemp("internal") / "tree", (REPO / "variants.yaml").read_text("utf-8"))
    assert "bit-exact" in prepare(project, tmp_path_factory, RUN).out
    return project


@pytest.fixture(params=["fault", "zeros"])
def dead_bank(request: pytest.FixtureRequest) -> str:
    """One of the two ways in which a bank can be off."""
    return str(request.param)


@pytest.fixture
def project(dead_bank: str, template: Project, tmp_path: Path) -> Project:
    """A built tree to change, whose banks are off in that way."""
    copied = copy_built(template, tmp_path / "tree")
    copied.edit("variants.yaml", f"  {VARIANT}:\n", f"  {VARIANT}:\n    dead_bank: {dead_bank}\n")
    return copied


def failure(result: Result) -> str:
    """The one line that says what happened; notes stand beside it."""
    said = [line for line in result.errors if "neuralart run: " in line and "neuralart run: note: " not in line]
    assert len(said) == 1, result.err
    return said[0]


def run(project: Project) -> str:
    return failure(project.run(RUN, code=2))


Run = Callable[..., str]


@pytest.fixture
def by_hand(
    template: Project, dead_bank: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Run]:
    """As ``run-`` does it, with options, or a plan, that only a test wants. What is built stays as it is."""
    monkeypatch.chdir(template.root)

    def call(plan: Path, *more: str) -> str:
        (network,) = template.path("build/networks").rglob("network.json")
        words = ["run", "--board", "stm32n6570-dk", "--machine", "unicorn", "--elf", f"build/{VARIANT}/firmware.elf"]
        words += ["--plan", str(plan), "--network", str(network), "--vectors", "models/digits/vectors", *more]
        assert cli.main([*words, "--dead-bank", dead_bank]) == 2
        return failure(Result(2, "", capsys.readouterr().err))

    yield call
    shutil.rmtree(template.path("other"), ignore_errors=True)


def plan_file(project: Project) -> Path:
    (found,) = project.path(f"build/{VARIANT}").rglob("flash_plan.json")
    return found


@pytest.fixture
def run_changed(template: Project, by_hand: Run) -> Run:
    """Run another list of writes: that of the build folder would be made again."""

    def call(change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> str:
        data = json.loads(plan_file(template).read_text("utf-8"))
        before = list(data["writes"])
        data["writes"] = change(data["writes"])
        assert data["writes"] != before
        path = template.path("other/flash_plan.json")
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(data, indent=1) + "\n", "utf-8")
        return by_hand(path)

    return call


def replaced(project: Project, write: dict[str, Any], data: bytes) -> dict[str, Any]:
    """The same write with other bytes, which its plan knows of."""
    path = project.path(f"other/{write['kind']}.bin")
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    name = path.relative_to(project.root).as_posix()
    return {**write, "file": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def flashed(project: Project, kind: str) -> bytes:
    """What the plan writes of a kind."""
    (write,) = [write for write in json.loads(plan_file(project).read_text("utf-8"))["writes"] if write["kind"] == kind]
    return project.path(write["file"]).read_bytes()


# ---- what is in the flash ----


def test_untouched(project: Project) -> None:
    assert "bit-exact" in project.run(RUN).out


def test_raw_file_not_flashed(run_changed: Run) -> None:
    said = run_changed(lambda writes: [write for write in writes if write["kind"] != "model"])
    assert re.search(r"network digits, pool \S+: wrong CRC", said)


def test_raw_file_and_descriptor_not_flashed(run_changed: Run) -> None:
    said = run_changed(lambda writes: [write for write in writes if write["kind"] == "application"])
    assert "descriptor: there is no identity descriptor in flash" in said


def test_nothing_flashed(run_changed: Run) -> None:
    said = run_changed(lambda writes: [write for write in writes if write["kind"] != "application"])
    assert "application slot is empty: nothing was flashed" in said


@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_corrupted_weights(template: Project, run_changed: Run, place: str) -> None:
    def change(writes: list[dict[str, Any]]) -> list[dict[str, Any]]:
        data = bytearray(flashed(template, "model"))
        data[{"first": 0, "middle": len(data) // 2, "last": len(data) - 1}[place]] ^= 0x10
        return [replaced(template, write, bytes(data)) if write["kind"] == "model" else write for write in writes]

    assert re.search(r"network digits, pool \S+: wrong CRC", run_changed(change))


def test_corrupted_descriptor(template: Project, run_changed: Run) -> None:
    def change(writes: list[dict[str, Any]]) -> list[dict[str, Any]]:
        data = bytearray(flashed(template, "descriptor"))
        data[-1] ^= 1
        return [replaced(template, write, bytes(data)) if write["kind"] == "descriptor" else write for write in writes]

    said = run_changed(change)
    assert "descriptor: the identity descriptor in flash is damaged" in said


def _stamp(project: Project) -> str:
    """Of the network that this variant uses now."""
    stamps = {
        json.loads(p.read_text("utf-8"))["abi_stamp"] for p in project.path("build/networks").rglob("network.json")
    }
    (stamp,) = stamps
    return str(stamp)


@pytest.fixture(scope="module")
def older(template: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """An older build, with another output."""
    copied = copy_built(template, tmp_path_factory.mktemp("older") / "tree")
    shutil.rmtree(copied.path("build/networks"))
    copied.edit("variants.yaml", "    vectors: models/digits/vectors\n", "    output_data_type: float32\n")
    shutil.copy(REPO / QUANTIZE, copied.path(QUANTIZE))
    copied.run(VARIANT)
    return copied


def test_stale_weights(template: Project, run_changed: Run, older: Project) -> None:
    """The flash holds model and descriptor of an older build."""
    old = {kind: flashed(older, kind) for kind in ("model", "descriptor")}
    said = run_changed(
        lambda writes: [
            replaced(template, write, old[write["kind"]]) if write["kind"] in old else write for write in writes
        ],
    )
    assert "ABI mismatch" in said
    assert f"firmware {_stamp(template)}, flash {_stamp(older)}" in said
    assert _stamp(template) != _stamp(older)


# ---- what the firmware does ----


def test_bank_not_enabled(project: Project, dead_bank: str) -> None:
    project.edit(BANKS, "  uint32_t clocks = 0;\n", "  uint32_t clocks = 0;\n  return;\n")
    said = run(project)
    if dead_bank == "fault":
        assert re.search(r"at 0x34\w{6} by \S+.*AXISRAM\d has no clock: set bit \d of RCC_MEMENR", said), said
    else:
        assert re.search(r"AXISRAM\d: the memory does not answer", said), said


def test_bank_still_shut_down(project: Project, dead_bank: str) -> None:
    """Clocked, but nobody cleared the shutdown bit."""
    project.edit(BANKS, "npu_memory_clear(tables->banks[row].ramcfg, registers->shutdown);", ";")
    said = run(project)
    if dead_bank == "fault":
        assert re.search(r"AXISRAM\d is shut down: clear SRAMSD in RAMCFG_AXISRAM\dCR", said), said
    else:
        assert re.search(r"AXISRAM\d: the memory does not answer", said), said


def test_shutdown_bit_before_its_clock(project: Project) -> None:
    """A register without a clock is no bank: it stops the run in both ways."""
    project.edit(BANKS, RAMCFG_CLOCK, "")
    project.edit(BANKS, LAST_STEP, LAST_STEP + RAMCFG_CLOCK)
    assert "RAMCFG has no clock: set bit 12 of RCC_AHB2ENR" in run(project)


def test_banks_enabled_after_their_first_use(project: Project, dead_bank: str) -> None:
    source = "firmware/runtime/memory/npu_memory.c"
    call = "  npu_memory_enable_banks(tables);\n"
    probe = "  error = npu_memory_probe_banks(tables);\n"
    project.edit(source, call, "")
    project.edit(source, probe, probe + call)
    said = run(project)
    expected = r"AXISRAM\d has no clock" if dead_bank == "fault" else r"AXISRAM\d: the memory does not answer"
    assert re.search(expected, said), said


def test_cache_not_maintained(project: Project) -> None:
    project.edit("firmware/runtime/memory/dcache.c", "npu_memory_write(SCB_DCCIMVAC, line);", "")
    said = run(project)
    assert re.search(r"cache not maintained: \d+ bytes of pool \S+ of network digits", said), said


def test_cache_maintained_for_all_lines_but_the_last(project: Project) -> None:
    project.edit(
        "firmware/runtime/memory/dcache.c",
        "    npu_memory_write(SCB_DCCIMVAC, line);\n    if (line == last) {\n      break;\n    }\n",
        "    if (line == last) {\n      break;\n    }\n    npu_memory_write(SCB_DCCIMVAC, line);\n",
    )
    said = run(project)
    found = re.search(r"cache not maintained: (\d+) bytes of pool \S+ of network digits", said)
    assert found is not None and int(found[1]) <= 32, said


# ---- what the boot chain leaves ----


def test_flash_not_memory_mapped(template: Project, by_hand: Run) -> None:
    assert "xSPI2: not memory mapped" in by_hand(plan_file(template), "--xspi-unmapped")


# ---- what does not fit ----

BALLAST = """const unsigned char ballast[0x{size:x}] = {{1}};

int main(void) {{
  (void)*(const volatile unsigned char *)ballast;
"""


def enlarge(project: Project, size: int) -> None:
    project.edit("firmware/app/main.c", "int main(void) {\n", BALLAST.format(size=size))


def refused(project: Project) -> Result:
    failed = project.run(VARIANT, code=2)
    assert "bit-exact" not in failed.out
    return failed


@pytest.mark.parametrize("dead_bank", ["fault"], indirect=True)
def test_application_larger_than_its_memory(project: Project) -> None:
    """The generated linker script ends where the boot loader's copy ends."""
    before = plan_file(project).read_bytes()
    enlarge(project, 1 << 20)
    said = r"region CODE is full: \d+ bytes too many \(largest: ballast of main.o, \d+ bytes; "
    assert re.search(said, refused(project).err)
    assert not plan_file(project).exists() or plan_file(project).read_bytes() == before


@pytest.mark.parametrize("dead_bank", ["fault"], indirect=True)
def test_application_larger_than_the_copy(project: Project) -> None:
    """Linked by a script that knows nothing of the boot loader; the image's own check finds it."""
    (script,) = project.path("build/firmware").rglob("memory.ld")
    assert "LENGTH = 0xffc00" in script.read_text("utf-8")
    maker, whole = "site_scons/neuralart/memory/startup/linker.py", '_section(board, "CODE", board.code, "rx")'
    project.edit(maker, whole, f'{whole}.replace("LENGTH = 0xffc00", "LENGTH = 0x1ffc00")')
    enlarge(project, 1 << 20)
    failed = refused(project)
    said = [line for line in failed.errors if "the boot loader copies exactly 1048576 bytes" in line]
    assert len(said) == 1, failed.err
    assert re.search(r"header and image have \d+ bytes \(1024 \+ \d+\), .*: \d+ bytes are cut off", said[0]), said
