"""Readers of generated C against made-up files of every release and feature."""

from __future__ import annotations

import itertools
import re
import struct
from dataclasses import replace

import pytest

from neuralart.errors import NeuralArtError
from neuralart.text import c_source
from neuralart.vendor import releases
from neuralart.vendor.network_c import checks, initializers, pools
from neuralart.vendor.network_c.banner import guard, model_name
from neuralart.vendor.network_c.checks import covered, rows_by_pool
from neuralart.vendor.network_c.pools import in_use
from neuralart.vendor.network_c.read import parse, read
from neuralart_insight.inspect import cli as inspector
from neuralart_insight.inspect.views.generated_c import as_record
from neuralart_virtual.network_c import ecblobs
from support.models import vendor_network_c as vendor
from support.models.vendor_network_c import RELEASES, Want

FEATURES = {
    "plain": {},
    "named": {"name": "MyNet_2"},
    "ec": {"ec": True},
    "relative": {"relative": True},
    "user_io": {"user_io": True},
    "all_buffers": {"all_buffers": True},
    "windows": {"windows": True, "crlf": True},
    "float": {"float_output": True},
    "everything": {
        "name": "n1",
        "ec": True,
        "relative": True,
        "user_io": True,
        "all_buffers": True,
        "windows": True,
        "crlf": True,
    },
    "software_only": {"hw": 0},
    "no_weights": {"weights": 0, "internals": 0},
}


def text_of(want: Want) -> str:
    return c_source.decode(vendor.make(want).files["network.c"])


def net(text: str):
    return parse(text, "network.c")


def swap(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text


# ---- every release with every feature


@pytest.mark.parametrize(("version", "feature"), list(itertools.product(RELEASES, FEATURES)))
def test_everything_that_is_in_the_file(version, feature, tmp_path):
    want = Want(version=version, **FEATURES[feature])
    made = vendor.make(want)
    path = made.write(tmp_path)
    record = inspector.inspect(path)[1]
    if not want.weights:
        made.record["weights"] = []
    assert {key: record[key] for key in made.record} == made.record
    steps = vendor.plan(want)
    assert [(e["number"], e["last"], e["kind"], tuple(e["operators"])) for e in record["epochs"]] == steps
    for epoch, (number, _, kind, _) in zip(record["epochs"], steps, strict=True):
        cycles = (None, None) if kind == "EC" and version < "3" else (1000 + number, 2000 + number)
        assert (epoch["npu_cycles"], epoch["total_cycles"]) == cycles


@pytest.mark.parametrize("version", RELEASES)
def test_pools(version):
    record = as_record(net(text_of(Want(version=version, relative=True, all_buffers=True))))
    pools = {pool["fname"]: pool for pool in record["pools"]}
    assert list(pools) == ["AXISRAM5", "AXISRAM6", "AXISRAM5_AXISRAM6", "xSPI2", "AXIFLEXMEM"]
    assert pools["xSPI2"] == {
        "fname": "xSPI2",
        "name": "octoFlash",
        "address": 0x71000000,
        "size": 117440504,
        "used": 1297,
        "mode": "relative_mode",
        "rights": "READ_ONLY",
        "virtual": False,
        "score": 50,
        "cacheable": True,
        "initializers": True,
    }
    assert (pools["AXISRAM5_AXISRAM6"]["virtual"], pools["AXISRAM5_AXISRAM6"]["used"]) == (True, 0)
    # 65.75 KB in the comment; the last buffer says it exactly.
    assert pools["AXISRAM5"]["used"] == 64 * 1024 + 7 * 256
    assert pools["AXIFLEXMEM"]["size"] == 0


def used_of(text: str) -> dict[str, int]:
    return {pool["fname"]: pool["used"] for pool in as_record(net(text))["pools"]}


def test_the_last_buffer_says_it_only_where_the_comment_agrees():
    text = text_of(Want(all_buffers=True))
    assert "is 65.75 KB" in text
    assert used_of(text)["AXISRAM5"] == 67328
    # What is rounded to 65.74 KB ends before.
    assert used_of(swap(text, ("is 65.75 KB", "is 65.74 KB")))["AXISRAM5"] == 67318
    # Between two amounts lies the even one: 6.125 MB.
    row = re.search(r'"act_6",.*?offset_end = (\d+)', text, re.S)
    end = 6 * 1024 * 1024 + 128 * 1024
    large = text[: row.start(1)] + str(end) + text[row.end(1) :]
    large = swap(
        large, ("offset=0x342e0000  absolute_mode size=458752", "offset=0x342e0000  absolute_mode size=8000000")
    )
    assert used_of(swap(large, ("is 65.75 KB", "is 6.12 MB")))["AXISRAM5"] == end
    assert used_of(swap(large, ("is 65.75 KB", "is 6.11 MB")))["AXISRAM5"] == round(6.11 * (1 << 20))


def test_a_virtual_pool_and_its_parts():
    """What lies in a part may end the virtual pool, what lies in that one reaches into its parts."""
    text = text_of(Want(all_buffers=True))
    both = swap(text, ("global pool 2 is ?", "global pool 2 is 65.75 KB"))
    assert used_of(both)["AXISRAM5_AXISRAM6"] == 67328
    row = re.search(r'"act_6",.*?offset_end = (\d+)', text, re.S)
    across = text[: row.start(1)] + str(458752 + 1234) + text[row.end(1) :]
    across = swap(
        across,
        ("global pool 0 is 65.75 KB", "global pool 0 is 448.00 KB"),
        ("global pool 1 is ?", "global pool 1 is 1.21 KB"),
        ("global pool 2 is ?", "global pool 2 is 449.21 KB"),
    )
    found = used_of(across)
    assert (found["AXISRAM5"], found["AXISRAM6"], found["AXISRAM5_AXISRAM6"]) == (458752, 1234, 459986)
    # A part may have more buffers behind those of the virtual pool: they do not count in it.
    own = swap(across, ("global pool 1 is 1.21 KB", "global pool 1 is 97.66 KB"))
    row = re.search(r'"act_5",.*?(0x342e0000UL)\).*?offset_start = (\d+).*?offset_end = (\d+)', own, re.S)
    parts = [own[: row.start(1)], "0x34350000UL", own[row.end(1) : row.start(2)], "99000"]
    own = "".join([*parts, own[row.end(2) : row.start(3)], "100000", own[row.end(3) :]])
    found = used_of(own)
    assert (found["AXISRAM6"], found["AXISRAM5_AXISRAM6"]) == (100000, 459986)


def test_options_of_both_systems():
    linux, windows = (net(text_of(Want(version="2.2", windows=flag))).banner for flag in (False, True))
    assert linux.options["onnx-input"] == "/srv/models/tiny.v2_OE_3_3_0"
    assert windows.options["onnx-input"] == "C:\\Users\\Jo Doe\\models\\tiny.v2_OE_3_3_0"
    assert (linux.model, windows.model, windows.front_end) == ("tiny.v2", "tiny.v2", "3_3_0")
    assert windows.origin["BUILD_AUTHOR"] == "builder" and "BUILD_AUTHOR" not in linux.origin
    assert linux.expanded == {"alt-scheduler": "false"}
    assert linux.branch == "STAI-2.2"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ("", "")),
        ({"onnx-input": "out/net_OE_3_3_1.onnx"}, ("net", "3_3_1")),
        ({"onnx-input": "C:\\a b\\yolov8n.256_OE_3_1_0"}, ("yolov8n.256", "3_1_0")),
        ({"onnx-input": "x_OE_3_3_1_OE_3_3_1"}, ("x_OE_3_3_1", "3_3_1")),
        ({"onnx-input": "plain.onnx"}, ("plain", "")),
        ({"json-quant-file": "a/net_OE_3_3_1_Q"}, ("net", "3_3_1")),
        ({"json-quant-file": "a/net_Q.json"}, ("net", "")),
        ({"onnx-input": "", "json-quant-file": "net_OE_3_2_0_Q.json"}, ("net", "3_2_0")),
    ],
)
def test_name_of_the_model(options, expected):
    assert model_name(options) == expected


# ---- tolerance


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda t: t.replace("\n", "\r\n"), id="CRLF"),
        pytest.param(lambda t: t.replace("\n", "\r"), id="CR"),
        pytest.param(lambda t: "\ufeff" + t, id="byte-order mark"),
        pytest.param(lambda t: re.sub(r"\n\s*#(?:ifdef LL_ATON_EB|endif)[^\n]*", "", t), id="no guards in the table"),
        pytest.param(lambda t: t.replace(",\n#endif\n    },", "\n#endif\n    },"), id="no last comma"),
        pytest.param(lambda t: t.replace("      .", "\t\t."), id="tabs"),
        pytest.param(lambda t: re.sub(r",\n {6}\.(?=\w)", ", .", t), id="rows on one line"),
        pytest.param(lambda t: t.replace(" = ", "="), id="no blanks round ="),
        pytest.param(lambda t: t.replace(".offset_limit = ", ".new_member = 3,\n .offset_limit = "), id="new member"),
        pytest.param(lambda t: re.sub(r" {6}\.offset_limit = \d+,\n", "", t), id="member missing"),
        pytest.param(lambda t: t.replace("      .is_param", "      // why\n      .is_param"), id="line comments"),
        pytest.param(lambda t: t.replace("      .is_param", "      /* a { \" b */ .is_param"), id="comments"),
        pytest.param(lambda t: t.replace("(void)", "( void )"), id="blanks in brackets"),
        pytest.param(lambda t: t.replace("(void)\n{", "(void) {"), id="brace on the line"),
        pytest.param(lambda t: t.replace("const LL_Buffer", "const\n  LL_Buffer"), id="broken lines"),
        pytest.param(lambda t: t.replace("buff_info[] =", "buff_info[ 9 ] ="), id="size of the array"),
        pytest.param(lambda t: re.sub(r"(?<=offset_end = )\d+", lambda m: f"{int(m[0]):#x}UL", t), id="hex"),
        pytest.param(lambda t: t.replace(".shape = buff", ".shape = (const uint32_t *)buff"), id="casts"),
        pytest.param(lambda t: t.replace("#endif", "#  endif  // end"), id="blanks behind #"),
        pytest.param(lambda t: t.replace("(0x342e0000UL)", "(0x342d0000UL + 65536UL)"), id="sums"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("version", ["2.0", "2.2", "4.0.1"])
def test_other_ways_to_write_the_same(version, change):
    want = Want(version=version, ec=version == "4.0.1", user_io=version == "2.2", all_buffers=True)
    text = text_of(want)
    changed = as_record(net(c_source.decode(change(text).encode())))
    expected = as_record(net(text))
    for key in expected:
        if key not in ("options", "findings", "tool_description"):
            assert changed[key] == expected[key], key
    assert changed["findings"] == []


def test_members_in_another_order():
    text = text_of(Want())

    def turned(match: re.Match[str]) -> str:
        return "    {\n" + "".join(reversed(match[1].splitlines(keepends=True))) + "    },\n"

    changed = re.sub(r"    \{\n((?:      \.[^\n]*\n)+)    \},\n", turned, text)
    assert changed != text
    assert as_record(net(changed)) == as_record(net(text))


def test_flags_as_numbers():
    names = ["epoch_start", "epoch_end", "blob", "last_eb", "pure_hw", "pure_sw", "hybrid"]
    text = text_of(Want(ec=True))

    def number(match: re.Match[str]) -> str:
        bits = sum(1 << names.index(name) for name in re.findall(r"EpochBlock_Flags_(\w+)", match[1]))
        return f".flags = {bits:#x}U,"

    changed = re.sub(r"\.flags = ([^,]*),", number, text)
    expected = as_record(net(text))["block_kinds"]
    assert as_record(net(changed))["block_kinds"] == expected
    assert not [p for p in net(changed).problems if p.code == "epoch"]


def test_a_table_without_debug_information():
    text = re.sub(r"#ifdef LL_ATON_EB_DBG_INFO\n(?: +\.[^\n]*\n)*#endif\n", "", text_of(Want()))
    epochs = as_record(net(text))["epochs"]
    assert [epoch["number"] for epoch in epochs] == [number for number, *_ in vendor.plan(Want())]
    assert {epoch["npu_cycles"] for epoch in epochs} == {None}
    assert epochs[1]["operators"] == ["Conv", "Relu"]


def test_operators_without_markers_of_epochs():
    text = re.sub(r"/\* scheduling epoch=[^\n]*\n", "", text_of(Want()))
    assert as_record(net(text))["epochs"] == as_record(net(text_of(Want())))["epochs"]


def test_addresses_of_the_oldest_form(tmp_path):
    text = text_of(Want(version="2.0"))
    row = re.compile(
        r"\.addr_base = \{\(unsigned char \*\)\((0x\w+)UL\)[^}]*\},\n +\.offset_start = (\d+),\n +\.offset_end = (\d+),"
    )
    changed = row.sub(r".addr_start.i = (\1UL + \2UL), .addr_end.i = (\1UL + \3UL),", text)
    assert changed != text
    expected, found = as_record(net(text)), as_record(net(changed))
    assert [port["address"] for port in found["inputs"]] == [port["address"] for port in expected["inputs"]]
    assert [(w["pool"], w["bytes"], w["end"]) for w in found["weights"]] == [
        (w["pool"], w["bytes"], w["end"]) for w in expected["weights"]
    ]


@pytest.mark.parametrize(
    ("cut", "missing"),
    [
        (r"#if LL_ATON_VERSION.*?#endif\n", {"runtime": "", "guard": "", "tool": None}),
        (r"/\*\n \* AutoGenerated.*?\*/\n", {"model": "", "tool_branch": "", "options": {}}),
        (r"/\* global pool 0.*?(?=\nLL_ATON|\nconst)", {"pools": [], "relative_pools": []}),
        (r"const LL_Buffer_InfoTypeDef \*LL_ATON_Input.*", {"inputs": [], "weights": [], "outputs": []}),
        (r"(?m)^const LL_ATON_RT_EpochBlockItem_t.*?^}\n", {"blocks": 0, "epochs": []}),
    ],
)
def test_missing_parts_are_empty(cut, missing):
    changed = re.sub(cut, "", text_of(Want()), flags=re.S)
    record = as_record(net(changed))
    assert {key: record[key] for key in missing} == missing
    assert record["name"] == "network"


@pytest.mark.parametrize("name", ["n1", "net_0x10", "_7", "a" * 60])
def test_numbers_in_names_are_none(name):
    record = as_record(net(text_of(Want(name=name, relative=True, user_io=True))))
    assert record["weights"] == [{"pool": "xSPI2", "bytes": 1297, "end": 1297, "buffers": 5}]


def test_a_name_from_other_functions():
    text = text_of(Want(name="abc")).replace("LL_ATON_EpochBlockItems_abc", "other_items")
    assert net(text).name == "abc"
    assert len(net(text).blocks) == len(vendor.plan(Want()))


def test_tables_of_another_network_are_left_aside():
    one, two = text_of(Want(name="one")), text_of(Want(name="two", weights=2))
    both = net(one + two[two.index("const LL_Buffer_InfoTypeDef") :])
    assert as_record(both)["buffer_rows"] == as_record(net(one))["buffer_rows"]


def test_arrays_that_two_functions_have_under_one_name():
    text = text_of(Want(user_io=True))
    other = "buff_info__shape_1_10[] = { 9, 9 };\n"
    # One in front of the other table does not count, nor does one whose name only ends alike.
    before = text.index("const LL_Buffer_InfoTypeDef *LL_ATON_Input")
    changed = text[:before] + f"static const uint32_t {other}static const int x{other}" + text[before:]
    assert net(changed).outputs[0].shape == (1, 10)


def test_scales_per_channel():
    scale, offset = (f"buff_info__output_0_quant_{what}[] = " for what in ("scale", "offset"))
    text = swap(
        text_of(Want()),
        (scale + "{ 0.00392156862745098 }", scale + "{ 0.5f, 1e-3 }"),
        (offset + "{ -128 }", offset + "{ 0, -3 }"),
    )
    port = as_record(net(text))["outputs"][0]
    assert (port["scale"], port["zero_point"]) == ([0.5, 0.001], [0, -3])


@pytest.mark.parametrize(
    ("body", "expected"),
    [("#error x", "error"), ("#  warning x", "warning"), ("# warning x\n#error y", "warning"), ("int a;", "")],
)
def test_what_the_guard_does(body, expected):
    parts = zip(("DEV", "MICRO", "MINOR", "MAJOR"), (8, 3, 1, 1), strict=True)
    tests = " || \\\n ".join(f"( LL_ATON_VERSION_{part}_NUM != ({number}) )" for part, number in parts)
    text = f"// LL_ATON_VERSION_MAJOR\n{' ' * 3000}\n#if {tests}\n{body}\n#endif\n#error other\n"
    assert guard(text) == ((1, 1, 3, 8), expected)
    assert guard("#if LL_ATON_VERSION_MAJOR != 1\n#error\n#endif") == (None, "")


@pytest.mark.parametrize(
    ("number", "unit", "expected"),
    [
        ("256", "B", (256, 0)),
        ("101697", "bytes", (101697, 0)),
        ("105.98", "KB", (108524, 5)),
        ("105,98", "KB", (108524, 5)),
        ("1.00", "MB", (1 << 20, 5243)),
        ("2", "GB", (2 << 30, 1 << 29)),
        ("3", "KiB", (3072, 512)),
    ],
)
def test_amounts(number, unit, expected):
    assert in_use(number, unit) == expected


# ---- cross-checks


def codes(network, path=None) -> dict[str, str]:
    return {problem.code: problem.text for problem in checks.problems(network, path)}


def test_guard_against_branch():
    text = text_of(Want(version="3.0"))
    assert codes(net(text)) == {}
    for version in RELEASES:
        branch = vendor.RELEASES[version][1]
        assert codes(net(swap(text_of(Want(version=version)), (f'"{branch}"', '"HEAD"')))) == {}
    assert codes(net(swap(text, ('"STAI-3.0"', '"my-branch"')))) == {}
    found = codes(net(swap(text, ('"STAI-3.0"', '"STAI-2.2"'))))
    assert "asks for runtime 1.1.3.8 (ST Edge AI Core 3.0.0), GIT_BRANCH is STAI-2.2" in found["guard-branch"]
    assert "exported as _OE_3_3_0" in codes(net(swap(text, ("_OE_3_3_1", "_OE_3_3_0"))))["front-end"]
    # Nothing is known about releases to come.
    assert codes(net(swap(text, ("VERSION_DEV != 8", "VERSION_DEV != 999"), ("STAI-3.0", "STAI-5.0")))) == {}


def test_releases():
    assert releases.of_runtime((1, 1, 3, 262)).core == "4.0.0"
    assert releases.of_runtime((1, 1, 3, 263)) is None and releases.of_runtime(None) is None
    assert [release.core for release in releases.of_branch("STAI-4.0")] == ["4.0.0", "4.0.1"]


@pytest.mark.parametrize("relative", [False, True])
def test_raw_beside_the_network(tmp_path, relative):
    path = vendor.make(Want(relative=relative)).write(tmp_path)
    raw = tmp_path / "network_atonbuf.xSPI2.raw"
    assert codes(read(path), path) == {}
    data = raw.read_bytes()
    raw.write_bytes(data + bytes(20))
    assert f"has {len(data) + 20} bytes, pool xSPI2 of network.c uses" in codes(read(path), path)["raw-size"]
    raw.write_bytes(data[:-20])
    assert "raw-size" in codes(read(path), path)
    raw.rename(tmp_path / "other_atonbuf.xSPI2.raw")
    assert codes(read(path), path) == {}
    raw.mkdir()
    assert codes(read(path), path) == {}


def test_blobs_that_are_missing(tmp_path):
    path = vendor.make(Want(ec=True)).write(tmp_path)
    assert codes(read(path), path) == {}
    (tmp_path / "network_ecblobs.h").unlink()
    assert "network_ecblobs.h, which is not beside it" in codes(read(path), path)["no-ecblobs"]


def test_more_than_the_comment_says():
    text = swap(text_of(Want(version="4.0.0")), ("/* global pool 8 is 1.27 KB */", "/* global pool 8 is 1.10 KB */"))
    found = codes(net(text))
    assert re.search(r"network\.c:\d+: pool xSPI2 has buffers up to byte 1297, .* 1126 bytes", found["pool-use"])
    outside = swap(text_of(Want()), ("(0x71000000UL)", "(0x61000000UL)"))
    assert "buffer w0 (0x61000000 + 0..144) lies in no pool, nor do 4 others" in codes(net(outside))["outside-pools"]


def test_bytes_of_weights_are_counted_once():
    text = text_of(Want())
    row = re.search(r"    \{\n      \.name = \"w1\".*?\n    \},\n", text, re.S).group()
    network = net(swap(text, (row, row + row)))
    weights = [row for row in rows_by_pool(network)["xSPI2"] if row.is_param]
    assert len(weights) == 6
    assert covered(weights) == covered([r for r in rows_by_pool(net(text))["xSPI2"] if r.is_param])


# ---- what cannot be understood is said with its line


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (".offset_end = 28672", ".offset_end = END", "offset_end is 'END', no number"),
        (".offset_end = 28672", ".offset_end = 080", "'080' is no number of 32 bits"),
        (".offset_end = 28672", ".offset_end = 99999999999", "no number of 32 bits"),
        (".offset_end = 28672", ".offset_end = 12", "ends at 12, before its start 1024"),
        (".offset_end = 28672", ".offset_end = -28672", "offset_end is -28672"),
        (".offset_end = 28672,", "", "offset_end is '', no number"),
        ("(unsigned char *)(0x342e0000UL)", "(unsigned char *)(somewhere)", "neither a number nor a pool"),
        ("{ 1, 96, 96, 3 }", "{ 1, x, 96, 3 }", "no list of whole numbers"),
        ("buff_info__input_0_quant_scale[] = { 0.0", "buff_info__input_0_quant_scale[] = { a0.0", "no list of numbers"),
        (".shape = buff_info__shape_1_3_96_96", ".shape = nothing_here", "'nothing_here', which is not in the file"),
        (".epoch_num = 3", ".epoch_num = three", "epoch_num is 'three', no number"),
        (" | EpochBlock_Flags_pure_hw", "", "has no kind"),
        ("EpochBlock_Flags_last_eb", "EpochBlock_Flags_NONE", "no terminator after"),
        (" size=458752 ", " ", "has no size="),
        ("offset=0x342e0000", "offset=0x1342e0000", "'0x1342e0000' is no number of 32 bits"),
        ("offset=0x342e0000", "offset=here", "'here' is no number of 32 bits"),
    ],
)
def test_damage_is_found(old, new, said):
    network = net(swap(text_of(Want()), (old, new)))
    found = [problem for problem in network.problems if said in problem.what]
    assert found, [problem.text for problem in network.problems]
    line = int(found[0].where.removeprefix("network.c:"))
    assert 1 < line <= network.text.count("\n") + 1
    # The rest is there.
    assert network.pools and network.rows and network.blocks


def test_lines_of_damage():
    text = swap(text_of(Want()), (".offset_end = 28672", ".offset_end = END"))
    wanted = text[: text.index('.name = "serving')].count("\n") + 1
    assert [problem.where for problem in net(text).problems] == [f"network.c:{wanted - 1}"]


def test_a_table_that_breaks_off():
    text = text_of(Want())
    text = text[: text.index('.name = "w2"') + 40]
    network = net(text)
    assert [row.name for row in network.rows] == ["serving/a//b {0}:0", "w0", "w1"]
    assert "the input table cannot be read from here on" in {problem.what for problem in network.problems}


@pytest.mark.parametrize("text", ["", "int main(void) { return 0; }", "LL_ATON_EpochBlockItems", "\0" * 100])
def test_what_is_no_network(text):
    with pytest.raises(NeuralArtError, match="not a generated network") as caught:
        net(text)
    assert caught.value.where == "network.c"


# ---- blobs


@pytest.mark.parametrize(
    ("version", "feature"),
    list(itertools.product(RELEASES, [{}, {"relative": True}, {"user_io": True}, {"name": "a_1"}])),
)
def test_blobs(version, feature):
    want = Want(version=version, ec=True, **feature)
    header = ecblobs.parse(vendor.ecblobs(want), "e.h")
    assert header.problems == ()
    (blob,) = header.blobs
    old, moved = version in ("2.0", "2.1"), want.relative or want.user_io
    assert header.name == want.c_name
    assert blob.symbol == ("_ec_blob_0" if old else f"_ec_blob_{want.c_name}_0")
    assert (blob.network, blob.number) == ("" if old else want.c_name, 0)
    assert blob.bytes == 8 * blob.words == header.bytes
    # What is flashed: with its relocations, and rounded up as its declaration says.
    words = len(vendor._blob_words(want))
    assert blob.words == (words if version in ("2.0", "2.1", "2.2") else -(-words // 8) * 8)
    assert blob.form == ("wrapped" if moved else "plain")
    assert blob.encrypted is (None if old else False)
    assert blob.copy_words == (16 if moved else 0)
    assert [(relocation.id, relocation.patches) for relocation in blob.relocations] == (
        ([("xSPI2", 1)] if want.relative else [])
        + ([("_user_io_input_0", 1), ("_user_io_output_0", 2)] if want.user_io else [])
    )
    for number, relocation in enumerate(blob.relocations):
        symbol = f"((unsigned char *)_mem_pool_{relocation.id}_{want.c_name})"
        assert (relocation.index, relocation.symbol) == (number, symbol)


def test_many_blobs_and_encryption():
    want = Want(version="4.0.1", name="n", ec=True, relative=True)
    one = vendor.ecblobs(want)
    more = one.replace("_ec_blob_n_0", "_ec_blob_n_12").replace("_12 false", "_12 true")
    header = ecblobs.parse(one.replace("_ec_blob_n_0", "_ec_blob_n_1") + more, "e.h")
    assert [(blob.number, blob.encrypted) for blob in header.blobs] == [(1, False), (12, True)]
    assert [len(blob.relocations) for blob in header.blobs] == [1, 1]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[24]", "[9999]", "has 23 values"),
        ("[24]", "[20]", "has 23 values"),
        ("};\n", "", "has no end"),
        ("0x00000018ecbf0050", "0x1ffffffffffffffffff", "more than 64 bits"),
        ("0x00000018ecbf0050", "0x00000018ecbf0051", ""),
    ],
)
def test_damaged_blobs(old, new, said):
    want = Want(version="4.0.1", ec=True, relative=True)
    text = vendor.ecblobs(want)
    header = ecblobs.parse(swap(text, (old, new)), "e.h")
    if said:
        assert any(said in problem.what for problem in header.problems), header.problems
    else:
        assert header.blobs[0].form == "unknown"


def test_tables_of_relocations_that_lead_out():
    want = Want(version="4.0.1", ec=True, relative=True)
    words = vendor._blob_words(want)
    for index, value in ((0, 0xECBF0050), (2, 1 << 31), (3, 0xFFFFFFFF), (3, (5000 << 0)), (2, 24)):
        changed = list(words)
        changed[index] = value
        text = re.sub(
            r"= \{.*?\};", "= {" + ", ".join(map(hex, changed)) + "};", vendor.ecblobs(want), count=1, flags=re.S
        )
        problems = ecblobs.parse(text, "e.h").problems
        line = text[: text.index("uint64_t _ec_blob")].count("\n") + 1
        assert problems and all(problem.where == f"e.h:{line}" for problem in problems)


def test_what_is_no_blob_header():
    with pytest.raises(NeuralArtError, match="no header with epoch-controller blobs"):
        ecblobs.parse("#pragma once\n", "e.h")


# ---- initializers as C


@pytest.mark.parametrize(("version", "relative"), list(itertools.product(RELEASES, [False, True])))
def test_initializer_as_c(version, relative):
    want = Want(version=version, relative=relative)
    found = pools.parse_initializer(vendor.initializer_c(want), "i.c")
    assert found.data == vendor.raw(want)
    assert (found.network, found.symbol) == (want.c_name, f"_mem_pool_xSPI2_{want.c_name}")
    assert (found.size, found.words) == (1297, 163)
    assert (found.pool.fname, found.pool.relative, found.pool.address) == ("xSPI2", relative, 0x71000000)
    assert found.problems == ()


def test_initializer_without_comments():
    text = re.sub(r"/\*.*?\*/\n", "", vendor.initializer_c(Want()))
    found = pools.parse_initializer(text.replace("[163]", "[]"), "i.c")
    assert (found.pool, found.size, found.network) == (None, 1304, "")
    assert found.data[:1297] == vendor.raw(Want())


def test_initializer_with_comments_among_its_words():
    text = vendor.initializer_c(Want()).replace(",\n", ", /* 0x10 { */ // 7\n")
    with pytest.raises(NeuralArtError):  # a brace in a comment ends nothing, but this one does
        pools.parse_initializer("uint64_t _mem_pool_a_b[1] = {", "i.c")
    assert pools.parse_initializer(text, "i.c").data == vendor.raw(Want())


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[163]", "[164]", "has 163 values"),
        ("1297 bytes", "1290 bytes", "has 1304 bytes, its comment says that 1290 are in use"),
        ("1297 bytes", "5000 bytes", "its comment says that 5000 are in use"),
    ],
)
def test_contradictions_of_an_initializer(old, new, said):
    found = pools.parse_initializer(swap(vendor.initializer_c(Want()), (old, new)), "i.c")
    assert any(said in problem.what for problem in found.problems)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no initializer as C"),
        ("const uint64_t _mem_pool_a_b[2] = { 0x1, ", "has no end"),
        ("const uint64_t _mem_pool_a_b[2] = { 0x11111111111111111 };", "is no number of 64 bits"),
    ],
)
def test_what_is_no_initializer(text, said):
    with pytest.raises(NeuralArtError, match=said):
        pools.parse_initializer(text, "i.c")


# ---- text helpers


@pytest.mark.parametrize(
    ("text", "value"),
    [("64", 64), ("0x40UL", 64), ("(64)", 64), ("-64", -64), ("010", 8), ("09", None), ("a", None), ("", None),
     ("0x" + "f" * 16, (1 << 64) - 1), ("9" * 30, None), ("1.5", None)],
)  # fmt: skip
def test_integers(text, value):
    assert initializers.integer(text) == value


def test_reals():
    assert initializers.reals("1, -2.5f, .5, 1e-05,") == (1.0, -2.5, 0.5, 1e-05)
    assert initializers.reals("nan") is None and initializers.reals("1e999") is None and initializers.reals("") == ()


def test_the_generator_itself_makes_what_it_says():
    """The blob that the generator wraps is well formed by the description of the format."""
    words = vendor._blob_words(Want(ec=True, relative=True))
    data = struct.pack(f"<{len(words)}Q", *words)
    at = struct.unpack_from("<I", data, 16)[0]
    assert at % 8 == 0 and struct.unpack_from("<I", data, at)[0] == 0xCA057A7A
    assert replace(Want(), version="2.0").c_name == "Default"
