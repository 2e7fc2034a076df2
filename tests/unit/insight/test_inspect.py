"""``neuralart inspect``: kinds, records, refusals, and that the records are as documented."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from neuralart import cli
from neuralart.compilers.request import CompileRequest
from neuralart.errors import NeuralArtError
from neuralart_insight.inspect import cli as inspector
from neuralart_insight.inspect import kinds, own_kinds
from neuralart_reference.compile import compile_network, write
from support.cases import inspect_docs
from support.cases.inspect_files import DIGITS, FILES
from support.fuzz import POOLS
from support.models import vendor_network_c as vendor
from support.models.vendor_network_c import Want


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("files")
    for name, (_, data) in FILES.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(data)
    return root


# ---- kinds

ONNX = pytest.mark.needs("onnx")
every_file = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=ONNX if kind == "onnx" else ()) for name, (kind, _) in FILES.items()]
)


@every_file
def test_kind_and_record(folder, name):
    kind, record = inspector.inspect(folder / name)
    assert (kind.name, record["kind"], record["file"]) == (FILES[name][0], FILES[name][0], str(folder / name))
    text = kinds.reader(kind).text(record)
    assert text.endswith("\n") and "None" not in text and text.strip()
    assert json.loads(inspector.to_json(record)) == json.loads(inspector.to_json(record, None))


@every_file
def test_record_is_as_documented(folder, name):
    record = json.loads(inspector.to_json(inspector.inspect(folder / name)[1]))
    assert inspect_docs.wrong(record) == []


@every_file
def test_contents_decide(folder, name, tmp_path):
    """The same bytes under a name that says nothing; of raw bytes only the name says something."""
    kind, data = FILES[name]
    (tmp_path / "x.dat").write_bytes(data)
    if kind == "raw":
        with pytest.raises(NeuralArtError, match="nothing to say about it"):
            inspector.inspect(tmp_path / "x.dat")
    else:
        assert inspector.inspect(tmp_path / "x.dat")[0].name == kind


def test_every_kind_is_documented_and_every_documented_one_exists():
    names = [kind.name for kind in kinds.kinds()]
    assert len(set(names)) == len(names)
    assert set(inspect_docs.kinds()) == set(names)


def test_every_kind_has_its_module():
    for kind in kinds.kinds():
        reader = kinds.reader(kind)
        assert callable(reader.record) and callable(reader.text), kind.name
        assert kind.title and not kind.title.endswith(".")


@pytest.mark.parametrize("kind", kinds.kinds(), ids=lambda kind: kind.name)
def test_recognizers_never_fail(kind):
    for data in (
        b"",
        b"\0",
        b"\xff" * 99,
        b"{",
        b"[1]",
        b'{"a": ' * 3000,
        b"\xef\xbb\xbf",
        b"NBIN",
        b"\x80abc" * 20000,
    ):
        for name in ("", "x", ".", "x.json", "network.c"):
            assert kind.sniff(data, name) in (True, False)


def test_a_compiled_network_of_our_own(tmp_path):
    request = CompileRequest(
        model=DIGITS, mpool=POOLS[0], name="net", target="stm32n6", profile_options=("--all-buffers-info",)
    )
    write(compile_network(request), tmp_path)
    record = inspector.inspect(tmp_path / "net.c")[1]
    assert inspect_docs.wrong(json.loads(inspector.to_json(record))) == []
    assert (record["name"], record["runtime"], record["tool"], record["guard"]) == ("net", "0.1.0.0", None, "error")
    assert record["findings"] == []
    facts = json.loads((tmp_path / "network.json").read_text("utf-8"))
    used = {pool["fname"]: pool["used"] for pool in facts["pools"] if pool["used"]}
    assert {pool["fname"]: pool["used"] for pool in record["pools"] if pool["used"]} == used
    for ports in ("inputs", "outputs"):
        assert [(p["name"], p["address"], p["bytes"], p["dtype"], p["channel_position"]) for p in record[ports]] == [
            (p["name"], p["address"], p["bytes"], p["dtype"], p["channel_position"]) for p in facts[ports]
        ]
    assert [e["operators"] for e in record["epochs"]] == [e["operators"] for e in facts["epochs"]]
    for path in sorted(tmp_path.iterdir()):
        try:
            assert inspector.inspect(path)[1]["kind"]
        except NeuralArtError as error:
            assert "nothing to say about it" in str(error)


@pytest.mark.arm
def test_an_executable(tmp_path):
    from neuralart import toolchain
    from neuralart.config.types import ToolchainConfig

    found = toolchain.find(ToolchainConfig(), os.environ)
    source = tmp_path / "x.c"
    source.write_text("void *LL_ATON_EpochBlockItems_one(void){return 0;} int v = 3; void _start(void){v++;}", "utf-8")
    words = [
        str(Path(found.folder) / f"{found.prefix}gcc"),
        "-mcpu=cortex-m33",
        "-mthumb",
        "-nostdlib",
        "-o",
        str(tmp_path / "x.elf"),
        str(source),
    ]
    subprocess.run(words, check=True, capture_output=True)
    record = inspector.inspect(tmp_path / "x.elf")[1]
    assert inspect_docs.wrong(json.loads(inspector.to_json(record))) == []
    assert record["networks"] == ["one"] and record["load_bytes"] > 0
    assert record["cpu"]["profile"] == "M"


# ---- the command


def run(capsys, *words: str) -> tuple[int, str, str]:
    status = cli.main(["inspect", *words])
    out, err = capsys.readouterr()
    return status, out, err


def test_one_file(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    status, out, err = run(capsys, "network.c")
    assert (status, err) == (0, "")
    assert out.startswith("network 'network' by ST Edge AI Core 4.0.1 (STAI-4.0)\n")
    status, out, err = run(capsys, "network.c", "--json")
    assert (status, err) == (0, "")
    record = json.loads(out)
    assert list(record)[:3] == ["kind", "file", "name"]
    assert record["file"] == "network.c"
    assert out == run(capsys, "--json", "network.c")[1]


@ONNX
def test_many_files(folder, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(folder)
    (folder / "nothing.txt").write_text("hello\n")
    names = [*FILES, "nothing.txt", "missing.c"]
    status, out, err = run(capsys, "--json", *names)
    assert status == 1
    records = [json.loads(line) for line in out.splitlines()]
    assert [(record["file"], record["kind"]) for record in records] == [(name, FILES[name][0]) for name in FILES]
    lines = err.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("neuralart inspect: error: nothing.txt: 2 lines of text, beginning with 'hello'")
    assert lines[1].startswith("neuralart inspect: error: missing.c: cannot read")
    assert lines[2] == f"{len(names)} files: {len(FILES)} read, 2 refused"
    status, out, err = run(capsys, "network.c", "digits.tflite")
    assert (status, err) == (0, "2 files: 2 read, 0 refused\n")
    assert "==> network.c: a generated network.c\n" in out and "==> digits.tflite: a TensorFlow Lite model\n" in out


def test_options(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    status, out, _ = run(capsys, "network_data.xSPI2.bin", "--kind", "raw", "--json")
    assert (status, json.loads(out)["bytes"]) == (0, 3)
    assert run(capsys, "network.c", "--kind", "network")[2] == (
        "neuralart inspect: error: --kind: no kind 'network'\n  did you mean 'network_c'? known: "
        + ", ".join(sorted(kind.name for kind in kinds.kinds()))
        + "\n"
    )
    status, _, err = run(capsys, "digits.tflite", "--kind", "network_c")
    assert status == 1 and "not a generated network" in err
    status, _, err = run(capsys, "digits.tflite", "--kind", "tflite", "--offset", "4")
    assert status == 1 and "--offset and --params are for relocatable models" in err
    status, _, err = run(capsys, "digits.tflite", "--offset", "4")
    assert status == 1 and "not a relocatable model" in err
    with pytest.raises(SystemExit) as caught:
        cli.main(["inspect", "x", "--offset", "-4"])
    assert caught.value.code == 2


def test_a_terminal_without_some_characters(folder, tmp_path):
    """A name that is no ASCII, on a system whose output is."""
    text = vendor.make(Want()).files["network.c"].decode().replace('"out"', '"ausgäng \u6d4b"')
    (tmp_path / "n.c").write_text(text, encoding="utf-8")
    words = [sys.executable, "-m", "neuralart", "inspect", "n.c"]
    paths = {"PYTHONPATH": str(Path(cli.__file__).parents[1]), "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, env={**os.environ, **paths})
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"ausg\\xe4ng \\u6d4b" in done.stdout


def test_numbers_that_json_does_not_have():
    record = {"kind": "x", "a": [float("inf"), {"b": float("nan")}, 1.5], "_text": object()}
    assert json.loads(inspector.to_json(record)) == {"kind": "x", "a": [None, {"b": None}, 1.5]}


# ---- refusals


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a", b"", "an empty file"),
        ("a.bin", b"\xff" * 64, "64 bytes of 0xFF, as of an erased memory"),
        ("a.bin", b"\0" * 2048, "2,048 bytes of 0x00"),
        ("a.bin", b"\x12\x34\0\x01", "beginning with bytes 12 34 00 01"),
        ("a.json", b'{"b": 1, "a": 2}', "JSON with the keys a, b"),
        ("a.json", b"[1, 2]", "JSON without names, or damaged"),
        ("a.json", b'{"b": ', "JSON without names, or damaged"),
        ("a.zip", b"PK\x03\x04rest", "a ZIP archive"),
        ("network.h", b"#pragma once\n#define X 1\n", "a C header"),
        ("main.c", b"int main(void) { return 0; }\n", "C source, no generated network"),
        ("thing", b"#include <stdio.h>\n", "C source, no generated network"),
        (
            "network.c",
            b'#include "ai_platform_interface.h"\nint a;\n',
            "generated C without the tables of the Neural-ART",
        ),
        ("a.map", b"Memory Configuration\n", "a linker map"),
        ("x.raw", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "a Git LFS pointer"),
        ("a.html", b"<!DOCTYPE html>\n<p>", "a page or XML"),
        ("a", "Grüße, Welt\nzwei\n".encode(), "3 lines of text, beginning with 'Grüße, Welt'"),
    ],
)
def test_what_is_of_no_kind(tmp_path, name, data, said):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(NeuralArtError) as caught:
        inspector.inspect(tmp_path / name)
    message = str(caught.value)
    assert said in message and "\n" not in message and message.startswith(str(tmp_path / name))
    assert own_kinds.looks_like(data, name) in message


def test_folders_and_names_that_cannot_be(tmp_path, capsys):
    for name in (str(tmp_path), str(tmp_path / "no" / "such"), "a\0b"):
        assert cli.main(["inspect", name]) == 1
        err = capsys.readouterr().err
        assert "cannot read" in err and err.count("\n") == 1


@pytest.mark.parametrize("cut", [300, 1500, 6000])
def test_a_network_that_is_cut_off(tmp_path, cut):
    text = vendor.make(Want(padding=0, hw=0)).files["network.c"][:cut]
    (tmp_path / "network.c").write_bytes(text)
    try:
        record = inspector.inspect(tmp_path / "network.c")[1]
    except NeuralArtError as error:
        assert "\n" not in str(error)
    else:
        assert record["findings"]


def edited(name: str, change: Callable[[dict], object]) -> bytes:
    data = json.loads(FILES[name][1])
    change(data)
    return json.dumps(data).encode()


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("plan.json", edited("plan.json", lambda d: d.update(schema=2)), ": schema 2, this version reads 1"),
        ("plan.json", edited("plan.json", lambda d: d.pop("view")), ": 'view' is missing"),
        (
            "plan.json",
            edited("plan.json", lambda d: d["placements"][1].update(size="1")),
            ": placements[1].size: '1' is no int",
        ),
        ("plan.json", edited("plan.json", lambda d: d.update(memories={})), ": memories: {} is no list"),
        ("plan.json", FILES["plan.json"][1][:-9], ": no JSON: "),
        ("check.json", edited("check.json", lambda d: d.update(ok=1)), ": ok: 1 is no bool"),
        ("check.json", edited("check.json", lambda d: d.update(copy_size=True)), ": copy_size: True is no int or null"),
        ("check.json", edited("check.json", lambda d: d["findings"][0].pop("remedy")), "findings[0]: 'remedy' is"),
        ("index.json", edited("index.json", lambda d: d["firmware"]["DTCM"].pop("used")), "'firmware' is damaged"),
        (
            "index.json",
            edited("index.json", lambda d: d["firmware"]["DTCM"].update(capacity=None)),
            ": firmware.DTCM.capacity: None is no int",
        ),
        (
            "network_rel.json",
            edited("rel/network_rel.json", lambda d: d["network"]["pools"].append([])),
            ": network.pools[1]: [] is no dict",
        ),
        (
            "flash_plan.json",
            edited("flash_plan.json", lambda d: d["writes"][0].update(bytes=0)),
            ": writes[0]: 0 bytes",
        ),
        ("network.json", edited("network.json", lambda d: d["pools"][0].update(size=-1)), "'size' is -1"),
        ("manifest.json", edited("manifest.json", lambda d: d["files"][0].update(name="../x")), "'../x' is no row"),
        ("descriptor.bin", FILES["descriptor.bin"][1][:60], "@0x3c: 80 bytes announced, 60 are there"),
        ("load_table.bin", FILES["load_table.xip.bin"][1][:20], ": cut off: 2 models take 28 bytes, 20 are there"),
    ],
)
def test_damage_of_what_a_build_writes(tmp_path, name, data, said):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(NeuralArtError) as caught:
        inspector.inspect(tmp_path / name)
    assert str(caught.value).startswith(str(tmp_path / name)) and said in str(caught.value)


def test_an_application_is_one_by_its_vector_table(tmp_path, capsys):
    (tmp_path / "application.bin").write_bytes(b"\xff" * 0x400 + b"\0" * 64)
    assert cli.main(["inspect", "--kind", "application", str(tmp_path / "application.bin")]) == 1
    assert "application.bin@0x400: no vector table behind room for a header" in capsys.readouterr().err


def test_a_manifest_names_what_changed(tmp_path):
    for name in ("manifest.json", "other.json"):
        (tmp_path / name).write_bytes(FILES["manifest.json"][1])
    (tmp_path / "net.c").write_bytes(b"d")
    found = [{"code": "changed", "text": "net.c is not what the compile wrote"}]
    assert inspector.inspect(tmp_path / "manifest.json")[1]["findings"] == found
    assert inspector.inspect(tmp_path / "other.json")[1]["findings"] == []


def test_the_reference_compiler_is_named(tmp_path):
    request = CompileRequest(model=DIGITS, mpool=POOLS[0], name="net", target="stm32n6")
    write(compile_network(request), tmp_path)
    said = ("net_c_info.json", "neuralart-reference"), ("net_generate_report.txt", "neuralart reference compiler")
    for file, tool in said:
        kind, record = inspector.inspect(tmp_path / file)
        assert inspect_docs.wrong(json.loads(inspector.to_json(record))) == []
        assert f"\n  tool      {tool} 0.1.0.0\n" in kinds.reader(kind).text(record)
    assert not record["log"] and record["tool"] == tool


# ---- cost


def test_the_command_starts_fast():
    """Neither the readers nor a slow module of the standard library are loaded for the help."""
    code = (
        "import sys\nfrom neuralart.cli import main\nsys.argv = ['neuralart', 'inspect', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "sys.stderr.write(' '.join(sorted(m for m in sys.modules if m.startswith('neuralart'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert not [name for name in loaded if name.startswith(("neuralart.network", "neuralart.relocatable"))]
    assert not {"neuralart_insight.inspect.kinds", "neuralart_insight.inspect.own_kinds"} & loaded


def test_time_grows_with_length_only(tmp_path):
    """Twice the text takes about twice the time, not four times: measured generously."""
    import time

    from neuralart.text.c_source import decode
    from neuralart.vendor.network_c.read import parse

    def seconds(count: int) -> float:
        text = decode(vendor.make(Want(weights=count, internals=count, all_buffers=True)).files["network.c"])
        best = 9.0
        for _ in range(3):
            start = time.process_time()
            parse(text, "n.c")
            best = min(best, time.process_time() - start)
        return best

    assert seconds(1600) < 8 * seconds(400) + 0.05


@ONNX
def test_copies_of_a_folder_say_the_same(folder, tmp_path):
    """No record depends on where the files are, but for their names."""
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    for name in FILES:
        one, two = (inspector.to_json(inspector.inspect(root / name)[1]) for root in (folder, copy))
        here, there = (json.dumps(str(root))[1:-1] for root in (folder, copy))
        assert one.replace(here, "X") == two.replace(there, "X")


def test_a_reader_that_has_seen_enough(tmp_path):
    """``neuralart inspect --json ... | head -1``: no traceback, and no complaint when the interpreter ends."""
    for number in range(40):
        vendor.make(Want(version="4.0.1", all_buffers=True, internals=50)).write(tmp_path / str(number))
    files = sorted(str(path) for path in tmp_path.glob("*/network.c"))
    words = [sys.executable, "-m", "neuralart", "inspect", "--json", *files]
    paths = {**os.environ, "PYTHONPATH": str(Path(cli.__file__).parents[1])}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=paths) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline().startswith(b"{")
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141
