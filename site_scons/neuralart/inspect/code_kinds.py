"""Kinds of generated C."""

from __future__ import annotations

import re

from neuralart.inspect.kinds import FileKind
from neuralart.inspect.sniffing import is_text
from neuralart.plugins import register

_GETTER = re.compile(rb"LL_ATON_EpochBlockItems_\w+\s*\(\s*(?:void)?\s*\)\s*\{")
_BLOB = re.compile(rb"uint64_t\s[^;={}]{0,300}?\b_ec_blob_\w+\s*\[")
_CONTENTS = re.compile(rb"uint64_t\s[^;={}]{0,300}?\b_mem_pool_\w+\s*\[[^;={}]{0,300}=\s*\{")


def _network_c(data: bytes, name: str) -> bool:
    if not is_text(data):
        return False
    # Cut off it has no table, but its comments.
    return _GETTER.search(data) is not None or (
        b"LL_ATON_VERSION_MAJOR" in data and b"file postfix=" in data and b"_ec_blob_" not in data[:4096]
    )


def _ecblobs(data: bytes, name: str) -> bool:
    return is_text(data) and b"_ec_blob_" in data and _BLOB.search(data) is not None


def _initializer(data: bytes, name: str) -> bool:
    return is_text(data) and b"_mem_pool_" in data and _CONTENTS.search(data) is not None


KINDS: tuple[FileKind, ...] = (
    FileKind("network_c", "a generated network.c", "neuralart.inspect.views.network_c", _network_c),
    FileKind("ecblobs", "a header with epoch-controller blobs", "neuralart.inspect.views.ecblobs", _ecblobs),
    FileKind("initializer_c", "an initializer as a C array", "neuralart.inspect.views.initializer_c", _initializer),
)

for _kind in KINDS:
    register("inspect", _kind.name, _kind, protocol=1)
