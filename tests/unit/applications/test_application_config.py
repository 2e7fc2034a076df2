"""The key ``application`` of a variant: what is read, and the one line that says why it is not."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from neuralart.applications import cli
from neuralart.config import application, keys
from neuralart.config.application import (
    ELF,
    EXTERNAL,
    KINDS,
    ApplicationConfig,
    ExternalConfig,
    SourcesConfig,
    StageConfig,
    StageRule,
    inside,
)
from neuralart.errors import NeuralArtError
from neuralart.text import yaml_values

DOC = Path(__file__).parents[3] / "docs" / "reference" / "applications.md"
MAKE = "make: {folder: app, artefact: build/a.elf"


def read(tmp_path: Path, text: str) -> ApplicationConfig:
    path = tmp_path / "variants.yaml"
    path.write_text(f"# a line above\napplication: {text}\n", "utf-8")
    return application.application(yaml_values.read(path, "variants.yaml").mapping()["application"])


def refusal(tmp_path: Path, text: str) -> str:
    with pytest.raises(NeuralArtError) as caught:
        read(tmp_path, text)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("variants.yaml:")
    return str(caught.value)


def external(**fields) -> ExternalConfig:
    return ExternalConfig(**{"folder": "app", "artefact": "build/a.elf", **fields})


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("reference", ApplicationConfig()),
        ("{elf: out/a.elf}", ApplicationConfig(ELF, elf="out/a.elf")),
        ("{sources: {files: [a.c]}}", ApplicationConfig("sources", sources=SourcesConfig(("a.c",)))),
        (
            "{sources: {files: ['src/**/*.c', '!src/old.c'], include_dirs: [inc], defines: [A, 'B=1'], "
            "linker_script: a.ld, libraries: [m, lib/x.a], runtime: /opt/ST/STEdgeAI/4.0}}",
            ApplicationConfig(
                "sources",
                sources=SourcesConfig(
                    ("src/**/*.c", "!src/old.c"),
                    ("inc",),
                    ("A", "B=1"),
                    "a.ld",
                    ("m", "lib/x.a"),
                    "/opt/ST/STEdgeAI/4.0",
                ),
            ),
        ),
        (f"{{{MAKE}}}}}", ApplicationConfig("make", external=external())),
        (
            f"{{{MAKE}, directory: ./gcc//x, target: all, variables: {{CONF: N6-DK, EMPTY: ''}}, executable: gmake, "
            "exclude: [docs, '!/build'], stage: Model}}",
            ApplicationConfig(
                "make",
                external=external(
                    directory="gcc/x",
                    target="all",
                    variables=(("CONF", "N6-DK"), ("EMPTY", "")),
                    executable="gmake",
                    exclude=("docs", "!/build"),
                    stage=StageConfig("Model"),
                ),
            ),
        ),
        (
            f"{{{MAKE}, stage: {{folder: ., net.c: Model/network.c, '*.raw': bin/, '*.h': ./, stai_*: ''}}}}}}",
            ApplicationConfig(
                "make",
                external=external(
                    stage=StageConfig(
                        ".",
                        (
                            StageRule("net.c", "Model/network.c"),
                            StageRule("*.raw", "bin/"),
                            StageRule("*.h", "./"),
                            StageRule("stai_*", ""),
                        ),
                    )
                ),
            ),
        ),
        (
            "{cmake: {folder: app, artefact: a.elf, generator: Ninja, toolchain_file: cmake/arm.cmake, "
            "options: [-DX=1, --preset=dk]}}",
            ApplicationConfig(
                "cmake",
                external=external(
                    artefact="a.elf",
                    generator="Ninja",
                    toolchain_file="cmake/arm.cmake",
                    options=("-DX=1", "--preset=dk"),
                ),
            ),
        ),
        (
            "{cmake: {folder: app, artefact: a.elf, toolchain_file: /opt/arm.cmake, preset: Debug}}",
            ApplicationConfig(
                "cmake", external=external(artefact="a.elf", toolchain_file="/opt/arm.cmake", preset="Debug")
            ),
        ),
        (
            "{cubeide: {folder: app, configuration: N6-DK}}",
            ApplicationConfig("cubeide", external=external(artefact="", configuration="N6-DK")),
        ),
        (
            "{cubeide: {folder: app, executable: /opt/st/stm32cubeide, artefact: Debug/x.elf}}",
            ApplicationConfig("cubeide", external=external(artefact="Debug/x.elf", executable="/opt/st/stm32cubeide")),
        ),
    ],
)
def test_what_is_read(tmp_path: Path, text: str, made: ApplicationConfig) -> None:
    assert read(tmp_path, text) == made


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("referenz", "variants.yaml:2: application: 'referenz' is not allowed (did you mean 'reference'?"),
        ("make", "application: 'make' needs more than its name (for example application: {make: {folder: "),
        ("1", "1 is a number in YAML"),
        ("", "application: is empty"),
        ("[make]", "must be text, this is a list"),
        ("{}", "must be one kind of application, this names nothing"),
        ("{make: {folder: a, artefact: b}, elf: c}", "must be one kind of application, this names make and elf"),
        ("{reference: x}", "unknown key 'reference' in application (known: cmake, cubeide, elf, make, sources)"),
        ("{makefile: x}", "unknown key 'makefile' in application (did you mean 'make'?"),
        ("{elf: ''}", "application.elf: is empty"),
        ("{elf: [a]}", "application.elf: must be text"),
        ("{sources: {include_dirs: [inc]}}", "application.sources: 'files' is missing (files: [src/**/*.c])"),
        ("{sources: {files: []}}", "application.sources.files: names no source file"),
        ("{sources: {files: ['!a.c']}}", "application.sources.files: names no source file"),
        ("{sources: {files: [a.c, a.c]}}", "application.sources.files[1]: 'a.c' is named twice"),
        ("{sources: {files: a.c}}", "application.sources.files: must be a list"),
        (
            "{sources: {files: [a.c], defines: ['1A']}}",
            "application.sources.defines[0]: '1A' is not NAME or NAME=value",
        ),
        ("{sources: {files: [a.c], folder: x}}", "unknown key 'folder' in application.sources"),
        ("{make: {artefact: a.elf}}", "application.make: 'folder' is missing (the folder that holds all of"),
        ("{make: {folder: a}}", "application.make: 'artefact' is missing (the linked program, below where make runs"),
        (
            "{cmake: {folder: a}}",
            "application.cmake: 'artefact' is missing (the linked program, below the build folder",
        ),
        ("{cubeide: {}}", "application.cubeide: 'folder' is missing"),
        ("{make: {folder: a, artefact: ../a.elf}}", "make.artefact: '../a.elf' leads out of the folder with '..'"),
        ("{make: {folder: a, artefact: /a.elf}}", "'/a.elf' must be a path within the folder, this is an absolute one"),
        ("{make: {folder: a, artefact: 'C:a.elf'}}", "must be a path within the folder"),
        ("{make: {folder: a, artefact: 'b\\a.elf'}}", "write / between the parts of a path"),
        ("{make: {folder: a, artefact: ./}}", "application.make.artefact: names a folder, it must be the linked"),
        (f"{{{MAKE}, directory: a/../b}}}}", "make.directory: 'a/../b' leads out of the folder"),
        (f"{{{MAKE}, target: all clean}}}}", "make.target: 'all clean' is not a target: one word, no option"),
        (f"{{{MAKE}, target: -k}}}}", "'-k' is not a target"),
        (f"{{{MAKE}, target: A=1}}}}", "'A=1' is not a target"),
        (f"{{{MAKE}, variables: [A=1]}}}}", "make.variables: must be a mapping"),
        (
            f"{{{MAKE}, variables: {{DEBUG: 1}}}}}}",
            'variables.DEBUG: 1 is a number in YAML, this must be text (quote it: "1")',
        ),
        (f"{{{MAKE}, variables: {{-j: '4'}}}}}}", "variables.-j: the key must be the name of a variable of make"),
        (f"{{{MAKE}, variables: {{A!: 'touch x'}}}}}}", "variables.A!: the key must be the name of a variable of make"),
        (f"{{{MAKE}, variables: {{A: 'a$(shell touch x)b'}}}}}}", "variables.A: '$(shell touch x)b': make takes only"),
        (f"{{{MAKE}, variables: {{A: '$$$(file >x)'}}}}}}", "variables.A: '$(file >x)': make takes only $(NAME)"),
        (f"{{{MAKE}, variables: {{A: '$($(B))'}}}}}}", "variables.A: '$($(B))': make takes only $(NAME), ${NAME} and"),
        (f"{{{MAKE}, generator: Ninja}}}}", "unknown key 'generator' in application.make"),
        (f"{{{MAKE}, exclude: [..]}}}}", "make.exclude[0]: '..' is no pattern of paths in the folder"),
        (f"{{{MAKE}, exclude: ['!']}}}}", "make.exclude[0]: '!' is no pattern"),
        (f"{{{MAKE}, exclude: [a, a]}}}}", "make.exclude[1]: 'a' is named twice"),
        (f"{{{MAKE}, stage: ../x}}}}", "make.stage: '../x' leads out of the folder"),
        (f"{{{MAKE}, stage: [x]}}}}", "make.stage: must be text"),
        (f"{{{MAKE}, stage: {{a/b.c: x}}}}}}", "the key must be a file name or a pattern of names, without folders"),
        (f"{{{MAKE}, stage: {{b.c: ../x}}}}}}", "make.stage.b.c: '../x' leads out of the folder"),
        (
            "{cmake: {folder: a, artefact: b, options: [-GNinja]}}",
            "cmake.options[0]: '-GNinja' is decided by this tool",
        ),
        ("{cmake: {folder: a, artefact: b, options: [--build]}}", "'--build' is decided by this tool"),
        ("{cmake: {folder: a, artefact: b, options: [-Bx]}}", "'-Bx' is decided by this tool"),
        (
            "{cmake: {folder: a, artefact: b, options: [-DCMAKE_TOOLCHAIN_FILE=x]}}",
            "'-DCMAKE_TOOLCHAIN_FILE=x' has a key of its own (toolchain_file: FILE)",
        ),
        (
            "{cmake: {folder: a, artefact: b, options: ['-DCMAKE_GENERATOR:STRING=Ninja']}}",
            "'-DCMAKE_GENERATOR:STRING=Ninja' has a key of its own (generator: NAME)",
        ),
        (
            "{cmake: {folder: a, artefact: b, options: [-D, CMAKE_TOOLCHAIN_FILE=x]}}",
            "'CMAKE_TOOLCHAIN_FILE=x' has a key of its own (toolchain_file: FILE)",
        ),
        ("{cmake: {folder: a, artefact: b, toolchain_file: ../x}}", "cmake.toolchain_file: '../x' leads out"),
        ("{cubeide: {folder: a, target: all}}", "unknown key 'target' in application.cubeide"),
        ("{cubeide: {folder: a, configuration: ''}}", "cubeide.configuration: is empty"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, said: str) -> None:
    assert said in refusal(tmp_path, text)


def test_every_key_has_its_place(tmp_path: Path) -> None:
    text = "\n  make:\n    folder: app\n    artefact: a.elf\n    stage:\n      net.c: x.c\n"
    made = read(tmp_path, text)
    assert made.said() == "variants.yaml:2"
    assert made.said("artefact") == "variants.yaml:5"
    assert made.said("target") == "variants.yaml:2", "what nobody wrote is where the application is"
    assert made.external is not None
    assert made.external.stage.rules[0].where == "variants.yaml:7"
    assert ApplicationConfig("make").said("artefact") == "application.make.artefact"


@pytest.mark.parametrize(
    ("path", "short"), [("a//b/./c", "a/b/c"), (".", "."), ("./", "."), ("a/", "a"), ("...", "...")]
)
def test_paths_within_a_tree(path: str, short: str) -> None:
    assert inside(path) == short


@pytest.mark.parametrize("path", ["..", "a/..", "/", "/a", "\\a", "a\\b", "c:/x", "C:x"])
def test_paths_out_of_a_tree(path: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        inside(path)


@pytest.mark.parametrize(
    "text",
    [
        "{elf: out/a b.elf}",
        f"{{{MAKE}}}}}",
        f"{{{MAKE}, directory: g, target: t, variables: {{A: 'x=y', B: ''}}, executable: ./m k, exclude: ['!/b']}}}}",
        f"{{{MAKE}, stage: {{folder: M, net.c: Model/network.c, '*.raw': bin/, '*.h': ./, stai_*: ''}}}}}}",
        "{cmake: {folder: app, artefact: a.elf, generator: Unix Makefiles, toolchain_file: t.c, options: [-DX='a b']}}",
        "{cubeide: {folder: ../app, configuration: N6 DK}}",
        "{cubeide: {folder: app, artefact: Debug/x.elf, directory: Appli}}",
    ],
)
def test_a_command_line_says_all_of_it(tmp_path: Path, text: str) -> None:
    """What SCons puts into a command is what the command understands, and depends on nothing else."""
    made = read(tmp_path, text)
    words = [*cli.words(made), *cli.places(made)]
    parser = __import__("argparse").ArgumentParser()
    cli.add(parser)
    back = cli.config_of(parser.parse_args(words))
    assert back == made
    assert dict(back.places) == dict(made.places)
    if made.external is not None and back.external is not None:
        assert [rule.where for rule in back.external.stage.rules] == [rule.where for rule in made.external.stage.rules]
    assert not [word for word in cli.words(made) if "variants.yaml" in word], "places are apart"


def test_every_field_is_on_the_command_line() -> None:
    plain = ExternalConfig("", "")
    other = ExternalConfig(
        *(
            "a",
            "b.elf",
            "c",
            "d",
            (("e", "f"),),
            "g",
            "h",
            "p",
            ("-Di",),
            "j",
            "native",
            "k",
            ("l",),
            StageConfig("m", (StageRule("n", "o"),)),
        )
    )
    for field in dataclasses.fields(ExternalConfig):
        assert getattr(plain, field.name) != getattr(other, field.name)
    assert len(cli.words(ApplicationConfig("make", external=other))) == 1 + len(dataclasses.fields(other)) + 1


def test_the_documentation_names_every_kind_and_key() -> None:
    text = DOC.read_text("utf-8")
    for kind in KINDS:
        assert f"`{kind}" in text, kind
    assert set(EXTERNAL) <= set(application.KEYS)
    only = {key.name: [kind for kind in EXTERNAL if key in application.KEYS[kind]] for key in application.EXTERNAL_KEYS}
    for name, kinds in only.items():
        said = f"| `{name}` | " + ("" if len(kinds) == len(EXTERNAL) else f"{keys.either(kinds).replace(' or', ',')}: ")
        assert said in text, "a key that not every kind has says so"
