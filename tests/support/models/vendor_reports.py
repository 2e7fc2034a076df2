"""Writes the files that a vendor compile leaves beside its C, release by release; the contents are made up.

One small network everywhere: three epochs of hardware, one of software (a Softmax), weights in the flash pool, two
activation pools with a virtual one around them.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from neuralart.vendor.c_info.types import CInfo
from neuralart_insight.vendor import c_info_checks as checks

CORES = {
    "2.0": "2.0.0-20049",
    "2.1": "2.1.0-20194 329b0e98d",
    "2.2": "2.2.0-20266 2adc00962",
    "3.0": "3.0.0-20426 123672867",
    "4.0": "4.0.1-20581 7ed50de05",
}
COMPILERS = {"2.0": "1.0.0-16", "2.1": "1.1.0-31", "2.2": "1.1.1-14", "3.0": "1.1.3-8", "4.0": "1.1.3-275"}
RELEASES = tuple(CORES)
MODEL = b"made-up model"
SIGNATURE = "0x" + hashlib.md5(MODEL, usedforsecurity=False).hexdigest()
RAM4, RAM5, FLASH = 0x34270000, 0x342E0000, 0x71000000
USED_FLASH, USED_RAM4, USED_RAM5 = 10081, 4096, 9072


def modern(release: str) -> bool:
    """From 3.0 on."""
    return release >= "3"


def _pool(ident: int, name: str, file: str, address: int, size: int, used: int, **own: Any) -> dict[str, Any]:
    rights = "ACC_READ" if file.endswith("xSPI2.raw") else "ACC_WRITE"
    return {
        "id": ident,
        "name": name,
        "fname": file,
        "address": str(address),
        "alignment": 8,
        "attributes": {
            "throughput": "HIGH",
            "latency": "LOW",
            "byte_width": 8,
            "freq_ratio": 1.25,
            "burst_max_length": 4294967295,
            "burst_penalty": 0,
            "read_power": 18.531,
            "write_power": 380,
            "use_for_initrs": rights == "ACC_READ",
            "score": 94,
        },
        "buffers": [],
        "cacheable": "CACHEABLE_OFF",
        "offset_start": 0,
        "persistent": True,
        "pipelined": "PIPELINED_ON",
        "rights": rights,
        "size_bytes": size,
        "subpools": [],
        "used_size_bytes": used,
        "user_allocated": False,
        **own,
    }


def _buffer(ident: int, name: str, pool: int, offset: int, size: int, **own: Any) -> dict[str, Any]:
    return {
        "alignment": 1,
        "batch": 1,
        "channel_first": False,
        "channel_last": True,
        "epochs": {"start": 1, "end": 4},
        "flags": "",
        "format": "STAI_FORMAT_S8",
        "id": ident,
        "intq": {"axis": -1, "offsets": [-128], "scales": [0.0039]},
        "is_param": False,
        "mpool_id": pool,
        "name": name,
        "nbits": 8,
        "offset_start": offset,
        "qmn": {"m": 7, "n": 0, "sign": 1},
        "shape": [1, 8, 8, 3],
        "shape_map": [],
        "size_bytes": size,
        **own,
    }


def _sub(release: str, name: str, kind: str, mapping: str, unit: str = "") -> dict[str, Any]:
    common: dict[str, Any] = {"id": 9, "name": name, "mapping": mapping, "attributes": {}, "inputs": [], "outputs": []}
    if modern(release):
        return {**common, "type": kind, "attributes": {"HWUnit": unit} if unit else {}}
    return {**common, "description": f"Node kind={kind}"}


def _node(number: int, mapping: str, subs: list[dict[str, Any]], **own: Any) -> dict[str, Any]:
    return {
        "attributes": {},
        "id": 200 + number,
        "inputs": [],
        "macc": 0,
        "mapping": mapping,
        "name": f"epoch_{number}",
        "original_nodes": [],
        "outputs": [],
        "scratchs": [],
        "subgraph_nodes": subs,
        "sw_functions": [],
        **own,
    }


def _tools(release: str, *, compiler: bool) -> list[dict[str, Any]]:
    model = {
        "name": "net",
        "type": "tflite",
        "size": 9904,
        "n_params": 9712,
        "model_files": [{"name": "net.tflite", "signature": SIGNATURE}],
    }
    core = {"name": "ST.EdgeAI.Core", "version": CORES[release], "arguments": "generate -m net.tflite"}
    tools = [{**core, "environment": ["STATS_TYPE=X"], "input_model": model}]
    if compiler:
        exported = {**model, "name": "network", "size": 0, "n_params": 0, "model_files": [{"name": "net_OE.onnx"}]}
        tools.append(
            {
                "name": "ATONN Compiler",
                "version": COMPILERS[release],
                "arguments": " -i x",
                "environment": [],
                "input_model": exported,
            }
        )
    return tools


def _environment(release: str, *, compiler: bool) -> dict[str, Any]:
    return {
        "generated_model": {
            "name": "network" if modern(release) else "Default",
            "generated_time": "2026-01-01T00:00:00+0000",
            "model_files": [{"name": "network.c", "signature": ""}],
        },
        "network_signature": "0x1234567890abcdef",
        "target": "",
        "test_name": "",
        "tools": _tools(release, compiler=compiler),
    }


def c_info(release: str, *, ec: bool = False) -> dict[str, Any]:
    """Of the NPU: as the front end completes it."""
    none = "NODE_NO_X" if modern(release) else "NODE_HW"
    back = "NODE_NO_X" if modern(release) else "NODE_EC" if ec else "NODE_SW"
    blobs = ec and modern(release)
    hardware = "NODE_EC" if ec and not blobs else "NODE_HW"
    software = "NODE_SW_INTEGER" if modern(release) else "NODE_SW"
    nodes = [
        _node(0, none, [_sub(release, "Conv2D_3_weights", "Param", none)]),
        *(
            _node(number, hardware, [_sub(release, f"Conv2D_{number}", "Conv", hardware, "CONV_ACC_V2 0")])
            for number in (1, 2, 3)
        ),
        _node(4, "NODE_SW", [_sub(release, "Softmax_9", "Softmax", software)], inputs=[2, 5, 6], outputs=[3, 6]),
        _node(5, back, [_sub(release, "__NN__RETURN__", "Return", back)]),
    ]
    estimated = [node["id"] for node in nodes]
    if blobs:
        # A node that is the blob, with its epochs below it; among them one that computes nothing.
        inside = [_node(9, none, [_sub(release, "view", "Reshape", none)], type=""), *nodes[1:4]]
        nodes[1:4] = [_node(0, "NODE_EC", inside, id=300, name="_ec_blob_network_1", type="Epoch Controller Blob")]
    weights = {"is_param": True, "intq": {"axis": 1, "offsets": [0, 0], "scales": [0.5, 1]}}
    data: dict[str, Any] = {
        "json_schema_version": "2.0",
        "environment": _environment(release, compiler=True),
        "buffers": [
            _buffer(1, "Input_0_out_0", 2, 0, 192),
            _buffer(2, "Gemm_8_out_0", 2, 4096, USED_RAM5 - 4096),
            _buffer(3, "Quantize_10_out_0", 1, 1024, USED_RAM4 - 1024),
            _buffer(4, "Conv2D_1_weights", 9, 0, USED_FLASH, **weights),
            _buffer(5, "Softmax_9_scale", 9, 0, 4, is_param=True, format="STAI_FORMAT_FLOAT", nbits=32),
            _buffer(6, "SCRATCH_Softmax_9", 2, 0, 1028, format="STAI_FORMAT_Q", nbits=32),
        ],
        "graphs": [
            {
                "id": 1,
                "name": "network",
                "inputs": [1],
                "outputs": [3],
                "nodes": nodes,
                "edges": [{"id": 1, "name": "epochdep_0_1", "buffer": 0}],
                "original_inputs": [
                    {
                        "name": "input",
                        "shape": [1, 8, 8, 3],
                        "shape_map": ["BATCH", "H", "W", "CH"],
                        "c_shape_map": [],
                        "data_format": {
                            "type": "SIGNED",
                            "size": 8,
                            "scale": [0.5],
                            "zero": [0],
                            "quantizer": "UNIFORM",
                        },
                    }
                ],
                "original_outputs": [{"name": "output", "shape": [1, 2], "shape_map": ["BATCH", "CH"]}],
            }
        ],
        "memory_pools": [
            _pool(1, "npuRAM4", "atonbuf.AXISRAM4.raw", RAM4, 458752, USED_RAM4, buffers=[3]),
            _pool(2, "npuRAM5", "atonbuf.AXISRAM5.raw", RAM5, 458752, USED_RAM5, buffers=[1, 2, 6]),
            _pool(3, "flexMEM", "atonbuf.AXIFLEXMEM.raw", 0x34000000, 0, 0),
            _pool(9, "octoFlash", "atonbuf.xSPI2.raw", FLASH, 117440512, USED_FLASH, buffers=[4, 5]),
            _pool(10, "npuRAM4_npuRAM5", "", RAM4, 917504, RAM5 - RAM4 + USED_RAM5, subpools=[1, 2]),
        ],
        "memory_accesses": [
            {"node_id": 201, "mpool_id": 9, "reads": 4608, "writes": 0, "read_cycles": 27648, "write_cycles": 0}
        ],
        "power_estimates": [
            {
                "node_id": node,
                "ops": 1000 * (0 < number < 4),
                "compute_cycles": 100 * (0 < number < 4),
                "max_cycles": 150,
                "average_acc_power_mw": 30.5,
                "average_memory_power_mw": 7,
            }
            for number, node in enumerate(estimated)
        ],
        "memory_footprint": {
            "activations": USED_RAM4 + USED_RAM5,
            "weights": USED_FLASH,
            "io": [0, 0],
            "kernel_flash": 19813,
            "kernel_ram": 29,
            "toolchain": None,
            "toolchain_flash": None,
            "toolchain_ram": None,
            "series": "stm32n6npu",
        },
    }
    if ec or modern(release):
        named = {"name": "_ec_blob_network_1", "encrypted": False, "nodes_id": [201, 202, 203]}
        listed = {"blob_id": 300, "encrypted": False} if blobs else named
        data["ec_blobs_info"] = [listed] if ec else []
    return data


def cpu_c_info(release: str) -> dict[str, Any]:
    """Of a CPU target."""
    data = c_info(release)
    for key in ("memory_accesses", "power_estimates", "ec_blobs_info"):
        data.pop(key, None)
    data["environment"] = _environment(release, compiler=False)
    pool = {"size_bytes": -1, "attributes": {"latency": "HIGH", "score": 768, "throughput": "LOW"}, "virtual": False}
    array = {"address": "g_network_weights_array", "rights": "ACC_READ"}
    heap = {**_pool(0, "heap_overlay_pool", "", 0, 0, 1444, **pool), "address": "NULL"}
    weights = {**_pool(1, "weights_array", "", 0, 0, 724, **pool), **array}
    data["memory_pools"] = [heap, weights]
    data["buffers"] = [
        _buffer(1, "input_output", 0, 0, 300, flags="STAI_FLAG_INPUTS|STAI_FLAG_ACTIVATIONS"),
        _buffer(2, "output", 0, 1440, 1, flags="STAI_FLAG_OUTPUTS"),
        _buffer(3, "dense_weights", 1, 0, 724, is_param=True),
    ]
    graph = data["graphs"][0]
    graph |= {"inputs": [1], "outputs": [2]}
    layer = {"attributes": {"num_units": "480"}, "mapping": "NODE_SW", "subgraph_nodes": [], "scratchs": []}
    graph["nodes"] = [
        {
            **layer,
            "id": 8,
            "name": "dense",
            "type": "Dense",
            "macc": 481,
            "original_nodes": ["16"],
            "inputs": [1, 3],
            "outputs": [2],
            "sw_functions": ["forward_lite_dense_is8os8ws8"],
        }
    ]
    data["memory_footprint"] |= {"activations": 1444, "weights": 724, "series": "stm32f4"}
    return data


def results_c_info(release: str) -> dict[str, Any]:
    """After a validation on the board: neither graph nor pools."""
    environment = _environment(release, compiler=False)
    environment["device"] = "stm32 family - 0x486 - STM32N6xx @800/400MHz"
    metric = {"desc": "X-cross #1", "acc": "n.a.", "rmse": 8.28e-05, "cos": 0.9999, "nse": float("nan")}
    return {
        "json_schema_version": "2.0",
        "environment": environment,
        "validation": {"val_error": 8.28e-05, "val_error_desc": "x-cross (rmse) #1", "val_metrics": [metric]},
        "aton_execution_time": [
            {"counters": [10, 20, 3], "cycles": 33, "duration_ms": 0.25, "percentage": 100.0, "cycles_by_macc": 0}
        ],
    }


def problems(info: CInfo) -> tuple[str, ...]:
    """What `neuralart inspect` finds wrong in a c_info.json."""
    return (*checks.check_pools(info), *checks.check_graph(info), *checks.check_footprint(info))


def dump(data: Any) -> bytes:
    """As the tool writes it."""
    return json.dumps(data, indent=2).encode()


LAYERS = """\
Model name - net
------ -------------------- ------------------- ------------ ------- ----------
m_id   layer (original)     oshape              param/size      macc connected to
------ -------------------- ------------------- ------------ ------- ----------
0      input ()             [b:1,h:8,w:8,c:3]
       conv2d_0 (CONV_2D)   [b:1,h:8,w:8,c:4]   112/128        7,168      input
       nl_0_nl (CONV_2D)    [b:1,h:8,w:8,c:4]                    256   conv2d_0
------ -------------------- ------------------- ------------ ------- ----------
1      add_1 (ADD)          [b:1,c:4][b:2]                     1,024   conv2d_0
                                                                        nl_0_nl
------ -------------------- ------------------- ------------ ------- ----------
model: macc=8,448 weights=128 activations=-- io=--
"""
CPU_LAYERS = """\
Model name - net
------ ---------------------- ------------- ------------ ------- ------------ --- -------------- ----------
m_id   layer (type,original)  oshape        param/size      macc connected to   | c_size         c_type
------ ---------------------- ------------- ------------ ------- ------------ --- -------------- ----------
0      input (Input, )        [b:1,c:4]                                         |
------ ---------------------- ------------- ------------ ------- ------------ --- -------------- ----------
1      dense (Gemm, MatMul)   [b:1,c:1]     481/1,924        481        input   | -1,200(-62.4%) Dense_[0]
------ ---------------------- ------------- ------------ ------- ------------ --- -------------- ----------
model/c-model: macc=481/481 +0(+0.0%) weights=1,924/724 -1,200(-62.4%) activations=--/1,444 io=--/0
"""
_END = "=" * 84
MEMORY = f"""\
Memory usage information  (input/output buffers are included in activations)
{"-" * 84}
\tflexMEM    [0x34000000 - 0x34000000]:          0  B /          0  B  (  0.00 % used) -- weights:          0  B (  0.00 % used)  activations:          0  B (  0.00 % used)
\tnpuRAM4    [0x34270000 - 0x342E0000]:      4.000 kB /    448.000 kB  (  0.89 % used) -- weights:          0  B (  0.00 % used)  activations:      4.000 kB (  0.89 % used)
\tnpuRAM5    [0x342E0000 - 0x34350000]:      8.859 kB /    448.000 kB  (  1.98 % used) -- weights:          0  B (  0.00 % used)  activations:      8.859 kB (  1.98 % used)
\toctoFlash  [0x71000000 - 0x78000000]:      9.845 kB /    112.000 MB  (  0.00 % used) -- weights:      9.845 kB (  0.00 % used)  activations:          0  B (  0.00 % used)
---
Total:                                            22.704 kB                                  -- weights:      9.845 kB                  activations:     12.859 kB
{_END}


Used memory ranges
{"-" * 84}
\tnpuRAM4    [0x34270000 - 0x342E0000]: 0x34270000-0x34271000
\tnpuRAM5    [0x342E0000 - 0x34350000]: 0x342E0000-0x342E2370
\toctoFlash  [0x71000000 - 0x78000000]: 0x71000000-0x71002770
{_END}
"""  # noqa: E501
OLD_EPOCHS = f"""\
Epochs details
{"-" * 84}
Total number of epochs: 4 of which 1 implemented in software
---
epoch ID   HW/SW/EC Operation (SW only)
epoch 1       HW
epoch 2       HW
epoch 3       HW
epoch 4      -SW-   (      Softmax       )
{_END}
"""
NEW_EPOCHS = f"""\
Epochs details
{"-" * 84}
Total number of epochs                               4
>> pure software (SW) epochs                         1
>> hybrid epochs (using both software and hardware)  0
>> pure hardware (HW or EC) epochs                   3  (implemented in 1 epoch controller blobs/meta epochs)
---
+------------------+------+---------+
| epoch ID         | Type | Details |
+------------------+------+---------+
| epochs    1 -> 3 |  EC  |         |
| epoch_4          |  SW  | Softmax |
+------------------+------+---------+
{_END}
"""
SECTIONS = """\
 Requested memory size by section - "stm32n6npu" target
 ------------------------------- ------- -------- ------ --------
 module                             text   rodata   data      bss
 ------------------------------- ------- -------- ------ --------
 EC Blobs                              2    6,272      0        0
 network.o                           736    1,136      0        0
 ll atonn runtime                  6,232    5,435      0       29
 ------------------------------- ------- -------- ------ --------
 RT total**                        6,970   12,843      0       29
 ------------------------------- ------- -------- ------ --------
 weights                               0   10,081      0        0
 activations                           0        0      0   13,168
 ------------------------------- ------- -------- ------ --------
 TOTAL                             6,970   22,924      0   13,197
 ------------------------------- ------- -------- ------ --------
 *  toolchain objects (libm/libgcc*)
 ** RT AI runtime objects (kernels+infrastructure)

  Summary - "stm32n6npu" target
  --------------------------------------------------
               FLASH (ro)      %*   RAM (rw)      %
  --------------------------------------------------
  RT total         19,813   66.3%         29   0.3%
  --------------------------------------------------
  TOTAL            29,894             13,197
  --------------------------------------------------
  *  rt/total
"""
VALIDATION = """\
  device.desc                 :   stm32 family - 0x486 - STM32N6xx @800/400MHz
  device.attrs                :   fpu,mcu_freq=800MHz,npu_freq=1000MHz
  runtime lib                 :   atonn-v1.1.1-14-ge619e860 (optimized SW lib v10.1.0-ae536891 GCC)

  ST.AI Profiling results v2.0 - "network"
  ------------------------------------------------------------
  nb sample(s)   :   10
  duration       :   0.146 ms by sample (0.145/0.154/0.003)
  CPU cycles     :   [8,398 105,738 2,599]
  ------------------------------------------------------------

   Inference time per node
   ---------------------------------------------------------------------------------------------------------
   c_id    m_id   type           dur (ms)        %    cumul  CPU cycles                      name
   ---------------------------------------------------------------------------------------------------------
   0       -      epoch (EC)        0.100    68.5%    68.5%  [   8,000  100,000    2,000 ]   EpochBlock_1 -> 3
   1       -      epoch (SW)        0.046    31.5%   100.0%  [     398    5,738      599 ]   EpochBlock_4
   ---------------------------------------------------------------------------------------------------------
   total                            0.146                    [   8,398  105,738    2,599 ]
                            6853.06 inf/s                    [    7.2%    90.6%     2.2% ]
   ---------------------------------------------------------------------------------------------------------
"""
ACCURACY = """\
Evaluation report (summary)
-----------------------------------------------------------------------------------------------------------
Output       acc    rmse          mae           l2r           mean        std        nse        cos        tensor
-----------------------------------------------------------------------------------------------------------
X-cross #1   n.a.   0.000082811   0.000012248   0.000876201   -0.000012   0.000082   0.999988   1.000000   'pool_1', 10 x int8(1x32), m_id=[1]
-----------------------------------------------------------------------------------------------------------

 acc  : Accuracy (class, axis=-1)
"""  # noqa: E501
NEW_ACCURACY = """\
   HW: 86.6%, SW: 0.0%, SW ctrl: 13.4%
 Evaluation report (summary)
 ------------------------------------------------------------------------------------------------------------
 Output       acc    rmse          mae           l2r           mean       std        snr   nse        cos        tensor
 ------------------------------------------------------------------------------------------------------------
 X-cross #1   n.a.   0.000000000   0.000000000   0.000000000   0.000000   0.000000   inf   1.000000   1.000000   out
 ------------------------------------------------------------------------------------------------------------
"""


def _head(release: str, command: str, *more: str) -> str:
    return (
        f"ST Edge AI Core v{CORES[release]}\nCreated date          : 2026-01-01 10:00:00\n"
        f"Parameters            : {' '.join([command, '--model net.tflite', *more])}\n\n"
    )


def report(release: str, command: str = "generate") -> str:
    """Of the NPU."""
    head = _head(release, command, "--target stm32n6 --st-neural-art default@my.json")
    if command == "validate":
        return head + LAYERS + VALIDATION + (NEW_ACCURACY if modern(release) else ACCURACY)
    compiler = f"Compiler version: {COMPILERS[release]}\nCompiler arguments:  -i net.onnx\n{_END}\n\n"
    details = f"Compilation details\n{'-' * 84}\n{compiler}"
    epochs = NEW_EPOCHS if modern(release) else OLD_EPOCHS
    return head + LAYERS + "\n\n" + details + MEMORY + "\n" + epochs + (SECTIONS if command == "generate" else "")


def cpu_report(release: str) -> str:
    """Of a CPU target."""
    ruler = "-" * 60
    summary = (
        f"Exec/report summary (generate)\n{ruler}\nmodel file         :   net.tflite\n"
        f"target/series      :   stm32f4\nmodel_name         :   net\n{ruler}\n"
        f"input 1/1          :   'input', int8(1x4), 4 Bytes, activations\nmacc               :   481\n{ruler}\n"
        "(*) 'input'/'output' buffers are allocated in the activations buffer\n\n"
    )
    files = f"\nGenerated files (2)\n{ruler}\nout/network.c\nout/network.h\n"
    return _head(release, "generate", "--target stm32f4") + summary + CPU_LAYERS + files


CSV = "\n".join(
    [
        "epochs,octoFlash (r),octoFlash (w),octoFlash (r+w),octoFlash (r cycles),octoFlash (w cycles),"
        "octoFlash (cycles),bus port 1 (r),bus port 1 (w),epoch OPS,epoch OPS vs total %,epoch compute (cyles),"
        "epoch compute (cyles) vs Tot %,max (cycles),max (cycles) vs Tot %,epoch average ATON power (mW),"
        "epoch average ATON power vs Tot %,epoch average memory power (mW),epoch average memory power vs Tot %",
        "0 ,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0",
        "1 ,1600,0,1600,9600,0,9600,1600,0,2624000,0.25,64000,0.5,64000,0.4,27.1945,0.1,14.199,0.2",
        "2 ,400,16,416,2400,96,2496,400,16,7872000,0.75,64000,0.5,96000,0.6,1e+01,0.9,3,0.8",
        "",
        "Total,2000,16,2016,12000,96,12096,,,,,,,,,,,,",
        "BW,1.0797e+08,0,1.0797e+08,0,0,0,,,,,,,,,,,,",
        "",
        "octoFlash , 9.73 MB , total bytes r/w BW,1.0797e+08",
        "",
        "Total cycles,160000",
        "Total ideal cycles,128000",
        "Total OPS,10496000",
        "Total ops/cycle,65",
        "Frames/sec(1000 MHz),6250",
        "Average ATON power mW(1000 MHz),18.0857",
        "TOPS/W,0.88",
        "",
    ]
)


def q_json(release: str = "4.0") -> dict[str, Any]:
    """What the front end tells the compiler."""
    fixed = {"params": [[0.5], [3]], "class": "integer", "type": "S8"}
    return {
        "version": "4.0",
        "environment": {
            "generated_model": {"name": "network", "model_files": [{"name": "net_OE_3_3_1.onnx", "signature": "0x1"}]},
            "tools": _tools(release, compiler=False),
        },
        "model_info": {"original_inputs": [{"name": "input", "shape": [1, 4]}], "original_outputs": []},
        "tensors": {
            "Input_0_out_0": {"format": fixed, "data_channel_position": "CHLAST", "user_allocated": False},
            "Softmax_9_out_0": {"format": {"params": [None, None], "class": "float32", "type": "FLOAT32"}},
        },
        "nodes": {
            "Conv2D_1": {"names": ["CONV_2D_0"]},
            "Quantize_2": {"names": ["__FE_GENERATED__"]},
            "Softmax_9": {"names": ["SOFTMAX_4"]},
        },
    }


OPTIONS = """\
# Tool: /opt/st/atonn
# Version atonn.1.1.3-275
# executed from dir /opt/st

load-mpool-file="pools/stm32n6"
cache-maintenance=true
optimization=3
Omax-ca-pipe=4
out-dir-prefix="ws/neural_art__network/"
"""
