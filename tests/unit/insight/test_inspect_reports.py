"""Records and texts of the files that lie beside a vendor compile's C: recognized by contents, stable, for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralart.errors import NeuralArtError
from neuralart_insight.inspect import cli as inspector
from neuralart_insight.inspect import kinds, own_kinds
from support.models import vendor_reports as vendor

POOLS = {"fname": "A", "prop": {"rights": "ACC_READ"}}
AMOUNT = {"value": "0x1000", "magnitude": "BYTES"}
MPOOL = vendor.dump({"memory": {"mempools": [{**POOLS, "offset": AMOUNT, "size": AMOUNT}]}})
CPU_POOLS = vendor.dump({"memory": {"mempools": [{"name": "RAM", "size": "128KB", "address": "0x24000000"}]}})
PROFILE = b'{ // mine\n"Profiles": {"default": {"memory_pool": "a.mpool", "options": "--enable-epoch-controller"}}}'
CONF = b'{"version": "0.1", "builder": "x", "configurations": [], "memory_pool": {"lib_size": "8B"}}'
FILES = {
    **{f"c_info {release}": ("c_info", vendor.dump(vendor.c_info(release))) for release in vendor.RELEASES},
    "c_info EC": ("c_info", vendor.dump(vendor.c_info("4.0", ec=True))),
    "c_info CPU": ("c_info", vendor.dump(vendor.cpu_c_info("3.0"))),
    "c_info results": ("c_info", vendor.dump(vendor.results_c_info("2.2"))),
    **{f"report {release}": ("report", vendor.report(release).encode()) for release in vendor.RELEASES},
    "report CPU": ("report", vendor.cpu_report("3.0").encode()),
    "report validate": ("report", vendor.report("4.0", "validate").encode()),
    "report UTF-16": ("report", vendor.report("2.2").encode("utf-16")),
    "report log": ("report", b"Copy done\n  " + vendor.report("2.2").encode()),
    "report stamped": ("report", b"2026-06-16 21:30:05,481 [INFO] CmdLine:76 - ST Edge AI Core v2.2.0-20266\n"),
    "report failed": ("report", b"Run failed: x. Output: ST Edge AI Core v4.0.1-20581 7ed50de05\n"),
    "report tail": ("report", vendor.MEMORY.encode()),
    "network_csv": ("network_csv", vendor.CSV.encode()),
    "q_json": ("q_json", vendor.dump(vendor.q_json())),
    "mpool": ("mpool", MPOOL),
    "profile": ("profile", PROFILE),
    "h7_pools": ("h7_pools", CPU_POOLS),
    "h7_conf": ("h7_conf", CONF),
    "atonn_options": ("atonn_options", vendor.OPTIONS.encode()),
}


def record(tmp_path: Path, data: bytes, kind: str, name: str = "file") -> dict:
    path = tmp_path / name
    path.write_bytes(data)
    of, found = inspector.inspect(path)
    assert of.name == kind and found.pop("file") == str(path)
    return found


def text(found: dict) -> str:
    kind = next(kind for kind in own_kinds.KINDS if kind.name == found["kind"])
    return kinds.reader(kind).text(found)


@pytest.mark.parametrize("name", FILES)
def test_recognized_by_contents_alone(tmp_path, name):
    """The name of the file is 'file': nothing can be told from it."""
    kind, data = FILES[name]
    found = record(tmp_path, data, kind)
    assert next(iter(found.items())) == ("kind", kind)
    # Strict JSON, and nothing is lost on the way.
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found.get("findings", []) == []
    shown = text(found)
    assert shown.endswith("\n") and len(shown.splitlines()) > 1 and str(tmp_path) not in shown


@pytest.mark.parametrize("name", FILES)
def test_records_depend_on_nothing_but_the_file(tmp_path, name):
    kind, data = FILES[name]
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    assert record(one, data, kind) == record(other, data, kind)


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"", "x"),
        (b"hello\n", "x.txt"),
        (b"{}", "x.json"),
        (b"[1, 2]", "x.json"),
        (b'{"memory": 1}', "x.json"),
        (b"a,b\n1,2\n", "network.csv"),
        (b"epochs,tea\n", "network.csv"),
        (b"The tool prints\n\nST Edge AI Core v4.0.1-20581 7ed50de05\n", "README.md"),
        (b"# options of something else\na=1\n", "x.ini"),
        (b"\n" * 100_000, "x.txt"),
        (b" " * 100_000, "x.txt"),
        (b"\xff\xfe", "x.txt"),
    ],
)
def test_what_is_none_of_them(data, name):
    assert [kind.name for kind in own_kinds.KINDS if kind.sniff(data, name)] == []


@pytest.mark.parametrize(
    ("data", "name", "kind"),
    [
        (b'{"json_schema_version": "2.0", ', "x.json", "c_info"),
        (b"{ broken", "network_c_info.json", "c_info"),
        (b"{ broken", "net_OE_3_3_1_Q.json", "q_json"),
        (b"{ broken", "my.mpool", "mpool"),
        (b'{"memory": {"mempools": [ {"fname": "x", ', "x.json", "mpool"),
        (b'{"memory": {"mempools": [ {"name": "x", ', "x.json", "h7_pools"),
        (b'{"Profiles": {', "x.json", "profile"),
        (b"cut off", "network_generate_report.txt", "report"),
        (b"cut off", "atonn_options.ini", "atonn_options"),
    ],
)
def test_damaged_ones_are_refused_as_what_they_were(tmp_path, data, name, kind):
    """Better one line about a broken pool file than 'unknown'."""
    with pytest.raises(NeuralArtError) as caught:
        record(tmp_path, data, kind, name)
    assert "\n" not in str(caught.value) and str(caught.value).startswith(str(tmp_path / name))


def test_record_of_c_info(tmp_path):
    found = record(tmp_path, *reversed(FILES["c_info EC"]))
    assert (found["flow"], found["core_version"], found["core"]) == ("npu", "4.0.1-20581 7ed50de05", [4, 0, 1])
    assert (found["compiler_version"], found["name"], found["epoch_controller"]) == ("1.1.3-275", "network", True)
    assert found["epoch_kinds"] == {"HW": 0, "SW": 1, "HYBRID": 0, "EC": 3}
    assert found["epochs"][3] == {
        "number": 4,
        "kind": "SW",
        "operators": ["Softmax"],
        "operations": 0,
        "compute_cycles": 0,
        "max_cycles": 150,
    }
    assert found["ec_blobs"] == [{"name": "_ec_blob_network_1", "encrypted": False, "epochs": [1, 2, 3]}]
    flash, virtual = found["pools"][3], found["pools"][4]
    assert (flash["fname"], flash["address"], flash["size"], flash["used"]) == ("xSPI2", 0x71000000, 117440512, 10081)
    assert flash["score"] == 94 and isinstance(flash["score"], int)
    assert (virtual["virtual"], virtual["parts"]) == (True, ["npuRAM4", "npuRAM5"])
    assert found["totals"] == {"weights": 10081, "activations": 13168, "initializers": ["xSPI2"]}
    (given,) = found["inputs"]
    assert (given["address"], given["bytes"], given["pool"], given["format"]) == (vendor.RAM5, 192, "npuRAM5", "S8")
    assert found["outputs"][0]["address"] == vendor.RAM4 + 1024
    assert found["model"]["files"] == [{"name": "net.tflite", "signature": vendor.SIGNATURE}]
    assert found["offload"]["percent"] == 75.0


def test_record_of_a_cpu_target(tmp_path):
    found = record(tmp_path, *reversed(FILES["c_info CPU"]))
    assert (found["flow"], found["macc"], found["offload"], found["epochs"]) == ("cpu", 481, None, [])
    assert [(pool["address"], pool["symbol"], pool["size"]) for pool in found["pools"]] == [
        (None, "", None),
        (None, "g_network_weights_array", None),
    ]
    assert found["inputs"][0]["address"] is None
    assert found["layers"][0] == {
        "id": 8,
        "name": "dense",
        "type": "Dense",
        "macc": 481,
        "original": ["16"],
        "functions": ["forward_lite_dense_is8os8ws8"],
    }


def test_record_of_results(tmp_path):
    found = record(tmp_path, *reversed(FILES["c_info results"]))["validation"]
    assert found["metrics"] == [
        {"description": "X-cross #1", "figures": {"acc": None, "rmse": 8.28e-05, "cos": 0.9999, "nse": None}}
    ]
    assert found["executions"][0]["counters"] == [10, 20, 3] and found["error_kind"] == "x-cross (rmse) #1"


def test_files_beside_a_c_info(tmp_path):
    """Initializers and reports of another run are findings."""
    data = vendor.dump(vendor.c_info("2.2"))
    raw = tmp_path / "network_atonbuf.xSPI2.raw"
    raw.write_bytes(bytes(vendor.USED_FLASH))
    (tmp_path / "network_generate_report.txt").write_text(vendor.report("2.2"))
    assert record(tmp_path, data, "c_info", "network_c_info.json")["findings"] == []
    raw.write_bytes(bytes(7))
    (tmp_path / "network_generate_report.txt").write_text(vendor.report("2.1"))
    (tmp_path / "network_analyze_report.txt").write_text("nothing")
    found = record(tmp_path, data, "c_info", "network_c_info.json")
    assert [finding["code"] for finding in found["findings"]] == ["raw-size", "report", "report"]
    assert "has 7 bytes, pool octoFlash uses 10081" in found["findings"][0]["text"]
    assert "finding (raw-size)" in text(found)
    # In the compiler's own folder the initializers have no name in front, and all pools have one.
    folder = tmp_path / "neural_art__network"
    folder.mkdir()
    for pool in ("AXISRAM4", "AXISRAM5"):
        (folder / f"atonbuf.{pool}.raw").write_bytes(b"")
    (folder / "atonbuf.xSPI2.raw").write_bytes(bytes(vendor.USED_FLASH))
    assert record(folder, data, "c_info", "c_info.json")["findings"] == []
    (folder / "atonbuf.AXISRAM4.raw").write_bytes(b"x")
    assert record(folder, data, "c_info", "c_info.json")["findings"][0]["code"] == "raw-size"


def test_layers_of_the_model_are_known_to_the_file_beside(tmp_path):
    data = vendor.dump(vendor.c_info("4.0"))

    def layers():
        return record(tmp_path, data, "c_info", "network_c_info.json")["offload"]["cpu_epochs"][0]["layers"]

    assert layers() == []
    other = vendor.q_json("4.0")
    other["environment"]["tools"][0]["input_model"]["model_files"][0]["signature"] = "0x00"
    (tmp_path / "another_OE_3_3_1_Q.json").write_bytes(vendor.dump(other))
    (tmp_path / "broken_OE_3_3_1_Q.json").write_bytes(b"{")
    (tmp_path / "earlier_OE_3_3_1_Q.json").write_bytes(vendor.dump(vendor.q_json("3.0")))
    assert layers() == []
    (tmp_path / "net_OE_3_3_1_Q.json").write_bytes(vendor.dump(vendor.q_json("4.0")))
    assert layers() == ["SOFTMAX_4"]
    assert "SOFTMAX_4" in text(record(tmp_path, data, "c_info", "network_c_info.json"))


def test_record_of_a_report(tmp_path):
    found = record(tmp_path, *reversed(FILES["report 4.0"]))
    assert (found["command"], found["flow"], found["log"]) == ("generate", "npu", False)
    assert found["epoch_counts"] == {"total": 4, "software": 1, "hybrid": 0, "hardware": 3, "blobs": 1}
    assert found["epochs"][0] == {"number": 1, "last": 3, "kind": "EC", "operators": []}
    assert found["pools"][3]["used"] == 10081 and found["pools"][3]["address"] == 0x71000000
    assert found["model_totals"] == {"macc": 8448, "weights": 128, "activations": None, "io": None}
    assert found["flash"] == {"runtime": 19813, "total": 29894}
    assert found["layers"][1]["outputs"] == [{"axes": ["b", "h", "w", "c"], "shape": [1, 8, 8, 4]}]
    validated = record(tmp_path, *reversed(FILES["report validate"]))["validation"]
    # Infinity is no JSON.
    assert validated["accuracy"][0]["figures"]["snr"] is None
    assert validated["nodes"][0]["name"] == "EpochBlock_1 -> 3"


def test_records_of_the_others(tmp_path):
    csv = record(tmp_path, *reversed(FILES["network_csv"]))
    assert csv["pools"][0]["read"] == 2000 and csv["pools"][0]["used"] == round(9.73 * 1024 * 1024)
    assert [epoch["number"] for epoch in csv["epochs"]] == [0, 1, 2] and csv["clock_mhz"] == 1000
    quantization = record(tmp_path, *reversed(FILES["q_json"]))
    assert quantization["types"] == {"FLOAT32": 1, "S8": 1}
    assert {node["name"]: node["layers"] for node in quantization["nodes"]}["Softmax_9"] == ["SOFTMAX_4"]
    pools = record(tmp_path, *reversed(FILES["mpool"]))
    assert (pools["pools"][0]["address"], pools["pools"][0]["size"]) == (0x1000, 0x1000)
    assert (pools["initializers"], pools["notes"]) == (["A"], [])
    profile = record(tmp_path, *reversed(FILES["profile"]))["profiles"][0]
    assert (profile["memory_pool_found"], profile["epoch_controller"]) == (False, True)
    assert record(tmp_path, *reversed(FILES["h7_pools"]))["pools"][0]["size"] == 131072
    assert record(tmp_path, *reversed(FILES["h7_conf"]))["sizes"] == {"lib_size": 8}
    options = record(tmp_path, *reversed(FILES["atonn_options"]))
    assert (options["version"], options["options"]["optimization"]) == ("1.1.3.275", 3)


def test_notes_are_shown(tmp_path):
    data = vendor.c_info("2.2")
    data["tea"] = 1
    found = record(tmp_path, vendor.dump(data), "c_info")
    assert found["notes"] == ["unknown key 'tea'"] and "  note: unknown key 'tea'" in text(found)


@given(st.sampled_from(sorted(FILES)), st.integers(0, 20_000), st.binary(max_size=16))
def test_recognizers_never_raise(name, at, bytes_):
    data = FILES[name][1]
    at %= len(data)
    for kind in own_kinds.KINDS:
        assert kind.sniff(data[:at] + bytes_ + data[at + len(bytes_) :], "file") in (True, False)


@given(st.binary(max_size=200), st.text(max_size=12))
def test_recognizers_take_anything(data, name):
    for kind in own_kinds.KINDS:
        assert kind.sniff(data, name) in (True, False)
