"""Constants of a network on a core, dealt out to sections of the application's linker script (``--dispatch-weights``).

The vendor's model zoo keeps as many arrays as fit in the flash inside the chip, and puts the others outside. So it is
here: each array goes to the first section that has room for it, the largest array first.
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
    """Bytes of each section, of ``.InternalFlashSection=1M,.ExternalFlashSection=64M``; NeuralArtError: it is wrong."""
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
    """What a command line says, None or sections, as requests have it; NeuralArtError: it is wrong."""
    return ",".join(f"{name}={size}" for name, size in rooms(text).items()) if text is not None else ""


def dispatched(name: str, files: Mapping[str, bytes], said: str) -> dict[str, bytes]:
    """The C with the constants of a network ``name``, each array with the attribute of its section.

    ``said``: as :func:`rooms` takes it; empty: nothing is changed. NeuralArtError: there are no arrays that are known,
    or one fits in no section.
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
