"""network.json of a network that the user's ST Edge AI Core compiled: nothing downstream asks who it was."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from neuralart.compilers.stedgeai.facts_of import cpu_facts, epochs_of, macc_of, npu_facts, pools_of, stamp
from neuralart.network.facts import from_json, to_json
from neuralart.vendor.c_info.read import parse_c_info
from neuralart.vendor.network_c.read import parse
from support.models import vendor_network_c as vendor
from support.models.stedgeai_case import refusal
from support.models.vendor_network_c import Want

RELEASES = list(vendor.RELEASES)


def read(**named):
    made = vendor.make(Want(name="net", **named))
    return parse(made.files["network.c"].decode(), "net.c"), len(made.files["network_atonbuf.xSPI2.raw"])


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize("ec", [False, True])
def test_facts_of_every_version(version, ec):
    network, raw = read(version=version, ec=ec, all_buffers=True)
    facts = npu_facts("net", network, None, {"xSPI2": raw}, macc=12)
    assert from_json(to_json(facts), "x") == facts
    assert (facts.name, facts.runtime, facts.runtime_version) == ("net", "ll_aton", vendor.RELEASES[version][0])
    assert (facts.numerics, facts.macc) == ("neural-art", 12)
    flash = next(pool for pool in facts.pools if pool.fname == "xSPI2")
    assert (flash.weights, flash.used, flash.activations, flash.rights) == (raw, raw, 0, "ACC_READ")
    assert [pool.fname for pool in facts.initializers] == ["xSPI2"]
    ram = next(pool for pool in facts.pools if pool.fname == "AXISRAM5")
    assert (ram.weights, ram.rights, ram.activations) == (0, "ACC_WRITE", 64 * 1024 + 7 * 256)
    whole = next(pool for pool in facts.pools if pool.virtual)
    assert whole.parts == ("AXISRAM5", "AXISRAM6")
    assert not [pool for pool in facts.pools if not pool.size]
    (source,) = facts.inputs
    assert (source.address, source.bytes, source.shape, source.dtype) == (0x342E0400, 27648, (1, 96, 96, 3), "uint8")
    assert (source.pool, source.channel_position, source.zero_point) == ("AXISRAM5", "last", -128)
    assert [port.channel_position for port in facts.outputs] == ["undefined", "mixed"]
    kinds = [epoch.kind for epoch in facts.epochs]
    assert kinds == ["SW", *["EC" if ec else "HW"] * 4, "HYBRID", "SW"]
    assert [epoch.number for epoch in facts.epochs] == list(range(1, 8))
    assert facts.epochs[0].operators == ("QuantizeLinear",)


def test_buffers_of_the_application():
    network, raw = read(user_io=True)
    facts = npu_facts("net", network, None, {"xSPI2": raw})
    assert [(port.user_allocated, port.pool, port.address) for port in facts.inputs] == [(True, "", 0)]
    assert not [pool for pool in facts.pools if pool.fname.startswith("_user_io_")]


def test_relative_pools():
    network, raw = read(relative=True)
    flash = next(pool for pool in pools_of(network, None, {"xSPI2": raw}) if pool.fname == "xSPI2")
    assert (flash.mode, flash.address, flash.used) == ("USEMODE_RELATIVE", 0x71000000, raw)


def test_a_float_output_is_not_quantized():
    facts = npu_facts("net", *_with_raw(read(float_output=True)))
    assert (facts.outputs[0].dtype, facts.outputs[0].scale, facts.outputs[0].zero_point) == ("float32", 0.0, 0)


def _with_raw(made):
    network, raw = made
    return network, None, {"xSPI2": raw}


def test_what_is_refused():
    network, raw = read()
    raws = {"xSPI2": raw}
    assert refusal(npu_facts, "other", network, None, raws) == "net.c: is of network 'net', not 'other'"
    assert "but no initializer was written" in refusal(npu_facts, "net", network, None, {})
    assert "bytes of constants are in pool xSPI2" in refusal(npu_facts, "net", network, None, {"xSPI2": 0})
    assert "no guard on LL_ATON_VERSION_MAJOR" in refusal(npu_facts, "net", replace(network, runtime=None), None, raws)
    half = network.text[: network.text.index("ll_atonn_rt_epoch_block_array[]") + 400]
    assert "is the disk full?" in refusal(npu_facts, "net", parse(half, "net.c"), None, raws)


# ---- the stamp


def test_the_stamp_changes_with_code_and_layout_and_with_nothing_else():
    network, raw = read()
    facts = npu_facts("net", network, None, {"xSPI2": raw})
    base = stamp(network.text, [], facts.pools)
    assert facts.abi_stamp == base
    other_banner = network.text.replace("/srv/models", "/elsewhere")
    assert other_banner != network.text
    assert stamp(other_banner, [], facts.pools) == base
    assert stamp(network.text.replace("offset_start = 512", "offset_start = 544"), [], facts.pools) != base
    assert stamp(network.text, ["blob"], facts.pools) != base
    moved = tuple(replace(pool, address=pool.address + 64) for pool in facts.pools)
    assert stamp(network.text, [], moved) != base
    assert stamp(network.text, [], (*facts.pools, replace(facts.pools[0], virtual=True))) == base


# ---- with the compiler's description


def described(network, pools, nodes=()) -> str:
    data = {
        "json_schema_version": "2.0",
        "environment": {"tools": [{"name": "ATONN Compiler", "version": "1.1.3-275"}]},
    }
    data["memory_pools"] = [
        {"id": n, "name": name, "fname": f"atonbuf.{fname}.raw" if fname else "", "address": "0", "size_bytes": 1 << 20,
         "used_size_bytes": used, "rights": "ACC_WRITE", "subpools": list(parts), "buffers": []}
        for n, (name, fname, used, parts) in enumerate(pools)
    ]  # fmt: skip
    data["graphs"] = [{"id": 0, "name": "net", "inputs": [], "outputs": [], "nodes": list(nodes), "edges": []}]
    return json.dumps(data)


def test_exact_numbers_come_from_the_description():
    network, raw = read()
    pools = [("npuRAM5", "AXISRAM5", 65000, ()), ("npuRAM6", "AXISRAM6", 77, ()), ("octoFlash", "xSPI2", raw, ())]
    pools.append(("npuRAM5_npuRAM6", "", 458752 + 77, (0, 1)))
    info = parse_c_info(described(network, pools).encode(), "i")
    found = {pool.fname: pool for pool in pools_of(network, info, {"xSPI2": raw})}
    assert found["AXISRAM5"].used == 65000
    assert found["AXISRAM6"].used == 77
    assert found["AXISRAM5_AXISRAM6"].used == 458752 + 77


def test_use_through_a_virtual_pool_is_not_overlooked():
    network, raw = read()
    pools = tuple(replace(pool, said=500000, exact=500000) if pool.virtual else pool for pool in network.pools)
    found = {pool.fname: pool for pool in pools_of(replace(network, pools=pools), None, {"xSPI2": raw})}
    assert found["AXISRAM5"].used == 458752
    assert found["AXISRAM6"].used == 500000 - 458752


def test_operators_within_blobs_come_from_the_description():
    network, _ = read(ec=True)
    node = {"id": 3, "name": "epoch_3", "mapping": "NODE_EC", "subgraph_nodes": [{"name": "Conv_1", "type": "Conv"}]}
    info = parse_c_info(described(network, [("a", "b", 0, ())], [node]).encode(), "i")
    found = {epoch.number: epoch for epoch in epochs_of(network, info)}
    assert found[3].operators == ("Conv",)
    assert found[2].operators == ()
    assert found[3].kind == "EC"


# ---- text report and CPU


@pytest.mark.parametrize(
    ("text", "macc"),
    [
        ("model: macc=2,490,976 weights=9,904\n", 2490976),
        ("x\nmodel/c-model: macc=123,543/122,913 -630(-0.5%)\n", 122913),
        ("nothing", 0),
        ("", 0),
    ],
)
def test_operations_of_the_report(text, macc):
    assert macc_of(text) == macc


def cpu_info(**more) -> bytes:
    pool = {
        "id": 0,
        "name": "AXIRAM",
        "address": "NULL",
        "size_bytes": -1,
        "used_size_bytes": 4000,
        "rights": "ACC_WRITE",
    }
    weights = pool | {"id": 1, "name": "weights_array", "address": "g_network_weights_array", "used_size_bytes": 999}
    buffer = {"id": 5, "name": "in", "mpool_id": 0, "offset_start": 64, "size_bytes": 192, "shape": [1, 8, 8, 3]}
    buffer |= {"format": "STAI_FORMAT_U8", "nbits": 8, "is_param": False}
    data = {
        "json_schema_version": "2.0",
        "environment": {"tools": [{"name": "ST.EdgeAI.Core", "version": "4.0.1-20581 7ed50de05"}]},
        "memory_pools": [pool, weights | {"rights": "ACC_READ"}],
        "buffers": [buffer, buffer | {"id": 6, "name": "out", "format": "STAI_FORMAT_FLOAT32", "nbits": 32}],
        "graphs": [
            {"id": 0, "name": "net", "inputs": [5], "outputs": [6], "edges": [],
             "nodes": [{"id": 1, "name": "c", "type": "Conv2D", "macc": 7},
                       {"id": 2, "name": "d", "type": "Dense", "macc": 5}]}
        ],
    }  # fmt: skip
    return json.dumps(data | more).encode()


def test_facts_of_a_cpu_network():
    info = parse_c_info(cpu_info(), "i")
    facts = cpu_facts("net", info, ["int a;", "int b;"])
    assert from_json(to_json(facts), "x") == facts
    assert (facts.runtime, facts.runtime_version) == ("network_runtime", (4, 0, 1, 20581))
    assert [(p.name, p.used, p.weights, p.activations) for p in facts.pools] == [
        ("AXIRAM", 4000, 0, 4000),
        ("weights_array", 999, 999, 0),
    ]
    assert [(p.name, p.dtype, p.bytes, p.address, p.pool) for p in facts.inputs] == [("in", "uint8", 192, 0, "AXIRAM")]
    assert [(p.name, p.dtype) for p in facts.outputs] == [("out", "float32")]
    assert [epoch.operators for epoch in facts.epochs] == [("Conv2D",), ("Dense",)]
    assert facts.macc == 12
    assert cpu_facts("net", info, ["int a;", "int c;"]).abi_stamp != facts.abi_stamp


def test_a_cpu_description_with_an_output_that_is_not_listed():
    graph = {"id": 0, "name": "net", "inputs": [5], "outputs": [6, 99], "edges": [], "nodes": []}
    info = parse_c_info(cpu_info(graphs=[graph]), "net_c_info.json")
    assert "net_c_info.json: there is no buffer 99" in refusal(cpu_facts, "net", info, [])


def test_a_cpu_description_without_a_graph():
    info = parse_c_info(cpu_info(graphs=[]), "net_c_info.json")
    assert "net_c_info.json: there is no graph in it (is it of 'generate'" in refusal(cpu_facts, "net", info, [])
