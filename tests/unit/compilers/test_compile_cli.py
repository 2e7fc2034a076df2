"""``neuralart compile``: good runs are reproducible, bad input is one line, and nothing is half-written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from neuralart import __version__, cli
from neuralart.compilers import command_line, options
from neuralart.compilers.options import GENERATE, HONORED, NO_EFFECT, PROFILE, REFUSED, choices
from neuralart.errors import NeuralArtError
from neuralart.network.facts import load
from neuralart.resources import board_data_dir, package_parent
from neuralart_bring.schema import generate_options
from support.servers.messages import flat
from support.servers.programs import FLASH, N6_LIKE, RAM, pool_text
from tflite_writer import ModelWriter as Writer

REPO = Path(__file__).resolve().parents[3]
DIGITS = REPO / "models" / "digits" / "digits.tflite"
PLAIN = {
    "net.c",
    "net.h",
    "net_c_info.json",
    "net_generate_report.txt",
    "network.json",
    "manifest.json",
    "provenance.txt",
}


def dense(dtype="int8", kind="FULLY_CONNECTED", shape=(1, 8), signature=None) -> bytes:
    """A model with one operator."""
    quantized = {} if dtype == "float32" else {"scale": 0.5}
    model = Writer()
    source = model.tensor("in", shape, dtype, signature=signature, **quantized)
    if kind == "FULLY_CONNECTED":
        weights = model.tensor("w", (4, 8), dtype, data=[[1] * 8] * 4, **quantized)
        target = model.tensor("out", (1, 4), dtype, **quantized)
        model.op(kind, [source, weights, -1], [target])
    else:
        target = model.tensor("out", shape, dtype, **quantized)
        model.op(kind, [source], [target])
    return model.finish([source], [target])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with a model, pools and profiles."""
    (tmp_path / "pools").mkdir()
    (tmp_path / "net.tflite").write_bytes(dense())
    (tmp_path / "pools" / "n6.mpool").write_text(pool_text(*N6_LIKE))
    (tmp_path / "na.json").write_text(
        """{ // our profiles
        "Profiles": {
         "default": { "memory_pool": "pools/n6.mpool", "options": "--all-buffers-info -O3" },
         "lost": { "memory_pool": "pools/none.mpool" },
         "odd": { "memory_pool": "pools/n6.mpool", "options": "--encrypt-weights" },
         "typo": { "memory_pool": "pools/n6.mpool", "options": "--all-buffer-info" } } }"""
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str, capsys=None, code: int = 0) -> tuple[str, str]:
    base = ["compile", "--target", "stm32n6"] if "--target" not in words else ["compile"]
    assert cli.main([*base, *words]) == code
    said = capsys.readouterr() if capsys else None
    return (said.out, said.err) if said else ("", "")


def listing(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir()}


GOOD = ("-m", "net.tflite", "-n", "net", "--st-neural-art", "default@na.json")


def refused(capsys, *words: str, folder: Path | None = None) -> str:
    """The one line of a refusal; nothing is written."""
    before = sorted(folder.rglob("*")) if folder else []
    out, err = run(*words, capsys=capsys, code=1)
    assert out == ""
    assert err.startswith("neuralart compile: error: ")
    err = flat(err.rstrip("\n"))
    assert folder is None or sorted(folder.rglob("*")) == before
    return err


# ---- good runs


def test_a_run(folder, capsys):
    out, err = run(*GOOD, "-o", "out", capsys=capsys)
    assert set(listing(folder / "out")) == PLAIN | {"net_atonbuf.xSPI2.raw"}
    assert err == ""
    assert "network net: 1 epochs, all software on the CPU (0 % NPU)" in out
    assert "xSPI2        0x70380000  weights" in out
    assert "options without effect here: 1 (--verbosity 2" in out
    assert "Without effect here: --optimization 3" in (folder / "out" / "net_generate_report.txt").read_text()
    assert load(folder / "out" / "network.json").name == "net"
    lines = (folder / "out" / "provenance.txt").read_text().splitlines()
    assert lines[0] == f"tool: neuralart-reference {__version__}"
    assert lines[1] == "model: net.tflite"


def test_the_files_of_a_compile(folder):
    run(*GOOD, "-o", "out", "--initializers", "AXISRAM3,xSPI2", "--quiet")
    plain = {"net.c", "net.h", "network.json", "manifest.json", "net_c_info.json", "provenance.txt"}
    raws = {"net_atonbuf.AXISRAM3.raw", "net_atonbuf.xSPI2.raw"}
    assert set(listing(folder / "out")) == plain | raws | {"net_generate_report.txt"}
    run(*GOOD, "-o", "other", "--no-report", "--quiet")
    assert set(listing(folder / "other")) == plain | {"net_atonbuf.xSPI2.raw"}


def test_quiet_and_talkative(folder, capsys):
    assert run(*GOOD, "-o", "out", "--quiet", capsys=capsys) == ("", "")
    assert run(*GOOD, "-o", "out", "-v", "0", capsys=capsys) == ("", "")
    out, _ = run(*GOOD, "-o", "out", "-v", "3", capsys=capsys)
    assert "  without effect: --optimization 3: " in out
    assert "epochs -1 to 0" in out


def test_two_runs_and_two_folders_give_equal_bytes(folder, monkeypatch):
    run(*GOOD, "-o", "out", "--quiet")
    first = listing(folder / "out")
    run(*GOOD, "-o", "out", "--quiet")
    assert listing(folder / "out") == first
    other = folder / "an\u00f6ther folder" / "deep"
    shutil.copytree(folder / "pools", other / "pools")
    for name in ("net.tflite", "na.json"):
        shutil.copy(folder / name, other / name)
    monkeypatch.chdir("/")
    where = str(other)
    words = [
        "-m",
        f"{where}/net.tflite",
        "-n",
        "net",
        "--st-neural-art",
        f"default@{where}/na.json",
        "-o",
        f"{where}/o",
        "--quiet",
    ]
    run(*words)
    second = listing(other / "o")
    assert second.pop("provenance.txt") != first.pop("provenance.txt")
    assert second == first
    assert not any(where.encode() in data or str(folder).encode() in data for data in second.values())


def test_a_process_of_its_own_with_another_hash_seed(folder):
    run(*GOOD, "-o", "out", "--quiet")
    for seed in ("1", "2"):
        command = [
            sys.executable,
            "-m",
            "neuralart",
            "compile",
            "--target",
            "stm32n6",
            *GOOD,
            "-o",
            f"out{seed}",
            "--quiet",
        ]
        environ = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(package_parent())}
        done = subprocess.run(command, capture_output=True, env=environ)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert listing(folder / f"out{seed}") == listing(folder / "out")


@pytest.mark.parametrize(("target", "pool"), [("stm32n6", "xSPI2"), ("mps3-an547", "DDRFLASH")])
def test_the_boards_own_profile(folder, target, pool):
    for number, words in enumerate(([], ["--st-neural-art"], ["--st-neural-art", "profile-default"])):
        run("--target", target, "-m", str(DIGITS), "-n", "net", "-o", f"out{number}", "--quiet", *words)
        assert set(listing(folder / f"out{number}")) >= PLAIN | {f"net_atonbuf.{pool}.raw"}
    assert listing(folder / "out0") == listing(folder / "out1") == listing(folder / "out2")


def test_options_as_articles_write_them(folder, capsys):
    options = (
        '--load-mpool pools/n6.mpool --csv-file network.csv --output-info-file \\"c_info.json\\" --all-buffers-info'
    )
    (folder / "article.json").write_text(f'{{"Profiles": {{"default": {{"options": "{options}"}}}}}}')
    base = ("-m", "net.tflite", "-n", "net", "-o", "out", "-v", "2")
    out, _ = run(*base, "--st-neural-art", "article.json", capsys=capsys)
    assert "--output-info-file c_info.json: the description of the network is always N_c_info.json" in out
    assert "--csv-file network.csv: no CSV is written: it lists NPU cycles" in out
    files = listing(folder / "out")
    run(*base[:4], "-o", "two", "--load-mpool", "pools/n6.mpool", "--all-buffers-info", "--quiet")
    assert [name for name in listing(folder / "two") if name.endswith(".raw")] == [
        n for n in files if n.endswith(".raw")
    ]


def test_options_of_profiles_on_the_command_line(folder, capsys):
    """As they are typed for the vendor's tool; the profile's own ones stay."""
    words = "--st-neural-art n6-noextmem -O3 --Oalt-sched --csv-file network.csv --output-info-file c_info.json"
    argv = ["compile", "-m", "net.tflite", "--target", "stm32n6", "-o", "out", "-v", "2", *words.split()]
    assert cli.main([*argv, "--enable-epoch-controller", "--mvei"]) == 0
    out = capsys.readouterr().out
    for said in ("--optimization 3", "--Oalt-sched", "--csv-file network.csv", "--mvei", "--enable-epoch-controller"):
        assert f"without effect: {said}: " in out
    assert load(Path("out/network.json")).name == "network"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--Oalt-shed", "unknown argument '--Oalt-shed'; did you mean '--Oalt-sched'?"),
        ("--encrypt-weights", "--encrypt-weights is refused: weights would stay readable"),
        ("--csv-file", "argument --csv-file: expected one argument"),
        ("-O5", "--optimization: '5' is refused"),
        ("--st-neural-art n6-noextmemm", "no profile 'n6-noextmemm' (did you mean 'n6-noextmem'?"),
        ("--mpool pools/n6.mpool -O3", "there is no profile to change"),
        ("--target stm32h7 -O3", "-O3: it belongs to a profile, which an NPU has"),
        ("--target stm32h7 --csv-file x", "--csv-file x: it belongs to a profile, which an NPU has"),
    ],
)
def test_options_of_profiles_that_are_wrong(folder, words, said, capsys):
    argv = ["compile", "-m", "net.tflite", "--target", "stm32n6", "-o", "out", *words.split()]
    try:
        status = cli.main(argv)
    except SystemExit as end:
        status = end.code
    error = capsys.readouterr().err
    assert status in (1, 2) and error.count("\n") == 1 and said in error
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("name", "pool"),
    [
        ("allmems--O3", "xSPI2"),
        ("minimal", "xSPI2"),
        ("n6-noextmem", "AXISRAM2"),
        ("internal-memories-only--default", "AXISRAM2"),
    ],
)
def test_stock_profiles_with_the_vendors_names(folder, name, pool):
    words = ("--st-neural-art", f"profile-{name}", "--target", "nucleo-n657x0-q", "--quiet")
    run("-m", str(DIGITS), "-n", "net", "-o", "out", *words)
    assert {path.name.split(".")[1] for path in (folder / "out").glob("*.raw") if path.stat().st_size} == {pool}


def test_a_profile_of_the_vendors_tool_stays_one_when_a_board_is_named():
    words = ["--target", "nucleo-n657x0-q", "--compiler", "stedgeai", "--st-neural-art", "profile-allmems"]
    args = command_line.parsed(words)
    command_line.board_as_target(args)
    assert (args.target, args.st_neural_art) == ("stm32n6", "profile-allmems")


@pytest.mark.parametrize(
    ("words", "target", "profile", "pools"),
    [
        (["nucleo-n657x0-q"], "stm32n6", "default@nucleo-n657x0-q.json", None),
        (["nucleo-n657x0-q", "--st-neural-art"], "stm32n6", "default@nucleo-n657x0-q.json", None),
        (["nucleo-n657x0-q", "--st-neural-art", "profile-small"], "stm32n6", "small@nucleo-n657x0-q.json", None),
        (["nucleo-n657x0-q", "--st-neural-art", "small@na.json"], "stm32n6", "small@na.json", None),
        (["nucleo-n657x0-q", "--mpool", "pools/n6.mpool"], "stm32n6", None, None),
        (["nucleo-n657x0-q", "--compiler", "stedgeai"], "stm32n6", "default@nucleo-n657x0-q.json", None),
        (["stm32n6570-dk-psram"], "stm32n6", "default@stm32n6570-dk.json", None),
        (["stm32h747i-disco"], "stm32h7", None, "stm32h747i-disco.json"),
        (["stm32h747i-disco", "--memory-pool", "mine.json"], "stm32h7", None, "mine.json"),
        (["mps2-an500"], "mps2-an500", None, None),  # a target of its own
        (["stm32f4"], "stm32f4", None, None),
        (["none"], "none", None, None),
    ],
)
def test_a_board_as_target(words, target, profile, pools):
    args = command_line.parsed(["--target", *words])
    command_line.board_as_target(args)
    name, _, file = (args.st_neural_art or "").partition("@")
    assert args.target == target
    assert (f"{name}@{Path(file).name}" if file else None) == profile
    assert (args.memory_pool and Path(args.memory_pool).name) == pools


def test_a_boards_pools_are_those_of_its_profile(folder):
    file = board_data_dir() / "profiles" / "nucleo-n657x0-q.json"
    common = ("-m", "net.tflite", "-n", "net", "--quiet", "-o")
    run("--target", "nucleo-n657x0-q", *common, "of board")
    run("--target", "stm32n6", "--st-neural-art", f"default@{file}", *common, "of target")
    run("--target", "stm32n6", *common, "of another")
    assert listing(folder / "of board") == listing(folder / "of target") != listing(folder / "of another")


def test_a_pool_file_without_a_profile(folder):
    run("-m", "net.tflite", "-n", "net", "--mpool", "pools/n6.mpool", "-o", "out", "--quiet")
    assert "all-buffers-info" not in (folder / "out" / "net.c").read_text()
    run(
        "-m",
        "net.tflite",
        "-n",
        "net",
        "--mpool",
        "pools/n6.mpool",
        "--st-neural-art",
        "lost@na.json",
        "-o",
        "o2",
        "--quiet",
    )
    assert listing(folder / "o2")["net.c"] == listing(folder / "out")["net.c"]


def test_defaults(folder):
    run("-m", "net.tflite", "--mpool", "pools/n6.mpool", "--quiet")
    assert (folder / "st_ai_output" / "network.c").is_file()
    assert (folder / "st_ai_output" / "network_atonbuf.xSPI2.raw").is_file()


def test_types_and_buffers_of_the_application(folder):
    words = ["--input-data-type", "uint8", "--output-data-type", "float32", "--no-inputs-allocation"]
    run(*GOOD, *words, "-o", "out", "--quiet")
    facts = load(folder / "out" / "network.json")
    assert (facts.inputs[0].dtype, facts.inputs[0].user_allocated, facts.inputs[0].address) == ("uint8", True, 0)
    assert (facts.outputs[0].dtype, facts.outputs[0].bytes, facts.outputs[0].user_allocated) == ("float32", 16, False)
    assert [epoch.operators for epoch in facts.epochs] == [("QUANTIZE",), ("FULLY_CONNECTED",), ("DEQUANTIZE",)]
    code = (folder / "out" / "net.c").read_text()
    for line in ('--input-data-type = "uint8"', '--output-data-type = "float32"', "--no-inputs-allocation = true"):
        assert f" * {line}\n" in code


def test_paths_with_spaces_and_other_letters(folder):
    odd = folder / "d\u00e9p\u00f4t \u4e2d b"
    odd.mkdir()
    shutil.copy("net.tflite", odd / "n\u00e9t one.tflite")
    shutil.copy("na.json", odd / "na @.json")
    shutil.copytree("pools", odd / "pools")
    name = odd.name
    words = ["-m", f"{name}/n\u00e9t one.tflite", "-n", "net", "--st-neural-art", f"default@{name}/na @.json"]
    run(*words, "-o", f"{name}/o \u00fc", "--quiet")
    written = listing(odd / "o \u00fc")
    assert 'LL_ATON_NET_ORIGIN_MODEL_NAME "n\\303\\251t one"' in written["net.h"].decode()
    assert "Model name - n\u00e9t one" in written["net_generate_report.txt"].decode()
    assert written["net.c"].isascii()


# ---- what an earlier run left


def test_stale_files_of_an_earlier_run_are_removed(folder):
    run(*GOOD, "-o", "out", "--initializers", "AXISRAM3,xSPI2", "--quiet")
    (folder / "out" / "net_atonbuf.OLD.raw").write_bytes(b"x")
    (folder / "out" / "net_main.c").write_text("mine")
    (folder / "out" / "notes.txt").write_text("mine")
    run(*GOOD, "-o", "out", "--no-report", "--quiet", "--force")
    assert set(listing(folder / "out")) == (PLAIN - {"net_generate_report.txt"}) | {
        *("net_atonbuf.xSPI2.raw", "net_main.c", "notes.txt")
    }


def test_another_networks_folder_is_left_alone(folder, capsys):
    run(*GOOD, "-o", "out", "--quiet")
    before = listing(folder / "out")
    err = refused(capsys, "-m", "net.tflite", "-n", "two", "--mpool", "pools/n6.mpool", "-o", "out", folder=folder)
    assert "out: the folder holds network 'net'" in err
    assert listing(folder / "out") == before


@pytest.mark.parametrize(
    "text", ["", "[]", '{"network": "net"}', '{"network": "net", "files": [{"name": "../net.tflite"}]}']
)
def test_a_damaged_manifest_is_replaced(folder, text):
    (folder / "out").mkdir()
    (folder / "out" / "manifest.json").write_text(text)
    run(*GOOD, "-o", "out", "--quiet", "--force")
    assert (folder / "net.tflite").is_file()
    assert json.loads((folder / "out" / "manifest.json").read_text())["network"] == "net"


def test_a_failed_run_leaves_the_earlier_files(folder, capsys):
    run(*GOOD, "-o", "out", "--quiet")
    before = listing(folder / "out")
    (folder / "net.tflite").write_bytes(dense()[:60])
    refused(capsys, *GOOD, "-o", "out", folder=folder)
    assert listing(folder / "out") == before


# ---- bad input


def pools(*which) -> str:
    return pool_text(*which)


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("net.tflite", None, ("net.tflite: cannot read: No such file",)),
        ("net.tflite", b"", ("net.tflite",)),
        ("net.tflite", b"hello, this is text", ("net.tflite",)),
        ("net.tflite", dense()[:200], ("net.tflite",)),
        (
            "net.tflite",
            dense(kind="CUSTOM:Mine"),
            ("net.tflite: operator 0 (CUSTOM:Mine)", "not supported", "neuralart operators"),
        ),
        ("net.tflite", dense(kind="FLOOR"), ("net.tflite: operator 0 (FLOOR)", "'in' int8[1, 8]", "supported: ")),
        ("pools/n6.mpool", pools(*N6_LIKE)[:-3] + ",\n}\n}", ("pools/n6.mpool:", "a comma before '}'")),
        (
            "pools/n6.mpool",
            pools(("A", 0x1000, 512, RAM), ("B", 0x1100, 512, RAM)),
            ("pools overlap by 256 bytes: A 0x00001000-0x00001200 (512 bytes) of pools/n6.mpool:",),
        ),
        ("pools/n6.mpool", pools(("NOR", 0x1000, 512, FLASH)), ("pools/n6.mpool: no usable pool", "NOR ACC_READ")),
        ("pools/n6.mpool", pools(("RAM", 0x1000, 0, RAM)), ("no pool is enabled: 1 listed, all of size 0",)),
        (
            "pools/n6.mpool",
            pools(("RAM", 0x1000, 32, RAM), ("NOR", 0x7000, 512, FLASH)),
            (
                "pools/n6.mpool: activations do not fit: 64 bytes are live in epoch 0",
                "RAM 32",
                "at least 32 bytes more",
            ),
        ),
        (
            "pools/n6.mpool",
            pools(("RAM", 0x1000, 16, RAM), ("NOR", 0x7000, 16, FLASH)),
            ("pools/n6.mpool: constants do not fit: ", "'fully_connected_0_weights' with 32 bytes", "NOR 16, RAM 16"),
        ),
        (
            "pools/n6.mpool",
            pools(("RAM", 0x1000, 512, RAM), ("NOR", 0x7000, 16, FLASH)),
            ("constants in RAM (", "initializers: [NOR, RAM]", "--initializers NOR,RAM"),
        ),
        (
            "pools/n6.mpool",
            pools(("RAM", 0x1000, 512, RAM), ("NOR", 0x70000000, 512, FLASH)).replace(
                '"FORMAT_RAW"', '"FORMAT_RAW", "mode": "USEMODE_RELATIVE"'
            ),
            ("pools/n6.mpool:5:4: pool RAM is USEMODE_RELATIVE and lies at 0x00001000: only external memory",),
        ),
        ("na.json", None, ("na.json: cannot read",)),
        ("na.json", b'{"Profiles": {"default": 5}}', ("na.json:1:26: profile 'default' must be an object",)),
    ],
)
def test_bad_files(folder, capsys, file, content, words):
    if content is None:
        (folder / file).unlink()
    else:
        (folder / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    err = refused(capsys, *GOOD, "-o", "out", folder=folder)
    for word in words:
        assert word in err


MPOOL = ("--mpool", "pools/n6.mpool")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-m", "net.tflite", "--st-neural-art", "defualt@na.json"), "no profile 'defualt' (did you mean 'default'?"),
        (
            ("-m", "net.tflite", "--st-neural-art", "lost@na.json"),
            "na.json:4:35: profile 'lost' names the memory pools",
        ),
        (("-m", "net.tflite", "--st-neural-art", "odd@na.json"), "--encrypt-weights is refused: weights would stay"),
        (("-m", "net.tflite", "--st-neural-art", "typo@na.json"), "did you mean '--all-buffers-info'?"),
        (("-m", "net.tflite", "--st-neural-art", "a.mpool"), "names neither a profile nor a file (allowed: "),
        (("-m", "net.tflite", "--st-neural-art", "profile-maximal"), "stm32n6570-dk.json:4:15: no profile 'maximal'"),
        (("--target", "stm32f4", "-m", "net.tflite"), "--target: 'stm32f4' is refused: no board of it is known"),
        (("--target", "stm32n7", "-m", "net.tflite"), "--target: unknown target 'stm32n7' (did you mean 'stm32n6'?"),
        (
            ("--target", "stm32n6750-dk", "-m", "net.tflite"),
            "--target: unknown target or board 'stm32n6750-dk' (did you mean 'stm32n6570-dk'? neuralart boards lists",
        ),
        (("-m", "net.tflite", *MPOOL, "-n", "1net"), "--name: '1net' is not a C identifier"),
        (("-m", "net.tflite", *MPOOL, "-n", "int"), "--name: 'int' is not a C identifier"),
        (("-m", "net.tflite", *MPOOL, "-n", "n\u00e9t"), "is not a C identifier"),
        (("-m", "net.tflite", *MPOOL, "-n", "../x"), "is not a C identifier"),
        (("-m", "net.h5", *MPOOL), "net.h5: .h5 models are not read (.tflite and .onnx are)"),
        (("-m", "net.tflite", "--mpool", "none.mpool"), "none.mpool: cannot read"),
        ((*MPOOL,), "--model: is required"),
        (("-m", "net.tflite", *MPOOL, "--memory-pool", "x.json"), "--memory-pool: refused: it belongs to the CPU flow"),
        (("-m", "net.tflite", *MPOOL, "--reloc", "split,spilt"), "--relocatable: no 'spilt' (did you mean 'split'"),
        (("-m", "net.tflite", *MPOOL, "-q", "x"), "--quantize: refused"),
        (("-m", "net.tflite", *MPOOL, "--c-api", "st-ai"), "--c-api: 'st-ai' is refused: legacy"),
        (("-m", "net.tflite", *MPOOL, "--compression", "high"), "--compression: 'high' is refused"),
        (("-m", "net.tflite", *MPOOL, "--type", "keras"), "--type: 'keras' is refused"),
        (("-m", "net.tflite", *MPOOL, "-v", "9"), "--verbosity: '9' is refused"),
        (("-m", "net.tflite", *MPOOL, "--initializers", "xSPI1"), "no enabled pool 'xSPI1' (did you mean 'xSPI2'?"),
        (("-m", "net.tflite", *MPOOL, "--initializers", "none"), "initializers: [xSPI2]"),
        (("-m", "net.tflite", *MPOOL, "--initializers", ""), "initializers: [xSPI2]"),
        (("-m", "net.tflite", *MPOOL, "--input-data-type", "int9"), "--input-data-type 'int9' is unknown"),
        (("-m", "net.tflite", *MPOOL, "--output-data-type", "int8,int8"), "2 values, the model has 1"),
        (("-m", "net.tflite", *MPOOL, "--inputs-ch-position", "first"), "chfirst"),
        (
            ("-m", "net.tflite", *MPOOL, "--allocate-inputs", "--no-inputs-allocation"),
            "--allocate-inputs: contradicts --no-inputs-allocation",
        ),
    ],
)
def test_bad_options(folder, capsys, words, said):
    assert said in refused(capsys, *words, "-o", "out", folder=folder)


@pytest.mark.parametrize("words", [("--no-such-option",), ("--mod", "net.tflite"), ("--name",)])
def test_wrong_usage(folder, words, capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main(["compile", "--target", "stm32n6", *words])
    assert caught.value.code == 2
    assert "error:" in capsys.readouterr().err
    assert not (folder / "st_ai_output").exists()


def test_dynamic_shapes(folder, capsys):
    """An open batch of 1 is what converters write; any other open dimension is refused."""
    (folder / "net.tflite").write_bytes(dense(signature=(-1, 8)))
    run(*GOOD, "-o", "out", "--quiet")
    (folder / "net.tflite").write_bytes(dense(shape=(1, 4, 8), signature=(1, -1, 8)))
    assert "tensor 0 'in' has a dynamic shape" in refused(capsys, *GOOD, "-o", "out", folder=folder)


def test_output_that_is_a_file(folder, capsys):
    (folder / "out").write_text("x")
    assert "out" in refused(capsys, *GOOD, "-o", "out", folder=folder)
    assert "out" in refused(capsys, *GOOD, "-o", "out/deeper", folder=folder)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_output(folder, capsys):
    run(*GOOD, "-o", "out", "--quiet")
    before = listing(folder / "out")
    (folder / "out").chmod(0o555)
    try:
        assert "out: cannot write: Permission denied" in refused(capsys, *GOOD, "-o", "out")
        assert listing(folder / "out") == before
    finally:
        (folder / "out").chmod(0o755)


# ---- the table of options


def test_the_document_is_in_step():
    path = REPO / "docs" / "reference" / "generate-options.md"
    assert path.read_text(encoding="utf-8") == generate_options.document(), (
        "python -m neuralart_bring.schema.generate_options > docs/reference/generate-options.md"
    )


@pytest.mark.parametrize("table", [GENERATE, PROFILE], ids=["generate", "profile"])
def test_the_table_is_sound(table):
    names = options.spellings(table)
    assert len(names) == len(set(names))
    for option in table:
        assert option.effect in (HONORED, REFUSED, NO_EFFECT)
        assert option.why


@pytest.mark.parametrize("option", [o for o in GENERATE if o.effect == REFUSED], ids=lambda option: option.name)
def test_every_refused_option_is_refused_under_every_name(folder, capsys, option):
    for name in option.names:
        for value in ([], ["x"]):
            err = refused(capsys, "-m", "net.tflite", *MPOOL, name, *value, "-o", "out", folder=folder)
            assert f"{option.name}: refused: {option.why}" in err


@pytest.mark.parametrize("option", [o for o in GENERATE if o.effect == NO_EFFECT], ids=lambda option: option.name)
def test_every_option_without_effect_is_noted(folder, option):
    run(*GOOD, "-o", "plain", "--quiet")
    value = [] if option.takes == options.FLAG else [option.choices[0] if option.choices else "x"]
    for name in option.names:
        run(*GOOD, name, *value, "-o", "out", "--quiet")
        assert f"Without effect here: {option.name}: " in (folder / "out" / "net_generate_report.txt").read_text()
        assert (folder / "out" / "net.c").read_bytes() == (folder / "plain" / "net.c").read_bytes()


@pytest.mark.parametrize("option", PROFILE, ids=lambda option: option.name)
def test_every_profile_option(option):
    for name in option.names:
        words = [name] if option.takes == options.FLAG else [name, "3"]
        if option.effect == REFUSED:
            with pytest.raises(NeuralArtError) as caught:
                choices(words, "na.json:3:5")
            assert caught.value.what == f"{name} is refused: {option.why}"
            assert caught.value.where == "na.json:3:5"
        else:
            assert bool(choices(words).notes) == (option.effect == NO_EFFECT)


def test_profile_options():
    found = choices(
        ["-O3", "--enable-virtual-mem-pools", "--optimization=3", "--Omax-ca-pipe", "4", "--d-auto", "--Os"]
    )
    assert (found.virtual_pools, found.all_buffers, found.keep_inputs) == (True, False, False)
    assert [note.split(":")[0] for note in found.notes] == ["--optimization 3", "--Omax-ca-pipe 4", "--d-auto", "--Os"]
    found = choices(["--all-buffers-info", "--Opreserve-inputs"])
    assert (found.virtual_pools, found.all_buffers, found.keep_inputs, found.notes) == (False, True, True, ())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--omax-ca-pipe", "4"], "unknown option '--omax-ca-pipe'"),
        (["--Omax-ca-pipe"], "--Omax-ca-pipe lacks its value"),
        (["--Omax-ca-pipe", "--Os"], "--Omax-ca-pipe lacks its value"),
        (["--Os=3"], "--Os takes no value, but has '3'"),
        (["--Os", "3"], "'3' belongs to no option"),
        (["-x"], "unknown option '-x'"),
        ([""], "'' belongs to no option"),
    ],
)
def test_wrong_profile_options(words, said):
    with pytest.raises(NeuralArtError) as caught:
        choices(words)
    assert said in caught.value.what


@pytest.mark.parametrize(("words", "shown"), [((), True), (("--quiet",), False)])
def test_it_says_what_it_is_at(folder, monkeypatch, capsys, words, shown):
    """To SCons, which draws it."""
    monkeypatch.setenv("NEURALART_PROGRESS", "report")
    said = run(*GOOD, "-o", "out", *words, capsys=capsys)[0].split("\n")
    steps = [line[1:] for line in said if line.startswith("\x1e")]
    expected = ["0 0 reading the model", "0 0 lowering", "0 0 placing and writing code"]
    assert steps == (expected if shown else [])


def test_no_progress_without_a_terminal(folder, capsys):
    assert run(*GOOD, "-o", "out", capsys=capsys)[1] == ""


def test_interrupted_while_it_starts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(asked: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "parser_of", interrupted)
    assert cli.main(["compile", "--help"]) == 130
    assert capsys.readouterr().err == "neuralart compile: interrupted\n"


# ---- for relocatable models


def test_relative_pools_and_all_buffers(folder):
    """A pool file alone, with the option that its profile would have."""
    text = pool_text(("RAM", 0x90000000, 4096, RAM), ("NOR", 0x71000000, 4096, FLASH))
    (folder / "rel.mpool").write_text(text.replace('"FORMAT_RAW"', '"FORMAT_RAW", "mode": "USEMODE_RELATIVE"'))
    words = ("-m", "net.tflite", "-n", "net", "--mpool", "rel.mpool", "--quiet")
    run(*words, "-o", "plain")
    run(*words, "-o", "out", "--all-buffers-info")
    code = (folder / "out" / "net.c").read_text()
    assert " * --all-buffers-info = true\n" in code and "extern unsigned char _mem_pool_NOR_net[];" in code
    assert "--all-buffers-info" not in (folder / "plain" / "net.c").read_text()
    assert [pool.mode for pool in load(folder / "out" / "network.json").pools] == ["USEMODE_RELATIVE"] * 2


def test_all_buffers_twice_is_once(folder):
    run(*GOOD, "-o", "one", "--quiet")
    run(*GOOD, "-o", "two", "--quiet", "--all-buffers-info")
    one, two = listing(folder / "one"), listing(folder / "two")
    assert one["net.c"] == two["net.c"] and one["network.json"] == two["network.json"]
