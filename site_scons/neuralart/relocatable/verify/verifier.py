"""Everything that can be wrong with a relocatable model, in one list (docs/reference/relocatable.md)."""

from __future__ import annotations

from neuralart.memory.findings import Finding
from neuralart.relocatable.format.types import Image
from neuralart.relocatable.verify import (
    ec_blobs,
    verify_context,
    verify_header,
    verify_layout,
    verify_memories,
    verify_pools,
    verify_sums,
    verify_words,
)

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
        *verify_layout.check(image),
        *verify_context.check(image),
        *verify_pools.check(image),
        *(verify_memories.check(image, memories) if memories is not None else ()),
        *verify_sums.check(image),
        *verify_words.check(image),
        *ec_blobs.check(image),
    ]
    return tuple(sorted(found, key=lambda finding: (CHECKS.index(finding.check), finding.level)))
