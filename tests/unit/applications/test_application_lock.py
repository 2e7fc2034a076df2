"""Do network, runtime, libraries and post-processing belong together? Both places are named."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from neuralart.applications import lock_facts, runtime, version_lock
from neuralart.applications.staging import Generated
from neuralart.vendor.releases import RELEASES
from support.fake_stedgeai import VERSIONS
from support.models.stedgeai_case import refusal
from support.models.vendor_network_c import Want, make

RUNTIMES = {release.core: release.runtime for release in RELEASES}
KEYS = {version: VERSIONS[version][3] for version in VERSIONS}


# Archives made here: real ones belong to their vendor ------------------------------------------------------------


def elf_object(undefined: tuple[str, ...] = (), defined: tuple[str, ...] = ()) -> bytes:
    """A 32-bit Arm object with nothing but symbols."""
    names = b"\0"
    symbols = b"\0" * 16
    for symbol, section in [*((name, 0) for name in undefined), *((name, 1) for name in defined)]:
        symbols += struct.pack("<IIIBBH", len(names), 0, 0, 0x10, 0, section)
        names += symbol.encode() + b"\0"
    sections = b"\0.text\0.symtab\0.strtab\0.shstrtab\0"
    at = 52
    rows = [(0,) * 10]
    body = b""
    for name, kind, data, link, info, entry in (
        (1, 1, b"\0\0\0\0", 0, 0, 0),
        (7, 2, symbols, 3, 1, 16),
        (15, 3, names, 0, 0, 0),
        (23, 3, sections, 0, 0, 0),
    ):
        rows.append((name, kind, 0, 0, at + len(body), len(data), link, info, 1, entry))
        body += data
    header = b"\x7fELF\1\1\1" + b"\0" * 9
    header += struct.pack("<HHIIIIIHHHHHH", 1, 40, 1, 0, 0, at + len(body), 0x05000000, 52, 0, 0, 40, 5, 4)
    return header + body + b"".join(struct.pack("<10I", *row) for row in rows)


def archive(*members: tuple[str, bytes]) -> bytes:
    """As GNU ar writes one, with a table of long names."""
    long_names = b"".join(name.encode() + b"/\n" for name, _ in members if len(name) > 15)
    parts = [("/", b"\0\0\0\0")]
    parts += [("//", long_names)] if long_names else []
    at = 0
    for name, data in members:
        short = f"{name}/"
        if len(name) > 15:
            short, at = f"/{at}", at + len(name) + 2
        parts.append((short, data))
    made = b"!<arch>\n"
    for name, data in parts:
        made += f"{name:<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(data):<10}`\n".encode() + data + b"\n" * (len(data) % 2)
    return made


@pytest.mark.parametrize(
    ("name", "cube", "release", "core", "compiler", "pic"),
    [
        ("NetworkRuntime1000_CM55_GCC.a", (10, 0, 0), (2, 0, 0), "CM55", "GCC", False),
        ("NetworkRuntime1010_CM55_GCC_PIC.a", (10, 1, 0), (2, 1, 0), "CM55", "GCC", True),
        ("NetworkRuntime1020_CM7_GCC.a", (10, 2, 0), (2, 2, 0), "CM7", "GCC", False),
        ("NetworkRuntime1100_CM55_IAR.a", (11, 0, 0), (3, 0, 0), "CM55", "IAR", False),
        ("NetworkRuntime1201_CM55_GCC.a", (12, 0, 1), (4, 0, 1), "CM55", "GCC", False),
        ("NetworkRuntime900_CM7_GCC.a", (9, 0, 0), None, "CM7", "GCC", False),
        ("NetworkRuntime810_CM7_Keil.lib", (8, 1, 0), None, "CM7", "Keil", False),
    ],
)
def test_names_of_libraries(name, cube, release, core, compiler, pic) -> None:
    found = runtime.parse_name(name)
    assert found is not None
    assert (found.cube, found.release, found.core, found.compiler, found.pic) == (cube, release, core, compiler, pic)
    assert name in found.said


@pytest.mark.parametrize(
    "name", ["libm.a", "NetworkRuntime_CM55_GCC.a", "NetworkRuntime1200_CM55_GCC.so", "xNetworkRuntime1200_CM7_GCC.a"]
)
def test_other_names(name: str) -> None:
    assert runtime.parse_name(name) is None


@pytest.mark.parametrize(
    ("members", "found"),
    [
        ((("a.o", ("expf", "_impure_ptr"), ()),), ("newlib", "_impure_ptr", "a.o")),
        (
            (("a.o", (), ()), ("a_very_long_name_indeed.o", ("__errno",), ())),
            ("newlib", "__errno", "a_very_long_name_indeed.o"),
        ),
        ((("a.o", ("stderr",), ()),), ("picolibc", "stderr", "a.o")),
        ((("a.o", ("errno", "__aeabi_read_tp"), ()),), ("picolibc", "__aeabi_read_tp", "a.o")),
        ((("a.o", ("memcpy", "expf"), ()),), None),
        ((("a.o", ("__errno",), ()), ("b.o", (), ("__errno",))), None),
        ((), None),
    ],
)
def test_the_c_library_of_an_archive(tmp_path: Path, members, found) -> None:
    path = tmp_path / "NetworkRuntime1200_CM55_GCC.a"
    path.write_bytes(archive(*((name, elf_object(undefined, defined)) for name, undefined, defined in members)))
    need = runtime.needed_library(path)
    assert (need and (need.libc, need.symbol, need.member)) == found


@pytest.mark.arm
def test_an_archive_of_the_real_compiler(tmp_path: Path) -> None:
    import os
    import subprocess

    from neuralart import toolchain
    from neuralart.config.types import ToolchainConfig

    tools = toolchain.find(ToolchainConfig(), os.environ)
    (tmp_path / "one.c").write_text("#include <errno.h>\nint f(void) { return errno; }\n")
    (tmp_path / "two.c").write_text("int *__errno(void);\nint g(void) { return *__errno(); }\n")
    prefix = f"{tools.folder}/{tools.prefix}"
    flags = ["-mcpu=cortex-m55", "-mthumb", *tools.libc_flags]
    for stem in ("one", "two"):
        subprocess.run([f"{prefix}gcc", *flags, "-c", f"{stem}.c"], cwd=tmp_path, check=True)
        subprocess.run([f"{prefix}ar", "rcs", f"{stem}.a", f"{stem}.o"], cwd=tmp_path, check=True)
    one, two = (runtime.needed_library(tmp_path / f"{stem}.a") for stem in ("one", "two"))
    assert one is not None
    assert one.libc == ("picolibc" if tools.libc == "picolibc" else "newlib")
    assert two == runtime.LibraryNeed("newlib", "__errno", "two.o")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is no archive"),
        (b"version https://git-lfs", "is no archive (a pointer of Git LFS? then: git lfs pull)"),
        (b"!<thin>\n", "is a thin archive: its members are elsewhere"),
        (b"!<arch>\n" + b"x" * 60, "damaged: the header of a member is none"),
        (archive(("a.o", elf_object()))[:-5], "damaged: the header of a member is none"),
        (archive(("a.o", b"\x7fELF\1\1\1" + b"\0" * 20)), "member a.o: damaged ELF file"),
        (archive(("a.o", elf_object(("__errno",))[:-30])), "member a.o: damaged ELF file"),
    ],
)
def test_archives_that_are_none(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "NetworkRuntime1200_CM55_GCC.a"
    path.write_bytes(data)
    assert said in refusal(runtime.needed_library, path)


# Facts of a tree ------------------------------------------------------------------------------------------------


def tree(folder: Path, **files: str | bytes) -> dict[str, Path]:
    """``__`` stands for ``/``, ``_dot_`` for a dot."""
    made = {}
    for key, text in files.items():
        name = key.replace("__", "/").replace("_dot_", ".")
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        made[name] = path
    return made


def header(version: tuple[int, ...]) -> str:
    names = ("MAJOR", "MINOR", "MICRO", "DEV")
    return "#pragma once\n" + "".join(f"#define LL_ATON_VERSION_{n} {v}\n" for n, v in zip(names, version, strict=True))


def network_c(want: Want) -> str:
    return next(
        data for name, data in make(want).files.items() if name.endswith(".c") and "atonbuf" not in name
    ).decode()


def network(folder: Path, core: str = "4.0.1", report: str = "") -> list[Generated]:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "net.c"
    path.write_text(network_c(Want(version=KEYS[core], name="net")))
    if report:
        (folder / "net_generate_report.txt").write_text(f"ST Edge AI Core v{report}\nCreated date: now\n")
    return [Generated("net", path), Generated("", folder / "network_io.h")]


def conflicts(files, parts, **more) -> list[tuple[str, str]]:
    facts = lock_facts.gather(files, parts, shown="app", **more)
    found = version_lock.conflicts(facts)
    for conflict in found:
        assert "\n" not in str(conflict)
    return [(conflict.level, str(conflict)) for conflict in found]


def test_what_fits(tmp_path: Path) -> None:
    for core, version in RUNTIMES.items():
        cube = "".join(VERSIONS[core][1].split("-")[0].split("."))
        parts = tree(
            tmp_path / core,
            Middlewares__ll_aton_version_dot_h=header(version),
            Lib__lib=b"",
            Makefile=f"LIB := NetworkRuntime{cube}_CM55_GCC.a\n",
        )
        said = "".join(VERSIONS[core][0])
        assert conflicts(network(tmp_path / f"n{core}", core, said), parts, core="CM55", libc="newlib") == []


@pytest.mark.parametrize("mine", RUNTIMES)
@pytest.mark.parametrize("theirs", RUNTIMES)
def test_every_two_releases(tmp_path: Path, mine: str, theirs: str) -> None:
    """The table: headers of one release, a network of another."""
    parts = tree(tmp_path / "app", Npu__ll_aton_version_dot_h=header(RUNTIMES[theirs]))
    found = conflicts(network(tmp_path / "n", mine), parts)
    if mine == theirs:
        assert found == []
        return
    ((level, said),) = found
    text = ".".join(map(str, RUNTIMES[theirs]))
    assert level == "error"
    assert f"{tmp_path.as_posix()}/n/net.c:" in said
    assert f"ST Edge AI Core {mine})" in said
    assert f"the application has {text} (ST Edge AI Core {theirs}) at app/Npu/ll_aton_version.h:2" in said
    assert ("would only warn" in said) == (mine in ("2.0.0", "2.1.0"))


def test_the_reference_compilers_network_and_a_vendors_runtime(tmp_path: Path) -> None:
    path = tmp_path / "net.c"
    path.write_text(network_c(Want(version="4.0.1", name="net")).replace("!= 275", "!= 0").replace("!= 3", "!= 0"))
    text = path.read_text().replace("LL_ATON_VERSION_MAJOR != 1", "LL_ATON_VERSION_MAJOR != 0")
    path.write_text(text)
    files = [Generated("net", path)]
    ((_, said),) = conflicts(files, tree(tmp_path / "app", ll_aton_version_dot_h=header((1, 1, 3, 275))))
    assert "runtime 0.1.0.0 (the reference compiler's), the application has 1.1.3.275" in said
    assert "compile the network with compiler: stedgeai" in said
    ((_, said),) = conflicts(
        network(tmp_path / "n"), tree(tmp_path / "app", ll_aton_version_dot_h=header((0, 1, 0, 0)))
    )
    assert "the runtime of this project runs only what the reference compiler makes" in said


def test_two_runtimes_in_one_tree(tmp_path: Path) -> None:
    parts = tree(
        tmp_path / "app", a__ll_aton_version_dot_h=header((1, 1, 3, 8)), b__ll_aton_version_dot_h=header((1, 1, 3, 275))
    )
    ((level, said),) = conflicts(network(tmp_path / "n"), parts)
    assert level == "note"
    assert "the application has also 1.1.3.8 (ST Edge AI Core 3.0.0) at app/a/ll_aton_version.h:2" in said


def test_two_networks_of_different_tools(tmp_path: Path) -> None:
    other = tmp_path / "b.c"
    other.write_text(network_c(Want(version="2.2", name="b")))
    ((level, said),) = conflicts([*network(tmp_path / "n"), Generated("b", other)], {})
    assert level == "error"
    assert f"{other.as_posix()}:" in said
    assert "network b is made for runtime 1.1.1.14 (ST Edge AI Core 2.2.0), network net for 1.1.3.275" in said
    assert f"{tmp_path.as_posix()}/n/net.c:" in said
    assert "no program has both" in said


def test_files_of_two_compiles(tmp_path: Path) -> None:
    files = network(tmp_path / "n", report="2.2.0-20266 2adc00962")
    ((level, said),) = conflicts(files, {})
    assert level == "error"
    assert "is of ST Edge AI Core 4.0.1 by its guard, and of 2.2.0 by its report at" in said
    assert "net_generate_report.txt:1: files of two compiles are mixed (compile it again)" in said


@pytest.mark.parametrize("report", ["", "4.0.1-20581 7ed50de05", "no version at all"])
def test_reports_that_say_nothing_else(tmp_path: Path, report: str) -> None:
    assert conflicts(network(tmp_path / "n", report=report), {}) == []


def test_a_network_without_guard(tmp_path: Path) -> None:
    path = tmp_path / "net.c"
    path.write_text("int LL_ATON_EpochBlockItems_net(void);\n")
    parts = tree(tmp_path / "app", ll_aton_version_dot_h=header((1, 1, 3, 8)), broken__ll_aton_version_dot_h="?")
    assert conflicts([Generated("net", path)], parts) == []


# Libraries ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("makefile", "level", "said"),
    [
        ("-l:NetworkRuntime1201_CM55_GCC.a", "", ""),
        ("-lNetworkRuntime1201_CM55_GCC", "", ""),
        (
            "-l:NetworkRuntime1200_CM55_GCC.a",
            "note",
            "the library is NetworkRuntime1200_CM55_GCC.a (ST Edge AI Core 4.0.0)",
        ),
        (
            "-l:NetworkRuntime1100_CM55_GCC.a",
            "error",
            "the library is NetworkRuntime1100_CM55_GCC.a (ST Edge AI Core 3.0.0)",
        ),
        ("-l:NetworkRuntime900_CM55_GCC.a", "error", "(STM32Cube.AI 9.0.0, before ST Edge AI Core 2.0)"),
        ("# -l:NetworkRuntime1100_CM55_GCC.a", "", ""),
        ("-l:NetworkRuntime1100_CM55_GCC.a\nB=NetworkRuntime1201_CM55_GCC.a", "", ""),
        ("-l:NetworkRuntime1201_CM7_GCC.a", "error", "NetworkRuntime1201_CM7_GCC.a is for another core than CM55"),
        ("-l:NetworkRuntime1100_CM55_GCC_PIC.a", "", ""),
    ],
)
def test_the_library_that_a_build_file_names(tmp_path: Path, makefile: str, level: str, said: str) -> None:
    parts = tree(tmp_path / "app", gcc__Makefile=f"CC = gcc\nLIBS = x\n{makefile}\n")
    found = conflicts(network(tmp_path / "n"), parts, core="CM55")
    assert [each for each, _ in found] == ([level] if level else [])
    for _, text in found:
        assert text.startswith("app/gcc/Makefile:3: ")
        assert said in text
        if "core" not in said:
            assert "network net is made by ST Edge AI Core 4.0.1 (" in text


@pytest.mark.parametrize(("version", "level"), [("1201", ""), ("1200", "note"), ("1020", "error")])
def test_the_library_in_the_tree(tmp_path: Path, version: str, level: str) -> None:
    parts = tree(
        tmp_path / "app", **{f"Lib__NetworkRuntime{version}_CM55_GCC_dot_a": archive(), "Lib__libm_dot_a": b"?"}
    )
    found = conflicts(network(tmp_path / "n"), parts, core="CM55", libc="newlib")
    assert [each for each, _ in found] == ([level] if level else [])
    for _, text in found:
        assert text.startswith(f"app/Lib/NetworkRuntime{version}_CM55_GCC.a: ")


def test_the_library_without_a_network_that_tells(tmp_path: Path) -> None:
    """Headers and library of two releases do not belong together whatever is compiled."""
    parts = tree(
        tmp_path / "app",
        Npu__ll_aton_version_dot_h=header((1, 1, 1, 14)),
        Lib__NetworkRuntime1100_CM55_GCC_dot_a=archive(),
    )
    ((level, said),) = conflicts([], parts)
    assert level == "error"
    assert "the headers are those of ST Edge AI Core 2.2.0 (app/Npu/ll_aton_version.h:2), the library is Netw" in said


@pytest.mark.parametrize(
    ("needs", "makefile", "libc", "said"),
    [
        ("_impure_ptr", "FLAGS = --specs=picolibc.specs", "", "is linked with picolibc (app/Makefile:1)"),
        ("_impure_ptr", "FLAGS = --specs=nano.specs", "picolibc", ""),
        ("_impure_ptr", "", "picolibc", "is linked with picolibc (variants.yaml:9)"),
        ("_impure_ptr", "", "newlib-nano", ""),
        ("_impure_ptr", "", "", ""),
        ("stdout", "", "newlib", "is compiled for picolibc (k.o needs stdout)"),
        ("memcpy", "", "picolibc", ""),
    ],
)
def test_the_c_library(tmp_path: Path, needs: str, makefile: str, libc: str, said: str) -> None:
    parts = tree(
        tmp_path / "app",
        Makefile=makefile,
        NetworkRuntime1201_CM55_GCC_dot_a=archive(("k.o", elf_object((needs,)))),
        NetworkRuntime1201_CM7_GCC_dot_a=b"not looked at",
    )
    found = conflicts(network(tmp_path / "n"), parts, core="CM55", libc=libc, libc_where="variants.yaml:9")
    assert [level for level, _ in found] == (["error"] if said else [])
    for _, text in found:
        assert text.startswith("app/NetworkRuntime1201_CM55_GCC.a: NetworkRuntime1201_CM55_GCC.a is compiled for")
        assert said in text


# Post-processing ------------------------------------------------------------------------------------------------

OLD = {
    "OD_YOLO_V2_UF": 10,
    "OD_YOLO_V5_UU": 11,
    "OD_YOLO_V8_UF": 12,
    "OD_YOLO_V8_UI": 13,
    "OD_ST_SSD_UF": 15,
    "CUSTOM": 100,
}
NEW = {"OD_YOLO_V2_UF": 100, "OD_YOLO_V2_UI": 101, "OD_YOLO_V8_UF": 103, "OD_YOLO_V8_UI": 104, "CUSTOM": 1000}


def wrapper(kinds: dict[str, int]) -> str:
    return "#pragma once\n" + "".join(f"#define POSTPROCESS_{k:<20} ({n}) /* of its own */\n" for k, n in kinds.items())


@pytest.mark.parametrize(
    ("kinds", "config", "said"),
    [
        (NEW, "#define POSTPROCESS_TYPE POSTPROCESS_OD_YOLO_V8_UI", ""),
        (OLD, "#define POSTPROCESS_TYPE (POSTPROCESS_OD_ST_SSD_UF)", ""),
        (
            NEW,
            "#define POSTPROCESS_TYPE POSTPROCESS_OD_ST_SSD_UF",
            "POSTPROCESS_TYPE is POSTPROCESS_OD_ST_SSD_UF, the post-processing at app/Lib/app_postprocess.h (wrapper "
            "later than 1.0) has no such (",
        ),
        (
            OLD,
            "#define POSTPROCESS_TYPE POSTPROCESS_OD_YOLO_V2_UI",
            "(wrapper 1.0) has no such (did you mean 'POSTPROCESS_OD_YOLO_V",
        ),
        (
            NEW,
            "#define POSTPROCESS_TYPE 103",
            "is the number 103, which every release of the wrapper gives to something else",
        ),
        (OLD, "#define POSTPROCESS_TYPE (103)", "(write its name; here nothing is 103)"),
        (OLD, "//#define POSTPROCESS_TYPE 103", ""),
        (OLD, "/*\n#define POSTPROCESS_TYPE 103\n*/", ""),
        (OLD, "#define POSTPROCESS_TYPE POSTPROCESS_OD_YOLO_V8_UI // int8", ""),
        (
            NEW,
            "#define POSTPROCESS_OD_YOLO_V8_UI (13)\n#define POSTPROCESS_TYPE POSTPROCESS_OD_YOLO_V8_UI",
            "POSTPROCESS_OD_YOLO_V8_UI is 13, but 104 at app/Lib/app_postprocess.h:5",
        ),
        ({"A": 1, "B": 2}, "#define POSTPROCESS_TYPE POSTPROCESS_C", ""),
    ],
)
def test_post_processing(tmp_path: Path, kinds: dict[str, int], config: str, said: str) -> None:
    parts = tree(tmp_path / "app", Inc__app_config_dot_h=f"{config}\n", Lib__app_postprocess_dot_h=wrapper(kinds))
    found = conflicts([], parts)
    assert [level for level, _ in found] == (["error"] if said else [])
    for _, text in found:
        assert text.startswith("app/Inc/app_config.h:")
        assert said in text


@pytest.mark.parametrize(("kinds", "release"), [(OLD, "1.0"), (NEW, "later than 1.0"), ({"A": 3}, "")])
def test_the_release_of_a_wrapper(kinds: dict[str, int], release: str) -> None:
    found = lock_facts.kinds(wrapper(kinds), "x.h")
    assert found is not None
    assert found.release == release


# The one line ---------------------------------------------------------------------------------------------------


def test_the_first_error_and_how_many_more(tmp_path: Path) -> None:
    parts = tree(
        tmp_path / "app", ll_aton_version_dot_h=header((1, 1, 3, 8)), Makefile="-l:NetworkRuntime1100_CM55_GCC.a"
    )
    facts = lock_facts.gather(network(tmp_path / "n"), parts, shown="app")
    said = refusal(version_lock.check, facts)
    assert said.startswith(f"{tmp_path.as_posix()}/n/net.c:")
    assert "1 more of this kind: neuralart application check" in said
    notes = version_lock.check(
        lock_facts.gather(network(tmp_path / "n"), tree(tmp_path / "b", Makefile="-l:NetworkRuntime1200_CM55_GCC.a"))
    )
    assert [note.level for note in notes] == ["note"]
