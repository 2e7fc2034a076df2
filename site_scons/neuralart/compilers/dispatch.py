"""Distributes the constants of a network on a core over sections of the application's linker script
(``--dispatch-weights``). As in the vendor's model zoo, the flash inside the chip is filled first: each array, the
largest first, goes to the first section with room.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from neuralart.config.keys import SECTION
from neuralart.errors import NeuralArtError
from neuralart.quick import lazy_regex
from neuralart.text import sizes
from neuralart.text.c_source import decode

OPTION, SPLIT = "--dispatch-weights", "--split-weights"
_ARRAY = lazy_regex(
    r"^(?=const\s+(?:(?:ai_u|uint)(8|16|32|64)(?:_t)?|unsigned char)\s+(\w+)\s*\[\s*(\d{1,9})[uU]?\s*\]\s*=)", re.M
)


def rooms(text: str) -> dict[str, int]:
    """Read section sizes, ``.InternalFlashSection=1M,.ExternalFlashSection=64M``. NeuralArtError: the text is wrong."""
    found: dict[str, int] = {}
    for part in text.split(","):
        name, _, size = (each.strip() for each in part.partition("="))
        if not SECTION.fullmatch(name) or name in found:
            what = f"'{part.strip()}' is no SECTION=SIZE, or its section is named twice"
            raise NeuralArtError(what, where=OPTION, hint=".InternalFlashSection=1M,.ExternalFlashSection=64M")
        found[name] = sizes.parse(size, OPTION, f"the size of {name}")
        if not found[name]:
            raise NeuralArtError(f"the size of {name} is 0", where=OPTION, hint="leave the section out")
    return found


def given(text: str | None) -> str:
    """Normalize the value of the option; None: not given. NeuralArtError: it is wrong."""
    return ",".join(f"{name}={size}" for name, size in rooms(text).items()) if text is not None else ""


def dispatched(name: str, files: Mapping[str, bytes], said: str) -> dict[str, bytes]:
    """Add section attributes to the arrays of constants in the C of network ``name``. ``said``: as :func:`rooms` takes
    it; empty: no change. NeuralArtError: no known arrays, or one fits in no section.
    """
    names = (f"{name}_data_params.c", f"{name}_data.c")
    texts = {file: decode(files[file]) for file in names if said and file in files}
    arrays = [each for text in texts.values() for each in _ARRAY.finditer(text)]
    # Whole lines of 32 bytes, to which arrays are aligned.
    sized = {each[2]: -(-int(each[3]) * int(each[1] or 8) // 256 * 32) for each in arrays}
    if said and not sized:
        raise NeuralArtError("no array of constants is in it", where=names[0])
    left, chosen = rooms(said) if said else {}, dict[str, str]()
    for array, size in sorted(sized.items(), key=lambda each: (-each[1], each[0])):
        section = next((each for each, room in left.items() if size <= room), None)
        if section is None:
            free = ", ".join(f"{each} {room}" for each, room in left.items())
            what = f"array {array} of {size} bytes fits in no section, left are: {free}"
            raise NeuralArtError(what, where=OPTION, hint="more room, a further section, or a smaller network")
        left[section] -= size
        chosen[array] = f'__attribute__((section("{section}")))\n'
    return {file: _ARRAY.sub(lambda each: chosen[each[2]], text).encode() for file, text in texts.items()}
