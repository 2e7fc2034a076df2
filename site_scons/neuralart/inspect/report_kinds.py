"""Kinds of files that a vendor compile reads or writes beside its C: information, reports, tables, pools, options."""

from __future__ import annotations

import re

from neuralart.inspect.kinds import FileKind
from neuralart.inspect.sniffing import head, is_text, json_keys, outer_names
from neuralart.plugins import register

_VERSION = re.compile(
    r"^(?:\d{4}-\d\d-\d\d [\d:,]{8,20} \[[A-Z]+\] \w+:\d+ - )?[ \t]{0,80}ST Edge AI Core v\d+\.\d+\.\d+"
    r"|Output: ST Edge AI Core v\d+\.\d+\.\d+",
    re.MULTILINE,
)
# The end of console output that was cut off at its beginning.
_BLOCKS = re.compile(
    r"^(?:PASS:.{0,300}?\][ \t]{0,99})?[ \t]{0,99}"
    r"(?:Total number of epochs[: ]|Creating txt report file |Memory usage information  \()",
    re.MULTILINE,
)
_CODE = (".c", ".cpp", ".h", ".html", ".json", ".md", ".py", ".rst")
_ANY_NAME = re.compile(r'"(?:fname|fformat)"\s*:')


def _json(data: bytes) -> bool:
    return data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"/")


def _keys(data: bytes) -> frozenset[str]:
    """Keys of the document; of a damaged one, names that stand anywhere in its beginning."""
    return json_keys(data) or (outer_names(data) if _json(data) else frozenset())


def _c_info(data: bytes, name: str) -> bool:
    keys = _keys(data)
    return "json_schema_version" in keys or (name.endswith("c_info.json") and _json(data))


def _q_json(data: bytes, name: str) -> bool:
    keys = json_keys(data)
    if {"tensors", "nodes"} <= keys:
        return True
    return name.endswith("_Q.json") and _json(data)


def _mpool(data: bytes, name: str) -> bool:
    if not _json(data):
        return False
    names = outer_names(data)
    return ("mempools" in names and _ANY_NAME.search(head(data)) is not None) or name.endswith((".mpool", ".mpool.in"))


def _h7_pools(data: bytes, name: str) -> bool:
    return _json(data) and "mempools" in outer_names(data)


def _h7_conf(data: bytes, name: str) -> bool:
    if not _json(data):
        return False
    names = outer_names(data)
    return {"builder", "configurations"} <= names or {"memory_pool_path", "internalFlash_size"} <= names


def _profile(data: bytes, name: str) -> bool:
    if not _json(data):
        return False
    return "Profiles" in outer_names(data)


def _network_csv(data: bytes, name: str) -> bool:
    first = data[:4096].removeprefix(b"\xef\xbb\xbf")
    return first.startswith(b"epochs,") and b"(cycles)" in first


def _atonn_options(data: bytes, name: str) -> bool:
    first = data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    return is_text(data) and (name == "atonn_options.ini" or (first.startswith(b"# ") and b"atonn" in first[:400]))


def _report(data: bytes, name: str) -> bool:
    if name.lower().endswith(_CODE):
        return False
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = data[: 1 << 17].decode("utf-16", "ignore")
    elif is_text(data):
        text = head(data)
    else:
        return False
    return _VERSION.search(text) is not None or _BLOCKS.search(text) is not None or name.lower().endswith("_report.txt")


KINDS: tuple[FileKind, ...] = (
    FileKind("c_info", "information about a compiled network (c_info.json)", "neuralart.inspect.views.c_info", _c_info),
    FileKind("q_json", "quantization for the Neural-ART compiler (_Q.json)", "neuralart.inspect.views.q_json", _q_json),
    FileKind("profile", "profiles of the Neural-ART compiler", "neuralart.inspect.views.profile", _profile),
    FileKind("mpool", "memory pools of the Neural-ART compiler (.mpool)", "neuralart.inspect.views.mpool", _mpool),
    FileKind("h7_pools", "memory pools of a CPU target", "neuralart.inspect.views.h7_pools", _h7_pools),
    FileKind("h7_conf", "description of an STM32H7 application (.conf)", "neuralart.inspect.views.h7_conf", _h7_conf),
    FileKind(
        "network_csv",
        "the compiler's estimate per epoch (network.csv)",
        "neuralart.inspect.views.network_csv",
        _network_csv,
    ),
    FileKind(
        "atonn_options",
        "options of a compiler run (atonn_options.ini)",
        "neuralart.inspect.views.atonn_options",
        _atonn_options,
    ),
    FileKind("report", "a report of generate, analyze or validate", "neuralart.inspect.views.generate_report", _report),
)

for _kind in KINDS:
    register("inspect", _kind.name, _kind, protocol=1)
