"""``neuralart relocatable build``: images of our runtime, of a made-up installation, and what it refuses."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import struct
import subprocess
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from neuralart import toolchain
from neuralart.cli import main
from neuralart.config.types import ToolchainConfig
from neuralart.errors import NeuralArtError
from neuralart.network.facts import MANIFEST
from neuralart.relocatable.build import builder
from neuralart.relocatable.build.assemble import script
from neuralart.relocatable.build.objects import ObjectCompiler
from neuralart.relocatable.build.request import BuildRequest
from neuralart.relocatable.format import types
from neuralart.relocatable.format.container import parse
from neuralart.relocatable.format.types import OFFSET, Image
from neuralart.relocatable.verify.verifier import verify
from support.projects.compile_answers import relocatable_objects
from support.projects.sconsproject import REPO
from support.relocatable import fake_pack
from support.relocatable.rel_networks import compile_digits
from support.servers.messages import flat

pytestmark = pytest.mark.arm


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("relocatable")


@pytest.fixture(scope="module")
def digits(root: Path) -> Path:
    return compile_digits(root / "net", "AXISRAM3", "xSPI2", relative=("xSPI2",))


@pytest.fixture(scope="module")
def objects(root: Path) -> Path:
    """Objects of this run: our runtime is compiled once for all tests."""
    return relocatable_objects(root / "objects")


@pytest.fixture
def make(objects: Path, tmp_path: Path):
    """Build with these objects, unless others are named."""

    def run(code: Path, **options) -> tuple[builder.Built, Image]:
        name = options.pop("name", "network")
        output = options.pop("output", tmp_path / "out")
        built = builder.build(BuildRequest(code, output, name, **{"objects": objects, **options}))
        image = parse(built.container.image, f"{name}_rel.bin", built.container.params)
        assert [str(f) for f in verify(image) if f.check == "relocations" or f.level == "error"] == []
        return built, image

    return run


def copy(code: Path, folder: Path) -> Path:
    """A compile to change: without its manifest nobody knows what it was."""
    folder.mkdir(parents=True)
    for path in code.parent.iterdir():
        if path.is_file() and path.name != MANIFEST:
            (folder / path.name).write_bytes(path.read_bytes())
    return folder / code.name


# ---- our runtime


def test_an_image_of_digits(digits, make):
    _, image = make(digits)
    assert image.header_words == 26 and not image.split
    assert image.context.description == "neuralart-reference-runtime-0.1.0.0 (RELOC.GCC)"
    assert (image.context.c_name, image.context.version, image.context.extra) == ("network", (0, 1, 0), 0)
    raw = (digits.parent / "network_atonbuf.xSPI2.raw").read_bytes()
    assert image.params == raw
    assert (image.context.params_bin_sz, image.context.params_bin_crc32) == (len(raw), zlib.crc32(raw))
    assert (image.context.params_sz, image.context.acts_sz, image.context.ext_ram_sz) == (4136, 2560, 0)
    assert [pool.notation for pool in image.pools] == ["RELOC.PARAM.0.RCACHED", "RESET.ACTIV.WRITE"]
    decoded = types.decode_flags(image.header["flags"])
    assert (decoded.cpuid, decoded.secure, decoded.dbg_info, decoded.asynchronous) == (0xD22, True, True, True)
    assert image.ro_size % 64 == 0 and image.header["params_offset"] % 64 == 0


def test_only_what_the_network_uses_is_in_it(digits, make, tmp_path):
    built, _ = make(digits, keep=True)
    elf = tmp_path / "network.elf"
    elf.write_bytes(built.files["network.elf"])
    listing = subprocess.run(["arm-none-eabi-nm", str(elf)], capture_output=True, text=True, check=True)
    names = set(listing.stdout.split())
    assert {"na_conv2d_s8", "na_softmax_s8", "__aeabi_dmul"} <= names
    kernels = {name for name in names if name.startswith("na_")}
    assert kernels == {"na_conv2d_s8", "na_max_pool_s8", "na_fully_connected_s8", "na_softmax_s8"}


def test_equal_bytes_in_two_folders(digits, make, objects, tmp_path):
    """Of the image and of all that is stored, which says nothing of this machine and this run: no process, no path."""
    first, _ = make(digits)
    folder = tmp_path / "another" / "deeper"
    shutil.copytree(digits.parent, folder / "net")
    second, _ = make(folder / "net" / "network.c", output=folder / "out", objects=folder / "objects")
    assert second.compiler.ran and second.container.image == first.container.image
    contents = {path.name: path.read_bytes() for path in (folder / "objects").iterdir()}
    # A list of the store for all tests has more rows.
    lists = {name for name in contents if name.endswith(".json")}
    assert all((objects / name).is_file() for name in lists)
    assert [name for name in contents.keys() - lists if (objects / name).read_bytes() != contents[name]] == []
    assert not [name for name in contents if name.startswith(".") or name.endswith((".part", ".d", ".lock"))]
    maps = [data for name, data in contents.items() if name.endswith(".map")]
    # gcc calls a part of a function NAME.part.0.
    assert maps and not [data for data in maps if re.search(rb"\.part(?!\.\d)", data)]
    told = [*maps, *(contents[name] for name in lists)]
    assert not [data for data in told if any(os.fsencode(place) in data for place in (tmp_path, digits.parent, REPO))]
    here = str(Path(toolchain.find(ToolchainConfig(), os.environ).folder).parent).encode()
    assert not [line for data in maps for line in data.splitlines() if b" /" in line or here + b"/lib" in line]


def test_other_weights_compile_nothing(digits, make, tmp_path):
    first, before = make(digits)
    code = copy(digits, tmp_path / "net")
    raw = code.with_name("network_atonbuf.xSPI2.raw")
    raw.write_bytes(bytes(byte ^ 1 for byte in raw.read_bytes()))
    second, after = make(code, output=tmp_path / "second")
    assert second.compiler.ran == []
    assert after.params == raw.read_bytes() != before.params
    assert after.context == replace(before.context, params_bin_crc32=zlib.crc32(raw.read_bytes()))
    start = before.header["params_offset"]
    differ = [n for n in range(0, start, 4) if first.container.image[n : n + 4] != second.container.image[n : n + 4]]
    context = before.ro_size + (before.header["rt_ctx"] & OFFSET)
    assert differ == [context + 4 * 13]


@pytest.mark.parametrize("name", ["network.c", "network_atonbuf.xSPI2.raw", MANIFEST])
def test_a_changed_file_of_a_compile_is_refused(digits, make, tmp_path, name):
    folder = copy(digits, tmp_path / "net").parent
    (folder / MANIFEST).write_bytes((digits.parent / MANIFEST).read_bytes())
    flip(folder / name) if name != MANIFEST else (folder / name).write_bytes(b"{}")
    with pytest.raises(NeuralArtError, match=re.escape(f"{name} changed since the network was compiled")):
        make(folder / "network.c", output=tmp_path / "second")
    assert not (tmp_path / "second").exists()


def test_another_network_compiles_only_itself(digits, make, tmp_path):
    make(digits)
    code = copy(digits, tmp_path / "net")
    text = code.read_text("utf-8")
    code.write_text(text.replace(".minimum_difference = -124", ".minimum_difference = -123"), encoding="utf-8")
    built, _ = make(code, name="other")
    compiled = [Path(word).name for line in built.compiler.ran for word in line.split() if word.endswith(".c")]
    assert sorted(compiled) == ["model_entry.c", "other_reloc.c", "other_reloc_mempools.c"]


def test_a_changed_header_compiles_again(tmp_path):
    """What the store holds is compared with the headers that were read, not with names."""
    compiler = ObjectCompiler(toolchain.find(ToolchainConfig(), os.environ), tmp_path / "store")
    work = tmp_path / "work dir"
    work.mkdir()
    source, header = work / "a.c", work / "b c.h"
    source.write_text('#include "b c.h"\nint x = VALUE;\n')
    objects = []
    for value in (1, 2, 1):
        header.write_text(f"#define VALUE {value}\n")
        objects += compiler.compile([(source, ["-mcpu=cortex-m33", "-mthumb"])], [work], work)
    assert objects[0] == objects[2] != objects[1] and len(compiler.ran) == 2


@pytest.mark.parametrize(("secure", "debug"), [(True, False), (False, True)])
def test_flags(make, tmp_path, secure, debug):
    code = compile_digits(tmp_path / "net", "xSPI1", "xSPI2", relative=("xSPI1", "xSPI2"))
    _, image = make(code, secure=secure, debug_info=debug)
    decoded = types.decode_flags(image.header["flags"])
    assert (decoded.secure, decoded.dbg_info) == (secure, debug)
    assert image.context.struct_sizes[1] == (32 if debug else 16)
    assert image.context.ext_ram_sz == 2560


def test_compile_and_make_the_image_at_once(digits, objects, tmp_path, capsys):
    """As ``stedgeai generate --relocatable``: the image stands beside the network, and a second call does it again."""
    pools = digits.parent / "pools.mpool"
    model = str(REPO / "models/digits/digits.tflite")
    words = ["compile", "-m", model, "--target", "stm32n6", "--mpool", str(pools), "-o", str(tmp_path / "out")]
    words += ["-n", "cat", "--quiet"]
    (tmp_path / "out").mkdir()
    (tmp_path / "out/objects").symlink_to(objects)
    for _ in range(2):
        assert main([*words, "--relocatable", "split,gen-c-files"]) == 0
    assert capsys.readouterr() == ("", "")
    made = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"cat.c", "network.json", "cat_rel.bin", "cat_rel_params.bin", "cat_rel.c", "cat_rel.h"} <= made
    image = (tmp_path / "out/cat_rel.bin").read_bytes()
    parsed = parse(image, "cat_rel.bin", (tmp_path / "out/cat_rel_params.bin").read_bytes())
    assert [str(f) for f in verify(parsed) if f.level == "error"] == [] and parsed.context.c_name == "cat"


BAD = {
    "absolute": (
        'static void __attribute__((naked, used)) bad(void) { __asm__("ldr r0, =%s\\n bx lr\\n .ltorg"); }'.replace(
            "%s", "_network_rt_ctx"
        ),
        "holds the absolute address of _network_rt_ctx in read-only memory",
    ),
    "movw": (
        "static void __attribute__((naked, used)) bad(void) {"
        ' __asm__("movw r0, #:lower16:_network_rt_ctx\\n movt r0, #:upper16:_network_rt_ctx\\n bx lr"); }',
        "relocation R_ARM_THM_MOVW_ABS_NC of _network_rt_ctx at bad+0x0",
    ),
    "missing": ("extern int sinhf(int); static void bad(void) { sinhf(1); }", "nothing provides sinhf"),
    "section": (
        '__attribute__((section(".mine"), used)) static int mine = 5; static void bad(void) { mine++; }',
        "section .mine at 0x",
    ),
    "syntax": ("static void bad(void) { oops }", "does not compile: "),
}


@pytest.mark.parametrize("kind", BAD)
def test_code_that_cannot_move(digits, make, tmp_path, kind):
    code = copy(digits, tmp_path / "net")
    definition, message = BAD[kind]
    head = "bool LL_ATON_EC_Network_Init_network(void)\n{\n"
    text = code.read_text("utf-8").replace(head, f"{definition}\n{head}  bad();\n")
    code.write_text(text, encoding="utf-8")
    with pytest.raises(NeuralArtError) as caught:
        make(code)
    assert message in flat(str(caught.value))
    assert not (tmp_path / "out" / "network_rel.bin").exists()


# ---- the command


def run(*words: object) -> int:
    return main(["relocatable", "build", *map(str, words)])


def test_command(digits, objects, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    base = ("-i", digits.parent, "--objects", objects)
    assert run(*base) == 0
    out = capsys.readouterr().out
    assert (
        "01010500 RELOC.PARAM.0.RCACHED" in out
        and 'Generating files...\n    creating "build/network_rel.bin" (size=' in out
    )
    assert sorted(p.name for p in (tmp_path / "build").iterdir()) == ["network_rel.bin"]

    assert run(*base, "-o", "o", "-n", "Digits", "-v", 0) == 1  # --name names the file in a folder
    assert "no Digits.c in it" in capsys.readouterr().err
    words = (*base[2:], "-i", digits, "-o", "o", "-n", "Digits")
    assert run(*words, "--split", "--gen-c-file", "--no-clean", "--json", "--log", "--verbosity", 2) == 0
    out = capsys.readouterr().out
    made = {p.name for p in (tmp_path / "o").iterdir()}
    files = {f"Digits_rel{end}" for end in (".bin", "_params.bin", ".c", ".h")}
    assert made == files | {"Digits.elf", "Digits.map", "Digits_reloc_results.json", "Digits_reloc.log", "work"}
    assert f"# Log of neuralart\n{out}" == (tmp_path / "o" / "Digits_reloc.log").read_text("utf-8")
    data = json.loads((tmp_path / "o" / "Digits_reloc_results.json").read_text("utf-8"))
    assert data["reloc_binary_image"]["rt_context"]["c_name"] == "digits"
    assert data["reloc_binary_image"]["split"] is True and set(data["gen_files"]) == files | {
        "Digits.elf",
        "Digits.map",
    }
    assert data["network"]["pools"][0]["flags"] == "RELOC.PARAM.0.RCACHED"
    check = [
        "arm-none-eabi-gcc",
        "--specs=picolibc.specs",
        "-mcpu=cortex-m33",
        "-mthumb",
        "-Wall",
        "-Wextra",
        "-Werror",
    ]
    subprocess.run([*check, "-c", "o/Digits_rel.c", "-o", "image.o"], check=True)

    assert run(*words, "-v", 0) == 0
    assert capsys.readouterr().out == ""
    left = {p.name for p in (tmp_path / "o").iterdir()}
    assert "Digits_rel.bin" in left and not left & {"Digits_rel_params.bin", "Digits_rel.c", "Digits_rel.h", "work"}


def test_parse_only(digits, tmp_path, capsys):
    assert run("-i", digits, "-o", tmp_path / "o", "--parse-only", "-v", "2") == 0
    out = capsys.readouterr().out
    assert "xSPI2        relative" in out and "conv_2d_0_weights" in out
    assert "   | name     | rights     | params | activations |\n" in out and "    Table: pools (2)\n" in out
    assert re.search(r"\| epoch +\| type +\| cycles +\| operators +\|\n", out) and re.search(
        "Table: epochs .[1-9]", out
    )
    assert re.search(r"\| conv_2d_0_weights +\| constant +\| _mem_pool_xSPI2_network +\| 0 ", out)
    assert not (tmp_path / "o").exists()


def _image(folder: Path) -> Image:
    params = folder / "network_rel_params.bin"
    return parse((folder / "network_rel.bin").read_bytes(), "x", params.read_bytes() if params.exists() else None)


# What is seen of each option of the page: words, and what is true of folder, what was printed, errors.
ROWS = {
    "--input": (["--input", "st_ai_output/network.c"], lambda out, said, err: "network Default of network.c" in said),
    "-i": (["-i", "st_ai_output"], lambda out, said, err: "network Default of network.c" in said),
    "--output": (["--output", "there"], lambda out, said, err: 'creating "there/network_rel.bin"' in said),
    "-o": (["-o", "st_ai_output"], lambda out, said, err: 'creating "st_ai_output/network_rel.bin"' in said),
    "--name": (["--name", "network"], lambda out, said, err: _image(out).context.c_name == "network"),
    "-n": (["-n", "other"], lambda out, said, err: "st_ai_output: no other.c in it" in err),
    "--no-secure": (["--no-secure"], lambda out, said, err: "where that memory is at 0x242e0000" in err),
    "--split": (["--split"], lambda out, said, err: _image(out).split),
    "--pack-dir": (["--pack-dir", "nowhere"], lambda out, said, err: "nowhere: no such folder" in err),
    "--gen-c-file": (["--gen-c-file"], lambda out, said, err: "AI_NETWORK" in (out / "network_rel.h").read_text()),
    "--parse-only": (["--parse-only"], lambda out, said, err: "Table: pools" in said and not out.exists()),
    "--no-clean": (["--no-clean"], lambda out, said, err: (out / "network.elf").exists() and (out / "work").exists()),
    "--no-dbg-info": (["--no-dbg-info"], lambda out, said, err: not _image(out).flags.dbg_info),
    "--ecblob-in-params": (
        ["--ecblob-in-params"],
        lambda out, said, err: "note: --ecblob-in-params: there are no" in said,
    ),
    "--cross-compile": (["--cross-compile", "my-"], lambda out, said, err: "no my-gcc found" in err),
    "--json": (["--json"], lambda out, said, err: json.loads((out / "network_reloc_results.json").read_text())),
    "--log": (
        ["--log", "log.txt"],
        lambda out, said, err: {*said.splitlines()} < {*Path("log.txt").read_text().splitlines()},
    ),
    "--verbosity": (["--verbosity", "0"], lambda out, said, err: said == ""),
    "-v": (["-v", "2"], lambda out, said, err: "compiling with arm-none-eabi-gcc" in said),
    "--debug": (["--debug"], lambda out, said, err: "compiling with" in said and (out / "network.elf").exists()),
    "--no-color": (["--no-color"], lambda out, said, err: "\033" not in said and "creating" in said),
    "--custom": (["--custom"], lambda out, said, err: "custom.json: cannot read" in err),
    "--llvm": (["--llvm"], lambda out, said, err: "--llvm: " in err),
    "--st-clang": (["--st-clang"], lambda out, said, err: "--st-clang: " in err),
    "--compatible-mode": (["--compatible-mode"], lambda out, said, err: "--compatible-mode: no effect" in said),
    "--dev-mode": (["--dev-mode", "x"], lambda out, said, err: "--dev-mode: no effect" in said),
    "--layout": (["--layout", "aligned"], lambda out, said, err: _image(out).ro_size % 64 == 0),
    "--objects": (["--objects", "store"], lambda out, said, err: list(Path("store").glob("*.o"))),
    "--force": (["--force"], lambda out, said, err: _image(out).context.c_name == "network"),
}


@pytest.fixture(scope="module")
def stored_objects(packs, tmp_path_factory):
    """What all rows compile, once."""
    folder = tmp_path_factory.mktemp("rows")
    code = fake_pack.network(folder / "net")
    assert run("-i", code, "-o", folder / "out", "--objects", folder / "objects", "--pack-dir", packs(), "-v", 0) == 0
    return folder / "objects"


@pytest.mark.parametrize("option", ROWS)
def test_each_row_of_the_options_table(packs, stored_objects, tmp_path, capsys, monkeypatch, option):
    monkeypatch.chdir(tmp_path)
    fake_pack.network(tmp_path / "st_ai_output")
    words, seen = ROWS[option]
    given = [*words, *(["--pack-dir", packs()] if option != "--pack-dir" else [])]
    given += ["--objects", stored_objects] if option != "--objects" else []
    if option == "--force":
        Path("build").mkdir()
        Path("build/network_rel.bin").write_text("theirs")
        assert run(*given[1:]) == 1 and "--force to replace it" in capsys.readouterr().err
    status = run(*given)
    said, err = capsys.readouterr()
    assert status == bool(err) and err.count("\n") == status
    place = {"--output": "there", "-o": "st_ai_output"}.get(option, "build")
    assert seen(tmp_path / place, said, err), (said, err)


def test_the_page_lists_each_option():
    page = (REPO / "docs/reference/relocatable-build.md").read_text("utf-8")
    table = page[page.index("| option | meaning |") :].split("\n\n")[0]
    cells = " ".join(line.split(" | ")[0] for line in table.splitlines()[2:])
    assert re.findall(r"`(-[-a-z]+)`", cells) == list(ROWS)


def test_options_of_newer_drivers(packs, tmp_path, capsys, monkeypatch):
    """Each is honored, without effect for a reason, or refused by name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STEDGEAI_CORE_DIR", raising=False)
    fake_pack.network(tmp_path / "st_ai_output")
    pack = packs()
    library = shutil.copy(next(pack.rglob("*_PIC.a")), tmp_path / "mine.a")
    places = {"stedgeai_install_path": str(pack), "runtime_network_lib": str(library), "target_triplet": "thumb"}
    Path("custom.json").write_text(json.dumps({**places, "extra_system_path": str(tmp_path)}), "utf-8")
    assert run("--custom", "--compatible-mode", "--dev-mode", "-v", 2) == 0
    out = capsys.readouterr().out
    assert "   note: --compatible-mode: no effect: gcc has short enums for this core anyway\n" in out
    libraries = toolchain.version_and_libcs(Path(shutil.which("arm-none-eabi-gcc")))[1]
    assert ("   note: linked without newlib, this compiler has " in out) is ("newlib" not in libraries)
    assert "   note: --dev-mode: no effect: it is for the vendor's own developers\n" in out
    assert "   note: custom.json: target_triplet: no effect: it is for clang\n" in out
    assert f" {library} " in out and "NetworkRuntime1200_CM55_GCC_PIC.a" not in out

    def refused(*words: object) -> str:
        assert run("--pack-dir", pack, *words) == 1
        err = capsys.readouterr().err
        assert err.count("\n") == 1
        return err

    assert "--llvm: " in (said := refused("--llvm")) and "has no library for it (NetworkRuntime*CLANG*_PIC.a)" in said
    assert "--st-clang: " in refused("--st-clang")
    for text, said in (
        ('{"runtime_network_libs": "x"}', "unknown key 'runtime_network_libs' (did you mean 'runtime_network_lib'"),
        ('{"runtime_network_lib": "nowhere.a"}', "own.json: runtime_network_lib: no file nowhere.a"),
        ('{"llvm_sysroot": 5}', "must be an object of texts"),
        ("{", "own.json: not JSON: "),
    ):
        Path("own.json").write_text(text, "utf-8")
        assert said in refused("--custom", "own.json")
    assert "none.json: cannot read" in refused("--custom", "none.json")


def test_refusals_of_the_command(digits, tmp_path, capsys, monkeypatch):
    def refused(*words: object) -> str:
        assert run("-i", digits, "-o", tmp_path / "o", *words) == 1
        err = capsys.readouterr().err
        assert err.count("\n") == 1
        return err

    assert "'1x' is not a C identifier" in refused("-n", "1x")
    assert "no nowhere-gcc found" in refused("--cross-compile", "nowhere-")
    monkeypatch.setenv("CROSS_COMPILE", "elsewhere-")
    assert "no elsewhere-gcc found" in refused("--log")
    assert "error: " in (tmp_path / "o" / "network_reloc.log").read_text("utf-8")
    assert not (tmp_path / "o" / "network_rel.bin").exists()


# ---- an installation


@pytest.fixture(scope="module")
def packs(root: Path):
    made: dict[tuple[int, ...], Path] = {}

    def get(version: tuple[int, int, int, int] = (1, 1, 3, 262)) -> Path:
        if version not in made:
            made[version] = fake_pack.make(root / ".".join(map(str, version)), version)
        return made[version]

    return get


@pytest.fixture(scope="module")
def once_stored(packs, root):
    """A build that filled a store of objects."""
    folder = root / "stored"
    request = BuildRequest(fake_pack.network(folder / "net"), folder / "out", "network", pack=packs(), keep=True)
    return builder.build(request), request


@pytest.fixture
def stored(once_stored, tmp_path):
    """A store of objects that was filled once, and how to build with it again."""
    first, request = once_stored
    store = tmp_path / "objects"
    shutil.copytree(request.output / "objects", store)

    def again() -> builder.Built:
        return builder.build(replace(request, output=tmp_path / "out", objects=store))

    return first, store, again


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("what", ["*_reloc-*.o", "ll_aton-*.o", "network-*.elf", "network-*.map", "network-*.parts"])
def test_a_flipped_byte_in_the_store_is_made_again(stored, what):
    first, store, again = stored
    (path,) = list(store.glob(what))[:1]
    flip(path)
    if not what.endswith((".elf", ".map", ".parts")):
        for linked in store.glob("network-*.elf"):
            linked.unlink()
    second = again()
    assert second.compiler.notes == [f"{path.name} in the store of objects is damaged: it is made again"]
    assert second.container.image == first.container.image and second.files == first.files
    assert second.compiler.ran and again().compiler.ran == [] and again().compiler.notes == []


def test_a_store_that_was_cut_short_or_holds_a_link(stored, tmp_path):
    first, store, again = stored
    cut, linked = sorted(store.glob("*.o"))[:2]
    cut.write_bytes(b"")
    elsewhere = tmp_path / "elsewhere.o"
    elsewhere.write_bytes(linked.read_bytes())
    linked.unlink()
    linked.symlink_to(elsewhere)
    before = elsewhere.read_bytes()
    flip(next(store.glob("network-*.elf")))
    second = again()
    assert second.container.image == first.container.image
    assert elsewhere.read_bytes() == before and not linked.is_symlink() and linked.read_bytes() == before


@pytest.mark.parametrize("version", fake_pack.VERSIONS, ids=lambda v: ".".join(map(str, v)))
def test_versions(packs, make, tmp_path, version):
    header_words, context_words, _ = fake_pack.VERSIONS[version]
    code = fake_pack.network(tmp_path / "net", version)
    built, image = make(code, pack=packs(version))
    assert image.header_words == header_words == built.prepared.runtime.header_words
    assert (image.context.struct_sizes is None) == (context_words == 16)
    assert (*image.context.version, image.context.extra) == version
    assert image.context.description == f"fake-{'.'.join(map(str, version))} (RELOC.GCC)"
    assert len(built.prepared.runtime.callbacks) == (23 if version == (1, 1, 3, 8) else 21)
    assert built.prepared.request.layout == "vendor"
    assert [(p.name, p.notation, p.size) for p in image.pools] == [
        ("xSPI2", "RELOC.PARAM.0.RCACHED", 200),
        ("AXISRAM5", "RESET.ACTIV.WRITE", 64),
        ("AXISRAM2", "RESET.ACTIV.WRITE", 1 << 20),
    ]
    _, ours = make(code, pack=packs(version), layout="aligned", output=tmp_path / "aligned")
    assert [(p.name, p.size) for p in ours.pools] == [("xSPI2", 200), ("AXISRAM5", 96)]
    assert ours.ro_size % 64 == 0 == image.ro_size % 8 and ours.params == image.params


def test_names_of_folders_are_in_the_vendor_layout_only(packs, make, tmp_path):
    code, pack = fake_pack.network(tmp_path / "net"), packs()
    _, theirs = make(code, pack=pack)
    assert str(pack.resolve() / "Middlewares/ST/AI/Npu/ll_aton/ll_aton.c").encode() in theirs.data
    _, ours = make(code, pack=pack, layout="aligned")
    assert str(pack).encode() not in ours.data and b"ll_aton/Middlewares/ST/AI/Npu/ll_aton/ll_aton.c" in ours.data


def test_linker_script_of_the_installation(make, tmp_path):
    own = script("vendor").replace("*(.rodata .rodata.*)", "*(.rodata .rodata.*)\n    LONG(0x600dc0de)")
    pack = fake_pack.make(tmp_path / "pack", linker_script=own)
    code = fake_pack.network(tmp_path / "net")
    # They also name libraries that they discard, whatever the C library of the compiler.
    own = own.replace("SECTIONS\n{", "SECTIONS\n{\n  /DISCARD/ : { libc.a ( * ) libm.a ( * ) libgcc.a ( * ) }\n", 1)
    assert "libm.a" in own
    next(pack.rglob("*.lkr")).write_text(own)
    marker = struct.pack("<I", 0x600DC0DE)
    assert marker in make(code, pack=pack)[1].data
    assert marker not in make(code, pack=pack, layout="aligned")[1].data


@pytest.mark.parametrize("layout", ["vendor", "aligned"])
@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("blobs", [fake_pack.BLOBS_OLD, fake_pack.BLOBS_NEW], ids=["old", "new"])
def test_blobs_in_params(packs, make, tmp_path, blobs, mixed, layout):
    raw = bytes(range(50, 250))
    code = fake_pack.network(tmp_path / "net", blobs=blobs, mixed=mixed, raw=raw)
    _, apart = make(code, pack=packs(), layout=layout)
    blob = [struct.pack("<QQ", 0xCA057A7A00000000 | n, 0x1111111111111111 * n) for n in (1, 2)]
    assert all(each in apart.data[: apart.ro_size] for each in blob)
    built, image = make(code, pack=packs(), blobs_in_params=True, layout=layout)
    assert not any(each in image.data[: image.header["params_offset"]] for each in blob)
    front = len(built.linked.blobs)
    # All of the blobs are there, the weights follow, and whoever names them knows.
    words = [image.ro_size + (place & OFFSET) for place in image.relocations]
    values = [int.from_bytes(image.data[at : at + 4], "little") for at in words]
    places = {0x80000000 + image.params.index(each) for each in blob}
    assert places <= set(values) and max(places) & OFFSET < front
    assert image.params[front : front + 200] == raw
    assert 0x80000000 + front in image.got
    moved = next(pool for pool in image.pools if pool.notation == "RELOC.PARAM.0.RCACHED")
    assert moved.foff == 0
    if mixed:
        pool = next(pool for pool in image.pools if pool.name == "xSPI1")
        assert image.params[pool.foff : pool.foff + pool.size] == bytes(reversed(range(128)))
    assert image.context.params_bin_crc32 == zlib.crc32(image.params[front:])


def test_order_of_the_link(packs, make, tmp_path):
    """The addresses in an image follow it."""
    built, _ = make(fake_pack.network(tmp_path / "net"), pack=packs(), objects=tmp_path / "objects")
    words = [Path(word).name for word in built.compiler.ran[-1].split() if word.endswith((".o", ".a"))]
    assert [re.sub(r"-[0-9a-f]{16}", "", word) for word in words] == [
        "network_reloc.o",
        "ll_aton.o",
        "ll_aton_util.o",
        "ll_sw_integer.o",
        "ll_sw_float.o",
        "ll_aton_lib_sw_operators.o",
        "ecloader.o",
        "NetworkRuntime1200_CM55_GCC_PIC.a",
        "network_reloc_mempools.o",
        "ll_aton_reloc_callbacks.o",
    ]


@pytest.mark.parametrize("layout", ["vendor", "aligned"])
def test_a_network_that_lists_no_inner_buffers(packs, make, tmp_path, layout):
    """The comments of the pools say what is in use: exactly of relative ones, whose size a loader is told."""
    code = fake_pack.network(tmp_path / "net", mixed=True)
    good = code.read_text("utf-8")
    _, full = make(code, pack=packs(), layout=layout)
    text = good.replace(" * --all-buffers-info = true\n", "")
    code.write_text(text, "utf-8")
    built, image = make(code, pack=packs(), layout=layout)
    (warning,) = built.prepared.warnings
    assert warning.startswith(f"{code}: compiled without --all-buffers-info: ")
    same = [pool for pool in full.pools if pool.name in ("xSPI1", "xSPI2", "AXISRAM5")]
    assert [pool for pool in image.pools if pool.name != "AXISRAM2"] == same, "the comments suffice"
    # More than the tables say is in use.
    row = '      .name = "work",\n      .addr_base = {(unsigned char *)(uintptr_t)(_mem_pool_xSPI1_Default) /* x */},\n'
    assert row in text
    code.write_text(
        text.replace(
            "      .offset_start = 64,\n      .offset_end = 128,", "      .offset_start = 64,\n      .offset_end = 96,"
        ),
        "utf-8",
    )
    _, image = make(code, pack=packs(), layout=layout)
    assert (image.context.ext_ram_sz == 128 and image.pools == full.pools) or layout == "aligned"
    assert next(pool.size for pool in image.pools if pool.name == "xSPI1") == 128
    # Rounded: a loader would be told too little.
    rounded = text.replace("_mem_pool_xSPI1_Default[]; /* 128 B */", "_mem_pool_xSPI1_Default[]; /* 0.12 KB */")
    code.write_text(rounded.replace("global pool 3 is 128 B", "global pool 3 is 0.12 KB"), "utf-8")
    with pytest.raises(NeuralArtError, match="which memory its activations use is unknown of pool xSPI1"):
        make(code, pack=packs(), layout=layout)


def test_the_folder_of_the_network_takes_the_image(packs, tmp_path, capsys):
    code = fake_pack.network(tmp_path / "net")
    before = {path.name: path.read_bytes() for path in code.parent.iterdir()}
    words = ("-i", code.parent, "-o", code.parent, "--pack-dir", packs(), "-v", 0, "--gen-c-file")
    for _ in range(2):
        assert run(*words) == 0
    after = {path.name: path.read_bytes() for path in code.parent.iterdir() if path.is_file()}
    made = {"network_rel.bin", "network_rel.c", "network_rel.h", ".objects-toolchain.json"}
    assert after.keys() == before.keys() | made and before.items() <= after.items()


def test_results_have_keys_and_types_of_the_vendors_file(packs, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fake_pack.network(tmp_path / "st_ai_output", mixed=True)
    assert run("--pack-dir", packs(), "-v", 0, "--json", "r.json", "--split") == 0
    data = json.loads(Path("r.json").read_text("utf-8"))
    assert data.keys() - {"schema", "network", "relocations", "gen_files"} == {
        *("version", "created-date", "versions", "compiler", "reloc_binary_image")
    }
    assert data["compiler"]["version"] == {"major": 1, "minor": 1, "patch": 3, "build": 262}
    said = data["reloc_binary_image"]["rt_context"]["rt_version_desc"]
    assert f"{data['compiler']['description']} (RELOC.GCC)" == said
    image = data["reloc_binary_image"]
    size, params = (Path(f"build/network_rel{end}.bin").stat().st_size for end in ("", "_params"))
    assert image["gen_files"] == [
        {"size": size, "path": "build/network_rel.bin"},
        {"size": params, "path": "build/network_rel_params.bin"},
    ]
    assert (image["img_size"], image["params_size"], image["params_offset"]) == (size, params, 0)
    assert image["flags"] == {
        **{"vers_major": 8, "vers_minor": 0, "secure": True, "dbg_info": True, "async_mode": True, "float-abi": 2},
        **{"fpu": True, "cpuid": "D22", "toolchain": "ARM_GCC", "description": image["flags"]["description"]},
    }
    assert image["sections"].keys() == {"header", "data", "bss", "got", "rel"} and image["sections"]["header"] == 104
    assert image["mempool_c_descriptors"][0] == {
        **{"name": "xSPI1", "addr": image["mempool_c_descriptors"][0]["addr"], "flags_raw": "0x01030601"},
        **{"flags_desc": "RELOC.MIXED.1.WCACHED", "foff": 0, "dst": "0x00000000", "size": 128},
    }
    context = image["rt_context"]
    assert context.keys() == {
        *("c_name", "acts_sz", "params_sz", "ext_ram_sz", "rt_version_desc", "rt_version", "rt_version_extra"),
        *("params_bin_sz", "params_bin_crc32", "rt_c_struct_sizes"),
    }
    assert (context["rt_version"], context["rt_version_extra"]) == (0x01010300, 262)
    assert re.fullmatch("0x[0-9a-f]{8}", context["params_bin_crc32"])
    assert context["rt_c_struct_sizes"] == {"ll_buffer_info": 56, "epochblock_item": 48}
    assert (image["img_params_size"], image["acts_size"]) == (context["params_bin_sz"], context["acts_sz"])
    assert image["notes"] == ["split: the params are in a file of their own, whose address the application must give"]


def test_networks_of_one_pack_share_its_objects(packs, make, tmp_path):
    """Of a second network the compiler sees its code, its pools, and the one file that includes its configuration."""
    store = tmp_path / "objects"
    first, _ = make(fake_pack.network(tmp_path / "one"), pack=packs(), objects=store, output=tmp_path / "o1")
    assert len(first.compiler.ran) == 10
    other = fake_pack.network(tmp_path / "two", raw=bytes(range(100)), body="int another;\n")
    second, _ = make(other, pack=packs(), objects=store, output=tmp_path / "o2")
    compiled = {Path(word).name for line in second.compiler.ran for word in line.split() if word.endswith(".c")}
    assert compiled == {"network_reloc.c", "network_reloc_mempools.c", "ll_aton_reloc_callbacks.c"}


def test_new_weights_start_no_process_at_all(packs, tmp_path, monkeypatch, capsys):
    """Not even to ask the compiler what it is; nor is the linked model taken apart again."""
    raw = bytes(range(200))
    words = ("--pack-dir", packs(), "-v", 0, "-o", tmp_path / "out")
    code = fake_pack.network(tmp_path / "net", raw=raw)
    assert run("-i", code, *words) == 0
    before = (tmp_path / "out/network_rel.bin").read_bytes()
    code.with_name("network_atonbuf.xSPI2.raw").write_bytes(bytes(reversed(raw)))
    started: list[object] = []
    monkeypatch.setattr(subprocess, "Popen", lambda *words, **_: started.append(words))
    monkeypatch.setattr(builder, "read_linked", lambda *words, **_: started.append(words))
    assert run("-i", code, *words) == 0
    after = (tmp_path / "out/network_rel.bin").read_bytes()
    assert started == [] and after != before and len(after) == len(before)


@pytest.mark.skipif(os.name == "nt", reason="the compiler is a shell script")
def test_the_linker_script_finds_the_c_library_of_the_compiler(make, tmp_path):
    """A compiler with a C library of its own: what the pack's archive lacks comes from there, as the script says."""
    real = shutil.which("arm-none-eabi-gcc")
    folder = tmp_path / "bin"
    folder.mkdir()
    flags = ["-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard", "-fpic", "-c", "-xc", "-", "-o", folder / "t.o"]
    subprocess.run([real, *flags], input=b"float tanhf(float x) { return x; }\n", check=True)
    for name in ("libc.a", "libm.a"):
        subprocess.run(["arm-none-eabi-ar", "rcsD", folder / name, folder / "t.o"], check=True)
    (folder / "arm-none-eabi-gcc").write_text(
        f'#!/bin/sh\nexec {shlex.quote(real)} {shlex.quote(f"-B{folder}/")} "$@"\n'
    )
    (folder / "arm-none-eabi-gcc").chmod(0o755)
    own = script("vendor").replace("SECTIONS\n{", "SECTIONS\n{\n  /DISCARD/ : { libc.a ( * ) libm.a ( * ) }\n", 1)
    pack = fake_pack.make(tmp_path / "pack", linker_script=own)
    body = "float tanhf(float);\nint lacking(void) { return (int)tanhf((float)sum); }\n"
    code = fake_pack.network(tmp_path / "net", body=body)
    text = code.read_text("utf-8").replace("{ return true; }", "{ int lacking(void); return lacking() == 0; }", 1)
    code.write_text(text, "utf-8")
    with pytest.raises(NeuralArtError, match="nothing provides tanhf"):
        make(code, pack=pack)
    places = {"objects": tmp_path / "objects", "output": tmp_path / "with"}
    make(code, pack=pack, prefix=f"{folder}/arm-none-eabi-", **places)
    assert not list((tmp_path / "with/work").glob("lib*.a"))


def test_registers_elsewhere_in_the_installation(make, tmp_path):
    pack = fake_pack.make(tmp_path / "pack")
    header = next(pack.rglob("ATON.h"))
    devices = pack / "Middlewares/ST/AI/Npu/Devices/STM32N6XX"
    devices.mkdir(parents=True)
    header.rename(devices / "ATON.h")
    code = fake_pack.network(tmp_path / "net")
    code.write_text(code.read_text("utf-8").replace('#include "ll_aton.h"', '#include "ATON.h"\n#include "ll_aton.h"'))
    assert make(code, pack=pack)[1].data


def test_an_option_without_effect_is_noted(packs, make, tmp_path):
    built, image = make(fake_pack.network(tmp_path / "net"), pack=packs(), blobs_in_params=True)
    assert "--ecblob-in-params: there are no epoch-controller blobs in this network" in built.prepared.notes
    assert image.params[:200] == bytes(range(200))


def test_a_cut_initializer_of_a_mixed_pool(packs, make, tmp_path):
    code = fake_pack.network(tmp_path / "net", mixed=True)
    code.with_name("network_atonbuf.xSPI1.raw").write_bytes(b"short")
    with pytest.raises(NeuralArtError, match=r"5 bytes, network\.c keeps 64 bytes of constants in pool xSPI1"):
        make(code, pack=packs())


def test_a_name_that_2_1_does_not_know(packs, make, tmp_path):
    code = fake_pack.network(tmp_path / "net", (1, 1, 0, 31))
    code.write_text(code.read_text("utf-8").replace("_Default", "_mine"))
    with pytest.raises(NeuralArtError, match="networks called Default only, this is 'mine'"):
        make(code, pack=packs((1, 1, 0, 31)))


def test_installations_that_are_refused(packs, make, tmp_path):
    code = fake_pack.network(tmp_path / "net", (1, 1, 3, 8))

    def refused(pack: Path, network: Path = code) -> str:
        with pytest.raises(NeuralArtError) as caught:
            make(network, pack=pack)
        return str(caught.value)

    mismatch = refused(packs((1, 1, 3, 262)))
    assert "made for ll_aton 1.1.3.8 (ST Edge AI Core 3.0.0)" in mismatch and "has 1.1.3.262" in mismatch
    assert "no such folder" in refused(tmp_path / "nowhere")
    assert "has no ll_aton_version.h" in refused(tmp_path)
    pack = fake_pack.make(tmp_path / "pack", (1, 1, 3, 8))
    archive = next(pack.rglob("*_PIC.a"))
    archive.rename(archive.with_name("NetworkRuntime1100_CM55_GCC.a"))
    assert "cannot make relocatable models" in refused(pack)
    archive.with_name("NetworkRuntime1100_CM55_GCC.a").rename(archive)
    next(pack.rglob("ecloader.c")).unlink()
    assert "has no ecloader.c" in refused(pack)
    header = next(pack.rglob("ll_aton_version.h"))
    header.write_text(header.read_text().replace("DEV 8", "DEV 9"))
    newer = fake_pack.network(tmp_path / "newer", (1, 1, 3, 9))
    assert "ll_aton 1.1.3.9 is unknown" in refused(pack, newer)


def test_what_the_archive_lacks(packs, make, tmp_path):
    body = "float tanhf(float);\nint lacking(void) { return (int)tanhf((float)sum); }\n"
    code = fake_pack.network(tmp_path / "net", body=body)
    text = code.read_text("utf-8").replace("{ return true; }", "{ int lacking(void); return lacking() == 0; }", 1)
    code.write_text(text, encoding="utf-8")
    with pytest.raises(NeuralArtError, match="nothing provides tanhf: neither the runtime"):
        make(code, pack=packs())


def test_the_environment_names_the_installation(packs, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fake_pack.network(tmp_path / "st_ai_output")
    assert run() == 1
    assert "--pack-dir or STEDGEAI_CORE_DIR" in capsys.readouterr().err
    monkeypatch.setenv("STEDGEAI_CORE_DIR", str(packs()))
    assert run("-v", 0) == 0
    assert (tmp_path / "build" / "network_rel.bin").is_file()
