"""Networks for relocatable models: compiled by the reference compiler, pools made relative where asked."""

from __future__ import annotations

import json
import re
from pathlib import Path

from neuralart.compilers.reference.compile import CompileRequest, compile_network, write

MODELS = Path(__file__).parents[2] / "models"
_PROPS = {
    "AXISRAM3": ("npuRAM3", 0x34200000, 448 << 10, "ACC_WRITE", False),
    "AXISRAM5": ("npuRAM5", 0x342E0000, 448 << 10, "ACC_WRITE", False),
    "xSPI1": ("hyperRAM", 0x90000000, 16 << 20, "ACC_WRITE", True),
    "xSPI2": ("octoFlash", 0x71000000, 16 << 20, "ACC_READ", True),
}


def write_mpool(path: Path, *fnames: str, constants: str = "") -> Path:
    """A pool file; ``constants`` names the pool that prefers constants."""
    pools = []
    for fname in fnames:
        name, address, size, rights, cacheable = _PROPS[fname]
        prop = {"rights": rights, "throughput": "HIGH", "latency": "LOW", "byteWidth": 8, "freqRatio": 1.25}
        if cacheable:
            prop["cacheable"] = "CACHEABLE_ON"
        if fname == constants:
            prop["constants_preferred"] = "true"
        pools.append(
            {
                "fname": fname,
                "name": name,
                "fformat": "FORMAT_RAW",
                "prop": prop,
                "offset": {"value": f"0x{address:08x}", "magnitude": "BYTES"},
                "size": {"value": str(size), "magnitude": "BYTES"},
            }
        )
    path.write_text(json.dumps({"memory": {"mem_file_prefix": "atonbuf", "mempools": pools}}), encoding="utf-8")
    return path


def compile_digits(folder: Path, *fnames: str, constants: str = "xSPI2", relative: tuple[str, ...] = ()) -> Path:
    """network.c of the model ``digits`` with all that belongs to it.

    Args:
        folder: Where it goes.
        fnames: Pools.
        constants: The pool that prefers constants.
        relative: Pools whose base becomes a symbol.
    """
    folder.mkdir(parents=True, exist_ok=True)
    mpool = write_mpool(folder / "pools.mpool", *fnames, constants=constants)
    request = CompileRequest(
        model=MODELS / "digits" / "digits.tflite",
        mpool=mpool,
        name="network",
        target="stm32n6",
        profile_options=("--all-buffers-info",),
    )
    write(compile_network(request), folder)
    code = folder / "network.c"
    code.write_text(make_relative(code.read_text("utf-8"), "network", *relative), encoding="utf-8")
    return code


def make_relative(text: str, c_name: str, *fnames: str) -> str:
    """The same network with pools whose bases are symbols."""
    for fname in fnames:
        symbol = f"_mem_pool_{fname}_{c_name}"
        line = re.search(rf"/\* index=\d+ file postfix={fname} .*? offset=(0x[0-9a-f]+) .*\*/\n", text)
        comment = line.group().replace("absolute_mode", "relative_mode")
        base = f"(uintptr_t){symbol}"
        before, after = text[: line.start()], text[line.end() :].replace(f"{line[1]}UL", base)
        text = f"{before}{comment}extern unsigned char {symbol}[]; /* size */\n{after}"
    return text
