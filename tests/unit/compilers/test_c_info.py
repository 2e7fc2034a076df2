"""c_info.json: every release, both kinds of targets, after a validation; and every way to get one wrong."""

from __future__ import annotations

import copy
import hashlib
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralart.errors import NeuralArtError
from neuralart.text.json_values import parse_tool
from neuralart.vendor.c_info.read import parse_c_info
from neuralart_insight.vendor import c_info_checks as c_info_checks
from support.models import vendor_reports as vendor
from support.models.vendor_reports import problems


def read(data):
    return parse_c_info(vendor.dump(data), "c.json")


def refusal(data: bytes) -> NeuralArtError:
    with pytest.raises(NeuralArtError) as caught:
        parse_c_info(data, "c.json")
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("c.json")
    return caught.value


def line_of(data: bytes, token: str, after: str = "") -> int:
    """Line of the first token behind another one, counted without the reader."""
    text = data.decode()
    return text[: text.index(token, text.index(after))].count("\n") + 1


@pytest.mark.parametrize("ec", [False, True])
@pytest.mark.parametrize("release", vendor.RELEASES)
def test_every_release(release, ec):
    info = read(vendor.c_info(release, ec=ec))
    assert (info.flow, info.schema, info.notes) == ("npu", "2.0", ())
    assert info.core is not None and info.core.text == vendor.CORES[release]
    assert info.core.numbers[:2] == tuple(int(part) for part in release.split("."))
    assert info.compiler == vendor.COMPILERS[release]
    assert info.name == ("network" if release >= "3" else "Default")
    assert [epoch.number for epoch in info.epochs] == [1, 2, 3, 4]
    assert [epoch.kind for epoch in info.epochs] == [*(["EC"] * 3 if ec else ["HW"] * 3), "SW"]
    assert [epoch.operators[0].type for epoch in info.epochs] == ["Conv", "Conv", "Conv", "Softmax"]
    assert info.epochs[0].operators[0].unit == ("CONV_ACC_V2 0" if release >= "3" else "")
    blobs = [(blob.name, blob.encrypted, blob.nodes) for blob in info.blobs]
    assert blobs == ([("_ec_blob_network_1", False, (201, 202, 203))] if ec else [])
    assert {estimate.node for estimate in info.estimates} >= {epoch.id for epoch in info.epochs}
    assert problems(info) == ()


def test_pools_of_the_npu():
    info = read(vendor.c_info("4.0"))
    assert [(pool.name, pool.fname, pool.virtual) for pool in info.pools] == [
        ("npuRAM4", "AXISRAM4", False),
        ("npuRAM5", "AXISRAM5", False),
        ("flexMEM", "AXIFLEXMEM", False),
        ("octoFlash", "xSPI2", False),
        ("npuRAM4_npuRAM5", "", True),
    ]
    flash = info.pools[3]
    assert (flash.address, flash.size, flash.used, flash.rights) == (0x71000000, 117440512, 10081, "ACC_READ")
    assert (flash.initialized, flash.score, flash.byte_width, flash.freq_ratio) == (True, 94, 8, 1.25)
    # The virtual pool's figure is a span: with it, the sum would be more than twice as much.
    assert (info.weights_used, info.activations_used) == (10081, 4096 + 9072)
    assert [pool.fname for pool in c_info_checks.initializers(info)] == ["xSPI2"]


def test_tables_about_epochs():
    info = read(vendor.c_info("2.2"))
    assert [estimate.operations for estimate in info.estimates] == [0, 1000, 1000, 1000, 0, 0]
    assert info.accesses[0].read_cycles == 27648
    assert info.footprint is not None
    assert (info.footprint.weights, info.footprint.kernel_flash, info.footprint.toolchain_ram) == (10081, 19813, None)
    assert info.graph is not None
    assert info.graph.original_inputs[0].scales == (0.5,) and info.graph.original_outputs[0].bits == 0


@pytest.mark.parametrize("release", vendor.RELEASES)
def test_cpu_target(release):
    info = read(vendor.cpu_c_info(release))
    assert (info.flow, info.compiler, info.epochs) == ("cpu", "", ())
    heap, weights = info.pools
    assert (heap.address, heap.symbol, heap.size) == (None, "", None)
    assert (weights.address, weights.symbol, weights.score) == (None, "g_network_weights_array", 768)
    assert info.graph is not None
    (layer,) = info.graph.nodes
    assert (layer.number, layer.type, layer.macc, layer.original) == (None, "Dense", 481, ("16",))
    assert info.buffers[0].flags == ("STAI_FLAG_INPUTS", "STAI_FLAG_ACTIVATIONS")
    # The arrays end at 1441 and are padded to 1444.
    assert problems(info) == ()


def test_after_a_validation():
    info = read(vendor.results_c_info("2.2"))
    assert (info.flow, info.graph, info.pools, info.footprint) == ("results", None, (), None)
    assert info.device.startswith("stm32 family") and info.val_error == 8.28e-05
    figures = dict(info.metrics[0].values)
    assert figures["acc"] is None and figures["rmse"] == 8.28e-05
    assert figures["nse"] != figures["nse"]  # NaN, which the tool's JSON has
    assert info.executions[0].counters == (10, 20, 3) and info.executions[0].duration_ms == 0.25
    assert problems(info) == ()


def test_the_model_has_a_signature():
    info = read(vendor.c_info("2.2"))
    assert info.model.files[0].name == "net.tflite" and info.model.parameters == 9712
    assert info.model.files[0].signature == "0x" + hashlib.md5(vendor.MODEL, usedforsecurity=False).hexdigest()


def test_versions_with_more_words():
    data = vendor.c_info("2.2")
    data["environment"]["tools"][1]["version"] = "1.1.1-14 Internal Build  atonn-v1.1.1-14\n on date 25/06/2025"
    info = read(data)
    assert info.compiler == "1.1.1-14 Internal Build atonn-v1.1.1-14 on date 25/06/2025"
    data["environment"]["tools"][0]["version"] = "unheard of"
    assert read(data).core is None


def test_a_batch_that_the_model_leaves_open():
    data = vendor.cpu_c_info("2.2")
    data["graphs"][0]["original_inputs"][0]["shape"] = [None, 8, 8, 3]
    graph = read(data).graph
    assert graph is not None and graph.original_inputs[0].shape == (None, 8, 8, 3)


def test_ports_that_2_0_does_not_tell():
    data = vendor.c_info("2.0")
    data["graphs"][0] |= {"original_inputs": {}, "original_outputs": {}}
    graph = read(data).graph
    assert graph is not None and graph.original_inputs == graph.original_outputs == ()
    data["graphs"][0]["original_outputs"] = {"output": {}}
    assert "original_outputs must be a list" in refusal(vendor.dump(data)).what


@pytest.mark.parametrize(
    ("told", "shape", "axes", "type_", "bits"),
    [
        ({"data_type": "uint8", "shape": "(BATCH: 1, H: 8, CH: 3)"}, (1, 8, 3), ("BATCH", "H", "CH"), "uint8", 8),
        ({"data_type": "float32", "shape": "(BATCH: None, CH: 2)"}, (None, 2), ("BATCH", "CH"), "float32", 32),
        ({"data_type": "bool"}, (), (), "bool", 0),
        ({}, (), (), "", 0),
    ],
)
def test_ports_as_2_0_writes_them_for_a_cpu(told, shape, axes, type_, bits):
    """The name is a key, the shape a text."""
    data = vendor.cpu_c_info("2.0")
    data["graphs"][0]["original_inputs"] = [{"serving_default_x0": told}]
    graph = read(data).graph
    assert graph is not None
    (port,) = graph.original_inputs
    assert (port.name, port.shape, port.axes, port.type, port.bits) == ("serving_default_x0", shape, axes, type_, bits)
    data["graphs"][0]["original_inputs"] = [{"x": {"data_type": 8}}]
    assert "must be a text" in refusal(vendor.dump(data)).what


def test_epochs_in_a_blob():
    """From 3.0 on a blob is a node of the graph and its epochs stand below it."""
    info = read(vendor.c_info("4.0", ec=True))
    assert info.graph is not None
    assert [node.name for node in info.graph.nodes] == [
        "epoch_0",
        "_ec_blob_network_1",
        *(f"epoch_{number}" for number in (9, 1, 2, 3, 4, 5)),
    ]
    assert [node.blob for node in info.graph.nodes] == [None, None, 300, 300, 300, 300, None, None]
    # What computes nothing is no epoch, within a blob or not.
    assert [(epoch.number, epoch.kind) for epoch in info.epochs] == [(1, "EC"), (2, "EC"), (3, "EC"), (4, "SW")]
    data = vendor.c_info("4.0", ec=True)
    data["ec_blobs_info"][0]["blob_id"] = 999
    assert problems(read(data)) == ("ec_blobs_info names nodes that are not listed: [999]",)
    data["ec_blobs_info"][0]["blob_id"] = "one"
    assert "blob_id must be a whole number" in refusal(vendor.dump(data)).what


def test_measured_times_make_no_npu():
    """A validation leaves them in the file of a CPU target, too."""
    data = vendor.cpu_c_info("2.0")
    data["aton_execution_time"] = vendor.results_c_info("2.0")["aton_execution_time"]
    info = read(data)
    assert (info.flow, len(info.executions)) == ("cpu", 1)
    # The end of its arrays is padded.
    data["memory_pools"][0]["used_size_bytes"] += 7
    data["memory_footprint"]["activations"] += 7
    assert problems(read(data)) == ()


@pytest.mark.parametrize(
    ("mapping", "kind"),
    [
        ("NODE_SW_FLOAT", "SW"),
        ("NODE_SW_HW", "HYBRID"),
        ("NODE_HW_NEW", "HW"),
        ("NODE_EC", "EC"),
        ("NODE_UNDEF", "NONE"),
        ("", "NONE"),
    ],
)
def test_mappings(mapping, kind):
    data = vendor.c_info("4.0")
    data["graphs"][0]["nodes"][2]["mapping"] = mapping
    assert read(data).epochs[1].kind == kind


def test_unknown_keys_are_notes():
    data = vendor.c_info("4.0")
    data |= {"novelty": [1], "json_schema_version": "2.7"}
    data["environment"]["weather"] = "fine"
    data["buffers"][0]["color"] = "red"
    data["graphs"].append({})
    assert read(data).notes == (
        "unknown key 'novelty'",
        "unknown key 'environment.weather'",
        "schema 2.7 read as 2.0",
        "2 graphs, the first one is shown",
    )


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("1895825408", (0x71000000, "")),
        ("0x71000000", (0x71000000, "")),
        (1895825408, (0x71000000, "")),
        ("NULL", (None, "")),
        ("", (None, "")),
        (None, (None, "")),
        ("s_network_weights_array_u64", (None, "s_network_weights_array_u64")),
    ],
)
def test_addresses(address, found):
    data = vendor.c_info("4.0")
    data["memory_pools"][0]["address"] = address
    pool = read(data).pools[0]
    assert (pool.address, pool.symbol) == found


@pytest.mark.parametrize("size", [0, -1])
def test_sizes_that_are_none(size):
    data = vendor.cpu_c_info("4.0")
    data["memory_pools"][0]["size_bytes"] = size
    assert read(data).pools[0].size == (0 if size == 0 else None)


WRONG = [
    (("buffers",), {}, "buffers must be a list"),
    (("buffers", 2, "size_bytes"), "192", "buffers[2].size_bytes must be a whole number, not a text"),
    (("buffers", 2, "size_bytes"), 1.5, "must be a whole number, not a number"),
    (("buffers", 2, "size_bytes"), True, "must be a whole number, not true or false"),
    (("buffers", 2, "size_bytes"), -1, "is -1, the least is 0"),
    (("buffers", 1, "is_param"), 0, "must be true or false, not a number"),
    (("buffers", 1, "intq", "scales", 0), "x", "buffers[1].intq.scales[0] must be a number, not a text"),
    (("buffers", 1, "shape"), [1, 2.5], "buffers[1].shape[1] must be a whole number"),
    (("memory_pools", 3, "used_size_bytes"), -5, "is -5"),
    (("memory_pools", 3, "size_bytes"), -2, "is -2, the least is -1"),
    (("memory_pools", 3, "address"), "no symbol!", "is 'no symbol!'"),
    (("memory_pools", 3, "address"), [1], "is [1]"),
    (("memory_pools", 3), 7, "memory_pools[3] must be an object"),
    (("graphs", 0, "nodes", 4, "mapping"), 1, "graphs[0].nodes[4].mapping must be a text, not a number"),
    (("graphs", 0, "nodes", 4, "subgraph_nodes"), "x", "must be a list"),
    (("power_estimates", 2, "ops"), "many", "must be a number, not a text"),
    (("power_estimates", 2, "ops"), -1, "is -1"),
    (("environment", "tools"), {"name": "x"}, "environment.tools must be a list"),
    (("memory_footprint", "io"), [0, None], "memory_footprint.io[1] must be a whole number, not null"),
]


@pytest.mark.parametrize(("way", "value", "said"), WRONG)
def test_wrong_types_of_known_keys(way, value, said):
    data = vendor.c_info("3.0")
    place = data
    for step in way[:-1]:
        place = place[step]
    place[way[-1]] = value
    text = vendor.dump(data)
    error = refusal(text)
    assert said in error.what
    where = re.fullmatch(r"c\.json:(\d+):(\d+)", error.where)
    assert where
    # The place is that of the value, or of the entry of the list that is wrong.
    at = text.decode().splitlines()[int(where[1]) - 1][int(where[2]) - 1 :]
    wrong = [value, *value] if isinstance(value, list) else [value]
    assert any(at.startswith(json.dumps(one)[:1]) for one in wrong)


def test_the_place_is_exact():
    data = vendor.c_info("3.0")
    data["buffers"][2]["size_bytes"] = "big"
    text = vendor.dump(data)
    error = refusal(text)
    line = line_of(text, '"big"')
    column = text.decode().splitlines()[line - 1].index('"big"') + 1
    assert error.where == f"c.json:{line}:{column}"


def test_a_key_that_must_be_there():
    data = vendor.c_info("3.0")
    del data["memory_pools"][1]["id"]
    assert "memory_pools[1] has no 'id'" in refusal(vendor.dump(data)).what


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "the file is empty"),
        (b"[]", "no 'json_schema_version'"),
        (b"{}", "no 'json_schema_version'"),
        (b'{"json_schema_version": 2}', "must be a text"),
        (b'{"json_schema_version": "1.0"}', "schema '1.0'"),
        (b'{"json_schema_version": "two"}', "schema 'two'"),
        (b'{"json_schema_version": "2.0",}', "a comma before"),
        (b'{"json_schema_version": "2.0", "json_schema_version": "2.0"}', "a second time"),
        (b'{"json_schema_version": "2.0", "buffers": [1', "not closed"),
        (b'\xff\xfe{"json_schema_version": "2.0"}', "UTF-16"),
        (b'{"json_schema_version": "2.0", "x": "\xe4"}', "not UTF-8"),
        (b"[" * 5000, "nested deeper"),
        (b'{"json_schema_version": "2.0", "x": ' + b"[" * 2000 + b"]" * 2000 + b"}", "nested deeper"),
    ],
)
def test_what_is_no_such_file(data, said):
    assert said in str(refusal(data))


def test_a_mark_in_front_is_taken():
    assert parse_c_info(b"\xef\xbb\xbf" + vendor.dump(vendor.c_info("2.2")), "c.json").flow == "npu"


def test_half_a_character_can_be_printed():
    data = vendor.dump(vendor.c_info("2.2")).replace(b'"network_signature": "', b'"network_signature": "\\ud800')
    parse_c_info(data, "c.json").signature.encode()


def test_places_in_a_file_with_nan():
    """NaN is in the file and is no JSON: the place of another value is told all the same."""
    data = vendor.results_c_info("2.2")
    data["validation"]["val_error_desc"] = 7
    text = vendor.dump(data)
    assert b"NaN" in text
    error = refusal(text)
    line = text[: text.index(b'"val_error_desc"')].count(b"\n") + 1
    assert error.where.startswith(f"c.json:{line}:")
    assert error.what == "validation.val_error_desc must be a text, not a number"


def changed(edit, release="2.2"):
    data = copy.deepcopy(vendor.c_info(release))
    edit(data)
    return read(data)


def test_checks_find_what_does_not_agree():
    def more(data):
        data["memory_pools"][3]["used_size_bytes"] += 1

    assert problems(changed(more)) == (
        "pool octoFlash: its buffers end at 10081, used are 10082 bytes",
        "memory_footprint has 10081 bytes of weights, the pools add up to 10082",
    )

    def full(data):
        data["memory_pools"][0]["size_bytes"] = 4095

    assert "pool npuRAM4 uses 4096 of 4095 bytes" in problems(changed(full))

    def lost(data):
        data["buffers"][0]["mpool_id"] = 77
        data["memory_pools"][4]["subpools"] = [1, 55]
        data["graphs"][0]["inputs"] = [99]
        data["power_estimates"][0]["node_id"] = 3

    found = problems(changed(lost))
    for text in ("[77]", "[55]", "inputs of the graph are buffers that are not listed: [99]", "power_estimates"):
        assert any(text in finding for finding in found), text

    def twice(data):
        data["buffers"][0]["id"] = 2
        data["graphs"][0]["nodes"][1]["id"] = 200
        data["memory_pools"][0]["id"] = 2

    found = problems(changed(twice))
    for text in ("two buffers", "two nodes", "two pools"):
        assert any(text in finding for finding in found), text


def test_buffers_of_a_virtual_pool_count_in_its_parts():
    """A buffer across the border fills the first part to its end, and the second one up to where it ends."""

    def across(data):
        data["buffers"].append(
            {**data["buffers"][0], "id": 50, "mpool_id": 10, "offset_start": 458752 - 100, "size_bytes": 10000}
        )
        pools = data["memory_pools"]
        pools[0]["used_size_bytes"] = 458752
        pools[1]["used_size_bytes"] = 9900
        pools[4]["used_size_bytes"] = 458752 + 9900
        data["memory_footprint"]["activations"] = 458752 + 9900

    assert problems(changed(across)) == ()


def test_a_buffer_of_a_virtual_pool_ends_within_a_part():
    """Another one further on does not count in the parts in front of it."""

    def several(data):
        first = {**data["buffers"][0], "mpool_id": 10}
        data["buffers"] += [
            {**first, "id": 50, "offset_start": 0, "size_bytes": 20000},
            {**first, "id": 51, "offset_start": 458752, "size_bytes": 30000},
        ]
        pools = data["memory_pools"]
        pools[0]["used_size_bytes"] = 20000
        pools[1]["used_size_bytes"] = 30000
        pools[4]["used_size_bytes"] = 458752 + 30000
        data["memory_footprint"]["activations"] = 50000

    assert problems(changed(several)) == ()

    def shorter(data):
        """The second part is in use on its own, and does not count in the virtual pool."""
        several(data)
        data["buffers"] = [buffer for buffer in data["buffers"] if buffer["id"] != 51]
        data["memory_pools"][1]["used_size_bytes"] = vendor.USED_RAM5
        data["memory_pools"][4]["used_size_bytes"] = 20000
        data["memory_footprint"]["activations"] = 20000 + vendor.USED_RAM5

    assert problems(changed(shorter)) == ()

    def shortest(data):
        shorter(data)
        data["memory_pools"][4]["used_size_bytes"] = 19999

    assert len(problems(changed(shortest))) == 1

    def less(data):
        several(data)
        data["memory_pools"][0]["used_size_bytes"] -= 1
        data["memory_footprint"]["activations"] -= 1

    found = problems(changed(less))
    assert found == ("pool npuRAM4: its buffers end at 20000, used are 19999 bytes",)


def test_what_the_application_provides_is_not_used():
    def provided(data):
        pool = {**data["memory_pools"][0], "id": 20, "name": "_user_io_input_0", "used_size_bytes": 0, "address": ""}
        data["memory_pools"].append({**pool, "user_allocated": True, "buffers": [50]})
        data["buffers"].append({**data["buffers"][0], "id": 50, "mpool_id": 20, "offset_start": 0, "size_bytes": 192})

    assert problems(changed(provided)) == ()

    def counted(data):
        """As 2.0 does."""
        provided(data)
        data["memory_footprint"]["activations"] += 192

    assert problems(changed(counted)) == ()

    def wrong(data):
        provided(data)
        data["memory_footprint"]["activations"] += 191

    assert len(problems(changed(wrong))) == 1


def test_constants_of_a_virtual_pool_are_in_its_parts():
    def constant(data):
        data["buffers"].append(
            {**data["buffers"][3], "id": 50, "mpool_id": 10, "offset_start": 458752 + 16, "size_bytes": 64}
        )

    names = [pool.fname for pool in c_info_checks.initializers(changed(constant))]
    assert names == ["AXISRAM5", "xSPI2"]


def test_raw_files_have_the_used_size():
    info = read(vendor.c_info("2.2"))
    check = c_info_checks.check_raw_sizes
    assert check(info, {"xSPI2": 10081, "AXISRAM5": 0}) == ()
    assert check(info, {"xSPI2": 10080}) == ("atonbuf.xSPI2.raw has 10080 bytes, pool octoFlash uses 10081",)
    assert "there is no atonbuf.xSPI2.raw" in check(info, {})[0]
    assert "AXISRAM5 has 3 bytes" in check(info, {"xSPI2": 10081, "AXISRAM5": 3})[0]
    assert check(read(vendor.cpu_c_info("2.2")), {}) == ()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@given(st.data())
def test_any_value_anywhere_is_read_or_refused_in_one_line(data):
    """Never a traceback, whatever stands in place of a value."""
    document = data.draw(
        st.sampled_from([vendor.c_info("2.2"), vendor.c_info("4.0", ec=True), vendor.cpu_c_info("3.0")])
    )
    place = document
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        inner = place[key]
        if not isinstance(inner, dict | list) or not inner or data.draw(st.booleans()):
            break
        place = inner
    place[key] = data.draw(VALUES)
    try:
        problems(parse_c_info(json.dumps(document).encode(), "c.json"))
    except NeuralArtError as error:
        assert "\n" not in str(error)
        assert str(error).startswith("c.json")


@given(st.integers(0, 10_000), st.binary(max_size=6))
def test_damaged_bytes_are_read_or_refused(at, bytes_):
    text = vendor.dump(vendor.c_info("3.0"))
    at %= len(text)
    try:
        parse_c_info(text[:at] + bytes_ + text[at + len(bytes_) :], "c.json")
    except NeuralArtError as error:
        assert "\n" not in str(error)


@given(VALUES)
def test_places_are_those_of_the_careful_reader(value):
    text = json.dumps({"a": [value, {"b": value}]}, allow_nan=True)
    before = len(json.dumps({"a": [value, {"b": 0}]}, allow_nan=True)) - len("0}]}")
    found = parse_tool(text.encode(), "x").need("a").items()[1].mapping()["b"]
    assert (found.where.line, found.where.column) == (1, before + 1)
