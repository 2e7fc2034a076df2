"""Kinds of files that this package keeps for itself between two runs, and anybody may have changed."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

from neuralart import boards, intact, toolchain
from neuralart.applications import overlay
from neuralart.compilers import fileset, recorded
from neuralart.compilers.command_line import parsed
from neuralart.compilers.recorded import replay
from neuralart.compilers.stedgeai import install
from neuralart.compilers.stedgeai.request import request_of
from neuralart.errors import NeuralArtError
from neuralart.flashing import plan as plans
from neuralart.network import facts
from neuralart.relocatable.build import objects
from neuralart_bring import last_build
from neuralart_bring.export import folder as exports
from neuralart_bring.export.plan import ExportInputs, NetworkPart, Raw
from neuralart_bring.patching import inplace, journal, mirror
from neuralart_bring.patching import plan as patching
from neuralart_fleet.ci import shards
from neuralart_fleet.ci.matrix_cli import record
from neuralart_fleet.config import CacheConfig
from neuralart_fleet.remote import client
from neuralart_fleet.remote.messages import DAMAGED, Digest, StepResult, files_of, message, parse
from neuralart_insight.report.page import document
from neuralart_insight.report.page.gather import gather
from neuralart_virtual.validation_link.messages import PacketLink, decode, encode
from support.boards import firmware
from support.boards.h747_app import ROOT, App, FakeNetwork, FakePool
from support.fuzz.damage import damage, json_tree
from support.fuzz.judge import Kind, command
from support.fuzz.of_images import _writes
from support.models import stedgeai_case
from support.servers import page_folder

_THREE = (FakePool("DTCMRAM", 18428, 1), FakePool("AXIRAM", 311996, 2), FakePool("SDRAM", 266256, 3))


def _of(prepare: Callable[[Path], object], name: str) -> bytes:
    """What a file holds once everything is prepared."""
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        return (Path(folder) / name).read_bytes()


# ---- patching


def _patched(folder: Path) -> App:
    app = App(folder, FakeNetwork(_THREE))
    inplace.patch(app.request("crop"))
    return app


_RECORD = f"app/{ROOT}/{inplace.RECORD}"
_INDEX = f"made/{mirror.INDEX}"


def _mirrored(folder: Path) -> None:
    app = App(folder, FakeNetwork(_THREE))
    mirror.write(patching.make(app.request("crop")), folder / "made")


def _restored(path: Path) -> object:
    """What ``--restore`` reads, and what patching again reads."""
    root = path.parents[1] if path.parent.name == inplace.STATE else path.parent
    return inplace.read_record(root)


_JOURNAL = {"schema": 1, "files": [{"path": "Inc/a.h", "old": "", "new": ""}, {"path": "b.c", "old": "", "new": ""}]}


def _journal(path: Path) -> object:
    return journal._entries(path.parents[2])


# ---- a remote cache

_ENTRY = StepResult([("build/a.o", Digest("0" * 64, 4096), False), ("build/run", Digest("f" * 64, 1), True)], 61_001)
_RESULT = message((2, message((1, "build/net.c"), (2, Digest("0" * 64, 4096).written))), (4, 1), (5, "said"))
_ANSWER = message((1, "type"), (2, message((1, _RESULT), (3, message((2, "ok"))))))
_NETRC = b"machine cache.lan login builder password p4ss\nmacdef all\n  quit\n\ndefault login x password y\n"
_CACHE = CacheConfig("http://cache.lan:9090")


def _entry(path: Path) -> StepResult:
    """As the cache of a build reads it, which says what is wrong and does the step here."""
    try:
        return StepResult.read(path.read_bytes(), "key")
    except DAMAGED as error:
        raise NeuralArtError(f"is not taken: {error}", where=str(path)) from error


def _operation(path: Path) -> object:
    """What a farm has done, likewise."""
    try:
        result = parse(client._answered(parse(path.read_bytes()))[1][0])
        return files_of(result), result.get(4), result.get(5)
    except DAMAGED as error:
        raise NeuralArtError(f"is not taken: {error}", where=str(path)) from error


# ---- compiles


def _recorded(folder: Path) -> None:
    """A recording of a tool that is not there."""
    stedgeai_case.make(folder / "w")
    given = _request(folder)
    tool = recorded.parse_core("ST Edge AI Core v4.0.1-20581 7ed50de05")
    assert tool is not None
    planned = recorded.plan(given, tool)
    kept = {"net.c": b"/* c */\n", "network.json": facts.to_json(firmware.facts()).encode()}
    (folder / recorded.FILES).mkdir()
    for name, data in kept.items():
        (folder / recorded.FILES / name).write_bytes(data)
    data = {
        "schema": recorded.SCHEMA,
        "network": "net",
        "tool": tool.text,
        "inputs": [{"role": i.role, "name": i.name, "sha256": i.sha256} for i in recorded.inputs_of(given, planned)],
        "options": [list(each) for each in recorded.options_of(given, planned)],
        "files": [{"name": name, "sha256": recorded._digest(data)} for name, data in kept.items()],
    }
    (folder / recorded.NAME).write_text(json.dumps(data))


def _request(folder: Path) -> object:
    w = folder / "w"
    words = ["--model", str(w / "net.tflite"), "--name", "net", "--target", "stm32n6"]
    return request_of(parsed([*words, "--st-neural-art", f"default@{w / 'na.json'}"]))


def _replayed(path: Path) -> object:
    top = path.parent if path.name == recorded.NAME else path.parents[1]
    return replay(_request(top), top, top / "made")


def _same(good: bytes, bad: bytes, read: object) -> str:
    return "" if good == bad else "a false 'valid': a changed file was taken"


# ---- what a board answers


def _packets() -> list[bytes]:
    data = {"type": 0, "size": 40, "address": 1 << 29, "content": bytes(range(40))}
    shape = {"format": 0x840440, "size": 40, "rank": 2, "shape": [1, 40], "scale": 0.5, "zero_point": -3}
    tensor = {"description": {"name": "x", **shape, "address": 1, "flags": 256}, "data": data}
    answer = encode("Response", {"id": 7, "state": 3, "tensor": tensor})
    parts = [answer[at : at + 32] for at in range(0, len(answer) + 1, 32)]
    ends = [(len(part) < 32) << 15 for part in parts]
    return [
        b"".join((len(p) | end).to_bytes(2, "big") + p.ljust(32, b"\0") for p, end in zip(parts, ends, strict=True))
    ]


class _Port:
    def __init__(self, path: Path) -> None:
        self._left = path.read_bytes()

    def write(self, data: bytes) -> None:
        """It goes nowhere."""

    def read(self, seconds: float) -> bytes:
        part, self._left = self._left[:50], self._left[50:]
        return part


def _answer(path: Path) -> object:
    return decode("Response", PacketLink(_Port(path)).receive(1.0, "an answer"))


# ---- exports, copies, caches


def _inputs(folder: Path) -> ExportInputs:
    home = folder / "digits"
    home.mkdir(exist_ok=True)
    for name, data in (("digits.c", b"c"), ("digits.h", b"h"), ("digits.raw", b"weights"), ("network.json", b"{}\n")):
        if not (home / name).exists():
            (home / name).write_bytes(data)
    part = NetworkPart(
        "digits",
        runtime="neuralart",
        runtime_version=(0, 1, 0, 0),
        abi_stamp="0123456789abcdef",
        sources=(home / "digits.c",),
        headers=(home / "digits.h",),
        raws=(Raw("xSPI2", 0x70380000, home / "digits.raw"),),
        others=(home / "network.json",),
    )
    return ExportInputs(name="digits-n6", title="Digits", board="stm32n6570-dk", networks=(part,))


def _exported(folder: Path) -> None:
    exports.write(folder / "out", _inputs(folder))


def _copied(folder: Path) -> None:
    (folder / "user").mkdir()
    (folder / "user/a.c").write_text("int a;\n")
    (folder / "user/run.sh").write_text("#!/bin/sh\n")
    _copy(folder)


def _copy(folder: Path) -> overlay.Changes:
    wanted = {name: folder / "user" / name for name in ("a.c", "run.sh")}
    return overlay.synchronize(wanted, folder / "work")


def _copy_again(path: Path) -> object:
    done = _copy(path.parents[1])
    tree = path.parent / overlay.TREE
    for name in ("a.c", "run.sh"):
        assert (tree / name).read_bytes() == (path.parents[1] / "user" / name).read_bytes(), "the copy is not right"
    return done


def _built(folder: Path) -> None:
    (folder / "v/net").mkdir(parents=True)
    (folder / "v/net/network.json").write_text(facts.to_json(firmware.facts()))
    data = {
        "schema": last_build.SCHEMA,
        "board": "stm32n6570-dk",
        "artefacts": ["v/net/network.json"],
        "firmware": {"RAM": {"used": 5, "size": 10}},
    }
    (folder / "v/index.json").write_text(json.dumps(data))


def _index(path: Path) -> object:
    """Never an error: a build that cannot be read is one that is not known."""
    return last_build.read(path.parents[1], "v", boards.load("stm32n6570-dk"), ())


def _device_record(path: Path) -> object:
    return plans.held_after(plans.read_record(path), ())


def _device_rows() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "record"
        plans.save_record(path, "acme", "0042", "stm32n6570-dk", _writes(Path(folder)))
        return path.read_bytes()


_CACHES = [
    json.dumps(
        {
            "/x/gcc|1|2": {"version": "12.2", "libcs": "newlib", "driver": "0a"},
            "/y": {"version": "1", "libcs": "", "driver": ""},
        }
    ).encode()
]
_OBJECTS = [json.dumps([{"object": "a.o", "sha256": "0" * 64, "headers": {"/x/a.h": "0" * 64}}]).encode()]


_PLACE = {"at": "/nowhere", "files": {"a": 1, "b": 0}, "folder": [0, 0, 0]}
_STAMPS = json.dumps(
    {
        "format": intact.FORMAT,
        "remembered": [{"at": ".", "files": {}}],
        "worlds": {"w": {"words": [], "environ": {}, "default": ["plain"], "groups": [0]}},
        "variants": {"plain": {"world": "w", "at": 1, "groups": [0, 1]}},
        "groups": [[_PLACE], [{"at": "/", "files": {}, "way": 2}]],
    }
).encode()


_FILE, _COSTS = "variants.yaml", "variants.costs.json"
_STATS = json.dumps({"Time": {"Commands": {"run-plain": {"start": 1.5, "end": 2.25, "duration": 0.75}}}}).encode()


def _stamps(path: Path) -> object:
    """Never an error: SCons is asked instead."""
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    path.with_name(intact.NAME).write_bytes(intact.with_checksum(text).encode("utf-8", "surrogateescape"))
    return intact.answer(str(path.parent), [])


def _drawn(path: Path) -> object:
    """The pictures of the build that a file is a part of."""
    folder = next(each for each in path.parents if (each / "build").is_dir()) / "build/toy-n6"
    return document.data(document.sections(gather(folder)))


_PAGE = {
    "report-plan": "build/toy-n6/plan.json",
    "report-elf": "build/toy-n6/firmware.elf",
    "report-c_info": f"{page_folder.NET}/net_c_info.json",
}


def _costs(path: Path) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        record(path.with_name(_FILE), path, ["plain"], ["run-"])


KINDS = [
    *(
        Kind(
            name,
            [_of(page_folder.write, file)],
            _drawn,
            damage if file.endswith(".elf") else json_tree,
            prepare=page_folder.write,
            file=file,
            cost=50,
            again=True,
        )
        for name, file in _PAGE.items()
    ),
    Kind("patch-record", [_of(_patched, _RECORD)], _restored, json_tree, prepare=_patched, file=_RECORD),
    Kind(
        "patch-restored",
        [_of(_patched, _RECORD)],
        command(
            lambda p: [
                "tool",
                "patch",
                next(e for e in p.parents if (e / "network").is_dir()) / "app",
                "--check",
                "--in-place",
                "--network",
                next(e for e in p.parents if (e / "network").is_dir()) / "network",
                "--aspect-ratio",
                "crop",
            ]
        ),
        json_tree,
        prepare=_patched,
        file=_RECORD,
        cost=10,
    ),
    Kind(
        "patch-journal",
        [json.dumps(_JOURNAL).encode()],
        _journal,
        json_tree,
        prepare=lambda folder: (folder / journal.STATE / "change").mkdir(parents=True),
        file=f"{journal.STATE}/change/journal.json",
    ),
    Kind(
        "patched.json",
        [_of(_mirrored, _INDEX)],
        lambda p: mirror._listed(p.parent),
        json_tree,
        prepare=_mirrored,
        file=_INDEX,
    ),
    Kind(
        "recording.json", [_of(_recorded, recorded.NAME)], _replayed, json_tree, prepare=_recorded, made="made", cost=4
    ),
    Kind(
        "recorded-file",
        [b"/* c */\n"],
        _replayed,
        damage,
        prepare=_recorded,
        file=f"{recorded.FILES}/net.c",
        made="made",
        accepted=_same,
        cost=4,
    ),
    Kind(
        "export-manifest",
        [_of(_exported, f"out/{exports.MANIFEST}")],
        lambda p: exports._listed(p.parent),
        json_tree,
        prepare=_exported,
        file=f"out/{exports.MANIFEST}",
    ),
    Kind(
        "copied-tree",
        [_of(_copied, f"work/{overlay.RECORD}")],
        _copy_again,
        json_tree,
        prepare=_copied,
        file=f"work/{overlay.RECORD}",
        cost=4,
    ),
    Kind("index.json", [_of(_built, "v/index.json")], _index, json_tree, prepare=_built, file="v/index.json"),
    Kind("validation-answer", _packets(), _answer, damage),
    Kind("device-record", [_device_rows()], _device_record, json_tree),
    Kind("stedgeai-cache", _CACHES, install._remembered, json_tree),
    Kind("stamps", [_STAMPS], _stamps, json_tree),
    Kind(
        "variants.costs.json", [b'{"plain": 12, "other": 0}'], lambda p: shards.costs_of(p.with_name(_FILE)), json_tree
    ),
    Kind("scons_stats.json", [_STATS], _costs, json_tree, made=_COSTS),
    Kind("toolchain-cache", _CACHES, toolchain._remembered, json_tree),
    Kind(
        "cache-entry",
        [_ENTRY.written("key")],
        _entry,
        damage,
        accepted=lambda good, bad, read: "" if read == _ENTRY else "another entry",
    ),
    Kind("farm-answer", [message((1, "operations/1"), (3, 1), (5, _ANSWER))], _operation, damage),
    Kind("netrc", [_NETRC], lambda p: client.authorization(_CACHE, {"NETRC": str(p)}), damage),
    Kind("object-list", _OBJECTS, objects._entries, json_tree),
    Kind(
        "owner-manifest",
        [facts.manifest("net", {"net.c": b"c"}).encode()],
        lambda p: fileset.listed(p.parent),
        json_tree,
        file=facts.MANIFEST,
    ),
]
