"""Everything that can be wrong with a relocatable model, in one list (docs/reference/relocatable.md)."""

from __future__ import annotations

from collections.abc import Iterator

from neuralart.memory.findings import Finding, error
from neuralart.relocatable.format.container import POOL_BYTES
from neuralart.relocatable.format.types import Image
from neuralart.relocatable.verify import (
    ec_blobs,
    verify_context,
    verify_header,
    verify_memories,
    verify_pools,
    verify_sums,
    verify_words,
)
from neuralart.relocatable.verify.verify_context import words_of

# Invariants of what stands inside the data: context and pool table do not share bytes with anything -----------------


def _check_apart(image: Image) -> Iterator[Finding]:
    """Both lie below data_end, apart from each other."""
    header = image.header
    context = (header["rt_ctx"], header["rt_ctx"] + 4 * len(words_of(image)))
    table = (header["params_start"], header["params_start"] + POOL_BYTES * (len(image.pools) + 1))
    for name, (_, end) in (("the context", context), ("the pool table", table)):
        if end > header["data_end"]:
            yield error("sections", f"{name} ends at 0x{end:08x}, behind data_end 0x{header['data_end']:08x}")
    if context[0] < table[1] and table[0] < context[1]:
        yield error("sections", f"the context at 0x{context[0]:08x} and the pool table at 0x{table[0]:08x} share bytes")


# ---------------------------------------------------------------------------------------------------------------------

CHECKS = ("flags", "sections", "entries", "context", "pools", "params", "got", "relocations", "ec-blob")


def verify(image: Image, memories: verify_memories.Memories | None = None) -> tuple[Finding, ...]:
    """All findings, in the order of :data:`CHECKS`; errors of a check before its warnings.

    Args:
        image: What :func:`neuralart.relocatable.format.container.parse` read.
        memories: Where pools with fixed destinations may be; None: that is not looked at.
    """
    found = [
        *verify_header.check_flags(image),
        *verify_header.check(image),
        *_check_apart(image),
        *verify_context.check(image),
        *verify_pools.check(image),
        *(verify_memories.check(image, memories) if memories is not None else ()),
        *verify_sums.check(image),
        *verify_words.check(image),
        *ec_blobs.check(image),
    ]
    return tuple(sorted(found, key=lambda finding: (CHECKS.index(finding.check), finding.level)))
