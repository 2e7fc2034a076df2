"""``env.PatchedSources`` in a consumer's build: copies are compiled, originals are neither touched nor read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.boards.h747_app import START, STOP, tree
from support.projects.dependencies import bypasses
from support.projects.patched_project import APP, KEYWORDS, write_project
from support.projects.sconsproject import Project, copy_built

pytestmark = [pytest.mark.arm, pytest.mark.long]

OBJECTS = {"build/obj/main.o", "build/obj/app_network.o"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = write_project(tmp_path_factory.mktemp("camera") / "consumer")
    project.run()
    return project


@pytest.fixture
def built(made: Project, tmp_path: Path) -> Project:
    return copy_built(made, tmp_path / "a product")


def copies(project: Project) -> Path:
    (found,) = (project.root / "build" / "patched").iterdir()
    return found


def patch(project: Project) -> tuple[str, str]:
    return ("PATCH", copies(project).relative_to(project.root).as_posix())


def compiled(*names: str) -> set[tuple[str, str]]:
    return {("CC", f"build/obj/{name}.o") for name in names}


def bypassed(project: Project) -> dict[str, list[str]]:
    """Originals that the compiler read, by object."""
    folders = json.loads((copies(project) / "patched.json").read_text("utf-8"))["folders"]
    deps = {path.name: path.read_text("utf-8") for path in project.path("build/obj").glob("*.d")}
    return {name: bypasses(text, project.path(APP), folders, project.root) for name, text in sorted(deps.items())}


def test_the_copies_are_compiled_and_no_original_is_reached(made: Project) -> None:
    assert bypassed(made) == {"app_network.d": [], "main.d": []}
    assert f"{patch(made)[1]}/Inc/CM7/main.h" in made.path("build/obj/main.d").read_text("utf-8")
    made.up_to_date()


def test_the_proof_would_find_an_original(built: Project) -> None:
    built.edit("SConstruct", "paths = [", f'paths = ["{APP}/Inc/CM7", ')
    built.run()
    assert "Inc/CM7/main.h" in bypassed(built)["main.d"]


def test_the_application_is_as_it_was(made: Project, tmp_path: Path) -> None:
    fresh = write_project(tmp_path / "fresh")
    assert tree(fresh.path("app")) == tree(made.path("app"))


def test_what_was_made_can_be_removed(built: Project) -> None:
    before = tree(built.path("app"))
    built.run("-c")
    assert [path for path in built.path("build/patched").rglob("*") if path.is_file()] == []
    assert tree(built.path("app")) == before


def test_an_edited_original(built: Project) -> None:
    built.edit(f"{APP}/Src/CM7/app_network.c", "* 1000", "* 100")
    assert built.run().commands == {patch(built), *compiled("app_network")}
    built.up_to_date()


def test_an_edited_header(built: Project) -> None:
    built.edit(f"{APP}/Inc/CM7/main.h", "(320)", "(320 + 0)")
    assert built.run().commands == {patch(built), *compiled("main", "app_network")}


def test_new_weights_patch_nothing(built: Project) -> None:
    from support.models import tflite_edit

    tflite_edit.change_weight(built.path("digits.tflite"))
    assert built.run().tags == {"NETWORK"}


def test_another_mode(built: Project) -> None:
    built.edit("SConstruct", '"fit"', '"crop"')
    result = built.run()
    assert patch(built) in result.commands
    # main.c writes the same blocks: it is compiled again because main.h changed, and so is whoever includes that.
    assert {target for tag, target in result.commands if tag == "CC"} == OBJECTS
    assert "#define CAM_RES_WIDTH (QVGA_RES_HEIGHT)" in (copies(built) / "Inc/CM7/main.h").read_text("utf-8")
    built.up_to_date()


def test_files_come_and_go(built: Project) -> None:
    built.path(f"{APP}/Src/CM7/extra.c").write_text("int extra;\n", "utf-8")
    assert built.run().commands == {patch(built), *compiled("extra")}
    built.up_to_date()
    built.path(f"{APP}/Src/CM7/extra.c").unlink()
    assert built.run().commands == {patch(built)}
    assert not (copies(built) / "Src/CM7/extra.c").exists()
    built.up_to_date()


def test_a_deleted_copy_comes_back(built: Project) -> None:
    (copies(built) / "Src/CM7/main.c").unlink()
    assert built.run().commands == {patch(built)}, "the same bytes came back"
    built.up_to_date()


def test_files_beside_the_folders_count(built: Project) -> None:
    built.edit(f"{APP}/STM32CubeIDE/CM7/STM32H747XIHx_CM7.ld", "LENGTH = 32M", "LENGTH = 31M")
    assert built.run().commands == {patch(built)}
    built.edit(f"{APP}/STM32CubeIDE/CM7/STM32H747XIHx_CM7.ld", "*(.NN_Activation_Buffer_DTCMRAM)", "")
    failed = built.run(code=2)
    (said,) = [line for line in failed.errors if ".NN_Activation_Buffer_DTCMRAM" in line]
    assert APP in said


def test_a_copy_that_was_changed_by_hand(built: Project) -> None:
    target = copies(built) / "Src/CM7/main.c"
    text = target.read_text("utf-8")
    target.write_text(text.replace("aligned (32)))\nstatic uint8_t NN", "aligned (64)))\nstatic uint8_t NN"), "utf-8")
    built.edit(f"{APP}/Src/CM7/main.c", "/* Pictures. */", "/* Frames. */")
    failed = built.run(code=2)
    (said,) = [line for line in failed.errors if "changed by hand" in line]
    assert "--force" not in said and f"delete {patch(built)[1]}" in said
    target.unlink()
    built.run()
    assert "/* Frames. */" in target.read_text("utf-8")


def test_an_original_that_was_changed_by_hand(built: Project) -> None:
    text = built.path(f"{APP}/Inc/CM7/ai_interface.h").read_text("utf-8")
    start, stop = text.index(START), text.index(STOP)
    assert start < stop
    built.edit(f"{APP}/Inc/CM7/ai_interface.h", STOP, "")
    failed = built.run(code=2)
    assert [line for line in failed.errors if f"{APP}/Inc/CM7/ai_interface.h" in line], failed.err


def test_a_generated_header_takes_the_place_of_the_applications(built: Project) -> None:
    built.edit(
        "SConstruct",
        "copy = env",
        'header = env.AppConfig(net, use_case="image_classification", class_names=[str(n) for n in range(10)],\n'
        '    color_mode="grayscale", aspect_ratio="padding", generation="h7", folder="build/inc")\ncopy = env',
    )
    built.edit("SConstruct", KEYWORDS, "app_config=header")
    result = built.run()
    assert ("HEADER", "build/inc/ai_model_config.h") in result.commands
    assert not (copies(built) / "Inc/CM7/ai_model_config.h").exists()
    assert "build/inc/ai_model_config.h" in built.path("build/obj/main.d").read_text("utf-8")
    assert bypassed(built) == {"app_network.d": [], "main.d": []}
    assert json.loads((copies(built) / "patched.json").read_text("utf-8"))["camera"]["mode"] == "padding"
    built.up_to_date()
    built.edit("SConstruct", "app_config=header", 'app_config=header, aspect_ratio="crop"')
    failed = built.run(code=2)
    assert "aspect_ratio is crop here, and padding in app_config" in failed.err


def test_a_folder_of_a_network_made_elsewhere(built: Project) -> None:
    built.edit("SConstruct", 'PatchedSources("app", net,', 'PatchedSources("app", "network", folder="out",')
    built.edit("SConstruct", "[*copy.include_dirs,", '[*copy.include_dirs, "network",')
    built.run()
    assert json.loads(built.path("out/patched.json").read_text("utf-8"))["activations"][0]["bytes"] == 50_016
    text = built.path("network/network_data_params.h").read_text("utf-8").replace("50000", "60000")
    built.path("network/network_data_params.h").write_text(text, "utf-8")
    failed = built.run(code=2)
    assert any("60000" in line and "50000" in line for line in failed.errors), failed.err


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (KEYWORDS, "", "SConstruct:10: 'aspect_ratio' is missing"),
        (KEYWORDS, 'aspect_ratio="fill"', "PatchedSources: aspect_ratio: 'fill' is not allowed"),
        (KEYWORDS, f"{KEYWORDS}, reserv={{}}", "unknown key 'reserv' (did you mean 'reserve'?"),
        (KEYWORDS, f'{KEYWORDS}, reserve={{"AXIRAM": "many"}}', "reserve.AXIRAM: must be a number"),
        (KEYWORDS, f'{KEYWORDS}, list="f4"', "no patch list 'f4'"),
        (KEYWORDS, f'{KEYWORDS}, list="own.yaml"', "patch: list 'own.yaml' does not exist"),
        (KEYWORDS, f'{KEYWORDS}, linker_script="x.ld"', "patch: linker_script 'x.ld' does not exist"),
        (KEYWORDS, f'{KEYWORDS}, memory_pools="x.json"', "patch: memory_pools 'x.json' does not exist"),
        (KEYWORDS, f"{KEYWORDS}, app_config=5", "app_config takes what AppConfig returned, not 5"),
        (KEYWORDS, f'{KEYWORDS}, folder="/x"', "folder: a folder below the top folder, not '/x'"),
        ('Sources("app"', 'Sources("nowhere"', "nowhere: no such folder"),
        ('Sources("app"', 'Sources("digits.tflite"', "digits.tflite is a file, not a folder"),
        ('Sources("app"', 'Sources("app/Application"', "no patch list fits this application"),
        ('Network("network"', 'Network("digits"', "written for a network called 'network', this one is 'digits'"),
        ('"app", net', '"app", 5', "the network is what Network returned, or a folder, not 5"),
        ('"app", net', '"app", "nowhere"', "nowhere/network_c_info.json: no such file"),
        ("stm32h747i-disco", "stm32n6570-dk", "an STM32N6 application is not patched"),
        ("stm32h747i-disco", "mps3-an547", "board mps3-an547 has an NPU: no application is patched for it"),
        ('disco")', 'disco", profile="x.json")', "'profile' means nothing for board stm32h747i-disco"),
        ('disco")', 'disco", options=["--binary"])', "options: '--binary' is not allowed here"),
        ('disco")', 'disco", mpool="x.json")', "memory-pool file 'x.json' does not exist"),
    ],
)
def test_wrong_keywords(made: Project, tmp_path: Path, old: str, new: str, words: str) -> None:
    project = copy_built(made, tmp_path / "wrong")
    project.edit("SConstruct", old, new)
    failed = project.run(code=2)
    assert words in failed.errors[0] and len(failed.errors) == 2, failed.err


def test_the_legacy_api_cannot_be_turned_off(built: Project) -> None:
    built.edit("SConstruct", 'disco")', 'disco", options=["--c-api", "st-ai"])')
    failed = built.run(code=2)
    assert any("--c-api" in line and "st-ai" in line for line in failed.errors), failed.err
