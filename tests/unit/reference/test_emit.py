"""What a compile writes: the shape that tools rely on, C that compiles without a warning, and what must not leak."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from neuralart import cli, toolchain
from neuralart.compilers.request import BorderOptions, CompileRequest
from neuralart.config.types import ToolchainConfig
from neuralart.errors import NeuralArtError
from neuralart.network.facts import NEURALART_VERSION, from_json
from neuralart.resources import firmware_dir
from neuralart.text import c_values
from neuralart.vendor.c_info import read as c_info
from neuralart.vendor.c_info.ports import ports
from neuralart_reference.compile import build
from neuralart_reference.emit import ctext
from neuralart_reference.model.graph import Model
from neuralart_virtual.validation.layers import EpochTensors
from support.servers.programs import FLASH, N6_LIKE, RAM, chain, constants_program, pool_file, small_network

ROOMY = pool_file(*N6_LIKE)
FIXED = pool_file(("RAM", 0x90000000, 4096, RAM), ("NOR", 0x71000000, 4096, FLASH))
MOVING = replace(FIXED, pools=tuple(replace(pool, mode="USEMODE_RELATIVE") for pool in FIXED.pools))
HOSTILE = 'a */ ??/ "b" \\ \n /* %s \u00fc\u4e2d'
OPTIONS = ("--all-buffers-info", "--enable-virtual-mem-pools", "-O3")
INCLUDE = firmware_dir() / "runtime" / "include"
WARNINGS = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", f"-I{INCLUDE}"]


def request(**changes) -> CompileRequest:
    fields = {"model": Path("small.tflite"), "mpool": Path("pools/n6 like.mpool"), "name": "small"}
    return CompileRequest(**{**fields, "profile_options": OPTIONS, **changes})


def compiled(pools=ROOMY, network=None, **changes):
    model, program = network or small_network()
    return build(request(**changes), model, program, pools)


def text(result, name) -> str:
    return result.files[name].decode()


# ---- network.c


def test_banner_options_and_guard():
    code = text(compiled(), "small.c")
    options = dict(re.findall(r"^ \* --([\w-]+) = (.*)$", code, re.M))
    assert options == {
        "load-mpool-file": '"n6_like"',
        "enable-virtual-mem-pools": "true",
        "all-buffers-info": "true",
        "network-name": '"small"',
    }
    assert ' * GIT_BRANCH      "neuralart-reference"' in code
    guard = re.search(
        r"^#if (LL_ATON_VERSION_MAJOR.*)\n#  error \"Possible mismatch in ll_aton library used\"$", code, re.M
    )
    assert [int(number) for number in re.findall(r"!= (\d+)", guard.group(1))] == list(NEURALART_VERSION)
    includes = re.findall(r'^#include "(.*)"$', code, re.M)
    assert includes == ["ll_aton_NN_interface.h", "ll_aton.h", "ll_aton_lib.h", "ll_aton_version.h", "ll_sw.h"]


def test_the_version_is_the_runtimes():
    header = (INCLUDE / "ll_aton_version.h").read_text()
    numbers = [int(re.search(rf"VERSION_{part} (\d+)", header).group(1)) for part in ("MAJOR", "MINOR", "MICRO", "DEV")]
    assert tuple(numbers) == NEURALART_VERSION


POOL = re.compile(r"/\* index=(\d+) file postfix=(\S+) name=(\S+) offset=(\S+)\s+(\S+) size=(\d+)\s+(vpool )?(\w+)")


def test_pool_comments():
    pools = pool_file(
        ("OFF", 0x20000000, 0, RAM),
        ("xSPI2", 0x70380000, 1024 * 1024, FLASH),
        ("A", 0x34200000, 64, RAM),
        ("B", 0x34200040, 4096, RAM),
    )
    code = text(compiled(pools, network=(small_network()[0], chain(32, 512, 32))), "small.c")
    found = [match.groups() for match in POOL.finditer(code)]
    assert [
        (fname, offset, int(size), bool(virtual), rights) for _, fname, _, offset, _, size, virtual, rights in found
    ] == [
        ("A", "0x34200000", 64, False, "READ_WRITE"),
        ("B", "0x34200040", 4096, False, "READ_WRITE"),
        ("xSPI2", "0x70380000", 1048576, False, "READ_ONLY"),
        ("A_B", "0x34200000", 4160, True, "READ_WRITE"),
        ("OFF", "0x20000000", 0, False, "READ_WRITE"),
    ]
    assert [index for index, *_ in found] == ["0", "1", "2", "3", "4"]
    assert all(mode == "absolute_mode" for *_, mode, _, _, _ in found)
    sizes = re.findall(r"/\* global pool (\d) is (.*) \*/", code)
    assert sizes[2:] == [("2", "?"), ("3", "544 B"), ("4", "?")]
    assert re.search(r"postfix=xSPI2 .* use4initializers=YES score=\d+  \*/", code)
    assert re.search(
        r"byte width=8 freq ratio=1.25 burst max length=MAXINT burst penalty=0 pipelined=ON cacheable=OFF "
        r"read_power=0 write_power=0 use4initializers=NO score=\d+  \*/",
        code,
    )


def test_a_pool_name_cannot_end_its_comment():
    pools = replace(ROOMY, pools=tuple(replace(pool, name="ec */ pool") for pool in ROOMY.pools))
    assert [match.group(3) for match in POOL.finditer(text(compiled(pools), "small.c"))] == ["ec__/_pool"] * 3


def test_epochs():
    code = text(compiled(), "small.c")
    assert re.findall(r"/\* scheduling epoch=(\d+) +nodes=1 +-+ \*/", code) == ["0", "1"]
    assert re.findall(r"/\* Unit= \d+ \[(\w+ \d)\] \*/", code) == ["PROCESSOR 0"] * 2
    kinds = re.findall(r"/\* kind=(\S+) node=(\S+) \*/", code)
    assert kinds == [("CONV_2D", "conv"), ("FULLY_CONNECTED", "scores")]
    table = code[code.index("ll_atonn_rt_epoch_block_array[] = {") :]
    flags = re.findall(r"\.flags = (.*),", table)
    software = "EpochBlock_Flags_epoch_start | EpochBlock_Flags_epoch_end | EpochBlock_Flags_pure_sw"
    assert flags == [software, software, "EpochBlock_Flags_last_eb"]
    starts = re.findall(r"\.start_epoch_block = (\w+),", table)
    assert starts == ["LL_ATON_Start_EpochBlock_0_small", "LL_ATON_Start_EpochBlock_1_small"]
    for start in starts:
        assert f"static void {start}(const void *epoch_block)" in code


def rows(code: str, title: str) -> list[dict[str, str]]:
    body = code[code.index(f"LL_ATON_{title}_Buffers_Info_small") :]
    body = body[: body.index("\n}\n")]
    return [
        dict(re.findall(r"\.(\w+) = (.*?),?\n", f"{row}\n"))
        for row in re.findall(r"\n    \{\n(.*?)\n    \},", body, re.S)
    ]


FIELDS = (
    *("name", "addr_base", "offset_start", "offset_end", "offset_limit", "is_user_allocated", "is_param", "epoch"),
    *("batch", "mem_shape", "mem_ndims", "chpos", "Qm", "Qn", "Qunsigned", "type", "nbits", "ndims", "shape"),
    *("per_channel", "scale", "offset"),
)


def test_buffer_tables():
    code = text(compiled(), "small.c")
    table = rows(code, "Input")
    assert [row["name"] for row in table] == [
        '"image"',
        '"conv_w"',
        '"conv_b"',
        '"conv_multiplier"',
        '"conv_shift"',
        '"fc_w"',
        '"fc_scale"',
        "NULL",
    ]
    assert [row.get("is_param") for row in table] == ["0", *["1"] * 6, None]
    assert tuple(table[0]) == FIELDS
    assert tuple(table[2]) == FIELDS[:-3]
    image, weights = table[0], table[1]
    assert (image["type"], image["chpos"], image["Qm"], image["Qunsigned"]) == ("DataType_INT8", "CHPos_Last", "7", "0")
    assert (image["shape"], image["mem_shape"]) == ("buff_info__shape_1_1_4_4", "buff_info__mem_shape_L_1_4_4_1")
    assert (weights["per_channel"], weights["shape"]) == ("1", "buff_info__shape_2_1_3_3")
    assert int(weights["offset_end"]) - int(weights["offset_start"]) == 18
    assert "static const uint32_t buff_info__shape_2_1_3_3[] = { 2, 3, 3, 1 };" in code
    assert "_scale[] = { 0.5f, 0.25f };" in code
    outputs = rows(code, "Output")
    assert [row["name"] for row in outputs] == ['"scores"', "NULL"]
    assert outputs[0]["epoch"] == "1"
    internal = rows(code, "Internal")
    assert [row["name"] for row in internal] == ['"conv"', "NULL"]
    assert internal[0]["epoch"] == "0"  # Where it is complete; it is read in epoch 1
    guarded = re.findall(r"#if LL_ATON_DBG_BUFFER_INFO_EXCLUDED == 0\n(.*?)#endif", code, re.S)
    assert [part.count("is_param = 1") for part in guarded] == [0, 6]


def test_every_buffer_names_the_epoch_that_writes_it(tmp_path):
    """Of a network with branches; who writes what is said twice."""
    model = Path(__file__).parents[3] / "models" / "heatmap" / "heatmap.tflite"
    assert cli.main(["compile", "-m", str(model), "--target", "stm32n6", "-n", "small", "-o", str(tmp_path)]) == 0
    network = from_json((tmp_path / "network.json").read_text("utf-8"), "network.json")
    info = c_info.read(tmp_path / "small_c_info.json")
    written = {port.name: node.number for node in info.epochs for port in ports(info, node.outputs)}
    code = (tmp_path / "small.c").read_text("utf-8")
    found = [row for title in ("Internal", "Output") for row in rows(code, title) if "epoch" in row]
    assert {row["name"].strip('"'): int(row["epoch"]) for row in found} == written and len(written) > 20
    # What is computed over its input has its name: that is no tensor of the model.
    compared = [(epoch, port.name) for epoch, found in EpochTensors(tmp_path, network).written for port in found]
    over = {(node.number, each) for node in info.epochs for each in node.outputs if each in node.inputs}
    assert len(over) >= 4 and not {epoch for epoch, _ in over} & {epoch for epoch, _ in compared}


def test_internal_buffers_only_when_asked_for():
    code = text(compiled(profile_options=()), "small.c")
    body = code[code.index("LL_ATON_Internal_Buffers_Info_small") :]
    assert "return NULL;" in body
    assert "buff_info[]" not in body


def test_addresses_agree_everywhere():
    """The same address in the code, in the tables, in network.json and in the header's neighborhood."""
    result = compiled()
    facts = from_json(text(result, "network.json"), "network.json")
    code = text(result, "small.c")
    for title, port in (("Input", facts.inputs[0]), ("Output", facts.outputs[0])):
        row = rows(code, title)[0]
        base = int(re.search(r"0x[0-9a-f]+", row["addr_base"]).group(), 16)
        assert base + int(row["offset_start"]) == port.address
        assert int(row["offset_end"]) - int(row["offset_start"]) == port.bytes
    for base, offset, total in re.findall(r"\((0x\w+)UL \+ (\d+)UL\)\) /\* Equivalent hex address = (0x\w+)UL", code):
        assert int(base, 16) + int(offset) == int(total, 16)
    flash = next(pool for pool in facts.pools if pool.fname == "xSPI2")
    raw = result.files["small_atonbuf.xSPI2.raw"]
    assert flash.weights == flash.used == len(raw)
    weights = rows(code, "Input")[1]
    assert raw[int(weights["offset_start"]) : int(weights["offset_end"])] == bytes([3]) * 18


def test_channels_first_is_told():
    model, program = small_network()
    code = text(compiled(network=(model, program), border=BorderOptions(inputs_ch_position=("chfirst",))), "small.c")
    row = rows(code, "Input")[0]
    assert (row["chpos"], row["mem_shape"], row["shape"]) == (
        "CHPos_First",
        "buff_info__mem_shape_F_1_1_4_4",
        "buff_info__shape_1_1_4_4",
    )
    assert '--inputs-ch-position = "chfirst"' in code


# ---- the other files


def test_header():
    lines = text(compiled(), "small.h").splitlines()
    for line in (
        '#define LL_ATON_SMALL_C_MODEL_NAME "small"',
        '#define LL_ATON_SMALL_ORIGIN_MODEL_NAME "small"',
        "#define LL_ATON_SMALL_IN_NUM (1)",
        "#define LL_ATON_SMALL_IN_1_ALIGNMENT (32)",
        "#define LL_ATON_SMALL_IN_1_SIZE_BYTES (16)",
        "#define LL_ATON_SMALL_OUT_1_SIZE_BYTES (3)",
    ):
        assert line in lines
    assert "USER_ALLOCATED" not in "".join(lines)
    other = text(compiled(allocate_inputs=False), "small.h")
    assert "#define LL_ATON_SMALL_USER_ALLOCATED_INPUTS (1)" in other


def test_facts():
    facts = compiled().network
    assert (facts.name, facts.runtime, facts.runtime_version, facts.numerics) == (
        "small",
        "neuralart",
        (0, 1, 0, 0),
        "litert-2.20",
    )
    assert [(epoch.number, epoch.kind, epoch.operators) for epoch in facts.epochs] == [
        (0, "SW", ("CONV_2D",)),
        (1, "SW", ("FULLY_CONNECTED",)),
    ]
    assert facts.macc == 96
    assert [pool.fname for pool in facts.initializers] == ["xSPI2"]
    assert re.fullmatch(r"[0-9a-f]{16}", facts.abi_stamp)
    assert facts.inputs[0].shape == (1, 4, 4, 1)


def test_c_info():
    info = json.loads(text(compiled(), "small_c_info.json"))
    assert info["json_schema_version"] == "2.0"
    assert set(info) == {
        *("json_schema_version", "environment", "memory_pools", "buffers", "graphs", "memory_footprint"),
        *("memory_accesses", "power_estimates", "ec_blobs_info"),
    }
    pools = {pool["id"]: pool for pool in info["memory_pools"]}
    flash = next(pool for pool in pools.values() if pool["fname"] == "atonbuf.xSPI2.raw")
    assert (flash["address"], flash["used_size_bytes"], flash["rights"]) == ("1882718208", 120, "ACC_READ")
    buffers = {buffer["id"]: buffer for buffer in info["buffers"]}
    for pool in pools.values():
        assert all(buffers[number]["mpool_id"] == pool["id"] for number in pool["buffers"])
    assert sum(len(pool["buffers"]) for pool in pools.values()) == len(buffers)
    graph = info["graphs"][0]
    assert [buffers[number]["name"] for number in graph["inputs"]] == ["image"]
    assert [buffers[number]["name"] for number in graph["outputs"]] == ["scores"]
    assert [(node["name"], node["mapping"], node["sw_functions"]) for node in graph["nodes"]] == [
        ("epoch_0", "NODE_SW", ["na_conv2d_s8"]),
        ("epoch_1", "NODE_SW", ["na_fully_connected_s8"]),
    ]
    assert [
        (buffers[edge["buffer"]]["name"], edge["start"]["node_id"], edge["end"]["node_id"]) for edge in graph["edges"]
    ] == [("conv", 0, 1)]
    assert info["memory_footprint"]["weights"] == 120
    assert info["memory_footprint"]["io"] == [16, 3]
    tool = info["environment"]["tools"][0]
    assert (tool["name"], tool["input_model"]["n_params"], tool["input_model"]["size"]) == (
        "neuralart-reference",
        44,
        50,
    )
    assert info["environment"]["generated_model"]["generated_time"] == "not recorded"


def test_report():
    lines = text(compiled(), "small_generate_report.txt").splitlines()
    body = "\n".join(lines)
    assert lines[1] == "Parameters            : generate"
    assert "Model name - small" in lines
    assert re.search(r"^m_id +layer \(original\) +oshape +param/size +macc +connected to$", body, re.M)
    assert re.search(r"^0 +conv \(CONV_2D\) +\[b:1,h:2,w:2,c:2\] +20/26 +72 +image$", body, re.M)
    assert re.search(r"^1 +flat \(RESHAPE\) +\[b:1,c:8\] +conv$", body, re.M)
    assert re.search(r"^2 +scores \(FULLY_CONNECTED\) +\[b:1,c:3\] +24/24 +24 +flat$", body, re.M)
    assert "model: macc=96 weights=50 activations=-- io=--" in lines
    line = next(line for line in lines if line.startswith("\txSPI2_name"))
    used = r"\( +0\.\d\d % used\)"
    assert re.fullmatch(
        rf"\txSPI2_name +\[0x70380000 - 0x70480000\]: +120  B / +1\.000 MB  {used} -- weights: +120  B {used}"
        rf"  activations: +0  B {used}",
        line,
    )
    assert re.search(r"^\txSPI2_name +\[0x70380000 - 0x70480000\]: 0x70380000-0x70380078$", body, re.M)
    assert re.search(r"^Total number of epochs +2$", body, re.M)
    assert re.search(r"^>> pure software \(SW\) epochs +2$", body, re.M)
    assert "0 % of the network is offloaded to an NPU" in body
    assert "| epoch_1  |   SW   | ( FULLY_CONNECTED ) |" in lines
    assert (
        "Without effect here: --optimization 3: it steers the mapping to an NPU; here every epoch is software" in lines
    )


def test_manifest_lists_every_file_but_itself():
    result = compiled()
    data = json.loads(text(result, "manifest.json"))
    assert (data["schema"], data["network"]) == (1, "small")
    names = [row["name"] for row in data["files"]]
    assert names == sorted(set(result.files) - {"manifest.json"})
    for row in data["files"]:
        content = result.files[row["name"]]
        assert row["bytes"] == len(content)
        assert row["sha256"] == hashlib.sha256(content).hexdigest()
        assert int(row["crc32"], 16) == zlib.crc32(content)
        assert len(row["crc32"]) == 8


def test_declared_and_empty_initializers_are_empty_files():
    result = compiled(initializers=("AXISRAM4", "xSPI2"))
    assert result.files["small_atonbuf.AXISRAM4.raw"] == b""
    assert len(result.files["small_atonbuf.xSPI2.raw"]) == 120


def test_an_undeclared_initializer_prints_the_line_to_add():
    pools = pool_file(("RAM", 0x1000, 4096, RAM), ("NOR", 0x70000, 64, FLASH))
    with pytest.raises(NeuralArtError) as caught:
        compiled(pools)
    assert "constants in RAM (" in caught.value.what
    assert "initializers: [NOR, RAM]" in caught.value.hint
    assert set(compiled(pools, initializers=("NOR", "RAM")).files) >= {"small_atonbuf.RAM.raw", "small_atonbuf.NOR.raw"}
    with pytest.raises(NeuralArtError, match="initializers: \\[NOR, RAM\\]"):
        compiled(pools, initializers=("NOR",))


def test_an_initializer_of_no_pool():
    with pytest.raises(NeuralArtError, match=r"no enabled pool 'xSPI1'.*did you mean 'xSPI2'"):
        compiled(initializers=("xSPI1",))


def test_the_prefix_of_the_pool_file_names_the_initializers():
    result = compiled(replace(ROOMY, prefix="weights"))
    assert "small_weights.xSPI2.raw" in result.files


# ---- what changes what


def changed(one, other) -> set[str]:
    return {name for name in {*one.files, *other.files} if one.files.get(name) != other.files.get(name)}


def test_only_the_weights():
    one, other = compiled(network=small_network(weight_byte=3)), compiled(network=small_network(weight_byte=4))
    assert changed(one, other) == {"small_atonbuf.xSPI2.raw", "manifest.json"}
    assert one.network.abi_stamp == other.network.abi_stamp


def test_the_folder_of_the_pools_and_options_without_effect():
    one = compiled()
    assert changed(one, compiled(mpool=Path("/elsewhere/n6 like.mpool"), model=Path("/x/small.tflite"))) == set()
    other = compiled(profile_options=(*OPTIONS, "--Oauto-sched"))
    assert changed(one, other) == {"small_generate_report.txt", "manifest.json"}


def test_the_stamp_follows_code_and_pools_but_not_the_banner():
    stamp = compiled().network.abi_stamp
    assert compiled(mpool=Path("other.mpool")).network.abi_stamp == stamp
    moved = pool_file(*N6_LIKE[:2], ("xSPI2", 0x70400000, 1024 * 1024, FLASH))
    larger = pool_file(*N6_LIKE[:2], ("xSPI2", 0x70380000, 2048 * 1024, FLASH))
    others = [compiled(moved), compiled(larger), compiled(profile_options=()), compiled(name="small2")]
    others.append(compiled(network=small_network(scales=(0.5, 0.125))))
    assert len({stamp, *(other.network.abi_stamp for other in others)}) == 6


# ---- the C


def compilers() -> list:
    return [pytest.param("arm", marks=pytest.mark.arm), pytest.param("host", marks=pytest.mark.hostcc)]


def gcc(kind: str) -> list[str]:
    if kind == "host":
        return ["cc"]
    import os

    found = toolchain.find(ToolchainConfig(), os.environ)
    return [
        f"{found.folder}/{found.prefix}gcc",
        "-mcpu=cortex-m33",
        "-mthumb",
        "-mfpu=fpv5-sp-d16",
        "-mfloat-abi=hard",
        *found.libc_flags,
    ]


def write(folder: Path, result) -> None:
    for name, content in result.files.items():
        (folder / name).write_bytes(content)


NETWORKS = {
    "plain": {},
    "hostile names": {"network": small_network(HOSTILE, HOSTILE)},
    "user buffers": {"allocate_inputs": False, "allocate_outputs": False},
    "no options": {"profile_options": ()},
    "relative pools": {"pools": MOVING},
    "no call": {"network": (small_network()[0], chain(8))},
}


@pytest.mark.parametrize("kind", compilers())
@pytest.mark.parametrize("define", ["", "-DLL_ATON_EB_DBG_INFO", "-DLL_ATON_DBG_BUFFER_INFO_EXCLUDED=1"])
@pytest.mark.parametrize("network", NETWORKS)
def test_the_c_compiles_without_a_warning(tmp_path, kind, define, network):
    write(tmp_path, compiled(**NETWORKS[network]))
    (tmp_path / "user.c").write_text(
        '#include "small.h"\n#include "small.h"\nconst char *n = LL_ATON_SMALL_ORIGIN_MODEL_NAME;\n'
    )
    command = [*gcc(kind), *WARNINGS, *([define] if define else []), "-c", "small.c", "user.c"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


USER = """
#include <assert.h>
#include <string.h>
#include "ll_aton.h"
LL_ATON_DECLARE_NAMED_NN_INSTANCE_AND_INTERFACE(mine);
LL_ATON_DECLARE_NAMED_NN_INSTANCE_AND_INTERFACE(other);
static _Alignas(32) unsigned char in[64], out[64];
int main(void) {
  assert(!LL_ATON_EC_Inference_Init_mine());
  assert(LL_ATON_Get_User_Input_Buffer_mine(0) == NULL);
  assert(LL_ATON_Set_User_Input_Buffer_mine(1, in, 64) == LL_ATON_User_IO_WRONG_INDEX);
  assert(LL_ATON_Set_User_Input_Buffer_mine(0, in, 63) == LL_ATON_User_IO_WRONG_SIZE);
  assert(LL_ATON_Set_User_Input_Buffer_mine(0, in + 1, 64) == LL_ATON_User_IO_WRONG_ALIGN);
  assert(LL_ATON_Set_User_Input_Buffer_mine(0, in, 64) == LL_ATON_User_IO_NOERROR);
  assert(LL_ATON_Get_User_Input_Buffer_mine(0) == in && LL_ATON_Get_User_Input_Buffer_mine(1) == NULL);
  assert(!LL_ATON_EC_Inference_Init_mine());
  assert(LL_ATON_Set_User_Output_Buffer_mine(0, out, 64) == LL_ATON_User_IO_NOERROR);
  assert(LL_ATON_EC_Inference_Init_mine() && LL_ATON_EC_Network_Init_mine());
  assert(LL_ATON_Set_User_Input_Buffer_other(0, in, 64) == LL_ATON_User_IO_WRONG_INDEX);
  assert(LL_ATON_EC_Inference_Init_other() && LL_ATON_Get_User_Input_Buffer_other(0) == NULL);
  const LL_Buffer_InfoTypeDef *row = LL_ATON_Input_Buffers_Info_mine();
  assert(row->is_user_allocated && LL_Buffer_len(row) == 64 && strcmp(row->name, "t0") == 0);
  row = LL_ATON_Output_Buffers_Info_other();
  assert(!row->is_user_allocated && LL_Buffer_addr_start(row) == (unsigned char *)(uintptr_t)ADDRESS);
  assert(LL_ATON_Internal_Buffers_Info_other() == NULL && NN_Instance_other.network != NULL);
  for (int k = 0; k < 64; k++) in[k] = (unsigned char)(k * 7);
  LL_ATON_RT_RuntimeInit();
  assert(LL_ATON_RT_Init_Network(&NN_Instance_mine));
  LL_ATON_RT_Main(&NN_Instance_mine);
  assert(memcmp(in, out, 64) == 0);
  return 0;
}
"""


@pytest.mark.hostcc
def test_two_networks_in_one_program_run(tmp_path):
    """Buffers of the application, driven through the runtime; the other network's names do not clash."""
    model = small_network()[0]
    mine = compiled(network=(model, chain(64, 64)), name="mine", allocate_inputs=False, allocate_outputs=False)
    other = compiled(network=(model, chain(64, 64)), name="other", profile_options=())
    for result in (mine, other):
        write(tmp_path, result)
    (tmp_path / "main.c").write_text(USER)
    runtime = firmware_dir() / "runtime"
    sources = ["main.c", "mine.c", "other.c", runtime / "ll_aton_runtime.c", runtime / "kernels" / "bytes.c"]
    define = f"-DADDRESS={other.network.outputs[0].address}UL"
    command = ["cc", *WARNINGS, define, *map(str, sources), "-o", "program"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert subprocess.run([tmp_path / "program"]).returncode == 0


@pytest.mark.hostcc
def test_another_runtime_is_refused_by_the_guard(tmp_path):
    write(tmp_path, compiled())
    shutil.copytree(INCLUDE, tmp_path / "include")
    version = tmp_path / "include" / "ll_aton_version.h"
    version.write_text(version.read_text().replace("VERSION_DEV 0", "VERSION_DEV 1"))
    done = subprocess.run(["cc", "-Iinclude", "-c", "small.c"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0
    assert "Possible mismatch in ll_aton library used" in done.stderr


def test_working_memory_stands_before_the_parameters():
    code = text(compiled(network=(small_network()[0], chain(64, 64, scratch={0: 100}))), "small.c")
    call = code[code.index("  na_copy_8(") :]
    words = [line.strip().split(" ")[0] for line in call[: call.index(";")].splitlines()[1:]]
    assert words == ["(const", "(uint8_t", "(void", "&parameters)"]


# ---- C text


def test_c_strings_and_comments():
    assert c_values.string('a"b\\c?d\n1') == '"a\\042b\\134c\\077d\\0121"'
    assert c_values.string("\u00fc") == '"\\303\\274"'
    assert ctext.in_comment("a b*/c\n") == "a_b_/c_"
    assert ctext.in_comment("") == "_"


@pytest.mark.parametrize("value", [1.0, 0.5, 0.1, 1e-20, 3.4028234663852886e38, 0.003921568859368563, 16777216.0])
def test_scales_survive(value):
    import struct

    text_ = ctext.single(value)
    assert re.fullmatch(r"[0-9.e+-]+f", text_) and any(char in text_ for char in ".e")
    assert struct.pack("<f", float(text_[:-1])) == struct.pack("<f", value)


def test_a_model_without_parameters():
    result = compiled(network=(Model("m.tflite", "m", tuple(chain(8, 8).tensors), (), (0,), (1,)), chain(8, 8)))
    assert result.files["small_atonbuf.xSPI2.raw"] == b""
    assert "global pool 2 is ?" in text(result, "small.c")


def test_constants_of_a_program_reach_the_raw_in_order():
    raw = compiled(network=(small_network()[0], constants_program(3, 5))).files["small_atonbuf.xSPI2.raw"]
    assert raw == b"\x01" * 3 + bytes(13) + b"\x02" * 5


# ---- relative pools


def test_bases_of_relative_pools_are_symbols():
    result = compiled(MOVING)
    code = text(result, "small.c")
    body = code[code.index("LL_ATON_User_IO_Result_t") :]
    assert "Equivalent" not in code and not re.search(r"0x[79]\d{7}", body)
    for title in ("Input", "Output", "Internal"):
        named = {row["addr_base"] for row in rows(code, title) if row["name"] != "NULL"}
        assert named and named <= {
            f"{{(unsigned char *)((uintptr_t)_mem_pool_{pool}_small)}}" for pool in ("RAM", "NOR")
        }
    assert re.findall(r"relative_mode.*\n(.*)\n", code) == [
        f"extern unsigned char _mem_pool_{pool.fname}_small[]; /* {ctext.kilobytes(pool.used)} */"
        for pool in result.network.pools
    ]
    assert "ATON_LIB_PHYSICAL_TO_VIRTUAL_ADDR((uintptr_t)((uintptr_t)_mem_pool_NOR_small + 0UL))" in code


def test_facts_of_relative_pools():
    facts = from_json(text(compiled(MOVING), "network.json"), "network.json")
    assert [(pool.fname, pool.address, pool.relative, pool.used > 0) for pool in facts.pools] == [
        ("RAM", 0x90000000, True, True),
        ("NOR", 0x71000000, True, True),
    ]
    assert facts.inputs[0].pool == "RAM" and facts.inputs[0].address >= 0x90000000
    assert not any(pool.relative for pool in compiled().network.pools)
    assert facts.abi_stamp != compiled(ROOMY).network.abi_stamp


def test_a_relative_network_differs_from_the_static_one_in_its_bases_only():
    moving, static = compiled(MOVING), compiled(FIXED)
    code = re.sub(r"extern unsigned char _mem_pool_.*\n", "", text(moving, "small.c")).replace(
        "relative_mode", "absolute_mode"
    )
    expected = re.sub(r" /\* Equivalent hex address = 0x\w+UL \*/", "", text(static, "small.c"))
    for pool in moving.network.pools:
        code = code.replace(f"(uintptr_t)_mem_pool_{pool.fname}_small", f"0x{pool.address:08x}UL")
    assert code == expected
    assert {name: data for name, data in moving.files.items() if name.endswith(".raw")} == {
        name: data for name, data in static.files.items() if name.endswith(".raw")
    }


def test_the_report_says_which_pools_move():
    assert "Relative: RAM_name, NOR_name; the addresses are those of the pool file" in text(
        compiled(MOVING), "small_generate_report.txt"
    )
    assert "Relative:" not in text(compiled(), "small_generate_report.txt")
