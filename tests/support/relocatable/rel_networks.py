"""Networks for relocatable models, compiled by the reference compiler."""

from __future__ import annotations

import json
from pathlib import Path

from neuralart.compilers.request import CompileRequest
from neuralart_reference.compile import compile_network, write

MODELS = Path(__file__).parents[3] / "models"
_PROPS = {
    "AXISRAM3": ("npuRAM3", 0x34200000, 448 << 10, "ACC_WRITE", False),
    "AXISRAM5": ("npuRAM5", 0x342E0000, 448 << 10, "ACC_WRITE", False),
    "xSPI1": ("hyperRAM", 0x90000000, 16 << 20, "ACC_WRITE", True),
    "xSPI2": ("octoFlash", 0x71000000, 16 << 20, "ACC_READ", True),
}


def write_mpool(path: Path, *fnames: str, constants: str = "", relative: tuple[str, ...] = ()) -> Path:
    """A pool file; ``constants`` names the pool that prefers constants, ``relative`` those that can move."""
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
                "mode": "USEMODE_RELATIVE" if fname in relative else "USEMODE_ABSOLUTE",
                "prop": prop,
                "offset": {"value": f"0x{address:08x}", "magnitude": "BYTES"},
                "size": {"value": str(size), "magnitude": "BYTES"},
            }
        )
    path.write_text(json.dumps({"memory": {"mem_file_prefix": "atonbuf", "mempools": pools}}), encoding="utf-8")
    return path


def compile_digits(
    folder: Path,
    *fnames: str,
    constants: str = "xSPI2",
    relative: tuple[str, ...] = (),
    model: str = "digits",
    **more: bool,
) -> Path:
    """network.c of a model of this repository, with all that belongs to it.

    Args:
        folder: Where it goes.
        fnames: Pools.
        constants: The pool that prefers constants.
        relative: Pools whose base becomes a symbol.
        model: Which one.
        more: Further fields of the request.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pools = write_mpool(folder / "pools.mpool", *fnames, constants=constants, relative=relative)
    return compile_model(model, pools, folder, **more)


def compile_model(model: str, mpool: Path, folder: Path, **more: bool) -> Path:
    """network.c of a model of this repository, with all that belongs to it; ``more``: fields of the request."""
    request = CompileRequest(
        model=MODELS / model / f"{model}.tflite",
        mpool=mpool,
        name="network",
        target="stm32n6",
        profile_options=("--all-buffers-info",),
        **more,
    )
    write(compile_network(request), folder)
    return folder / "network.c"
