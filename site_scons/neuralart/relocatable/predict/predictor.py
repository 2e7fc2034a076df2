"""What a loader will do with an image at given addresses, or which error it will return and why. The order of the
checks is the loaders' own. The vendor's ones check little: what they let pass and what breaks the model later is said
too. The reference runtime's loader checks overlaps and the exact version as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from neuralart.memory.findings import Finding, error, warning
from neuralart.relocatable.format import types as form
from neuralart.relocatable.format.types import Image, PoolDescriptor
from neuralart.relocatable.predict.prediction import (
    InstallCall,
    LoadingFirmware,
    Prediction,
    Refused,
    Room,
    check_firmware,
    unnoticed_by_firmware,
)
from neuralart.relocatable.verify.ec_blobs import find
from neuralart.relocatable.verify.verifier import check_entries
from neuralart.relocatable.verify.verify_pools import NOR_FLASH

_DAMAGED = "the image is damaged, build it again"


def _own_checks(pool: PoolDescriptor, who: str, base: int, seen: set[int]) -> None:
    """What the reference runtime's loader asks of a pool beyond the vendor's."""
    if not 0 < pool.size <= form.OFFSET + 1:
        raise Refused(-8, f"{who} has {pool.size:,} bytes: it must have 1 to 256 MiB")
    if pool.data in (form.PARAM, form.MIXED) and base + pool.foff + form.align8(pool.size) > 1 << 32:
        raise Refused(-8, f"the data of {who} leave the address space")
    if pool.type == form.RELOC:
        if pool.id in seen:
            raise Refused(-8, f"{who} is the second one that is relocated with id {pool.id}")
        seen.add(pool.id)
        wanted: tuple[int, ...] = (form.PARAM,) if pool.id == 0 else (form.ACTIV, form.MIXED)
    elif pool.type in (form.COPY, form.RESET):
        wanted = (form.PARAM, form.MIXED) if pool.type == form.COPY else (form.ACTIV,)
        if not pool.dst or pool.dst + form.align8(pool.size) > 1 << 32:
            raise Refused(-8, f"{who} has no place: 0x{pool.dst:08x}")
    else:
        raise Refused(-8, f"{who} has the unknown type {pool.type}")
    if pool.id <= 1 and pool.data not in wanted:
        raise Refused(-8, f"{who} is {pool.notation}, which no pool can be")


def _relocated(pool: PoolDescriptor, number: int, base: int, call: InstallCall) -> str:
    who = f"pool {number} ({pool.name})"
    if pool.id == 0:
        if pool.data == form.MIXED or pool.attributes & form.WRITE:
            raise Refused(-8, f"{who} is {pool.notation}: the relocated pool of params must be read only")
        at = base + pool.foff
        if pool.attributes & form.CACHEABLE and at <= form.EXTERNAL:
            raise Refused(
                -7,
                f"{who} is cacheable, its params at 0x{at:08x} must be above 0x{form.EXTERNAL:08x}",
                "place the params in external memory, or make the pool non-cacheable (cacheable OFF in the .mpool) and "
                "compile again",
            )
        return f"{who} {pool.notation}: used where it is, at 0x{at:08x}"
    if pool.id != 1:
        raise Refused(-8, f"{who} is relocated with id {pool.id}: known are 0 and 1")
    need = form.align8(pool.size)
    if call.ext_ram is None or not call.ext_ram.start:
        raise Refused(-2, f"{who} needs {need:,} bytes of external RAM, none is given", "give it with --ext-ram")
    room = call.ext_ram
    if room.start % 4:
        raise Refused(-2, f"external RAM at 0x{room.start:08x} is not on a multiple of 4")
    if room.size < need or room.start + need > 1 << 32:
        raise Refused(-2, f"external RAM has {room.size:,} bytes, {who} needs {need:,}", "give it more RAM")
    if pool.attributes & form.CACHEABLE and room.start <= form.EXTERNAL:
        hint = "give it external memory, or make the pool non-cacheable (cacheable OFF in the .mpool) and compile again"
        what = f"{who} is cacheable, external RAM at 0x{room.start:08x} must be above 0x{form.EXTERNAL:08x}"
        raise Refused(-7, what, hint)
    if pool.data == form.MIXED:
        done = f"copied from 0x{base + pool.foff:08x}"
    else:
        done = "cleared" if call.clear else "left as it is"
    return f"{who} {pool.notation}: {need:,} bytes at 0x{room.start:08x}, {done}"


def _check_count(image: Image) -> None:
    if len(image.pools) > form.MOST_POOLS:
        raise Refused(-1, f"the table has {len(image.pools)} pools, a loader takes {form.MOST_POOLS}")


def _pool_steps(image: Image, call: InstallCall, firmware: LoadingFirmware, base: int) -> Iterator[str]:
    """One line for each pool, with the params at ``base``; raises Refused where the loader stops."""
    seen: set[int] = set()
    _check_count(image)
    done = "cleared" if call.clear else "left as it is"
    for number, pool in enumerate(image.pools):
        who = f"pool {number} ({pool.name})"
        if firmware.ours and pool.type:
            _own_checks(pool, who, base, seen)
        if pool.type == form.RELOC:
            yield _relocated(pool, number, base, call)
        elif pool.type == form.COPY:
            yield f"{who} {pool.notation}: {pool.size:,} bytes from 0x{base + pool.foff:08x} to 0x{pool.dst:08x}"
        elif pool.type == form.RESET:
            yield f"{who} {pool.notation}: {pool.size:,} bytes at 0x{pool.dst:08x}, {done}"


def _params_base(image: Image, call: InstallCall) -> int:
    return call.params or (call.at + image.header["params_offset"] if image.header["params_offset"] else 0)


def _ram_needed(image: Image, call: InstallCall) -> int:
    return image.copy_size if call.copy else image.xip_size


def _places(image: Image, call: InstallCall) -> dict[str, Room]:
    """What must not share a byte with what is written."""
    code = Room(call.at, image.header["rel_end"] & form.OFFSET)
    rooms = {"the image": code, "executive RAM": Room(call.ram.start, _ram_needed(image, call))}
    # The bytes that pools refer to: the loader knows no other end.
    size = max(
        (pool.foff + form.align8(pool.size) for pool in image.pools if pool.data in (form.PARAM, form.MIXED)), default=0
    )
    if _params_base(image, call) and size:
        rooms["the params"] = Room(_params_base(image, call), size)
    if image.relative_ram is not None and call.ext_ram is not None:
        rooms["external RAM"] = Room(call.ext_ram.start, form.align8(image.relative_ram.size))
    return rooms


def _overlaps(image: Image, call: InstallCall) -> Iterator[tuple[str, str, int]]:
    rooms = _places(image, call)
    written: dict[str, Room] = {name: room for name, room in rooms.items() if name.endswith(" RAM")}
    for number, pool in enumerate(image.pools):
        if pool.type == form.COPY or (pool.type == form.RESET and pool.dst):
            written[f"pool {number} ({pool.name})"] = Room(pool.dst, form.align8(pool.size))
    seen = set()
    for name, room in written.items():
        for other, place in rooms.items():
            pair = frozenset((name, other))
            if name != other and pair not in seen and room.shares(place):
                seen.add(pair)
                yield name, other, room.shares(place)


def _check_memory(image: Image, call: InstallCall) -> None:
    needed, ram = _ram_needed(image, call), call.ram
    if ram.start == 0 or ram.start % 4:
        raise Refused(-2, f"executive RAM at 0x{ram.start:08x} is not on a multiple of 4 above 0")
    if ram.size < needed:
        other = "" if not call.copy else f"; mode XIP needs {image.xip_size:,}"
        what = f"executive RAM has {ram.size:,} bytes, mode {'COPY' if call.copy else 'XIP'} needs {needed:,}{other}"
        remedy = "give it more RAM" + (", or use mode XIP" if call.copy and ram.size >= image.xip_size else "")
        raise Refused(-2, what, remedy)
    if ram.start + needed > 1 << 32:
        raise Refused(-2, f"executive RAM from 0x{ram.start:08x} leaves the address space")


def _check_params(image: Image, call: InstallCall) -> int:
    base = _params_base(image, call)
    if not base:
        remedy = "flash X_rel_params.bin too and give its address (--params, ext_param_addr)"
        raise Refused(-7, "the params are in a file of their own and no address is given for them", remedy)
    if base % 4:
        raise Refused(-7, f"the params at 0x{base:08x} are not on a multiple of 4")
    return base


def _check_structure(image: Image) -> None:
    """What the reference runtime's loader refuses of what can be read at all."""
    header = image.header
    if (
        header["data_start"] != form.RAM
        or not max(header["data_end"], header["got_end"]) <= header["bss_start"] <= header["bss_end"]
    ):
        raise Refused(-1, "data, GOT and bss overlap or are out of order", _DAMAGED)
    for wrong in check_entries(image):
        raise Refused(-1, wrong.message, _DAMAGED)
    _check_count(image)


def _check_place(image: Image, place: int) -> None:
    """A word that the relocation list names."""
    offset, end = (
        place & form.OFFSET,
        {form.RAM: form.stored_data(image.header), form.FLASH: image.ro_size}.get(place & form.SEGMENT, 0),
    )
    if place % 4 or offset + 4 > end or (place & form.SEGMENT == form.FLASH and offset < 4 * image.header_words):
        raise Refused(-1, f"the relocation list names 0x{place:08x}, which is no word of data", _DAMAGED)


def _rebased(image: Image) -> Iterator[tuple[str, int]]:
    """Words that are rebased, with their names."""
    for index, value in enumerate(image.got):
        yield f"GOT word {index}", value
    for place in image.relocations:
        offset = form.file_offset(image.header, place)
        if offset is not None and offset + 4 <= len(image.data):
            yield f"the word at 0x{place:08x}", int.from_bytes(image.data[offset : offset + 4], "little")


def _check_words(image: Image, call: InstallCall, firmware: LoadingFirmware) -> None:
    # The vendor's loader looks at the segment alone.
    sizes = dict.fromkeys(form.SEGMENT_NAMES, form.OFFSET)
    if firmware.ours:
        known = form.limits(image)
        sizes = {form.FLASH: known[form.FLASH], form.RAM: known[form.RAM], form.PARAM_0: form.OFFSET}
        sizes |= {form.PARAM_1: form.align8(known[form.PARAM_1])} if form.PARAM_1 in known else {}
        for place in image.relocations:
            _check_place(image, place)
    for name, value in _rebased(image):
        if value & form.SEGMENT and (fault := form.word_fault(sizes, value)):
            raise Refused(-1, f"{name} is 0x{value:08x}: it {fault}", _DAMAGED)
    if not call.copy and image.copy_only:
        what = "the image has absolute words in its code (clang), which mode XIP cannot patch"
        raise Refused(-1, what, "use mode COPY")


def _steps(image: Image, call: InstallCall, firmware: LoadingFirmware) -> Iterator[str]:
    """What is done; raises Refused where the loader stops."""
    if call.at % 4 or not call.at:
        raise Refused(-1 if call.at else -4, f"the image at 0x{call.at:08x} is not on a multiple of 4 above 0")
    if firmware.ours:
        _check_structure(image)
    check_firmware(image, firmware)
    _check_memory(image, call)
    base = _check_params(image, call)
    yield from _pool_steps(image, call, firmware, base)
    if firmware.ours:
        for name, other, count in _overlaps(image, call):
            raise Refused(-2, f"{name} and {other} share {count:,} bytes")
    data = call.ram.start
    if call.copy:
        yield f"code: {image.ro_size:,} bytes copied to 0x{data:08x} and executed there"
        data += form.align8(image.ro_size)
    else:
        yield f"code: {image.ro_size:,} bytes executed where they are, at 0x{call.at:08x}"
    yield f"data: {image.rw_size:,} bytes at 0x{data:08x}"
    _check_words(image, call, firmware)
    yield f"addresses: {len(image.got)} words of the GOT, {len(image.relocations)} of the list"


def _alignments(image: Image, call: InstallCall) -> Iterator[Finding]:
    blobs = any(blob.relocatable for blob in find(image))
    data = call.ram.start + (image.ro_size if call.copy else 0)
    if blobs and data % 64:
        yield warning(
            "alignment",
            f"the data of the model begin at 0x{data:08x}: epoch-controller blobs in them want a multiple of 64",
            "build with the layout that pads the code to 64"
            if call.copy and not call.ram.start % 64
            else "give an address on a multiple of 64",
        )
    elif call.ram.start % 32:
        yield warning("alignment", f"executive RAM at 0x{call.ram.start:08x} is not on a multiple of 32")
    if call.at % 8:
        yield warning("alignment", f"the image at 0x{call.at:08x} is not on a multiple of 8")


def _unnoticed(image: Image, call: InstallCall, firmware: LoadingFirmware) -> Iterator[Finding]:
    yield from unnoticed_by_firmware(image, firmware)
    if call.params and image.header["params_offset"]:
        what = f"the image holds its params itself, those at 0x{call.params:08x} would be taken instead"
        yield error("params", what, "leave --params away; ext_param_addr must be NULL")
    for name, other, count in _overlaps(image, call):
        yield error("overlap", f"{name} and {other} share {count:,} bytes: one overwrites the other")
    for number, pool in enumerate(image.pools):
        if pool.type == form.COPY and pool.dst in NOR_FLASH:
            what = f"pool {number} ({pool.name}) would be copied to 0x{pool.dst:08x}, which is memory-mapped flash"
            yield error("flash", what, "give the pool the mode USEMODE_RELATIVE in the .mpool and compile again")
    yield from _alignments(image, call)


def predict(image: Image, call: InstallCall, firmware: LoadingFirmware | None = None) -> Prediction:
    """Say what the install will do; without firmware, that of firmware made for this image.
    :func:`neuralart.relocatable.verify.verifier.verify` says what is wrong with the image itself.
    """
    firmware = firmware or LoadingFirmware.of(image)
    steps: list[str] = []
    code, reason, remedy = 0, "", ""
    try:
        steps.extend(_steps(image, call, firmware))
    except Refused as refused:
        code, reason, remedy = refused.code, refused.reason, refused.remedy
    relative = (
        pool
        for pool in image.pools
        if pool.type == form.RELOC and pool.id == 1 and pool.data in (form.ACTIV, form.MIXED)
    )
    return Prediction(
        code=code,
        reason=reason,
        remedy=remedy,
        ram_needed=_ram_needed(image, call),
        ext_ram_needed=sum(form.align8(pool.size) for pool in relative),
        steps=tuple(steps),
        unnoticed=tuple(_unnoticed(image, call, firmware)) if code == 0 else (),
    )
