"""Writes the results file of a build for the vendor's runtime, with keys and types of its driver 1.4."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from neuralart import __version__
from neuralart.relocatable.format.types import Image
from neuralart.relocatable.verify import report

_TOOLCHAINS = {0x8: "ARM_GCC", 0x9: "ARM_CLANG", 0xA: "ST_ARM_CLANG"}
_STEPS = ("npu_driver", "prepare_c_file", "post-process")


def head(version: tuple[int, int, int, int]) -> dict[str, Any]:
    """What stands before the image. ``version``: of the runtime that the network is made for."""
    return {
        "version": "1.0",
        # Equal inputs give equal files.
        "created-date": "not recorded",
        "versions": dict.fromkeys(_STEPS, f"neuralart {__version__}"),
        "compiler": {"version": dict(zip(("major", "minor", "patch", "extra"), version, strict=True))},
    }


def image_data(image: Image, files: Mapping[Path, int]) -> dict[str, Any]:
    """The image, addresses and flags as text. ``files``: all written files, with their sizes."""
    header, context, flags = image.header, image.context, image.flags
    pools = report.image_data(image)["mempool_c_descriptors"]
    sizes = context.struct_sizes or (0, 0)
    major, minor, micro = context.version
    return {
        "flags": {
            **{"vers_major": flags.api[0], "vers_minor": flags.api[1], "secure": flags.secure},
            **{"dbg_info": flags.dbg_info, "async_mode": flags.asynchronous, "float-abi": flags.float_abi},
            **{"fpu": flags.fpu, "cpuid": f"{flags.cpuid:03X}", "description": flags.text},
            "toolchain": _TOOLCHAINS.get(flags.toolchain, ""),
        },
        "img_size": len(image.data),
        "params_offset": header["params_offset"],
        "params_size": len(image.params or b""),
        **{"xip_size": image.xip_size, "copy_size": image.copy_size},
        **{"ro_size": image.ro_size, "rw_size": image.rw_size},
        "sections": {name: end - start for name, (start, end) in report.sections(image).items()},
        "mempool_c_descriptors": [
            {**pool, **{key: f"0x{pool[key]:08x}" for key in ("addr", "flags_raw", "dst")}} for pool in pools
        ],
        "rt_context": {
            **{"c_name": context.c_name, "acts_sz": context.acts_sz, "params_sz": context.params_sz},
            **{"ext_ram_sz": context.ext_ram_sz, "rt_version_desc": context.description},
            **{"rt_version": major << 24 | minor << 16 | micro << 8, "rt_version_extra": context.extra},
            **{"params_bin_sz": context.params_bin_sz, "params_bin_crc32": f"0x{context.params_bin_crc32:08x}"},
            # The vendor's driver exchanges the two names.
            "rt_c_struct_sizes": dict(zip(("ll_buffer_info", "epochblock_item"), sizes, strict=True)),
        },
        **{"img_params_size": context.params_bin_sz, "acts_size": context.acts_sz},
        "notes": report.notes(image),
        "gen_files": [{"size": size, "path": path.as_posix()} for path, size in files.items()],
    }
