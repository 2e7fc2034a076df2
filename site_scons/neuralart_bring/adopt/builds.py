"""How a repository is built: by make, CMake or STM32CubeIDE, and the linker scripts that its builds name."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from neuralart import jsontext
from neuralart.config.application import CMAKE, CONFIGURATION, CUBEIDE, MAKE, NATIVE
from neuralart_bring.adopt.tree import Repository, folder_of

CUBEMX = "cubemx"
_ASSIGNED = re.compile(r"^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*([:?+]?)=[ \t]*(.*?)[ \t]*(?:#.*)?$", re.M)
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
# A call of CMake that names parts of a target or of a list: its name, then the rest of the call.
_PARTS = re.compile(
    r"^[ \t]*(?:add_executable|add_library|target_sources|target_link_libraries|set|list[ \t]*\([ \t]*APPEND|"
    r"file[ \t]*\([ \t]*GLOB(?:_RECURSE)?)[\s(]+\"?([^\s\")]+)\"?([^)]*)",
    re.M | re.I,
)
_ALIAS = re.compile(r"\s*(?:ALIAS|IMPORTED)\b", re.I)
# A rule of make with its recipe, and ``$(SOURCES:.c=.o)``.
_RULE = re.compile(r"^([^\s:=#][^:=\n]*):(?!=)(.*(?:\n\t.*)*)", re.M)
_CHANGED = re.compile(r"\$[({](\w+):[^(){}\n]*[)}]")
# Comments of CMake, and (a group) quoted and bracket arguments, where ``#`` begins none.
_REMARK = re.compile(r'(?s)("(?:[^"\\]++|\\.)*+"?|\[(=*)\[.*?(?:\]\2\]|\Z)|\\.)|#(?:\[(=*)\[.*?(?:\]\3\]|\Z)|[^\n]*)')
# A pattern of CMake's file(GLOB) whose folder is known.
_GLOB = re.compile(r'(?<![^\s"(])(?:\$\{\w*SOURCE_DIR\}/)?([^\s"$(){}*]*\*[^\s"$(){}]*\.c)\b')
_DEPTH = 8


@dataclass(frozen=True)
class FoundBuild:
    kind: str  # ``make``, ``cmake``, ``cubeide`` or ``cubemx``: a project that STM32CubeMX generates code from
    file: str  # Its Makefile, CMakeLists.txt, .cproject or .ioc, below the top
    text: str = field(repr=False, default="")  # Of that
    settings: Mapping[str, object] = field(default_factory=dict)  # Keys of ``application:``, but for the folder
    scripts: tuple[str, ...] = ()  # Linker scripts that it names, below the top
    why: str = ""  # Why nothing can be said of its program; empty: it can
    # Targets, where a build makes several programs: what it says of each and of what that is made of.
    programs: Mapping[str, str] = field(repr=False, default_factory=dict)
    suffix: str = ""  # Of the file of a program, behind the name of its target

    @property
    def folder(self) -> str:
        return folder_of(self.file)

    def names(self, path: str, program: str = "") -> bool:
        """Whether its text, or that of a program's rules, names a C file or its object, in any folder."""
        stem = re.escape(path.rpartition("/")[2].removesuffix(".c"))
        text = self.programs.get(program, self.text)
        globs = [_joined(self.folder, glob) for glob in _GLOB.findall(text) if self.kind == CMAKE]
        return re.search(rf"(?<![\w.-]){stem}\.[co](?![\w.-])", text) is not None or any(
            fnmatchcase(path, glob) and path.count("/") == glob.count("/") for glob in globs
        )

    def program(self, paths: Collection[str]) -> tuple[dict[str, object], str]:
        """Its keys for the program with these C files; and a question to the user, if several programs can be it."""
        if not self.programs:
            return {**self.settings}, ""
        fit = [each for each in self.programs if all(self.names(path, each) for path in paths)]
        chosen = fit[0] if fit else str(self.settings["artefact"]).removesuffix(self.suffix)
        may = f"{self.file}: {', '.join(fit or self.programs)} may be the program with {', '.join(paths)}"
        question = "" if len(fit) == 1 else f"{may}: {chosen} is taken (another one: artefact and target)"
        # Without a target, all of these programs would be linked.
        return {**self.settings, "artefact": chosen + self.suffix, "target": chosen}, question

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
        found += sorted(known, key=lambda path: (path != full, not path.startswith(f"{base}/")))[:1]
    return list(dict.fromkeys(found))


def _joined(base: str, path: str) -> str:
    return posixpath.normpath(f"{base}/{path}".replace("\\", "/"))


def _make(repository: Repository, path: str) -> FoundBuild | None:
    text = repository.text(path)
    folder = folder_of(path)
    if "Automatically-generated file. Do not edit" in text[:200]:
        return None
    for name in _INCLUDED.findall(text):
        other = _joined(folder, name)
        text += f"\n{repository.text(other)}" if other in repository.paths else ""
    text = _CHANGED.sub(r"$(\1)", _COMMENT.sub("", _ENDS.sub(" ", text)))
    if not _CROSS.search(text):
        return None
    values: dict[str, str] = {}
    for name, how, value in _ASSIGNED.findall(text):
        values[name] = f"{values.get(name, '')} {value}".strip() if how == "+" else values.get(name, value)
    known = expanded(text, values)
    scripts = _scripts(repository, known, folder)
    said = [expanded(match[0], values) for match in _ELF.finditer(text)]
    plain = [each.removeprefix("./") for each in said if not re.search(r"[$%*()<>@]", each)]
    if not scripts and not plain:
        return None
    programs = _programs(known, [*dict.fromkeys(plain)])
    # The one in the build folder: others are comments and messages.
    names = list(programs) or plain
    artefact = next((each for each in names if "/" in each), names[0] if names else "")
    settings = {"directory": folder, "artefact": artefact} if folder != "." else {"artefact": artefact}
    why = "" if artefact else "its program (.elf) cannot be told from its text"
    return FoundBuild(MAKE, path, text, settings, tuple(scripts), why, programs)


def _programs(text: str, names: Collection[str]) -> dict[str, str]:
    """What the rules of programs and of their prerequisites say; nothing if rules make one program at most."""
    rules: dict[str, str] = {}
    for heads, body in _RULE.findall(re.sub(r"(?<!\S)\./", "", text)):
        for head in heads.split():
            rules[head] = f"{rules.get(head, '')}\n{body}"
    for head, body in [each for each in rules.items() if "%" in each[0]]:
        for name in names:
            if match := re.fullmatch(re.escape(head).replace("%", "(.+)", 1), name):
                rules[name] = f"{rules.get(name, '')}\n{body.replace('%', match[1])}"
    return _with_parts(rules, names)


def _with_parts(rules: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    """What is said of programs and of what they are made of; nothing if it is at most one program."""
    made = {name: rules[name] for name in names if name in rules}
    for name in made:
        seen, waiting = {*made}, made[name].split()
        while waiting:
            each = waiting.pop()
            if each in rules and each not in seen:
                seen.add(each)
                made[name] += rules[each]
                waiting += rules[each].split()
    return made if len(made) > 1 else {}


def _targets(text: str, values: Mapping[str, str]) -> dict[str, str]:
    """What CMake says of each executable, of its lists and of its libraries; nothing if it makes one at most."""
    parts: dict[str, str] = {}
    for name, rest in _PARTS.findall(text):
        name = expanded(name, values)
        parts[name] = f"{parts.get(name, '')}\n{rest}".replace('"', " ")
    parts |= {f"${{{name}}}": rest for name, rest in parts.items()}  # A list is used so
    names = [expanded(name, values) for name in _EXECUTABLE.findall(text)]
    return _with_parts(parts, [name for name in names if not _ALIAS.match(parts.get(name, ""))])


def _cmake_text(repository: Repository, path: str, depth: int = _DEPTH) -> str:
    """The text of a CMake file and of the files that it includes, as far as their names are known."""
    text = _REMARK.sub(lambda match: match[1] or " ", repository.text(path))
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
    name = expanded(made[1], values)
    presets = _joined(folder, "CMakePresets.json")
    said = _TOOLCHAIN.search(repository.text(presets)) if presets in repository.paths else None
    named = _joined(folder, said[1].removeprefix("${sourceDir}/")) if said is not None else ""
    both = text + "".join(repository.text(each) for each in (chain, named) if each in repository.paths)
    suffix = re.search(r"CMAKE_EXECUTABLE_SUFFIX(?:_\w+)?\s+\"?(\.\w+)", both)
    end = suffix[1] if suffix is not None and not name.endswith((".elf", ".axf", ".out")) else ""
    settings: dict[str, object] = {"directory": folder} if folder != "." else {}
    settings["artefact"] = name + end
    preset = _preset(repository, presets)
    if preset:
        settings["preset"] = preset
    elif chain:
        settings["toolchain_file"] = chain.removeprefix(f"{folder}/") if folder != "." else chain
    why = "its program cannot be told from its text" if "$" in name else ""
    scripts = tuple(_scripts(repository, both, folder))
    return FoundBuild(CMAKE, path, text, settings, scripts, why, _targets(text, values), end)


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
