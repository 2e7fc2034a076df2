"""``neuralart doctor`` on made-up machines."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from neuralart import boards, cli, config
from neuralart.config.application import ApplicationConfig
from neuralart.config.types import VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.vendor import programs, releases, tools
from neuralart.vendor.tools import BROKEN, CMAKE, CUBEIDE, MAKE, MISSING, OK, QEMU, UNFIT, Host, Need, system_of
from neuralart_insight.doctor import compilers, known_bad, python_environment
from neuralart_insight.doctor.examine import PROBE_TOOLS, PROGRAMMER, SIGNING, TOOLS, compilers_of, examine
from neuralart_insight.doctor.known_bad import Circumstances
from support.boards.fake_tools import FakeMachine

SLEEP = f"{shutil.which('sleep')} 60"
REPO = Path(__file__).resolve().parents[3]
DOC = REPO / "docs" / "reference" / "doctor.md"
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the made-up programs are shell scripts")

PROJECT = """\
schema: 1
networks:
  digits: {model: digits.tflite}
variants:
  digits-n6: {board: stm32n6570-dk, network: digits}
  digits-an547: {board: mps3-an547, network: digits}
  digits-silicon: {board: stm32n6570-dk, machine: silicon, network: digits}
"""


@pytest.fixture
def fake(tmp_path: Path) -> FakeMachine:
    return FakeMachine(tmp_path / "machine")


@pytest.fixture
def whole(fake: FakeMachine) -> FakeMachine:
    """A machine that has everything."""
    fake.gcc()
    fake.program(
        "qemu-system-arm",
        'if [ "$1" = -M ]; then echo "Supported machines are:"; echo "mps3-an547   ARM MPS3"; '
        'else echo "QEMU emulator version 7.2.22 (Debian 1:7.2)"; fi',
    )
    fake.says("cmake", "cmake version 3.25.1\n\nCMake suite maintained by somebody")
    fake.says("make", "GNU Make 4.3")
    fake.says("STM32_Programmer_CLI", "  -------\n                       STM32CubeProgrammer v2.19.0   \n")
    fake.says("STM32_SigningTool_CLI", "      STM32 Signing Tool v2.19.0")
    fake.program("stm32cubeide", "exit 1", "stm32cubeide_1.17.0")
    return fake


def project(folder: Path, text: str = PROJECT) -> list:
    folder.mkdir(exist_ok=True)
    (folder / "variants.yaml").write_text(text)
    file = config.read(folder / "variants.yaml", "variants.yaml")
    found = [file.variant(name) for name in file.config.titles]
    return [(variant, boards.load(variant.board)) for variant in found]


def report(fake: FakeMachine, variants: list = (), targets: tuple[str, ...] = (), folder: Path | None = None, **extra):
    machine = Host({**fake.environ, **extra}, "linux", 5.0, usual_places=False)
    return examine(machine, variants, targets, project="variants.yaml" if variants else "", folder=folder or fake.root)


def by_tool(found) -> dict:
    return {row.tool: row for row in found.rows}


def ids(found) -> list[str]:
    return [remark.id for remark in found.remarks]


# ---- asking ----------------------------------------------------------------------------------------------------------


def test_what_a_program_says(fake: FakeMachine) -> None:
    path = fake.program("tool", "echo out; echo err >&2; exit 3")
    assert programs.ask(path, ["--version"], fake.environ).splitlines() == ["out", "err"]
    (call,) = fake.calls()
    assert call.startswith("tool --version in ") and str(Path.cwd()) not in call


@pytest.mark.parametrize("body", ["LATE", "LATE & echo started", "exec 1>&- 2>&-; LATE"])
def test_time_limit(fake: FakeMachine, body: str, tmp_path: Path) -> None:
    """Also where something it leaves behind holds its output, and where it closes it and stays."""
    late = tmp_path / "it ended by itself"
    path = fake.program("tool", body.replace("LATE", f"({SLEEP}; : >'{late}')"))
    try:
        programs.ask(path, ["--version"], fake.environ, 0.5)
    except NeuralArtError as error:
        assert "does not answer '--version' within 0.5 seconds" in str(error)
    assert not late.exists()


def test_a_program_that_never_stops_talking(fake: FakeMachine) -> None:
    path = fake.program("tool", "while :; do echo yes; done")
    assert 0 < len(programs.ask(path, ["--version"], fake.environ, 10)) <= 1 << 16


def test_a_program_that_is_none(fake: FakeMachine) -> None:
    path = fake.folder("bin") / "tool"
    path.write_bytes(b"\x00\x01")
    path.chmod(0o755)
    with pytest.raises(NeuralArtError, match="cannot be started"):
        programs.ask(path, ["--version"], fake.environ)


def test_the_environment_of_a_program(fake: FakeMachine) -> None:
    path = fake.program("tool", 'echo "$PYTHONPATH|$MAKEFLAGS|$KEPT"; read x; echo "<$x>"')
    said = programs.ask(path, [], {**fake.environ, "PYTHONPATH": "/x", "MAKEFLAGS": "-n", "KEPT": "yes"})
    assert said.splitlines() == ["||yes", "<>"]


# ---- versions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "wanted", "good"),
    [
        ("2.21.0", ">=2.21", True),
        ("2.20.9", ">=2.21", False),
        ("2.21", "<=2.21.0", True),
        ("2.9", "<2.21", True),
        ("10.0", ">9", True),
        ("4.0.1-20581", "4.0.*", True),
        ("4.0.1", "4.0.1", True),
        ("4.0.10", "4.0.1", False),
        ("4.1.0", "4.0.*", False),
        ("1.1.3.262", "!=1.1.3.8", True),
        ("1.1.3.8", "!=1.1.3.8", False),
        ("3.2", ">=3.1,<4", True),
        ("4.0", ">=3.1,<4", False),
        ("7.2.22 (Debian)", ">=7.2", True),
        ("", "*", False),
        ("v1", "*", False),
        ("1", "*", True),
        # As pip reads them.
        ("4.0.1", "==4.0", False),
        ("4.0.0", "==4.0", True),
        ("4.0.1", "==4.0.*", True),
        ("4.0.1", "~=4.0", True),
        ("5.0", "~=4.0", False),
        ("4.0.1", "!=4.0.*", False),
    ],
)
def test_ranges(version: str, wanted: str, good: bool) -> None:
    programs.check_range(wanted, "x")
    assert programs.fits(version, wanted) is good


@pytest.mark.parametrize("text", ["", "new", ">=4.0.*", ">=", "1..2", "~=1", "1,"])
def test_ranges_that_are_none(text: str) -> None:
    with pytest.raises(NeuralArtError, match="is no range of versions"):
        programs.check_range(text, "file:3")


def test_the_ranges_are_those_of_the_package() -> None:
    import tomllib

    data = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]
    declared = [*data["dependencies"], *data["optional-dependencies"]["emulator"]]
    split = dict(re.match(r"([a-z0-9]+)(.*)", text).groups() for text in declared)
    assert split == {**python_environment.PACKAGES, **python_environment.EXTRAS}


# ---- programs --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "text", "version"),
    [
        (QEMU, "QEMU emulator version 8.1.0", "8.1.0"),
        (PROGRAMMER, "      STM32CubeProgrammer v2.16.0      ", "2.16.0"),
        (PROGRAMMER, "STM32CubeProgrammer version: 2.21.0", "2.21.0"),
        (SIGNING, "STM32 Signing Tool v2.19.0", "2.19.0"),
        (SIGNING, "  STM32MP SigningTool_CLI version 2.21.0 ", "2.21.0"),
        (CMAKE, "cmake version 3.30.0-rc2", "3.30.0"),
        (PROBE_TOOLS[0], "Open On-Chip Debugger 0.12.0+dev-01", "0.12.0"),
        (PROBE_TOOLS[1], "GNU gdb (Debian 13.1-3) 13.1\nCopyright", "13.1"),
        (PROBE_TOOLS[2], "0.36.0", "0.36.0"),
        (MAKE, "GNU Make 4.4.1\nBuilt for x86", "4.4.1"),
    ],
)
def test_versions_in_what_programs_say(fake: FakeMachine, tool, text: str, version: str) -> None:
    fake.says(tool.programs[0], text)
    row = tools.row(tool, Host(fake.environ, "linux", 5))
    assert (row.status, row.version) == (OK, version)


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [("cmake version 3.10.2", UNFIT, "version 3.10.2, needed: >=3.16"), ("hello", UNFIT, "does not say a version")],
)
def test_a_version_that_does_not_do(fake: FakeMachine, text: str, status: str, said: str) -> None:
    fake.says("cmake", text)
    row = tools.row(CMAKE, Host(fake.environ, "linux", 5))
    assert row.status == status and said in row.problem and row.get and row.means


def test_a_program_that_hangs(fake: FakeMachine) -> None:
    fake.program("make", SLEEP)
    row = tools.row(MAKE, Host(fake.environ, "linux", 0.3))
    assert row.status == BROKEN and "does not answer" in row.problem


def test_the_ide_is_never_started(fake: FakeMachine) -> None:
    fake.program("stm32cubeide", "exit 1", "opt/stm32cubeide_1.17.0")
    row = tools.row(CUBEIDE, Host(fake.environ, "linux", 5))
    assert (row.status, row.version) == (OK, "1.17.0")
    assert fake.calls() == []


def test_usual_places_newest_first(fake: FakeMachine) -> None:
    home = Path(fake.environ["HOME"])
    for version in ("1.9.0", "1.17.0"):
        fake.program("stm32cubeide", "", path=home / "st" / f"stm32cubeide_{version}")
    found = list(programs.in_places(("~/st/stm32cubeide_*/stm32cubeide",), fake.environ, "linux"))
    assert [path.parent.name for path in found] == ["stm32cubeide_1.17.0", "stm32cubeide_1.9.0"]
    assert not list(programs.in_places(("~/no/such_*/x", "~/st/none"), fake.environ, "linux"))
    assert not list(programs.in_places(("~/st/*/stm32cubeide",), {}, "linux"))


def test_programs_of_windows(tmp_path: Path) -> None:
    (tmp_path / "cmake.exe").write_text("")
    (tmp_path / "cmake.exe").chmod(0o755)
    environ = {"PATH": str(tmp_path), "PATHEXT": ".COM;.EXE"}
    assert programs.on_path(("cmake",), environ, "windows") == [tmp_path / "cmake.exe"]
    assert programs.on_path(("cmake",), environ, "linux") == []


def test_the_same_file_twice_is_no_second_one(fake: FakeMachine) -> None:
    real = fake.says("cmake", "cmake version 3.25.1")
    fake.folder("other")
    (fake.root / "other" / "cmake").symlink_to(real)
    fake.folders.append(fake.root / "bin" / ".." / "bin")
    assert programs.on_path(("cmake",), fake.environ, "linux") == [real]
    assert tools.shadowed(CMAKE, Host(fake.environ, "linux", 5)) == []


@pytest.mark.parametrize(("second", "level"), [("3.25.1", "note"), ("3.30.0", "warning")])
def test_two_of_a_kind(fake: FakeMachine, second: str, level: str) -> None:
    first = fake.says("cmake", "cmake version 3.25.1")
    other = fake.says("cmake", f"cmake version {second}", "other")
    (remark,) = tools.shadowed(CMAKE, Host(fake.environ, "linux", 5))
    assert remark.level == level
    assert f"{first} (3.25.1) is used, {other} ({second}) is not" in remark.message


# ---- the cross compiler ----------------------------------------------------------------------------------------------


def compiler(fake: FakeMachine, variants: list = ()):
    (wanted,) = compilers_of(variants)
    return compilers.gcc_row(wanted, Host(fake.environ, "linux"))


def test_which_c_library(fake: FakeMachine) -> None:
    fake.gcc(file="libc.a")
    row = compiler(fake)
    assert (row.status, row.version, row.details) == (OK, "12.2.1", ("C library newlib",))


def test_no_c_library(fake: FakeMachine) -> None:
    fake.gcc(file="nothing")
    row = compiler(fake)
    assert row.status == UNFIT and "12.2.1 has no C library" in row.problem and "picolibc" in row.get


def test_no_library_for_a_core(fake: FakeMachine, tmp_path: Path) -> None:
    fake.gcc(link="echo 'cannot find -lc' >&2; exit 1")
    variants = project(tmp_path / "p")[:1]
    row = compiler(fake, variants)
    assert row.status == UNFIT and "cannot link for -mcpu=cortex-m33" in row.problem
    assert compiler(fake).status == OK


def test_a_compiler_that_does_not_answer(fake: FakeMachine) -> None:
    fake.program("arm-none-eabi-gcc", "exit 1")
    assert compiler(fake).status == BROKEN


def test_different_compilers_have_rows_of_their_own(fake: FakeMachine, tmp_path: Path) -> None:
    text = PROJECT.replace(
        "digits-an547: {board: mps3-an547,",
        "digits-an547: {board: mps3-an547, toolchain: {libc: newlib, version: '13'},",
    )
    fake.gcc()
    found = report(fake, project(tmp_path / "p", text))
    rows = by_tool(found)
    assert rows["arm-none-eabi-gcc"].status == OK
    other = rows["arm-none-eabi-gcc newlib 13"]
    assert other.status == UNFIT and other.need.build == ("digits-an547",) and other.blocks
    assert report(fake, project(tmp_path / "p", text), ("digits-n6",)).ok


def test_two_compilers(fake: FakeMachine) -> None:
    fake.gcc()
    fake.gcc("13.3.1", folder="other")
    (remark,) = compilers.gcc_shadowed(Host(fake.environ, "linux"), compilers_of([]))
    assert remark.level == "warning" and "(12.2.1) is used" in remark.message and "(13.3.1) is not" in remark.message


# ---- ST Edge AI Core -------------------------------------------------------------------------------------------------


def test_stedgeai_on_path(fake: FakeMachine) -> None:
    home = fake.stedgeai()
    fake.folders.append(home / "Utilities" / "linux")
    row = by_tool(report(fake))["stedgeai"]
    assert (row.status, row.version) == (OK, "4.0.1")
    assert not (fake.root / "cache").exists(), "nothing is written where answers are remembered"


def test_stedgeai_by_its_variable(fake: FakeMachine) -> None:
    row = by_tool(report(fake, STEDGEAI_CORE_DIR=str(fake.stedgeai("3.0.0-20426 123672867"))))["stedgeai"]
    assert (row.status, row.version) == (OK, "3.0.0")
    assert any("STEDGEAI_CORE_DIR" in text for text in row.details)


def test_stedgeai_without_its_npu_compiler(fake: FakeMachine) -> None:
    row = by_tool(report(fake, STEDGEAI_CORE_DIR=str(fake.stedgeai(atonn=False))))["stedgeai"]
    assert row.status == UNFIT and "stneuralart" in row.problem


def test_stedgeai_that_hangs(fake: FakeMachine) -> None:
    home = fake.stedgeai()
    fake.program("stedgeai", SLEEP, path=home / "Utilities" / "linux")
    row = by_tool(report(fake, STEDGEAI_CORE_DIR=str(home), NEURALART_STEDGEAI_PATIENCE="0.3"))["stedgeai"]
    assert row.status == BROKEN and "does not answer" in row.problem


def test_stedgeai_nowhere(fake: FakeMachine) -> None:
    row = by_tool(report(fake))["stedgeai"]
    assert row.status == MISSING and "looked at" in row.problem and "STEDGEAI_CORE_DIR" in row.get
    assert not row.blocks


def test_two_installations(fake: FakeMachine) -> None:
    one, other = fake.stedgeai(), fake.stedgeai("3.0.0-20426 123672867", root="STEdgeAI/3.0")
    fake.folders.append(other / "Utilities" / "linux")
    found = report(fake, STEDGEAI_CORE_DIR=str(one))
    assert "shadowed-stedgeai" in ids(found)
    assert by_tool(found)["stedgeai"].version == "4.0.1"


# ---- what a project needs --------------------------------------------------------------------------------------------


def test_whole_machine(whole: FakeMachine, tmp_path: Path) -> None:
    found = report(whole, project(tmp_path / "p"))
    assert found.ok
    rows = by_tool(found)
    assert {tool: row.version for tool, row in rows.items() if tool in {t.name for t in TOOLS}} == {
        "qemu-system-arm": "7.2.22",
        "cubeprogrammer": "2.19.0",
        "signing-tool": "2.19.0",
        "stm32cubeide": "1.17.0",
        "cmake": "3.25.1",
        "make": "4.3",
    }
    assert rows["qemu-system-arm"].details == ("machine mps3-an547",)
    assert [row.tool for row in found.rows if row.status != OK] == ["stedgeai"]


def test_only_questions_are_asked_and_nowhere_near_the_project(whole: FakeMachine, tmp_path: Path) -> None:
    variants = project(tmp_path / "p")
    before = sorted(path for path in tmp_path.rglob("*") if path != whole.log)
    report(whole, variants, folder=tmp_path / "p")
    allowed = r"\S+ (--version|-M help|-dumpfullversion|-print-(?:file|prog)-name=[\w.]+|-m.* -Wl,--trace,.*"
    allowed += r"|(?:\S+ )?-E -Wp,-v -xc /dev/null) in "
    for call in whole.calls():
        assert re.match(allowed, call), call
        assert str(tmp_path / "p") not in call.partition(" in ")[2]
    assert sorted(path for path in tmp_path.rglob("*") if path != whole.log) == before


def test_without_a_compiler_nothing_builds(whole: FakeMachine, tmp_path: Path) -> None:
    (whole.root / "bin" / "arm-none-eabi-gcc").unlink()
    variants = project(tmp_path / "p")
    found = report(whole, variants)
    row = by_tool(found)["arm-none-eabi-gcc"]
    assert not found.ok and row.blocks and row.status == MISSING
    assert row.need.build == ("digits-n6", "digits-an547", "digits-silicon")
    assert "gcc-arm-none-eabi" in row.get


@pytest.mark.parametrize(
    ("targets", "ok"),
    [
        ((), True),
        (("digits-an547",), True),
        (("run-digits-an547",), False),
        (("boot-digits-an547",), False),
        (("debug-digits-an547",), False),
        (("flash-digits-an547",), True),
        (("run-digits-n6", "digits-an547"), True),
    ],
)
def test_without_qemu_one_runs_not(whole: FakeMachine, tmp_path: Path, targets: tuple[str, ...], ok: bool) -> None:
    (whole.root / "bin" / "qemu-system-arm").unlink()
    found = report(whole, project(tmp_path / "p"), targets)
    assert found.ok is ok
    if "digits-an547" in str(targets) or not targets:
        need = by_tool(found)["qemu-system-arm"].need
        assert need == Need((), ("run-digits-an547", "debug-digits-an547", "boot-digits-an547"))


def test_qemu_without_the_machine(whole: FakeMachine, tmp_path: Path) -> None:
    whole.says("qemu-system-arm", "QEMU emulator version 4.2.0")
    row = by_tool(report(whole, project(tmp_path / "p")))["qemu-system-arm"]
    assert row.status == UNFIT and "no machine mps3-an547" in row.problem


def test_real_boards_need_the_programmer(fake: FakeMachine, tmp_path: Path) -> None:
    fake.gcc()
    variants = project(tmp_path / "p")
    assert report(fake, variants, ("digits-silicon",)).ok
    assert not report(fake, variants, ("flash-digits-silicon",)).ok
    assert not report(fake, variants, ("flash-application-digits-silicon",)).ok
    assert not report(fake, variants, ("reset-digits-silicon",)).ok
    assert "openocd" not in by_tool(report(fake, variants))


def test_real_boards_need_the_program_of_their_runner(fake: FakeMachine, tmp_path: Path) -> None:
    fake.gcc()
    fake.says("STM32_SigningTool_CLI", "STM32 Signing Tool v2.19.0")
    variants = project(tmp_path / "p", PROJECT.replace("machine: silicon,", "machine: silicon, runner: openocd,"))
    row = by_tool(report(fake, variants, ("flash-digits-silicon",)))["openocd"]
    assert (row.status, row.blocks) == (MISSING, True) and "Debian, Ubuntu: openocd" in row.get
    fake.says("openocd", "Open On-Chip Debugger 0.12.0")
    found = report(fake, variants, ("flash-digits-silicon",))
    assert found.ok and by_tool(found)["openocd"].version == "0.12.0"


def test_models_that_are_loaded_on_further_boards(whole: FakeMachine, tmp_path: Path) -> None:
    text = PROJECT.replace(
        "digits-n6: {board: stm32n6570-dk,", "digits-n6: {board: stm32n6570-dk, relocatable: {also_on: [mps3-an547]},"
    )
    variants = project(tmp_path / "p", text)
    others = {"mps3-an547": boards.load("mps3-an547")}
    (whole.root / "bin" / "qemu-system-arm").unlink()
    machine = Host(whole.environ, "linux", 5.0, usual_places=False)
    for target, ok in (("digits-n6", True), ("run-digits-n6", True), ("load-digits-n6", False)):
        found = examine(machine, variants, (target,), project="v", folder=tmp_path, others=others)
        assert found.ok is ok, target
    assert by_tool(found)["qemu-system-arm"].need == Need((), ("load-digits-n6",))
    used = ("run-digits-n6", "debug-digits-n6", "boot-digits-n6", "load-digits-n6")
    assert by_tool(found)["unicorn"].need.use == used
    assert any("-mcpu=cortex-m55" in call for call in whole.calls()), "the other board's core is linked for as well"


def test_a_target_that_is_none(fake: FakeMachine, tmp_path: Path) -> None:
    with pytest.raises(NeuralArtError, match="no variant or target 'run-digits-n7'"):
        report(fake, project(tmp_path / "p"), ("run-digits-n7",))


def test_networks_of_the_vendor_compiler(fake: FakeMachine, tmp_path: Path) -> None:
    from dataclasses import replace

    fake.gcc()
    ((variant, board), *others) = project(tmp_path / "p")
    vendor = replace(variant, networks=tuple(replace(net, compiler="stedgeai") for net in variant.networks))
    found = report(fake, [(vendor, board), *others])
    row = by_tool(found)["stedgeai"]
    assert not found.ok and row.blocks and row.need.build == ("digits-n6",)
    assert report(fake, [(vendor, board), *others], ("digits-an547",)).ok


# ---- shadowing and places --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["neuralart.py", "neuralart/__init__.py", "yaml.py", "site_scons/site_tools/neuralart.py"]
)
def test_files_that_shadow(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")
    (remark,) = python_environment.project_files(tmp_path)
    assert remark.level == "error" and "shadows the module" in remark.message


def test_files_that_do_not_shadow(tmp_path: Path) -> None:
    (tmp_path / "neuralart").mkdir()
    (tmp_path / "neuralart.yaml").write_text("")
    assert python_environment.project_files(tmp_path) == []
    assert python_environment.project_files(REPO) == [], "this repository has its own package in site_scons"


def test_another_copy_of_the_package(tmp_path: Path) -> None:
    package = tmp_path / "site_scons" / "neuralart"
    (package / "scons").mkdir(parents=True)
    for name in ("__init__.py", "scons/tool.py"):
        (package / name).write_text("")
    (remark,) = python_environment.project_files(tmp_path)
    assert remark.level == "warning" and "another copy of neuralart" in remark.message


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/x/y", ()),
        ("/x/my project", ("spaces",)),
        ("/x/Übung", ("non-ascii",)),
        ("/a b/ü@c", ("spaces", "non-ascii", "at")),
    ],
)
def test_traits_of_paths(path: str, found: tuple[str, ...]) -> None:
    assert python_environment.traits(path) == found


def test_remarks_about_paths(fake: FakeMachine, tmp_path: Path) -> None:
    folder = tmp_path / "Übung 1"
    folder.mkdir()
    found = report(fake, folder=folder, HOME="/home of me", STEDGEAI_CORE_DIR=str(fake.stedgeai()))
    levels = {remark.id: remark.level for remark in found.remarks}
    assert levels["path-non-ascii"] == levels["non-ascii-path"] == "warning"
    assert levels["path-spaces"] == levels["loader-spaces"] == "note"
    assert "\\xdcbung" in next(remark.message for remark in found.remarks if remark.id == "path-non-ascii")
    assert any("the home folder" in remark.message for remark in found.remarks)
    assert list(levels) == sorted(levels, key=lambda id_: ["error", "warning", "note"].index(levels[id_]))


# ---- known combinations ----------------------------------------------------------------------------------------------


def said(versions_: dict[str, str], missing: tuple[str, ...] = (), **words: str) -> set[str]:
    facts = Circumstances(versions_, frozenset(missing), {name: (word,) for name, word in words.items()})
    return {remark.id for remark in known_bad.remarks(known_bad.read(), facts)}


@pytest.mark.parametrize(
    ("versions_", "missing", "words", "expected"),
    [
        ({}, (), {}, set()),
        ({"signing-tool": "2.19.0"}, (), {}, set()),
        ({"signing-tool": "2.21.0"}, (), {}, {"sign-align", "sign-length"}),
        ({"signing-tool": "2.22.0"}, (), {}, {"sign-align"}),
        ({"stedgeai": "2.2.0"}, (), {"system": "linux"}, set()),
        ({"stedgeai": "2.2.0"}, (), {"system": "windows"}, {"guard-only-warns-windows"}),
        ({"stedgeai": "2.1.0"}, (), {"system": "linux"}, {"guard-only-warns"}),
        ({"stedgeai": "3.0.0", "ll_aton": "1.1.3.262"}, (), {}, {"runtime-3.0"}),
        ({"stedgeai": "3.0.0", "ll_aton": "1.1.3.8"}, (), {}, set()),
        ({"stedgeai": "4.0.1", "ll_aton": "1.1.3.262"}, (), {}, {"runtime-4.0.1"}),
        ({"stedgeai": "4.0.0", "ll_aton": "1.1.3.262"}, (), {}, set()),
        ({"stedgeai": "4.0.0"}, ("arm-none-eabi-gcc",), {}, {"no-sizes"}),
        ({"stedgeai": "4.0.0"}, (), {"path": "non-ascii"}, {"non-ascii-path"}),
        ({}, ("stedgeai",), {"path": "non-ascii"}, set()),
        ({"stedgeai": ""}, (), {"path": "at"}, {"at-in-path"}),
    ],
)
def test_known_combinations(versions_: dict, missing: tuple, words: dict, expected: set) -> None:
    assert said(versions_, missing, **words) == expected


def test_every_release_has_its_runtime_in_the_list() -> None:
    """The list says the same as the table of releases."""
    for release in releases.RELEASES:
        right = ".".join(map(str, release.runtime))
        assert not {each for each in said({"stedgeai": release.core, "ll_aton": right}) if each.startswith("runtime")}
        wrong = said({"stedgeai": release.core, "ll_aton": "9.9.9.9"})
        assert len({each for each in wrong if each.startswith("runtime")}) == 1


def test_headers_of_the_project(fake: FakeMachine, tmp_path: Path) -> None:
    folder = tmp_path / "p"
    header = folder / "Middlewares" / "ll_aton" / "ll_aton_version.h"
    header.parent.mkdir(parents=True)
    parts = zip(("MAJOR", "MINOR", "MICRO", "DEV"), (1, 1, 3, 8), strict=True)
    header.write_text("".join(f"#define LL_ATON_VERSION_{part} {number}\n" for part, number in parts))
    found = report(fake, folder=folder, STEDGEAI_CORE_DIR=str(fake.stedgeai()))
    (remark,) = [remark for remark in found.remarks if remark.id == "runtime-4.0.1"]
    assert "4.0.1 makes networks for runtime 1.1.3.275, the project has the headers of 1.1.3.8" in remark.message


def test_the_programmer_stands_in_for_a_signing_tool_without_version(whole: FakeMachine) -> None:
    whole.says("STM32_Programmer_CLI", "STM32CubeProgrammer v2.21.0")
    whole.says("STM32_SigningTool_CLI", "usage: ...")
    assert "sign-align" in ids(report(whole))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("schema: 2\ncombinations: []", "x.yaml:1"),
        ("schema: 1", "'combinations' is missing"),
        ("schema: 1\ncombinations: [{id: a}]", "'when' is missing"),
        (
            "schema: 1\ncombinations:\n- {id: a, when: {}, level: note, says: x, remedy: y}",
            "x.yaml:3: combinations[0].when",
        ),
        (
            "schema: 1\ncombinations:\n- {id: a, when: {stedgai: '*'}, level: note, says: x, remedy: y}",
            "did you mean 'stedgeai'",
        ),
        (
            "schema: 1\ncombinations:\n- {id: a, when: {make: new}, level: note, says: x, remedy: y}",
            "no range of versions",
        ),
        (
            "schema: 1\ncombinations:\n- {id: a, when: {system: beos}, level: note, says: x, remedy: y}",
            "'beos' is not allowed",
        ),
        (
            "schema: 1\ncombinations:\n- {id: a, when: {make: '*'}, level: bad, says: x, remedy: y}",
            "'bad' is not allowed",
        ),
        (
            "schema: 1\ncombinations:\n" + "- {id: a, when: {make: '*'}, level: note, says: x, remedy: y}\n" * 2,
            "there twice",
        ),
    ],
)
def test_a_list_that_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(NeuralArtError) as caught:
        known_bad.read(tmp_path / "x.yaml")
    assert message in str(caught.value)


# ---- the command -----------------------------------------------------------------------------------------------------


@pytest.fixture
def here(whole: FakeMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "p"
    project(folder)
    for name in ("STEDGEAI_CORE_DIR", "NEURALART_TOOLCHAIN"):
        monkeypatch.delenv(name, raising=False)
    for name, value in whole.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(folder)
    return folder


def test_command(here: Path, whole: FakeMachine, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", "--path-only"]) == 0
    out = capsys.readouterr().out
    assert "variants.yaml" in out and out.endswith("Everything that building every variant needs is there.\n")
    (whole.root / "bin" / "arm-none-eabi-gcc").unlink()
    assert cli.main(["doctor", "--path-only", "run-digits-n6"]) == 1
    out = capsys.readouterr().out
    assert "missing   arm-none-eabi-gcc" in out and "          needed to build digits-n6\n" in out
    assert out.endswith("Missing for what was asked for: arm-none-eabi-gcc\n")


def test_command_for_programs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", "--json", "--path-only"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["schema"], data["ok"], data["project"], data["targets"]) == (1, True, "variants.yaml", [])
    row = next(row for row in data["tools"] if row["tool"] == "qemu-system-arm")
    assert row == {
        "tool": "qemu-system-arm",
        "status": "ok",
        "version": "7.2.22",
        "path": row["path"],
        "details": ["machine mps3-an547"],
        "problem": "",
        "means": QEMU.means,
        "get": QEMU.get,
        "need": {"build": [], "use": ["run-digits-an547", "debug-digits-an547", "boot-digits-an547"]},
        "blocks": False,
    }


def test_command_without_a_project(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "variants.yaml").unlink()
    assert cli.main(["doctor", "--path-only"]) == 0
    assert capsys.readouterr().out.endswith("There is no project file, so nothing is needed.\n")
    assert cli.main(["doctor", "--file", "variants.yaml"]) == 1
    assert capsys.readouterr().err.startswith("neuralart doctor: error: variants.yaml: cannot read")
    assert cli.main(["doctor", "digits-n6"]) == 1
    assert "no variant or target 'digits-n6'" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["0", "-1", "x", "nan", "1e9"])
def test_time_limits_that_are_none(here: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["doctor", "--seconds", text])
    assert caught.value.code == 2 and "no number of seconds" in capsys.readouterr().err


def test_systems() -> None:
    assert [system_of(name) for name in ("linux", "win32", "darwin", "freebsd14")] == [
        "linux",
        "windows",
        "mac",
        "linux",
    ]


def test_every_tool_and_combination_is_documented() -> None:
    text = DOC.read_text("utf-8")
    rows = [
        "python",
        *python_environment.PACKAGES,
        *python_environment.EXTRAS,
        "arm-none-eabi-gcc",
        "stedgeai",
        *(tool.name for tool in TOOLS),
    ]
    assert [name for name in rows if f"| `{name}` |" not in text] == []
    assert [each.id for each in known_bad.read() if f"| `{each.id}` |" not in text] == []


def test_what_a_compiler_lacks_for_trees_of_others(fake: FakeMachine, tmp_path: Path) -> None:
    """Only where a variant has a build of its own; each thing with the flag that does without it."""
    fake.gcc(link="exit 1")
    host = Host(fake.environ, "linux")
    board = SimpleNamespace(cpu="cortex-m55")
    own = VariantConfig("own", "", "b", "", (), application=ApplicationConfig("make"))
    plain = VariantConfig("plain", "", "b", "", ())
    found = list(known_bad.own_build_remarks(host, [(plain, board), (own, board)], tmp_path))
    said = (
        "arm-none-eabi-gcc 12.2.1 refuses -fcyclomatic-complexity (toolchain: {tolerate: ['-fcyclomatic-complexity']})"
    )
    assert str(found[0]) == said
    assert [remark.id for remark in found] == ["gcc-lacks"] * 4
    assert list(known_bad.own_build_remarks(host, [(plain, board)], tmp_path)) == []
    fake.gcc(link="exit 0")
    assert list(known_bad.own_build_remarks(host, [(own, board)], tmp_path)) == []
    # Newlib-nano beside another library is what such a build takes.
    fake.gcc(link='case "$*" in *nano.specs*std=gnu11*) exit 1;; esac')
    found = list(known_bad.own_build_remarks(host, [(own, board)], tmp_path))
    assert [remark.message.split("12.2.1 ")[1] for remark in found] == [
        f"has no {name}: -std=gnu11" for name in ("float_t", "PRIx64")
    ]
    fake.gcc(link="exit 0")
    built = tmp_path / "build/own/firmware.elf"
    built.parent.mkdir(parents=True)
    built.write_bytes(b"no ELF")
    assert list(known_bad.own_build_remarks(host, [(own, board)], tmp_path)) == []
