"""A made-up file of every kind that ``neuralart inspect`` knows."""

from __future__ import annotations

import json
from pathlib import Path

from neuralart.text.ihex import ihex as hex_text
from support import vendor_network_c as vendor
from support import vendor_reports as reports
from support.fuzz import POOLS, PROFILES
from support.rel_images import CORE_22, FULL, build
from support.vendor_network_c import Want

DIGITS = Path(__file__).parents[2] / "models" / "digits" / "digits.tflite"
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
    return found


FILES = _files()
