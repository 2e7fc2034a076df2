"""Reads ``.project`` and ``.cproject`` of STM32CubeIDE: what a build configuration compiles, and how."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

from neuralart.errors import NeuralArtError, nearest
from neuralart.files import note, read_bytes, searched
from neuralart.quick import dataclass

LANGUAGES = {".c": "c", ".cpp": "cpp", ".cc": "cpp", ".cxx": "cpp", ".s": "asm", ".S": "asm"}
_TOOLS = {"c": "c.compiler", "cpp": "cpp.compiler", "asm": "assembler"}
_WORKSPACE = re.compile(r"\$\{workspace_loc:/?([^/}]*)/?([^}]*)\}")


@dataclass(frozen=True)
class CubeProject:
    """A build configuration of a project."""

    name: str  # Of the project
    folder: Path  # Where its build runs; paths are relative to it
    sources: Mapping[str, str]  # Paths of sources by their paths in the project, where links may be
    flags: Mapping[str, tuple[str, ...]]  # Of the compiler, by language: ``c``, ``cpp``, ``asm``
    link: tuple[str, ...]  # Of the linker, behind the objects
    script: str  # Path of the linker script
    where: str  # Its ``.cproject``, as the user knows it
    notes: tuple[str, ...]  # What is not taken over


def _xml(path: Path, what: str, where: str) -> ElementTree.Element:
    if not path.is_file():
        hint = "directory names the folder of the project"
        raise NeuralArtError(f"there is no {path.name} in {what}", where=where, hint=hint)
    try:
        # The user's own project. Expat itself ends what grows without end (a test), and fetches nothing.
        return ElementTree.fromstring(read_bytes(path))  # nosec B314
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        # LookupError: no such encoding; ValueError: one whose characters have several bytes.
        raise NeuralArtError(f"is no XML: {error}", where=str(path)) from error


def project_name(place: Path, what: str, where: str) -> str:
    """Read the name of the STM32CubeIDE project in a folder. NeuralArtError: there is none."""
    name = (_xml(place / ".project", what, where).findtext("name") or "").strip()
    if not re.fullmatch(r"[^/\\:*?\"<>|\x00-\x1f]+", name):
        raise NeuralArtError("names no project", where=str(place / ".project"))
    return name


def configurations(place: Path, wanted: str, what: str, where: str) -> dict[str, ElementTree.Element]:
    """Read the build configurations by name. NeuralArtError: ``wanted`` is not among them."""
    found = {
        element.get("name", ""): element
        for element in _xml(place / ".cproject", what, where).iter("configuration")
        # Tools inside of a configuration have elements of this name, too.
        if element.get("name") and (element.get("buildProperties") or element.get("artifactName"))
    }
    if wanted not in found:
        said = f"project {project_name(place, what, where)} has no configuration '{wanted}'"
        raise NeuralArtError(said, where=where, hint=nearest(wanted, list(found)))
    return found


def _options(tool: ElementTree.Element) -> dict[str, list[str]]:
    """Options of a tool by the last part of their names; of a choice the last part of it."""
    found = {}
    for option in tool.findall("option"):
        values = [each.get("value", "") for each in option.findall("listOptionValue")]
        values = values or [option.get("value", "").rpartition(".value.")[2]]
        found[option.get("superClass", "").rpartition(".option.")[2]] = [value for value in values if value]
    return found


def _one(options: Mapping[str, list[str]], key: str, default: str = "false") -> str:
    return (options.get(key) or [default])[0]


def _linked(place: Path, uri: str, variables: Mapping[str, str], depth: int = 8) -> Path | None:
    """Where a linked resource is; None: in no place that is known here."""
    head, _, rest = re.sub(r"[${}]|^file:", "", unquote(uri)).partition("/")
    parent = re.fullmatch(r"PARENT-(\d)-PROJECT_LOC_?", head)
    if head in variables and depth:
        base = _linked(place, variables[head], variables, depth - 1)
    else:
        base = place.joinpath(*[".."] * int(parent[1])) if parent else {"PROJECT_LOC": place, "": Path("/")}.get(head)
    return Path(os.path.normpath(base / rest)) if base is not None else None


def _resources(place: Path, top: Path, described: ElementTree.Element, own: str) -> dict[str, Path]:
    """Sources by their paths in the project: what is below its folder, and linked files and folders."""
    roots: dict[str, Path | None] = {"": place}
    rows = described.findall("variableList/variable")
    variables = {each.findtext("name", ""): each.findtext("value", "") for each in rows}
    for link in described.iterfind("linkedResources/link"):
        uri = link.findtext("locationURI") or link.findtext("location") or ""
        roots |= {} if uri.startswith("virtual:") else {link.findtext("name", ""): _linked(place, uri, variables)}
    found: dict[str, Path] = {}
    for name, root in roots.items():
        if Path(name).suffix not in ("", *LANGUAGES):
            continue
        if root is None or not root.is_relative_to(top):
            raise NeuralArtError(f"{name} is linked from out of the folder", where=own)
        for path in sorted(searched(root, deep=True).rglob("*")) if root.is_dir() else [root]:
            if path.suffix in LANGUAGES and not path.is_dir():
                found[(Path(name) / path.relative_to(root)).as_posix()] = path
    return found


def _chosen(name: str, folder: str, excluded: str) -> bool:
    inner = name.removeprefix(f"{folder}/")
    out = any(f"{inner}/".startswith(f"{row}/") or fnmatchcase(inner, row) for row in excluded.split("|") if row)
    return (inner != name or not folder) and not out


def read(place: Path, top: Path, configuration: str, cpu: str, what: str, where: str) -> CubeProject:
    """Read what a build configuration compiles and links. ``top``: of the tree; ``what``: the folder as the user knows
    it; ``where``: who names the configuration. NeuralArtError: it is no project, has no such configuration or linker
    script, or names a place outside of the tree or one that only STM32CubeIDE knows.
    """
    known = configurations(place, configuration, what, where)
    element, build, own = known[configuration], place / configuration, f"{what}/.cproject"
    # A project may name others around it.
    note(*(each / ".project" for each in place.parents[:3]))
    around = [each for each in (*place.parents[:3], place) if (each / ".project").is_file()]
    projects = {project_name(each, what, where): each for each in around}
    name = project_name(place, what, where)

    def path(text: str) -> str:
        plain = text.strip().strip('"').replace("${ProjName}", name).replace("${ConfigName}", configuration)
        plain = _WORKSPACE.sub(lambda found: f"{projects.get(found[1], found[0])}/{found[2]}", plain)
        plain = plain.replace("${ProjDirPath}", str(place)).replace("\\", "/")
        if "${" in plain:
            raise NeuralArtError(f"'{text}' is a place that only STM32CubeIDE knows", where=own, hint="build: ide")
        return Path(os.path.relpath(build / plain, build)).as_posix()

    chain = element.find("folderInfo[@resourcePath='']/toolChain")
    if chain is None:
        raise NeuralArtError(f"configuration '{configuration}' has no tools", where=own)
    tools = {tool.get("superClass", "").rpartition(".tool.")[2]: _options(tool) for tool in chain.findall("tool")}
    general, release = _options(chain), "release" in chain.get("superClass", "")
    machine = [f"-mcpu={cpu}", "-mthumb", f"-mfloat-abi={_one(general, 'floatabi', 'soft')}"]
    machine += [f"-mfpu={fpu}" for fpu in general.get("fpu", ()) if fpu != "none"]
    machine += ["--specs=nano.specs"] if _one(general, "runtimelibrary_c", "nano_c") == "nano_c" else []

    def compiled(language: str) -> tuple[str, ...]:
        given = tools.get(_TOOLS[language], {})
        words = [*machine, f"-{_one(given, 'debuglevel', 'g0' if release else 'g3')}"]
        words += [f"-D{text}" for text in given.get("definedsymbols", ())]
        words += [f"-I{path(text)}" for text in given.get("includepaths", ())]
        if language == "asm":
            return (*words, "-x", "assembler-with-cpp", *given.get("otherflags", ()))
        words += [f"-include{path(text)}" for text in given.get("includefiles", ())]
        standard = _one(given, "languagestandard", "gnu11" if language == "c" else "gnu++14")
        words += [f"-std={standard.rpartition('.')[2]}", "-Wall"]
        words.append(f"-O{_one(given, 'optimization.level', 'os' if release else 'o0')[1:]}")
        words += [f"-f{each}-sections" for each in ("function", "data") if _one(given, f"f{each}", "true") == "true"]
        words += ["-mcmse"] if _one(given, "mcmse") == "true" else []
        words += ["-fno-exceptions", "-fno-rtti", "-fno-use-cxa-atexit"] if language == "cpp" else []
        return (*words, *given.get("otherflags", ()))

    rows = element.findall("sourceEntries/entry") or [ElementTree.Element("entry")]
    entries = [(each.get("name", "").strip("/"), each.get("excluding", "")) for each in rows]
    files = _resources(place, top, _xml(place / ".project", what, where), own)
    new = [key for key in files if key.split("/")[0] not in known and any(_chosen(key, *entry) for entry in entries)]
    sources = {key: path(str(files[key])) for key in new}
    linker = next((found for each in ("c", "cpp") if (found := tools.get(f"{each}.linker", {})).get("script")), {})
    if not linker:
        raise NeuralArtError(f"configuration '{configuration}' names no linker script", where=own)
    script = path(linker["script"][0])
    link = [*machine, "-T", script, f"-Wl,-Map={name}.map", "-Wl,--gc-sections", "-static"]
    link += ["--specs=nosys.specs"] if _one(linker, "systemcalls", "minimal").startswith("minimal") else []
    link += [f"-Wl,-u,_{each}_float" for each in ("printf", "scanf") if _one(general, f"nano{each}float") == "true"]
    link += ["-nostdlib"] if _one(linker, "nostdlib") == "true" else []
    link += [*linker.get("otherflags", ()), *map(path, linker.get("additionalobjs", ()))]
    link += [f"-L{path(text)}" for text in linker.get("directories", ())]
    libraries = (f"-l{text}" for text in linker.get("libraries", ()))
    link += ["-Wl,--start-group", *libraries, "-lc", "-lm", "-Wl,--end-group"]
    single = [each.get("resourcePath") for each in element.iter("fileInfo") if each.find("tool/option") is not None]
    parts = [each for each in element.iter("folderInfo") if each.find(".//tool/option") is not None]
    single += [each.get("resourcePath") for each in parts if each.get("resourcePath")]
    notes = tuple(f"{own}: options of {each} alone are not taken over" for each in single)
    return CubeProject(name, build, sources, {each: compiled(each) for each in _TOOLS}, tuple(link), script, own, notes)


# Options that say where a compiler writes or what it tells, not what code it makes; those with a word behind them.
_TOLD = re.compile(r"-c|-M.*|-W(?!l,).*|-fstack-usage|-fcyclomatic-complexity|-x.*|-o.*")
_WITH_WORD = ("-o", "-MF", "-MT", "-MQ", "-x")


def _compiled(lines: Sequence[str], folder: Path) -> Iterator[tuple[str, set[str]]]:
    """Sources that commands compile, and the flags that matter, both with whole paths."""
    for line in lines:
        try:
            given = shlex.split(line)
        except ValueError:
            continue
        words = [word for before, word in zip(["", *given], given, strict=False) if before not in _WITH_WORD]
        sources = [word for word in words if Path(word).suffix in LANGUAGES and not word.startswith("-")]
        if "-c" in words and len(sources) == 1:
            flags = {word for word in words if word.startswith("-") and not _TOLD.fullmatch(word)}
            paths = {word for word in flags if word.startswith("-I")}
            flags = {word.replace("--specs", "-specs") for word in flags - paths}
            flags |= {f"-I{os.path.normpath(folder / word[2:])}" for word in paths}
            yield os.path.normpath(folder / sources[0]), flags


@dataclass(frozen=True)
class Comparison:
    """Differences between two builds of one tree."""

    sources: int  # Compiled by both
    differences: tuple[str, ...]  # Objects and flags that only one of them has, one line each


def compare(project: CubeProject, text: str, folder: Path, root: Path) -> Comparison:
    """Compare a project with the commands of another build of the same tree.

    ``project``: a build configuration; ``text``: what the other build said (a log, or ``make -n -B``): one command a
    line, or on lines that ``\\`` joins; ``folder``: where its commands ran; ``root``: top of the tree; paths are shown
    from it. NeuralArtError: nothing in the text compiles one source.
    """
    theirs = dict(_compiled(text.replace("\\\n", " ").splitlines(), folder))
    if not theirs:
        hint = "make -n -B prints them; a build log has them, too"
        raise NeuralArtError("no line is a command with -c and one source", where="--commands", hint=hint)
    own = [["-c", source, *project.flags[LANGUAGES[Path(source).suffix]]] for source in project.sources.values()]
    ours = dict(_compiled([shlex.join(words) for words in own], project.folder))
    made = []
    for who, mine, other in (("project", ours, theirs), ("makefile", theirs, ours)):
        flags = {flag for source in mine.keys() & other.keys() for flag in mine[source] - other[source]}
        made += [f"only the {who} compiles {source}" for source in sorted(mine.keys() - other.keys())]
        made += [f"only the {who} has {flag}" for flag in sorted(flags)]
    return Comparison(len(ours.keys() & theirs.keys()), tuple(line.replace(f"{root}/", "") for line in made))
