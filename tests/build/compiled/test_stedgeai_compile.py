"""``neuralart compile --compiler stedgeai`` against a made-up tool of every version."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from neuralart.compilers.stedgeai.compile import plan
from neuralart.network.facts import load
from neuralart.resources import package_parent
from neuralart.vendor.releases import parse_core
from support.fake_stedgeai import VERSIONS, add_profiles, calls, install
from support.fake_stedgeai import failures as fake
from support.models import vendor_network_c
from support.models.stedgeai_case import make, request
from support.projects.vendorproject import call
from support.servers.messages import flat

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the made-up tool is a shell script")
BASE = ("-m", "net.tflite", "-n", "net", "--target", "stm32n6", "--st-neural-art", "default@na.json")
H7 = ("-m", "net.tflite", "-n", "net", "--target", "stm32h7")


@dataclass
class Place:
    """A user's folder and what is installed for them."""

    folder: Path
    root: Path
    tmp: Path

    def run(self, *words: str, code: int = 0, base=BASE, compiler="stedgeai", **environ: str) -> tuple[str, str]:
        kept = {name: os.environ[name] for name in ("SYSTEMROOT", "LANG") if name in os.environ}
        env = {
            **kept,
            "PATH": os.environ["PATH"],
            "HOME": str(self.tmp),
            "PYTHONPATH": str(package_parent()),
            "STEDGEAI_CORE_DIR": str(self.root),
            "NEURALART_STEDGEAI_ROOTS": str(self.tmp / "nowhere"),
            "NEURALART_CACHE_DIR": str(self.tmp / "cache"),
            **environ,
        }
        env = {name: value for name, value in env.items() if value != "-"}
        done = call(self.folder, "compile", "--compiler", compiler, *base, *words, **env)
        assert done.code == code, done.raw + done.err
        return done.raw, done.err

    def refused(self, *words: str, base=BASE, compiler="stedgeai", **environ: str) -> str:
        out, err = self.run(*words, code=1, base=base, compiler=compiler, **environ)
        assert out == ""
        assert err.startswith("neuralart compile: error: ")
        return flat(err.rstrip("\n")).removeprefix("neuralart compile: error: ")

    def files(self, folder: str = "out") -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (self.folder / folder).iterdir() if path.is_file()}

    def nothing_left(self, folder: str = "out") -> None:
        """Nothing but the record of the run; no working folder either."""
        assert [path.name for path in (self.folder / folder).iterdir()] == [".vendor"]


@pytest.fixture
def place(tmp_path):
    return Place(make(tmp_path / "w"), install(tmp_path / "st" / "4.0", "4.0.1"), tmp_path)


def of_version(tmp_path, version: str) -> Place:
    return Place(make(tmp_path / "w"), install(tmp_path / "st" / version, version), tmp_path)


# ---- every version


@pytest.mark.parametrize("version", VERSIONS)
def test_a_run_of_every_version(tmp_path, version, monkeypatch):
    place = of_version(tmp_path, version)
    out, err = place.run("-o", "out", "--enable-epoch-controller", "--input-data-type", "uint8")
    core, _, _, key = VERSIONS[version]
    assert err == ""
    runtime = vendor_network_c.RELEASES[key][0]
    text = ".".join(map(str, runtime))
    assert (
        f"network net: 7 epochs (4 EC, 1 HYBRID, 2 SW), 2,490 MAC, for ll_aton {text}, by ST Edge AI Core {core}" in out
    )
    monkeypatch.chdir(place.folder)
    foretold = plan(request("--enable-epoch-controller", "--input-data-type", "uint8"), parse_core(core)).files
    assert sorted(place.files()) == sorted(foretold)
    facts = load(place.folder / "out/network.json")
    assert (facts.runtime, facts.runtime_version, facts.inputs[0].dtype) == ("ll_aton", runtime, "uint8")
    assert facts.pools[-1].virtual or facts.pools[-1].fname == "xSPI2"
    raw = place.files()["net_atonbuf.xSPI2.raw"]
    assert next(p for p in facts.pools if p.fname == "xSPI2").weights == len(raw) > 0
    (call,) = calls(place.root, "generate")
    assert call["argv"] == [
        *("generate", "--model", "../../net.tflite", "--target", "stm32n6", "--name", "net"),
        *("--st-neural-art", "default@profile/profile.json", "--input-data-type", "uint8"),
        *("--workspace", "ws", "--output", "out"),
    ]
    assert call["environment"]["STEDGEAI_CORE_DIR"] == str(place.root)
    assert "PYTHONPATH" not in call["environment"]
    assert Path(call["cwd"]).parent == (place.folder / "out").resolve()
    assert not Path(call["cwd"]).exists()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_cpu_run_of_every_version(tmp_path, version, monkeypatch):
    place = of_version(tmp_path, version)
    (place.folder / "h7.json").write_text('{"memory": {"mempools": [{"name": "AXIRAM"}, {"name": "SDRAM"}]}}')
    words = ("--memory-pool", "h7.json", "--binary", "--optimization", "time")
    place.run("-o", "out", *words, base=H7)
    monkeypatch.chdir(place.folder)
    foretold = plan(request(*words, target="stm32h7"), parse_core(VERSIONS[version][0])).files
    assert sorted(place.files()) == sorted(foretold)
    facts = load(place.folder / "out/network.json")
    assert facts.runtime == "network_runtime"
    assert [pool.name for pool in facts.pools] == ["AXIRAM", "SDRAM", "weights_array"]
    assert calls(place.root, "generate")[0]["argv"][7:11] == [
        "--optimization",
        "time",
        "--memory-pool",
        "../../h7.json",
    ]


def test_weights_in_two_flashes(place):
    """Each array of the tool's C gets its section; the description has the signature of what is delivered."""
    words = ("--c-api", "legacy", "--dispatch-weights")
    place.run("-o", "out", *words, ".In=300,.Ext=64M", base=H7)
    (call,) = calls(place.root, "generate")
    assert "--split-weights" in call["argv"] and not any("dispatch" in word for word in call["argv"])
    files = place.files()
    data = files["net_data_params.c"]
    lines = re.findall(r'section\("(\S+)"\)\)\)\nconst ai_u64 s_network_layer_(\d)', data.decode())
    assert lines == [(".In", "0"), (".Ext", "1")], "the larger one comes first, and has no room inside"
    info = json.loads(files["net_c_info.json"])
    rows = {row["name"]: row["signature"] for row in info["environment"]["generated_model"]["model_files"]}
    assert rows["net_data_params.c"] == "0x" + hashlib.md5(data, usedforsecurity=False).hexdigest()
    held = [(pool["name"], pool["rights"]) for pool in info["memory_pools"]]
    assert held[1:] == [("layer_0_weights_array", "ACC_READ"), ("layer_1_weights_array", "ACC_READ")]


def test_the_manifest_and_the_origin(place):
    place.run("-o", "out")
    files = place.files()
    manifest = json.loads(files["manifest.json"])
    assert manifest["network"] == "net"
    assert {row["name"]: row["sha256"] for row in manifest["files"]} == {
        name: hashlib.sha256(data).hexdigest()
        for name, data in files.items()
        if name not in ("manifest.json", "provenance.txt")
    }
    lines = files["provenance.txt"].decode().splitlines()
    assert lines[0] == "tool: ST Edge AI Core 4.0.1-20581 7ed50de05"
    assert lines[1] == "model: net.tflite"
    assert lines[3] == "memory pools: pools/n6.mpool"
    assert lines[4].startswith("arguments: generate --model net.tflite --target stm32n6 --name net")
    kept = {
        path.relative_to(place.folder / "out/.vendor").as_posix()
        for path in (place.folder / "out/.vendor").rglob("*.*")
    }
    assert {"log.txt", "command.txt", "profile/profile.json", "profile/pools/n6.mpool", "atonn_options.ini"} <= kept
    assert {"net.c", "stai_net.c", "net_c_info.json", "net_generate_report.txt"} <= kept
    log = (place.folder / "out/.vendor/log.txt").read_text()
    assert "PASS:" not in log
    assert ">>>> EXECUTING NEURAL ART COMPILER" in log


# ---- equal inputs, equal bytes


@pytest.mark.parametrize("base", [BASE, H7], ids=["npu", "cpu"])
@pytest.mark.parametrize("version", ["2.2.0", "4.0.1"])
def test_two_folders_two_times_equal_bytes(tmp_path, version, base):
    place = of_version(tmp_path, version)
    place.run("-o", "out", base=base)
    first = place.files()
    place.run("-o", "out", base=base)
    assert place.files() == first
    other = Place(tmp_path / "an \u00f6ther @ folder" / "deeper" / "x", tmp_path / "elsewhere" / "tool", tmp_path)
    other.folder.parent.mkdir(parents=True)
    shutil.copytree(place.folder, other.folder, ignore=shutil.ignore_patterns("out"))
    install(other.root, version)
    other.run("-o", "build/o", base=base)
    assert other.files("build/o") == first
    for name, data in first.items():
        if name != "provenance.txt":
            assert str(tmp_path).encode() not in data, name


def test_other_weights_change_no_code(place):
    place.run("-o", "out")
    first = place.files()
    data = bytearray((place.folder / "net.tflite").read_bytes())
    data[-1] ^= 0xFF
    (place.folder / "net.tflite").write_bytes(bytes(data))
    place.run("-o", "out")
    second = place.files()
    changed = {name for name in first if first[name] != second[name]}
    assert "net_atonbuf.xSPI2.raw" in changed
    assert not {"net.c", "net.h", "stai_net.c", "stai_net.h", "network.json"} & changed


# ---- what an earlier run left


def test_blobs_and_their_pair_leave_nothing_of_each_other(place):
    blobs = (*BASE[:-1], "blobs@na.json")
    place.run("-o", "out", base=blobs)
    assert "net_ecblobs.h" in place.files()
    assert {epoch.kind for epoch in load(place.folder / "out/network.json").epochs} == {"SW", "EC", "HYBRID"}
    place.run("-o", "out", "--pair", "profiling", base=blobs)
    assert "net_ecblobs.h" not in place.files()
    assert {epoch.kind for epoch in load(place.folder / "out/network.json").epochs} == {"SW", "HW", "HYBRID"}


def test_another_models_export_goes(place):
    place.run("-o", "out")
    shutil.copy(place.folder / "net.tflite", place.folder / "better.net.onnx")
    place.run("-o", "out", base=("-m", "better.net.onnx", *BASE[2:]))
    exports = sorted(name for name in place.files() if "_OE_" in name)
    assert exports == ["better.net_OE_3_3_1.onnx", "better.net_OE_3_3_1_Q.json"]


def test_a_folder_of_the_reference_compiler_is_taken_over(place):
    (place.folder / "net.tflite").write_bytes((package_parent().parent / "models/digits/digits.tflite").read_bytes())
    place.run("-o", "out", compiler="reference")
    place.run("-o", "out")
    assert load(place.folder / "out/network.json").runtime == "ll_aton"
    assert "manifest.json" in place.files()


def test_another_networks_folder_is_left_alone(place):
    place.run("-o", "out")
    before = place.files()
    text = place.refused("-o", "out", base=("-m", "net.tflite", "-n", "two", *BASE[4:]))
    assert text.startswith("out: the folder holds network 'net'")
    assert place.files() == before
    assert len(calls(place.root, "generate")) == 1


def test_working_folders_of_killed_runs_go_after_a_day(place):
    for name, age in ((".work-old", 2 * 86400), (".work-new", 60)):
        (place.folder / "out" / name / "ws").mkdir(parents=True)
        (place.folder / "out" / name / "ws" / "x").write_text("x")
        when = (place.folder / "out" / name).stat().st_mtime - age
        os.utime(place.folder / "out" / name, (when, when))
    place.run("-o", "out")
    assert sorted(path.name for path in (place.folder / "out").glob(".work-*")) == [".work-new"]


# ---- documented failures: one line with a hint, nothing stale, nothing half-written

FAILURES = {
    "e010": ("the front end takes the model for invalid: Non-numerical or not-string elements", "export it again"),
    "e102": ("an argument is refused: stm32n6 cannot be used with this mode", "options differ between versions"),
    "tool": (
        "a fault in the tool itself: list index out of range [TOOL ERROR]",
        "cut the model, or try another version",
    ),
    "not-implemented": (
        "the tool does not implement it: Unkonwn layer format for layer Input_72",
        "replace the layer in the model",
    ),
    "ir": ("the ONNX file has IR version 10, this tool reads up to 9", "model.ir_version = 9"),
    "shapes": ("shapes of the exported ONNX model do not fit together", "fix the input shapes"),
    "channels": ("two tensors of one layer have their channels in different places", "try inputs_ch_position"),
    "load": ("the board does not answer", "power-cycle it"),
    "e700": (
        "needed at least (bytes): 'unlimited memory': 6405160 [E700(UnfeasibleAllocation)]",
        "give the pools more memory",
    ),
    "oauto": ("no combination of options that --Oauto tried fits: 3211264 bytes find no place", "remove --Oauto"),
    "unallocated": ("4096 bytes find no place in the memory pools", "enlarge a writable pool"),
    "e103": ("the NPU compiler failed: Error calling the Neural Art compiler", "between '>>> Shell execution'"),
    "signo11": ("the NPU compiler crashed (signal 11)", "simplify the model"),
    "signo22": ("the NPU compiler crashed (signal 22)", "letter"),
}


@pytest.fixture(scope="module")
def once_compiled(tmp_path_factory):
    root = tmp_path_factory.mktemp("once")
    place = Place(make(root / "w"), install(root / "st" / "4.0", "4.0.1"), root)
    place.run("-o", "out")
    return place


@pytest.mark.parametrize("which", FAILURES)
def test_failures_of_the_tool(once_compiled, place, which):
    shutil.copytree(once_compiled.folder / "out", place.folder / "out")
    text = place.refused("-o", "out", FAKE_STEDGEAI_FAIL=which)
    assert text.startswith("net.tflite: ST Edge AI Core 4.0.1-20581: ")
    assert all(words in text for words in FAILURES[which]), text
    assert text.endswith("; log: out/.vendor/log.txt)")
    place.nothing_left()
    assert "ST Edge AI Core v4.0.1" in (place.folder / "out/.vendor/log.txt").read_text()
    assert "generate --model" in (place.folder / "out/.vendor/command.txt").read_text()


def test_all_failures_of_the_made_up_tool_are_tried():
    assert set(FAILURES) == {*fake.FRONT, *fake.COMPILER, "e700"} - {"unheard-of"}
    text = Path(__file__).read_text("utf-8")
    assert [each for each in ("unheard-of", *fake.QUIET, *fake.LATE) if f'FAIL="{each}"' not in text] == [
        *("no-cinfo", "no-report", "float-layers", "surprise", "bad-cinfo")
    ], "these are rows of test_notes_of_a_run_that_counts"


def test_a_failure_that_nobody_knows(place):
    text = place.refused("-o", "out", FAKE_STEDGEAI_FAIL="unheard-of")
    assert text.endswith(
        "ended with status 255; its last words: Segmentation fault in a new place (log: out/.vendor/log.txt)"
    )
    place.nothing_left()


def test_a_failure_that_the_user_knows(place):
    (place.folder / "mine.yaml").write_text(
        "schema: 1\nfailures:\n  - {id: ours, pattern: 'in a new place', cause: our known thing, hint: ask Jo}\n"
    )
    said = "our known thing (ask Jo; log: out/.vendor/log.txt)"
    assert place.refused("-o", "out", "--failures", "mine.yaml", FAKE_STEDGEAI_FAIL="unheard-of").endswith(said)
    known = {"NEURALART_FAILURES": "mine.yaml", "FAKE_STEDGEAI_FAIL": "unheard-of"}
    assert place.refused("-o", "out", **known).endswith(said)


def test_a_wrong_table_is_said_before_the_tool_is_started(place):
    (place.folder / "mine.yaml").write_text("schema: 1\nfailures: [{id: x, pattern: '(', cause: y}]\n")
    assert "mine.yaml:2: failures[0].pattern: is no regular" in place.refused("-o", "out", "--failures", "mine.yaml")
    assert calls(place.root, "generate") == []


def test_an_exit_status_counts_though_all_files_are_there(place):
    assert "ended with status 255" in place.refused("-o", "out", FAKE_STEDGEAI_FAIL="late")
    place.nothing_left()


def test_missing_files_count_though_the_exit_status_is_good(place):
    text = place.refused("-o", "out", FAKE_STEDGEAI_FAIL="no-c")
    assert text.startswith("network net: the tool ended without an error but wrote no net.c (a damaged installation")
    place.nothing_left()


def test_a_file_that_is_cut_off(place):
    assert "net.c: " in place.refused("-o", "out", FAKE_STEDGEAI_FAIL="cut-off")
    place.nothing_left()


def test_missing_weights_count(place):
    text = place.refused("-o", "out", FAKE_STEDGEAI_FAIL="no-raw")
    assert "bytes of constants are in pool xSPI2, but no initializer was written" in text
    place.nothing_left()


def test_weights_that_spill_are_named_with_the_line_to_add(place):
    text = place.refused("-o", "out", FAKE_STEDGEAI_FAIL="spill")
    assert "network net has constants in AXISRAM3 (" in text
    assert "add the line initializers: [xSPI2, AXISRAM3] or --initializers xSPI2,AXISRAM3" in text
    place.nothing_left()
    place.run("-o", "out", "--initializers", "xSPI2,AXISRAM3", FAKE_STEDGEAI_FAIL="spill")
    facts = load(place.folder / "out/network.json")
    weights = {pool.fname: pool.weights for pool in facts.initializers}
    assert weights == {pool: len(place.files()[f"net_atonbuf.{pool}.raw"]) for pool in ("AXISRAM3", "xSPI2")}


def test_the_size_step_is_no_failure(place):
    out, _ = place.run("-o", "out", FAKE_STEDGEAI_FAIL="sizes")
    assert "  note: the tool could not measure code sizes (it needs arm-none-eabi-gcc in PATH)" in out


@pytest.mark.parametrize(
    ("which", "note", "stands"),
    [
        ("no-cinfo", "the tool wrote no net_c_info.json: an empty one stands for it", "net_c_info.json"),
        ("bad-cinfo", "the tool's description is not understood: net_c_info.json:1:", "net_c_info.json"),
        ("no-report", "the tool wrote no net_generate_report.txt", "net_generate_report.txt"),
        ("float-layers", "7 layers are not quantized and will run as floating point on the CPU: norm_0,", "net.c"),
        ("surprise", "net_more.h was not expected: it is delivered", "net_more.h"),
    ],
)
def test_notes_of_a_run_that_counts(place, which, note, stands):
    place.run("-o", "plain")
    out, _ = place.run("-o", "out", FAKE_STEDGEAI_FAIL=which)
    assert f"  note: {note}" in out
    assert stands in place.files()
    facts = load(place.folder / "out/network.json")
    plain = load(place.folder / "plain/network.json")
    # Without a description or a report nothing but their own numbers are missing.
    assert [(p.fname, p.weights, p.address) for p in facts.pools] == [
        (p.fname, p.weights, p.address) for p in plain.pools
    ]
    assert (facts.inputs, facts.outputs, facts.epochs) == (plain.inputs, plain.outputs, plain.epochs)


@pytest.mark.parametrize(
    ("words", "base", "said"),
    [
        (
            (),
            ("-m", "net_OE_3_3_1.onnx", *BASE[2:]),
            "net_OE_3_3_1.onnx: this is the model as the tool's own front end",
        ),
        ((), ("-m", "none.onnx", *BASE[2:]), "none.onnx: cannot read: No such file or directory"),
        ((), ("-n", "9lives", *BASE[:2], *BASE[4:]), "--name: '9lives' is not a C identifier"),
        (("--initializers", "xSPI3"), BASE, "--initializers: no enabled pool 'xSPI3' (did you mean 'xSPI2'?"),
        (("--initializers", "xSPI2"), H7, "--initializers: there are none without an NPU"),
        (("--compiler-version", "3.0.*"), BASE, "--compiler-version: no ST Edge AI Core 3.0.* found; looked at"),
        (("--compiler-version", "new"), BASE, "--compiler-version: 'new' is no version to ask for"),
        (("--recording", "x"), BASE, "--recording: is for --compiler recorded"),
    ],
)
def test_what_is_refused_before_the_tool_is_started(place, words, base, said):
    (place.folder / "net_OE_3_3_1.onnx").write_bytes(b"x")
    place.run("-o", "out")
    before = place.files()
    assert said in place.refused("-o", "out", *words, base=base)
    assert place.files() == before
    assert len(calls(place.root, "generate")) == 1


def test_options_that_a_version_does_not_know(place):
    text = place.refused("-o", "out", base=(*BASE[:-1], "odd@na.json"))
    assert "the tool does not know --frobnicate [E103(CliRuntimeError)] (options differ between versions" in text
    assert "an argument is refused: unrecognized arguments: --later [E102" in place.refused(
        "-o", "out", "--extra-options=--later 3"
    )


def test_a_network_that_does_not_fit(place):
    text = place.refused("-o", "out", base=(*BASE[:-1], "small@na.json"))
    assert "192 bytes find no place in the memory pools [E103(CliRuntimeError)] (enlarge a writable pool by" in text
    place.nothing_left()


def test_an_interrupted_run_leaves_nothing(place):
    place.run("-o", "out")
    command = [sys.executable, "-m", "neuralart", "compile", "--compiler", "stedgeai", *BASE, "-o", "out"]
    known = {"STEDGEAI_CORE_DIR": str(place.root), "NEURALART_CACHE_DIR": str(place.tmp / "cache")}
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(package_parent()), "FAKE_STEDGEAI_HANG": "60", **known}
    # Whoever starts the tests in the background lets them ignore SIGINT, and so their children.
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    process = subprocess.Popen(command, cwd=place.folder, env=env, stderr=subprocess.PIPE, text=True, preexec_fn=heard)
    for _ in range(400):
        if len(calls(place.root, "generate")) == 2:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (130, "neuralart compile: interrupted\n")
    assert list((place.folder / "out").iterdir()) == []


def test_options_as_articles_write_them(place):
    out, _ = place.run("-o", "out", "-v", "2", base=(*BASE[:-1], "article@na.json"))
    assert "--output-info-file: the description of the network is always net_c_info.json" in out
    staged = json.loads((place.folder / "out/.vendor/profile/profile.json").read_text())["Profiles"]["article"]
    assert staged == {"memory_pool": "./pools/n6.mpool", "options": "--Os --csv-file network.csv"}
    assert place.files()["net.csv"].startswith(b"epochs,")
    place.run("-o", "other", "--load-mpool", "pools/hex.mpool", base=BASE)
    assert (place.folder / "other/.vendor/profile/pools/hex.mpool").is_file()
    text = place.refused("-o", "out", "--profile-add=--load-mpool x.mpool")
    assert text == "na.json: add: '--load-mpool' names the pools (use --mpool, or mpool:)"


def test_pools_in_hex_are_asked_for_raw(place):
    place.run("-o", "raw", base=(*BASE[:-1], "blobs@na.json"))
    base = (*BASE[:-1], "hex@na.json")
    out, _ = place.run("-o", "out", "-v", "2", "--profile-add=--enable-epoch-controller", base=base)
    assert "fformat of pool AXISRAM3" in out and "constants are raw files, the build makes hex files itself" in out
    raw = "net_atonbuf.xSPI2.raw"
    assert place.files()[raw] and place.files()[raw] == place.files("raw")[raw]
    assert b"FORMAT_HEX" not in (place.folder / "out/.vendor/profile/pools/hex.mpool").read_bytes()


@pytest.mark.parametrize("version", ["2.2.0", "4.0.1"])
def test_a_profile_of_the_installation(tmp_path, version):
    place = of_version(tmp_path, version)
    base = (*BASE[:-1], "profile-allmems--O3")
    place.run("-o", "plain", base=base)
    assert "profile-allmems--O3" in calls(place.root, "generate")[-1]["argv"], "only the tool knows what it says"
    add_profiles(place.root, (place.folder / "pools/n6.mpool").read_text(), version)
    place.run("-o", "out", "--profile-add=--Oauto-sched", base=base)
    assert "allmems--O3@profile/profile.json" in calls(place.root, "generate")[-1]["argv"]
    staged = json.loads((place.folder / "out/.vendor/profile/profile.json").read_text())
    assert staged["Profiles"]["allmems--O3"]["options"] == "--native-float --Os --optimization 3 --Oauto-sched"
    files = place.files()
    assert b"memory pools: STEDGEAI_CORE_DIR/targets/" in files["provenance.txt"]
    assert not [name for name, data in files.items() if str(tmp_path).encode() in data]
    text = place.refused("-o", "out", base=(*BASE[:-1], "profile-allmems-O3"))
    assert "no profile 'allmems-O3' (did you mean 'allmems--O3'?" in text
    assert place.files() == files


def test_a_run_that_takes_too_long_leaves_nothing(place):
    place.run("-o", "out")
    # It writes all of its files, and does not come to an end.
    (place.root / "sleep").write_text("60")
    text = place.refused("-o", "out", "--timeout", "2")
    assert text.startswith(
        "net.tflite: ST Edge AI Core 4.0.1-20581: ended after 2 s (timeout) at 100 % (104/104); "
        "its last line: elapsed time"
    )
    assert text.endswith("(a larger timeout; log: out/.vendor/log.txt)")
    place.nothing_left()
    (place.root / "sleep").write_text("0")
    place.run("-o", "out", "--timeout", "60")
    assert "network.json" in place.files()


def test_limits_that_are_none(place):
    for text in ("0", "soon", "nan", "-1", "1e9"):
        _, err = place.run("-o", "out", "--timeout", text, code=2)
        assert f"--timeout: '{text}' is no number of seconds, 0.1 to 1e6" in err
    assert "--timeout: means nothing to the reference compiler" in place.refused("--timeout", "3", compiler="reference")


# ---- the tool itself


def test_a_removed_tool_is_one_line_with_the_places(place):
    place.run("-o", "out")
    shutil.rmtree(place.root)
    text = place.refused("-o", "out", STEDGEAI_CORE_DIR="-", PATH=str(place.tmp / "bin"))
    assert text == (
        "--compiler stedgeai: no ST Edge AI Core found; looked at STEDGEAI_CORE_DIR: not set; PATH: none; "
        f"{place.tmp / 'nowhere'}: none (install it, or set STEDGEAI_CORE_DIR to the folder that holds Utilities and "
        "Middlewares (docs/reference/stedgeai.md))"
    )
    assert "no ST Edge AI Core in it" in place.refused("-o", "out")


def test_the_version_is_asked_once_for_many_compiles(place):
    for number in range(3):
        place.run("-o", f"out{number}")
    assert [call["argv"][0] for call in calls(place.root)] == ["--version", "generate", "generate", "generate"]
    place.run("-o", "out4", "--tool-cache", "tools.json")
    assert len(json.loads((place.folder / "tools.json").read_text())) == 1


def test_a_pin_chooses_among_several(place):
    install(place.tmp / "nowhere" / "2.2", "2.2.0")
    out, _ = place.run("-o", "out", "--compiler-version", "2.2.*")
    assert "by ST Edge AI Core 2.2.0-20266" in out


def test_auto(place):
    (place.folder / "net.tflite").write_bytes((package_parent().parent / "models/digits/digits.tflite").read_bytes())
    place.run("-o", "out", compiler="auto")
    assert load(place.folder / "out/network.json").runtime == "ll_aton"
    gone = {"STEDGEAI_CORE_DIR": "-", "PATH": str(place.tmp / "bin")}
    place.run("-o", "out", compiler="auto", **gone)
    assert load(place.folder / "out/network.json").runtime == "neuralart"
    assert "--extra-options: means nothing to the reference compiler" in place.refused(
        "-o", "out", "--extra-options=--x", compiler="auto", **gone
    )


def test_a_version_newer_than_known(place):
    newer = "ST Edge AI Core v4.1.0-20999 123456789"
    out, _ = place.run("-o", "out", FAKE_STEDGEAI_VERSION=newer, NEURALART_CACHE_DIR=str(place.tmp / "other"))
    assert "note: ST Edge AI Core 4.1.0-20999 is newer than the versions this program knows" in out
    # The export may be called otherwise there: it is kept aside, and nothing is built on its name.
    assert not [name for name in place.files() if "_OE_" in name]
    assert (place.folder / "out/.vendor/net_OE_3_3_1.onnx").is_file()


def test_a_runs_output_and_silence(place):
    assert place.run("-o", "out", "--quiet") == ("", "")
    assert place.run("-o", "out", "--verbosity", "0") == ("", "")
    out, _ = place.run("-o", "out", "--verbosity", "2", "--optimization", "time", "--workspace", "x")
    assert "  without effect: --optimization: not applicable to the NPU flow" in out
    assert "AXISRAM4" in out
    assert not (place.folder / "x").exists()


def test_initializers_as_code(place):
    """Of a pool without an address; with one they are the raw file that goes to it."""
    place.run("-o", "raw", base=(*BASE[:-1], "code@na.json"))
    assert [pool.fname for pool in load(place.folder / "raw/network.json").initializers] == ["xSPI2"]
    assert "net_atonbuf.xSPI2.raw" in place.files("raw") and "net_atonbuf.xSPI2.c" not in place.files("raw")
    place.run("-o", "out", base=(*BASE[:-1], "linked@na.json"))
    assert "net_atonbuf.xSPI2.c" in place.files()
    assert "net_atonbuf.xSPI2.raw" not in place.files()


def test_a_table_of_epochs(place):
    place.run("-o", "out", base=(*BASE[:-1], "csv@na.json"))
    assert place.files()["net.csv"].startswith(b"epochs,")


def test_the_tools_own_profile(place):
    place.run("-o", "out", base=(*BASE[:-1], "profile-default"))
    assert "net_atonbuf.xSPI2.raw" in place.files()
    facts = load(place.folder / "out/network.json")
    assert next(pool for pool in facts.pools if pool.fname == "xSPI2").address == 0x71000000


def test_a_place_that_cannot_be_written(place):
    (place.folder / "out").write_text("mine")
    assert "out: cannot write" in place.refused("-o", "out")
    assert (place.folder / "out").read_text() == "mine"
