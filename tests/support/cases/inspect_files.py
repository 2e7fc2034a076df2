"""A made-up file of every kind that ``neuralart inspect`` knows."""

from __future__ import annotations

import json
import struct
from pathlib import Path

from neuralart import boards, config
from neuralart.findings import Finding
from neuralart.flashing import plan as flash_plans
from neuralart.memory.image import check_image, image_facts
from neuralart.memory.layout import identity
from neuralart.memory.layout.layout import make_layout
from neuralart.memory.plan import plan_report
from neuralart.memory.plan.plan import make_plan
from neuralart.memory.startup import network_io
from neuralart.network import facts
from neuralart.relocatable.format import load_table
from neuralart.text.ihex import ihex as hex_text
from neuralart_bring import last_build
from support.boards import firmware
from support.cases.onnx_small import SMALL
from support.fuzz import POOLS, PROFILES
from support.models import vendor_network_c as vendor
from support.models import vendor_reports as reports
from support.models.vendor_network_c import Want
from support.relocatable.rel_images import CORE_22, FULL, build

TOP = Path(__file__).parents[3]
DIGITS = TOP / "models" / "digits" / "digits.tflite"
PROJECT = TOP / "variants.yaml"
BARE = struct.pack("<2I", 0x34100000, 0x34000501) + bytes(range(256)) * 6
REL_POOL = {
    **{"fname": "xSPI2", "flags": "RELOC.PARAM.0.RCACHED", "address": 0x71000000, "size": 4136},
    **{"params": 4136, "activations": 0, "relative": True},
}
H7_POOLS = {
    "memory": {
        "mempools": [
            {
                "name": "AXIRAM",
                "prop": {"throughput": "MID", "latency": "LOW"},
                "size": {"value": "440", "magnitude": "KBYTES"},
                "usable_size": {"value": "400", "magnitude": "KBYTES"},
                "offset": {"value": "0x24000000", "magnitude": "BYTES"},
            },
            {
                "name": "SDRAM",
                "size": {"value": "20000", "magnitude": "KBYTES"},
                "offset": {"value": "0xD0000000", "magnitude": "BYTES"},
            },
        ]
    }
}
H7_CONF = """\
{
  "version": "0.1",
  "description": "A made-up board",
  "series": "stm32h7",
  "board": ["BOARD-1"],
  "builder": "stm32_cube_ide",
  "env": {"cwd": "${ProjectFolder}"},
  "templates": [  //  [ from, to, how ]
    ["", "${cwd}/network.c", "copy"]
  ],
  "memory_pool_path": "pools.json",
  "internalFlash_size": "2MB",
  "configurations": []
}
"""


def _files() -> dict[str, tuple[str, bytes]]:
    """Name of a file -> kind and contents."""
    everything = Want(version="4.0.1", ec=True, relative=True, user_io=True, all_buffers=True)
    made = vendor.make(everything)
    found = {
        "network.c": ("network_c", made.files["network.c"]),
        "windows/network.c": (
            "network_c",
            vendor.make(Want(version="2.2", windows=True, crlf=True)).files["network.c"],
        ),
        "network_ecblobs.h": ("ecblobs", made.files["network_ecblobs.h"]),
        "old/network_ecblobs.h": ("ecblobs", vendor.ecblobs(Want(version="2.0", ec=True)).encode()),
        "network_atonbuf.xSPI2.c": ("initializer_c", vendor.initializer_c(everything).encode()),
        "network_atonbuf.xSPI2.raw": ("raw", made.files["network_atonbuf.xSPI2.raw"]),
        "network_data.xSPI2.bin": ("raw", b"\0\1\2"),
        "weights.hex": ("ihex", hex_text(0x71000000, bytes(range(256)) * 300).encode()),
        "network_rel.bin": ("relocatable", build(FULL).data),
        "other/network_rel.bin": ("relocatable", build(CORE_22).data),
        "digits.tflite": ("tflite", DIGITS.read_bytes()),
        "small.onnx": ("onnx", SMALL),
        "pools.mpool": ("mpool", POOLS[0].read_bytes()),
        "neural_art.json": ("profile", PROFILES[0].read_bytes()),
        "network_c_info.json": ("c_info", reports.dump(reports.c_info("4.0", ec=True))),
        "cpu_c_info.json": ("c_info", reports.dump(reports.cpu_c_info("3.0"))),
        "results_c_info.json": ("c_info", reports.dump(reports.results_c_info("2.2"))),
        "net_OE_3_3_1_Q.json": ("q_json", reports.dump(reports.q_json())),
        "mempools.json": ("h7_pools", json.dumps(H7_POOLS).encode()),
        "stmaic_BOARD-1.conf": ("h7_conf", H7_CONF.encode()),
        "network.csv": ("network_csv", reports.CSV.encode()),
        "atonn_options.ini": ("atonn_options", reports.OPTIONS.encode()),
        "network_generate_report.txt": ("report", reports.report("2.2").encode()),
        "network_validate_report.txt": ("report", reports.report("4.0", "validate").encode()),
        "cpu_generate_report.txt": ("report", reports.cpu_report("3.0").encode()),
    }
    return found | _built()


def _built() -> dict[str, tuple[str, bytes]]:
    """What a build of this package writes."""
    stamped = [{"name": "net", "abi_stamp": "0123456789abcdef"}]
    board = boards.load("stm32n6570-dk")
    image = image_facts.read_binary(Path("firmware.bin"), BARE, board)
    machine = check_image.machine_of(board, "unicorn")
    findings = check_image.check(image, board, machine)
    checked = check_image.as_data(image, board, machine, [firmware.facts()], findings)
    checked["findings"].append(vars(Finding("stack", "warning", "it is small", "make it larger")))
    layout = make_layout(board, config.read(PROJECT).variant("digits-n6"), [])
    place = board.slots["application"]
    write = flash_plans.Write("application", "application", "build/n/application.bin", place, 9, "0" * 64)
    index = {
        **{"schema": last_build.SCHEMA, "variant": "n", "board": board.name, "machine": "unicorn", "toolchain": "gcc"},
        **{"networks": stamped, "firmware": {"DTCM": {"used": 5, "capacity": 9}}, "artefacts": ["build/n/plan.json"]},
    }
    loaded = {
        **{"schema": 1, "version": "0.2.0", "relocations": {"R_ARM_ABS32": 3}, "gen_files": {"net_rel.bin": 11048}},
        "network": {"c_name": "net", "runtime": "neuralart", "layout": "aligned", "pools": [REL_POOL]},
        "reloc_binary_image": {"split": False},
    }
    entries = [identity.Entry("0123456789abcdef", "xSPI2", 0x71000000, 4096, 0x12345678, 0)]
    made = {
        "network.json": ("network_json", facts.to_json(firmware.facts())),
        "manifest.json": ("manifest", facts.manifest("net", {"net.c": b"c"})),
        "flash_plan.json": ("flash_plan", flash_plans.make(board.name, [write])),
        "plan.json": ("plan", plan_report.to_json(make_plan(layout, board, (), {}), "n")),
        "check.json": ("check", check_image.as_text(checked)),
        "index.json": ("index", json.dumps(index)),
        "network_io.json": ("network_io", network_io.json_text(board, [firmware.facts()])),
        "rel/network_rel.json": ("network_rel", json.dumps(loaded)),
        "descriptor.bin": ("descriptor", identity.build(entries).ljust(4096, b"\xff")),
        "load_table.xip.bin": ("load_table", load_table.make(("xip", "clear"), [(0x71000000, 0), (0x71100000, 4)])),
        "application.bin": ("application", b"\xff" * 0x400 + BARE),
    }
    return {name: (kind, data if isinstance(data, bytes) else data.encode()) for name, (kind, data) in made.items()}


FILES = _files()
