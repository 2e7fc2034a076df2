"""Images made by clang: the words of its command lines, what of its relocations is allowed, what comes out."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from neuralart.cli import main
from neuralart.errors import NeuralArtError
from neuralart.relocatable.build import builder, clang
from neuralart.relocatable.build.assemble import read_linked, script
from neuralart.relocatable.build.request import BuildRequest, WantedClang
from neuralart.relocatable.format.container import parse
from neuralart.relocatable.verify import report
from neuralart.relocatable.verify.verifier import verify
from support.boards.fake_tools import FakeMachine
from support.boards.firmware import have_clang
from support.relocatable import fake_pack
from support.relocatable.rel_networks import compile_digits

pytestmark = [pytest.mark.arm, pytest.mark.skipif(os.name == "nt", reason="the fake compilers are shell scripts")]
needs_clang = pytest.mark.skipif(not have_clang, reason="clang and ld.lld are not on PATH")

# It writes empty objects. Its linker misses a function.
FAKE = """\
case "$*" in
--version) echo "made-up clang version 99.1"; echo "Target: none"; exit 0;;
-print-prog-name=*) echo "{linker}"; exit 0;;
*-print-libgcc-file-name) echo "/nowhere/libclang_rt.builtins-arm.a"; exit 0;;
*-Map*) echo "ld.lld: error: undefined hidden symbol: expf" >&2; echo ">>> referenced by x" >&2; exit 1;;
esac
while [ $# -gt 3 ]; do shift; done
: > "$1"; : > "$3"
"""


@pytest.fixture(scope="module")
def pack(tmp_path_factory) -> Path:
    """An installation with a library for clang, made by clang if there is one."""
    made = fake_pack.make(tmp_path_factory.mktemp("clang") / "pack")
    fake_pack.add_clang(made, real=have_clang)
    return made


@pytest.fixture
def llvm(tmp_path: Path) -> FakeMachine:
    made = FakeMachine(tmp_path / "machine")
    linker = made.says("ld.lld", "made-up LLD 99.1", "llvm/bin")
    for name in ("clang", "starm-clang"):
        made.program(name, FAKE.format(linker=linker), "llvm/bin")
    return made


def run(*words: object) -> int:
    return main(["relocatable", "build", *map(str, words)])


def built_with(llvm: FakeMachine, pack: Path, tmp_path: Path, *words: str, **custom: str) -> tuple[str, list[str]]:
    """The words of the link and of each compile."""
    (tmp_path / "custom.json").write_text(json.dumps({"llvm_install_path": str(llvm.root / "llvm"), **custom}))
    code = fake_pack.network(tmp_path / "net")
    given = ("-i", code, "-o", tmp_path / "out", "--custom", tmp_path / "custom.json", "--pack-dir", pack)
    assert run(*given, *words) == 1
    calls = [line for line in llvm.log.read_text().splitlines() if " -o " in line]
    return next(line for line in calls if "-Map" in line), [line for line in calls if "-Map" not in line]


def test_words_of_the_command_line(llvm, pack, tmp_path, capsys):
    link, compiles = built_with(llvm, pack, tmp_path, "--llvm")
    assert len(compiles) == 9 and all(line.startswith("clang --target=arm-none-eabi ") for line in (link, *compiles))
    for line in compiles:
        words = line.split()
        assert {"-fropi", "-frwpi", "-mcpu=cortex-m55", "-mfloat-abi=hard", "-ffast-math"} <= set(words)
        assert not {"-fpic", "-mpic-register=r9", "-mcmse", "-fshort-enums", "-mno-thumb-interwork"} & set(words)
        assert "--sysroot" not in line
    assert {"-nostdlib", "-fuse-ld=lld", "-Wl,--emit-relocs", "-Wl,--gc-sections"} <= set(link.split())
    assert "NetworkRuntime1200_CM55_CLANG_PIC.a " in link and "GCC" not in Path(link.split("_PIC.a")[0]).name
    err = capsys.readouterr().err
    assert "nothing provides expf: neither the runtime" in err and err.count("\n") == 1
    assert not (tmp_path / "out/network_rel.bin").exists()


def test_places_of_a_file_and_compatible_mode(llvm, pack, tmp_path, capsys):
    library = tmp_path / "mine.a"
    library.write_bytes(b"!<arch>\n")
    sysroot = tmp_path / "lib of mine"
    sysroot.mkdir()
    custom = {"target_triplet": "thumbv8.1m.main-none-eabihf", "llvm_sysroot": str(sysroot)}
    words = ("--st-clang", "--compatible-mode", "-v", "2")
    link, compiles = built_with(llvm, pack, tmp_path, *words, **custom, runtime_network_lib=str(library))
    for line in (link, *compiles):
        assert line.startswith(f"starm-clang --target=thumbv8.1m.main-none-eabihf --sysroot={sysroot} -mthumb ")
    assert all(" -fshort-enums " in line for line in compiles) and f" {library} " in link
    out = capsys.readouterr().out
    assert "compiling with starm-clang made-up clang version 99.1, made-up LLD 99.1\n" in out
    (llvm.root / "llvm/bin/starm-clang").unlink()
    assert built_with(llvm, pack, tmp_path, "--st-clang")[0].startswith("starm-clang")
    assert "\nclang --target=arm-none-eabi " in llvm.log.read_text()


def test_programs_that_are_missing(llvm, pack, tmp_path, capsys, monkeypatch):
    def refused(*words: str) -> str:
        code = fake_pack.network(tmp_path / "net")
        assert run("-i", code, "-o", tmp_path / "out", "--pack-dir", pack, *words) == 1
        err = capsys.readouterr().err
        assert err.count("\n") == 1
        return err

    monkeypatch.setenv("PATH", str(tmp_path))
    assert "--llvm: no clang on PATH (name the folder of its installation: " in refused("--llvm")
    assert "--st-clang: no starm-clang on PATH (" in refused("--st-clang")
    (tmp_path / "c.json").write_text(json.dumps({"llvm_install_path": str(tmp_path / "empty")}))
    (tmp_path / "s.json").write_text(json.dumps({"llvm_sysroot": str(tmp_path / "empty")}))
    assert "s.json: llvm_sysroot: no folder " in refused("--llvm", "--custom", str(tmp_path / "s.json"))
    assert f"--llvm: no clang in {tmp_path}/empty (" in refused("--llvm", "--custom", str(tmp_path / "c.json"))
    said = refused("--st-clang", "--custom", str(tmp_path / "c.json"))
    assert f"--st-clang: no starm-clang or clang in {tmp_path}/empty (" in said
    monkeypatch.setenv("PATH", str(llvm.program("clang", FAKE.format(linker="ld.lld"), "alone").parent))
    assert "alone/clang has no ld.lld (install lld" in refused("--llvm")
    with pytest.raises(SystemExit):
        run("--llvm", "--st-clang")
    assert "not allowed with argument --llvm" in capsys.readouterr().err


def test_our_own_runtime_wants_functions_for_what_a_core_lacks(llvm, tmp_path, capsys, monkeypatch):
    code = compile_digits(tmp_path / "net", "xSPI1", "xSPI2", relative=("xSPI1", "xSPI2"))
    (tmp_path / "c.json").write_text(json.dumps({"llvm_install_path": str(llvm.root / "llvm")}))
    monkeypatch.setenv("CROSS_COMPILE", "nowhere-")
    assert run("-i", code, "-o", tmp_path / "out", "--llvm", "--custom", tmp_path / "c.json") == 1
    err = capsys.readouterr().err
    assert "clang: no libclang_rt.builtins-arm.a beside it, and no libgcc instead: no nowhere-gcc found" in err
    assert err.count("\n") == 1
    compiles = [line for line in llvm.log.read_text().splitlines() if " -c " in line]
    assert compiles and all(" -fshort-enums -meabi gnu " in line and " -mcmse " not in line for line in compiles)


@pytest.mark.parametrize("which", ["CLANG", "ST_CLANG", "both"])
def test_which_library(tmp_path, which):
    pack = fake_pack.make(tmp_path / "pack")
    names = ["CLANG", "ST_CLANG"] if which == "both" else [which]
    folder = pack / "Middlewares/ST/AI/Lib/LLVM/ARMCortexM55"
    folder.mkdir(parents=True)
    for name in (*names, "CLANG_CM4"):
        place = folder if name != "CLANG_CM4" else folder.with_name("ARMCortexM4")
        place.mkdir(exist_ok=True)
        (place / f"NetworkRuntime1200_{name}_PIC.a").write_bytes(b"!<arch>\n")
    code = fake_pack.network(tmp_path / "net")

    def taken(st: bool) -> str:
        request = BuildRequest(code, tmp_path / "out", "network", pack=pack, clang=WantedClang(st))
        return builder.prepare(request).runtime.archives[0].name

    assert taken(True) == f"NetworkRuntime1200_{'CLANG' if which == 'CLANG' else 'ST_CLANG'}_PIC.a"
    if which == "ST_CLANG":
        with pytest.raises(
            NeuralArtError, match=r"^--llvm: .* has no library for it \(NetworkRuntime\*CLANG\*_PIC.a\)"
        ):
            taken(False)
    else:
        assert taken(False) == "NetworkRuntime1200_CLANG_PIC.a"


# ---- what code of clang may hold

HALVES = "1: movw r0, #0\n .reloc 1b, R_ARM_THM_MOVW_{0}_NC, {1}\n2: movt r0, #0\n .reloc 2b, R_ARM_THM_MOVT_{0}, {1}\n"
CASES = {
    "data": (HALVES.format("BREL", "counter"), ""),
    "constants": (HALVES.format("PREL", "table"), ""),
    "table": (' .section .rodata\n .balign 4\n .word counter\n .section .text.code,"ax"\n', ""),
    "pool": (HALVES.format("BREL", "pool"), "code+0x0 holds the distance to pool, which lies in another part"),
    "code behind r9": (HALVES.format("BREL", "code"), "code+0x0 holds the distance to code, which lies in another"),
    "data from here": (HALVES.format("PREL", "counter"), "code+0x0 holds the distance to counter, which lies in"),
    "absolute": (HALVES.format("ABS", "counter"), "R_ARM_THM_MOVW_ABS_NC of counter at code+0x0 (0x200000"),
    "got": (' .section .got,"aw"\n .word 0\n .section .text.code,"ax"\n', "4 bytes of GOT: code of clang has none"),
    "odd": (" .byte 0\n1: .byte 0, 0, 0, 0\n .reloc 1b, R_ARM_ABS32, counter\n", "holds an address at an odd place"),
}
ASSEMBLY = """\
 .syntax unified
 .thumb
 .section .network_entries,"a"
 .global _network_entries
 .type _network_entries, %object
 .size _network_entries, 4
_network_entries: .word code
 .section .network_rt_ctx,"aw"
 .global _network_rt_ctx
_network_rt_ctx: .word 0
 .section .params_desc,"aw"
 .global _params_desc
_params_desc: .word table
 .section .params_0,"a"
 .global pool
pool: .space 32
 .data
 .global counter
counter: .word 0
 .section .rodata
 .global table
table: .word 7
 .section .text.code,"ax"
 .global code
 .type code, %function
code:
"""


@pytest.mark.parametrize("case", CASES)
def test_relocations(tmp_path, case):
    """GNU ld resolves those of clang wrongly, and keeps them: what is looked at is their kind and their symbol."""
    text, said = CASES[case]
    (tmp_path / "a.s").write_text(f"{ASSEMBLY}{text} bx lr\n .size code, . - code\n")
    (tmp_path / "s.ld").write_text(script("vendor", clang=True).replace("*(.got.plt)", ""))
    place = {"cwd": tmp_path, "check": True, "capture_output": True}
    subprocess.run(["arm-none-eabi-as", "-mcpu=cortex-m33", "a.s", "-o", "a.o"], **place)
    subprocess.run(["arm-none-eabi-ld", "--emit-relocs", "-T", "s.ld", "a.o", "-o", "a.elf"], **place)
    data = (tmp_path / "a.elf").read_bytes()
    if said:
        with pytest.raises(NeuralArtError) as caught:
            read_linked(data, "a.elf", ("pool",), clang=True)
        assert said in str(caught.value) and "\n" not in str(caught.value)
        return
    linked = read_linked(data, "a.elf", ("pool",), clang=True)
    places = [at >> 28 for at in linked.relocations]
    assert places == ([2, 4] if case == "table" else [4])
    with pytest.raises(NeuralArtError, match=r"not known to be position independent|in read-only memory"):
        read_linked(data, "a.elf", ("pool",))


def test_code_reaches_pools_through_data():
    text = (
        "extern unsigned char _mem_pool_a_x[]; /* 5 KB */\n"
        "static const struct t init = {.base = {(char *)_mem_pool_a_x}, .n = {1}};\n"
        "static uintptr_t base = (uintptr_t)_mem_pool_a_x + 4;\n"
        "static void step(const void *p) {\n"
        "  static const struct t more[] = {\n    {_mem_pool_a_x},\n  };\n"
        "  LL_ATON_Cache_MCU_Clean_Range((uintptr_t)_mem_pool_a_x + 16, 5);\n"
        '  ec_reloc("_mem_pool_a_x", _mem_pool_a_xyz);\n'
        "}\n"
    )
    made = clang.reachable(text, ["_mem_pool_a_x", "_mem_pool_of_nobody"])
    through = "((unsigned char *)at__mem_pool_a_x)"
    assert made == text.replace(
        "[]; /*", "[];\nstatic unsigned char *volatile at__mem_pool_a_x = (unsigned char *)_mem_pool_a_x; /*"
    ).replace("Range((uintptr_t)_mem_pool_a_x ", f"Range((uintptr_t){through} ")


# ---- with a real one


@needs_clang
@pytest.mark.parametrize("option", ["--llvm", "--st-clang"])
def test_an_image_for_an_installation(pack, tmp_path, capsys, monkeypatch, option):
    """Pools in code, blobs, calls into the library; which clang it is does not matter to the bytes but for its name."""
    folder = tmp_path / "llvm/bin"
    folder.mkdir(parents=True)
    for name in ("clang", "ld.lld"):
        (folder / name).symlink_to(Path(str(shutil.which(name))).resolve())
    (tmp_path / "c.json").write_text(json.dumps({"llvm_install_path": str(folder.parent)}))
    code = fake_pack.network(tmp_path / "net", mixed=True, blobs=fake_pack.BLOBS_NEW)
    given = ("-i", code, "-o", tmp_path / "out", "--pack-dir", pack, "--custom", tmp_path / "c.json")
    assert run(*given, option, "--json", tmp_path / "r.json") == 0
    assert f"   note: {option}: made without -mcmse, the secure flag is off\n" in capsys.readouterr().out
    image = parse((tmp_path / "out/network_rel.bin").read_bytes(), "x")
    assert [str(found) for found in verify(image) if found.check == "relocations" or found.level == "error"] == []
    number, name = (9, "CLANG") if option == "--llvm" else (10, "ST_CLANG")
    assert (image.flags.toolchain, image.flags.secure, image.got) == (number, False, ())
    assert image.context.description == f"fake-1.1.3.262 (RELOC.{name})"
    assert image.copy_only and any("mode COPY only" in note for note in report.notes(image))
    data = json.loads((tmp_path / "r.json").read_text())
    assert data["reloc_binary_image"]["flags"]["toolchain"] == {9: "ARM_CLANG", 10: "ST_ARM_CLANG"}[number]
    assert {"R_ARM_THM_MOVW_BREL_NC", "R_ARM_THM_MOVT_PREL", "R_ARM_ABS32"} <= data["relocations"].keys()
    assert data["network"]["secure"] is False
    before = (tmp_path / "out/network_rel.bin").read_bytes()
    assert run(*given, option, "-v", 2) == 0 and " -c " not in capsys.readouterr().out, "all of it was remembered"
    assert (tmp_path / "out/network_rel.bin").read_bytes() == before
