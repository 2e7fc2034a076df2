"""The image as C (``--gen-c-file``): an array with a getter, and its sizes as macros."""

from __future__ import annotations

from neuralart.relocatable.format.types import OFFSET, Image

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
    values: dict[str, str] = {
        "C_NAME": f'"{image.context.c_name}"',
        "RT_DESC": f'"{image.context.description}"',
        "IMAGE_SIZE": f"({len(image.data)}u)",
        "RAM_SIZE_XIP": f"({image.xip_size}u)",
        "RAM_SIZE_COPY": f"({image.copy_size}u)",
        "PARAMS_OFFSET": f"({image.header['params_offset'] & OFFSET}u)",
        "PARAMS_SIZE": f"({len(image.params or b'')}u)",
        "WEIGHTS_SIZE": f"({image.context.params_sz}u)",
        "ACTIVATIONS_SIZE": f"({image.context.acts_sz}u)",
        "EXT_RAM_SIZE": f"({-(-image.context.ext_ram_sz // 8) * 8}u)",
        "MPOOL_DESC_COUNT": f"({len(image.pools)}u)",
    }
    lines = [f"#define {prefix}_{key} {value}\n" for key, value in values.items()]
    for number, pool in enumerate(image.pools):
        key = f"{prefix}_MPOOL_DESC_{number}"
        lines.append(f"\n/* {pool.notation} */\n")
        lines.append(f'#define {key}_NAME "{pool.name}"\n')
        for field in ("flags", "foff", "dst"):
            lines.append(f"#define {key}_{field.upper()} (0x{getattr(pool, field):08x}u)\n")
        lines.append(f"#define {key}_SIZE ({pool.size}u)\n")
    return (
        f"#ifndef {prefix}_H\n#define {prefix}_H\n\n#include <stdint.h>\n\n"
        + "".join(lines)
        + f"\n/* Address of the image, a multiple of 8. */\nuintptr_t ai_{name}_reloc_img_get(void);\n\n#endif\n"
    )
