"""The made-up tool is like the documented one, and quick."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from neuralart.compilers.stedgeai.fileset import FileConditions, expected
from neuralart.compilers.stedgeai.run import working_folder
from neuralart.vendor.c_info.read import parse_c_info
from neuralart.vendor.network_c.read import parse
from neuralart.vendor.releases import parse_core
from neuralart_insight.vendor.report.read import parse_report
from support import fake_stedgeai
from support.fake_stedgeai import VERSIONS, calls, install, middlewares
from support.models.stedgeai_case import make
from support.models.vendor_reports import problems

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the made-up tool is a shell script")
PROFILE = '{"Profiles": {"p": {"memory_pool": "pools/n6.mpool", "options": "%s"}}}'


@pytest.fixture
def folder(tmp_path):
    with working_folder(tmp_path) as place:  # it crashes where the real one does
        yield make(place / "w")


def run(folder, root, *words, status=0, options="--Os", **environ) -> str:
    (folder / "p.json").write_text(PROFILE % options)
    program = next(root.glob("Utilities/*/stedgeai"))
    base = [str(program), "generate", "-m", "net.tflite", "--target", "stm32n6", "--st-neural-art", "p@p.json"]
    done = subprocess.run([*base, *words], cwd=folder, capture_output=True, text=True, env=environ)
    assert (done.returncode, done.stderr) == (status, "")
    return done.stdout


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("controller", [False, True])
def test_the_documented_files(tmp_path, folder, version, controller):
    root = install(tmp_path / "st", version)
    out = run(folder, root, "--name", "net", options="--Os --enable-epoch-controller" if controller else "--Os")
    given = FileConditions("net", "net", controller=controller)
    files = {path.name for path in (folder / "st_ai_output").iterdir()}
    wanted = expected(given, parse_core(VERSIONS[version][0]))
    license = {"LICENSE.txt"} if version < "4" else set()
    assert files == {*wanted.needed, *wanted.usual, "net_atonbuf.xSPI2.raw"} | license
    text = (folder / "st_ai_output/net.c").read_text()
    network = parse(text, "net.c")
    assert network.problems == ()
    assert network.epoch_controller == controller
    info = parse_c_info((folder / "st_ai_output/net_c_info.json").read_bytes(), "i")
    assert (info.flow, info.core.text, info.notes, problems(info)) == ("npu", VERSIONS[version][0], (), ())
    report = parse_report((folder / "st_ai_output/net_generate_report.txt").read_bytes(), "r")
    assert (report.core.text, report.compiler, report.notes) == (VERSIONS[version][0], VERSIONS[version][2], ())
    assert [pool.name for pool in report.pools] == ["AXISRAM3_name", "AXISRAM4_name", "xSPI2_name"]
    listed = out[out.index("Generated files") :]
    assert ("net_c_info.json" in listed) == (version >= "3")
    assert "report.txt" not in listed.split("Creating")[0]


@pytest.mark.parametrize(("version", "suffix"), [("2.2.0", "Default"), ("3.0.0", "network"), ("4.0.1", "network")])
def test_the_name_without_an_option(tmp_path, folder, version, suffix):
    run(folder, install(tmp_path / "st", version))
    text = (folder / "st_ai_output/network.c").read_text()
    assert f"LL_ATON_EpochBlockItems_{suffix}(" in text


def test_two_runs_differ_as_documented(tmp_path, folder):
    root = install(tmp_path / "st")
    found = []
    for out in ("a", "b"):
        run(folder, root, "--name", "net", "--output", out, "--workspace", f"w{out}")
        found.append({path.name: path.read_bytes() for path in (folder / out).iterdir()})
    equal = {name for name in found[0] if found[0][name] == found[1][name]}
    assert equal == {"net.h", "stai_net.h", "net_OE_3_3_1.onnx", "net_atonbuf.xSPI2.raw"}


def test_weights_follow_the_model_and_code_its_length(tmp_path, folder):
    root = install(tmp_path / "st")
    sets = []
    for model in (b"a" * 999, b"b" * 999, b"b" * 1999):
        (folder / "net.tflite").write_bytes(model)
        run(folder, root, "--name", "net")
        out = folder / "st_ai_output"
        sets.append(((out / "net.c").read_bytes(), (out / "net_atonbuf.xSPI2.raw").read_bytes()))
    assert sets[0][0] == sets[1][0] != sets[2][0]
    assert len({raw for _, raw in sets}) == 3


def test_what_was_asked_is_recorded(tmp_path, folder):
    root = install(tmp_path / "st")
    run(folder, root, "--name", "net", LANG="C", SECRET="x")
    (call,) = calls(root, "generate")
    assert call["argv"][-2:] == ["--name", "net"]
    assert call["cwd"] == str(folder)
    assert call["environment"] == {"LANG": "C"}


@pytest.mark.parametrize(
    ("version", "words", "said"),
    [
        (
            "2.2.0",
            ("--enable-epoch-controller",),
            "E102(CliArgumentError): unrecognized arguments: --enable-epoch-controller",
        ),
        ("4.0.1", ("--frob",), "E102(CliArgumentError): unrecognized arguments: --frob"),
        ("4.0.1", ("--name",), "expected one argument"),
    ],
)
def test_arguments_it_does_not_know(tmp_path, folder, version, words, said):
    assert said in run(folder, install(tmp_path / "st", version), *words, status=255)


def test_letters_that_crash_the_compiler(tmp_path, folder):
    text = run(folder, install(tmp_path / "st"), "--output", "\u00e9", status=255)
    assert "Internal compiler error (signo=22)" in text


@pytest.mark.hostcc
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--Os --all-buffers-info", ()),
        ("--enable-epoch-controller", ("--output-data-type", "float32", "--inputs-ch-position", "chfirst")),
        ("--enable-virtual-mem-pools", ("--no-inputs-allocation", "--no-outputs-allocation")),
    ],
)
def test_its_c_is_c(tmp_path, folder, version, options, words):
    root = middlewares.add(install(tmp_path / "st", version), version)
    run(folder, root, "--name", "net", *words, options=options)
    include = root / "Middlewares/ST/AI/Npu/ll_aton"
    for debug in ((), ("-DLL_ATON_EB_DBG_INFO", "-DLL_ATON_DBG_BUFFER_INFO_EXCLUDED=1")):
        for source in sorted((folder / "st_ai_output").glob("*.c")):
            flags = ["-std=gnu11", "-fsyntax-only", "-Wall", "-Wno-unused", "-Wno-int-to-pointer-cast"]
            done = subprocess.run(["cc", *flags, *debug, f"-I{include}", str(source)], capture_output=True, text=True)
            assert (done.returncode, done.stderr) == (0, ""), source.name


@pytest.mark.hostcc
def test_its_c_refuses_another_runtime(tmp_path, folder):
    root = middlewares.add(install(tmp_path / "st"), runtime=(1, 1, 3, 262))
    run(folder, root, "--name", "net")
    include = root / "Middlewares/ST/AI/Npu/ll_aton"
    words = ["cc", "-fsyntax-only", f"-I{include}", str(folder / "st_ai_output/net.c")]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode
    assert "Possible mismatch in ll_aton library used" in done.stderr


def test_it_is_quick(tmp_path, folder):
    """Hundreds of builds call it: a start loads few modules."""
    program = Path(fake_stedgeai.__file__).with_name("program.py")
    words = [sys.executable, "-I", "-S", "-X", "importtime", str(program), "4.0.1", str(tmp_path), "--version"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    loaded = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    assert "v4.0.1" in done.stdout and 10 < len(loaded) < 90
