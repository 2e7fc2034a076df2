"""From network.c to the pool table and the params: what is read, what is derived, what is refused."""

from __future__ import annotations

import os
import random
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from neuralart.errors import NeuralArtError
from neuralart.network.facts import NEURALART_VERSION
from neuralart.relocatable.build import builder, network_source, pool_table, staging
from neuralart.relocatable.build.objects import refusal
from neuralart.relocatable.build.request import BuildRequest, check, find_network
from neuralart.resources import firmware_dir
from neuralart.vendor.network_c.types import BufferRow, Pool
from support.fuzz import damage_text
from support.relocatable.rel_networks import compile_digits

POOL = "offset=0x{0:08x}  {1} size={2} {3} THROUGHPUT=HIGH cacheable={4} score=1  */\n"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory) -> Path:
    return compile_digits(tmp_path_factory.mktemp("net"), "AXISRAM3", "xSPI2", relative=("xSPI2",))


@pytest.fixture
def digits(compiled: Path, tmp_path: Path) -> Path:
    """A copy to damage, without the manifest that would tell."""
    folder = tmp_path / "net"
    folder.mkdir()
    for path in (each for each in compiled.parent.iterdir() if each.name != "manifest.json"):
        (folder / path.name).write_bytes(path.read_bytes())
    return folder / "network.c"


def request(code: Path, **options) -> BuildRequest:
    return BuildRequest(code, code.parent.parent / "out", "network", **options)


def prepare(code: Path, **options) -> builder.Prepared:
    return builder.prepare(request(code, **options))


def edit(code: Path, *pairs: tuple[str, str]) -> None:
    text = code.read_text("utf-8")
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    code.write_text(text, encoding="utf-8")


def refused(code: Path, **options) -> str:
    with pytest.raises(NeuralArtError) as caught:
        prepare(code, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


# ---- reading


def test_what_is_read(digits):
    source = network_source.read(digits)
    assert (source.c_name, source.version) == ("network", (0, 1, 0, 0))
    assert source.description == "neuralart-reference-runtime-0.1.0.0"
    assert source.options["all-buffers-info"] == "true"
    assert not source.epoch_controller
    pools = {pool.fname: pool for pool in source.pools}
    assert [pool.address for pool in source.pools] == sorted((p.address for p in source.pools), reverse=True)
    flash = pools["xSPI2"]
    assert (flash.relative, flash.writable, flash.cacheable, flash.size) == (True, False, True, 16 << 20)
    assert abs(flash.said - 4136) <= flash.precision
    weights = [b for b in source.buffers if b.is_param]
    assert {b.symbol for b in weights} == {"_mem_pool_xSPI2_network"} and max(b.end for b in weights) == 4136
    image = next(b for b in source.buffers if b.name == "image")
    assert (image.base, image.start, image.end, image.is_param) == (0x34200000, 2048, 2304, False)


def test_version_of_the_runtime_is_that_of_its_header():
    header = (firmware_dir() / "runtime" / "include" / "ll_aton_version.h").read_text("utf-8")
    found = tuple(
        int(header.split(f"LL_ATON_VERSION_{part} ")[1].split()[0]) for part in ("MAJOR", "MINOR", "MICRO", "DEV")
    )
    assert found == NEURALART_VERSION


VENDOR = """\
/* x
 * GIT_DESCRIPTION "STAI-3.0.0-254-g7cc65410"
 * --all-buffers-info = true
 * --enable-epoch-controller = true
 */
#if LL_ATON_VERSION_MAJOR != 1 || LL_ATON_VERSION_MINOR != 1 || LL_ATON_VERSION_MICRO != 3 || LL_ATON_VERSION_DEV != 262
/* global pool 0 is 1.00 MB */
/* index=0 file postfix=AXISRAM2 name=cpu RAM */
const LL_ATON_RT_EpochBlockItem_t *LL_ATON_EpochBlockItems_Default(void) {}
const LL_Buffer_InfoTypeDef *LL_ATON_Input_Buffers_Info_Default(void)
{
  static const LL_Buffer_InfoTypeDef buff_info[] = {
#if LL_ATON_DBG_BUFFER_INFO_EXCLUDED == 0
    { .name = "a {brace} \\" /* no comment */", .addr_base = {(unsigned char *)(0x34100000UL) /* 0x1UL */},
      .offset_start = 8, .offset_end = 0x20, .is_param = 1, },
#endif
    { .name = "old", .addr_start.i = (0x34100000UL + 64UL), .addr_end.i = (0x34100000UL + 128UL), .is_param = 0, },
    { .name = "user", .addr_base = {(unsigned char *)&_mem_pool__user_io_input_0_Default},
      .offset_start = 0, .offset_end = 9 },
    { .name = NULL, }
  };
}
"""


def vendor(text: str = VENDOR) -> str:
    row = "/* index=0 file postfix=AXISRAM2 name=cpu RAM " + POOL.format(
        0x34100000, "absolute_mode", 1 << 20, "READ_WRITE", "OFF"
    )
    return text.replace("/* index=0 file postfix=AXISRAM2 name=cpu RAM */\n", row)


def test_a_network_in_other_words(tmp_path):
    path = tmp_path / "network.c"
    path.write_text(vendor(), encoding="utf-8")
    source = network_source.read(path)
    assert source.version == (1, 1, 3, 262) and source.c_name == "Default" and source.epoch_controller
    assert [(p.fname, p.name, p.said, p.writable) for p in source.pools] == [("AXISRAM2", "cpu RAM", 1 << 20, True)]
    assert [(b.base, b.start, b.end, b.is_param) for b in source.buffers] == [
        (0x34100000, 8, 0x20, True),
        (0x34100040, 0, 64, False),
    ]
    assert source.buffers[0].name == 'a {brace} \\" /* no comment */'


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("LL_ATON_EpochBlockItems_", "Items_", "not a generated network"),
        ("LL_ATON_VERSION_DEV != 262", "1", "no guard on LL_ATON_VERSION"),
        ("/* index=0", "/* number=0", "no comment describes a memory pool"),
        (" size=1048576", "", "no size="),
        (".offset_end = 0x20", ".offset_end = END", "offset_end is 'END', no number"),
        (".offset_end = 0x20", ".offset_end = 080", "'080' is no number of 32 bits"),
        (".offset_end = 0x20", ".offset_end = 4294967296", "'4294967296' is no number of 32 bits"),
        (".offset_end = 0x20", ".offset_end = 4", "ends at 4, before its start 8"),
        (".addr_base = {(unsigned char *)(0x34100000UL) /* 0x1UL */},\n", "", "has no addr_base"),
        ("(0x34100000UL) /*", "(somewhere) /*", "neither a number nor a pool"),
    ],
)
def test_damaged_networks(tmp_path, old, new, message):
    path = tmp_path / "network.c"
    text = vendor()
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(NeuralArtError, match=message.replace("(", r"\(")) as caught:
        network_source.read(path)
    assert "network.c" in str(caught.value)


def test_cut_networks_are_refused_or_read_but_never_crash(digits):
    text = digits.read_bytes()
    for size in range(0, len(text), 997):
        digits.write_bytes(text[:size])
        try:
            network_source.read(digits)
        except NeuralArtError as error:
            assert "\n" not in str(error)


@pytest.mark.fuzz
def test_damaged_text_is_refused_in_one_line(digits):
    good, rng = digits.read_text("utf-8"), random.Random(3)
    refusals = 0
    for _ in range(int(os.environ.get("NEURALART_FUZZ", "300"))):
        digits.write_text(damage_text(good, rng), encoding="utf-8")
        try:
            prepare(digits)
        except NeuralArtError as error:
            refusals += 1
            assert "\n" not in str(error)
    assert refusals


# ---- pool table

ROOM = 1 << 20


def pool(fname="P", address=0x34200000, *, rw=True, relative=False, cacheable=False, virtual=False) -> Pool:
    mode, rights = ("relative_mode" if relative else "absolute_mode"), ("READ_WRITE" if rw else "READ_ONLY")
    place = "network.c:7"
    return Pool(0, fname, fname, address, ROOM, 0, 0, None, mode, rights, virtual, None, cacheable, False, where=place)


def use(of: Pool, params: int = 0, activations: int = 0) -> pool_table.SourcePoolUse:
    return pool_table.SourcePoolUse(of, max(params, activations), params, activations)


def notation(*uses, secure=True) -> list[str]:
    source = network_source.NetworkSource(Path("n.c"), "", "n", "", (0, 1, 0, 0), {}, (), ())
    return [entry.descriptor.notation for entry in pool_table.table(source, uses, secure=secure)]


@pytest.mark.parametrize(
    ("of", "params", "activations", "expected"),
    [
        (pool(address=0x71000000, rw=False, relative=True, cacheable=True), 9, 0, "RELOC.PARAM.0.RCACHED"),
        (pool(address=0x71000000, rw=False, relative=True), 9, 0, "RELOC.PARAM.0.READ"),
        (pool(address=0x90000000, relative=True, cacheable=True), 0, 9, "RELOC.ACTIV.1.WCACHED"),
        (pool(address=0x90000000, relative=True, cacheable=True), 9, 9, "RELOC.MIXED.1.WCACHED"),
        (pool(address=0x90000000, relative=True), 9, 0, "RELOC.MIXED.1.WRITE"),
        (pool(), 9, 0, "COPY.MIXED.WRITE"),
        (pool(address=0x90000000, cacheable=True), 9, 9, "COPY.MIXED.WCACHED"),
        (pool(), 0, 9, "RESET.ACTIV.WRITE"),
    ],
)
def test_decision_table(of, params, activations, expected):
    assert notation(use(of, params, activations)) == [expected]


def test_unused_pools_are_no_entries():
    assert notation(use(pool())) == []


@pytest.mark.parametrize(
    ("uses", "message"),
    [
        ([use(pool("xSPI2", 0x70380000, rw=False), 9)], "fixed flash address 0x70380000"),
        ([use(pool(relative=True), 9)], "only external memory, from 0x60000000, can move"),
        ([use(pool(rw=False), 0, 9)], "is READ_ONLY and holds activations"),
        ([use(pool(address=0x71000000, rw=False, relative=True), 9, 9)], "is READ_ONLY and holds activations"),
        (
            [
                use(pool("A", 0x71000000, rw=False, relative=True), 9),
                use(pool("B", 0x72000000, rw=False, relative=True), 9),
            ],
            "two relative read-only pools (A at 0x71000000 and B at 0x72000000)",
        ),
        (
            [use(pool("A", 0x91000000, relative=True), 9), use(pool("B", 0x90000000, relative=True), 0, 9)],
            "two relative read/write pools",
        ),
        ([use(pool(f"P{n}", 0x34200000 + n * ROOM), 9) for n in range(10)], "10 pools in use, a loader takes 9"),
        ([use(pool(address=0x24200000), 9)], "made for the secure state, where that memory is at 0x34200000"),
    ],
)
def test_pools_that_cannot_be_part_of_an_image(uses, message):
    with pytest.raises(NeuralArtError) as caught:
        notation(*uses)
    assert message in str(caught.value)


def test_aliases_of_the_other_state():
    assert notation(use(pool(address=0x24200000), 9), secure=False) == ["COPY.MIXED.WRITE"]
    with pytest.raises(NeuralArtError, match="non-secure state, where that memory is at 0x24200000"):
        notation(use(pool(), 9), secure=False)


def buffered(*buffers, pools) -> network_source.NetworkSource:
    rows = [BufferRow("internal", *row, False, None, "", where="network.c:9") for row in buffers]
    return network_source.NetworkSource(Path("n.c"), "", "n", "", (1, 1, 3, 8), {}, pools, tuple(rows))


def test_sizes_of_both_layouts():
    low, high = pool("A", 0x34200000), replace(pool("B", 0x34300000), said=ROOM)
    both = replace(pool("A_B", 0x34200000, virtual=True), size=2 * ROOM)
    source = buffered(
        ("x", "", 0x34200000, 64, 100, True), ("y", "", 0x34200000, 96, 200, False), pools=(high, low, both)
    )
    ours = {u.pool.fname: u for u in pool_table.uses(source, as_vendor=False, known={"A": (4000, 3000)})}
    assert set(ours) == {"A", "B"}
    assert (ours["A"].size, ours["A"].params, ours["A"].activations) == (4000, 36, 3000)
    assert ours["B"].size == 0  # nothing is known to be in it
    theirs = {u.pool.fname: u for u in pool_table.uses(source, as_vendor=True, known={})}
    # All but the constants, as the vendor counts.
    assert (theirs["A"].size, theirs["A"].params, theirs["A"].activations) == (136, 36, 100)
    assert (theirs["B"].size, theirs["B"].activations) == (ROOM, ROOM)


def test_a_buffer_across_two_pools():
    low, high = pool("A", 0x34200000), pool("B", 0x34300000)
    source = buffered(("x", "", 0x34200000, ROOM - 16, ROOM + 48, False), pools=(high, low))
    found = {u.pool.fname: u.size for u in pool_table.uses(source, as_vendor=False, known={})}
    assert found == {"A": ROOM, "B": 48}


def test_sizes_have_limits():
    moved = replace(pool("R", 0x90000000, relative=True), size=1 << 31)
    with pytest.raises(NeuralArtError, match="134,217,729 bytes are in use in pool R"):
        notation(use(moved, 9, (128 << 20) + 1))
    source = buffered(("x", "_mem_pool_R_n", 0, 8, ROOM + 1, True), pools=(pool("R", 0x90000000, relative=True),))
    with pytest.raises(NeuralArtError, match=r"buffer x \(_mem_pool_R_n \+ 8\.\.1048577\) lies in no pool"):
        pool_table.uses(source, as_vendor=False, known={})


def test_a_buffer_outside_all_pools():
    source = buffered(("x", "", 0x34100000, 0, 48, False), pools=(pool(),))
    with pytest.raises(NeuralArtError, match=r"buffer x \(0x34100000 \+ 0\.\.48\) lies in no pool"):
        pool_table.uses(source, as_vendor=False, known={})


# ---- params


def test_params_of_a_network(digits):
    prepared = prepare(digits)
    raw = (digits.parent / "network_atonbuf.xSPI2.raw").read_bytes()
    assert prepared.params.data == raw and prepared.params.crc32 == zlib.crc32(raw)
    assert [(d.notation, d.foff, d.size) for d in prepared.params.descriptors] == [
        ("RELOC.PARAM.0.RCACHED", 0, 4136),
        ("RESET.ACTIV.WRITE", 0, 2560),
    ]


@pytest.mark.parametrize(("alignment", "second"), [(8, 104), (64, 128)])
def test_places_in_the_params(tmp_path, alignment, second):
    pools = (pool("W", 0x90000000, relative=True), pool("R", 0x71000000, rw=False, relative=True))
    source = replace(buffered(pools=pools), path=tmp_path / "n.c")
    (tmp_path / "n_atonbuf.W.raw").write_bytes(b"w" * 101)
    (tmp_path / "n_atonbuf.R.raw").write_bytes(b"r" * 20)
    entries = pool_table.table(source, [use(pools[0], 90, 64), use(pools[1], 20)], secure=True)
    first = pool_table.collect(source, entries, alignment=alignment, moved_first=False)
    assert [d.foff for d in first.descriptors] == [0, second]
    assert first.data == (b"w" * 101).ljust(second, b"\0") + b"r" * 20 + bytes(4)
    moved = pool_table.collect(source, entries, alignment=alignment, moved_first=True)
    assert [d.foff for d in moved.descriptors] == [-(-24 // alignment) * alignment, 0]


def test_other_names_of_initializers(digits):
    raw = digits.parent / "network_atonbuf.xSPI2.raw"
    data = raw.read_bytes()
    raw.rename(digits.parent / "other.xSPI2.raw")
    assert prepare(digits).params.data == data
    (digits.parent / "stale.xSPI2.raw").write_bytes(b"")
    assert "2 files could be the initializer of pool xSPI2: other.xSPI2.raw, stale.xSPI2.raw" in refused(digits)
    raw.write_bytes(data)
    assert prepare(digits).params.data == data


def test_initializers_that_are_refused(digits):
    raw = digits.parent / "network_atonbuf.xSPI2.raw"
    data = raw.read_bytes()
    raw.write_bytes(data[:100])
    assert "100 bytes, network.c keeps 4,136 bytes of constants in pool xSPI2" in refused(digits)
    raw.unlink()
    assert "there is no network_atonbuf.xSPI2.raw" in refused(digits)
    raw.with_suffix(".hex").write_bytes(data)
    assert "was written as FORMAT_HEX (network_atonbuf.xSPI2.hex)" in refused(digits)


# ---- the network as a whole


def test_networks_that_are_refused(digits):
    good = digits.read_text("utf-8")

    def after(*pairs: tuple[str, str], **options) -> str:
        digits.write_text(good, encoding="utf-8")
        edit(digits, *pairs)
        return refused(digits, **options)

    assert "made for runtime ll_aton 1.1.0.0, which is not part" in after(("VERSION_MAJOR != 0", "VERSION_MAJOR != 1"))
    assert "made for runtime neuralart 0.2.0.0, this is 0.1.0.0" in after(("VERSION_MINOR != 1", "VERSION_MINOR != 2"))
    assert "fixed flash address 0x71000000" in after(
        ("relative_mode", "absolute_mode"), ("(uintptr_t)_mem_pool_xSPI2_network", "0x71000000UL")
    )
    assert "(was network.c edited?)" in after(("_mem_pool_xSPI2_network", "_mem_pool_other"))
    assert "non-secure state" in after(secure=False)
    assert "no layout 'alinged'" in after(layout="alinged")


def test_files_of_another_compile(digits):
    facts = digits.with_name("network.json")
    text = facts.read_text("utf-8")
    facts.write_text(text.replace('"name": "network"', '"name": "other"'), encoding="utf-8")
    assert "is of network 'other', network.c of 'network'" in refused(digits)
    facts.unlink()
    assert "how much working memory network.c needs" in refused(digits)


def test_the_output_may_be_the_folder_of_the_network_but_not_the_network(digits):
    check(BuildRequest(digits, digits.parent, "network"))
    other = digits.rename(digits.with_name("net_rel.c"))
    check(BuildRequest(other, digits.parent, "network"))
    with pytest.raises(NeuralArtError, match="the image of --name net as C would have its place"):
        check(BuildRequest(other, digits.parent, "net"))


def test_which_network_is_meant(digits, tmp_path):
    assert find_network(digits) == digits == find_network(digits.parent) == find_network(digits.parent, "network")
    digits.rename(digits.with_name("model.c"))
    assert find_network(digits.parent).name == "model.c"
    with pytest.raises(NeuralArtError, match=r"no models\.c in it .*did you mean 'model'"):
        find_network(digits.parent, "models")
    (digits.parent / "second.c").write_bytes(digits.with_name("model.c").read_bytes())
    with pytest.raises(NeuralArtError, match=r"2 networks in it: model\.c, second\.c"):
        find_network(digits.parent)
    (tmp_path / "empty").mkdir()
    with pytest.raises(NeuralArtError, match=r"no network\.c in it"):
        find_network(tmp_path / "empty")
    with pytest.raises(NeuralArtError, match="no such file or folder"):
        find_network(tmp_path / "nowhere")


# ---- small parts


def test_blobs_that_are_not_understood():
    with pytest.raises(NeuralArtError, match=r"h:2: no constant blob follows"):
        staging.in_params("\nECBLOB_CONST_SECTION\nint x;\n", "", "h")
    with pytest.raises(NeuralArtError, match="has no constant blobs"):
        staging.in_params("int x;\n", "", "h")


def test_a_copy_that_only_the_code_names():
    text = "ECBLOB_CONST_SECTION\nstatic const uint64_t _ec_blob_Default_7[] = {1};\n"
    assert "#define _ec_blob_Default_7 _ec_blob_PARAM_Default_7\n" in staging.in_params(text, "", "h")
    code = "static uint64_t _ec_blob_Default_7_ptr[1];"
    assert "#define _ec_blob_Default_7 _ec_blob_table[0]\n" in staging.in_params(text, code, "h")


def test_complaints_of_the_linker():
    said = "ld: a.o: in function `f':\na.c:(.text+0x8): undefined reference to `sinhf'\n"
    said += "b: undefined reference to `cosh'\n"
    assert "nothing provides cosh, sinhf" in str(refusal(said, "network"))
    driver = "/usr/bin/ld: cannot find libx.a\ncollect2: error: ld returned 1 exit status\n"
    assert "cannot find libx.a" in str(refusal(driver, "network"))
    assert refusal(driver, "network").complaint == driver.rstrip()
    assert "x.c:1:2: error: no" in str(refusal("In file\nx.c:1:2: error: no\n", "x.c"))
    assert "no reason given" in str(refusal("", "x.c"))
