"""Kinds of files that compilers read and write."""

from __future__ import annotations

import hashlib
import json
import shutil
import zlib
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from neuralart.compilers.stedgeai import facts_of
from neuralart.errors import NeuralArtError
from neuralart.network import facts
from neuralart.relocatable.build import driver_options
from neuralart.text import ihex
from neuralart.text.c_source import decode
from neuralart.vendor import mpool, profile
from neuralart.vendor.c_info.read import parse_c_info
from neuralart.vendor.network_c.read import parse as parse_c
from neuralart_insight.inspect import cli as inspector
from neuralart_insight.inspect import kinds as inspected
from neuralart_insight.profiling import estimate, totals
from neuralart_reference.model import reader
from neuralart_virtual.emulator import vectors
from support.boards import counter_logs, firmware
from support.cases.cases_custom import detections, speech
from support.cases.inspect_files import FILES
from support.fuzz import MODELS, POOLS, PROFILES, ROOT
from support.fuzz.damage import aimed, damage, header_words, json_tree, text
from support.fuzz.judge import Kind, command, findings
from tflite_writer import ModelWriter

_KNOWN = ("compile", "--quiet", "--target", "stm32n6", "--name", "net")
_LOGGED = counter_logs.log([counter_logs.LoggedEpoch(1, inputs={0: 9}), counter_logs.LoggedEpoch(-1, "EXTRA", -1)])
_LOGS = [text.encode() for text in (_LOGGED, counter_logs.PRINTED + counter_logs.BLOCKS)]
_CPU_POOLS = ROOT / "site_scons/neuralart/boards/data/pools/stm32h747i-disco.json"


def look(path: Path) -> dict[str, Any]:
    """Everything that ``neuralart inspect`` says of a file, as text and as JSON."""
    kind, record = inspector.inspect(path)
    json.loads(inspector.to_json(record))
    inspected.reader(kind).text(record).encode("utf-8")
    return record


def _model(path: Path) -> object:
    look(path)
    return reader.read(path)


def _network_c(path: Path) -> object:
    network = parse_c(decode(path.read_bytes()), str(path))
    # What is taken from it for building, linting and profiling; each may refuse it.
    for use in (
        lambda: facts.from_json(facts.to_json(facts_of.npu_facts("net", network, None, {"xSPI2": 4096}, macc=1)), "x"),
        lambda: totals.to_record(estimate.of_file(path), 1e9),
    ):
        try:
            use()
        except NeuralArtError as error:
            assert "\n" not in error.what, error
    return look(path)


def _c_info(path: Path) -> object:
    info = parse_c_info(path.read_bytes(), str(path))
    try:
        json.dumps(totals.to_record(estimate.from_c_info(info), 1e9), allow_nan=False)
    except NeuralArtError as error:
        assert error.where, error
    return look(path)


def _grouped() -> dict[str, list[bytes]]:
    found: dict[str, list[bytes]] = defaultdict(list)
    for kind, data in FILES.values():
        found[kind].append(data)
    return found


_GOOD = _grouped()
_ESTIMATES = [estimate.from_c_info(parse_c_info(data, "c_info.json")) for data in _GOOD["c_info"][:2]]
_MEASURED = {"epochs": [{"first": 1, "duration_ms": 2.5}], "totals": {"duration_ms": 2.5}}
_PROFILES = [json.dumps({**totals.to_record(each, 1e9), "measured": _MEASURED}).encode() for each in _ESTIMATES]


def _network(**changes: object) -> facts.Network:
    return firmware.facts(**changes)  # type: ignore[arg-type]


def _vectors(path: Path) -> object:
    read = vectors.load(path.parent)
    vectors.check(read, _network())
    for bounds in (vectors.Closeness(), vectors.Closeness(2, 0.9, 1.0)):
        vectors.compare(read, 0, read.output_data[0], _network(), bounds)
    return read


def _vector_files(folder: Path) -> None:
    firmware.write_vectors(folder)


def _vectors_json() -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return (firmware.write_vectors(Path(folder)) / "vectors.json").read_bytes()


_COMPILED = {"net.c": b"/* c */\n", "net_atonbuf.xSPI2.raw": bytes(range(256)) * 8, "network.json": b"{}\n"}


def _compiled(folder: Path) -> None:
    for name, data in _COMPILED.items():
        (folder / name).write_bytes(data)
    (folder / facts.MANIFEST).write_text(facts.manifest("net", _COMPILED))


def _as_compiled(good: bytes, bad: bytes, read: Any) -> str:
    """All rows of an accepted manifest are true."""
    for row in read:
        data = _COMPILED.get(row.name, b"")
        if (len(data), hashlib.sha256(data).hexdigest()) != (row.bytes, row.sha256):
            return f"a false 'valid': {row}"
    return ""


def _same(good: bytes, bad: bytes, read: Any) -> str:
    return "" if good == bad else f"a false 'valid': CRC-32 {zlib.crc32(good):08x} became {zlib.crc32(bad):08x}"


def _profile_place(folder: Path) -> None:
    shutil.copytree(POOLS[0].parent, folder / "pools", dirs_exist_ok=True)
    (folder / "profiles").mkdir()


def _compile(*words: object) -> Any:
    def line(path: Path) -> list[object]:
        return [*_KNOWN, "--output", path.parent / "out", *(path if word is ... else word for word in words)]

    return command(line)


_NETWORK_JSON = facts.to_json(_network()).encode()
_MODEL_BYTES = [path.read_bytes() for path in MODELS]


def _custom_models() -> list[bytes]:
    """Operators whose options are maps."""
    first, second = ModelWriter(), ModelWriter()
    boxes = detections(np.random.default_rng(1), first, "uint8")
    _, features = speech(np.random.default_rng(1), second)
    return [first.finish(boxes.inputs, boxes.outputs), second.finish(features.inputs, features.outputs)]


_RECORD = ("inspect", "--json")

KINDS = [
    Kind("model.tflite", _MODEL_BYTES, _model, damage),
    Kind("model.onnx", _GOOD["onnx"], _model, damage, cost=2),
    Kind(
        "model-compiled.tflite",
        _MODEL_BYTES,
        _compile("--mpool", POOLS[-1], "--model", ...),
        damage,
        made="out",
        cost=5,
    ),
    Kind(
        "custom-compiled.tflite", _custom_models(), _compile("--mpool", POOLS[-1], "--model", ...), damage, made="out"
    ),
    Kind("pools.mpool", [p.read_bytes() for p in POOLS], lambda path: (mpool.read(path), look(path)), json_tree),
    Kind(
        "pools-compiled.mpool",
        [POOLS[-1].read_bytes()],
        _compile("--model", MODELS[0], "--mpool", ...),
        json_tree,
        made="out",
        cost=10,
    ),
    Kind(
        "neural_art.json",
        [path.read_bytes() for path in PROFILES],
        lambda path: (profile.read_profiles(path), look(path)),
        json_tree,
        file="profiles/neural_art.json",
        prepare=_profile_place,
    ),
    Kind(
        "profile-compiled.json",
        [path.read_bytes() for path in PROFILES if "n6" in path.name],
        command(
            lambda path: [
                *_KNOWN,
                "--output",
                path.parent / "out",
                "--model",
                MODELS[0],
                "--st-neural-art",
                f"default@{path}",
            ]
        ),
        json_tree,
        file="profiles/neural_art.json",
        prepare=_profile_place,
        made="profiles/out",
        cost=10,
    ),
    Kind(
        "cpu-pools-compiled.json",
        [_CPU_POOLS.read_bytes()],
        command(
            lambda path: [
                "compile",
                "--quiet",
                "--target",
                "stm32h7",
                "--name",
                "net",
                "--output",
                path.parent / "out",
                "--model",
                MODELS[0],
                "--memory-pool",
                path,
            ]
        ),
        json_tree,
        made="out",
        cost=10,
    ),
    Kind("network.c", _GOOD["network_c"], _network_c, text),
    Kind("network_ecblobs.h", _GOOD["ecblobs"], look, text),
    Kind("network_atonbuf.xSPI2.c", _GOOD["initializer_c"], look, text),
    Kind("network_c_info.json", _GOOD["c_info"], _c_info, json_tree),
    Kind("net_OE_3_3_1_Q.json", _GOOD["q_json"], look, json_tree),
    Kind("mempools.json", _GOOD["h7_pools"], look, json_tree),
    Kind("stmaic_BOARD-1.conf", _GOOD["h7_conf"], look, json_tree),
    Kind("network.csv", _GOOD["network_csv"], look, text),
    Kind("npu_profiler.log", _LOGS, command(lambda path: ["profile", "-d", path, "-v", "2", "--plot"]), text),
    Kind("profile.json", _PROFILES, command(lambda path: ["diff", path, path, "--markdown"]), json_tree),
    Kind("atonn_options.ini", _GOOD["atonn_options"], look, text),
    Kind("network_generate_report.txt", _GOOD["report"], look, text),
    Kind("network.raw", _GOOD["raw"], look, damage),
    Kind("weights.hex", [ihex.ihex(0x7100FFC0, bytes(range(256)) * 3).encode()], look, text),
    Kind("network_rel.bin", _GOOD["relocatable"], look, aimed(header_words(256))),
    Kind(
        "verified_rel.bin",
        _GOOD["relocatable"],
        findings(lambda path: ["relocatable", "verify", "--json", path]),
        aimed(header_words(256)),
        cost=10,
    ),
    Kind("network.json", [_NETWORK_JSON], lambda path: (facts.load(path), look(path)), json_tree),
    Kind("plan.json", _GOOD["plan"], look, json_tree),
    Kind("check.json", _GOOD["check"], look, json_tree),
    Kind("network_rel.json", _GOOD["network_rel"], look, json_tree),
    Kind(
        "custom.json",
        [json.dumps(dict.fromkeys(driver_options.PLACES, "st/4.0")).encode()],
        driver_options.read_custom,
        json_tree,
    ),
    Kind("variant-index.json", _GOOD["index"], look, json_tree),
    Kind(
        "manifest.json",
        [facts.manifest("net", _COMPILED).encode()],
        lambda p: look(p) and facts.check_files(p.parent),
        json_tree,
        prepare=_compiled,
        accepted=_as_compiled,
    ),
    Kind(
        "net_atonbuf.xSPI2.raw",
        [_COMPILED["net_atonbuf.xSPI2.raw"]],
        lambda path: facts.check_files(path.parent),
        damage,
        prepare=_compiled,
        accepted=_same,
    ),
    Kind("vectors.json", [_vectors_json()], _vectors, json_tree, prepare=_vector_files),
]
