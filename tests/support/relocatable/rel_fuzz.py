"""Damaged relocatable models: what must never happen.

The judge of addresses is this file's own: it reads the bytes again, without the package.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator

from neuralart.errors import NeuralArtError
from neuralart.relocatable.format import container
from neuralart.relocatable.predict.prediction import InstallCall, Room
from neuralart.relocatable.predict.predictor import predict
from neuralart.relocatable.verify import report
from neuralart.relocatable.verify.verifier import verify
from support.fuzz import damage
from support.relocatable import rel_images
from support.relocatable.rel_images import P0, P1, RAM, ROM, Built

_HEAD = 104
_BASES = (0, ROM, RAM, P0, P1, 0xA0000000, 0xF0000000)
_CALLS = (
    InstallCall(0x71000000, Room(0x34200000, 0x100000), Room(0x90000000, 0x100000)),
    InstallCall(0x34100000, Room(0x34200000, 256), copy=True, clear=True, params=0x71800000),
)
SOUND: list[Built] = [rel_images.build(recipe) for recipe in rel_images.SHAPES.values()]


def _aimed(rng: random.Random) -> tuple[bytes, bytes | None]:
    """A word with a meaning replaced: accidents anywhere hit texts and weights most of the time."""
    built = rng.choice(SOUND)
    data = bytearray(built.data)
    for _ in range(rng.randint(1, 3)):
        at = built.at[rng.choice(list(built.at))]
        old = struct.unpack_from("<I", data, at)[0]
        kind = rng.randrange(4)
        if kind == 0:
            new = rng.choice(_BASES) + rng.choice(
                (0, 1, 4, 8, len(data), len(data) + 4, 0x0FFFFFFF, rng.randrange(6000))
            )
        elif kind == 1:
            new = old + rng.choice((-64, -20, -8, -4, -2, -1, 1, 2, 4, 8, 20, 64))
        elif kind == 2:
            new = old ^ 1 << rng.randrange(32)
        else:
            new = struct.unpack_from("<I", data, built.at[rng.choice(list(built.at))])[0]
        struct.pack_into("<I", data, at, new & 0xFFFFFFFF)
    return bytes(data), built.params if built.word("params_offset") == 0 else None


def case(seed: int) -> tuple[bytes, bytes | None]:
    """A damaged image and the params that are given with it."""
    rng = random.Random(f"rel {seed}")
    if rng.random() < 0.6:
        return _aimed(rng)
    built = rng.choice(SOUND)
    params = built.params if built.word("params_offset") == 0 else None
    if params is not None and rng.random() < 0.3:
        return bytes(built.data), damage(params, rng)
    return damage(bytes(built.data[:_HEAD]), rng) + bytes(built.data[_HEAD:]) if rng.random() < 0.3 else damage(
        bytes(built.data), rng
    ), params


def escaped(data: bytes, params: bytes | None) -> Iterator[str]:
    """GOT and relocation words of an image that leave their segment, by a reading of our own."""
    head = struct.unpack_from("<26I", data.ljust(104, b"\0"))
    ro_size, bss_end, got, got_end = (word & 0x0FFFFFFF for word in (head[4], head[6], head[7], head[8]))
    rows, at = [], ro_size + (head[11] & 0x0FFFFFFF)
    while any(data[at : at + 20]):
        rows.append(struct.unpack_from("<5I", data, at))
        at += 20
    blob = len(params) if head[12] == 0 and params is not None else len(data) - head[12] if head[12] else None
    sizes: dict[int, int] = {2: ro_size, 4: bss_end}
    for _, flags, foff, _, size in rows:
        if flags >> 24 == 1 and flags & 0xFF == 1:
            sizes[9] = size
        if flags >> 24 == 1 and flags & 0xFF == 0:
            sizes[8] = 1 << 28 if blob is None else blob - foff
    sizes.setdefault(8, 1 << 28 if blob is None else blob)

    def judge(what: str, value: int) -> Iterator[str]:
        if value & 0x0FFFFFFF > sizes.get(value >> 28, -1):
            yield f"{what} {value:08x}"

    for place in range(got, max(got, got_end - 12), 4):
        value = struct.unpack_from("<I", data, ro_size + place)[0]
        if value:
            yield from judge(f"GOT {place:x}", value)
    for entry in range(head[9] & 0x0FFFFFFF, head[10] & 0x0FFFFFFF, 4):
        place = struct.unpack_from("<I", data, entry)[0]
        base = {2: 0, 4: ro_size}.get(place >> 28)
        end = {2: ro_size, 4: max(got_end, head[3] & 0x0FFFFFFF)}.get(place >> 28, 0)
        if base is None or (place & 0x0FFFFFFF) + 4 > end:
            yield f"place {place:08x}"
        else:
            value = struct.unpack_from("<I", data, base + (place & 0x0FFFFFFF))[0]
            yield from judge(f"word at {place:08x}", value)


def wrong(seed: int) -> tuple[str, str]:
    """What must not happen and did (empty if nothing), and what became of the image."""
    data, params = case(seed)
    try:
        image = container.parse(data, "damaged.bin", params)
    except NeuralArtError as error:
        return ("" if "\n" not in str(error) and str(error).startswith("damaged.bin") else str(error)), "refused"
    findings = verify(image)
    report.as_text(image)
    report.image_data(image)
    for call in _CALLS:
        predict(image, call)
    if any("\n" in str(finding) for finding in findings):
        return "a finding of several lines", "found"
    if any(finding.level == "error" for finding in findings):
        return "", "found"
    return "; ".join(escaped(data, params)), "accepted"
