"""The wrapper, with a PATH on which every program is a fake that writes down how it was called."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.projects import lock_files

REPO = Path(__file__).resolve().parents[3]

if os.name == "nt":
    pytest.skip("sconsw is a shell script", allow_module_level=True)

# What the script may use of the system, all of it POSIX.
BORROWED = ("cat", "cksum", "cp", "dirname", "env", "mkdir", "sh")
ALL_PACKAGES = ["python3", "python3-venv", "gcc-arm-none-eabi", "picolibc-arm-none-eabi", "qemu-system-arm"]

LOG = 'for word in "{name}" "$@"; do printf "=%s\\n" "$word" >>"{log}"; done; printf ".\\n" >>"{log}"\n'
# As python3 answers sconsw. Making a virtual environment puts another fake there, which says who it is.
PYTHON = """case "$1 $2" in
  "-c "*) exit ${{FAKE_PYTHON_STATUS-0}};;
  "-m venv") mkdir -p "$3/bin"; : >"$3/pyvenv.cfg"; cp "{venv_python}" "$3/bin/python";;
esac
"""
VENV_PYTHON = """case "$1 $2 $3" in
  "-m pip install") exit ${FAKE_PIP_STATUS-0};;
  "-m pip --version") exit ${FAKE_HAS_PIP-0};;
esac
printf 'in %s\\n' "$(pwd)"
exit ${FAKE_STATUS-0}
"""
GCC = """for word; do case $word in
  -print-file-name=picolibc.specs) echo ${FAKE_LIBC-/lib/picolibc.specs}; exit;;
  -print-file-name=*) echo "${word#*=}"; exit;;
esac; done
"""


@dataclass
class Machine:
    """A computer on which the wrapper is called."""

    root: Path
    tree: Path
    bin: Path
    packages: Path

    @property
    def log(self) -> Path:
        return self.root / "calls"

    @property
    def calls(self) -> list[list[str]]:
        """How programs were called, in order: name and arguments."""
        text = self.log.read_text("utf-8") if self.log.exists() else ""
        return [[line[1:] for line in call.splitlines()] for call in text.split("\n.\n") if call]

    def calls_of(self, *names: str) -> list[list[str]]:
        return [call for call in self.calls if call[0] in names]

    def fake(self, name: str, body: str = "", folder: Path | None = None) -> Path:
        """A program on the PATH (or elsewhere)."""
        path = (folder or self.bin) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n" + LOG.format(name=name, log=self.log) + body, "utf-8")
        path.chmod(0o755)
        return path

    def remove(self, *names: str) -> None:
        """Programs that are not installed; apt-get brings them with the package of the same number in the list."""
        for name, package in names_and_packages(names):
            (self.packages / package).mkdir(parents=True, exist_ok=True)
            (self.bin / name).rename(self.packages / package / name)

    def installed(self, *args: str) -> None:
        """The first call has been here already."""
        assert self.run(*args).returncode == 0
        self.log.unlink()

    def run(
        self, *args: str, script: str | None = None, cwd: Path | None = None, shell: str = "", **env: str
    ) -> subprocess.CompletedProcess[str]:
        words = [*([shell] if shell else []), script or str(self.tree / "sconsw"), *args]
        return subprocess.run(
            words,
            cwd=cwd or self.root,
            env={"PATH": str(self.bin), **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )


def names_and_packages(names: tuple[str, ...]) -> list[tuple[str, str]]:
    owner = {"arm-none-eabi-gcc": "gcc-arm-none-eabi", "cc": "gcc", "python3": "python3"}
    return [(name, owner.get(name, name)) for name in names]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Everything is installed, .venv is not made, the caller is root."""
    tree = tmp_path / "a tree with $paces"
    tree.mkdir()
    for name in ("sconsw", "pyproject.toml", *lock_files.EXTRAS):
        shutil.copy2(REPO / name, tree / name)
    made = Machine(tmp_path, tree, tmp_path / "bin", tmp_path / "packages")
    made.bin.mkdir()
    for name in BORROWED:
        found = shutil.which(name)
        assert found is not None
        (made.bin / name).symlink_to(found)
    venv_python = made.fake("venv-python", VENV_PYTHON, tmp_path / "store")
    made.fake("python3", PYTHON.format(venv_python=venv_python))
    made.fake("arm-none-eabi-gcc", GCC)
    made.fake("qemu-system-arm")
    made.fake("cc")
    made.fake("nproc", "echo 3\n")
    made.fake("id", "echo ${FAKE_UID-0}\n")
    made.fake(
        "apt-get",
        f'for word; do [ -d "{made.packages}/$word" ] && cp "{made.packages}/$word"/* "{made.bin}"; done\n'
        "exit ${FAKE_APT_STATUS-0}\n",
    )
    return made


WORK = ["venv-python", "-m", "SCons", "-Q", "-j3"]
TESTS = ["venv-python", "-m", "pytest", "-n", "auto", "--dist", "worksteal"]
FAST_TESTS = ["-m", "not long and not hostcc and not arm and not fuzz", "tests/unit", "tests/graph"]


def _pip(file: str = lock_files.BUILD) -> list[list[str]]:
    """What is installed: what the file lists with its hashes, then this project; nothing is looked for besides."""
    pip = ["venv-python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    return [[*pip, "--require-hashes", "--requirement", file], [*pip, "--no-build-isolation", "--editable", "."]]


def _installs(said: str) -> tuple[int, int, set[str], str]:
    """How many packages of how many MB, which, and of which file."""
    (line,) = [line for line in said.splitlines() if "pip installs" in line]
    found = re.fullmatch(r"sconsw: pip installs (\d+) Python packages into .venv, about (\d+) MB \((.*)\): (.*)", line)
    assert found is not None, line
    names = found[4].split()
    assert int(found[1]) == len(names) == len(set(names))
    return int(found[1]), int(found[2]), set(names), found[3]


# ---- the script itself


@pytest.mark.parametrize("shell", [name for name in ("dash", "bash", "busybox") if shutil.which(name)])
def test_syntax(shell: str) -> None:
    words = [shell, "sh"] if shell == "busybox" else [shell, "--posix"] if shell == "bash" else [shell]
    done = subprocess.run([*words, "-n", str(REPO / "sconsw")], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_it_can_be_started() -> None:
    assert os.access(REPO / "sconsw", os.X_OK)
    assert (REPO / "sconsw").read_bytes().startswith(b"#!/bin/sh\n")


# ---- first call


def test_first_call_makes_the_environment_and_builds(machine: Machine) -> None:
    done = machine.run()
    assert done.returncode == 0, done.stderr
    assert ["python3", "-m", "venv", str(machine.tree / ".venv")] in machine.calls
    assert machine.calls_of("venv-python") == [*_pip(), WORK]
    assert machine.calls_of("apt-get", "sudo") == []
    said = done.stderr.splitlines()
    assert len(said) == 2 and said[0].endswith("-m venv .venv"), "it says what it does"
    count, size, names, file = _installs(done.stderr)
    assert file == lock_files.BUILD and count > 20 and 50 < size < 200
    assert {"scons", "unicorn"} < names and not {"mypy", "ruff", "numpy"} & names
    assert done.stdout == f"in {machine.tree}\n"


@pytest.mark.parametrize("shell", [path for name in ("dash", "bash") if (path := shutil.which(name))])
def test_any_posix_shell_will_do(machine: Machine, shell: str) -> None:
    assert machine.run("x", shell=shell).returncode == 0
    assert machine.calls[-1] == [*WORK, "x"]


@pytest.mark.parametrize(
    ("gone", "packages"),
    [
        (["arm-none-eabi-gcc"], ["gcc-arm-none-eabi", "picolibc-arm-none-eabi"]),
        (["qemu-system-arm"], ["qemu-system-arm"]),
        (["python3"], ["python3", "python3-venv"]),
        (["python3", "arm-none-eabi-gcc", "qemu-system-arm"], ALL_PACKAGES),
    ],
)
def test_root_installs_what_is_missing_and_nothing_else(machine: Machine, gone: list[str], packages: list[str]) -> None:
    machine.remove(*gone)
    done = machine.run("target")
    assert done.returncode == 0, done.stderr
    assert machine.calls_of("apt-get") == [
        ["apt-get", "-qq", "update"],
        ["apt-get", "-qq", "install", "-y", "--no-install-recommends", *packages],
    ]
    assert f"missing system packages: {' '.join(packages)} " in done.stderr
    assert f"apt-get install -y --no-install-recommends {' '.join(packages)}" in done.stderr
    assert machine.calls[-1] == [*WORK, "target"]


def test_compiler_without_c_library(machine: Machine) -> None:
    assert machine.run(FAKE_LIBC="picolibc.specs").returncode == 0
    assert machine.calls_of("apt-get")[-1][-1] == "picolibc-arm-none-eabi"
    assert len(machine.calls_of("apt-get")[-1]) == 6


def test_the_c_library_is_asked_for_the_cores_of_the_boards(machine: Machine) -> None:
    machine.run()
    asked = machine.calls_of("arm-none-eabi-gcc")
    assert asked and all(call[1:3] == ["-mcpu=cortex-m55", "-mfloat-abi=hard"] for call in asked)


@pytest.mark.parametrize(
    ("arguments", "packages"),
    [
        ([], []),
        (["test", "--fast"], []),
        (["test"], ["gcc", "libc6-dev", "make", "gdb-multiarch", "chromium", "openocd"]),
    ],
)
def test_a_host_compiler_make_and_gdb_are_only_for_all_tests(
    machine: Machine, arguments: list[str], packages: list[str]
) -> None:
    machine.remove("cc")
    assert machine.run(*arguments).returncode == 0
    assert [call[5:] for call in machine.calls_of("apt-get")[1:]] == ([packages] if packages else [])


def test_python_that_is_too_old_counts_as_missing(machine: Machine) -> None:
    done = machine.run(FAKE_PYTHON_STATUS="1")
    assert machine.calls_of("apt-get")[-1][5:] == ["python3", "python3-venv"]
    assert done.returncode != 0
    assert "no Python 3.11 or newer" in done.stderr
    assert not (machine.tree / ".venv").exists()


def test_failing_apt_stops(machine: Machine) -> None:
    machine.remove("qemu-system-arm")
    assert machine.run(FAKE_APT_STATUS="100").returncode == 100
    assert machine.calls_of("venv-python", "python3") == [
        call for call in machine.calls_of("python3") if call[1] == "-c"
    ]


def test_no_debian(machine: Machine) -> None:
    machine.remove("qemu-system-arm")
    (machine.bin / "apt-get").unlink()
    done = machine.run()
    assert done.returncode != 0
    assert "qemu-system-arm" in done.stderr and "no Debian-like system" in done.stderr


@pytest.mark.parametrize(
    ("given", "seen"), [("C", "C.UTF-8"), ("POSIX", "C.UTF-8"), ("de_DE.UTF-8", "de_DE.UTF-8"), ("", "")]
)
def test_nothing_is_ascii_only(machine: Machine, given: str, seen: str) -> None:
    machine.fake("nproc", 'echo "$LC_ALL"\n')
    machine.run(LC_ALL=given)
    assert f"-j{seen}" in machine.calls[-1]


# ---- who is not root


def test_nobody_can_be_asked(machine: Machine) -> None:
    machine.fake("sudo")
    machine.remove("qemu-system-arm", "arm-none-eabi-gcc")
    done = machine.run(FAKE_UID="1000")
    assert done.returncode != 0
    command = "apt-get install -y --no-install-recommends gcc-arm-none-eabi picolibc-arm-none-eabi qemu-system-arm"
    assert [line for line in done.stderr.splitlines() if "apt-get update &&" in line and line.endswith(command)]
    assert machine.calls_of("apt-get", "sudo", "venv-python") == []
    assert not (machine.tree / ".venv").exists()


def _on_a_terminal(machine: Machine, answer: bytes) -> tuple[int, str]:
    import pty

    try:
        master, slave = pty.openpty()
    except OSError as error:
        pytest.skip(f"no pseudo terminal on this machine: {error}")
    try:
        os.write(master, answer)
        done = subprocess.run(
            [str(machine.tree / "sconsw")],
            env={"PATH": str(machine.bin), "FAKE_UID": "1000"},
            stdin=slave,
            capture_output=True,
            text=True,
            timeout=30,
        )
    finally:
        os.close(slave)
        os.close(master)
    return done.returncode, done.stderr


def test_yes_on_a_terminal(machine: Machine) -> None:
    machine.fake("sudo", '"$@"\n')
    machine.remove("qemu-system-arm")
    code, said = _on_a_terminal(machine, b"y\n")
    assert code == 0, said
    assert "[y/N]" in said
    environment = ["sudo", "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
    assert machine.calls_of("sudo") == [
        [*environment, "update"],
        [*environment, "install", "-y", "--no-install-recommends", "qemu-system-arm"],
    ]
    assert machine.calls[-1] == WORK


@pytest.mark.parametrize("answer", [b"n\n", b"\n", b"what?\n"])
def test_anything_else_on_a_terminal(machine: Machine, answer: bytes) -> None:
    machine.fake("sudo", '"$@"\n')
    machine.remove("qemu-system-arm")
    code, said = _on_a_terminal(machine, answer)
    assert code != 0
    assert "nothing installed" in said
    assert machine.calls_of("apt-get", "sudo", "venv-python") == []


def test_terminal_without_sudo(machine: Machine) -> None:
    machine.remove("qemu-system-arm")
    code, said = _on_a_terminal(machine, b"y\n")
    assert code != 0
    assert "apt-get update && apt-get install -y --no-install-recommends qemu-system-arm" in said
    assert machine.calls_of("apt-get") == []


# ---- later calls

ARGUMENTS = ["-j2", "run-digits-n6", "A=b c", "", "*", "$HOME", "--", "-k 'x'"]


def test_later_calls_install_nothing_and_pass_arguments_on(machine: Machine) -> None:
    machine.installed()
    done = machine.run(*ARGUMENTS)
    assert done.returncode == 0
    assert done.stderr == ""
    assert [call for call in machine.calls if call[0] not in ("arm-none-eabi-gcc", "nproc")] == [[*WORK, *ARGUMENTS]]


def test_test_starts_pytest(machine: Machine) -> None:
    machine.installed()
    machine.run("test", *ARGUMENTS)
    assert machine.calls[-1] == [*TESTS, *ARGUMENTS]


def test_coverage_is_measured_when_it_is_asked_for(machine: Machine) -> None:
    machine.installed()
    machine.run("test")
    assert machine.calls[-1] == TESTS
    machine.run("test", "--coverage", "-x")
    assert machine.calls[-1] == [*TESTS, "-m", "seen", "tests/unit", "tests/graph", "--cov", "-x"]


def test_fast_tests_are_those_of_the_first_tiers(machine: Machine) -> None:
    machine.installed()
    machine.run("test", "--fast", "-x")
    assert machine.calls[-1] == [*TESTS, *FAST_TESTS, "-x"]


def test_torture_is_the_long_run(machine: Machine) -> None:
    machine.installed()
    machine.run("test", "--torture", "-x")
    assert machine.calls[-1] == [*TESTS, "-m", "torture or fuzz", "-x"]


def test_test_is_a_command_only_in_front(machine: Machine) -> None:
    machine.installed()
    machine.run("a", "test")
    assert machine.calls[-1] == [*WORK, "a", "test"]


@pytest.mark.parametrize("status", [0, 1, 2, 77])
def test_the_status_is_that_of_the_work(machine: Machine, status: int) -> None:
    machine.installed()
    assert machine.run(FAKE_STATUS=str(status)).returncode == status


@pytest.fixture
def tools(machine: Machine) -> None:
    """What the tests need of the system, too."""
    for name in ("make", "gdb-multiarch", "chromium", "openocd"):
        machine.fake(name)


@pytest.mark.usefixtures("tools")
def test_each_call_installs_only_what_is_not_there_yet(machine: Machine) -> None:
    """A build, the fast tests, all tests: each lock file has those before it."""
    count, size, names, _ = _installs(machine.run().stderr)
    for words, file in ((("test", "--fast"), lock_files.FAST), (("test", "x"), lock_files.ALL)):
        machine.log.unlink()
        more = _installs(machine.run(*words).stderr)
        assert machine.calls_of("venv-python")[:3] == [["venv-python", "-m", "pip", "--version"], *_pip(file)]
        assert more[3] == file and not more[2] & names, "those are there already"
        count, size, names = count + more[0], size + more[1], names | more[2]
        said = re.findall(r"^# About (\d+) MB", lock_files.text_of(file), re.M)
        assert [str(size)] == said and count == len(lock_files.pins(file)), "it says what is true"
    # Then nothing has anything to install.
    for words in (("test", "x"), ("test", "--fast"), ()):
        machine.log.unlink()
        assert machine.run(*words).stderr == ""
        assert len(machine.calls_of("venv-python")) == 1


@pytest.mark.usefixtures("tools")
def test_tests_first_install_all_at_once(machine: Machine) -> None:
    _, _, names, file = _installs(machine.run("test", "x").stderr)
    assert file == lock_files.ALL and {"scons", "pytest", "mypy"} < names
    for words, work in (((), WORK), (("test", "--fast"), [*TESTS, *FAST_TESTS])):
        machine.log.unlink()
        assert machine.run(*words).stderr == ""
        assert machine.calls_of("venv-python") == [work]


def test_fast_tests_bring_what_a_build_needs(machine: Machine) -> None:
    _, _, names, file = _installs(machine.run("test", "--fast").stderr)
    assert file == lock_files.FAST and {"scons", "pytest"} < names and not {"mypy", "onnx"} & names
    machine.log.unlink()
    assert machine.run().stderr == ""
    assert machine.calls_of("venv-python") == [WORK]


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize(
    ("words", "complete"),
    [(("test",), "1"), (("test", "x"), "1"), (("test", "--torture"), "1"), (("test", "--fast"), "")],
)
def test_where_all_is_installed_no_test_may_be_skipped_for_lack_of_it(
    words: tuple[str, ...], complete: str, machine: Machine
) -> None:
    """`NEURALART_COMPLETE`: tests/conftest.py refuses to start."""
    machine.installed(*words)
    machine.fake("python", 'printf "%s\n" "complete=${NEURALART_COMPLETE-}"\n', machine.tree / ".venv" / "bin")
    assert set(machine.run(*words).stdout.splitlines()) == {f"complete={complete}"}


@pytest.mark.parametrize("flags", ["-j5", "-k -j 5", "--jobs=5"])
def test_jobs_of_ones_own(machine: Machine, flags: str) -> None:
    machine.installed()
    machine.run("x", SCONSFLAGS=flags)
    assert machine.calls[-1] == ["venv-python", "-m", "SCons", "-Q", "x"]
    machine.run("-j7", SCONSFLAGS="-k")
    assert machine.calls[-1] == [*WORK, "-j7"], "the last one counts"


def test_the_number_of_cores_is_unknown(machine: Machine) -> None:
    machine.installed()
    (machine.bin / "nproc").unlink()
    machine.run()
    assert machine.calls[-1] == [*WORK[:-1], "-j1"]


@pytest.mark.parametrize("name", ["pyproject.toml", "requirements-build.lock"])
def test_changed_requirements_are_installed(name: str, machine: Machine) -> None:
    machine.installed()
    path = machine.tree / name
    path.write_text(path.read_text("utf-8") + "\n# changed\n", "utf-8")
    machine.run()
    assert machine.calls_of("venv-python", "python3") == [["venv-python", "-m", "pip", "--version"], *_pip(), WORK]
    machine.log.unlink()
    machine.run()
    assert machine.calls_of("venv-python", "python3") == [WORK]


def test_failed_pip_is_tried_again(machine: Machine) -> None:
    assert machine.run(FAKE_PIP_STATUS="9").returncode == 9
    assert WORK not in machine.calls
    machine.log.unlink()
    assert machine.run().returncode == 0
    assert all(words in machine.calls for words in _pip())


def test_half_made_environment_is_made_again(machine: Machine) -> None:
    """Somebody pressed Ctrl-C before pip was in it."""
    machine.fake("venv-python", VENV_PYTHON, machine.tree / ".venv" / "bin").rename(machine.tree / ".venv/bin/python")
    assert machine.run(FAKE_HAS_PIP="1").returncode == 0
    assert ["python3", "-m", "venv", str(machine.tree / ".venv")] in machine.calls
    assert machine.calls_of("venv-python")[-3:] == [*_pip(), WORK]


def test_no_other_python_is_installed_into(machine: Machine) -> None:
    """Without pyvenv.cfg a link to an interpreter is that interpreter."""
    machine.installed()
    (machine.tree / ".venv/pyvenv.cfg").unlink()
    (machine.tree / "requirements-build.lock").write_text("other==1\n", "utf-8")
    assert machine.run().returncode == 0
    assert machine.calls.index(["python3", "-m", "venv", str(machine.tree / ".venv")]) < machine.calls.index(_pip()[0])


def test_a_moved_tree_is_installed_again(machine: Machine) -> None:
    machine.installed()
    moved = machine.tree.with_name("elsewhere")
    machine.tree.rename(moved)
    assert machine.run(script=str(moved / "sconsw")).returncode == 0
    assert all(words in machine.calls for words in _pip())


# ---- where it is called from


@pytest.mark.parametrize("place", ["absolute", "relative", "inside", "below", "PATH", "CDPATH"])
def test_called_from_anywhere(machine: Machine, place: str) -> None:
    machine.installed()
    tree = machine.tree
    (tree / "deep" / "down").mkdir(parents=True)
    (machine.root / "elsewhere" / tree.name).mkdir(parents=True)
    script, cwd, env = {
        "absolute": (str(tree / "sconsw"), machine.root / "elsewhere", {}),
        "relative": (f"../{tree.name}/sconsw", machine.root / "elsewhere", {}),
        "inside": ("./sconsw", tree, {}),
        "below": ("../../sconsw", tree / "deep" / "down", {}),
        "PATH": ("sconsw", machine.root, {"PATH": f"{tree}:{machine.bin}"}),
        # A cd that CDPATH redirects would print the folder, and be in the wrong one.
        "CDPATH": (f"{tree.name}/sconsw", machine.root, {"CDPATH": str(machine.root / "elsewhere")}),
    }[place]
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" "$@"', script, "x"],
        cwd=cwd,
        env={"PATH": str(machine.bin), **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"in {tree}\n", "")
    assert machine.calls[-1] == [*WORK, "x"]


# ---- whose compiler


@pytest.mark.parametrize("asked_for", ["", "/bin", "/bin/arm-none-eabi-gcc"])
def test_named_toolchain(machine: Machine, asked_for: str) -> None:
    machine.remove("arm-none-eabi-gcc")
    own = machine.root / "own tools"
    machine.fake("arm-none-eabi-gcc", GCC, own / "bin")
    done = machine.run(NEURALART_TOOLCHAIN=f"{own}{asked_for}")
    assert done.returncode == 0, done.stderr
    assert machine.calls_of("apt-get") == []
    assert machine.calls_of("arm-none-eabi-gcc")


def test_named_toolchain_comes_before_path(machine: Machine) -> None:
    machine.fake(
        "arm-none-eabi-gcc", GCC.replace("for word", 'echo own >>"$0.asked"\nfor word', 1), machine.root / "own"
    )
    assert machine.run(NEURALART_TOOLCHAIN=str(machine.root / "own")).returncode == 0
    assert (machine.root / "own" / "arm-none-eabi-gcc.asked").exists()


def test_named_toolchain_that_is_not_there(machine: Machine) -> None:
    """Somebody named his own: installing another one is not what he wants."""
    done = machine.run(NEURALART_TOOLCHAIN=str(machine.root / "nowhere"))
    assert done.returncode != 0
    assert f"NEURALART_TOOLCHAIN={machine.root / 'nowhere'} holds no arm-none-eabi-gcc" in done.stderr
    assert machine.calls_of("apt-get", "venv-python") == []


def test_named_toolchain_without_c_library(machine: Machine) -> None:
    machine.fake("arm-none-eabi-gcc", GCC, machine.root / "own")
    done = machine.run(NEURALART_TOOLCHAIN=str(machine.root / "own"), FAKE_LIBC="picolibc.specs")
    assert done.returncode != 0
    assert "has no C library for" in done.stderr
    assert machine.calls_of("apt-get", "venv-python") == []


def test_fakes_are_all_there_is(machine: Machine) -> None:
    """A fake PATH that lets real programs through would prove nothing."""
    assert shutil.which(Path(sys.executable).name, path=str(machine.bin)) in (None, str(machine.bin / "python3"))
    for name in ("apt-get", "id", "python3", "arm-none-eabi-gcc"):
        assert (machine.bin / name).read_text("utf-8").startswith("#!/bin/sh\n")
