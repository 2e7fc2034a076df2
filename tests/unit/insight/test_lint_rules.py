"""Each rule of ``neuralart lint``: what it finds, and what it leaves alone."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from neuralart import boards, budgets
from neuralart.errors import NeuralArtError
from neuralart.findings import LintFinding
from neuralart.network.pools import MemoryPool, PoolFile
from neuralart.text.c_source import blanked
from neuralart.vendor.profile import parse_profiles
from neuralart.vendor.runtime_header import RuntimeHeader
from neuralart_bring.linker_script import read as linker_script
from neuralart_bring.linker_script.types import LinkerScript
from neuralart_insight.lint import engine
from neuralart_insight.lint.types import Facts, HexPiece, LintedNetwork, LintedPool, RawFile, Source, Step
from neuralart_insight.vendor.q_json import QFile, QTensor

DOC = Path(__file__).resolve().parents[3] / "docs" / "reference" / "lint.md"
DK, NUCLEO, H747, AN547 = (
    boards.load(name) for name in ("stm32n6570-dk", "nucleo-n657x0-q", "stm32h747i-disco", "mps3-an547")
)
HYPER = LintedPool("xSPI1", "hyperRAM", 0x90000000, 4096, 0, where="p.mpool:9:5")
FLASH = LintedPool("xSPI2", "octoFlash", 0x71000000, 1000, 1000, writable=False, where="p.mpool:5:5")
RAM5 = LintedPool("AXISRAM5", "npuRAM5", 0x342E0000, 2048, 0, where="p.mpool:7:5")


def parse(text: str, name: str) -> LinkerScript:
    return linker_script.parse(text.encode(), name)


def net(*pools: LintedPool, **changes) -> LintedNetwork:
    return LintedNetwork("net", "net.c", pools=pools, **changes)


def c(text: str, file: str = "main.c") -> Source:
    return Source(file, "c", text, blanked(text, texts=True))


def make(text: str) -> Source:
    return Source("Makefile", "make", text)


def facts(**changes) -> Facts:
    if "network" in changes:
        changes["networks"] = (changes.pop("network"),)
    for key in ("sources", "scripts"):
        if key in changes and not isinstance(changes[key], tuple):
            changes[key] = (changes[key],)
    return Facts(**{"board": DK, **changes})


def run(rule: str, **changes) -> list[LintFinding]:
    """Findings of one rule; what others say does not matter here."""
    engine.check_ids([rule])
    return [finding for finding in engine.lint(facts(**changes)) if finding.rule == rule]


def one(rule: str, **changes) -> LintFinding:
    (finding,) = run(rule, **changes)
    assert finding.where and finding.message and finding.hint
    return finding


# ---- memories --------------------------------------------------------------------------------------------------------


def test_psram_spill() -> None:
    spilt = one("psram-spill", board=NUCLEO, network=net(HYPER))
    assert (spilt.level, spilt.where) == ("error", "p.mpool:9:5")
    assert "has 4096 bytes in use at 0x90000000, where board nucleo-n657x0-q has no external RAM" in spilt.message
    there = one("psram-spill", network=net(HYPER))
    assert there.level == "warning" and "forbidden_pools" in there.hint
    assert run("psram-spill", network=net(replace(HYPER, used=0), FLASH)) == []
    assert run("psram-spill", board=None, network=net(HYPER)) == []
    # On another board the same address is another memory.
    assert run("psram-spill", board=H747, network=net(HYPER)) == []


def test_pool_without_memory() -> None:
    nowhere = replace(RAM5, address=0x20800000)
    assert "where board stm32n6570-dk has no memory" in one("pool-without-memory", network=net(nowhere)).message
    assert run("pool-without-memory", network=net(RAM5, HYPER, FLASH)) == []
    assert run("pool-without-memory", network=net(replace(nowhere, relative=True))) == []
    declared = PoolFile("p.mpool", "atonbuf", (MemoryPool("xSPI1", "hyperRAM", 0x90000000, 4096, where="p.mpool:3:1"),))
    found = one("pool-without-memory", board=NUCLEO, pool_files=(declared,))
    assert (found.level, found.where) == ("warning", "p.mpool:3:1")
    assert run("pool-without-memory", board=DK, pool_files=(declared,)) == []
    assert run("pool-without-memory", board=NUCLEO, pool_files=(declared.without("xSPI1"),)) == []


@pytest.mark.parametrize(
    ("pool", "strategy", "level"),
    [
        (LintedPool("AXISRAM2", "cpuRAM2", 0x34100000, 0x80000, 16), "", None),
        (LintedPool("AXISRAM2", "cpuRAM2", 0x34100000, 0x80001, 16), "", "error"),
        (LintedPool("AXISRAM2", "cpuRAM2", 0x34100000, 0x80001, 16), "external-loader", "error"),
        (LintedPool("AXISRAM2", "cpuRAM2", 0x34100000, 0x80001, 16), "boot-copy", None),
        (LintedPool("AXISRAM2", "cpuRAM2", 0x34100000, 0x80001, 0), "", "note"),
        (LintedPool("AXISRAM2", "cpuRAM2", 0x24100000, 0x80001, 16), "", "error"),
        (LintedPool("AXISRAM3", "npuRAM3", 0x34200000, 0x1000, 16), "", None),
    ],
)
def test_fsbl_range(pool: LintedPool, strategy: str, level: str | None) -> None:
    network = net(pool, strategies={"AXISRAM2": strategy} if strategy else {})
    found = run("fsbl-range", network=network)
    assert [finding.level for finding in found] == ([level] if level else [])


def test_fsbl_range_of_linker_scripts() -> None:
    def script(origin: str, length: str):
        return parse(f"MEMORY\n{{\n  RAM (rwx) : ORIGIN = {origin}, LENGTH = {length}\n}}\n", "app.ld")

    found = one("fsbl-range", scripts=script("0x34000400", "2047K"))
    assert found.where == "app.ld:3" and "reaches to 0x34200000" in found.message and "LENGTH = 1535K" in found.hint
    assert run("fsbl-range", scripts=script("0x34000400", "1023K")) == []
    assert run("fsbl-range", scripts=script("0x34180400", "255K")) == [], "the boot loader's own script"
    assert run("fsbl-range", board=H747, scripts=script("0x34000400", "2047K")) == []


def test_memories_on_one_line_are_seen_as_those_on_several() -> None:
    entries = ["ROM (xrw) : ORIGIN = 0x24000400, LENGTH = 1023K", "RAM (rw) : ORIGIN = 0x24100000, LENGTH = 2M"]
    found = []
    for blank in ("\n", "  "):
        script = parse(f"MEMORY {{{blank}{blank.join(entries)}{blank}}}", "a.ld")
        found.append([hit.message for rule in ("ns-alias", "fsbl-range") for hit in run(rule, scripts=script)])
    assert len(found[0]) == 3 and found[0] == found[1]


def test_ns_alias() -> None:
    found = one("ns-alias", network=net(replace(RAM5, address=0x242E0000)))
    assert "the non-secure alias of 0x342e0000" in found.message and "offset 0x342e0000" in found.hint
    assert run("ns-alias", network=net(RAM5, FLASH)) == []
    assert run("ns-alias", board=H747, network=net(replace(RAM5, address=0x24000000))) == []
    script = parse(
        "MEMORY { A (rw) : ORIGIN = 0x24000400, LENGTH = 1K\n B (rw) : ORIGIN = 0x34000400, LENGTH = 1K }", "a.ld"
    )
    found = one("ns-alias", scripts=script)
    assert found.where == "a.ld:1" and "ORIGIN = 0x34000400" in found.hint


def test_overlapping_networks() -> None:
    first = net(FLASH, RAM5)
    second = replace(net(replace(FLASH, address=0x710003E7, where="q.mpool:5:5")), name="other")
    found = one("overlapping-networks", networks=(first, second))
    assert (found.level, found.where) == ("error", "q.mpool:5:5") and "share 1 bytes" in found.message
    apart = replace(second, pools=(replace(FLASH, address=0x710003E8),))
    assert run("overlapping-networks", networks=(first, apart)) == []
    scratch = replace(net(replace(RAM5, address=0x242E0000)), name="other")
    shared = one("overlapping-networks", networks=(first, scratch))
    assert shared.level == "note" and "never runs" in shared.hint, "one memory through both of its aliases"


def test_a_virtual_pool_counts_once() -> None:
    both = LintedPool("A_B", "a_b", 0x34200000, 0x80000, 0, virtual=True)
    network = net(both, replace(RAM5, used=0))
    assert [pool.fname for pool in network.used] == ["A_B"]
    inner = LintedPool("A", "a", 0x34200000, 16, 0)
    assert [pool.fname for pool in net(both, inner).used] == ["A"]


def test_linker_over_pool() -> None:
    script = parse("MEMORY { RAM (xrw) : ORIGIN = 0x34000000, LENGTH = 4M }", "app.ld")
    found = one("linker-over-pool", scripts=script, network=net(RAM5, FLASH))
    assert found.where == "app.ld:1" and "contains 2048 bytes of pool AXISRAM5" in found.message
    assert "of p.mpool:7:5" in found.message
    ends = parse("MEMORY { RAM (xrw) : ORIGIN = 0x34000000, LENGTH = 0x2E0000 }", "app.ld")
    assert run("linker-over-pool", scripts=ends, network=net(RAM5)) == []


def test_cached_relative() -> None:
    pool = replace(RAM5, relative=True, cacheable=True)
    assert one("cached-relative", network=net(pool)).level == "warning"
    others = [replace(pool, **change) for change in ({"cacheable": False}, {"relative": False}, {"writable": False})]
    for other in [*others, replace(HYPER, relative=True, cacheable=True)]:
        assert run("cached-relative", network=net(other)) == []
    assert run("cached-relative", network=net(pool, runtime="neuralart")) == []


# ---- networks --------------------------------------------------------------------------------------------------------


def test_software_epochs() -> None:
    steps = (
        Step(0, "HW", ("Conv",), "net.c:10"),
        Step(1, "SW", ("Softmax",), "net.c:20"),
        Step(2, "HYBRID", ("Cast", "Softmax"), "net.c:30"),
    )
    found = one("software-epochs", network=net(steps=steps))
    assert (found.level, found.where) == ("note", "net.c:20")
    assert (
        "the CPU computes 2 of 3 steps of network net, 1 of them together with the NPU: 2 Softmax, 1 Cast"
        in found.message
    )
    assert run("software-epochs", network=net(steps=steps[:1])) == []
    assert run("software-epochs", network=net(steps=steps, runtime="neuralart")) == [], "all of them are, by design"


def test_float_layers() -> None:
    network = net(floats=(("Softmax_out", "net.c:99"),))
    found = one("float-layers", network=network)
    assert found.where == "net.c:99" and "1 buffer inside of network net holds floats: Softmax_out" in found.message
    many = net(floats=tuple((f"t{n}", "net.c:1") for n in range(9)))
    assert "t3 and 5 more" in one("float-layers", network=many).message
    assert run("float-layers", network=net()) == []
    assert run("float-layers", network=replace(network, runtime="network_runtime")) == []


@pytest.mark.parametrize("name", ["model_OE_3_3_1.onnx", "a.b_OE_3_1_0.ONNX", "x_OE_3_3_1_OE_3_3_1.onnx"])
def test_exported_model(name: str) -> None:
    assert one("exported-model", models=((name, "variants.yaml:4"),)).level == "error"
    assert one("exported-model", network=net(model=name, model_where="variants.yaml:4")).where == "variants.yaml:4"


@pytest.mark.parametrize("name", ["model.onnx", "OE_3_3_1.onnx", "model_OE_x.onnx", "model_OE_3_3_1.tflite"])
def test_models_of_their_own(name: str) -> None:
    assert run("exported-model", models=((name, "x"),)) == []


def test_bool_tensor() -> None:
    def exported(*types: str) -> QFile:
        tensors = {f"t{n}": QTensor(f"t{n}", kind, "boolean") for n, kind in enumerate(types)}
        return QFile("m_Q.json", "4.0", None, "", "", "", (), (), tensors, {})

    assert "1 tensors are truth values: t1" in one("bool-tensor", exports=(exported("S8", "BOOL"),)).message
    assert run("bool-tensor", exports=(exported("S8", "FLOAT32"),)) == []


def test_runtime_guard() -> None:
    header = RuntimeHeader((1, 1, 3, 262), "Middlewares/ll_aton_version.h:12")
    network = net(guard=(1, 1, 3, 8), guard_kind="error", guard_where="net.c:30")
    found = one("runtime-guard", network=network, runtimes=(header,))
    assert found.where == "net.c:30"
    assert "is made for runtime 1.1.3.8 (ST Edge AI Core 3.0.0)" in found.message
    assert "has 1.1.3.262 (ST Edge AI Core 4.0.0) at Middlewares/ll_aton_version.h:12" in found.message
    quiet = one("runtime-guard", network=replace(network, guard_kind="warning"), runtimes=(header,))
    assert "It only warns about that." in quiet.message
    assert run("runtime-guard", network=replace(network, guard=(1, 1, 3, 262)), runtimes=(header,)) == []
    assert run("runtime-guard", network=replace(network, guard=None), runtimes=(header,)) == []
    ours = one("runtime-guard", network=net(guard=(0, 1, 0, 0)), runtimes=(header,))
    assert "0.1.0.0 (the reference compiler)" in ours.message


def test_quiet_guard() -> None:
    network = net(guard=(1, 0, 0, 16), guard_kind="warning", guard_where="net.c:30")
    assert one("quiet-guard", network=network).level == "note"
    assert run("quiet-guard", network=network, runtimes=(RuntimeHeader((1, 0, 0, 16), "x:1"),)) == []
    assert run("quiet-guard", network=replace(network, guard_kind="error")) == []


def test_memory_desc() -> None:
    text = b'{"Profiles": {\n"old": {"memory_desc": "a.mdesc"},\n"new": {"machine_desc": "a.mdesc"}}}'
    profiles = (parse_profiles(text, "n.json"),)
    found = one("memory-desc", profiles=profiles)
    assert found.where == "n.json:2" and "profile 'old'" in found.message
    assert run("memory-desc", profiles=profiles, network=net(guard=(1, 1, 0, 31))) == []
    assert run("memory-desc", profiles=profiles, network=net(guard=(1, 1, 1, 14))) != []


# ---- file sets -------------------------------------------------------------------------------------------------------


def raw(pool: str = "AXISRAM5", data: bytes = b"12345", name: str = "") -> RawFile:
    return RawFile(pool, name or f"net_atonbuf.{pool}.raw", len(data), hashlib.sha256(data).hexdigest())


def test_undeclared_raw() -> None:
    network = net(FLASH, raws=(raw("xSPI2"), raw()), declared=("xSPI2",))
    found = one("undeclared-raw", network=network)
    assert "5 bytes of constants in pool AXISRAM5" in found.message
    assert found.hint == "initializers: [xSPI2, AXISRAM5] declares it"
    assert run("undeclared-raw", network=replace(network, declared=("xSPI2", "AXISRAM5"))) == []
    assert run("undeclared-raw", network=replace(network, declared=None)) == []
    assert run("undeclared-raw", network=replace(network, raws=(raw(data=b""),))) == []


def test_missing_raw() -> None:
    network = net(FLASH, RAM5, files=frozenset({"net_c_info.json"}))
    assert "1000 bytes of constants in pool xSPI2, and no file" in one("missing-raw", network=network).message
    for name in ("net_atonbuf.xSPI2.raw", "net_atonbuf.xSPI2.c", "net_data.xSPI2.bin"):
        assert run("missing-raw", network=replace(network, files=frozenset({name}))) == []
    assert run("missing-raw", network=replace(network, files=None)) == []
    assert run("missing-raw", network=network, hexes=(HexPiece("x.hex", 0x71000000, 1, ""),)) == []


def test_mixed_set() -> None:
    assert one("mixed-set", network=net(mixed=(("net.c", "net.raw has 5 bytes"),))).level == "error"


def test_blob_headers() -> None:
    without, header = net(files=frozenset({"net_ecblobs.h"})), frozenset({"net_ecblobs.h"})
    assert one("stale-blobs", network=without).level == "warning"
    assert run("stale-blobs", network=net(files=frozenset())) == run("stale-blobs", network=net()) == []
    using = net(blob_header="net_ecblobs.h", files=frozenset())
    assert one("missing-blobs", network=using).level == "error"
    assert run("missing-blobs", network=replace(using, files=header)) == []
    assert run("stale-blobs", network=replace(using, files=header)) == []
    assert run("missing-blobs", network=replace(using, files=None)) == []


def test_relative_raw() -> None:
    network = net(replace(FLASH, relative=True), files=frozenset({"net_atonbuf.xSPI2.raw"}))
    assert "nothing defines _mem_pool_xSPI2_net" in one("relative-raw", network=network).message
    assert run("relative-raw", network=replace(network, files=frozenset({"net_atonbuf.xSPI2.c"}))) == []
    assert run("relative-raw", network=net(FLASH, files=frozenset())) == []
    assert run("relative-raw", network=replace(network, loaded=True)) == []


def test_hex_address() -> None:
    raws = (raw("xSPI2", b"weights"),)
    network = net(FLASH, raws=raws)
    wrong = HexPiece("network_data.hex", 0x70380000, 7, raws[0].sha256)
    found = one("hex-address", network=network, hexes=(wrong,))
    assert found.where == "network_data.hex" and "at 0x70380000" in found.message and "0x71000000" in found.message
    assert run("hex-address", network=network, hexes=(replace(wrong, address=0x71000000),)) == []
    assert run("hex-address", network=network, hexes=(replace(wrong, sha256="0"),)) == []


# ---- sources ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\n*(volatile int *)0x42023100 = 0;", 2),
        ("x = 0x42023000UL;", 1),
        ("RAMCFG_SRAM3_AXI_NS->CR = 0;", 1),
        ("int a; /* 0x42023000 */ int b;\nint c = 0x42023000;", 2),
    ],
)
def test_ramcfg_alias(text: str, line: int) -> None:
    found = one("ramcfg-alias", sources=c(text))
    assert found.where == f"main.c:{line}" and "non-secure alias" in found.message
    assert one("ramcfg-alias", sources=c(text), board=None).level == "error"


@pytest.mark.parametrize(
    "text",
    [
        "x = 0x52023000;",
        "/* never 0x42023000 */",
        "// 0x42023000",
        'puts("0x42023000");',
        "x = 0x142023000;",
        "RAMCFG_SRAM3_AXI_S->CR = 0;",
        "x = 0x42023000; // neuralart-lint: ramcfg-alias",
        "x = 0x42023000; /* neuralart-lint: ns-register, ramcfg-alias */",
    ],
)
def test_ramcfg_that_is_right_or_meant(text: str) -> None:
    assert run("ramcfg-alias", sources=c(text)) == []


def test_ramcfg_on_other_boards() -> None:
    assert run("ramcfg-alias", sources=c("x = 0x42023000;"), board=H747) == []
    assert run("ramcfg-alias", sources=c("x = 0x42023000;"), board=AN547) == []


def test_ns_register() -> None:
    found = one("ns-register", sources=c("RCC->X;\n*(int *)0x4602824Cu = 1;"))
    assert found.where == "main.c:2" and "the secure one is 0x5602824c" in found.message
    for text in ("x = 0x40490FDB;", "x = 0x5602824C;", "/* 0x4602824C */"):
        assert run("ns-register", sources=c(text)) == []
    assert run("ns-register", sources=c("x = 0x4602824C;"), board=None) == []


def test_no_runtime_init() -> None:
    text = "void f(void) {\n  LL_ATON_RT_Main(&NN_Instance_net);\n}"
    assert one("no-runtime-init", sources=c(text)).where == "main.c:2"
    both = (c(text), c("void g(void) { LL_ATON_RT_RuntimeInit(); }", "other.c"))
    assert run("no-runtime-init", sources=both) == []
    assert run("no-runtime-init", sources=(c(text), c("// LL_ATON_RT_RuntimeInit();", "other.c"))) != []
    assert run("no-runtime-init", sources=c("int main(void) { return 0; }")) == []


def test_unknown_network() -> None:
    text = "LL_ATON_DECLARE_NAMED_NN_INSTANCE_AND_INTERFACE(Default);"
    found = one("unknown-network", sources=c(text), network=net())
    assert "there is no network Default, but net; up to 2.2 Default is" in found.message
    assert run("unknown-network", sources=c(text.replace("Default", "net")), network=net()) == []
    assert run("unknown-network", sources=c(text)) == [], "no network is known"
    header = "#define LL_ATON_DECLARE_NAMED_NN_INSTANCE_AND_INTERFACE(nn) LL_ATON_DECLARE_NAMED_NN_INSTANCE(nn)"
    assert run("unknown-network", sources=c(header, "ll_aton.h"), network=net()) == []


def test_blobs_included() -> None:
    found = one("blobs-included", sources=c('#include "a.h"\n  # include "network_ecblobs.h"\n'))
    assert found.where == "main.c:2"
    for text in ('// #include "network_ecblobs.h"', '/*\n#include "network_ecblobs.h"\n*/', '#include "network.h"'):
        assert run("blobs-included", sources=c(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        'printf("%f\\n", x);',
        'snprintf(b, n, "a %5.2f b",\n  x);',
        'fprintf(stderr, "%d %lf", 1, x);',
        'printf("%%%g", x);',
        'printf("a" "%.*e", 3, x);',
    ],
)
def test_printf_float(text: str) -> None:
    assert one("printf-float", sources=c(text)).level == "note"
    assert one("printf-float", sources=(c(text), make("LDFLAGS = --specs=nano.specs"))).level == "warning"
    assert run("printf-float", sources=(c(text), make("LDFLAGS = --specs=nano.specs -u _printf_float"))) == []


@pytest.mark.parametrize(
    "text",
    [
        'printf("%d %s 100%% full\\n", x, "f");',
        'log("%f", x);',
        '// printf("%f", x);',
        'printf("%d", x); puts("%f");',
        'printf("%%f");',
    ],
)
def test_printf_of_other_things(text: str) -> None:
    assert run("printf-float", sources=c(text)) == []


LD = "SECTIONS {{ .text : {{ *(.text .text*) KEEP(*(.isr)) }} {more} }}"


def test_orphan_section() -> None:
    script = parse(LD.format(more=".psram_bss (NOLOAD) : { *(.psram_bss*) }"), "app.ld")
    text = 'int a[4] __attribute__((section(".npu_ram")));\nint b __attribute__ ((section (".psram_bss.x")));'
    found = one("orphan-section", sources=c(text), scripts=script)
    assert found.where == "main.c:1" and ".npu_ram" in found.message and "app.ld" in found.message
    for good in ('__attribute__((section(".text.fast")))', '// section(".npu_ram")', '/* section(".npu_ram") */', ""):
        assert run("orphan-section", sources=c(good), scripts=script) == []
    assert run("orphan-section", sources=c(text), scripts=parse("MEMORY { }", "mem.ld")) == []


def test_pool_section() -> None:
    pools = (
        LintedPool("heap_overlay_pool", "heap_overlay_pool", 0, 10, 0, relative=True),
        LintedPool("SDRAM", "SDRAM", 0, 10, 0),
    )
    network = net(*pools, runtime="network_runtime")
    both = ".NN_Activation_Buffer_AXIRAM .NN_Activation_Buffer_SDRAM"
    assert run("pool-section", network=network, scripts=parse(LD.format(more=f".x : {{ *({both}) }}"), "h7.ld")) == []
    one_only = parse(LD.format(more=".x : { *(.NN_Activation_Buffer_AXIRAM) }"), "h7.ld")
    found = one("pool-section", network=network, scripts=one_only)
    assert ".NN_Activation_Buffer_SDRAM" in found.message
    assert run("pool-section", network=replace(network, runtime="ll_aton"), scripts=one_only) == []
    assert run("pool-section", network=network, scripts=parse(LD.format(more=""), "other.ld")) == []


def test_vendor_gcc_flag() -> None:
    assert one("vendor-gcc-flag", sources=make("\nCFLAGS += -fcyclomatic-complexity\n")).where == "Makefile:2"
    assert run("vendor-gcc-flag", sources=make("CFLAGS += -O2")) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("_estack = ORIGIN(RAM) + LENGTH(RAM);", "AXISRAM5, which is off at reset"),
        ("PROVIDE(__StackTop = 0x34300000);", "AXISRAM5, which is off at reset"),
        ("SIZE = 2M; _estack = 0x34000000 + SIZE + 8;", "AXISRAM3, which is off at reset"),
        ("_estack = 0x70100000;", "xSPI2, which is flash"),
        ("_estack = 0x60001000;", "has no memory"),
    ],
)
def test_stack_bank(text: str, said: str) -> None:
    memory = "MEMORY\n{\n  RAM (xrw) : ORIGIN = 0x34000400, LENGTH = 3M\n}\n"
    assert said in one("stack-bank", scripts=parse(memory + text, "app.ld")).message


@pytest.mark.parametrize(
    "text", ["_estack = 0x34200000;", "_estack = 0x30020000;", "__stack_size = 0x34300000;", "_estack = SOMEWHERE;", ""]
)
def test_stacks_that_stand(text: str) -> None:
    assert run("stack-bank", scripts=parse(text, "app.ld")) == []
    assert run("stack-bank", scripts=parse("_estack = 0x34300000;", "app.ld"), board=None) == []


# ---- the list --------------------------------------------------------------------------------------------------------


def test_rules_have_what_a_reader_needs() -> None:
    ids = engine.rule_ids()
    assert len(ids) == len(set(ids)) and not {engine.UNREADABLE, budgets.BUDGET} & set(ids)
    for rule in engine.rules():
        assert rule.looks_at and rule.why.endswith((".", ":")) and not rule.finds.endswith("."), rule.id
        assert "|" not in rule.finds and not rule.hint.endswith("."), rule.id


def test_documented_list_is_the_generated_one() -> None:
    """To renew it: the lines behind the mark are what ``neuralart lint --markdown`` prints."""
    assert DOC.read_text("utf-8").partition("<!-- rules -->\n")[2] == engine.markdown()


def test_a_rule_that_is_none() -> None:
    with pytest.raises(NeuralArtError, match="there is no rule 'psram'"):
        engine.check_ids(["psram"])


def test_order_and_failure() -> None:
    found = [
        LintFinding("a", "note", "z.c:1", "n"),
        LintFinding("b", "error", "b.c:10", "e"),
        LintFinding("c", "error", "b.c:9", "e"),
        LintFinding("d", "warning", "a.c", "w"),
    ]
    assert [finding.rule for finding in engine.ordered(found)] == ["c", "b", "d", "a"]
    assert engine.failed(found) and not engine.failed([found[3]]) and engine.failed([found[3]], strict=True)
    assert not engine.failed([found[0]], strict=True)


def test_nothing_known_nothing_said() -> None:
    assert engine.lint(Facts()) == [] and engine.lint(facts()) == []
    assert "psram-spill" in engine.not_applied(Facts()) and engine.not_applied(facts()) == []
