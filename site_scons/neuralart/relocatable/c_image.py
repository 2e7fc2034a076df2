"""The image as C (``--gen-c-file``): an array with a getter, and its sizes as macros."""

from __future__ import annotations

import re

from neuralart.relocatable.types import OFFSET, Image

_PER_LINE = 16


def array_c(name: str, image: bytes) -> str:
    """``<n>_rel.c``."""
    rows = [image[at : at + _PER_LINE] for at in range(0, len(image), _PER_LINE)]
    body = "".join("  " + " ".join(f"0x{byte:02x}," for byte in row) + "\n" for row in rows)
    return (
        f'#include "{name}_rel.h"\n\n'
        f"static const uint8_t image[{len(image)}] __attribute__((aligned(8))) = {{\n{body}}};\n\n"
        f"uintptr_t ai_{name}_reloc_img_get(void)\n{{\n  return (uintptr_t)image;\n}}\n"
    )


def header_h(name: str, image: Image) -> str:
    """``<n>_rel.h``."""
    prefix = f"AI_{name.upper()}_RELOC"
    params = image.params or b""
    values = {
        "IMG_SIZE": len(image.data),
        "RAM_SIZE_XIP": image.xip_size,
        "RAM_SIZE_COPY": image.copy_size,
        "PARAMS_OFFSET": image.header["params_offset"] & OFFSET,
        "PARAMS_SIZE": len(params),
        "ACTS_SIZE": image.context.acts_sz,
        "EXT_RAM_SIZE": -(-image.context.ext_ram_sz // 8) * 8,
        "POOL_COUNT": len(image.pools),
    }
    lines = [f"#define {prefix}_{key} ({value}u)\n" for key, value in values.items()]
    for pool in image.pools:
        key = re.sub(r"\W", "_", pool.name).upper()
        lines.append(f"\n/* {pool.notation} */\n")
        lines.append(f"#define {prefix}_POOL_{key}_FLAGS (0x{pool.flags:08x}u)\n")
        lines.append(f"#define {prefix}_POOL_{key}_DST (0x{pool.dst:08x}u)\n")
        lines.append(f"#define {prefix}_POOL_{key}_SIZE ({pool.size}u)\n")
    return (
        f"#ifndef {prefix}_H\n#define {prefix}_H\n\n#include <stdint.h>\n\n"
        + "".join(lines)
        + f"\n/* Address of the image, a multiple of 8. */\nuintptr_t ai_{name}_reloc_img_get(void);\n\n#endif\n"
    )
