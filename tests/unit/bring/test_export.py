"""The export folder: what is in it, and what a second export may touch."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from neuralart.applications.runtime import RuntimePart
from neuralart.errors import NeuralArtError
from neuralart.text.ihex import ihex
from neuralart_bring.export import collect, folder, makefiles, plan
from neuralart_bring.export.plan import ExportInputs, ImagePart, NetworkPart, Raw


def part(folder: Path, name: str = "digits", pool: str = "xSPI2", data: bytes = b"weights", **changes) -> NetworkPart:
    """A network in a folder of its own."""
    home = folder / name
    home.mkdir(parents=True, exist_ok=True)
    for file, text in ((f"{name}.c", f'#include "{name}.h"\n'), (f"{name}.h", "#define X\n"), ("network.json", "{}\n")):
        (home / file).write_text(text)
    raw = home / f"{name}_atonbuf.{pool}.raw"
    raw.write_bytes(data)
    fields = {
        "runtime": "neuralart",
        "runtime_version": (0, 1, 0, 0),
        "abi_stamp": "0123456789abcdef",
        "sources": (home / f"{name}.c",),
        "headers": (home / f"{name}.h",),
        "raws": (Raw(pool, 0x70380000, raw),),
        "others": (home / "network.json",),
        **changes,
    }
    return NetworkPart(name, **fields)


def image(folder: Path, name: str = "digits.xSPI2", data: bytes = b"weights", **changes) -> ImagePart:
    (folder / f"{name}.bin").write_bytes(data)
    (folder / f"{name}.hex").write_text(ihex(0x70380000, data))
    fields = {"network": "digits", "pool": "xSPI2", "address": 0x70380000, **changes}
    return ImagePart(binary=folder / f"{name}.bin", hex=folder / f"{name}.hex", **fields)


@pytest.fixture
def build(tmp_path: Path) -> Path:
    folder = tmp_path / "build"
    folder.mkdir()
    for name in ("npu_memory_init.c", "npu_memory_init.h", "network_io.h", "rt.c", "ll_aton.h"):
        (folder / name).write_text(f"/* {name} */\n")
    return folder


@pytest.fixture
def inputs(build: Path) -> ExportInputs:
    return ExportInputs(
        name="digits-n6",
        title="Digits",
        board="stm32n6570-dk",
        networks=(part(build),),
        sources=(build / "npu_memory_init.c",),
        headers=(build / "npu_memory_init.h", build / "network_io.h"),
        images=(image(build), image(build, "descriptor", b"", network="", pool="")),
        runtime=(RuntimePart("rt.c", build / "rt.c"), RuntimePart("include/ll_aton.h", build / "ll_aton.h")),
        defines=("PLAIN", "TEXT=\"a b\" $x;'#'"),
        cpu_flags=("-mthumb",),
    )


def tree(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


NAMES = {
    "images/descriptor.bin",
    "images/descriptor.hex",
    "images/digits.xSPI2.bin",
    "images/digits.xSPI2.hex",
    "manifest.json",
    "network.cmake",
    "network.mk",
    "networks/digits/digits.c",
    "networks/digits/digits.h",
    "networks/digits/digits_atonbuf.xSPI2.raw",
    "networks/digits/network.json",
    "program/network_io.h",
    "program/npu_memory_init.c",
    "program/npu_memory_init.h",
    "runtime/include/ll_aton.h",
    "runtime/rt.c",
}


# ---- contents --------------------------------------------------------------------------------------------------------


def test_files_and_manifest(tmp_path: Path, inputs: ExportInputs) -> None:
    out = tmp_path / "out"
    done = folder.write(out, inputs)
    found = tree(out)
    assert set(found) == NAMES == set(done.written)
    assert done.removed == done.kept == ()
    manifest = json.loads(found["manifest.json"])
    assert {row["name"] for row in manifest["files"]} == NAMES - {"manifest.json"}
    for row in manifest["files"]:
        assert (row["bytes"], row["sha256"]) == (len(found[row["name"]]), plan.sha256(found[row["name"]]))
    (network,) = manifest["networks"]
    assert network["initializers"] == [
        {"pool": "xSPI2", "address": 0x70380000, "bytes": 7, "file": "networks/digits/digits_atonbuf.xSPI2.raw"}
    ]
    assert [(row["network"], row["bytes"], row["external"]) for row in manifest["images"]] == [
        ("digits", 7, False),
        ("", 0, False),
    ]
    assert manifest["sources"] == ["networks/digits/digits.c", "program/npu_memory_init.c", "runtime/rt.c"]
    assert manifest["include_dirs"] == ["networks/digits", "program", "runtime/include"]


def test_equal_in_any_folder_and_without_its_path(tmp_path: Path, inputs: ExportInputs) -> None:
    one, other = tmp_path / "one", tmp_path / "a folder" / "deeper"
    folder.write(one, inputs)
    folder.write(other, inputs)
    assert tree(one) == tree(other)
    assert not [name for name, data in tree(one).items() if str(tmp_path).encode() in data]


def test_what_has_no_bytes_is_not_loaded(inputs: ExportInputs, build: Path) -> None:
    """Empty images and those that somebody else loads into RAM stay out of the list for the flash."""
    outside = image(build, "digits.AXISRAM5", b"ram", pool="AXISRAM5", address=0x342E0000, external=True)
    text = plan.files(replace(inputs, images=(*inputs.images, outside)))
    for name in ("network.mk", "network.cmake"):
        assert re.findall(r"images/[\w.]+", text[name].decode()) == ["images/digits.xSPI2.hex"]
    assert "images/digits.AXISRAM5.hex" in text


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"networks": ()}, "no network to export"),
        ({"defines": ("1X",)}, "'1X' is no preprocessor definition"),
        ({"defines": ("X=a\nb",)}, "is no preprocessor definition"),
        ({"headers": (Path("gone") / "network_io.h",)}, "cannot read"),
    ],
)
def test_refused(inputs: ExportInputs, changes: dict, said: str, tmp_path: Path) -> None:
    with pytest.raises(NeuralArtError, match=re.escape(said)):
        folder.write(tmp_path / "out", replace(inputs, **changes))
    assert not (tmp_path / "out").exists()


def test_networks_that_do_not_go_together(inputs: ExportInputs, build: Path) -> None:
    other = part(build, "second", runtime="ll_aton", runtime_version=(1, 1, 3, 262))
    with pytest.raises(NeuralArtError, match=r"runtime neuralart 0\.1\.0\.0, network second for ll_aton 1\.1\.3\.262"):
        plan.files(replace(inputs, networks=(*inputs.networks, other)))
    with pytest.raises(NeuralArtError, match="network digits is there twice"):
        plan.files(replace(inputs, networks=inputs.networks * 2))


def test_two_files_of_one_name(inputs: ExportInputs, build: Path) -> None:
    (build / "sub").mkdir()
    (build / "sub" / "Network_IO.h").write_text("other")
    with pytest.raises(NeuralArtError, match=r"two different files would become program/Network_IO\.h"):
        plan.files(replace(inputs, headers=(*inputs.headers, build / "sub" / "Network_IO.h")))
    (build / "sub" / "a b.h").write_text("x")
    with pytest.raises(NeuralArtError, match=r"'program/a b\.h' cannot be the name of an exported file"):
        plan.files(replace(inputs, headers=(build / "sub" / "a b.h",)))


@pytest.mark.parametrize("name", ["a", "a/b.c", "a-b/c+d.e", ".hidden"])
def test_names(name: str) -> None:
    assert plan.is_name(name)


@pytest.mark.parametrize(
    "name", ["", "/a", "a/", "a//b", "../a", "a/../b", "a/.", "a b", "a\\b", "C:/a", "a;b", "a$b", "ä", "a.", "a\n"]
)
def test_names_that_are_none(name: str) -> None:
    assert not plan.is_name(name)


def test_other_runtimes_get_no_flag_for_ours(inputs: ExportInputs, build: Path) -> None:
    vendor = part(build, runtime="ll_aton", runtime_version=(1, 1, 3, 262))
    text = plan.files(replace(inputs, networks=(vendor,), runtime=()))
    assert makefiles.EXACT not in text["network.mk"].decode() + text["network.cmake"].decode()
    assert b"runtime/include" not in text["network.mk"] + text["network.cmake"]


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_definitions_reach_the_compiler_through_make(tmp_path: Path, inputs: ExportInputs) -> None:
    folder.write(tmp_path / "out", inputs)
    (tmp_path / "Makefile").write_text(
        "include out/network.mk\nall:\n\t@for word in $(NEURALART_CPPFLAGS); do printf '%s\\n' \"$$word\"; done\n"
        "\t@echo $(NEURALART_SOURCES) $(NEURALART_NETWORKS)\n"
    )
    done = subprocess.run(["make", "-s"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        *("-Iout/networks/digits", "-Iout/program", "-Iout/runtime/include"),
        "-DPLAIN",
        "-DTEXT=\"a b\" $x;'#'",
        "out/networks/digits/digits.c out/program/npu_memory_init.c out/runtime/rt.c digits",
    ]


# ---- a second export -------------------------------------------------------------------------------------------------


def test_again_changes_nothing(tmp_path: Path, inputs: ExportInputs) -> None:
    out = tmp_path / "out"
    folder.write(out, inputs)
    for path in out.rglob("*"):
        os.utime(path, (1, 1))
    done = folder.write(out, inputs)
    assert (done.written, done.removed, set(done.kept)) == ((), (), NAMES)
    assert {path.stat().st_mtime for path in out.rglob("*") if path.is_file()} == {1}


def test_other_weights_change_what_holds_them(tmp_path: Path, inputs: ExportInputs, build: Path) -> None:
    out = tmp_path / "out"
    folder.write(out, inputs)
    other = replace(inputs, networks=(part(build, data=b"others!"),), images=(image(build, data=b"others!"),))
    done = folder.write(out, replace(other, images=(*other.images, inputs.images[1])))
    assert set(done.written) == {
        "images/digits.xSPI2.bin",
        "images/digits.xSPI2.hex",
        "networks/digits/digits_atonbuf.xSPI2.raw",
        "manifest.json",
    }


def test_stale_files_go_and_foreign_ones_stay(tmp_path: Path, inputs: ExportInputs, build: Path) -> None:
    out = tmp_path / "out"
    folder.write(out, inputs)
    (out / "README").write_text("mine")
    (out / "networks" / "notes.txt").write_text("mine")
    done = folder.write(out, replace(inputs, networks=(part(build, "letters"),)))
    assert set(done.removed) == {name for name in NAMES if name.startswith("networks/digits/")}
    assert not (out / "networks" / "digits").exists()
    assert (out / "README").read_text() == (out / "networks" / "notes.txt").read_text() == "mine"
    assert set(tree(out)) == {
        *plan.files(replace(inputs, networks=(part(build, "letters"),))),
        "README",
        "networks/notes.txt",
    }


def test_a_folder_of_somebody_stays_with_its_files(tmp_path: Path, inputs: ExportInputs, build: Path) -> None:
    out = tmp_path / "out"
    folder.write(out, inputs)
    (out / "networks" / "digits" / "mine.c").write_text("x")
    folder.write(out, replace(inputs, networks=(part(build, "letters"),)))
    assert [path.name for path in (out / "networks" / "digits").iterdir()] == ["mine.c"]


@pytest.mark.parametrize("stale", [False, True])
def test_edited_files_are_refused(tmp_path: Path, inputs: ExportInputs, build: Path, stale: bool) -> None:
    out = tmp_path / "out"
    folder.write(out, inputs)
    (out / "networks/digits/digits.c").write_text("mine")
    before = tree(out)
    wanted = replace(inputs, networks=(part(build, "letters"),)) if stale else inputs
    with pytest.raises(NeuralArtError, match=r"edited since the last export: networks/digits/digits\.c") as caught:
        folder.write(out, wanted)
    assert "--force" in caught.value.hint
    assert tree(out) == before
    folder.write(out, wanted, force=True)
    assert tree(out) == plan.files(wanted)


def test_an_edited_file_that_is_what_is_wanted_is_no_edit(tmp_path: Path, inputs: ExportInputs, build: Path) -> None:
    out = tmp_path / "out"
    folder.write(out, inputs)
    other = replace(inputs, networks=(part(build, data=b"by hand"),))
    (out / "networks/digits/digits_atonbuf.xSPI2.raw").write_bytes(b"by hand")
    folder.write(out, other)
    assert tree(out) == plan.files(other)


def test_deleted_files_come_back(tmp_path: Path, inputs: ExportInputs) -> None:
    out = tmp_path / "out"
    folder.write(out, inputs)
    (out / "network.mk").unlink()
    assert folder.write(out, inputs).written == ("network.mk",)


def test_files_of_others_are_not_overwritten(tmp_path: Path, inputs: ExportInputs) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "network.mk").write_text("mine")
    with pytest.raises(NeuralArtError, match=r"no export wrote network\.mk, and this one would overwrite it"):
        folder.write(out, inputs)
    assert tree(out) == {"network.mk": b"mine"}
    folder.write(out, inputs, force=True)
    assert set(tree(out)) == NAMES


def test_an_export_that_was_killed_is_finished_by_the_next(
    tmp_path: Path, inputs: ExportInputs, build: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    out = tmp_path / "out"
    folder.write(out, inputs)
    second = replace(inputs, networks=(part(build, data=b"second"),), images=(image(build, data=b"second"),))
    real, count = folder.write_bytes, 0

    def dies(path: Path, data: bytes) -> None:
        nonlocal count
        count += 1
        if count == 3:
            raise KeyboardInterrupt
        real(path, data)

    monkeypatch.setattr(folder, "write_bytes", dies)
    with pytest.raises(KeyboardInterrupt):
        folder.write(out, second)
    monkeypatch.undo()
    third = replace(inputs, networks=(part(build, "letters", data=b"third"),), images=(image(build, data=b"third"),))
    folder.write(out, third)
    assert tree(out) == plan.files(third)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not the manifest of an export"),
        ("[]", "not the manifest of an export"),
        ("{}", "not the manifest of an export"),
        ('{"schema": 2, "files": []}', "schema 2, this version writes 1"),
        ('{"schema": true, "files": []}', "schema True"),
        ('{"schema": 1, "files": [1]}', "not the manifest of an export"),
        ('{"schema": 1, "files": [{"name": "a"}]}', "not the manifest of an export"),
        ('{"schema": 1, "files": [{"name": "a", "sha256": 1}]}', "names and hashes must be texts"),
        ('{"schema": 1, "files": [{"name": "../a", "sha256": ""}]}', "it lists '../a'"),
        ('{"schema": 1, "files": [{"name": "/etc/a", "sha256": ""}]}', "it lists '/etc/a'"),
        ('{"schema": 1, "files": [{"name": "manifest.json", "sha256": ""}]}', "it lists 'manifest.json'"),
        ("[" * 100_000, "not the manifest of an export"),
    ],
)
def test_a_manifest_of_somebody_else(tmp_path: Path, inputs: ExportInputs, text: str, said: str) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "manifest.json").write_text(text)
    with pytest.raises(NeuralArtError) as caught:
        folder.write(out, inputs)
    assert said in str(caught.value) and "\n" not in str(caught.value)
    assert tree(out) == {"manifest.json": text.encode()}
    folder.write(out, inputs, force=True)
    assert set(tree(out)) == NAMES


def test_places_that_are_no_folder(tmp_path: Path, inputs: ExportInputs) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(NeuralArtError, match="this is a file, an export needs a folder"):
        folder.write(tmp_path / "file", inputs)
    (tmp_path / "out" / "network.mk").mkdir(parents=True)
    with pytest.raises(NeuralArtError, match="a folder is where a file is to be written"):
        folder.write(tmp_path / "out", inputs, force=True)


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege there")
@pytest.mark.parametrize("name", ["networks", "network.mk", "manifest.json"])
def test_links_lead_nowhere(tmp_path: Path, inputs: ExportInputs, name: str) -> None:
    out, outside = tmp_path / "out", tmp_path / "outside"
    out.mkdir()
    outside.mkdir()
    (out / name).symlink_to(outside if name == "networks" else outside / "file")
    with pytest.raises(NeuralArtError, match="is a symbolic link, or behind one"):
        folder.write(out, inputs, force=True)
    assert not list(outside.iterdir())


# ---- from a build ----------------------------------------------------------------------------------------------------


def test_runtime_parts() -> None:
    names = [part.name for part in collect.runtime_parts(True)]
    assert names == sorted(names)
    assert {"ll_aton_runtime.c", "kernels/conv2d.c", "kernels/window.h", "include/ll_aton.h"} <= set(names)
    assert not [name for name in names if name.startswith(("kernels_", "relocatable/"))]


@pytest.mark.parametrize(("kernels", "cpu"), [("mve", False), ("dsp", False), ("dsp", True)])
def test_runtime_parts_with_kernels_for_an_extension(kernels: str, cpu: bool) -> None:
    plain = {part.name for part in collect.runtime_parts(True, cpu=cpu)}
    vector = {part.name for part in collect.runtime_parts(True, kernels, cpu=cpu)}
    assert {name.split("/")[0] for name in vector - plain} == {f"kernels_{kernels}"}
    assert ("legacy/legacy_network.c" in vector) == cpu
    replaced = {name for name in plain if name not in vector}
    assert replaced == {f"kernels/{name.split('/')[1]}" for name in vector - plain if name.endswith(".c")}
    assert "kernels/conv2d.c" in replaced and "kernels/window.h" in vector


def test_runtime_parts_for_another_runtime() -> None:
    """The memories are brought up by our code; nothing of it stands for the other runtime."""
    names = [part.name for part in collect.runtime_parts(False)]
    assert [name for name in names if name.startswith("include/")] == ["include/npu_memory.h"]
    assert all(name.startswith(("memory/", "include/npu_memory.h")) for name in names)
    assert "memory/npu_memory.c" in names
