"""Invariants of what stands inside the data: context and pool table do not share bytes with anything."""

from __future__ import annotations

from collections.abc import Iterator

from neuralart.memory.findings import Finding, error
from neuralart.relocatable.format.container import POOL_BYTES
from neuralart.relocatable.format.types import Image
from neuralart.relocatable.verify.verify_context import words_of


def check(image: Image) -> Iterator[Finding]:
    """Both lie below data_end, apart from each other."""
    header = image.header
    context = (header["rt_ctx"], header["rt_ctx"] + 4 * len(words_of(image)))
    table = (header["params_start"], header["params_start"] + POOL_BYTES * (len(image.pools) + 1))
    for name, (_, end) in (("the context", context), ("the pool table", table)):
        if end > header["data_end"]:
            yield error("sections", f"{name} ends at 0x{end:08x}, behind data_end 0x{header['data_end']:08x}")
    if context[0] < table[1] and table[0] < context[1]:
        yield error("sections", f"the context at 0x{context[0]:08x} and the pool table at 0x{table[0]:08x} share bytes")
