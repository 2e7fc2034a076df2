"""Command lines that build the copy of the user's tree, where their programs are, and the makefile that builds an
STM32CubeIDE project without STM32CubeIDE.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from neuralart.applications import cube_project
from neuralart.applications.cube_project import LANGUAGES, CubeProject
from neuralart.config.application import CMAKE, CUBEIDE, MAKE, NATIVE, ApplicationConfig, ExternalConfig
from neuralart.errors import NeuralArtError
from neuralart.files import write_text
from neuralart.quick import dataclass
from neuralart.vendor import programs, tools

_SPECIAL = re.compile(r"([ #%:])")


def _name(path: str) -> str:
    return _SPECIAL.sub(r"\\\1", path.replace("$", "$$"))


def _words(words: Sequence[str]) -> str:
    return " ".join(shlex.quote(word).replace("$", "$$") for word in words)


def write_makefile(project: CubeProject) -> None:
    """Write the makefile and the files of its rules. NeuralArtError: there is no linker script."""
    project.folder.mkdir(parents=True, exist_ok=True)
    if not (project.folder / project.script).is_file():
        raise NeuralArtError(f"there is no linker script {project.script}", where=project.where)
    objects = {f"{name}.o": source for name, source in project.sources.items()}
    languages = {made: LANGUAGES[Path(source).suffix] for made, source in objects.items()}
    elf, linker = f"{project.name}.elf", "g++" if "cpp" in languages.values() else "gcc"
    folders = [word[2:] for word in project.link if word.startswith("-L")]
    names = [word[2:] if word[2] != ":" else word[3:] for word in project.link if word.startswith("-l")]
    places = [f"{folder}/{each}" for folder in folders for name in names for each in (name, f"lib{name}.a")]
    archives = [path for path in places if (project.folder / path).is_file()]
    texts = {f"flags-{language}.txt": "\n".join(words) for language, words in project.flags.items()}
    texts["link.txt"] = "\n".join([*objects, *project.link])
    needs = " ".join(map(_name, (*objects, project.script, *archives, "link.txt")))
    lines = [f"{_name(elf)}: {needs}", f"\tarm-none-eabi-{linker} -o {_words([elf, *objects, *project.link])}"]
    for made, source in objects.items():
        words = ["-c", source, "-o", made, *project.flags[languages[made]], "-MMD", "-MP", "-MF", f"{made}.d"]
        lines += [f"{_name(made)}: {_name(source)} flags-{languages[made]}.txt"]
        compiler = "g++" if languages[made] == "cpp" else "gcc"
        lines += [f"\tarm-none-eabi-{compiler} {_words(words)}", f"-include {_name(made)}.d"]
        (project.folder / made).parent.mkdir(parents=True, exist_ok=True)
    texts["makefile"] = "\n".join([*lines, ""])
    for name, text in texts.items():
        path = project.folder / name
        # Rules look at the time: what stays the same is left alone.
        if not path.is_file() or path.read_bytes() != text.encode():
            write_text(path, text)


_BELOW = "directory: FOLDER below it"
CMAKE_FOLDER, WORKSPACE = "cmake", "workspace"
_TOOLS = {MAKE: tools.MAKE, CMAKE: tools.CMAKE, CUBEIDE: tools.CUBEIDE}
_Find = Callable[[], Path]
_HEADLESS = "org.eclipse.cdt.managedbuilder.core.headlessbuild"


@dataclass(frozen=True)
class Commands:
    """How an application is built."""

    lines: tuple[tuple[str, ...], ...]  # programs with their arguments, in order; the first that fails ends it
    folder: Path  # where they run
    artefact: Path  # the linked program
    # a folder of the program's own that is of no use to other arguments; None if there is none
    private: Path | None = None
    identity: str = ""  # arguments that the private folder was made with
    notes: tuple[str, ...] = ()  # what is worth a look


def _make(given: ExternalConfig, program: str, place: Path, jobs: int) -> Commands:
    words = [program, f"-j{jobs}", *([given.target] if given.target else [])]
    words += [f"{name}={value}" for name, value in given.variables]
    return Commands((tuple(words),), place, place / given.artefact)


def _cmake(given: ExternalConfig, program: str, place: Path, chain: Path | None, work: Path, jobs: int) -> Commands:
    build = work / CMAKE_FOLDER
    words = [program, "-S", str(place), "-B", str(build)]
    words += ["-G", given.generator] if given.generator else []
    words += [f"-DCMAKE_TOOLCHAIN_FILE={chain}"] if chain is not None else []
    words += [f"--preset={given.preset}"] if given.preset else []
    words += given.options
    compile_ = [program, "--build", str(build), "--parallel", str(jobs)]
    compile_ += ["--target", given.target] if given.target else []
    return Commands((tuple(words), tuple(compile_)), place, build / given.artefact, build, "\n".join(words))


def _cubeide(given: ExternalConfig, program: str, place: Path, work: Path, what: str, where: str) -> Commands:
    cube_project.configurations(place, given.configuration, what, where)
    name = cube_project.project_name(place, what, where)
    workspace = work / WORKSPACE
    words = [program, "--launcher.suppressErrors", "-nosplash", "-application", _HEADLESS, "-data", str(workspace)]
    words += ["-import", str(place), "-build", f"{name}/{given.configuration}"]
    artefact = place / (given.artefact or f"{given.configuration}/{name}.elf")
    return Commands((tuple(words),), place, artefact, workspace, "\n".join(words))


def commands(
    config: ApplicationConfig, find: _Find, tree: Path, work: Path, *, jobs: int = 1, what: str = "", core: str = ""
) -> Commands:
    """How to build an application whose copy (``tree``) is in place.

    ``config``: the application; ``find``: finds the program; ``tree``: the copy; ``work``: where programs may have
    folders of their own; ``jobs``: how many compiles at a time; ``what``: the user's folder, for messages; ``core``: as
    libraries of the runtime name it: ``CM55``. NeuralArtError: the program or what it needs is missing.
    """
    given = config.external
    assert given is not None
    place = tree / given.directory if given.directory != "." else tree
    where = config.said("directory")
    if not place.is_dir():
        raise NeuralArtError(f"{what} has no folder {given.directory}", where=where)
    if config.kind == CUBEIDE:
        cube_project.project_name(place, what, where)  # before the program is asked for: this is cheaper to put right
        said = config.said("configuration")
        if given.build == NATIVE:
            if not core:
                raise NeuralArtError("build: native needs the core", where=config.said("build"), hint="--core CM55")
            made = cube_project.read(place, tree, given.configuration, core.replace("CM", "cortex-m"), what, said)
            write_makefile(made)
            artefact = place / (given.artefact or f"{given.configuration}/{made.name}.elf")
            return Commands(((str(find()), f"-j{jobs}"),), made.folder, artefact, notes=made.notes)
        return _cubeide(given, str(find()), place, work, what, said)
    if config.kind == CMAKE:
        if not (place / "CMakeLists.txt").is_file():
            raise NeuralArtError(f"there is no CMakeLists.txt in {what}", where=where, hint=_BELOW)
        file = given.toolchain_file
        chain = next((each / file for each in (place, tree) if (each / file).is_file()), None)
        if file and chain is None:
            raise NeuralArtError(f"there is no {file} in {what}", where=config.said("toolchain_file"))
        return _cmake(given, str(find()), place, chain, work, jobs)
    if not any((place / name).is_file() for name in ("GNUmakefile", "makefile", "Makefile")):
        raise NeuralArtError(f"there is no Makefile in {what}", where=where, hint=_BELOW)
    return _make(given, str(find()), place, jobs)


def overruled(variables: Sequence[tuple[str, str]], makefiles: dict[str, str]) -> list[str]:
    """Find variables of the command line that hide later additions in a Makefile (place -> text); a line for each."""
    said = []
    for name, _ in variables:
        addition = re.compile(rf"^[ \t]*{re.escape(name)}[ \t]*\+=", re.M)
        for place, text in makefiles.items():
            match = addition.search(text)
            if match is not None:
                line = text.count("\n", 0, match.start()) + 1
                said.append(f"{place}:{line}: make ignores this addition to {name}, which is given on its command line")
                break
    return said


def find_program(
    kind: str, executable: str, root: Path, environ: Mapping[str, str], where: str = "", platform: str = sys.platform
) -> Path:
    """The program (``make``, ``cmake``, ``cubeide``) that builds an application. It is a name on PATH, or a path
    relative to the root; empty: the usual names and places. NeuralArtError: it is not there; says where it was looked
    for.
    """
    system = {"win32": "windows", "cygwin": "windows", "darwin": "mac"}.get(platform, "linux")
    tool = _TOOLS[kind]
    if "/" in executable or "\\" in executable:
        path = root / executable
        if not path.is_file():
            raise NeuralArtError(f"executable: no file {path}", where=where, hint=tool.get)
        return path.absolute()
    names = (executable,) if executable else tool.programs
    found = programs.on_path(names, environ, system)
    if found:
        return found[0]
    if not executable:
        placed = next(programs.in_places(tool.places.get(system, ()), environ, system), None)
        if placed is not None:
            return placed
    places = ", ".join(("PATH", *(() if executable else tool.places.get(system, ()))))
    other = "build: native does without it; " if kind == CUBEIDE else ""
    raise NeuralArtError(f"no {' or '.join(names)} found ({places} looked at)", where=where, hint=other + tool.get)
