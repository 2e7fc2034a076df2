"""The kinds of files that a compile reads or writes (those that only a name tells last), and what others look like."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache

from neuralart.plugins import register
from neuralart.text.filekind import describe
from neuralart_insight.inspect.kinds import FileKind

_HEAD = 1 << 16
_COMMENT = re.compile(rb'"(?:\\.|[^"\\\n])*"|//[^\n]*')
_ENDINGS: dict[tuple[str, ...], str] = {
    (".h", ".hpp"): "a C header, none with epoch-controller blobs",
    **{(".c", ".cpp"): "C source, no generated network", (".map",): "a linker map", (".ld", ".lkr"): "a linker script"},
    **{(".ini",): "a list of options", (".npy", ".npz"): "arrays of NumPy", (".md",): "a document", (".log",): "a log"},
}
_SOURCE = re.compile(r"^\s*#\s*(?:include|define|ifndef|pragma)\b", re.M)
_CPU = re.compile(r'#\s*include\s+"(?:stai(?:_\w+)?|ai_platform(?:_interface)?|ai_datatypes_defines)\.h"')
_XML = re.compile(r"\s*<(?:\?xml|!DOCTYPE|html|svg|\w+[ >])", re.I)
_GETTER = re.compile(rb"LL_ATON_EpochBlockItems_\w+\s*\(\s*(?:void)?\s*\)\s*\{")
_BLOB = re.compile(rb"uint64_t\s[^;={}]{0,300}?\b_ec_blob_\w+\s*\[")
_CONTENTS = re.compile(rb"uint64_t\s[^;={}]{0,300}?\b_mem_pool_\w+\s*\[[^;={}]{0,300}=\s*\{")
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
_HEX_LINE = re.compile(rb"\s*:[0-9A-Fa-f]{10,}\s")
# A record of data that begins with the magic of an image header.
_HEX_IMAGE = re.compile(rb"^:[0-9A-Fa-f]{6}0053544[Dd]32", re.M)
_CONTENTS_NAME = re.compile(r".+\.raw|.+_data\.\w+\.bin", re.I)


def head(data: bytes) -> str:
    """The first 64 KiB as text."""
    return data[:_HEAD].decode("utf-8", "replace")


def is_text(data: bytes) -> bool:
    """No zero byte in the first 64 KiB, and not empty."""
    return bool(data.strip()) and b"\0" not in data[:_HEAD]


@lru_cache(maxsize=2)
def json_keys(data: bytes) -> frozenset[str]:
    """Names of the members of a JSON object, also of one with ``//`` comments; empty if it is none."""
    if data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] not in (b"{", b"/"):
        return frozenset()
    for tried in (data, _COMMENT.sub(lambda m: m.group() if m.group().startswith(b'"') else b"", data)):
        try:
            document = json.loads(tried.decode("utf-8-sig", "replace"), strict=False)
        except (ValueError, RecursionError):
            continue
        return frozenset(document) if isinstance(document, dict) else frozenset()
    return frozenset()


def outer_names(data: bytes) -> frozenset[str]:
    """Names in quotes before a colon anywhere in the first 64 KiB: for JSON that is damaged."""
    return frozenset(re.findall(r'"(\w{1,64})"\s*:', head(data)))


def looks_like(data: bytes, name: str) -> str:
    """What bytes of no known kind look like; ``name``: the file's, without its folder."""
    if not data:
        return "an empty file"
    if not data.strip(b"\xff") or not data.strip(b"\0"):
        return f"{len(data):,} bytes of 0x{data[0]:02X}, as of an erased memory"
    known = describe(data)
    if not is_text(data) or not known.startswith(("text", "no known")):
        return known
    keys = sorted(json_keys(data))
    if keys:
        return f"JSON with the keys {', '.join(key[:32] for key in keys[:6])}{' ...' if len(keys) > 6 else ''}"
    if data.lstrip()[:1] in (b"{", b"["):
        return "JSON without names, or damaged"
    text = head(data)
    if _CPU.search(text):
        return "generated C without the tables of the Neural-ART compiler (of a CPU target, or one of its interfaces)"
    ending = name[name.rfind(".") :].lower() if "." in name else ""
    said = next((words for endings, words in _ENDINGS.items() if ending in endings), "")
    if said:
        return said
    if _SOURCE.search(text):
        return "C source, no generated network"
    if _XML.match(text):
        return "a page or XML"
    lines = data.count(b"\n") + 1
    first = " ".join(next((line for line in text.splitlines() if line.strip()), "").split())
    return f"{lines:,} lines of text, beginning with '{first[:40]}'"


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


def _json(data: bytes) -> bool:
    return data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"/")


def _keys(data: bytes) -> frozenset[str]:
    """Keys of the document; of a damaged one, names that stand anywhere in its beginning."""
    return json_keys(data) or (outer_names(data) if _json(data) else frozenset())


def _c_info(data: bytes, name: str) -> bool:
    return "json_schema_version" in _keys(data) or (name.endswith("c_info.json") and _json(data))


def _q_json(data: bytes, name: str) -> bool:
    return {"tensors", "nodes"} <= json_keys(data) or (name.endswith("_Q.json") and _json(data))


def _mpool(data: bytes, name: str) -> bool:
    if not _json(data):
        return False
    names = outer_names(data)
    return ("mempools" in names and _ANY_NAME.search(head(data)) is not None) or name.endswith((".mpool", ".mpool.in"))


def _h7_conf(data: bytes, name: str) -> bool:
    if not _json(data):
        return False
    names = outer_names(data)
    return {"builder", "configurations"} <= names or {"memory_pool_path", "internalFlash_size"} <= names


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


def _relocatable(data: bytes, name: str) -> bool:
    # Something may stand in front of the image; its reader then says where it begins.
    at = data.find(b"NBIN", 0, 1 << 20)
    if at <= 0:
        return at == 0
    from neuralart.relocatable.format.container import inner_offset

    return not is_text(data) and inner_offset(data) is not None


def _boot_image(data: bytes, name: str) -> bool:
    if data.startswith(b"STM2") or _HEX_IMAGE.search(data) is not None:
        return True
    if b"STM2" not in data or is_text(data):
        return False
    from neuralart.text.image_header import find

    return next(find(data), None) is not None


def _names(wanted: str) -> Callable[[bytes, str], bool]:
    """JSON, perhaps damaged, that has this name in its beginning."""
    return lambda data, name: _json(data) and wanted in outer_names(data)


def _with_keys(wanted: str) -> Callable[[bytes, str], bool]:
    """JSON that has these names, among others."""
    names = {*wanted.split()}
    return lambda data, name: names <= _keys(data)


def _manifest(data: bytes, name: str) -> bool:
    keys = _keys(data)
    # A recording has these too, and says what it was made of.
    return {"schema", "network", "files"} <= keys and not keys & {"tool", "inputs", "options"}


def _application(data: bytes, name: str) -> bool:
    if data[:1] != b"\xff":
        return False
    from neuralart.text.image_header import vectors_behind_room

    return vectors_behind_room(data) is not None


def _raw(data: bytes, name: str) -> bool:
    return _CONTENTS_NAME.fullmatch(name) is not None and not data.startswith(b"version https://git-lfs")


KINDS = tuple(
    FileKind(name, title, f"neuralart_insight.inspect.views.{view}", sniff)
    for name, title, view, sniff in (
        # Before those that look for a mark anywhere in a file: a firmware may hold the marks of all of them.
        (
            "network_json",
            "facts of a compile (network.json)",
            "build_records:NETWORK",
            _with_keys("abi_stamp epochs macc"),
        ),
        ("manifest", "the manifest of a compile (manifest.json)", "build_records:MANIFEST", _manifest),
        ("flash_plan", "a flash plan (flash_plan.json)", "build_records:FLASH_PLAN", _with_keys("board writes")),
        ("plan", "an address plan (plan.json)", "build_records:PLAN", _with_keys("memories placements initializers")),
        ("check", "the check of an image (check.json)", "build_records:CHECK", _with_keys("image initial_sp findings")),
        ("index", "the index of a build (index.json)", "build_records:INDEX", _with_keys("variant firmware artefacts")),
        (
            *("network_rel", "results of a relocatable build (network_rel.json)", "build_records:NETWORK_REL"),
            _with_keys("schema gen_files reloc_binary_image"),
        ),
        ("descriptor", "an identity descriptor", "build_records:DESCRIPTOR", lambda data, name: data[:4] == b"NAID"),
        ("load_table", "a load table", "build_records:LOAD_TABLE", lambda data, name: data[:4] == b"MREL"),
        ("application", "an application with room for its header", "build_records:APPLICATION", _application),
        ("network_c", "a generated network.c", "generated_c:NETWORK_C", _network_c),
        ("ecblobs", "a header with epoch-controller blobs", "generated_c:ECBLOBS", _ecblobs),
        ("initializer_c", "an initializer as a C array", "generated_c:INITIALIZER_C", _initializer),
        ("c_info", "information about a compiled network (c_info.json)", "c_info:C_INFO", _c_info),
        ("q_json", "quantization for the Neural-ART compiler (_Q.json)", "inputs:Q_JSON", _q_json),
        ("profile", "profiles of the Neural-ART compiler", "inputs:PROFILE", _names("Profiles")),
        ("mpool", "memory pools of the Neural-ART compiler (.mpool)", "inputs:MPOOL", _mpool),
        ("h7_pools", "memory pools of a CPU target", "inputs:H7_POOLS", _names("mempools")),
        ("h7_conf", "description of an STM32H7 application (.conf)", "inputs:H7_CONF", _h7_conf),
        ("network_csv", "the compiler's estimate per epoch (network.csv)", "reports:NETWORK_CSV", _network_csv),
        ("atonn_options", "options of a compiler run (atonn_options.ini)", "inputs:ATONN_OPTIONS", _atonn_options),
        ("report", "a report of generate, analyze or validate", "reports:REPORT", _report),
        ("relocatable", "a relocatable model", "images:RELOCATABLE", _relocatable),
        ("tflite", "a TensorFlow Lite model", "images:TFLITE", lambda data, name: data[4:8] == b"TFL3"),
        ("onnx", "a quantized ONNX model", "images:TFLITE", lambda data, name: describe(data) == "an ONNX model"),
        ("elf", "an ELF file", "images:ELF", lambda data, name: data[:4] == b"\x7fELF"),
        ("stm32n6-image", "an image with the header of an STM32N6", "images:BOOT_IMAGE", _boot_image),
        ("ihex", "an Intel HEX file", "images:IHEX", lambda data, name: _HEX_LINE.match(data) is not None),
        ("raw", "the contents of a memory pool", "images:RAW", _raw),
    )
)

for _kind in KINDS:
    register("inspect", _kind.name, _kind, protocol=1)
