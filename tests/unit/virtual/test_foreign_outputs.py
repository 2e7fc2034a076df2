"""Whatever a command writes under a name of the user's: a file that is not ours stays, unless
``--force`` is said, and what a link leads to stays in any case.
"""

from __future__ import annotations

import argparse
import json
import shlex
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from neuralart import cli, outputs
from neuralart.files import write_lines
from neuralart.relocatable.build import build_cli
from neuralart.resources import PACKAGE
from neuralart_fleet.ci import junit
from neuralart_insight.profiling import perfetto
from neuralart_virtual.vectors import expected
from support.boards import images
from support.host_c import native
from support.models.app_configs import write_application
from support.projects.repositories import SHAPES


def quote(path: Path) -> str:
    return shlex.quote(str(path))


REPO = PACKAGE.parents[1]
DIGITS = REPO / "models" / "digits" / "digits.tflite"
FOREIGN = b"these are somebody's only notes\n" * 200
Capture = pytest.CaptureFixture[str]
COMPILE = f"compile --model {quote(DIGITS)} --target stm32n6570-dk --name net --quiet --output out"
CPU = f"compile --model {quote(DIGITS)} --target stm32h747i-disco --name net --quiet --output out"
BUILD = "relocatable build --input relative --name net --output out --verbosity 0"
PROFILE = "profile ready --npu-mhz 800"
APPCONFIG = "tool appconfig --network c_info.json --config app.yaml --generation n6-v3"
ZOO = "import user_config.yaml -o out/variants.yaml"

# A call that works, and what it writes. ``out`` is where a foreign file is put, ``ready`` a compiled
# network.
WRITTEN = {
    "tool sign image.bin -o out/app.bin": ["app.bin"],
    COMPILE: ["net.c", "net.h", "manifest.json", "network.json", "provenance.txt", "net_atonbuf.xSPI2.raw"],
    CPU: ["net.c", "net_data_params.c", "manifest.json", "net_generate_report.txt"],
    "compile --compiler adopted --adopted ready --name net --quiet --output out": ["net.c", "network.json"],
    "sbom --output out/sbom.json": ["sbom.json"],
    f"{PROFILE} -o out/profile.json": ["profile.json"],
    f"{PROFILE} --log out/profile.log": ["profile.log"],
    f"plan digits-n6 --file {quote(REPO / 'variants.yaml')} --build none --svg out/plan.svg": ["plan.svg"],
    f"fit {quote(DIGITS)} --board stm32n6570-dk -o out/fit.html": ["fit.html"],
    f"{APPCONFIG} -o out/app_config.h": ["app_config.h"],
    "application build --with elf --elf ready.elf --work work --output out/app.elf": ["app.elf"],
    f"{BUILD} --parse-only --json out/net.json": ["net.json"],
    f"{BUILD} --parse-only --log out/net.log": ["net.log"],
    f"{BUILD} --parse-only --log --json": ["net_reloc_results.json", "net_reloc.log"],
}
# These ask each time: what they write has no place for a mark, or is the user's from then on.
ALWAYS = {
    f"vectors {quote(DIGITS)} --random 1 --expected board -o out": ["vectors.json", "inputs.bin", "outputs.bin"],
    "adopt repository -o out/variants.yaml": ["variants.yaml"],
}
# That one compiles the network for this computer.
ALWAYS_MARKED = [pytest.param(words, marks=[pytest.mark.hostcc] * ("--expected" in words)) for words in ALWAYS]
APP = """\
schema: 1
app_config: {use_case: pose_estimation, model_type: movenet, confidence_thresh: 0.4}
"""


def _info() -> str:
    shapes = ("U8", [1, 192, 192, 3]), ("FLOAT", [1, 48, 48, 13])
    names = ["BATCH", "H", "W", "CH"]
    buffers = [
        {"id": number, "name": f"t{number}", "shape": shape, "shape_map": names, "format": f"STAI_FORMAT_{kind}"}
        for number, (kind, shape) in enumerate(shapes, 1)
    ]
    graph = {"name": "network", "inputs": [1], "outputs": [2]}
    return json.dumps({"json_schema_version": "2.0", "buffers": buffers, "graphs": [graph]})


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ready")
    assert cli.main(shlex.split(COMPILE.replace("--output out", f"--output {quote(folder / 'ready')}"))) == 0
    pools = PACKAGE / "boards" / "data" / "pools" / "stm32n6570-dk-relocatable.mpool"
    words = COMPILE.replace("--output out", f"--output {quote(folder / 'relative')} --load-mpool {quote(pools)}")
    assert cli.main(shlex.split(words)) == 0
    (folder / "image.bin").write_bytes(struct.pack("<II", 0x34100000, 0x34000401) + bytes(4088))
    (folder / "ready.elf").write_bytes(images.elf())
    write_application(folder, {"app.yaml": APP, "c_info.json": _info()})
    SHAPES["make"](folder / "repository")
    return folder


@pytest.fixture(scope="module", autouse=True)
def one_board() -> Iterator[None]:
    """What a board computes is computed once: here all depends on where it is written."""
    with pytest.MonkeyPatch.context() as patch:
        known: list[expected.ExpectedOutputs] = []
        real = expected.by_board

        def by_board(*words: Any) -> expected.ExpectedOutputs:
            known.extend([] if known else [real(*words)])
            return known[0]

        patch.setattr(expected, "by_board", by_board)
        patch.setattr("neuralart_virtual.emulator.native.runtime_objects", lambda work, _: native.runtime(work))
        yield


@pytest.fixture
def place(ready: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for path in ready.iterdir():
        Path(path.name).symlink_to(path)
    Path("out").mkdir()
    return Path("out")


def refused(words: str, path: Path, capsys: Capture) -> None:
    """One line, and all files as they were."""
    before = {file: file.read_bytes() for file in path.parent.rglob("*") if file.is_file()}
    capsys.readouterr()
    assert cli.main(shlex.split(words)) == 1, words
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1, captured
    assert "--force" in captured.err and (path.name in captured.err), captured.err
    assert {file: file.read_bytes() for file in path.parent.rglob("*") if file.is_file()} == before


@pytest.mark.parametrize("words", [*WRITTEN, *ALWAYS_MARKED])
def test_a_foreign_file(words: str, place: Path, capsys: Capture) -> None:
    """Each alone is refused; with ``--force`` all are replaced."""
    paths = [place / name for name in {**WRITTEN, **ALWAYS}[words]]
    for path in paths:
        path.write_bytes(FOREIGN)
        refused(words, path, capsys)
        path.unlink()
    for path in paths:
        path.write_bytes(FOREIGN)
    assert cli.main([*shlex.split(words), "--force"]) == 0
    assert not [path for path in paths if path.read_bytes() == FOREIGN]


@pytest.mark.parametrize("words", WRITTEN)
def test_our_own_file(words: str, place: Path, capsys: Capture) -> None:
    for _ in range(2):
        assert cli.main(shlex.split(words)) == 0, capsys.readouterr().err
    assert {*WRITTEN[words]} <= {path.name for path in place.iterdir()}
    # What was edited since is somebody's work, where we can know it.
    path = place / WRITTEN[words][0]
    path.write_bytes(path.read_bytes()[:-9] + b"my remark" if words.startswith("compile") else FOREIGN)
    refused(words, path, capsys)


@pytest.mark.parametrize("words", ALWAYS_MARKED)
def test_it_asks_each_time(words: str, place: Path, capsys: Capture) -> None:
    assert cli.main(shlex.split(words)) == 0, capsys.readouterr().err
    refused(words, place / ALWAYS[words][0], capsys)


@pytest.mark.parametrize("words", [*WRITTEN, *ALWAYS_MARKED])
def test_a_link(words: str, place: Path, tmp_path: Path, capsys: Capture) -> None:
    """It is not followed in any case; with ``--force`` it is replaced."""
    name = {**WRITTEN, **ALWAYS}[words][-1]
    other = tmp_path / "other"
    other.write_bytes(FOREIGN)
    (place / name).symlink_to(other)
    refused(words, place / name, capsys)
    assert cli.main([*shlex.split(words), "--force"]) == 0
    assert other.read_bytes() == FOREIGN and not (place / name).is_symlink()


def test_a_device_or_a_folder_is_no_place(place: Path, capsys: Capture) -> None:
    for words, what in (
        ("sbom --output /dev/null", "/dev/null: is a device or a pipe"),
        ("sbom --output /dev/null --force", "/dev/null: is a device or a pipe"),
        ("tool sign image.bin -o out", "out: is a folder"),
        ("tool sign image.bin -o out --force", "out: is a folder"),
    ):
        assert cli.main(shlex.split(words)) == 1
        assert capsys.readouterr().err.endswith(f"error: {what}, and a file is to be written (name a file)\n")
    assert not Path("/dev/null").is_file()


def test_an_empty_file_holds_nothing(place: Path) -> None:
    (place / "sbom.json").touch()
    assert cli.main(["sbom", "--output", "out/sbom.json"]) == 0


def test_a_signature_is_not_made_again(place: Path, capsys: Capture) -> None:
    """Signed images are not overwritten by unsigned ones: nobody here has the key."""
    assert cli.main(["tool", "sign", "image.bin", "-o", "out/app.bin"]) == 0
    data = bytearray((place / "app.bin").read_bytes())
    data[4:68] = bytes(range(1, 65))
    (place / "app.bin").write_bytes(data)
    refused("tool sign image.bin -o out/app.bin", place / "app.bin", capsys)


def test_files_of_others_in_the_folder_of_a_compile(place: Path, capsys: Capture) -> None:
    """What it does not write stays; what it would remove as an old constant is refused."""
    (place / "notes.txt").write_bytes(FOREIGN)
    for _ in range(2):
        assert cli.main(shlex.split(COMPILE)) == 0
    assert (place / "notes.txt").read_bytes() == FOREIGN
    (place / "net_mine.x.raw").write_bytes(FOREIGN)
    refused(COMPILE, place / "net_mine.x.raw", capsys)


@pytest.mark.parametrize("end", ["_rel.bin", "_rel_params.bin", "_rel.c", "_rel.h"])
def test_images_of_others_stay(end: str, place: Path, capsys: Capture) -> None:
    """Looked at before a compiler is looked for; an old part of another kind of image would be removed."""
    (place / f"net{end}").write_bytes(FOREIGN)
    refused(BUILD, place / f"net{end}", capsys)
    (place / f"net{end}").unlink()
    (place / f"net{end}").symlink_to(DIGITS)
    refused(BUILD, place / f"net{end}", capsys)


# ---- every option


def parsers(parser: argparse.ArgumentParser, *words: str) -> Iterator[tuple[tuple[str, ...], argparse.ArgumentParser]]:
    inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    for action in inner:
        for name, one in action.choices.items():
            yield from parsers(one, *words, name)
    if not inner:
        yield words, parser


def _report(path: Path) -> None:
    junit.write(path, [junit.CheckOutcome("s", "t")])


def _text(text: str) -> Callable[[Path], None]:
    return lambda path: path.write_text(text) and None


def _trace(path: Path) -> None:
    trace = perfetto._Trace()
    trace.slice(trace.track("network: expected"), 0.0, 1.0, "epoch 1")
    path.write_bytes(trace.data)


# Options that need a board, a build or a measurement: what they write.
HEAD = '<!DOCTYPE html>\n<meta charset="utf-8">\n<meta name="generator" content="neuralart report">'
SAMPLES: dict[str, Callable[[Path], None]] = {
    "run --console": lambda path: write_lines(path, ["a line"]),
    "run --junit": _report,
    "validate --junit": _report,
    "load --log": lambda path: write_lines(path, ["a line"]),
    "report --output": _text(HEAD),
    "profile --raw": _text("[I] neuralart profile of socket://x\n"),
    "profile --perfetto": _trace,
    "profile --csv": _text("first,last,type,epochs,duration_ms,share\n"),
}
MANY = {"talk --output", "adopt --output", "import --output"}  # ask each time
SEEN = {"sign --output", "fit --output", "plan --svg", "profile --log", "profile --output", "sbom --output"}
# Have rules of their own, above or where they are tested; or are caches, or folders that are only
# added to.
OWN_RULES = {
    *("compile --output", "record --output", "record --recording", "vectors --output", "relocatable build --output"),
    *("relocatable build --json", "relocatable build --log", "relocatable build --objects", "application build --work"),
    *("application build --output", "appconfig --output", "patch --output", "export --to", "talk --layers"),
    *("compile --tool-cache", "record --tool-cache", "new folder", "flash --record", "matrix --record"),
    *("npu --output", "export --depfile"),
}
READ = (
    "adopted application artefact board_file build c_info config cube_ide_dir custom data description directory elf "
    "executable failures file files folder headers image include input inputs labels linker_script memory_pool "
    "memory_pools model model_params mpool network pack_dir pair params params_file plan pools ran_in recording "
    "reference root template nor stage_folder toolchain toolchain_file toolpath top variants "
    "vectors workspace commands record records feeds"
)


def options() -> dict[str, tuple[argparse.ArgumentParser, argparse.Action]]:
    rows = {}
    for words, parser in parsers(cli.parser_of([*cli.commands()])):
        for action in parser._actions:
            name = max(action.option_strings, key=len) if action.option_strings else action.dest
            rows[" ".join((*words, name))] = (parser, action)
    return rows


def test_every_option_that_names_a_file_is_known() -> None:
    """A new one has to decide whether it is read or written."""
    unknown = set()
    for name, (parser, action) in options().items():
        is_path = action.type is Path or action.metavar in ("FILE", "DIR", "FOLDER", "PATH", "MODEL", "APPLICATION")
        checked = action.dest in (parser.get_default("outputs") or {})
        assert checked == (name in SAMPLES.keys() | MANY | SEEN), name
        if is_path and not checked and name not in OWN_RULES and action.dest not in READ.split():
            unknown.add(name)
    assert unknown == set() and {*OWN_RULES} <= {*options()}


@pytest.mark.parametrize("name", SAMPLES)
def test_marks(name: str, tmp_path: Path) -> None:
    parser, action = options()[name]
    mine = parser.get_default("outputs")[action.dest]
    path = tmp_path / "x"
    path.write_bytes(FOREIGN)
    with pytest.raises(outputs.NeuralArtError, match="--force"):
        outputs.refuse(path, mine)
    SAMPLES[name](path)
    outputs.refuse(path, mine)
    assert "--force" in parser._option_string_actions


def test_results_of_the_vendors_driver_are_not_ours() -> None:
    assert not build_cli._is_result(b'{"schema": 1, "network": {"c_name": "net"}}')
    assert not build_cli._is_result(b"[]") and not build_cli._is_result(b"\xff")


def test_they_are_looked_at_before_anything_is_done(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "console.log"
    path.write_bytes(FOREIGN)
    refused(f"run --board stm32n6570-dk --elf none.elf --program --console {path}", path, capsys)
