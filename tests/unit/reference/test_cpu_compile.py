"""The compile flow of targets without an NPU: which files come out, what they say, and what is refused."""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oracle
from neuralart import cli
from neuralart.compilers.dispatch import dispatched
from neuralart.errors import NeuralArtError
from neuralart.memory import regions
from neuralart.network import facts
from neuralart.text.c_source import CSource
from neuralart_bring.patching import network_files
from neuralart_bring.patching.network_files import NetworkFiles, read, read_c_info
from neuralart_reference.cpu import compile as cpu
from neuralart_reference.cpu.compile import CpuRequest, CpuResult, build, compile_network, write
from neuralart_reference.cpu.cpu_network import identifier
from neuralart_reference.cpu.placing import ActivationMemory
from support.boards.h747 import DIGITS, pools
from support.cases.cases_recurrent import INFERENCES, lstm, svdf
from support.host_c import cpu_native
from support.servers.programs import chain, small_network
from tflite_writer import ModelWriter

DATA = Path(os.environ.get("NEURALART_REAL_DATA") or "/nonexistent")
REAL = sorted(path for path in DATA.rglob("network_c_info.json") if b"heap_overlay_pool" in path.read_bytes())
MODEL = DIGITS / "digits.tflite"
HOSTILE = 'a */ ??/ "b" \\ \n /* %s ü中'
# What the digits need, pool1 over conv1 and a little below it; and what they would if addresses were not aligned.
PEAK, LIVE = 2048 + 64, 2048 + 18

LEGACY = ("network.c", "network.h", "network_config.h", "network_data.c", "network_data.h")
LEGACY += ("network_data_params.c", "network_data_params.h")
FILES = {*LEGACY, "network_c_info.json", "network.json", "manifest.json", "provenance.txt"}


def compiled(*memories: tuple[str, int], **more: Any) -> CpuResult:
    """The small network, in pools of sizes."""
    model, program = more.pop("network", None) or small_network()
    given = tuple(
        ActivationMemory(name, size, *(("HIGH", "LOW"), ("HIGH", "MID"), ("MID", "MID"))[min(number, 2)])
        for number, (name, size) in enumerate(memories)
    )
    pool_file = Path("pools/h7 file.json") if given else None
    return build(CpuRequest(**{"model": Path("small.tflite"), "memory_pool": pool_file, **more}), model, program, given)


def digits(folder: Path, **more: Any) -> CpuResult:
    result = compile_network(CpuRequest(**{"model": MODEL, **more}))
    write(result, folder)
    return result


def text(result: CpuResult, name: str) -> str:
    return result.files[name].decode()


def macros(result: CpuResult, name: str = "network_data_params.h") -> dict[str, str]:
    return dict(re.findall(r"^#define (\w+) +(\S.*)$", text(result, name), re.M))


def c_info(result: CpuResult, name: str = "network") -> dict[str, Any]:
    data: dict[str, Any] = json.loads(text(result, f"{name}_c_info.json"))
    return data


# ---- the files


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("report", [False, True])
def test_files(tmp_path: Path, report: bool, binary: bool) -> None:
    digits(tmp_path, report=report, binary=binary)
    more = {"network_generate_report.txt": report, "network_data.bin": binary}
    assert {path.name for path in tmp_path.iterdir()} == {*FILES, *(name for name, there in more.items() if there)}


def test_a_second_run_removes_what_it_does_not_write(tmp_path: Path) -> None:
    digits(tmp_path, binary=True)
    digits(tmp_path, report=False)
    assert {path.name for path in tmp_path.iterdir()} == FILES
    with pytest.raises(NeuralArtError, match="the folder holds network 'network'"):
        digits(tmp_path, name="other")


def test_manifest_has_every_file() -> None:
    result = compiled()
    rows = {row["name"]: row for row in json.loads(text(result, "manifest.json"))["files"]}
    assert set(rows) == set(result.files) - {"manifest.json"}
    data = result.files["network_data_params.c"]
    assert rows["network_data_params.c"]["sha256"] == hashlib.sha256(data).hexdigest()


def test_equal_inputs_give_equal_bytes_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for folder in ("one", "two/deeper"):
        place = tmp_path / folder
        pools(place, DTCMRAM=512, AXIRAM=4096)
        (place / "digits.tflite").write_bytes(MODEL.read_bytes())
        monkeypatch.chdir(place)
        digits(place / "out", model=place / "digits.tflite", memory_pool=place / "mempools.json")
        found.append({path.name: path.read_bytes() for path in (place / "out").iterdir()})
    assert {n: d for n, d in found[0].items() if n != "provenance.txt"} == {
        n: d for n, d in found[1].items() if n != "provenance.txt"
    }
    for name, data in found[0].items():
        if name != "provenance.txt":
            assert str(tmp_path).encode() not in data, name
            assert not re.search(rb"20[0-9]{2}-[0-9]{2}", data), f"a date in {name}"


def test_other_weights_change_the_data_and_nothing_else() -> None:
    one, two = compiled(), compiled(network=small_network(weight_byte=7))
    changed = {name for name, data in one.files.items() if data != two.files[name]}
    assert changed == {"network_data_params.c", "manifest.json"}
    assert one.network == two.network


def test_another_scale_changes_the_code_and_the_stamp() -> None:
    one = compiled()
    model, program = small_network()
    tensors = [*program.tensors]
    tensors[0] = replace(tensors[0], quantization=replace(tensors[0].quantization, scales=(0.25,)))
    two = compiled(network=(model, replace(program, tensors=tensors)))
    assert text(one, "network.c") != text(two, "network.c")
    assert one.network.abi_stamp != two.network.abi_stamp


# ---- pools, numbers, sizes


def test_one_buffer_without_a_memory_pool_file(tmp_path: Path) -> None:
    result = digits(tmp_path)
    assert macros(result) == {
        "AI_NETWORK_DATA_CONFIG": "(NULL)",
        "AI_NETWORK_DATA_ACTIVATIONS_SIZES": "\\",
        "AI_NETWORK_DATA_ACTIVATIONS_SIZE": f"({PEAK})",
        "AI_NETWORK_DATA_ACTIVATIONS_COUNT": "(1)",
        "AI_NETWORK_DATA_ACTIVATION_1_SIZE": f"({PEAK})",
        "AI_NETWORK_DATA_WEIGHTS_SIZES": "\\",
        "AI_NETWORK_DATA_WEIGHTS_SIZE": "(4136)",
        "AI_NETWORK_DATA_WEIGHTS_COUNT": "(1)",
        "AI_NETWORK_DATA_WEIGHT_1_SIZE": "(4136)",
    }
    assert "#define AI_NETWORK_DATA_ACTIVATIONS_SIZES \\\n  { 2112, }\n" in text(result, "network_data_params.h")
    port = macros(result, "network.h")
    assert (port["AI_NETWORK_IN_1_HEIGHT"], port["AI_NETWORK_IN_1_WIDTH"]) == ("(16)", "(16)")
    assert (port["AI_NETWORK_IN_1_CHANNEL"], port["AI_NETWORK_IN_1_SIZE_BYTES"]) == ("(1)", "(256)")
    assert (port["AI_NETWORK_OUT_1_CHANNEL"], port["AI_NETWORK_OUT_1_FORMAT"]) == ("(10)", "AI_BUFFER_FORMAT_S8")
    assert (port["AI_NETWORK_IN_NUM"], port["AI_NETWORK_INPUTS_IN_ACTIVATIONS"]) == ("(1)", "(1)")
    assert port["AI_NETWORK_OUTPUTS_IN_ACTIVATIONS"] == "(1)"
    pool, weights = c_info(result)["memory_pools"]
    assert (pool["name"], pool["rights"], pool["used_size_bytes"]) == ("heap_overlay_pool", "ACC_WRITE", PEAK)
    assert (pool["address"], pool["size_bytes"]) == ("NULL", -1)
    assert (weights["name"], weights["rights"], weights["used_size_bytes"]) == ("weights_array", "ACC_READ", 4136)
    assert weights["address"] == "s_network_weights_array_u64"
    assert "s_network_weights_array_u64[517]" in text(result, "network_data_params.c")


def test_pools_of_the_file_by_their_names(tmp_path: Path) -> None:
    """Numbers follow the file, not the sizes."""
    file = pools(tmp_path, DTCMRAM=600, AXIRAM=2048, SDRAM=1 << 20)
    result = digits(tmp_path / "out", memory_pool=file)
    used = [(p["name"], p["used_size_bytes"]) for p in c_info(result)["memory_pools"] if p["rights"] == "ACC_WRITE"]
    assert [name for name, _ in used] == ["DTCMRAM", "AXIRAM"]
    assert dict(used)["DTCMRAM"] == 512 and dict(used)["AXIRAM"] == 2048
    values = macros(result)
    for number, (_, size) in enumerate(used, start=1):
        assert values[f"AI_NETWORK_DATA_ACTIVATION_{number}_SIZE"] == f"({size})"
    assert values["AI_NETWORK_DATA_ACTIVATIONS_COUNT"] == "(2)"
    # Unused pools are facts, not buffers.
    assert [(pool.fname, pool.used) for pool in result.network.pools] == [*used, ("SDRAM", 0), ("weights_array", 4136)]


@pytest.mark.parametrize(
    ("sizes", "numbers"),
    [
        ({"AXIRAM": 1 << 20}, {"AXIRAM": 1}),
        ({"AXIRAM": 2048, "SDRAM": 4096}, {"AXIRAM": 1, "SDRAM": 2}),
        ({"SDRAM": 2048, "AXIRAM": 4096}, {"SDRAM": 1, "AXIRAM": 2}),
        ({"DTCMRAM": 300, "AXIRAM": 2048, "SDRAM": 512}, {"DTCMRAM": 1, "AXIRAM": 2, "SDRAM": 3}),
    ],
)
def test_an_application_can_be_fitted(tmp_path: Path, sizes: dict[str, int], numbers: dict[str, int]) -> None:
    """What the patching of applications reads: numbers, the input's pool, its shape."""
    result = digits(tmp_path / "out", memory_pool=pools(tmp_path, **sizes))
    network = read(NetworkFiles.in_folder(tmp_path / "out", "network"), "network")
    assert {pool.name: pool.number for pool in network.activations} == numbers
    assert (network.width, network.height, network.channels) == (16, 16, 1)
    assert network.activations[network.input_pool - 1].name == result.network.inputs[0].pool
    for name, used in ((p.name, p.used) for p in network.activations):
        assert used <= sizes[name]


def test_pools_of_equal_use_are_told_apart_by_the_code(tmp_path: Path) -> None:
    """Two pools whose sizes are the same number: network.c says which is which."""
    result = build(
        CpuRequest(model=Path("m.tflite"), memory_pool=Path("p.json")),
        small_network()[0],
        chain(64, 64),
        (ActivationMemory("B", 64, "MID", "MID"), ActivationMemory("A", 64, "HIGH", "LOW")),
    )
    write(result, tmp_path)
    sizes = [(p["name"], p["used_size_bytes"]) for p in c_info(result)["memory_pools"][:2]]
    assert sizes == [("B", 64), ("A", 64)]
    info = read_c_info(result.files["network_c_info.json"], "c.json")
    headers = network_files.read_headers([CSource("h", result.files["network_data_params.h"])], "network")
    assert headers is not None
    told = network_files.numbers(info, headers, CSource("network.c", result.files["network.c"]))
    assert told == {0: 1, 1: 2}
    with pytest.raises(NeuralArtError, match="is unknown"):
        network_files.numbers(info, headers)


def test_an_exact_fit_fits(tmp_path: Path) -> None:
    result = digits(tmp_path / "out", memory_pool=pools(tmp_path, AXIRAM=PEAK))
    assert macros(result)["AI_NETWORK_DATA_ACTIVATION_1_SIZE"] == f"({PEAK})"


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"AXIRAM": PEAK - 1}, f"{LIVE} bytes are live in epoch 0 (CONV_2D)"),
        ({"AXIRAM": PEAK - 1}, f"writable pools have {PEAK - 1} bytes for them (AXIRAM {PEAK - 1})"),
        ({"DTCMRAM": 100, "AXIRAM": 1900}, "writable pools have 2000 bytes for them (DTCMRAM 100, AXIRAM 1900)"),
        ({"A": 1300, "B": 1300}, "enough in sum, but no gap takes 'conv1' with 2048 bytes"),
    ],
)
def test_pools_that_are_too_small(tmp_path: Path, sizes: dict[str, int], said: str) -> None:
    file = pools(tmp_path, **sizes)
    with pytest.raises(NeuralArtError) as caught:
        digits(tmp_path / "out", memory_pool=file, memory_pool_display="mine/mempools.json")
    message = str(caught.value)
    assert said in message and message.startswith("mine/mempools.json: activations do not fit")
    assert "--memory-pool" in message and "ACC_WRITE" not in message.partition("(give")[2]
    assert not (tmp_path / "out").exists()


# ---- c_info.json


def test_c_info_refers_to_itself() -> None:
    data = c_info(compiled(("A", 64), ("B", 64)))
    ids = [pool["id"] for pool in data["memory_pools"]]
    assert ids == list(range(len(ids)))
    for number, buffer in enumerate(data["buffers"]):
        assert buffer["id"] == number
        pool = data["memory_pools"][buffer["mpool_id"]]
        assert number in pool["buffers"]
        assert buffer["offset_start"] + buffer["size_bytes"] <= pool["used_size_bytes"] or pool["user_allocated"]
    (graph,) = data["graphs"]
    for node in graph["nodes"]:
        for each in (*node["inputs"], *node["outputs"], *node["scratchs"]):
            assert 0 <= each < len(data["buffers"])
    image = data["buffers"][graph["inputs"][0]]
    assert (image["shape"], image["shape_map"]) == ([4, 4, 1], ["H", "W", "CH"])
    assert image["flags"] == "STAI_FLAG_PREALLOCATED|STAI_FLAG_ACTIVATIONS|STAI_FLAG_INPUTS"
    assert image["intq"] == {"axis": 0, "offsets": [-1], "scales": [0.0078125]}
    assert [file["name"] for file in data["environment"]["generated_model"]["model_files"]] == [
        *("network.c", "network_data.c", "network_data_params.c"),
        *("network.h", "network_config.h", "network_data.h", "network_data_params.h"),
    ]


def test_arrays_of_the_code_are_the_buffers_of_the_json() -> None:
    result = compiled(("A", 64), ("B", 64))
    pattern = r"(\w+)\.data = AI_PTR\(g_network_(activations|weights)_map\[(\d+)\] \+ (\d+)\);"
    code = {name: (kind, int(n), int(at)) for name, kind, n, at in re.findall(pattern, text(result, "network.c"))}
    data = c_info(result)
    pools_ = [pool["name"] for pool in data["memory_pools"] if pool["rights"] == "ACC_WRITE"]
    said = {
        b["name"]: ("weights", b["mpool_id"] - len(pools_), b["offset_start"])
        if b["is_param"]
        else ("activations", b["mpool_id"], b["offset_start"])
        for b in data["buffers"]
    }
    assert code == said and len(code) > 6


@pytest.mark.real
@pytest.mark.skipif(not REAL, reason="no network_c_info.json of a CPU network in NEURALART_REAL_DATA")
def test_c_info_has_the_keys_of_real_ones() -> None:
    ours = c_info(compiled())
    for path in REAL:
        real = json.loads(path.read_bytes())
        if "graphs" not in real:
            continue
        assert set(real) <= set(ours), path
        assert set(real["memory_pools"][0]) <= set(ours["memory_pools"][0])
        assert set(real["buffers"][0]) <= set(ours["buffers"][0])
        assert set(real["graphs"][0]) <= set(ours["graphs"][0])
        assert set(real["graphs"][0]["nodes"][0]) <= set(ours["graphs"][0]["nodes"][0])
        assert set(real["memory_footprint"]) <= set(ours["memory_footprint"])


# ---- weights


def weights_of(source: str) -> dict[str, bytes]:
    found = re.findall(r"const ai_u64 (\w+)\[\d+\] = \{(.*?)\};", source, re.S)
    return {
        name: b"".join(struct.pack("<Q", int(v, 16)) for v in re.findall(r"0x\w{16}", body)) for name, body in found
    }


def test_weights_are_one_array() -> None:
    result = compiled()
    ((name, data),) = weights_of(text(result, "network_data_params.c")).items()
    image = result.cpu.weights[0].data
    assert name == "s_network_weights_array_u64" and data[: len(image)] == image and not any(data[len(image) :])
    assert bytes([3]) * 18 in data and struct.pack("<2i", 3, -3) in data


def test_split_weights() -> None:
    whole, split = compiled(), compiled(split_weights=True, binary=True)
    arrays = weights_of(text(split, "network_data_params.c"))
    constants = split.cpu.emission.plan.constants
    assert list(arrays) == [f"s_network_{identifier(item.label)}_array_u64" for item in constants]
    for item, data in zip(constants, arrays.values(), strict=True):
        assert data[: len(item.data)] == item.data and len(data) == -(-len(item.data) // 8) * 8
    read_only = [pool for pool in c_info(split)["memory_pools"] if pool["rights"] == "ACC_READ"]
    assert [(pool["address"], pool["used_size_bytes"]) for pool in read_only] == [
        (name, len(item.data)) for name, item in zip(arrays, constants, strict=True)
    ]
    assert [pool["name"] for pool in read_only] == [name.removeprefix("s_network_")[:-4] for name in arrays]
    assert macros(split)["AI_NETWORK_DATA_WEIGHTS_COUNT"] == f"({len(constants)})"
    assert split.files["network_data.bin"] == b"".join(item.data for item in constants)
    assert whole.network.abi_stamp != split.network.abi_stamp, "weights of one do not fit the code of the other"


def test_dispatched_weights() -> None:
    """The largest arrays go first, each into the first section with room; nothing else of the C differs."""
    split = text(compiled(split_weights=True), "network_data_params.c")
    sizes = {name: -(-len(data) // 32) * 32 for name, data in weights_of(split).items()}
    largest = min(sizes, key=lambda name: (-sizes[name], name))
    room = sizes[largest]
    result = compiled(split_weights=True, dispatch=f".In={room},.Ext=1M")
    placed = text(result, "network_data_params.c")
    pairs = re.findall(r'section\("(\S+)"\)\)\)\nconst ai_u64 (\w+)\[', placed)
    assert (".In", largest) in pairs and {name for _, name in pairs} == set(sizes)
    held = sum(sizes[name] for section, name in pairs if section == ".In")
    assert held == room and all(held + sizes[name] > room for section, name in pairs if section == ".Ext")
    assert re.sub(r"__attribute__\(\(section.*\n", "", placed) == split
    rows = {row["name"]: row["sha256"] for row in json.loads(text(result, "manifest.json"))["files"]}
    assert rows["network_data_params.c"] == hashlib.sha256(placed.encode()).hexdigest()


@pytest.mark.parametrize(
    ("rooms", "words"),
    [
        (".In=16", "--dispatch-weights: array s_network_"),
        (".In=16,.Ext=8", "fits in no section, left are: .In 16, .Ext 8"),
        (".In", "the size of .In is '', not a size"),
        (".In=1K,.In=2K", "'.In=2K' is no SECTION=SIZE, or its section is named twice"),
        ('.a"b=1K', "is no SECTION=SIZE"),
        ("x=1K,", "'' is no SECTION=SIZE"),
        (".a=0", "the size of .a is 0"),
        *((f"{each}=1M", "is no SECTION=SIZE") for each in (".bss", ".data.x", ".text")),
    ],
)
def test_rooms_that_are_refused(rooms: str, words: str) -> None:
    with pytest.raises(NeuralArtError) as caught:
        compiled(split_weights=True, dispatch=rooms)
    assert words in str(caught.value)


def test_arrays_of_all_tools() -> None:
    """Legacy and st-ai C of the vendor's tool, and what is no array of constants."""
    stai = "STAI_ALIGNED(32)\nconst uint64_t g_n_a[3] = {\n1};\nextern const uint64_t g_n_b[9];\n"
    assert dispatched("n", {"n_data.c": stai.encode()}, ".X=32") == {
        "n_data.c": stai.replace(
            "const uint64_t g_n_a", '__attribute__((section(".X")))\nconst uint64_t g_n_a'
        ).encode()
    }
    assert dispatched("n", {"n_data.c": stai.encode()}, "") == {}
    with pytest.raises(NeuralArtError, match=r"n_data_params\.c: no array of constants is in it"):
        dispatched("n", {"n.c": b"const uint8_t x[2] = {1};", "n_data.c": b"int x;\n"}, ".X=1")


@pytest.mark.hostcc
def test_a_network_without_constants(tmp_path: Path) -> None:
    result = compiled(network=(small_network()[0], chain(32, 32)))
    assert (macros(result)["AI_NETWORK_DATA_WEIGHTS_SIZE"], result.cpu.weights[0].data) == ("(0)", b"")
    write(result, tmp_path)
    runner = cpu_native.build(tmp_path, "network", tmp_path / "runner")
    assert cpu_native.run(runner, bytes(range(64))) == bytes(range(64))


@pytest.mark.needs("ai_edge_litert")
@pytest.mark.hostcc
def test_states_are_carried_from_one_inference_to_the_next(tmp_path: Path) -> None:
    """In memory that begins as garbage, next to guards."""
    rng, writer = np.random.default_rng(9), ModelWriter()
    cases = [draw(rng, writer) for draw in (lstm("peephole", "projection", "norm"), svdf, lstm("cifg"))]
    model = writer.finish([n for case in cases for n in case.inputs], [n for case in cases for n in case.outputs])
    (tmp_path / "m.tflite").write_bytes(model)
    inputs = [[value for case in cases for value in case.vectors[at]] for at in range(INFERENCES)]
    wanted = [b"".join(value.tobytes() for value in outputs) for outputs in oracle.run(model, inputs)]
    assert len({*wanted}) == INFERENCES  # though some inputs are equal
    write(compile_network(CpuRequest(tmp_path / "m.tflite", report=False)), tmp_path / "net")
    program = cpu_native.build(tmp_path / "net", "network", tmp_path / "runner")
    fed = b"".join(value.tobytes() for vector in inputs for value in vector)
    assert cpu_native.run(program, fed) == b"".join(wanted)


# ---- network.json


def test_facts_are_those_of_the_npu_flow_but_for_the_places(tmp_path: Path) -> None:
    from neuralart.compilers.request import CompileRequest
    from neuralart_reference.compile import compile_network as for_npu

    stock = Path(__file__).parents[3] / "site_scons/neuralart/boards/data/pools/stm32n6570-dk.mpool"
    npu = for_npu(CompileRequest(MODEL, stock)).network
    ours = digits(tmp_path).network
    assert facts.load(tmp_path / "network.json") == ours
    assert (ours.epochs, ours.macc, ours.runtime, ours.numerics) == (npu.epochs, npu.macc, npu.runtime, npu.numerics)
    for mine, theirs in zip((*ours.inputs, *ours.outputs), (*npu.inputs, *npu.outputs), strict=True):
        assert replace(mine, pool="", address=0) == replace(theirs, pool="", address=0)
    assert all(pool.of_application and pool.address == 0 for pool in ours.pools)
    assert ours.initializers == (), "the weights are linked: no file must reach a memory"
    assert regions.used_pools(ours) == [] and npu.initializers and regions.used_pools(npu)


def test_ports_tell_pool_and_offset(tmp_path: Path) -> None:
    result = digits(tmp_path / "out", memory_pool=pools(tmp_path, DTCMRAM=300, AXIRAM=2048, SDRAM=4096))
    for port, number in ((result.network.inputs[0], 0), (result.network.outputs[0], 0)):
        kind = "inputs" if port is result.network.inputs[0] else "outputs"
        data = c_info(result)
        buffer = data["buffers"][data["graphs"][0][kind][number]]
        assert (port.pool, port.address) == (data["memory_pools"][buffer["mpool_id"]]["name"], buffer["offset_start"])


def test_buffers_of_the_application() -> None:
    result = compiled(("A", 64), allocate_inputs=False, allocate_outputs=False)
    port = result.network.inputs[0]
    assert (port.user_allocated, port.pool, port.address) == (True, "", 0)
    assert "AI_NETWORK_INPUTS_IN_ACTIVATIONS" not in macros(result, "network.h")
    data = c_info(result)
    user = [pool for pool in data["memory_pools"] if pool["user_allocated"]]
    assert [pool["name"] for pool in user] == ["_user_io_input_0", "_user_io_output_0"]
    assert data["memory_footprint"]["io"] == [16, 3]
    info = read_c_info(result.files["network_c_info.json"], "c.json")
    inputs = next(buffer for buffer in info.buffers if buffer.id == info.graph.inputs[0])
    assert next(pool for pool in info.pools if pool.id == inputs.pool).user_allocated


# ---- hostile names


@pytest.mark.hostcc
def test_hostile_names_do_no_harm(tmp_path: Path) -> None:
    result = compiled(network=small_network(name_in=HOSTILE, name_out=HOSTILE))
    names = [array.name for array in (*result.cpu.activations.values(), *result.cpu.constants.values())]
    assert len({name.lower() for name in names}) == len(names)
    assert all(re.fullmatch(r"[A-Za-z]\w*_array", name, re.ASCII) for name in names)
    json.loads(text(result, "network_c_info.json"))
    write(result, tmp_path)
    cpu_native.build(tmp_path, "network", tmp_path / "runner")


@pytest.mark.parametrize(
    ("label", "made"),
    [("conv1", "conv1"), ("1", "t1"), ("", "t"), ("_x", "x"), ("a/b:0", "a_b_0"), ("ü", "t"), ("x" * 99, "x" * 48)],
)
def test_identifiers(label: str, made: str) -> None:
    assert identifier(label) == made


# ---- the command


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert cli.main(["compile", *words]) == code
    captured = capsys.readouterr()
    return captured.err if code else captured.out


GOOD = ("--target", "stm32h7", "-m", str(MODEL))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    file = pools(tmp_path, DTCMRAM=600, AXIRAM=2048)
    words = (*GOOD, "--memory-pool", str(file), "--c-api", "legacy", "-o", str(out))
    shown = said(capsys, *words)
    assert "network network: 6 layers on the CPU, 97,802 MAC" in shown
    assert re.search(r"activation buffer 1  DTCMRAM +512 B   85.33 % of 600 B", shown)
    assert "array" in said(capsys, *words, "-v", "2")
    assert said(capsys, *words, "--quiet") == ""
    info = json.loads((out / "network_c_info.json").read_text())
    assert info["environment"]["tools"][0]["arguments"] == (
        "generate --model digits.tflite --target stm32h7 --name network --memory-pool mempools.json --c-api legacy"
    )
    assert "Activation buffers, provided by the application" in (out / "network_generate_report.txt").read_text()


def test_notes_go_into_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = said(capsys, *GOOD, "-o", str(tmp_path), "--optimization", "ram")
    assert "options without effect here: 1" in shown
    assert "Without effect here: --optimization" in (tmp_path / "network_generate_report.txt").read_text()


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (("--mpool", "a.mpool"), "--mpool: refused: it belongs to the NPU flow, target stm32h7 to the CPU flow"),
        (("--st-neural-art", "default@x.json"), "--st-neural-art: refused: it belongs to the NPU flow"),
        (("--initializers", "none"), "--initializers: refused: it belongs to the NPU flow"),
        (("--all-buffers-info",), "--all-buffers-info: refused: it belongs to the NPU flow"),
        (("--c-api", "st-ai"), "--c-api: 'st-ai' is refused: legacy"),
        (("--memory", ""), "--memory: an empty value is refused: smallest: layers in stripes"),
        (("--dispatch-weights", ""), "--dispatch-weights: '' is no SECTION=SIZE"),
        (("--allocate-activations",), "--allocate-activations: refused: the application provides"),
        (("--memory-pool", "none.json"), "none.json: cannot read"),
        (("-n", "int"), "--name: 'int' is not a C identifier"),
        (("--relocatable",), "--relocatable: refused"),
        (("--no-inputs-allocation", "--allocate-inputs"), "contradicts --no-inputs-allocation"),
    ],
)
def test_bad_options(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], answer: str) -> None:
    assert answer in said(capsys, *GOOD, *words, code=1)


@pytest.mark.parametrize("option", [("--memory-pool", "x.json"), ("--split-weights",), ("--binary",)])
def test_options_of_this_flow_are_refused_by_the_other(
    capsys: pytest.CaptureFixture[str], option: tuple[str, ...]
) -> None:
    answer = said(capsys, "--target", "stm32n6", "-m", str(MODEL), *option, code=1)
    assert f"{option[0]}: refused: it belongs to the CPU flow, target stm32n6 to the NPU flow" in answer


def test_requests_of_the_other_flow() -> None:
    from neuralart.compilers.request import CompileRequest
    from neuralart_reference.compile import compile_network as for_npu

    with pytest.raises(NeuralArtError, match="'stm32n6' is a target of the NPU flow, this is the CPU flow"):
        cpu.compile_network(CpuRequest(MODEL, target="stm32n6"))
    with pytest.raises(NeuralArtError, match="'stm32h7' is a target of the CPU flow, this is the NPU flow"):
        for_npu(CompileRequest(MODEL, Path("x.mpool"), target="stm32h7"))
    with pytest.raises(NeuralArtError, match="'stm32f4' is refused"):
        cpu.compile_network(CpuRequest(MODEL, target="stm32f4"))
