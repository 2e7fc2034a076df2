"""Memory-pool files: both spellings, all units, and every way to get one wrong."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralart.errors import NeuralArtError
from neuralart.network.pools import default_initializers
from neuralart.vendor import mpool
from neuralart.vendor.mpool import parse_pools

WRITTEN = b"""{
 "params": { "param": [ { "paramname": "max_onchip_sram_size", "value": "1024", "magnitude": "KBYTES" } ] },
 "memory": {
  "cacheinfo": [ { "nlines": 512 } ],
  "mem_file_prefix": "atonbuf",
  "mempools": [
   { "fname": "AXISRAM5", "name": "npuRAM5", "fformat": "FORMAT_RAW",
    "prop": { "rights": "ACC_WRITE", "throughput": "HIGH", "latency": "LOW", "byteWidth": 8, "freqRatio": 1.25,
     "read_power": 18.531, "write_power": 16.201 },
    "offset": { "value": "0x342e0000", "magnitude": "BYTES" },
    "size": { "value": "448", "magnitude": "KBYTES" } },
   { "fname": "xSPI2", "name": "octoFlash", "fformat": "FORMAT_RAW",
    "prop": { "rights": "ACC_READ", "throughput": "MID", "latency": "HIGH", "byte_width": 1, "freq_ratio": 6.0,
     "cacheable": "CACHEABLE_ON", "constants_preferred": "true" },
    "offset": { "value": "1838592", "magnitude": "KBYTES" },
    "size": { "value": "61", "magnitude": "MBYTES" } }
  ]
 }
}"""


def place(text: bytes, token: str) -> str:
    """Where a token stands, counted without the reader."""
    before = text.decode()[: text.decode().index(token)]
    return f"p.mpool:{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


def document() -> dict:
    return json.loads(WRITTEN)


def changed(edit) -> bytes:
    data = copy.deepcopy(document())
    edit(data["memory"]["mempools"], data["memory"])
    return json.dumps(data, indent=1).encode()


def refusal(data: bytes) -> NeuralArtError:
    with pytest.raises(NeuralArtError) as caught:
        parse_pools(data, "p.mpool")
    assert "\n" not in str(caught.value)
    assert caught.value.where.startswith("p.mpool:")
    return caught.value


def test_written_spelling():
    pools = parse_pools(WRITTEN, "p.mpool")
    ram, flash = pools.pools
    assert (ram.fname, ram.name, ram.address, ram.size, ram.rights) == (
        "AXISRAM5",
        "npuRAM5",
        0x342E0000,
        448 * 1024,
        "ACC_WRITE",
    )
    assert (ram.throughput, ram.latency, ram.byte_width, ram.freq_ratio) == ("HIGH", "LOW", 8, 1.25)
    assert (ram.read_power, ram.write_power, ram.cacheable, ram.constants_preferred) == (18.531, 16.201, False, False)
    assert (flash.address, flash.size, flash.byte_width, flash.freq_ratio) == (0x70380000, 61 << 20, 1, 6.0)
    assert (flash.cacheable, flash.constants_preferred, flash.writable) == (True, True, False)
    assert (flash.fformat, flash.mode) == ("FORMAT_RAW", "USEMODE_ABSOLUTE")
    assert (pools.prefix, pools.path, ram.where) == ("atonbuf", "p.mpool", place(WRITTEN, '{ "fname": "AXISRAM5"'))
    assert default_initializers(pools) == ("xSPI2",)


def saved_spelling() -> bytes:
    def prop(**own):
        return {
            "byteWidth": 8,
            "freqRatio": 1.25,
            "burstMaxLength": 4294967295,
            "burstPenalty": 0,
            "pipelined": "PIPELINED_ON",
            "cacheable": "CACHEABLE_OFF",
            "readPower": 18.531,
            "writePower": 16.201,
            "constantsPreferred": False,
            **own,
        }

    def pool(fname, name, offset, size, mode="USEMODE_ABSOLUTE", fformat="FORMAT_RAW", **own):
        return {
            "fname": fname,
            "name": name,
            "fformat": fformat,
            "prop": prop(**own),
            "offset": {"value": str(offset[0]), "magnitude": offset[1]},
            "size": {"value": str(size[0]), "magnitude": size[1]},
            "mode": mode,
            "busNode": 0,
        }

    ram = {"rights": "ACC_WRITE", "throughput": "HIGH", "latency": "LOW"}
    flash = {"rights": "ACC_READ", "throughput": "MID", "latency": "HIGH", "byteWidth": 1, "freqRatio": 6}
    flash |= {"cacheable": "CACHEABLE_ON", "constantsPreferred": True, "readPower": 0, "writePower": 0}
    pools = [
        pool("AXISRAM5", "npuRAM5", (854912, "KBYTES"), (448, "KBYTES"), **ram),
        pool("xSPI2", "octoFlash", (1838592, "KBYTES"), (61, "MBYTES"), **flash),
        pool(
            "params",
            "ec params pool",
            (0, "BYTES"),
            (9223372036854775776, "BYTES"),
            "USEMODE_RELATIVE",
            "FORMAT_C",
            **flash,
        ),
    ]
    return json.dumps({"memory": {"memFilePrefix": "atonbuf", "mempools": pools}}).encode()


def test_both_spellings_mean_the_same():
    written, saved = parse_pools(WRITTEN, "p").pools, parse_pools(saved_spelling(), "p").pools
    strip = {"where": "", "read_power": 0.0, "write_power": 0.0}

    def facts(pool):
        return {**vars(pool), **strip}

    assert [facts(pool) for pool in written] == [facts(pool) for pool in saved[:2]]
    assert (saved[2].fname, saved[2].mode) == ("params", "USEMODE_RELATIVE")


@given(
    st.integers(0, 2**31), st.sampled_from(["BYTES", "KBYTES", "MBYTES"]), st.sampled_from(["dec", "hex", "HEX", "int"])
)
def test_units(value, unit, form):
    factor = {"BYTES": 1, "KBYTES": 1024, "MBYTES": 1024 * 1024}[unit]
    text = {"dec": str(value), "hex": hex(value), "HEX": f"0X{value:X}", "int": value}[form]

    def edit(pools, _memory):
        del pools[1]
        pools[0]["offset"] = {"value": text, "magnitude": unit}
        pools[0]["size"] = {"value": "16", "magnitude": "BYTES"}

    if value * factor + 16 > 2**32:
        error = refusal(changed(edit))
        assert f"ends at 0x{value * factor + 16:x}" in error.what
    else:
        assert parse_pools(changed(edit), "p").pools[0].address == value * factor


def put(number, *path, value):
    def edit(pools, _memory):
        here = pools[number]
        for key in path[:-1]:
            here = here[key]
        here[path[-1]] = value

    return edit


def drop(number, *path):
    def edit(pools, _memory):
        here = pools[number]
        for key in path[:-1]:
            here = here[key]
        del here[path[-1]]

    return edit


@pytest.mark.parametrize(
    ("edit", "what", "hint"),
    [
        (put(0, "size", "magnitude", value="KBYTE"), "magnitude of size of pool AXISRAM5 is 'KBYTE'", "'KBYTES'"),
        (put(0, "size", "magnitude", value="kbytes"), "magnitude of size of pool AXISRAM5 is 'kbytes'", "KBYTES"),
        (drop(0, "size", "magnitude"), "size of pool AXISRAM5 has no 'magnitude'", "BYTES, KBYTES, MBYTES"),
        (put(0, "size", "value", value="-1"), "size of pool AXISRAM5 is negative: -1", ""),
        (put(0, "size", "value", value=-1), "size of pool AXISRAM5 is negative: -1", ""),
        (put(0, "size", "value", value="1.5"), "size of pool AXISRAM5 is '1.5'", "decimal or hexadecimal"),
        (put(0, "size", "value", value="448K"), "size of pool AXISRAM5 is '448K'", "decimal or hexadecimal"),
        (put(0, "size", "value", value="0x"), "size of pool AXISRAM5 is '0x'", "decimal or hexadecimal"),
        (put(0, "size", "value", value=1.5), "size of pool AXISRAM5 must be a number or a text, not a number", ""),
        (put(0, "size", value="448"), "size of pool AXISRAM5 must be an object { }, not a text", ""),
        (drop(0, "size"), "pool AXISRAM5 has no 'size'", "it has: fname"),
        (drop(0, "offset"), "pool AXISRAM5 has no 'offset'", ""),
        (drop(0, "fname"), "pool 0 has no 'fname'", "Neural-ART format"),
        (put(0, "fname", value="AXI SRAM"), "fname 'AXI SRAM' cannot be part of a file name and a C name", ""),
        (put(0, "fname", value="../x"), "fname '../x' cannot be part of a file name and a C name", ""),
        (put(0, "fname", value=""), "fname '' cannot be part", ""),
        (put(0, "fname", value=5), "fname of pool 0 must be a text, not a number", ""),
        (put(0, "fname", value="xSPI2"), "fname 'xSPI2' is used twice, first at p.mpool:", "its own fname"),
        (put(0, "fname", value="XSPI2"), "fname 'xSPI2' is used twice", ""),
        (drop(0, "prop"), "pool AXISRAM5 has no 'prop'", "rights"),
        (drop(0, "prop", "rights"), "prop of pool AXISRAM5 has no 'rights'", "ACC_READ or ACC_WRITE"),
        (
            put(0, "prop", "rights", value="ACC_WRTE"),
            "rights of pool AXISRAM5 is 'ACC_WRTE'",
            "did you mean 'ACC_WRITE'?",
        ),
        (put(0, "prop", "throughput", value="FAST"), "throughput of pool AXISRAM5 is 'FAST'", "HIGH, LOW, MID"),
        (put(0, "prop", "latency", value=1), "latency of pool AXISRAM5 is a number", ""),
        (put(0, "prop", "cacheable", value="YES"), "cacheable of pool AXISRAM5 is 'YES'", "CACHEABLE_ON"),
        (put(0, "prop", "constants_preferred", value="yes"), "constantsPreferred of pool AXISRAM5 is 'yes'", "true"),
        (put(0, "prop", "byteWidth", value="8"), "byteWidth of pool AXISRAM5 must be a number, not a text", ""),
        (put(0, "prop", "byteWidth", value=0), "byteWidth of pool AXISRAM5 is 0, the least is 1", ""),
        (put(0, "prop", "byteWidth", value=1.5), "byteWidth of pool AXISRAM5 is 1.5, not a whole number", ""),
        (put(0, "prop", "byte_width", value=4), "pool AXISRAM5 has both 'byteWidth' and 'byte_width'", "keep one"),
        (put(0, "prop", "freqRatio", value=-1), "freqRatio of pool AXISRAM5 is -1", ""),
        (
            put(0, "prop", "read_power", value=True),
            "readPower of pool AXISRAM5 must be a number, not true or false",
            "",
        ),
        (put(0, "fformat", value="RAW"), "fformat of pool AXISRAM5 is 'RAW'", "FORMAT_RAW"),
        (put(0, "mode", value="ABSOLUTE"), "mode of pool AXISRAM5 is 'ABSOLUTE'", "USEMODE_ABSOLUTE"),
        (
            put(0, "offset", "value", value="0xffffffff"),
            "pool AXISRAM5 ends at 0x10006ffff, behind the 32-bit",
            "magnitudes",
        ),
        (lambda pools, memory: memory.update(mempools=[]), "no pool is listed", ""),
        (lambda pools, memory: memory.update(mempools={}), "mempools must be a list [ ], not an object", ""),
        (lambda pools, memory: memory.update(mem_file_prefix="a/b"), "mem_file_prefix 'a/b' cannot be part of", ""),
        (lambda pools, memory: memory.pop("mempools"), "memory has no 'mempools'", ""),
        (
            lambda pools, memory: [pool["size"].update(value="0") for pool in pools],
            "no pool is enabled: 2 listed, all of size 0",
            "give at least one pool a size",
        ),
        (
            put(1, "offset", value={"value": "0x342f0000", "magnitude": "BYTES"}),
            "pools overlap by 393216 bytes: AXISRAM5 0x342e0000-0x34350000 (458752 bytes) of p.mpool:",
            "size 0",
        ),
        (
            put(1, "offset", value={"value": "0x34000000", "magnitude": "BYTES"}),
            "pools overlap by 458752 bytes: xSPI2 0x34000000-0x37d00000 (63963136 bytes) of p.mpool:",
            "",
        ),
    ],
)
def test_refusals(edit, what, hint):
    error = refusal(changed(edit))
    assert what in error.what
    assert hint in error.hint


def test_the_place_is_the_wrong_value():
    text = WRITTEN.replace(b'"448"', b'"44x8"')
    assert refusal(text).where == place(text, '"44x8"')


@pytest.mark.parametrize(
    ("old", "new", "at", "what"),
    [
        (b'"KBYTES" } },', b'"KBYTES" }, },', ", },", "a comma before '}'"),
        (b'"name": "octoFlash"', b'"name: "octoFlash"', "octoFlash", "':' is missing after the key 'name: '"),
        (b'"memory": {', b'"memory": { // pools', "// pools", "a comment is not allowed here"),
        (b"npuRAM5", "npuR\u00c4M5".encode(), "\u00c4", "character U+00C4: this format is ASCII only"),
    ],
)
def test_not_json(old, new, at, what):
    assert old in WRITTEN
    text = WRITTEN.replace(old, new)
    error = refusal(text)
    assert error.where == place(text, at)
    assert error.what.startswith(what)


def test_a_pool_of_size_zero_may_lie_anywhere():
    def edit(pools, _memory):
        pools[1]["size"]["value"] = "0"
        pools[1]["offset"]["value"] = "0x342e0000"
        pools[1]["offset"]["magnitude"] = "BYTES"

    pools = parse_pools(changed(edit), "p")
    assert [pool.fname for pool in pools.enabled] == ["AXISRAM5"]
    assert len(pools.pools) == 2


def test_touching_pools_do_not_overlap():
    edit = put(1, "offset", value={"value": "0x34350000", "magnitude": "BYTES"})
    assert len(parse_pools(changed(edit), "p").enabled) == 2


def test_unknown_keys_are_left_alone():
    edit = put(0, "prop", "busNode", value=3)
    assert parse_pools(changed(edit), "p").pools[0].fname == "AXISRAM5"


def test_a_list_or_a_text_is_no_pool_file():
    assert refusal(b"[]").what == "the document must be an object { }, not a list"
    assert refusal(b'{"mempools": []}').what == "the document has no 'memory'"


def test_files(tmp_path):
    path = tmp_path / "p\u00e4th with space" / "x.mpool"
    path.parent.mkdir()
    path.write_bytes(WRITTEN)
    assert mpool.read(path).path == str(path)
    assert mpool.read(path, "shown").pools[0].where == "shown:7:4"
    with pytest.raises(NeuralArtError, match="cannot read: No such file"):
        mpool.read(tmp_path / "none.mpool")


@given(st.data())
def test_damage_never_escapes(data):
    """Any cut or changed byte gives pools or one line."""
    at = data.draw(st.integers(0, len(WRITTEN) - 1))
    how = data.draw(st.sampled_from(["cut", "drop", "set"]))
    byte = bytes([data.draw(st.integers(0, 255))])
    damaged = {
        "cut": WRITTEN[:at],
        "drop": WRITTEN[:at] + WRITTEN[at + 1 :],
        "set": WRITTEN[:at] + byte + WRITTEN[at + 1 :],
    }
    try:
        parse_pools(damaged[how], "p.mpool")
    except NeuralArtError as error:
        assert "\n" not in str(error)
