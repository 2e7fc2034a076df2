"""Which cross compiler is taken. The compilers here are small scripts that answer as gcc does."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from neuralart import intact, toolchain
from neuralart.config.types import ToolchainConfig
from neuralart.errors import NeuralArtError
from neuralart.files import noted

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the fake compilers are shell scripts")

PICOLIBC = {"picolibc.specs": "/lib/picolibc.specs"}
NEWLIB = {"libc.a": "/lib/libc.a", "libc_nano.a": "/lib/libc_nano.a"}


def fake_gcc(
    folder: Path, version: str = "12.2.1", files: Mapping[str, str] = PICOLIBC, name: str = "arm-none-eabi-gcc"
) -> Path:
    """A compiler that answers two questions and writes down what it was asked."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    known = "".join(f"  -print-file-name={file}) echo {place};;\n" for file, place in files.items())
    path.write_text(
        f'#!/bin/sh\necho "$1" >>"{folder}/asked"\ncase $1 in\n  -dumpfullversion) echo {version};;\n{known}'
        '  -print-file-name=*) echo "${1#*=}";;\n  *) exit 1;;\nesac\n',
        "utf-8",
    )
    path.chmod(0o755)
    return path


def asked(folder: Path) -> int:
    """How often the compiler was started."""
    log = folder / "asked"
    return len(log.read_text("utf-8").splitlines()) if log.exists() else 0


@pytest.fixture(autouse=True)
def _no_vendor(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is installed on this machine does not matter."""
    monkeypatch.setattr(toolchain, "VENDOR_ROOTS", ())


def environ(*folders: Path, **more: str) -> dict[str, str]:
    # The script's own /bin/sh needs no PATH.
    return {"PATH": os.pathsep.join(map(str, folders)), **more}


# ---- where it is looked for


def test_first_of_path(tmp_path: Path) -> None:
    fake_gcc(tmp_path / "one", "10.1.0")
    fake_gcc(tmp_path / "two", "12.2.1")
    found = toolchain.find(ToolchainConfig(), environ(tmp_path / "no such folder", tmp_path / "two", tmp_path / "one"))
    plain = toolchain.Toolchain(str(tmp_path / "two"), "arm-none-eabi-", "12.2.1", "picolibc")
    assert replace(found, driver="") == plain


@pytest.mark.parametrize("asked_for", ["tools", "tools/bin", "tools/bin/arm-none-eabi-gcc"])
def test_named_by_the_environment_before_path(tmp_path: Path, asked_for: str) -> None:
    fake_gcc(tmp_path / "path", "10.1.0")
    fake_gcc(tmp_path / "tools" / "bin", "13.3.0")
    named = environ(tmp_path / "path", NEURALART_TOOLCHAIN=str(tmp_path / asked_for))
    assert toolchain.find(ToolchainConfig(), named).version == "13.3.0"


def test_named_by_the_environment_decides_alone(tmp_path: Path) -> None:
    fake_gcc(tmp_path / "path")
    named = environ(tmp_path / "path", NEURALART_TOOLCHAIN=str(tmp_path / "empty"))
    with pytest.raises(NeuralArtError, match="no arm-none-eabi-gcc found \\(NEURALART_TOOLCHAIN looked at\\)"):
        toolchain.find(ToolchainConfig(), named)


def test_prefix_with_a_folder_decides_alone(tmp_path: Path) -> None:
    fake_gcc(tmp_path / "path", "10.1.0")
    fake_gcc(tmp_path / "env", "11.1.0")
    fake_gcc(tmp_path / "own dir", "13.3.0", name="armv8m-gcc")
    named = environ(tmp_path / "path", NEURALART_TOOLCHAIN=str(tmp_path / "env"))
    found = toolchain.find(ToolchainConfig(prefix=f"{tmp_path / 'own dir'}/armv8m-"), named)
    assert (found.folder, found.prefix, found.version) == (str(tmp_path / "own dir"), "armv8m-", "13.3.0")
    with pytest.raises(NeuralArtError, match="no arm-none-eabi-gcc found"):
        toolchain.find(ToolchainConfig(prefix=f"{tmp_path / 'own dir'}/arm-none-eabi-"), named)


def test_vendor_folders_come_last_and_newest_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "VENDOR_ROOTS", ((str(tmp_path / "st"), "stm32cubeclt_*/bin"), ("/no/root", "*")))
    fake_gcc(tmp_path / "st" / "stm32cubeclt_1.16.0" / "bin", "12.3.1")
    fake_gcc(tmp_path / "st" / "stm32cubeclt_1.19.0" / "bin", "13.3.1")
    assert toolchain.find(ToolchainConfig(), environ()).version == "13.3.1"
    fake_gcc(tmp_path / "path", "12.2.1")
    assert toolchain.find(ToolchainConfig(), environ(tmp_path / "path")).version == "12.2.1"


def test_a_file_that_is_no_program_is_passed_over(tmp_path: Path) -> None:
    fake_gcc(tmp_path / "one").chmod(0o644)
    fake_gcc(tmp_path / "two", "12.2.1")
    assert toolchain.find(ToolchainConfig(), environ(tmp_path / "one", tmp_path / "two")).folder == str(
        tmp_path / "two"
    )


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(NeuralArtError) as caught:
        toolchain.find(ToolchainConfig(), environ(tmp_path), where="variants.yaml:7")
    assert str(caught.value).startswith("variants.yaml:7: no arm-none-eabi-gcc found (PATH, STM32CubeCLT, STM32CubeIDE")
    assert "NEURALART_TOOLCHAIN" in caught.value.hint


# ---- which version


@pytest.mark.parametrize("version", ["", "12", "12.2", "12.2.1"])
def test_version_pin_holds(tmp_path: Path, version: str) -> None:
    fake_gcc(tmp_path)
    assert toolchain.find(ToolchainConfig(version=version), environ(tmp_path)).version == "12.2.1"


@pytest.mark.parametrize("version", ["13", "1", "12.2.1.1", "12.20", "2.1", "12.", "1."])
def test_version_pin_refuses(tmp_path: Path, version: str) -> None:
    fake_gcc(tmp_path)
    with pytest.raises(NeuralArtError) as caught:
        toolchain.find(ToolchainConfig(version=version), environ(tmp_path), where="variants.yaml:3")
    assert str(caught.value).startswith(f"variants.yaml:3: arm-none-eabi-gcc is 12.2.1, wanted {version} (found at ")


# ---- which C library


@pytest.mark.parametrize(
    ("files", "libc", "chosen", "flags"),
    [
        (PICOLIBC, "auto", "picolibc", ("--specs=picolibc.specs",)),
        (NEWLIB, "auto", "newlib-nano", ("--specs=nano.specs",)),
        ({"libc.a": "/lib/libc.a"}, "auto", "newlib", ()),
        ({**NEWLIB, **PICOLIBC}, "auto", "picolibc", ("--specs=picolibc.specs",)),
        ({**NEWLIB, **PICOLIBC}, "newlib", "newlib", ()),
        (NEWLIB, "newlib-nano", "newlib-nano", ("--specs=nano.specs",)),
    ],
)
def test_libc(tmp_path: Path, files: dict[str, str], libc: str, chosen: str, flags: tuple[str, ...]) -> None:
    fake_gcc(tmp_path, files=files)
    found = toolchain.find(ToolchainConfig(libc=libc), environ(tmp_path))
    assert found.libc == chosen
    assert found.libc_flags == flags
    assert found.identity == f"arm-none-eabi-gcc 12.2.1, {chosen}"


@pytest.mark.parametrize(
    ("files", "libc", "text"),
    [
        ({}, "auto", "arm-none-eabi-gcc 12.2.1 has no C library"),
        ({}, "picolibc", "arm-none-eabi-gcc 12.2.1 has no picolibc"),
        (PICOLIBC, "newlib", "arm-none-eabi-gcc 12.2.1 has no newlib (it has picolibc)"),
        (PICOLIBC, "picolib", "unknown libc 'picolib' (did you mean 'picolibc'?"),
    ],
)
def test_libc_refused(tmp_path: Path, files: dict[str, str], libc: str, text: str) -> None:
    fake_gcc(tmp_path, files=files)
    with pytest.raises(NeuralArtError) as caught:
        toolchain.find(ToolchainConfig(libc=libc), environ(tmp_path), where="variants.yaml:3")
    assert text in str(caught.value)
    assert str(caught.value).startswith("variants.yaml:3: ")
    if not files:
        assert "libnewlib-arm-none-eabi" in caught.value.hint


# ---- what is remembered


def test_cache_saves_starting_the_compiler(tmp_path: Path) -> None:
    gcc, cache = fake_gcc(tmp_path / "bin"), tmp_path / "cache.json"
    first = toolchain.find(ToolchainConfig(), environ(tmp_path / "bin"), cache=cache)
    count = asked(tmp_path / "bin")
    assert count > 0
    assert toolchain.find(ToolchainConfig(), environ(tmp_path / "bin"), cache=cache) == first
    assert asked(tmp_path / "bin") == count
    # An update of the compiler is asked again.
    fake_gcc(tmp_path / "bin", "12.3.10")
    os.utime(gcc, ns=(1, 1))
    assert toolchain.find(ToolchainConfig(), environ(tmp_path / "bin"), cache=cache).version == "12.3.10"
    assert [key.split("|")[0] for key in json.loads(cache.read_text("utf-8"))] == [str(gcc)]


def test_cache_holds_several_compilers_and_forgets_those_that_are_gone(tmp_path: Path) -> None:
    cache = tmp_path / "cache.json"
    one, two, three = (fake_gcc(tmp_path / name) for name in ("one", "two", "three"))
    for gcc in (one, two):
        toolchain.find(ToolchainConfig(), environ(gcc.parent), cache=cache)
    counts = asked(one.parent), asked(two.parent)
    for gcc in (one, two):
        toolchain.find(ToolchainConfig(), environ(gcc.parent), cache=cache)
    assert (asked(one.parent), asked(two.parent)) == counts
    one.unlink()
    toolchain.find(ToolchainConfig(), environ(three.parent), cache=cache)
    assert sorted(key.split("|")[0] for key in json.loads(cache.read_text("utf-8"))) == sorted([str(two), str(three)])


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"5",
        b'{"KEY": 5}',
        b'{"KEY": {"version": "1"}}',
        b'{"KEY": ["version", "libcs"]}',
    ],
)
def test_damaged_cache_is_only_a_cache(tmp_path: Path, damage: bytes) -> None:
    gcc, cache = fake_gcc(tmp_path / "bin"), tmp_path / "cache.json"
    cache.write_bytes(damage.replace(b"KEY", str(gcc).encode()))
    found = toolchain.find(ToolchainConfig(), environ(tmp_path / "bin"), cache=cache)
    assert found.version == "12.2.1"
    answer = json.loads(cache.read_text("utf-8"))[str(gcc)]
    assert answer.pop("states")[str(gcc)] == intact.state(str(gcc))
    assert answer == {"version": "12.2.1", "libcs": "picolibc", "driver": found.driver}


def _whole(folder: Path) -> dict[str, Path]:
    """A compiler with programs and headers of its own; the files by what they are."""
    files = {name: folder / "lib" / name for name in ("cc1", "collect2", "as", "ld", "picolibc.specs")}
    files |= {name: folder / "bin" / f"arm-none-eabi-{name}" for name in ("ar", "objcopy", "g++")}
    files |= {"stdint.h": folder / "include" / "stdint.h", "types.h": folder / "include" / "sys" / "types.h"}
    for path in files.values():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n# one\n", "utf-8")
        path.chmod(0o755)
    gcc = files["gcc"] = fake_gcc(folder / "bin", files={"picolibc.specs": str(files["picolibc.specs"])})
    programs = "".join(f"  -print-prog-name={name}) echo {files[name]};;\n" for name in ("cc1", "collect2", "as"))
    programs += '  -print-prog-name=*) echo "${1#*=}";;\n'
    headers = f"  --specs=*) printf '%s\\n' start: ' {folder / 'include'}' ' /none' end >&2;;\n"
    text = gcc.read_text("utf-8").replace("  -print-file-name=*)", f"{programs}{headers}  -print-file-name=*)")
    gcc.write_text(text, "utf-8")
    # Left to the search of the system, as by gcc of some builds.
    files["ld"] = files["ld"].rename(folder / "bin" / "ld")
    return files


def _same_size_and_time(path: Path) -> None:
    state = path.stat()
    path.write_bytes(path.read_bytes().replace(b"one", b"two").replace(b"echo 12.2.1", b"echo 12.2.2"))
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


def _replaced(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    other.chmod(0o755)
    os.utime(other, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    _same_size_and_time(other)
    other.rename(path)


def _linked(path: Path) -> None:
    """As update-alternatives does it: two files of one size and time, and a link that leads to the other one."""
    one, two = path.with_name("one"), path.with_name("two")
    path.rename(one)
    two.write_bytes(one.read_bytes())
    two.chmod(0o755)
    os.utime(two, ns=(one.stat().st_atime_ns, one.stat().st_mtime_ns))
    _same_size_and_time(two)
    path.symlink_to(two)


@pytest.mark.parametrize("change", [_same_size_and_time, _replaced, _linked])
@pytest.mark.parametrize(
    "name", ["gcc", "cc1", "collect2", "as", "ld", "ar", "objcopy", "g++", "picolibc.specs", "stdint.h", "types.h"]
)
def test_whatever_of_a_compiler_changes_is_noticed(tmp_path: Path, name: str, change: Callable[[Path], None]) -> None:
    """By real builds, from what is remembered, and by stamps, which compare the same files."""
    files, cache = _whole(tmp_path / "tools"), tmp_path / "cache.json"
    around = environ(tmp_path / "tools" / "bin")
    first, count = toolchain.find(ToolchainConfig(), around, cache=cache), asked(tmp_path / "tools" / "bin")
    assert toolchain.find(ToolchainConfig(), around, cache=cache) == first
    assert asked(tmp_path / "tools" / "bin") == count
    assert str(files[name]) in noted
    # Another tree, without what is remembered, knows the same of the same files.
    assert toolchain.find(ToolchainConfig(), around, cache=tmp_path / "other.json") == first
    change(files[name])
    other = toolchain.find(ToolchainConfig(), around, cache=cache)
    assert other.counts != first.counts and toolchain.find(ToolchainConfig(), around, cache=cache) == other


def test_a_header_comes(tmp_path: Path) -> None:
    _whole(tmp_path / "tools")
    around, cache = environ(tmp_path / "tools" / "bin"), tmp_path / "cache.json"
    first = toolchain.find(ToolchainConfig(), around, cache=cache)
    (tmp_path / "tools" / "include" / "sys" / "new.h").touch()
    assert toolchain.find(ToolchainConfig(), around, cache=cache).counts != first.counts


def test_a_compiler_comes_first_in_path(tmp_path: Path) -> None:
    """Where it is not yet, stamps look for it."""
    fake_gcc(tmp_path / "two")
    toolchain.find(ToolchainConfig(), environ(tmp_path / "one", tmp_path / "two"))
    assert {str(tmp_path / name / "arm-none-eabi-gcc") for name in ("one", "two")} <= noted.keys()


# ---- what answers wrongly


def _script(folder: Path, text: str) -> None:
    path = folder / "arm-none-eabi-gcc"
    path.write_text(text, "utf-8")
    path.chmod(0o755)


def test_program_that_fails(tmp_path: Path) -> None:
    _script(tmp_path, "#!/bin/sh\nexit 3\n")
    with pytest.raises(NeuralArtError) as caught:
        toolchain.find(ToolchainConfig(), environ(tmp_path))
    assert "does not answer '-dumpfullversion'" in caught.value.what
    assert caught.value.where == str(tmp_path / "arm-none-eabi-gcc")


def test_program_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "_PROBE_SECONDS", 0.2)
    _script(tmp_path, "#!/bin/sh\nexec sleep 30\n")
    with pytest.raises(NeuralArtError, match=r"timed out after 0\.2 seconds"):
        toolchain.find(ToolchainConfig(), {"PATH": os.pathsep.join([str(tmp_path), os.defpath])})


def test_program_that_is_none(tmp_path: Path) -> None:
    _script(tmp_path, "#!/no/such/interpreter\n")
    with pytest.raises(NeuralArtError, match="does not answer"):
        toolchain.find(ToolchainConfig(), environ(tmp_path))


def test_a_failed_probe_is_not_remembered(tmp_path: Path) -> None:
    _script(tmp_path, "#!/bin/sh\nexit 3\n")
    with pytest.raises(NeuralArtError):
        toolchain.find(ToolchainConfig(), environ(tmp_path), cache=tmp_path / "cache.json")
    assert not (tmp_path / "cache.json").exists()


def test_identity_names_no_place() -> None:
    one = toolchain.Toolchain("/a", "arm-none-eabi-", "12.2.1", "picolibc")
    other = toolchain.Toolchain("/b", "arm-none-eabi-", "12.2.1", "picolibc")
    assert one.identity == other.identity
    assert one.identity != toolchain.Toolchain("/a", "arm-none-eabi-", "12.2.1", "newlib").identity


def test_two_makes_of_one_version_are_not_the_same(tmp_path: Path) -> None:
    """Objects of the one must not stay when the other takes its place."""
    gcc, cache = fake_gcc(tmp_path / "one"), tmp_path / "cache.json"
    first = toolchain.find(ToolchainConfig(), environ(tmp_path / "one"), cache=cache)
    (tmp_path / "two").mkdir()
    copy = tmp_path / "two" / gcc.name
    copy.write_bytes(gcc.read_bytes())
    copy.chmod(0o755)
    moved = toolchain.find(ToolchainConfig(), environ(tmp_path / "two"), cache=cache)
    assert moved.counts == first.counts and str(tmp_path) not in first.counts
    gcc.write_text(gcc.read_text("utf-8") + "# another make\n", "utf-8")
    other = toolchain.find(ToolchainConfig(), environ(tmp_path / "one"), cache=cache)
    assert (other.identity, other.counts == first.counts) == (first.identity, False)
