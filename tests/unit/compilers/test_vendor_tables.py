"""network.csv, files of quantization and options, of pools for CPU targets; pools and profiles as people write them."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralart.errors import NeuralArtError
from neuralart.text import sizes
from neuralart.vendor import h7_files, mpool
from neuralart.vendor.h7_files import parse_cpu_pools, parse_cpu_project
from neuralart.vendor.mpool import parse_noted
from neuralart.vendor.profile import parse_profiles
from neuralart.vendor.releases import parse_core
from neuralart_insight.vendor import network_csv
from neuralart_insight.vendor.atonn_options import parse_options
from neuralart_insight.vendor.network_csv import parse_network_csv
from neuralart_insight.vendor.q_json import parse_q_json
from support.models import vendor_reports as vendor


def refused(reader, data, where=r"f:\d+:\d+"):
    with pytest.raises(NeuralArtError) as caught:
        reader(data if isinstance(data, bytes) else data.encode(), "f")
    assert "\n" not in str(caught.value)
    assert re.fullmatch(where, caught.value.where), caught.value.where
    return str(caught.value)


# --- versions ---


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2.0.0-20049", ("2.0.0-20049", (2, 0, 0), "20049", "")),
        ("ST Edge AI Core v4.0.1-20581 7ed50de05", ("4.0.1-20581 7ed50de05", (4, 0, 1), "20581", "7ed50de05")),
        ("v2.0.0-A1", ("2.0.0-A1", (2, 0, 0), "A1", "")),
        ("4.0.1", ("4.0.1", (4, 0, 1), "", "")),
    ],
)
def test_versions_of_the_tool(text, found):
    version = parse_core(text)
    assert version is not None
    assert (version.text, version.numbers, version.build, version.commit) == found


@pytest.mark.parametrize("text", ["", "4.0", "four", "4.0.1-20581 7ed50de05 and more"])
def test_no_versions(text):
    assert parse_core(text) is None


# --- network.csv ---


def csv(text=vendor.CSV):
    return parse_network_csv(text.encode(), "f")


def test_csv():
    table = csv()
    assert [epoch.number for epoch in table.epochs] == [0, 1, 2]
    one, two = table.epochs[1:]
    assert (one.operations, one.compute_cycles, one.max_cycles, one.npu_mw) == (2624000, 64000, 64000, 27.1945)
    assert isinstance(one.operations, int) and two.npu_mw == 10
    (flash,) = two.pools
    assert (flash.name, flash.read, flash.written, flash.cycles) == ("octoFlash", 400, 16, 2496)
    assert [(port.name, port.read, port.written) for port in two.ports] == [("bus port 1", 400, 16)]
    assert [(total.name, total.read) for total in table.totals] == [("octoFlash", 2000)]
    assert table.used == (("octoFlash", round(9.73 * 1024 * 1024)),)
    sums = dict(table.sums)
    assert (sums["cycles"], sums["frames_per_second"], sums["tops_per_watt"]) == (160000, 6250, 0.88)
    assert (table.clock_mhz, table.notes, network_csv.check(table)) == (1000, (), ())
    assert csv(vendor.CSV.replace("\n", "\r\n")).epochs == table.epochs


def test_csv_of_the_future():
    table = csv(vendor.CSV.replace("TOPS/W", "Joules").replace("bus port 1 (r)", "bus port 1 (tea)"))
    assert table.notes == ("unknown column 'bus port 1 (tea)'", "line 17: 'Joules' was not understood")


@pytest.mark.parametrize(
    ("old", "new", "finding"),
    [
        ("Total,2000,", "Total,2010,", "octoFlash: 2010 bytes read in total, the lines have 2000"),
        ("Total cycles,160000", "Total cycles,170000", "170000 cycles in total, the lines have 160000"),
        ("Total OPS,10496000", "Total OPS,1", "1 operations in total"),
        ("2 ,400", "1 ,400", "an epoch stands in two lines"),
    ],
)
def test_csv_sums(old, new, finding):
    assert any(finding in each for each in network_csv.check(csv(vendor.CSV.replace(old, new))))


@pytest.mark.parametrize(
    ("data", "said", "where"),
    [
        ("", "the first title is not 'epochs'", "f:1"),
        ("a,b\n1,2\n", "the first title is not 'epochs'", "f:1"),
        ("epochs,max (cycles),max (cycles)\n", "'max (cycles)' stands here twice", "f:1"),
        ("epochs,max (cycles)\n1,ten\n", "'ten' under 'max (cycles)' is no number", "f:2"),
        ("epochs,max (cycles)\n1,1\n\n2,0x10\n", "'0x10' under", "f:4"),
        ("epochs,max (cycles)\n1,1,1\n", "3 cells under 2 titles", "f:2"),
        ("epochs,max (cycles)\nTotal cycles,many\n", "'many' under 'Total cycles'", "f:2"),
        ("epochs," + "x" * 200_000, "not a network.csv", "f"),
    ],
)
def test_csv_refused(data, said, where):
    assert said in refused(parse_network_csv, data, where)


@given(st.integers(0, 5000), st.binary(max_size=8))
def test_damaged_csv(at, bytes_):
    data = vendor.CSV.encode()
    at %= len(data)
    try:
        network_csv.check(parse_network_csv(data[:at] + bytes_ + data[at + len(bytes_) :], "f"))
    except NeuralArtError as error:
        assert "\n" not in str(error)


# --- quantization ---


def quant(edit=lambda data: None):
    data = vendor.q_json()
    edit(data)
    return vendor.dump(data)


def test_q_json():
    found = parse_q_json(quant(), "f")
    assert (found.version, found.exported, found.model) == ("4.0", "net_OE_3_3_1.onnx", "net.tflite")
    assert found.signature == vendor.SIGNATURE and found.core is not None and found.core.numbers == (4, 0, 1)
    given = found.tensors["Input_0_out_0"]
    assert (given.type, given.scales, given.zero_points, given.channel_position) == ("S8", (0.5,), (3,), "CHLAST")
    assert given.quantized and not found.tensors["Softmax_9_out_0"].quantized
    assert found.inputs[0].shape == (1, 4)


@pytest.mark.parametrize(
    ("node", "layers"),
    [
        ("Conv2D_1", ("CONV_2D_0",)),
        ("Conv2D_1_mul_scale_129", ("CONV_2D_0",)),
        ("Softmax_9_resize_NN_dts_5", ("SOFTMAX_4",)),
        ("Quantize_2", ()),
        ("Conv2D_11", None),
        ("Other_1", None),
        ("", None),
    ],
)
def test_layers_of_a_node(node, layers):
    assert parse_q_json(quant(), "f").layers_of(node) == layers


def test_q_json_of_the_future():
    found = parse_q_json(quant(lambda data: data.update(version="5.1", tea=1)), "f")
    assert found.notes == ("unknown key 'tea'", "version '5.1' read as 4.0")


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda d: d.pop("nodes"), "'tensors' and 'nodes' are not both there"),
        (lambda d: d.update(version=4), "version must be a text, not a number"),
        (lambda d: d.update(nodes=[]), "nodes must be an object"),
        (lambda d: d["nodes"].update(X={"names": "x"}), "nodes.X.names must be a list"),
        (lambda d: d["nodes"].update(X=None), "nodes.X must be an object { }, not null"),
        (lambda d: d["tensors"].update(X={}), "tensors.X has no 'format'"),
        (lambda d: d["tensors"].update(X={"format": {"params": [["1"], [0]]}}), "params[0][0] must be a number"),
        (lambda d: d["tensors"].update(X={"format": {"params": [[1], [0.5]]}}), "params[1][0] must be a whole number"),
        (lambda d: d["model_info"].update(original_inputs=3), "original_inputs must be a list"),
    ],
)
def test_q_json_refused(edit, said):
    assert said in refused(parse_q_json, quant(edit))


# --- options ---


def test_options():
    found = parse_options(vendor.OPTIONS.encode(), "f")
    assert (found.tool, found.version, found.folder) == ("/opt/st/atonn", (1, 1, 3, 275), "/opt/st")
    assert found.options == {
        "load-mpool-file": "pools/stm32n6",
        "cache-maintenance": True,
        "optimization": 3,
        "Omax-ca-pipe": 4,
        "out-dir-prefix": "ws/neural_art__network/",
    }
    windows = b"# Internal Build atonn-v1.1.1-14-ge6 (SHA:e6)\r\n# Based on Version atonn.1.1.1-14\r\nmvei=true\r\n"
    assert parse_options(windows, "f").version == (1, 1, 1, 14)
    assert parse_options(b"mvei = false", "f").version is None


def test_an_option_that_stands_twice():
    found = parse_options(b"a=1\na=2\n", "f")
    assert found.options == {"a": 2} and found.notes == ("line 2: 'a' stands here a second time",)


@pytest.mark.parametrize(
    ("data", "said", "where"),
    [
        ("", "the file is empty", "f"),
        ("a=1\nhello\n", "'hello' is no option", "f:2"),
        ('a=1\n\nb="x\n', "a text is not closed", "f:3"),
        ("=1", "is no option", "f:1"),
    ],
)
def test_options_refused(data, said, where):
    assert said in refused(parse_options, data, where)


# --- pools of CPU targets ---

DOCUMENTED = """{"version": "1.0", "memory": {"mempools": [
 {"name": "AXIRAM", "size": "128KB", "usable_size": "96KB", "address": "0x24000000"},
 {"name": "DTCM", "size": "0x8000", "address": 536870912}]}}"""
MAGNITUDES = """{ // as people write it
 "memory": { "mempools": [
  { "name": "DTCMRAM", "prop": { "throughput": "HIGH", "latency": "LOW" },
    "size": { "value": "120", "magnitude": "KBYTES" }, "offset": { "value": "0", "magnitude": "BYTES" }, },
  { "name": "SDRAM", /* outside */ "size": { "value": 20000, "magnitude": "KBYTES" },
    "usable_size": { "value": "0x10", "magnitude": "mbytes" },
    "offset": { "value": "0xD0000000", "magnitude": "BYTES" } }
 ] } }"""


def test_cpu_pools_in_every_spelling():
    one = parse_cpu_pools(DOCUMENTED.encode(), "f")
    assert (one.version, one.notes, h7_files.check_cpu_pools(one)) == ("1.0", (), ())
    assert [(p.name, p.address, p.size, p.usable) for p in one.pools] == [
        ("AXIRAM", 0x24000000, 131072, 98304),
        ("DTCM", 0x20000000, 32768, 32768),
    ]
    two = parse_cpu_pools(MAGNITUDES.encode(), "f")
    assert [(p.name, p.address, p.size, p.usable, p.throughput) for p in two.pools] == [
        ("DTCMRAM", 0, 122880, 122880, "HIGH"),
        ("SDRAM", 0xD0000000, 20480000, 16777216, ""),
    ]
    line = MAGNITUDES.splitlines()[3]
    assert two.notes == (
        "1:3: a comment, which the compiler's own reader refuses",
        f"4:{line.rindex(', }') + 1}: a trailing comma, which the compiler's own reader refuses",
    )
    assert h7_files.check_cpu_pools(two) == ()


@pytest.mark.parametrize(
    ("text", "size"), [("8B", 8), ("8", 8), ("1kb", 1024), ("2 MB", 2 << 20), ("1GBYTES", 1 << 30), ("0x10KB", 16384)]
)
def test_sizes_with_units(text, size):
    assert sizes.parse(text, "f", "size") == size


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"128KB"', '"128KiB"', "size of pool AXIRAM is '128KiB', not a size"),
        ('"128KB"', '"lots"', "is 'lots'"),
        ('"128KB"', "-1", "size of pool AXIRAM is -1 bytes"),
        ('"128KB"', "true", "must be a number, a text or value and magnitude, not true or false"),
        ('"128KB"', '{"magnitude": "BYTES"}', "has no 'value'"),
        ('"128KB"', '{"value": "1", "magnitude": "BITS"}', "magnitude of size of pool AXIRAM is 'BITS'"),
        ('"128KB"', '{"value": {}, "magnitude": "BYTES"}', "must be a number or a text, not an object"),
        ('"128KB"', "null", "not null"),
        ('"name": "DTCM", ', "", "pool 1 has no 'name'"),
        ('"DTCM"', '""', "name of pool 1 is empty"),
        ('"DTCM"', "7", "must be a text, not a number"),
        ('"size": "0x8000", ', "", "pool DTCM has no 'size'"),
        ('"address": 536870912', '"address": 1, "offset": 1', "both 'address' and 'offset'"),
        ('"mempools": [', '"mempools": {', "':' is missing|a key in double quotes is missing"),
        ('"mempools"', '"pools"', "memory has no 'mempools'"),
        ('"memory"', '"memories"', "the document has no 'memory'"),
        ('"name": "DTCM", ', '"name": "DTCM", "fname": "x", ', "a pool with 'fname'"),
    ],
)
def test_cpu_pools_refused(old, new, said):
    assert old in DOCUMENTED
    assert re.search(said, refused(parse_cpu_pools, DOCUMENTED.replace(old, new)))


@pytest.mark.parametrize(
    ("old", "new", "finding"),
    [
        ('"96KB"', '"256KB"', "pool AXIRAM: 262144 bytes are usable of 131072"),
        ("536870912", "603979780", "pools AXIRAM and DTCM overlap by 131068 bytes"),
        ('"DTCM"', '"AXIRAM"', "pool AXIRAM is listed twice"),
        ('"DTCM"', '"D TCM"', "'D TCM' cannot name a C buffer"),
        ('"0x24000000"', '"0xFFFFFFF0"', "behind the 32-bit address space"),
    ],
)
def test_cpu_pools_that_do_not_go_together(old, new, finding):
    found = h7_files.check_cpu_pools(parse_cpu_pools(DOCUMENTED.replace(old, new).encode(), "f"))
    assert any(finding in each for each in found), found


def test_unknown_keys_of_cpu_pools():
    text = DOCUMENTED.replace('"name": "DTCM"', '"_why": 1, "color": 2, "name": "DTCM"')
    assert [note.split(": ", 1)[1] for note in parse_cpu_pools(text.encode(), "f").notes] == [
        "unknown key 'color' in pool DTCM"
    ]


# --- description of an application ---

CONF = """{
 "version": "0.1", "description": "demo", "series": "stm32h7", "board": ["B1", "B2"], "builder": "stm32_cube_ide",
 "env": { "cwd": "${ProjectFolder}" },
 "templates": [ // what, to, how
  [ "", "${cwd}/network.c", "copy" ],
 ],
 "memory_pool": { "internalFlash_size": "1024KB", "application_size": "8B", "memory_pool_path": "${cwd}/m.json" },
 "configurations": [ { "name": "release" }, { "name": "debug" }, ]
}"""


def test_conf():
    found = parse_cpu_project(CONF.encode(), "f")
    assert (found.boards, found.configurations, found.pool_file) == (
        ("B1", "B2"),
        ("release", "debug"),
        "${cwd}/m.json",
    )
    assert found.sizes == {"internalFlash_size": 1048576, "application_size": 8}
    assert found.copies == (("", "${cwd}/network.c", "copy"),) and found.notes == ()
    later = parse_cpu_project(CONF.replace('"0.1"', '"9"').replace('"series"', '"serial"').encode(), "f")
    assert [note.split(": ", 1)[1] for note in later.notes] == ["unknown key 'serial'", "version '9', 0.1 is known"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"1024KB"', '"1024KW"', "internalFlash_size is '1024KW', not a size"),
        ('["B1", "B2"]', "[1]", "board[0] must be a text"),
        ('"${ProjectFolder}"', "1", "must be a text"),
        ('{ "name": "debug" }', "3", "must be an object"),
        ('"templates": [', '"templates": {', "is missing"),
        ('"version": "0.1"', '"version": 0.1', "version must be a text"),
    ],
)
def test_conf_refused(old, new, said):
    assert said in refused(parse_cpu_project, CONF.replace(old, new))


def test_conf_of_something_else():
    assert "neither 'configurations' nor 'memory_pool'" in refused(h7_files.parse_cpu_project, "{}")


# --- pool files of the NPU, as people write them ---

MPOOL = """{
 "memory": {
  "mem_file_prefix": "atonbuf",
  "mempools": [
   { "fname": "xSPI2", "name": "octoFlash", "fformat": "FORMAT_RAW",
     "prop": { "rights": "ACC_READ", "throughput": "MID", "latency": "HIGH" },
     "offset": { "value": "0x71000000", "magnitude": "BYTES" }, "size": { "value": "0x1000", "magnitude": "BYTES" } }
  ]
 }
}"""


def noted(text):
    pools, notes = parse_noted(text.encode(), "f")
    assert (pools.pools[0].address, pools.pools[0].size) == (0x71000000, 4096)
    return notes


def test_a_right_pool_file_has_no_notes():
    assert noted(MPOOL) == ()
    assert noted(MPOOL.replace('"fname"', '"_comment": "mine", "fname"')) == ()


@pytest.mark.parametrize(
    ("old", "new", "note"),
    [
        (
            '"BYTES" } }\n',
            '"BYTES" } },\n',
            f"7:{len(MPOOL.splitlines()[6]) + 1}: a trailing comma, which the compiler's own reader refuses",
        ),
        (' "memory"', ' // mine\n "memory"', "2:2: a comment, which"),
        (' "memory"', ' /* mine\n */ "memory"', "2:2: a comment, which"),
        ('"octoFlash"', '"octoFläsh"', "5:39: U+00E4, but this format is ASCII only"),
        ('"fname"', '"tea": 1, "fname"', "5:13: unknown key 'tea' in pool xSPI2"),
        ('"rights"', '"tea": 1, "rights"', "6:23: unknown key 'tea' in prop of pool xSPI2"),
        ('"value": "0x1000"', '"tea": 1, "value": "0x1000"', "unknown key 'tea' in size of pool xSPI2"),
        ('"mempools"', '"tea": 1, "mempools"', "unknown key 'tea' in memory"),
    ],
)
def test_what_a_compiler_would_refuse_is_noted(old, new, note):
    assert old in MPOOL
    text = MPOOL.replace(old, new, 1)
    notes = noted(text)
    assert len(notes) == 1 and note in notes[0], notes


def test_a_mark_in_front_is_noted():
    assert "byte-order mark" in noted("\ufeff" + MPOOL)[0]


def test_pools_that_overlap_are_noted():
    twice = MPOOL.replace(
        '"mempools": [',
        '"mempools": [ { "fname": "A", "prop": { "rights": "ACC_READ" }, "offset": '
        '{ "value": "0x71000800", "magnitude": "BYTES" }, "size": { "value": "1", "magnitude": "MBYTES" } },',
    )
    pools, notes = parse_noted(twice.encode(), "f")
    assert len(pools.pools) == 2 and "pools overlap by 2048 bytes" in notes[0] and notes[0][0].isdigit()
    with pytest.raises(NeuralArtError, match="overlap"):
        mpool.parse_pools(twice.encode(), "f")


def test_no_enabled_pool_is_noted():
    pools, notes = parse_noted(MPOOL.replace("0x1000", "0").encode(), "f")
    assert pools.enabled == () and "no pool is enabled" in notes[0]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("ACC_READ", "ACC_RAED", "did you mean 'ACC_READ'"),
        ('"0x1000"', "4,096", "is missing"),
        ('"fname": "xSPI2"', '"fname: "xSPI2"', "missing"),
        ("/", "/*", None),
        ('"memory"', '"memory" /* never closed', "comment is not closed"),
    ],
)
def test_what_is_wrong_stays_wrong(old, new, said):
    if said is not None:
        assert said in refused(parse_noted, MPOOL.replace(old, new, 1))


def test_a_build_takes_none_of_it():
    for text in (MPOOL.replace('"BYTES" } }\n', '"BYTES" } },\n'), "// x\n" + MPOOL, "\ufeff" + MPOOL):
        with pytest.raises(NeuralArtError):
            mpool.parse_pools(text.encode(), "f")


# --- profile files ---

PROFILES = r"""{
 // the profiles
 "Globals": { "NA_binary": "x" },
 "Profiles": {
  "default": { "memory_pool": "pools/a.mpool", "options": "-O3 --Os \
--enable-epoch-controller" },
  "old": { "memory_desc": "m.mdesc" },
 }
}"""


def test_profiles(tmp_path):
    (tmp_path / "pools").mkdir()
    (tmp_path / "pools/a.mpool").write_text("")
    found = parse_profiles(PROFILES.encode(), "f", tmp_path)
    one, two = found.profiles
    assert (one.name, one.memory_pool, one.found, one.line) == ("default", "pools/a.mpool", True, 5)
    assert one.options == ("-O3", "--Os", "--enable-epoch-controller")
    assert (two.memory_pool, two.found, two.machine_desc, two.old_key) == ("", None, "m.mdesc", True)
    assert found.global_keys == ("NA_binary",)
    assert found.notes == (
        "7:38: a trailing comma, which the compiler's own reader refuses",
        "7:27: 'memory_desc' in profile 'old' is ignored from 2.2 on: use 'machine_desc'",
    )
    assert parse_profiles(PROFILES.encode(), "f").profiles[0].found is None
    assert parse_profiles(PROFILES.encode(), "f", tmp_path / "pools").profiles[0].found is False


def test_unknown_keys_of_profiles():
    text = PROFILES.replace('"Globals"', '"Tea": 1, "_why": 2, "Globals"').replace('"options"', '"milk": 1, "options"')
    words = [note.split(": ", 1)[1] for note in parse_profiles(text.encode(), "f").notes]
    assert "unknown key 'Tea'" in words and "unknown key 'milk' in profile 'default'" in words
    assert "no profile is listed" in parse_profiles(b'{"Profiles": {}}', "f").notes[0]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"Profiles"', '"Profile"', "there is no 'Profiles'"),
        ('{ "memory_desc": "m.mdesc" }', "3", "profile 'old' must be an object"),
        ('"m.mdesc"', "[]", "memory_desc of profile 'old' must be a text"),
        ('"pools/a.mpool"', "1", "memory_pool of profile 'default' must be a text"),
        ("--Os", "--Os 'x", "no closing quotation"),
        ('{ "NA_binary": "x" }', "1", "Globals must be an object"),
    ],
)
def test_profiles_refused(old, new, said):
    assert said in refused(parse_profiles, PROFILES.replace(old, new, 1))


READERS = [
    (parse_noted, MPOOL),
    (parse_profiles, PROFILES),
    (parse_cpu_pools, MAGNITUDES),
    (parse_cpu_project, CONF),
    (parse_options, vendor.OPTIONS),
    (parse_q_json, json.dumps(vendor.q_json())),
]


@given(st.sampled_from(READERS), st.integers(0, 5000), st.binary(max_size=8))
def test_damaged_bytes(case, at, bytes_):
    """Read, or refused in one line: nothing else, whatever stands there."""
    reader, text = case
    data = text.encode()
    at %= len(data)
    try:
        reader(data[:at] + bytes_ + data[at + len(bytes_) :], "f")
    except NeuralArtError as error:
        assert "\n" not in str(error) and str(error).startswith("f")
