"""What scripts that patch such applications are known to get wrong, 1 to 25: each behaves as wanted here.

The numbers are those of docs/reference/patching.md.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from neuralart.errors import NeuralArtError
from neuralart.text import sizes
from neuralart_bring.linker_script.read import parse
from neuralart_bring.patching import inplace, journal, mirror, patch_values, patchlist, plan
from support.boards.h747_app import (
    APP_NETWORK_TEXT,
    INTERFACE,
    INTERFACE_TEXT,
    LINKER,
    LINKER_TEXT,
    MAIN_C,
    MAIN_C_TEXT,
    MAIN_H,
    MAIN_H_TEXT,
    ROOT,
    START,
    STOP,
    App,
    FakeNetwork,
    FakePool,
    block,
    tree,
)
from support.servers.messages import one_message

LADDER = patchlist.load("stm32h747i-disco").resolutions
# Sizes of a public header; by size, the second and the third would change places.
THREE = (FakePool("DTCMRAM", 18428, 1), FakePool("AXIRAM", 311996, 2), FakePool("SDRAM", 266256, 3))


def patched(app: App, mode: str = "fit", **more: Any) -> plan.Plan:
    return inplace.patch(app.request(mode, **more))[0]


def refused(app: App, mode: str = "fit", **more: Any) -> str:
    """The error, after which nothing at all has changed."""
    before = tree(app.folder)
    with pytest.raises(NeuralArtError) as caught:
        inplace.patch(app.request(mode, **more))
    assert tree(app.folder) == before
    one_message(str(caught.value))
    return str(caught.value)


def compiled(app: App, tmp_path: Path, code: str, mode: str = "FIT") -> None:
    """Static assertions about the patched application, by a C compiler."""
    cc = shutil.which("cc")
    if cc is None:
        pytest.skip("no C compiler for this machine")
    (tmp_path / "all.c").write_text(f'#include "{MAIN_C}"\n#include "Src/CM7/app_network.c"\n{code}\n')
    words = [
        f"-I{app.root / 'Inc/CM7'}",
        f"-I{app.root}",
        f"-I{app.network}",
        f"-DASPECT_RATIO_MODE=ASPECT_RATIO_{mode}",
    ]
    done = subprocess.run(
        [cc, "-Wall", "-Wextra", "-Werror", "-c", *words, "all.c", "-o", "all.o"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert not done.returncode, done.stderr


def test_defect_1_buffers_have_the_numbers_of_the_generator(tmp_path: Path) -> None:
    for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
        app = App(tmp_path / str(order), FakeNetwork([THREE[n] for n in order], input_pool="SDRAM"))
        patched(app)
        lines = block(app.read(MAIN_C))
        for n, name in enumerate(("DTCMRAM", "AXIRAM", "SDRAM"), 1):
            macro = f"AI_ACTIVATION_{n}_SIZE_BYTES"
            at = lines.index(f"static uint8_t NN_Activation_Buffer_{name}[{macro} + 32 - ({macro}%32)];")
            assert lines[at - 2 : at] == [
                f'__attribute__((section(".NN_Activation_Buffer_{name}")))',
                "__attribute__ ((aligned (32)))",
            ]
        # The table of handles is in the order of the numbers, too.
        assert lines[-2:] == [
            "ai_handle NN_Activation_Buffer[AI_ACTIVATION_BUFFERS_COUNT] = { NN_Activation_Buffer_DTCMRAM, "
            "NN_Activation_Buffer_AXIRAM, NN_Activation_Buffer_SDRAM, };",
            "",
        ]
        compiled(
            app,
            app.folder,
            '_Static_assert(sizeof NN_Activation_Buffer_DTCMRAM >= 18428, "1");'
            '_Static_assert(sizeof NN_Activation_Buffer_AXIRAM >= 311996, "2");'
            '_Static_assert(sizeof NN_Activation_Buffer_SDRAM >= 266256, "3");',
        )


def test_defect_1_buffers_without_known_numbers_are_refused(tmp_path: Path) -> None:
    two = FakeNetwork([FakePool("AXIRAM", 64, 2), FakePool("SDRAM", 64, 1)])
    app = App(tmp_path, two)
    assert "pools AXIRAM, SDRAM use 64 bytes each" in refused(app)
    two.write(app.network, network_c=True)
    patched(app)
    assert "{ NN_Activation_Buffer_SDRAM, NN_Activation_Buffer_AXIRAM, }" in app.read(MAIN_C)
    stale = FakeNetwork([FakePool("AXIRAM", 65, 1), FakePool("SDRAM", 64, 2)]).params_h()
    (app.network / "network_data_params.h").write_text(stale)
    assert "(1: 65, 2: 64 bytes) are not the pools" in refused(app)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_defect_2_input_macros_name_the_buffer_that_holds_the_input(number: int, tmp_path: Path) -> None:
    app = App(tmp_path, FakeNetwork(THREE, input_pool=THREE[number - 1].name))
    patched(app)
    assert block(app.read(INTERFACE)) == [
        f"#define AI_NETWORK_INPUTS_IN_ACTIVATIONS_INDEX {number - 1}",
        f"#define AI_NETWORK_INPUTS_IN_ACTIVATIONS_SIZE AI_ACTIVATION_{number}_SIZE_BYTES",
        "",
    ]
    size = THREE[number - 1].used
    compiled(app, app.folder, f'_Static_assert(AI_NETWORK_INPUTS_IN_ACTIVATIONS_SIZE == {size}, "");')


def test_defect_2_input_of_the_application_gets_no_macros(tmp_path: Path) -> None:
    app = App(tmp_path, FakeNetwork(THREE, input_pool="none"))
    notes = patched(app).notes
    assert block(app.read(INTERFACE)) == [""]
    assert any("the network's input lies in no activation buffer" in note for note in notes)
    uses = [note for note in notes if "is defined no longer" in note]
    line = APP_NETWORK_TEXT.split("\n").index("  /* AI_NETWORK_INPUTS_IN_ACTIVATIONS_INDEX */") + 2
    assert len(uses) == 2 and all(
        f"app_network.c:{line}: uses AI_NETWORK_INPUTS_IN_ACTIVATIONS_" in each for each in uses
    )


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (START.strip(), "looks like it: '/*** @GENERATED CODE START - DO NOT TOUCH@ ***/' (another indentation)"),
        (f"{START} ", "(blanks at its end)"),
        (START.replace("CODE", "C0DE"), "(another text)"),
        ("", "no line looks like it"),
    ],
)
@pytest.mark.parametrize("path", [MAIN_C, INTERFACE])
def test_defect_3_marker_with_other_blanks_is_an_error_that_shows_the_line(
    path: str, written: str, said: str, tmp_path: Path
) -> None:
    app = App(tmp_path)
    app.edit(path, START, written)
    error = refused(app)
    assert said in error and "'␣/*** @GENERATED CODE START - DO NOT TOUCH@ ***/' is missing" in error
    assert error.startswith(f"{app.root / path}: ")


def test_defect_3_crlf_is_accepted_and_kept(tmp_path: Path) -> None:
    lf = ((MAIN_C, MAIN_C_TEXT), (MAIN_H, MAIN_H_TEXT), (INTERFACE, INTERFACE_TEXT))
    texts = {f"{ROOT}/{path}": text.replace("\n", "\r\n") for path, text in lf}
    app, plain = App(tmp_path / "crlf", FakeNetwork(THREE), texts), App(tmp_path / "lf", FakeNetwork(THREE))
    before = app.snapshot()
    patched(app, "crop")
    patched(plain, "crop")
    for path in (MAIN_C, MAIN_H, INTERFACE):
        text = app.read(path)
        assert text.count("\r\n") == text.count("\n") == text.count("\r")
        assert text.replace("\r\n", "\n") == plain.read(path)
    assert inplace.patch(app.request("crop"))[1] == []
    inplace.restore(app.root)
    assert app.snapshot() == before


@pytest.mark.parametrize("path", [MAIN_C, INTERFACE])
def test_defect_4_start_marker_without_stop_is_refused(path: str, tmp_path: Path) -> None:
    app = App(tmp_path)
    line = app.read(path).split("\n").index(START) + 1
    app.edit(path, STOP, "")
    assert f"the block that starts in line {line} has no end" in refused(app)


def test_defect_5_several_generated_blocks_in_one_file(tmp_path: Path) -> None:
    app = App(tmp_path)
    app.edit(MAIN_C, STOP, f"{STOP}\n{START}\n{STOP}")
    assert "stands there 2 times, in lines" in refused(app)
    again = App(tmp_path / "again")
    again.edit(MAIN_C, START, f"{START}\n{START}")
    assert "'␣/*** @GENERATED CODE START - DO NOT TOUCH@ ***/' stands there 2 times" in refused(again)


@pytest.mark.parametrize("path", [MAIN_C, MAIN_H, INTERFACE])
def test_defect_6_a_file_that_ends_in_a_block_changes_no_other_file(path: str, tmp_path: Path) -> None:
    """Whatever one file is like, no other suffers: a file that ends within a block empties none behind it."""
    app = App(tmp_path)
    text = app.read(path)
    (app.root / path).write_text(text[: text.index("#define CAM_RES_HEIGHT" if path == MAIN_H else STOP)])
    refused(app)
    (app.root / path).write_text("")
    refused(app)


@pytest.mark.parametrize(
    ("width", "height", "pixels"), [(200, 100, 320 * 320), (320, 320, 320 * 320), (321, 8, 640 * 640)]
)
def test_defect_7_padding_counts_the_square_that_is_captured(
    width: int, height: int, pixels: int, tmp_path: Path
) -> None:
    app = App(tmp_path, FakeNetwork(shape=(height, width, 3)))
    made = patched(app, "padding")
    assert made.decision.images["captured"].bytes == pixels * 2
    compiled(app, tmp_path, f'_Static_assert(sizeof CapturedImage_Buffer == {pixels * 2}, "");', "PADDING")
    # 320 x 80 x 2 bytes less would be thought to fit where they do not.
    app2 = App(tmp_path / "tight", FakeNetwork([FakePool("AXIRAM", 450_560 - 320 * 240 * 2 - 32, 1)], (8, 8, 3)))
    assert patched(app2, "padding").decision.images["captured"].region == "SDRAM"
    assert patched(app2, "fit").decision.images["captured"].region == "AXIRAM"


@pytest.mark.parametrize("mode", patch_values.MODES)
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(("width", "height"), [(224, 224), (33, 17), (400, 300), (1, 1)])
def test_defect_8_buffers_have_the_size_of_the_header_formula(
    mode: str, channels: int, width: int, height: int, tmp_path: Path
) -> None:
    app = App(tmp_path, FakeNetwork(shape=(height, width, channels)))
    made = patched(app, mode).decision
    checks = "".join(
        f'_Static_assert(sizeof {symbol} == {made.images[name].bytes}, "{name}");'
        for name, symbol in (("captured", "CapturedImage_Buffer"), ("rescaled", "RescaledImage_Buffer"))
    )
    checks += f'_Static_assert(sizeof NN_Activation_Buffer_AXIRAM == {made.activations[0].bytes}, "activations");'
    compiled(app, tmp_path, checks, mode.upper())


@pytest.mark.parametrize("channels", [2, 4, 16])
def test_defect_9_numbers_of_channels_that_are_no_picture_are_refused(channels: int, tmp_path: Path) -> None:
    app = App(tmp_path, FakeNetwork(shape=(96, 96, channels)))
    assert f"the network's input has {channels} channels" in refused(app)


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((96, 200, 3), ("H", "W", "CH")),
        ((3, 96, 200), ("CH", "H", "W")),
        ((1, 3, 96, 200), ("BATCH", "CH", "H", "W")),
        (("n", 96, 200, 3), ("BATCH", "H", "W", "CH")),
    ],
)
def test_defect_10_axes_are_read_by_name(shape: Any, axes: Any, tmp_path: Path) -> None:
    made = patched(App(tmp_path, FakeNetwork(shape=shape, axes=axes)))
    rescaled = made.decision.images["rescaled"]
    assert (rescaled.width, rescaled.height, made.decision.camera.constant) == (200, 96, "CAMERA_R320x240")


def test_defect_10_open_sizes_are_refused(tmp_path: Path) -> None:
    network = FakeNetwork(shape=("height", 96, 3))
    app = App(tmp_path, network)
    assert "has shape [?, 96, 3]: the size of axis H is not fixed" in refused(app)


def test_defect_10_header_and_c_info_must_agree(tmp_path: Path) -> None:
    app = App(tmp_path, FakeNetwork(shape=(96, 200, 3)))
    (app.network / "network.h").write_text(FakeNetwork(shape=(200, 96, 3)).network_h())
    assert "the input is 200x96, 3 channels" in refused(app)


@pytest.mark.parametrize(("mode", "most"), [("crop", "480x480"), ("padding", "640x640"), ("fit", "640x480")])
def test_defect_11_input_that_is_too_large_is_refused_before_anything_is_written(
    mode: str, most: str, tmp_path: Path
) -> None:
    app = App(tmp_path, FakeNetwork(shape=(700, 650, 3)))
    error = refused(app, mode)
    assert "650x700 pixels exceeds what the camera gives" in error and f"at most {most}" in error


def test_defect_12_crop_notes_or_sets_the_origin(tmp_path: Path) -> None:
    app = App(tmp_path)
    notes = [note for note in patched(app, "crop").notes if "left edge" in note]
    assert len(notes) == 1 and "column 40, (QVGA_RES_WIDTH - QVGA_RES_HEIGHT) / 2" in notes[0]
    assert not [note for note in patched(app, "fit").notes if "left edge" in note]

    text = MAIN_H_TEXT.replace("#define CAM_RES_HEIGHT", "#define CAM_CROP_ORIGIN_X (0)\n#define CAM_RES_HEIGHT")
    knows = App(tmp_path / "knows", FakeNetwork(shape=(300, 300, 1)), {f"{ROOT}/{MAIN_H}": text})
    assert not [note for note in patched(knows, "crop").notes if "left edge" in note]
    assert "#define CAM_CROP_ORIGIN_X ((VGA_RES_WIDTH - VGA_RES_HEIGHT) / 2)\n" in knows.read(MAIN_H)
    compiled(knows, tmp_path, '_Static_assert(CAM_CROP_ORIGIN_X == 80, "");', "CROP")
    patched(knows, "fit")
    assert "#define CAM_CROP_ORIGIN_X (0)\n" in knows.read(MAIN_H)


def test_defect_13_pool_without_a_section_in_the_linker_script_is_refused(tmp_path: Path) -> None:
    app = App(tmp_path, FakeNetwork([FakePool("AXIRAM", 64, 1), FakePool("SRAM9", 128, 2)]))
    error = refused(app)
    assert "no output section takes '.NN_Activation_Buffer_SRAM9'" in error
    assert "it knows .NN_Activation_Buffer_AXIRAM, .NN_Activation_Buffer_DTCMRAM" in error and LINKER in error
    flash = App(tmp_path / "flash", FakeNetwork([FakePool("FLASH", 64, 1)]))
    assert "which is not for variables" in refused(flash)


def test_defect_13_every_section_that_a_patch_list_writes_is_checked(tmp_path: Path) -> None:
    app = App(tmp_path)
    text = (patchlist.DATA / "stm32h747i-disco.yaml").read_text()
    (tmp_path / "mine.yaml").write_text(
        text.replace("{% if activations %}", '__attribute__((section(".Orphan"))) int x;{% if activations %}')
    )
    error = refused(app, patches=patchlist.load(str(tmp_path / "mine.yaml")))
    assert "no output section takes '.Orphan'" in error and "mine.yaml:" in error


def test_defect_14_two_pools_with_one_name_in_c_are_refused(tmp_path: Path) -> None:
    app = App(tmp_path, FakeNetwork([FakePool("heap_overlay_pool", 64, 1), FakePool("AXIRAM", 128, 2)]))
    error = refused(app)
    assert "pools 'heap_overlay_pool' and 'AXIRAM' would both be the buffer NN_Activation_Buffer_AXIRAM" in error


def test_defect_15_macros_are_added_for_more_than_three_pools(tmp_path: Path) -> None:
    five = [
        FakePool(name, 64 * n, n) for n, name in enumerate(("SDRAM", "SDRAM_2", "AXIRAM", "DTCMRAM", "my_pool_1"), 1)
    ]
    app = App(tmp_path, FakeNetwork(five, input_pool="my_pool_1"))
    patched(app)
    assert block(app.read(INTERFACE)) == [
        "#define AI_ACTIVATION_4_SIZE_BYTES AI_NETWORK_DATA_ACTIVATION_4_SIZE",
        "#define AI_ACTIVATION_5_SIZE_BYTES AI_NETWORK_DATA_ACTIVATION_5_SIZE",
        "#define AI_NETWORK_INPUTS_IN_ACTIVATIONS_INDEX 4",
        "#define AI_NETWORK_INPUTS_IN_ACTIVATIONS_SIZE AI_ACTIVATION_5_SIZE_BYTES",
        "",
    ]
    compiled(app, tmp_path, '_Static_assert(sizeof NN_Activation_Buffer / sizeof (void *) == 5, "");')
    # What the block itself defines does not count as defined: the next patch writes the same.
    assert inplace.patch(app.request())[1] == []


def test_defect_16_pool_names_are_made_fit_for_c(tmp_path: Path) -> None:
    app = App(tmp_path, FakeNetwork([FakePool("my pool-1", 64, 1)]))
    made = patched(app)
    assert 'section(".NN_Activation_Buffer_my_pool_1")' in app.read(MAIN_C)
    assert "pool 'my pool-1' is called my_pool_1 in C and in sections" in made.notes
    compiled(app, tmp_path, "")
    same = App(tmp_path / "same", FakeNetwork([FakePool("my pool-1", 64, 1), FakePool("my-pool 1", 96, 2)]))
    assert "pools 'my pool-1' and 'my-pool 1' would both be" in refused(same)
    quote = App(tmp_path / "quote", FakeNetwork([FakePool('x")))\n#error "', 64, 1)]))
    assert "no output section takes '.NN_Activation_Buffer_x______error__'" in refused(quote)


def test_defect_17_network_without_activations_gets_one_null_handle(tmp_path: Path) -> None:
    app = App(tmp_path, FakeNetwork([]))
    made = patched(app)
    assert block(app.read(MAIN_C)) == ["ai_handle NN_Activation_Buffer[1] = { 0, };", ""]
    assert made.decision.activations == () and made.decision.input is None


@pytest.mark.parametrize(
    ("pool", "capacity", "length", "reserve"),
    [
        ("AXIRAM", 450_560, 524_288, 73_728),
        ("DTCMRAM", 122_880, 131_072, 8_192),
        ("SDRAM", 20_971_520, 33_554_432, 12_582_912),
    ],
)
def test_defect_18_every_memory_has_a_budget(
    pool: str, capacity: int, length: int, reserve: int, tmp_path: Path
) -> None:
    def app_of(used: int) -> App:
        return App(tmp_path / str(used), FakeNetwork([FakePool(pool, used, 1)], shape=(8, 8, 1)))

    regions = {each.name: each for each in patched(app_of(capacity - 1)).decision.regions}
    assert regions[pool].capacity == capacity >= regions[pool].used
    error = refused(app_of(capacity))
    assert f"(pool {pool}) needs {capacity + 32} bytes in {pool}, {capacity} of {capacity} are left" in error
    assert f"({length} less {reserve} reserved" in error


def test_defect_18_a_memory_pool_file_limits_and_never_extends(tmp_path: Path) -> None:
    app = App(tmp_path, FakeNetwork([FakePool("AXIRAM", 440_000, 1)]))
    pools = {"memory": {"mempools": [{"name": "AXIRAM", "size": {"value": "415", "magnitude": "KBYTES"}}]}}
    (app.folder / "mempools_STM32H747I-DISCO.json").write_text(json.dumps(pools))
    assert "424960 of 424960 are left" in refused(app)
    pools["memory"]["mempools"][0]["size"]["value"] = "4000"
    (app.folder / "mempools_STM32H747I-DISCO.json").write_text(json.dumps(pools))
    assert patched(app).decision.regions[0].capacity == 450_560


def test_defect_19_a_buffer_that_fits_exactly_stays_in_its_memory(tmp_path: Path) -> None:
    image = 320 * 240 * 2
    used = 450_560 - image - 224 * 224 * 2 - 32
    app = App(tmp_path, FakeNetwork([FakePool("AXIRAM", used, 1)]))
    made = patched(app).decision
    assert [each.region for each in made.images.values()] == ["AXIRAM", "AXIRAM"]
    assert made.regions[0].used == made.regions[0].capacity == 450_560
    made = patched(app, reserve={"AXIRAM": 73_728 + 1}).decision
    assert [each.region for each in made.images.values()] == ["AXIRAM", "SDRAM"]
    made = patched(app, reserve={"AXIRAM": 73_728 + image}).decision
    assert [each.region for each in made.images.values()] == ["SDRAM", "AXIRAM"]


def test_defect_20_all_files_are_patched_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last file cannot be patched: the first is as it was, no file was put beside it; permissions stay."""
    app = App(tmp_path, FakeNetwork(THREE))
    (app.root / MAIN_H).chmod(0o640)
    before = app.snapshot()
    app.edit(INTERFACE, STOP, "")
    refused(app, "crop")
    app.edit(INTERFACE, "#endif", f"{STOP}\n#endif")
    (app.network / "network_c_info.json").rename(app.network / "x")
    assert "no such file" in refused(app, "crop")
    (app.network / "x").rename(app.network / "network_c_info.json")
    (app.root / INTERFACE).write_text(INTERFACE_TEXT)

    real = journal.replace

    def fails(path: Path, target: Path) -> None:
        if target.name == "ai_interface.h" and path.parent.name == "new":
            raise OSError(28, "No space left on device", str(path))
        real(path, target)

    monkeypatch.setattr(journal, "replace", fails)
    with pytest.raises(NeuralArtError, match="No space left on device; all files are as they were"):
        patched(app, "crop")
    assert app.snapshot() == before
    monkeypatch.undo()
    patched(app, "crop")
    assert (app.root / MAIN_H).stat().st_mode & 0o777 == 0o640


def test_defect_21_the_tree_of_the_user_is_not_changed(tmp_path: Path) -> None:
    app = App(tmp_path, FakeNetwork(THREE))
    other = FakeNetwork([FakePool("SDRAM", 64, 1)], shape=(300, 300, 1)).write(tmp_path / "other")
    before = app.snapshot()
    mirror.write(plan.make(app.request("crop")), tmp_path / "one")
    alone = tree(tmp_path / "one")
    mirror.write(
        plan.make(app.request("crop", network=plan.NetworkFiles.in_folder(other, "network"))), tmp_path / "two"
    )
    assert app.snapshot() == before
    assert tree(tmp_path / "one") == alone  # models do not leak into each other
    assert "NN_Activation_Buffer_AXIRAM" not in (tmp_path / "two" / MAIN_C).read_text()
    assert sorted(alone) == sorted(
        ["patched.json", *(path for path in before_paths(before) if path.startswith(("Inc/CM7", "Src/CM7")))]
    )


def before_paths(snapshot: dict[str, Any]) -> list[str]:
    return [path.removeprefix(f"{ROOT}/") for path in snapshot]


def test_defect_22_files_are_written_only_when_different(tmp_path: Path) -> None:
    app = App(tmp_path, FakeNetwork())
    out = tmp_path / "out"
    patched(app, "crop")
    mirror.write(plan.make(app.request("crop")), out)

    def stamps() -> dict[str, int]:
        return {str(path): path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}

    for path in tmp_path.rglob("*"):
        if path.is_file():
            os.utime(path, (1, 1))
    before = stamps()
    assert inplace.patch(app.request("crop"))[1] == []
    assert mirror.write(plan.make(app.request("crop")), out) == []
    assert stamps() == before
    # Another mode: one header changes, nothing else is touched.
    assert inplace.patch(app.request("fit"))[1] == [MAIN_H]
    assert {
        path for path, stamp in stamps().items() if before.get(path) != stamp and Path(path).suffix in (".c", ".h")
    } == {str(app.root / MAIN_H)}
    assert mirror.write(plan.make(app.request("fit")), out) == [MAIN_H, "patched.json"]


def test_defect_23_missing_arguments_are_named(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="aspect_ratio"):
        plan.PatchRequest(
            tmp_path, plan.NetworkFiles(tmp_path, tmp_path, tmp_path), patches=patchlist.load("stm32h747i-disco")
        )  # type: ignore[call-arg]


def test_defect_24_macros_are_found_as_the_compiler_finds_them(tmp_path: Path) -> None:
    text = MAIN_H_TEXT.replace(
        "#define CAM_RES_WIDTH (QVGA_RES_WIDTH)\n",
        "// #define CAM_RES_WIDTH (1)\n"
        'extern const char *s; // "#define CAM_RES_WIDTH (2)"\n'
        "#if 0\n#define CAM_RES_WIDTH (3)\n#endif\n"
        "#define CAM_RES_WIDTH_MAX (4)\n"
        "  #\tdefine  CAM_RES_WIDTH\t(QVGA_RES_WIDTH)  /* kept */ // this, too\n",
    )
    app = App(tmp_path, texts={f"{ROOT}/{MAIN_H}": text})
    patched(app, "crop")
    assert app.read(MAIN_H) == text.replace("CAM_RES_WIDTH\t(QVGA_RES_WIDTH)", "CAM_RES_WIDTH\t(QVGA_RES_HEIGHT)")
    twice = App(tmp_path / "twice")
    twice.edit(
        MAIN_H, "#define CAM_RES_HEIGHT (", "#ifdef X\n#define CAM_RES_HEIGHT (8)\n#endif\n#define CAM_RES_HEIGHT ("
    )
    assert "CAM_RES_HEIGHT is defined 2 times" in refused(twice)
    gone = App(tmp_path / "gone")
    gone.edit(MAIN_H, "#define CAMERA_RESOLUTION", "#define CAMERA_RESOLUTON")
    assert "no #define CAMERA_RESOLUTION found (did you mean 'CAMERA_RESOLUTON'?)" in refused(gone)


def test_defect_25_units_of_sizes(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text('{"memory": {"mempools": [{"name": "AXIRAM", "size": {"value": "440", "magnitude": "KBYTES"}}]}}')
    assert plan.read_pool_sizes(path) == {"AXIRAM": 450_560}
    assert (sizes.parse("8B", ""), sizes.parse("1024KB", ""), sizes.parse("0KB", "")) == (8, 1_048_576, 0)
    assert parse(LINKER_TEXT.encode(), "a").memory("AXIRAM").length == 524_288


@pytest.mark.parametrize("mode", patch_values.MODES)
def test_defect_25_patching_twice_changes_nothing(mode: str, tmp_path: Path) -> None:
    app = App(tmp_path, FakeNetwork(THREE))
    patched(app, mode)
    once = app.snapshot()
    for _ in range(3):
        assert inplace.patch(app.request(mode))[1] == []
        assert app.snapshot() == once
    # Through other modes and networks and back.
    other = FakeNetwork([FakePool("SDRAM", 64, 1)], shape=(300, 300, 1)).write(tmp_path / "other")
    patched(app, "crop", network=plan.NetworkFiles.in_folder(other, "network"))
    patched(app, mode)
    assert app.snapshot() == once
