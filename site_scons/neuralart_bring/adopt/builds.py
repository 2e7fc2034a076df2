"""How a repository is built: by make, CMake or STM32CubeIDE, and the linker scripts that its builds name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from neuralart import jsontext
from neuralart.config.application import CMAKE, CONFIGURATION, CUBEIDE, MAKE, NATIVE
from neuralart_bring.adopt.tree import Repository, folder_of

CUBEMX = "cubemx"
_ASSIGNED = re.compile(r"^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*(?::|\?)?=[ \t]*(.*?)[ \t]*(?:#.*)?$", re.M)
_VARIABLE = re.compile(r"\$[({](\w+)[)}]")
# A rule or a link whose target is the program.
_ELF = re.compile(r"[^\s:=\"']+\.(?:elf|axf|out)\b")
_SCRIPT = re.compile(r"[^\s\"'=,;>]+\.ld\b", re.I)
_ENDS = re.compile(r"\\\n")
_INCLUDED = re.compile(r"^-?include[ \t]+([\w./-]+\.mk)[ \t]*$", re.M)
_COMMENT = re.compile(r"(?m)(?<!\\)#.*$")
_CROSS = re.compile(r"arm-none-eabi|\.ld\b|-mcpu=cortex|cortex-m", re.I)
_CMAKE_SET = re.compile(r"^[ \t]*set[ \t]*\([ \t]*(\w+)[ \t]+\"?([^\s\")]+)", re.M | re.I)
_CMAKE_PROJECT = re.compile(r"^[ \t]*project[ \t]*\([ \t]*\"?([^\s\")]+)", re.M | re.I)
_EXECUTABLE = re.compile(r"^[ \t]*add_executable[ \t]*\([ \t]*\"?([^\s\")]+)", re.M | re.I)
_CONFIGURATION = re.compile(r"<cconfiguration [^>]*id=\"[^\"]*\".*?<storageModule [^>]*name=\"([^\"]+)\"", re.S)
_PROJECT = re.compile(r"<name>([^<]+)</name>")
_CMAKE_INCLUDED = re.compile(r"^[ \t]*(include|add_subdirectory)[ \t]*\([ \t]*\"?([^\s\")]+)", re.M | re.I)
_TOOLCHAIN = re.compile(r'"toolchainFile"\s*:\s*"([^"]+)"')
# Sources by a pattern: make's wildcard and shell, CMake's GLOB and aux_source_directory.
_PATTERNS = re.compile(r"\$\(wildcard[^)]*\.c\b|\$\(shell find|\bGLOB(?:_RECURSE)?\b|aux_source_directory", re.I)
_RULE = re.compile(r"^([^\s:=#]+\.(?:elf|axf|out))[ \t]*:(?!=)", re.M)
_DEPTH = 8


@dataclass(frozen=True)
class FoundBuild:
    kind: str  # ``make``, ``cmake``, ``cubeide`` or ``cubemx``: a project that STM32CubeMX generates code from
    file: str  # Its Makefile, CMakeLists.txt, .cproject or .ioc, below the top
    text: str = field(repr=False, default="")  # Of that
    settings: Mapping[str, object] = field(default_factory=dict)  # Keys of ``application:``, but for the folder
    scripts: tuple[str, ...] = ()  # Linker scripts that it names, below the top
    why: str = ""  # Why nothing can be said of its program; empty: it can

    @property
    def folder(self) -> str:
        return folder_of(self.file)

    def names(self, path: str) -> bool:
        """Whether its text names a file, in any folder."""
        return re.search(rf"(?<![\w.-]){re.escape(path.rpartition('/')[2])}(?![\w.-])", self.text) is not None

    @property
    def patterns(self) -> bool:
        """Whether it compiles what it finds: then its text does not say which files."""
        return _PATTERNS.search(self.text) is not None


def expanded(text: str, values: Mapping[str, str], depth: int = _DEPTH) -> str:
    """A text of make or CMake with its variables replaced, as far as they are known."""
    if not depth or "$" not in text:
        return text
    return expanded(_VARIABLE.sub(lambda match: values.get(match[1], match[0]), text), values, depth - 1)


def _scripts(repository: Repository, text: str, base: str) -> list[str]:
    """Linker scripts that a text names, as paths below the top."""
    found = []
    for match in _SCRIPT.finditer(text):
        name = match[0].replace("\\", "/").rpartition("/")[2]
        known = repository.by_name.get(name, [])
        full = _joined(base, match[0].removeprefix("-T"))
        near = (
            [path for path in known if path == full] or [path for path in known if path.startswith(f"{base}/")] or known
        )
        found += near[:1]
    return list(dict.fromkeys(found))


def _joined(base: str, path: str) -> str:
    parts: list[str] = [] if base == "." else base.split("/")
    for part in path.replace("\\", "/").split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _make(repository: Repository, path: str) -> FoundBuild | None:
    text = repository.text(path)
    folder = folder_of(path)
    if "Automatically-generated file. Do not edit" in text[:200]:
        return None
    for name in _INCLUDED.findall(text):
        other = _joined(folder, name)
        text += f"\n{repository.text(other)}" if other in repository.paths else ""
    text = _COMMENT.sub("", _ENDS.sub(" ", text))
    if not _CROSS.search(text):
        return None
    values: dict[str, str] = {}
    for match in _ASSIGNED.finditer(text):
        values.setdefault(match[1], match[2])
    scripts = _scripts(repository, expanded(text, values), folder)
    programs = [expanded(match[0], values) for match in _ELF.finditer(text)]
    plain = [each.removeprefix("./") for each in programs if not re.search(r"[$%*()<>@]", each)]
    if not scripts and not plain:
        return None
    # The one in the build folder: others are comments and messages.
    artefact = next((each for each in plain if "/" in each), plain[0] if plain else "")
    settings = {"directory": folder, "artefact": artefact} if folder != "." else {"artefact": artefact}
    rules = [expanded(each, values).removeprefix("./") for each in _RULE.findall(text)]
    if artefact in rules and len({*rules} & {*plain}) > 1:
        # Without a target, make would link all of these programs.
        settings["target"] = artefact
    why = "" if artefact else "its program (.elf) cannot be told from its text"
    return FoundBuild(MAKE, path, text, settings, tuple(scripts), why)


def _cmake_text(repository: Repository, path: str, depth: int = _DEPTH) -> str:
    """The text of a CMake file and of the files that it includes, as far as their names are known."""
    text = repository.text(path)
    for kind, name in _CMAKE_INCLUDED.findall(text) if depth else ():
        name = re.sub(r"^\$\{CMAKE_(?:CURRENT_)?(?:SOURCE|LIST)_DIR\}/", "", name)
        other = _joined(folder_of(path), name if kind.lower() == "include" else f"{name}/CMakeLists.txt")
        text += "\n" + _cmake_text(repository, other, depth - 1) if other in repository.paths and other != path else ""
    return text


def _cmake(repository: Repository, path: str) -> FoundBuild | None:
    text = _cmake_text(repository, path)
    project = _CMAKE_PROJECT.search(text)
    made = _EXECUTABLE.search(text)
    if project is None or made is None:
        return None
    folder = folder_of(path)
    near = [each for each in repository.paths if folder == "." or each.startswith(f"{folder}/")]
    chains = [each for each in near if each.endswith(".cmake") and "CMAKE_SYSTEM_NAME" in repository.text(each)]
    chain = next((each for each in chains if "gcc" in each), chains[0] if chains else "")
    if not chain and not _CROSS.search(text):
        return None
    values = {"CMAKE_PROJECT_NAME": project[1], "PROJECT_NAME": project[1]}
    values |= {match[1]: match[2] for match in _CMAKE_SET.finditer(text)}
    name = expanded(expanded(made[1], values), values)
    presets = _joined(folder, "CMakePresets.json")
    said = _TOOLCHAIN.search(repository.text(presets)) if presets in repository.paths else None
    named = _joined(folder, said[1].removeprefix("${sourceDir}/")) if said is not None else ""
    both = text + "".join(repository.text(each) for each in (chain, named) if each in repository.paths)
    suffix = re.search(r"CMAKE_EXECUTABLE_SUFFIX(?:_\w+)?\s+\"?(\.\w+)", both)
    if not name.endswith((".elf", ".axf", ".out")) and suffix is not None:
        name += suffix[1]
    settings: dict[str, object] = {"directory": folder} if folder != "." else {}
    settings["artefact"] = name
    preset = _preset(repository, presets)
    if preset:
        settings["preset"] = preset
    elif chain:
        settings["toolchain_file"] = chain.removeprefix(f"{folder}/") if folder != "." else chain
    why = "its program cannot be told from its text" if "$" in name else ""
    return FoundBuild(CMAKE, path, text, settings, tuple(_scripts(repository, both, folder)), why)


def _preset(repository: Repository, path: str) -> str:
    """The first preset of a configuration that is not hidden; empty if there is none."""
    if path not in repository.paths:
        return ""
    try:
        rows = jsontext.loads(repository.text(path))["configurePresets"]
        names = [row["name"] for row in rows if not row.get("hidden") and isinstance(row["name"], str)]
    except (ValueError, KeyError, TypeError, AttributeError):
        return ""
    return names[0] if names else ""


def _cubeide(repository: Repository, path: str) -> FoundBuild | None:
    text = repository.text(path)
    folder = folder_of(path)
    described = repository.file(path).with_name(".project")
    project = _PROJECT.search(described.read_text("utf-8", "replace")) if described.is_file() else None
    names = list(dict.fromkeys(_CONFIGURATION.findall(text)))
    settings: dict[str, object] = {"directory": folder} if folder != "." else {}
    chosen = names[0] if names and CONFIGURATION not in names else CONFIGURATION
    if chosen != CONFIGURATION:
        settings["configuration"] = chosen
    # STM32CubeIDE has not been at work here: the build does not wait for it either.
    if _joined(folder, f"{chosen}/makefile") not in repository.paths:
        settings["build"] = NATIVE
    why = "" if project else "there is no .project beside it"
    return FoundBuild(CUBEIDE, path, text, settings, tuple(_scripts(repository, text, folder)), why)


def builds(repository: Repository) -> list[FoundBuild]:
    """Every build of a program for an Arm core that the repository has, in the order in which they are tried."""
    ways = ((("makefile", "gnumakefile"), _make), (("cmakelists.txt",), _cmake), ((".cproject",), _cubeide))
    found = [made for names, read in ways for path in repository.own(*names) if (made := read(repository, path))]
    return [*found, *(FoundBuild(CUBEMX, path, repository.text(path)) for path in repository.own("*.ioc"))]


def linker_scripts(repository: Repository, made: list[FoundBuild]) -> list[str]:
    """Every linker script, those that builds name first."""
    named = [script for build in made for script in build.scripts]
    return list(dict.fromkeys([*named, *repository.own("*.ld")]))
