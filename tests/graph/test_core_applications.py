"""``env.AppConfig``, ``env.PatchedSources`` and networks for the core: files, dependencies, what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import SCons.Errors

from neuralart.app_config import generate
from neuralart.app_config.kinds import KINDS
from neuralart.config.app_config import AppConfig
from neuralart.config.application import ELF, MAKE, SOURCES, ApplicationConfig, ExternalConfig, SourcesConfig
from neuralart.config.patch import PatchConfig
from neuralart.config.types import NetworkConfig, VariantConfig
from neuralart.resources import board_data_dir
from neuralart.scons.network import plan
from neuralart.text.values import Location
from neuralart.toolchain import Toolchain
from neuralart_reference.cpu import compile as cpu_compile
from support.boards.h747_app import ROOT, App
from support.models.app_configs import Case, possible, write_application
from support.projects import graphs
from support.projects.appconfig_project import FILES

MODEL = "models/digits.tflite"
N6, H7 = "stm32n6570-dk", "stm32h747i-disco"
POSE = {"use_case": "pose_estimation", "model_type": "movenet", "confidence_thresh": 0.4}
FACES = {
    "use_case": "face_detection",
    "confidence_thresh": 0.6,
    "nms_thresh": 0.3,
    "max_detection_boxes": 10,
    "generation": "n6-v3",
}


def depends(node: Any) -> list[str]:
    return [str(each) for each in node.depends]


# ---- networks for the core


def test_files_of_a_network_for_the_core(env: Any) -> None:
    net = env.Network("network", model=MODEL, board=H7)
    names = [str(node).removeprefix(f"{net.folder}/") for node in net.files]
    plain = {"network.json", "manifest.json", "network_c_info.json", "network_generate_report.txt", "provenance.txt"}
    assert set(names) == {*cpu_compile.c_names("network"), *plain}, "those that test_cpu_compile sees"
    assert [set(part) for part in plan.cpu_file_names("network")][2] == plain
    argv = graphs.command(net.facts)
    assert argv[argv.index("--target") + 1] == "stm32h7"
    assert argv[argv.index("--c-api") + 1] == "legacy"
    assert argv[argv.index("--memory-pool") + 1].endswith("boards/data/pools/stm32h747i-disco.json")
    assert not {"--initializers", "--mpool", "--st-neural-art"} & set(argv)
    assert [Path(str(node)).name for node in net.c] == ["network.c", "network_data.c", "network_data_params.c"]
    kernels = {Path(str(node)).name for node in net.runtime_sources}
    assert {"legacy_network.c", "conv2d.c"} <= kernels and "ll_aton_runtime.c" not in kernels


def test_a_memory_pool_file_of_the_users_may_be_built(env: Any, tree: Path) -> None:
    env.Command("made.json", [], "x")
    net = env.Network("network", model=MODEL, board=H7, mpool="made.json")
    argv = graphs.command(net.facts)
    assert argv[argv.index("--memory-pool") + 1] == "made.json"
    assert "made.json" in graphs.names(net.facts.sources)
    assert net.folder != env.Network("network", model=MODEL, board=H7).folder


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"profile": "x.json"}, "'profile' means nothing for board stm32h747i-disco"),
        ({"initializers": ["a"]}, "'initializers' means nothing for board"),
        ({"strategies": {"a": "link"}}, "'strategies' means nothing for board"),
        ({"options": ["--memory-pool=x"]}, "'--memory-pool' is not allowed here (use the key 'mpool')"),
        ({"app_config": 1}, "unknown key 'app_config' in networks."),
        ({"dispatch_weights": {"a b": 1}}, "the key must be a section of the linker script"),
        ({"dispatch_weights": {".A": "1X"}}, "dispatch_weights"),
        ({"dispatch_weights": {".A": 0}}, "0 is out of range"),
    ],
)
def test_networks_for_the_core_that_cannot_be(env: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(SCons.Errors.UserError) as caught:
        env.Network("network", model=MODEL, board=H7, **options)
    assert words in str(caught.value)


def test_sections_for_the_constants_of_a_network(env: Any) -> None:
    net = env.Network("network", model=MODEL, board=H7, dispatch_weights={".In": "1M", ".Ext": 4096})
    argv = graphs.command(net.facts)
    assert argv[argv.index("--dispatch-weights") + 1] == ".In=1048576,.Ext=4096"
    # No section: they lie where the linker script puts constants.
    assert "--dispatch-weights" not in graphs.command(
        env.Network("none", model=MODEL, board=H7, dispatch_weights={}).facts
    )


def test_methods_for_networks_with_pools_refuse_them(env: Any) -> None:
    net = env.Network("network", model=MODEL, board=H7)
    for method in (env.NetworkRel, env.MemoryInitializers):
        with pytest.raises(SCons.Errors.UserError, match="network network runs on the core of board stm32h747i-disco"):
            method(net)
    assert str(env.CheckImage("app.elf", net)) == "app.elf.check.json", "an image can be checked for it"


# ---- AppConfig


@pytest.fixture
def firmware(tree: Path) -> Path:
    return write_application(tree / "firmware", FILES)


def test_a_header_and_what_it_depends_on(env: Any, firmware: Path) -> None:
    net = env.Network("pose", model=MODEL, board=N6)
    made = env.AppConfig(net, **POSE, application="firmware")
    assert str(made.header) == f"build/app_config/{Path(net.folder).name}/app_config.h"
    assert graphs.names(made.header.sources) == [str(net.facts)]
    assert (made.generation, made.companions, graphs.names(made.include_dirs)) == ("n6-v3", [], [made.folder])
    files = [name for name in depends(made.header) if name.startswith("firmware/")]
    assert files == [
        "firmware/Inc/app_postprocess.h",
        "firmware/Inc/arm_math.h",
        "firmware/Inc/own.h",
        "firmware/Src/app_postprocess_spe_movenet_uf.c",
        "firmware/Src/app_postprocess_spe_movenet_ui.c",
    ], "headers and the wrapper; not main.c and other.c, which read no macro"


def test_files_that_belong_to_a_header(env: Any) -> None:
    net = env.Network("faces", model=MODEL, board=N6)
    made = env.AppConfig(net, **FACES, folder="out/inc")
    assert graphs.names(made.files) == [
        "out/inc/app_config.h",
        "out/inc/fd_blazeface_anchors_0.h",
        "out/inc/fd_blazeface_anchors_1.h",
    ]
    sound = env.AppConfig(
        net, use_case="audio_event_detection", class_names=["a"], audio={}, generation="audio-v1", folder="out/inc"
    )
    assert graphs.names(sound.sources) == ["out/inc/user_mel_tables.c"]
    assert str(sound.header) == "out/inc/ai_model_config.h", "another header may stand beside it"


@pytest.mark.parametrize(("case", "generation"), list(possible()), ids=lambda each: getattr(each, "name", each))
def test_the_files_are_those_that_come_out(case: Case, generation: str) -> None:
    made = generate.header(case.config, case.tensors, generation=generation)
    kind = KINDS[case.config.use_case, case.config.model_type]
    assert tuple(made.companions) == kind.companions


def test_files_of_the_users_may_be_built(env: Any) -> None:
    (names,) = env.Command("made/names.txt", [], "x")
    (template,) = env.Command("made/t.h.j2", [], "x")
    net = env.Network("net", model=MODEL, board=N6)
    made = env.AppConfig(
        net, use_case="image_classification", class_names_file=names, template="made/t.h.j2", generation="n6-v2"
    )
    assert {"made/names.txt", "made/t.h.j2"} <= set(depends(made.header))
    assert (made.config.class_names_file, made.config.template) == ("made/names.txt", str(template))


def test_one_header_in_one_place(env: Any) -> None:
    net = env.Network("pose", model=MODEL, board=N6)
    first = env.AppConfig(net, **POSE, generation="n6-v2")
    assert env.AppConfig(net, **POSE, generation="n6-v2") is first
    with pytest.raises(SCons.Errors.UserError, match="is there already, with other settings"):
        env.AppConfig(net, **POSE, generation="n6-v3")
    other = env.AppConfig(net, **POSE, generation="n6-v3", folder="#elsewhere/")
    assert str(other.header) == "elsewhere/app_config.h"
    second = env.Network("second", model=MODEL, board=N6)
    with pytest.raises(SCons.Errors.UserError, match="for another network"):
        env.AppConfig(second, **POSE, generation="n6-v3", folder="elsewhere")


def test_lines_of_the_settings_do_not_count_and_values_do(make_env: Any) -> None:
    def identity(line: int, threshold: float) -> str:
        env = make_env()
        config = AppConfig(
            "pose_estimation", "movenet", confidence_thresh=threshold, generation="n6-v3", where=Location("v", line)
        )
        return str(env.AppConfig(env.Network("pose", model=MODEL, board=N6), config).identity)

    assert identity(1, 0.4) == identity(2, 0.4) != identity(1, 0.5)


def test_a_build_folder_within_the_application_is_not_looked_at(env: Any, tree: Path) -> None:
    write_application(tree, FILES)
    write_application(tree / "build" / "patched", {"Inc/app_postprocess.h": "#define POSTPROCESS_OTHER (1)\n"})
    env["NEURALART_BUILD_DIR"] = "build"
    made = env.AppConfig(env.Network("pose", model=MODEL, board=N6), **POSE, application=".")
    assert made.generation == "n6-v3"
    assert not [name for name in depends(made.header) if name.startswith("build/")]


@pytest.mark.parametrize("given", [None, 5, "net"])
def test_a_header_for_what_is_no_network(env: Any, given: Any) -> None:
    with pytest.raises(SCons.Errors.UserError, match="AppConfig: takes what Network returned, not"):
        env.AppConfig(given, **POSE)


def test_nothing_says_which_kind_of_header(env: Any) -> None:
    net = env.Network("pose", model=MODEL, board=N6)
    with pytest.raises(SCons.Errors.UserError, match="for which generation of application"):
        env.AppConfig(net, **POSE)
    with pytest.raises(SCons.Errors.UserError, match="config and 'use_case' cannot both be there"):
        env.AppConfig(net, AppConfig("pose_estimation", "movenet"), use_case="pose_estimation")


# ---- variants


def variant(name: str, board: str, *networks: NetworkConfig, **changes: Any) -> VariantConfig:
    return VariantConfig(
        name=name,
        title="",
        board=board,
        machine="",
        networks=networks or (NetworkConfig("digits", MODEL),),
        where=Location("variants.yaml", 9),
        **changes,
    )


def settings(**more: Any) -> AppConfig:
    return AppConfig("image_classification", "classifier", class_names=("a",), generation="n6-v2", **more)


def test_headers_of_a_variant(env: Any, gcc: Toolchain, tree: Path) -> None:
    one = env.NeuralArtVariant(variant("one", N6, NetworkConfig("a", MODEL, app_config=settings())))
    assert graphs.names(one.app_configs[0].files) == ["build/one/app_config.h"]
    assert "build/one/app_config.h" in graphs.names(one.summary.sources)
    two = [NetworkConfig(name, MODEL, app_config=settings()) for name in ("a", "b")]
    (tree / "second.mpool").write_text(
        (board_data_dir() / "pools" / f"{N6}.mpool").read_text("utf-8").replace("0x70380000", "0x70480000"), "utf-8"
    )
    two[1] = replace(two[1], mpool="second.mpool", initializers=())
    made = env.NeuralArtVariant(variant("two", N6, replace(two[0], initializers=()), two[1]))
    assert [str(each.header) for each in made.app_configs] == ["build/two/a/app_config.h", "build/two/b/app_config.h"]
    assert env.NeuralArtVariant(variant("none", N6)).app_configs == []


def test_a_camera_application(env: Any, gcc: Toolchain, tree: Path) -> None:
    made = env.NeuralArtVariant(variant("cam", H7, NetworkConfig("digits", MODEL, app_config=settings_h7())))
    assert made.networks[0].name == "network", "what the application calls it"
    copies = {str(node).removeprefix("build/cam/patched/") for node in made.patched.files}
    assert {"Inc/CM7/main.h", "Src/CM7/main.c", "Src/CM7/app_camera.c", "patched.json"} <= copies
    assert graphs.names([made.app_configs[0].header]) == ["build/cam/ai_model_config.h"]
    assert (made.initializers, made.flash) == (None, None)
    objects = graphs.names(made.firmware.elf.sources)
    assert "build/cam/app/main.o" in objects
    assert not [name for name in objects if name.startswith("build/cam/") and "/app/" not in name]


def settings_h7() -> AppConfig:
    return AppConfig("image_classification", "classifier", class_names=("a",), color_mode="grayscale")


def test_objects_are_shared_whatever_the_aspect_ratio_is(env: Any, gcc: Toolchain) -> None:
    fit, crop = (
        env.NeuralArtVariant(variant(mode, H7, patch=PatchConfig(aspect_ratio=mode))) for mode in ("fit", "crop")
    )
    first, second = (set(graphs.names(made.firmware.elf.sources)) for made in (fit, crop))
    assert {name.split("/")[1] for name in first ^ second} == {"fit", "crop"}


def own(*files: str, **settings: Any) -> ApplicationConfig:
    return ApplicationConfig(SOURCES, sources=SourcesConfig(files, **settings), places={"": "variants.yaml:7"})


def test_a_plain_main_gets_what_stands_around_it(env: Any, gcc: Toolchain, tree: Path) -> None:
    (tree / "main.c").write_text("int main(void) { return 0; }\n")
    elf = env.NeuralArtVariant(variant("mine", H7, application=own("main.c"))).firmware.elf
    linked = {Path(name).name for name in graphs.names(graphs.linked(elf))}
    assert {"main.o", "digits.o", "startup_armv7m.o", "stdio.o", "run_main.o", "conv2d.o", "legacy_network.o"} <= linked
    argv = graphs.command(elf)
    # What replaces weak functions of the start-up code is no part of an archive: nothing would ask for it.
    assert any(word.endswith("/stm32h747i-disco/memories.o") for word in argv)
    assert "-Wl,--wrap=main" in argv and argv[argv.index("-T") + 1].endswith("STM32H747XIHx_CM7.ld")
    script = own("main.c", linker_script="main.c")
    theirs = env.NeuralArtVariant(variant("theirs", H7, application=script)).firmware.elf
    assert "startup_armv7m.o" not in {Path(name).name for name in graphs.names(graphs.linked(theirs))}
    assert "-Wl,--wrap=main" not in graphs.command(theirs)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {
                "application": ApplicationConfig(ELF, elf="a.elf", places={"": "variants.yaml:7"}),
                "patch": PatchConfig(),
            },
            "variants.yaml:7: 'application: elf' is linked already: nothing of it can be patched (leave 'patch' out)",
        ),
        (
            {"application": own("main.c"), "patch": PatchConfig()},
            "variants.yaml:7: 'application: sources' has no folder that patch could look into (patch: {application: ",
        ),
    ],
)
def test_applications_that_a_core_does_not_have(env: Any, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(SCons.Errors.UserError) as caught:
        env.NeuralArtVariant(variant("mine", H7, **settings))
    assert str(caught.value).startswith(said)


def test_what_is_patched_is_in_the_tree(env: Any, gcc: Toolchain, tree: Path) -> None:
    App(tree)
    (tree / "other").mkdir()
    app = ApplicationConfig(MAKE, external=ExternalConfig("other", "a.elf"))
    patch = PatchConfig(application="app", aspect_ratio="fit")
    with pytest.raises(SCons.Errors.UserError, match="is not within the application's folder other"):
        env.NeuralArtVariant(variant("mine", H7, application=app, patch=patch))
    inner = replace(app, external=ExternalConfig("app", "a.elf"))
    made = env.NeuralArtVariant(variant("two", H7, application=inner, patch=replace(patch, application="")))
    placed = [word for word in graphs.command(made.firmware.elf) if word.startswith("--placed=")]
    assert f"--placed={ROOT}/Inc/CM7/main.h=build/two/patched/Inc/CM7/main.h" in placed
    assert any(word.startswith("--placed=neuralart/runtime/legacy/legacy_network.c=") for word in placed)


def test_paths_of_a_project_are_relative_to_its_file(env: Any, gcc: Toolchain, tree: Path) -> None:
    App(tree / "product")
    write_application(tree / "product" / "camera", FILES)
    (tree / "product" / "names.txt").write_text("a\n", "utf-8")
    (tree / "product" / "variants.yaml").write_text(
        "schema: 1\nnetworks:\n  digits: {model: ../models/digits.tflite}\nvariants:\n"
        f"  h7:\n    board: {H7}\n    network: digits\n    patch: {{application: app, aspect_ratio: fit}}\n"
        f"  n6:\n    board: {N6}\n    network: digits\n    overrides:\n      digits:\n        app_config:\n"
        "          use_case: image_classification\n          class_names_file: names.txt\n"
        "          application: camera\n",
        "utf-8",
    )
    project = env.NeuralArtProject("product/variants.yaml")
    project.build(["h7", "n6"])
    h7, n6 = project.variants["h7"], project.variants["n6"]
    assert h7.patched.root == f"product/app/{ROOT}"
    assert h7.firmware is None
    assert {"product/names.txt", "product/camera/Inc/app_postprocess.h"} <= set(depends(n6.app_configs[0].header))


def test_copies_for_two_networks_need_two_folders(env: Any, tree: Path) -> None:
    App(tree)
    net = env.Network("network", model=MODEL, board=H7)
    first = env.PatchedSources("app", net, aspect_ratio="fit", folder="out")
    assert env.PatchedSources("app", net, aspect_ratio="fit", folder="out") is first
    with pytest.raises(SCons.Errors.UserError, match="out holds copies for another network, or with other settings"):
        env.PatchedSources("app", net, aspect_ratio="crop", folder="out")


def test_the_include_path_of_the_users(env: Any, tree: Path) -> None:
    App(tree)
    net = env.Network("network", model=MODEL, board=H7)
    made = env.PatchedSources(
        "app", net, aspect_ratio="fit", folder="out", include=["Inc", "Inc/CM7", "Inc/CM4", "../../Drivers"]
    )
    root = f"app/{ROOT}"
    wanted = ["out/Inc", f"{root}/Inc", "out/Inc/CM7", f"{root}/Inc/CM4", "app/Drivers"]
    assert graphs.names(made.include_dirs) == wanted
    assert {f"{root}/STM32CubeIDE/CM7/STM32H747XIHx_CM7.ld", f"{root}/Src/CM7/main.c"} <= set(depends(made.index))
    names = {Path(name).name for name in graphs.names(made.index.sources)}
    assert names == {
        *("network_c_info.json", "network.c", "network.h", "network_config.h", "network_data.h"),
        "network_data_params.h",
    }
