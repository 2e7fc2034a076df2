"""``neuralart lint``: files of all kinds become facts, variants and folders are looked at, results are shown."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from neuralart import boards, budgets, cli
from neuralart.config.network_sections import read_budgets, resolve_budgets
from neuralart.config.types import Budgets
from neuralart.errors import NeuralArtError
from neuralart.network.facts import Epoch, Network, PoolUse
from neuralart.text import yaml_values
from neuralart.text.ihex import ihex
from neuralart.vendor import runtime_header
from neuralart.vendor.c_info.types import NPU, CInfo, Estimate
from neuralart_insight.lint import engine, gather
from support.models.vendor_network_c import RAM5, RAM6, RELEASES, Want, make

HEADER = "".join(
    f"#define LL_ATON_VERSION_{part} {number}\n"
    for part, number in zip(("MAJOR", "MINOR", "MICRO", "DEV"), (1, 1, 3, 262), strict=True)
)


def taken(*paths: Path) -> gather.Bag:
    bag = gather.Bag()
    gather.add(bag, paths)
    return bag


def rules(bag: gather.Bag, board: str = "") -> set[str]:
    found = engine.lint(bag.facts(boards.load(board) if board else None))
    return {finding.rule for finding in found}


# ---- networks --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize("ec", [False, True])
def test_networks_of_every_release(tmp_path: Path, version: str, ec: bool) -> None:
    want = Want(version=version, ec=ec, name="net", all_buffers=True)
    make(want).write(tmp_path)
    bag = taken(tmp_path)
    assert bag.findings == []
    (network,) = bag.networks
    assert (network.name, network.runtime, network.guard) == ("net", "ll_aton", RELEASES[version][0])
    assert network.guard_kind == want.guard
    guard = int(network.guard_where.rpartition(":")[2])
    assert "LL_ATON_VERSION_MAJOR" in (tmp_path / "network.c").read_text().splitlines()[guard - 1]
    assert network.blob_header == ("network_ecblobs.h" if ec else "")
    (flash,) = [pool for pool in network.pools if pool.fname == "xSPI2"]
    assert (
        flash.weights
        and not flash.writable
        and flash.used == len((tmp_path / "network_atonbuf.xSPI2.raw").read_bytes())
    )
    assert "index=" in (tmp_path / "network.c").read_text().splitlines()[int(flash.where.rpartition(":")[2]) - 1]
    assert any(step.kind == "SW" for step in network.steps)
    wrong = rules(bag, "stm32n6570-dk") - {"software-epochs", "quiet-guard", "float-layers"}
    assert wrong == set()
    software = next(step for step in network.steps if step.kind == "SW")
    line = (tmp_path / "network.c").read_text().splitlines()[int(software.where.rpartition(":")[2]) - 1]
    assert f"scheduling epoch={software.number}" in line


def test_line_ends_of_windows(tmp_path: Path) -> None:
    make(Want(name="net", crlf=True)).write(tmp_path)
    (network,) = taken(tmp_path).networks
    assert int(network.guard_where.rpartition(":")[2]) > 1 and network.pools


def test_sets_that_are_not_whole(tmp_path: Path) -> None:
    def folder(name: str, want: Want) -> Path:
        make(want).write(tmp_path / name)
        return tmp_path / name

    gone = folder("gone", Want(name="net", ec=True))
    (gone / "network_ecblobs.h").unlink()
    assert "missing-blobs" in rules(taken(gone))
    stale = folder("stale", Want(name="net"))
    (stale / "network_ecblobs.h").write_text("static const uint64_t _ec_blob_1[] = {0};\n")
    assert "stale-blobs" in rules(taken(stale))
    mixed = folder("mixed", Want(name="net"))
    (mixed / "network_atonbuf.xSPI2.raw").write_bytes(b"x")
    assert "mixed-set" in rules(taken(mixed))
    missing = folder("missing", Want(name="net"))
    (missing / "network_atonbuf.xSPI2.raw").unlink()
    assert "missing-raw" in rules(taken(missing))
    relative = folder("relative", Want(name="net", relative=True))
    assert "relative-raw" in rules(taken(relative))


def test_runtime_and_application_beside_it(tmp_path: Path) -> None:
    make(Want(version="3.0", name="net")).write(tmp_path / "Model")
    (tmp_path / "Middlewares").mkdir()
    (tmp_path / "Middlewares" / "ll_aton_version.h").write_text(HEADER)
    (tmp_path / "main.c").write_text("LL_ATON_DECLARE_NAMED_NN_INSTANCE_AND_INTERFACE(Default);\n")
    bag = taken(tmp_path)
    assert {"runtime-guard", "unknown-network"} <= rules(bag)
    assert bag.runtimes[0].where.endswith("ll_aton_version.h:1")


def test_a_hex_file_at_the_wrong_address(tmp_path: Path) -> None:
    made = make(Want(name="net"))
    made.write(tmp_path)
    data = made.files["network_atonbuf.xSPI2.raw"]
    (tmp_path / "network_data.hex").write_text(ihex(0x70380000, data))
    assert "hex-address" in rules(taken(tmp_path))
    (tmp_path / "network_data.hex").write_text(ihex(0x71000000, data))
    assert "hex-address" not in rules(taken(tmp_path))


def test_a_model_that_was_exported_twice(tmp_path: Path) -> None:
    path = make(Want(name="net")).write(tmp_path)
    text = path.read_text()
    assert "exported-model" not in rules(taken(tmp_path))
    path.write_text(text.replace("tiny.v2_OE_3_3_1", "tiny.v2_OE_3_3_1_OE_3_3_1"))
    assert "exported-model" in rules(taken(tmp_path))


def test_exported_models_in_an_output_folder_belong_there(tmp_path: Path) -> None:
    model = tmp_path / "m_OE_3_3_1.onnx"
    model.write_bytes(b"")
    assert rules(taken(tmp_path)) == set()
    assert rules(taken(model)) == {"exported-model"}


def test_copies_in_a_workspace_are_no_networks(tmp_path: Path) -> None:
    for name in ("out", "st_ai_ws", "neural_art__net", ".git"):
        make(Want(name="net")).write(tmp_path / name)
    assert len(taken(tmp_path).networks) == 1


def test_the_same_file_twice_is_one(tmp_path: Path) -> None:
    path = make(Want(name="net")).write(tmp_path)
    assert len(taken(path, tmp_path, path).networks) == 1


# ---- other files -----------------------------------------------------------------------------------------------------


def test_files_that_cannot_be_read_are_findings(tmp_path: Path) -> None:
    (tmp_path / "a.mpool").write_text("{")
    (tmp_path / "b.json").write_text('{"Profiles": 1}')
    (tmp_path / "c.hex").write_text(":00")
    (tmp_path / "d_c_info.json").write_text('{"json_schema_version": 5}')
    bag = taken(tmp_path)
    assert [(finding.rule, finding.level) for finding in bag.findings] == [("unreadable", "error")] * 4
    assert all("\n" not in str(finding) for finding in bag.findings)


@pytest.mark.parametrize("name", ["x.png", "x.json", "noname"])
def test_files_of_no_kind(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("{}")
    assert taken(tmp_path).facts(None) == gather.Bag().facts(None)
    with pytest.raises(NeuralArtError, match="no rule looks at such a file"):
        taken(tmp_path / name)


def test_too_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gather, "_MOST", 2)
    for number in range(3):
        (tmp_path / f"{number}.c").write_text("")
    with pytest.raises(NeuralArtError, match="more than 2 files"):
        taken(tmp_path)


def test_runtime_headers(tmp_path: Path) -> None:
    found = runtime_header.parse_runtime("// x\n" + HEADER, "h")
    assert found is not None and (found.text, found.where, found.ours) == ("1.1.3.262", "h:2", False)
    assert runtime_header.parse_runtime("#define LL_ATON_VERSION_MAJOR 1\n", "h") is None
    assert runtime_header.parse_runtime(HEADER.replace("MAJOR 1", "MAJOR (0)"), "h").ours
    for place in ("b/ll_aton_version.h", "a/ll_aton_version.h", ".git/ll_aton_version.h", "build/ll_aton_version.h"):
        (tmp_path / place).parent.mkdir()
        (tmp_path / place).write_text(HEADER)
    assert [path.parent.name for path in runtime_header.runtime_headers(tmp_path)] == ["a", "b"]


# ---- limits ----------------------------------------------------------------------------------------------------------


def pool(name: str = "octoFlash", fname: str = "xSPI2", weights: int = 0, activations: int = 0, **changes) -> PoolUse:
    return PoolUse(
        name, fname, 0x71000000, 1 << 20, weights + activations, weights, activations, "ACC_WRITE", **changes
    )


POOLS = (
    pool(weights=1000),
    pool("npuRAM5", RAM5, activations=500),
    pool("npuRAM6", RAM6),
    pool("both", "both", activations=900, virtual=True, parts=(RAM5, RAM6)),
)
EPOCHS = tuple(Epoch(number, kind, ("X",)) for number, kind in enumerate(("HW", "EC", "EC", "HYBRID", "SW")))
NET = Network("net", "ll_aton", (1, 1, 3, 8), "0" * 16, "", POOLS, (), (), EPOCHS, 0)
INFO = CInfo("c_info.json", "2.0", NPU, estimates=(Estimate(1, 1, 5, 70, 0, 0), Estimate(2, 1, 5, 30, 0, 0)))


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"max_sw_epochs": 2}, None),
        ({"max_sw_epochs": 1}, "epochs of network net that the CPU computes: 2, allowed: 1"),
        ({"max_weights": 1000}, None),
        ({"max_weights": 999}, "bytes of constants of network net: 1000, allowed: 999"),
        ({"max_activations": 500}, None),
        ({"max_activations": 499}, "bytes of activations of network net: 500, allowed: 499"),
        ({"max_cycles": 100}, None),
        ({"max_cycles": 99}, "estimated NPU cycles of network net: 100, allowed: 99"),
        ({"min_offload": 60}, None),
        ({"min_offload": 61}, "the NPU computes 60.0 % of the epochs of network net alone, wanted: 61 %"),
        ({"forbidden_pools": ("npuRAM6", RAM6)}, None),
        ({"forbidden_pools": ("octoFlash",)}, "network net uses 1000 bytes of octoFlash (xSPI2)"),
        ({"forbidden_pools": (RAM5,)}, "0 of constants, 500 of activations"),
        ({}, None),
    ],
)
def test_limits(limits: dict, said: str | None) -> None:
    found = budgets.check(NET, INFO, Budgets(**limits))
    assert [finding.level for finding in found] == (["error"] if said else [])
    if said:
        (key,) = limits
        assert (
            said in found[0].message and found[0].message.startswith(f"{key}: ") and found[0].where == f"budgets.{key}"
        )


def test_limits_that_cannot_be_checked_are_not_kept() -> None:
    unknown = replace(NET, pools=tuple(replace(p, activations=None) if p.fname == RAM6 else p for p in POOLS))
    (found,) = budgets.check(unknown, INFO, Budgets(max_activations=10**9))
    assert found.level == "error" and "how many bytes of activations network net has is unknown" in found.message
    (found,) = budgets.check(unknown, INFO, Budgets(max_activations=1))
    assert "bytes of activations of network net: 500, allowed: 1" in found.message
    for info in (None, replace(INFO, estimates=())):
        (found,) = budgets.check(NET, info, Budgets(max_cycles=1))
        assert found.level == "error" and "nothing estimates the cycles" in found.message
    (found,) = budgets.check(NET, None, Budgets(forbidden_pools=("octoFlsh",)))
    assert found.level == "warning" and "did you mean 'octoFlash'" in found.hint
    assert budgets.offload(replace(NET, epochs=())) == 0.0


def limits_of(tmp_path: Path, text: str):
    path = tmp_path / "b.yaml"
    path.write_text(f"budgets: {text}\n")
    return read_budgets(yaml_values.read(path, "b.yaml").mapping()["budgets"])


def test_reading_limits(tmp_path: Path) -> None:
    text = (
        "\n  max_sw_epochs: 3\n  forbidden_pools: [hyperRAM]\n  max_weights: 2M\n  max_activations: 448K\n"
        "  max_cycles: 12000000000\n  min_offload: 90"
    )
    read = limits_of(tmp_path, text)
    found = resolve_budgets({"model": ("x", None), **read})
    assert found == Budgets(3, ("hyperRAM",), 2 << 20, 448 << 10, 12_000_000_000, 90)
    assert found.said("max_weights") == "b.yaml:4" and bool(found) and not Budgets()
    # An override changes one limit and keeps the rest.
    merged = resolve_budgets({**read, **limits_of(tmp_path, "{max_weights: 1}")})
    assert (merged.max_weights, merged.max_cycles) == (1, 12_000_000_000)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{max_weight: 1}", "did you mean 'max_weights'"),
        ("{max_weights: -1}", "budgets.max_weights"),
        ("{max_sw_epochs: none}", "must be a number"),
        ("{min_offload: 101}", "101 is out of range"),
        ("{min_offload: 99.5}", "must be a number"),
        ("{forbidden_pools: hyperRAM}", "must be a list"),
        ("{forbidden_pools: [a, a]}", "'a' is named twice"),
        ("{forbidden_pools: ['a b']}", "is not the name of a pool"),
        ("[1]", "must be a mapping"),
    ],
)
def test_limits_that_are_none(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(NeuralArtError) as caught:
        limits_of(tmp_path, text)
    assert said in str(caught.value) and caught.value.where.startswith("b.yaml:1")


# ---- the command -----------------------------------------------------------------------------------------------------

PROJECT = """\
schema: 1
networks:
  net:
    model: m_OE_3_3_1.onnx
    profile: neural_art.json
variants:
  net-n6: {board: nucleo-n657x0-q, network: net}
"""
MPOOL = """\
{"memory": {"mem_file_prefix": "atonbuf", "mempools": [
  {"fname": "xSPI1", "name": "hyperRAM", "fformat": "FORMAT_RAW",
   "prop": {"rights": "ACC_WRITE", "throughput": "MID", "latency": "HIGH"},
   "offset": {"value": "0x90000000", "magnitude": "BYTES"}, "size": {"value": "16", "magnitude": "MBYTES"}},
  {"fname": "xSPI2", "name": "octoFlash", "fformat": "FORMAT_RAW",
   "prop": {"rights": "ACC_READ", "throughput": "MID", "latency": "HIGH"},
   "offset": {"value": "0x70380000", "magnitude": "BYTES"}, "size": {"value": "8", "magnitude": "MBYTES"}}]}}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "variants.yaml").write_text(PROJECT)
    (tmp_path / "stm32n6.mpool").write_text(MPOOL)
    text = {"Profiles": {"default": {"memory_pool": "stm32n6.mpool", "options": "--Os", "memory_desc": "x.mdesc"}}}
    (tmp_path / "neural_art.json").write_text(json.dumps(text, indent=1))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_variants_that_are_not_built(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lint"]) == 1
    said = capsys.readouterr()
    lines = said.out.splitlines()
    assert lines[0].startswith("variants.yaml:4: error: m_OE_3_3_1.onnx is what the tool's own front end wrote")
    assert lines[0].endswith("[exported-model]")
    assert any(line.startswith("neural_art.json:3: warning: ") and "[memory-desc]" in line for line in lines)
    assert any(line.startswith("stm32n6.mpool:2:3: warning: ") and "[pool-without-memory]" in line for line in lines)
    assert lines[-1] == "1 error, 2 warnings, 0 notes"
    assert "neuralart lint: note: net-n6: There is no build/net-n6/index.json" in said.err


def test_ignoring_and_strict(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["lint", "net-n6", "--ignore", "exported-model"]
    assert cli.main(words) == 0
    assert "exported-model" not in capsys.readouterr().out
    assert cli.main([*words, "--strict"]) == 1
    assert cli.main([*words, "--strict", "--ignore", "memory-desc", "--ignore", "pool-without-memory"]) == 0
    assert cli.main(["lint", "--ignore", "exported"]) == 1
    assert "did you mean 'exported-model'?" in capsys.readouterr().err


def test_for_programs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lint", "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert (data["schema"], data["ok"], len(data["notes"])) == (1, False, 1)
    assert data["findings"][0] == {
        "rule": "exported-model",
        "level": "error",
        "where": "variants.yaml:4",
        "message": "m_OE_3_3_1.onnx is what the tool's own front end wrote (_OE_)",
        "hint": "compile the model's own file",
        "page": "docs/reference/lint.md#exported-model",
    }


def test_a_variant_and_files(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "src").mkdir()
    (here / "src" / "main.c").write_text("int x = 0x42023000;\n")
    assert cli.main(["lint", "net-n6", "src"]) == 1
    assert "src/main.c:1: error: 0x42023000 is RAMCFG" in capsys.readouterr().out


def test_files_alone(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "app.ld").write_text("_estack = 0x34300000;\n")
    assert cli.main(["lint", "app.ld"]) == 0
    assert "without --board these rules see nothing: " in capsys.readouterr().err
    assert cli.main(["lint", "app.ld", "--board", "stm32n6570-dk"]) == 1
    said = capsys.readouterr()
    assert "app.ld:1: error: the stack (_estack) begins at 0x34300000" in said.out and said.err == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["net-n7"], "did you mean 'net-n6'?"),
        (["net-n6", "--board", "stm32n6570-dk"], "--board is for files alone"),
        (["stm32n6.mpool", "--board", "stm32n7"], "no board 'stm32n7'"),
        (["gone.c", "--file", "no.yaml"], "'gone.c' is no file, and there is no no.yaml with variants"),
        (["--file", "no.yaml"], "no.yaml"),
    ],
)
def test_wrong_words(here: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lint", *words]) == 1
    out, err = capsys.readouterr()
    assert said in err and out == "" and err.count("\n") == 1


def test_the_list_of_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lint", "--rules"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == engine.rule_ids()
