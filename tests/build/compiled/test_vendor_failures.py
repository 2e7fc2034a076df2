"""ST Edge AI Core behind SCons where something is wrong: one line with a hint, and nothing stale; recordings; slots."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from support.fake_stedgeai import install
from support.projects import vendorproject
from support.projects.sconsproject import Result
from support.projects.vendorproject import VendorProject, network, new_weights

pytestmark = [
    pytest.mark.arm,
    pytest.mark.long,
    pytest.mark.skipif(sys.platform == "win32", reason="the made-up tool is a shell script"),
]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> VendorProject:
    """Only a network, compiled once; no C is."""
    folder = tmp_path_factory.mktemp("vendor")
    project = vendorproject.make(folder / "tree", folder / "st" / "4.0.1")
    project.programs(only=only(network()))
    project.run()
    return project


@pytest.fixture
def built(template: VendorProject, tmp_path: Path) -> VendorProject:
    """A built tree to change."""
    return vendorproject.copy(template, tmp_path / "tree")


def only(*networks: dict) -> dict:
    return {"networks": networks, "only_networks": True}


def said(failed: Result) -> str:
    """The one line of a compile that failed; SCons adds its own."""
    ours, scons = failed.errors
    assert re.match(r"scons: \*\*\* \[build/networks/[^ ]+\] Error 1$", scons), failed.err
    assert ours.startswith("neuralart compile: error: ")
    return ours.removeprefix("neuralart compile: error: ")


def nothing_left(project: VendorProject, name: str = "net") -> None:
    assert [path.name for path in project.folder(name).iterdir()] in ([".vendor"], []), project.folder(name)


# ---- documented failures

# A front end, the compiler, the end of a run, and files: tests/build/compiled/test_stedgeai_compile.py has all.
FAILURES = {
    "e010": "the front end takes the model for invalid",
    "signo22": "the NPU compiler crashed (signal 22)",
    "late": "ended with status 255",
    "cut-off": "net.c: ",
}


@pytest.mark.parametrize("which", FAILURES)
def test_a_failure_leaves_nothing_and_is_tried_again(built: VendorProject, which: str) -> None:
    before = built.kept()
    model = built.path("net.tflite").read_bytes()
    new_weights(built.path("net.tflite"))
    line = said(built.run(code=2, env={"FAKE_STEDGEAI_FAIL": which}))
    assert FAILURES[which] in line
    assert line.endswith(")") or which == "cut-off", "there is something to do"
    nothing_left(built)
    # Nobody needs to clean up when the cause is gone.
    built.path("net.tflite").write_bytes(model)
    built.run()
    assert built.kept() == before


def test_asking_again_is_no_success(built: VendorProject) -> None:
    new_weights(built.path("net.tflite"))
    lines = [said(built.run(code=2, env={"FAKE_STEDGEAI_FAIL": "e010"})) for _ in range(2)]
    assert lines[0] == lines[1]
    nothing_left(built)


@pytest.mark.parametrize("which", ["no-cinfo", "surprise"])
def test_what_is_only_worth_a_note_is_no_failure(built: VendorProject, which: str) -> None:
    new_weights(built.path("net.tflite"))
    done = built.run(env={"FAKE_STEDGEAI_FAIL": which})
    assert {tag for tag, _ in done.commands} == {"NETWORK"}
    assert all(node.is_file() for node in (built.folder() / "net.c", built.folder() / "net_c_info.json"))
    built.up_to_date()


def test_constants_that_nobody_declared(built: VendorProject) -> None:
    new_weights(built.path("net.tflite"))
    line = said(built.run(code=2, env={"FAKE_STEDGEAI_FAIL": "spill"}))
    pool = re.search(r"AXISRAM\d", line)
    assert pool is not None
    assert f"[{pool.group()}, xSPI2]" in line.replace("xSPI2, " + pool.group(), pool.group() + ", xSPI2"), line
    # The line as it is to be written makes the compile a good one.
    built.programs(only=only(network(initializers=["xSPI2", pool.group()])))
    built.run(env={"FAKE_STEDGEAI_FAIL": "spill"})
    folders = list(built.path("build/networks").glob(f"*/net_atonbuf.{pool.group()}.raw"))
    assert len(folders) == 1 and folders[0].stat().st_size


def test_one_of_several_fails_with_k(built: VendorProject) -> None:
    """-k builds the others, and only the one that failed has no files."""
    shutil.copy(built.path("net.tflite"), built.path("fail-e700.tflite"))
    bad = network(name="bad", model="fail-e700.tflite")
    built.programs(only=only(network(), bad, network(name="good")))
    failed = built.run("-k", code=2)
    assert "6405160" in said(failed)
    nothing_left(built, "bad")
    assert (built.folder("good") / "manifest.json").is_file()
    assert (built.folder() / "manifest.json").is_file()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"options": ["--ihex"]}, "--ihex"),
        ({"options": ["--quantize", "x"]}, "--quantize"),
        ({"extra_options": ["--no-such-thing"]}, "an argument is refused: unrecognized arguments: --no-such-thing"),
        ({"profile": "odd@na.json"}, "the tool does not know --frobnicate"),
        ({"profile": "small@na.json"}, "bytes find no place in the memory pools"),
        ({"failures": "pools/n6.mpool"}, "pools/n6.mpool"),
    ],
)
def test_what_the_tool_refuses(built: VendorProject, changes: dict, words: str) -> None:
    built.programs(only=only(network(name="wrong", **changes)))
    assert words in said(built.run(code=2))
    folders = list(built.path("build/networks").glob("wrong-*"))
    assert [path.name for folder in folders for path in folder.iterdir()] in ([".vendor"], [])


def test_the_tools_own_export_is_no_model(built: VendorProject) -> None:
    shutil.copy(built.path("net.tflite"), built.path("net_OE_3_3_1.onnx"))
    built.programs(only=only(network(name="twice", model="net_OE_3_3_1.onnx")))
    count = built.compiles()
    line = said(built.run(code=2))
    assert line.startswith("net_OE_3_3_1.onnx: this is the model as the tool's own front end exported it")
    assert built.compiles() == count


def test_failures_that_the_user_knows(built: VendorProject) -> None:
    text = "schema: 1\nfailures:\n  - {id: ours, pattern: 'in a new place', cause: our known thing, hint: ask Jo}\n"
    built.path("mine.yaml").write_text(text)
    built.programs(only=only(network(failures="mine.yaml")))
    new_weights(built.path("net.tflite"))
    assert "our known thing (ask Jo; " in said(built.run(code=2, env={"FAKE_STEDGEAI_FAIL": "unheard-of"}))
    built.programs(only=only(network()))
    known = {"FAKE_STEDGEAI_FAIL": "unheard-of", "NEURALART_FAILURES": str(built.path("mine.yaml"))}
    assert "our known thing (ask Jo; " in said(built.run(code=2, env=known))


def test_found_below_a_root_of_installations(built: VendorProject, tmp_path: Path) -> None:
    """What reading the SConstruct finds, the command finds."""
    below = VendorProject(built.root, install(tmp_path / "roots" / "4.0"))
    new_weights(built.path("net.tflite"))
    built.run(env={"STEDGEAI_CORE_DIR": "", "NEURALART_STEDGEAI_ROOTS": str(tmp_path / "roots")})
    assert below.compiles() == 1


# ---- how many at once


def test_no_more_than_two_at_once(template: VendorProject, tmp_path: Path) -> None:
    built = VendorProject(vendorproject.copy(template, tmp_path / "tree").root, install(tmp_path / "st"))
    (built.core / "sleep").write_text("0.4")
    built.programs(only=only(*(network(name=f"n{number}") for number in range(4))))
    built.run("-j4")
    times = [json.loads(line) for line in (built.core / "times.jsonl").read_text().splitlines()]
    assert len(times) == 4
    at_once = [sum(start <= other < end for start, end in times) for other, _ in times]
    assert max(at_once) <= 2, times
    assert len({folder.name for folder in built.path("build/networks").glob("n?-*")}) == 4


# ---- recordings


@pytest.fixture
def recorded(built: VendorProject) -> VendorProject:
    """The network is recorded, and the tool is gone."""
    words = ["--model", "net.tflite", "--target", "stm32n6", "--name", "net", "--st-neural-art", "blobs@na.json"]
    words += ["--initializers", "xSPI2", "--output", "out/recorded"]
    done = vendorproject.neuralart(built, "record", "--recording", "recordings/net", *words)
    assert done.code == 0, done.err
    shutil.rmtree(built.path("out"))
    built.programs(only=only(network(compiler={"recorded": "recordings/net"})))
    return VendorProject(built.root, Path("/no such folder"))


def _alone(project: VendorProject, *words: str, code: int = 0) -> Result:
    return project.run(*words, code=code, env={"STEDGEAI_CORE_DIR": ""})


def test_a_recording_gives_the_same_bytes_without_the_tool(recorded: VendorProject) -> None:
    theirs = {path.name: path.read_bytes() for path in recorded.folder().iterdir() if path.is_file()}
    shutil.rmtree(recorded.path("build"))
    _alone(recorded)
    ours = {path.name: path.read_bytes() for path in recorded.folder().iterdir() if path.is_file()}
    assert ours == theirs
    assert _alone(recorded).commands == set()


def test_a_recording_of_something_else_is_refused(recorded: VendorProject) -> None:
    shutil.rmtree(recorded.path("build"))
    _alone(recorded)
    new_weights(recorded.path("net.tflite"))
    line = said(_alone(recorded, code=2))
    assert re.search(r"recordings/net: was made from something else: model net.tflite \(sha256 [0-9a-f]{12}", line)
    assert "record it again where the tool is installed" in line
    nothing_left(recorded)
    new_weights(recorded.path("net.tflite"))
    _alone(recorded)
    recorded.edit("na.json", "--Os --enable-epoch-controller", "--Os -O3 --enable-epoch-controller")
    assert "profile blobs@na.json (sha256" in said(_alone(recorded, code=2))
    nothing_left(recorded)


def test_a_damaged_recording_is_refused(recorded: VendorProject) -> None:
    shutil.rmtree(recorded.path("build"))
    _alone(recorded)
    path = recorded.path("recordings/net/files/net.c")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    line = said(_alone(recorded, code=2))
    assert "recordings/net/files/net.c: is not what was recorded" in line and "-text" in line
    nothing_left(recorded)
