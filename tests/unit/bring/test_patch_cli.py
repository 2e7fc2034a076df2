"""``neuralart tool patch``: the command, copies out of tree and what a compiler reads of them, refusals."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralart import cli
from neuralart.errors import NeuralArtError
from neuralart_bring.patching import mirror, patchlist, plan
from neuralart_bring.patching.mirror import APPLICATION, ELSEWHERE, OUTPUT, IncludeDir
from support.boards.h747_app import INTERFACE, LINKER, MAIN_C, MAIN_H, ROOT, START, App, FakeNetwork, FakePool, tree
from support.projects.dependencies import bypasses
from support.servers.messages import one_message

THREE = (FakePool("DTCMRAM", 18428, 1), FakePool("AXIRAM", 311996, 2), FakePool("SDRAM", 266256, 3))
Capture = pytest.CaptureFixture[str]


def words(app: App, *more: str, mode: str = "crop") -> list[str]:
    return ["tool", "patch", str(app.folder), "--network", str(app.network), "--aspect-ratio", mode, *more]


def refused(argv: list[str], capsys: Capture) -> str:
    assert cli.main(argv) == cli.USER_ERROR
    out = capsys.readouterr()
    one_message(out.err.removesuffix("\n"))
    assert out.err.startswith("neuralart patch: error: ")
    return out.err


# Out of tree ----------------------------------------------------------------------------------------------------------


def test_out_of_tree_is_the_default(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    app = App(tmp_path, FakeNetwork(THREE))
    before = app.snapshot()
    monkeypatch.chdir(tmp_path)
    assert cli.main(words(app)) == 0
    out = capsys.readouterr()
    assert app.snapshot() == before
    for line in (
        "camera: CAMERA_R320x240, crop, captured 240x240",
        "activation buffer 1: 18432 bytes in DTCMRAM (pool DTCMRAM, holds the input)",
        "activation buffer 3: 266272 bytes in SDRAM (pool SDRAM)",
        "image buffer captured: 115200 bytes in AXIRAM",
        "AXIRAM: 427200 of 450560 bytes (524288 less 73728 reserved)",
        f"patched {MAIN_C}",
        "2 copies beside",
        "build/patched/patched.json has the include path and the sources",
    ):
        assert line in out.out.splitlines()
    assert out.err.startswith("neuralart patch: note: ") and "column 40" in out.err
    assert cli.main(words(app, "--check")) == 0
    assert cli.main(words(app)) == 0
    assert "up to date" in capsys.readouterr().out
    assert cli.main(words(app, "--check", mode="fit")) == 1
    assert f"out of date: {MAIN_H}" in capsys.readouterr().out


def test_the_index_is_the_same_wherever_it_is(tmp_path: Path) -> None:
    made = []
    for name in ("one", "two/deep"):
        app = App(tmp_path / name, FakeNetwork(THREE))
        mirror.write(plan.make(app.request("crop")), tmp_path / name / "out", ["Inc/CM7", "Drivers"])
        made.append(tree(tmp_path / name / "out"))
    assert made[0] == made[1]
    data = json.loads(made[0]["patched.json"][0])
    assert data["folders"] == ["Inc/CM7", "Src/CM7"]
    assert data["patched"] == [INTERFACE, MAIN_H, MAIN_C]
    assert data["copied"] == ["Inc/CM7/ai_model_config.h", "Src/CM7/app_network.c"]
    assert data["sources"] == ["Src/CM7/app_network.c", MAIN_C]
    assert data["include_path"] == [{"base": "output", "path": "Inc/CM7"}, {"base": "application", "path": "Drivers"}]
    assert data["dropped_include_path"] == ["Inc/CM7"]
    assert [each["number"] for each in data["activations"]] == [1, 2, 3]
    assert data["regions"]["AXIRAM"] == {"capacity": 450560, "used": 427200}


def test_files_that_are_gone_go_and_others_stay(tmp_path: Path) -> None:
    app = App(tmp_path)
    out = tmp_path / "out"
    (app.root / "Inc/CM7/sub").mkdir()
    (app.root / "Inc/CM7/sub/x.h").write_text("/* x */\n")
    (app.root / "Inc/CM7/.settings").mkdir()
    (app.root / "Inc/CM7/.settings/x.h").write_text("")
    mirror.write(plan.make(app.request()), out)
    assert (out / "Inc/CM7/sub/x.h").is_file() and not (out / "Inc/CM7/.settings").exists()
    (out / "mine.txt").write_text("mine")
    (app.root / "Inc/CM7/sub/x.h").unlink()
    assert mirror.write(plan.make(app.request()), out) == ["patched.json", "Inc/CM7/sub/x.h"]
    assert not (out / "Inc/CM7/sub/x.h").exists() and (out / "mine.txt").is_file()


def test_what_is_in_the_way_is_not_overwritten(tmp_path: Path) -> None:
    app, out = App(tmp_path), tmp_path / "out"
    (out / "Src/CM7").mkdir(parents=True)
    (out / MAIN_C).write_text("somebody else's")
    with pytest.raises(NeuralArtError, match="is in the way: it is not the copy of an earlier patch"):
        mirror.write(plan.make(app.request()), out)
    assert tree(out) == {MAIN_C: (b"somebody else's", 0o644)}
    mirror.write(plan.make(app.request()), out, force=True)
    assert START in (out / MAIN_C).read_text()


def test_a_block_of_the_copy_that_was_changed_by_hand(tmp_path: Path, capsys: Capture) -> None:
    app, out = App(tmp_path), tmp_path / "out"
    mirror.write(plan.make(app.request("crop")), out)
    for path, old, new in ((MAIN_C, "static", "static "), (INTERFACE, START, START.strip())):
        (out / path).write_text((out / path).read_text().replace(old, new))
        assert "of the copy was changed by hand" in refused(words(app, "--output", str(out), mode="padding"), capsys)
        assert cli.main(words(app, "--output", str(out), "--force", mode="padding")) == 0
    # Elsewhere in the copy nobody should edit; it is brought up to date without a word.
    (out / MAIN_C).write_text((out / MAIN_C).read_text() + "\n")
    assert mirror.write(plan.make(app.request("padding")), out) == [MAIN_C]


@pytest.mark.parametrize("place", ["", "Inc/CM7", "Src/CM7/out", "Inc/CM7/../CM7/x"])
def test_copies_among_the_originals(place: str, tmp_path: Path, capsys: Capture) -> None:
    app = App(tmp_path)
    before = app.snapshot()
    assert "would be the originals, or lie among them" in refused(words(app, "--output", str(app.root / place)), capsys)
    assert app.snapshot() == before


def test_a_place_that_cannot_be_written(tmp_path: Path, capsys: Capture) -> None:
    app = App(tmp_path)
    (tmp_path / "file").write_text("x")
    assert "cannot write" in refused(words(app, "--output", str(tmp_path / "file" / "out")), capsys)


def test_links_to_folders_are_refused_and_links_to_files_followed(tmp_path: Path) -> None:
    app = App(tmp_path)
    (tmp_path / "real.h").write_text("/* real */\n")
    (app.root / "Inc/CM7/link.h").symlink_to(tmp_path / "real.h")
    mirror.write(plan.make(app.request()), tmp_path / "out")
    assert (tmp_path / "out/Inc/CM7/link.h").read_text() == "/* real */\n"
    (app.root / "Inc/CM7/folder").symlink_to(tmp_path)
    with pytest.raises(NeuralArtError, match="a folder that is a link is not copied"):
        mirror.write(plan.make(app.request()), tmp_path / "out")


# Include paths --------------------------------------------------------------------------------------------------------


def test_include_paths(tmp_path: Path) -> None:
    for folder in ("Inc/CM7/sub", "Src/CM7", "Drivers"):
        (tmp_path / "app" / folder).mkdir(parents=True)
    root = tmp_path / "app"
    given_ = ["Drivers", "Inc/CM7", str(root / "Src" / "CM7"), "Inc", "../other", "Inc/./CM7/sub", "Inc/CM7", "."]
    assert mirror.include_path(root, ["Inc/CM7", "Src/CM7"], given_) == (
        IncludeDir(APPLICATION, "Drivers"),
        IncludeDir(OUTPUT, "Inc/CM7"),
        IncludeDir(OUTPUT, "Src/CM7"),
        IncludeDir(OUTPUT, "Inc"),
        IncludeDir(APPLICATION, "Inc"),
        IncludeDir(ELSEWHERE, "../other"),
        IncludeDir(OUTPUT, "Inc/CM7/sub"),
        IncludeDir(OUTPUT, "."),
        IncludeDir(APPLICATION, "."),
    )
    assert IncludeDir(OUTPUT, "Inc").resolve(root, tmp_path / "out") == tmp_path / "out" / "Inc"
    assert IncludeDir(APPLICATION, "Inc").resolve(root, tmp_path / "out") == root / "Inc"


def compile_dependencies(app: App, output: Path, paths: tuple[IncludeDir, ...], source: Path, cwd: Path) -> str:
    cc = shutil.which("cc")
    assert cc
    flags = [f"-I{each.resolve(app.root, output)}" for each in paths]
    done = subprocess.run(
        [cc, "-M", *flags, f"-I{app.network}", str(source)], cwd=cwd, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.hostcc
@pytest.mark.parametrize("blank", ["", "with a blank, $ and #"])
def test_no_original_is_read_past_its_copy(blank: str, tmp_path: Path) -> None:
    """What the compiler says it read, for every source; and the same with a path that does bypass them."""
    place = tmp_path / blank
    app, out = App(place), place / "out"
    nested = app.root / "Inc/CM7/nested.h"
    nested.write_text('#include "main.h"\n#include "../CM7/ai_interface.h"\n')
    (app.root / "Src/CM7/more.c").write_text('#include "nested.h"\n#include "../../Inc/CM7/main.h"\n')
    (app.root / "Drivers").mkdir()
    (app.root / "Drivers/driver.c").write_text('#include "main.h"\n')
    mirror.write(plan.make(app.request()), out, ["Inc/CM7"])
    data = json.loads((out / "patched.json").read_text())
    paths = tuple(IncludeDir(each["base"], each["path"]) for each in data["include_path"])
    files = [*(out / path for path in data["sources"]), app.root / "Drivers/driver.c"]
    for source in files:
        text = compile_dependencies(app, out, paths, source, tmp_path)
        assert text.count("main.h") >= 1
        assert bypasses(text, app.root, data["folders"], tmp_path) == []
        wrong = compile_dependencies(app, out, (IncludeDir(APPLICATION, "Inc/CM7"), *paths), source, tmp_path)
        assert MAIN_H in bypasses(wrong, app.root, data["folders"], tmp_path)
    original = compile_dependencies(app, out, paths, app.root / MAIN_C, tmp_path)
    assert bypasses(original, app.root, data["folders"], tmp_path) == [MAIN_C]


def test_reading_dependency_files(tmp_path: Path) -> None:
    root = tmp_path / "a b"
    root.mkdir()
    absolute = str(root).replace(" ", "\\ ")
    text = f"main.o: /usr/x.h \\\r\n {absolute}/Inc/main.h \\\n  a\\ b/Inc/sub/y$$.h ../a\\ b/Lib/z.h\n\nInc/q.h:\n"
    assert bypasses(text, root, ["Inc"], tmp_path) == ["Inc/main.h", "Inc/sub/y$.h"]
    assert bypasses(text, root, ["Lib"], tmp_path / "sub") == ["Lib/z.h"]
    assert bypasses("", root, ["Inc"], tmp_path) == []


@given(st.text(st.sampled_from("ab/. \\\n\r:$#"), max_size=40))
def test_any_dependency_file(text: str) -> None:
    assert isinstance(bypasses(text, Path("a"), ["b"], Path()), list)


# In place, diff, check ------------------------------------------------------------------------------------------------


def test_in_place_and_back(tmp_path: Path, capsys: Capture) -> None:
    app = App(tmp_path, FakeNetwork(THREE))
    before = app.snapshot()
    assert cli.main(words(app, "--in-place", "--check")) == 1
    assert capsys.readouterr().out.splitlines() == [f"out of date: {path}" for path in (MAIN_H, MAIN_C, INTERFACE)]
    assert cli.main(words(app, "--diff")) == 0
    shown = capsys.readouterr().out
    assert app.snapshot() == before
    assert cli.main(words(app, "--in-place")) == 0
    assert capsys.readouterr().out.splitlines()[-3:] == [f"patched {path}" for path in (MAIN_H, MAIN_C, INTERFACE)]
    assert cli.main(words(app, "--in-place", "--check")) == 0
    assert cli.main(words(app, "--in-place")) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "up to date"
    assert cli.main(words(app, "--diff")) == 0
    assert capsys.readouterr().out == ""
    for argument in (app.folder, app.root):
        assert cli.main(["tool", "patch", str(argument), "--restore"]) == 0
        said = "restored" if argument == app.folder else "nothing to restore: no patch in place is known here"
        assert said in capsys.readouterr().out
    assert app.snapshot() == before
    # The diff is one that patch(1) and git take.
    if shutil.which("git"):
        (tmp_path / "p.diff").write_bytes(shown.encode())
        apply = ["git", "apply", "--unsafe-paths", f"--directory={app.root}", str(tmp_path / "p.diff")]
        subprocess.run(apply, cwd=tmp_path, check=True)
        out = tmp_path / "out"
        assert cli.main(words(app, "--output", str(out))) == 0  # its block's hash is right, too
        assert (out / MAIN_C).read_bytes() == (app.root / MAIN_C).read_bytes()


def test_the_diff_is_what_the_contract_says(tmp_path: Path, capsys: Capture) -> None:
    app = App(tmp_path, FakeNetwork(THREE, input_pool="AXIRAM"))
    assert cli.main(words(app, "--diff")) == 0
    lines = [
        line for line in capsys.readouterr().out.splitlines() if line[:1] in "+-" and "/* neuralart patch " not in line
    ]
    sizes = {n: f"AI_ACTIVATION_{n}_SIZE_BYTES" for n in (1, 2, 3)}
    assert lines == [
        f"--- a/{MAIN_H}",
        f"+++ b/{MAIN_H}",
        "-#define CAM_RES_WIDTH (QVGA_RES_WIDTH)",
        "+#define CAM_RES_WIDTH (QVGA_RES_HEIGHT)",
        f"--- a/{MAIN_C}",
        f"+++ b/{MAIN_C}",
        '-__attribute__((section(".CapturedImage_Buffer_SDRAM")))',
        '+__attribute__((section(".CapturedImage_Buffer_AXIRAM")))',
        '-__attribute__((section(".RescaledImage_Buffer_AXIRAM")))',
        '+__attribute__((section(".RescaledImage_Buffer_SDRAM")))',
        '+__attribute__((section(".NN_Activation_Buffer_DTCMRAM")))',
        "+__attribute__ ((aligned (32)))",
        f"+static uint8_t NN_Activation_Buffer_DTCMRAM[{sizes[1]} + 32 - ({sizes[1]}%32)];",
        f"-static uint8_t NN_Activation_Buffer_AXIRAM[{sizes[1]} + 32 - ({sizes[1]}%32)];",
        "-ai_handle NN_Activation_Buffer[AI_ACTIVATION_BUFFERS_COUNT] = { NN_Activation_Buffer_AXIRAM, };",
        f"+static uint8_t NN_Activation_Buffer_AXIRAM[{sizes[2]} + 32 - ({sizes[2]}%32)];",
        '+__attribute__((section(".NN_Activation_Buffer_SDRAM")))',
        "+__attribute__ ((aligned (32)))",
        f"+static uint8_t NN_Activation_Buffer_SDRAM[{sizes[3]} + 32 - ({sizes[3]}%32)];",
        "+ai_handle NN_Activation_Buffer[AI_ACTIVATION_BUFFERS_COUNT] = { NN_Activation_Buffer_DTCMRAM, "
        "NN_Activation_Buffer_AXIRAM, NN_Activation_Buffer_SDRAM, };",
        f"--- a/{INTERFACE}",
        f"+++ b/{INTERFACE}",
        "-#define AI_NETWORK_INPUTS_IN_ACTIVATIONS_INDEX 0",
        "-#define AI_NETWORK_INPUTS_IN_ACTIVATIONS_SIZE AI_ACTIVATION_1_SIZE_BYTES",
        "+#define AI_NETWORK_INPUTS_IN_ACTIVATIONS_INDEX 1",
        "+#define AI_NETWORK_INPUTS_IN_ACTIVATIONS_SIZE AI_ACTIVATION_2_SIZE_BYTES",
    ]


def test_a_diff_of_other_characters(tmp_path: Path, capsys: Capture) -> None:
    app = App(tmp_path)
    for raw in ("é\u2028".encode(), b"\xff\x85\x0c"):
        path = app.root / MAIN_H
        text = path.read_bytes()
        path.write_bytes(text.replace(b"#define CAMERA_RESOLUTION", b"/* " + raw + b" */\n#define CAMERA_RESOLUTION"))
        assert cli.main(words(app, "--diff")) == 0
        out = capsys.readouterr().out
        assert out.count("\n@@ ") == 4
        path.write_bytes(text)


def test_what_depends_on_what(tmp_path: Path) -> None:
    app = App(tmp_path)
    request = app.request()
    names = [path.name for path in plan.inputs(request)]
    assert names == [
        "network_c_info.json",
        "network_data_params.h",
        "network_data.h",
        "network_config.h",
        "network.h",
        "network.c",
        "STM32H747XIHx_CM7.ld",
    ]
    (app.folder / "mempools_STM32H747I-DISCO.json").write_text("{}")
    assert plan.inputs(request)[-1].name == "mempools_STM32H747I-DISCO.json"
    assert mirror.listing(app.root, request.patches) == (
        INTERFACE,
        "Inc/CM7/ai_model_config.h",
        MAIN_H,
        "Src/CM7/app_network.c",
        MAIN_C,
    )


def test_networks_in_several_folders(tmp_path: Path, capsys: Capture) -> None:
    app = App(tmp_path, FakeNetwork(THREE))
    for folder, names in (("Inc", ("network_data_params.h", "network_data.h", "network.h")), ("Src", ())):
        (app.network / folder).mkdir()
        for name in names:
            (app.network / name).rename(app.network / folder / name)
    assert cli.main(words(app, "--in-place")) == 0
    elsewhere = tmp_path / "c.json"
    (app.network / "network_c_info.json").rename(elsewhere)
    argv = [
        "tool",
        "patch",
        str(app.folder),
        "--c-info",
        str(elsewhere),
        "--headers",
        str(app.network / "Inc"),
        "--aspect-ratio",
        "crop",
    ]
    assert cli.main([*argv, "--in-place", "--check"]) == 0


def test_options_reach_the_plan(tmp_path: Path, capsys: Capture) -> None:
    app = App(tmp_path)
    other = tmp_path / "other.ld"
    (app.root / LINKER).rename(other)
    pools = tmp_path / "p.json"
    pools.write_text('{"memory": {"mempools": [{"name": "AXIRAM", "size": "200K"}]}}')
    assert "cannot read" in refused(words(app, "--in-place"), capsys)
    argv = words(app, "--in-place", "--linker-script", str(other), "--memory-pools", str(pools))
    assert cli.main([*argv, "--reserve", "AXIRAM=400K", "--reserve", "SDRAM=0"]) == 0
    out = capsys.readouterr().out
    assert "AXIRAM: 50016 of 114688 bytes (524288 less 409600 reserved, at most 204800 by the memory-pool file)" in out
    assert "SDRAM: 215552 of 33554432 bytes (33554432 less 0 reserved)" in out


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--reserve", "AXIRAM"], "MEMORY=SIZE is expected"),
        (["--reserve", "=4"], "MEMORY=SIZE is expected"),
        (["--reserve", "AXIRAM=4X"], "is '4X', not a size"),
        (["--reserve", "AXI=4"], "reserve for 'AXI', no such memory"),
        (["--list", "h747"], "no patch list 'h747'"),
        (["--aspect-ratio", "full_screen"], "aspect ratio 'full_screen' is not known"),
        (["--network", "nowhere"], "nowhere/network_c_info.json: no such file"),
        (["--linker-script", "nowhere.ld"], "nowhere.ld: cannot read"),
        (["--memory-pools", "nowhere.json"], "nowhere.json: cannot read"),
        (["--restore", "--check"], "--restore goes with neither"),
    ],
)
def test_wrong_words(more: list[str], said: str, tmp_path: Path, capsys: Capture) -> None:
    app = App(tmp_path)
    before = app.snapshot()
    assert said in refused(words(app, *more), capsys)
    assert app.snapshot() == before


def test_what_is_missing(tmp_path: Path, capsys: Capture) -> None:
    app = App(tmp_path)
    assert "--aspect-ratio is missing" in refused(["tool", "patch", str(app.folder), "--network", "x"], capsys)
    assert "--network is missing" in refused(["tool", "patch", str(app.folder), "--aspect-ratio", "fit"], capsys)
    assert "no such folder" in refused(["tool", "patch", str(tmp_path / "no"), "--restore"], capsys)
    assert "no such folder" in refused(["tool", "patch", str(tmp_path / "no"), "--aspect-ratio", "fit"], capsys)
    error = refused(["tool", "patch", str(app.network), "--aspect-ratio", "fit"], capsys)
    assert f"stm32h747i-disco wants {MAIN_H}, {MAIN_C}, {INTERFACE} in {ROOT}" in error
    for pair in (["--in-place", "--output", "x"], ["--diff", "--check"]):
        with pytest.raises(SystemExit) as end:
            cli.main(words(app, *pair))
        assert end.value.code == cli.USAGE_ERROR


def test_the_root_itself_is_an_application_too(tmp_path: Path) -> None:
    app = App(tmp_path, FakeNetwork(THREE))
    by_folder, by_root = tmp_path / "a", tmp_path / "b"
    assert cli.main(words(app, "--output", str(by_folder))) == 0
    argv = words(app, "--output", str(by_root))
    argv[2] = str(app.root)
    assert cli.main(argv) == 0
    assert tree(by_folder) == tree(by_root)


def test_a_list_of_ones_own_in_place_and_back(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another application, by data alone; --restore finds the list again from any folder."""
    app = tmp_path / "fw"
    (app / "src").mkdir(parents=True)
    (app / "src/config.h").write_text("#define GRAB RES_A /* here */\n#define GRAB_W 1\n")
    (app / "my.ld").write_text("MEMORY { RAM (rw) : o = 0x20000000, l = 1M }\nSECTIONS { .x : { *(.act_*) } > RAM }\n")
    (tmp_path / "mine.yaml").write_text(
        "schema: 1\ntitle: mine\ntarget: stm32f7\nlinker_script: my.ld\n"
        'marker: {start: "// <gen>", stop: "// </gen>"}\n'
        "camera: {resolutions: [{constant: RES_B, width: 400, height: 300, width_symbol: W_B, height_symbol: H_B}]}\n"
        'activations: {section: ".act_{pool}", symbol: "act_{pool}"}\n'
        "files:\n  - path: src/config.h\n    operations:\n"
        '      - {macro: GRAB, value: "{{ camera.constant }}"}\n      - {macro: GRAB_W, value: "{{ camera.width }}"}\n'
    )
    network = FakeNetwork().write(tmp_path / "network")
    before = tree(app)
    monkeypatch.chdir(tmp_path)
    argv = [
        "tool",
        "patch",
        "fw",
        "--network",
        str(network),
        "--aspect-ratio",
        "fit",
        "--list",
        "mine.yaml",
        "--in-place",
    ]
    assert cli.main(argv) == 0
    assert (app / "src/config.h").read_text() == "#define GRAB RES_B /* here */\n#define GRAB_W W_B\n"
    monkeypatch.chdir(app)
    assert cli.main(["tool", "patch", ".", "--restore"]) == 0
    assert tree(app) == before


# Refusals -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["STM32N6570-DK/main.c", "Inc/stm32n6xx_hal_conf.h", "STM32CubeIDE/stm32n657xx_lrun.ld"]
)
def test_an_n6_application(name: str, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "fw" / name).parent.mkdir(parents=True)
    (tmp_path / "fw" / name).write_text("")
    error = refused(["tool", "patch", str(tmp_path / "fw"), "--network", "x", "--aspect-ratio", "fit"], capsys)
    assert "an STM32N6 application is not patched: its compiler places activations at fixed addresses" in error
    assert "memory-pool file of the network instead" in error


def test_an_n6_network(tmp_path: Path, capsys: Capture) -> None:
    app = App(tmp_path)
    for network in (
        FakeNetwork(more={"environment": {"tools": [{"name": "ST.EdgeAI.Core"}, {"name": "ATONN Compiler"}]}}),
        FakeNetwork([FakePool("npuRAM4", 64, 1)]),
    ):
        network.write(app.network)
        assert "an STM32N6 application is not patched" in refused(words(app), capsys)


def test_n6_targets() -> None:
    for target in ("stm32n6", "STM32N6570"):
        with pytest.raises(NeuralArtError, match="is not patched"):
            patchlist.check_target(target)
    patchlist.check_target("stm32h7")


def test_looking_for_signs_of_an_n6_ends(tmp_path: Path) -> None:
    deep = tmp_path / "a/b/c/d/e/f"
    deep.mkdir(parents=True)
    (deep / "stm32n6xx.h").write_text("")
    assert patchlist.looks_like_n6(tmp_path) == ""
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    assert patchlist.looks_like_n6(tmp_path) == ""
    (tmp_path / "a/b/STM32N6xx").mkdir()
    assert patchlist.looks_like_n6(tmp_path) == "a/b/STM32N6xx"


def test_the_other_c_api(tmp_path: Path, capsys: Capture) -> None:
    app = App(tmp_path)
    for path in app.network.glob("*.h"):
        path.unlink()
    error = refused(words(app), capsys)
    assert "found none at all (name the folder of network_data_params.h; generate with --c-api legacy" in error
    (app.network / "network.h").write_text("#define STAI_NETWORK_ACTIVATION_1_SIZE_BYTES (50000)\n")
    error = refused(words(app), capsys)
    assert "network.h is of the C API st-ai; this application is written for the legacy API" in error
    assert "generate with --c-api legacy: from ST Edge AI Core 3.0 on st-ai is the default" in error
    (app.network / "network.h").unlink()
    info = FakeNetwork().c_info()
    info["environment"]["tools"][0]["arguments"] = "generate --target stm32h7  --c-api   st-ai"
    (app.network / "network_c_info.json").write_text(json.dumps(info))
    assert "network_c_info.json is of the C API st-ai" in refused(words(app), capsys)


def test_a_network_of_another_name(tmp_path: Path, capsys: Capture) -> None:
    app = App(tmp_path)
    (app.network / "network_c_info.json").rename(app.network / "od_c_info.json")
    assert "there is od_c_info.json: the application wants --name network" in refused(words(app), capsys)


def test_two_lists_that_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(patchlist.DATA, tmp_path / "data")
    shutil.copy(patchlist.DATA / "stm32h747i-disco.yaml", tmp_path / "data" / "twin.yaml")
    monkeypatch.setattr(patchlist, "DATA", tmp_path / "data")
    app = App(tmp_path)
    with pytest.raises(NeuralArtError, match=r"several patch lists fit: stm32h747i-disco, twin \(name one"):
        patchlist.choose_list(app.folder)
    assert patchlist.choose_list(app.folder, "twin").name == "twin"


def test_a_tree_that_must_not_be_written(tmp_path: Path, capsys: Capture) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    app = App(tmp_path)
    before = app.snapshot()
    app.root.chmod(0o555)
    try:
        assert "cannot write" in refused(words(app, "--in-place"), capsys)
        assert app.snapshot() == before
    finally:
        app.root.chmod(0o755)
