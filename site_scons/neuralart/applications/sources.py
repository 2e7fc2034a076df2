"""Resolves the patterns of a program's sources to files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from neuralart.config.application import ApplicationConfig
from neuralart.errors import NeuralArtError, nearest
from neuralart.files import note, searched
from neuralart.quick import dataclass

COMPILED = (".c", ".s", ".S", ".cc", ".cpp", ".cxx")
_MAGIC = "*?["


@dataclass(frozen=True)
class SourceSet:
    """The files of a user's program."""

    files: tuple[Path, ...]  # to compile, each once, in the order of the patterns and by name within one
    include_dirs: tuple[Path, ...] = ()  # folders
    defines: tuple[str, ...] = ()  # ``NAME`` or ``NAME=value``
    linker_script: Path | None = None  # None: the board's own
    archives: tuple[Path, ...] = ()  # files to link
    libraries: tuple[str, ...] = ()  # names as behind ``-l``


def _expand(root: Path, pattern: str, where: str) -> Iterator[Path]:
    """Files of one pattern that can be compiled."""
    if not any(sign in pattern for sign in _MAGIC):
        path = root / pattern
        if not path.is_file():
            beside = path.parent.iterdir() if path.parent.is_dir() else iter(())
            names = [each.name for each in beside if each.suffix in COMPILED]
            raise NeuralArtError(f"no file {path.as_posix()}", where=where, hint=nearest(path.name, names))
        if path.suffix not in COMPILED:
            hint = f"these are compiled: {', '.join(COMPILED)}"
            raise NeuralArtError(f"{pattern} is no source file", where=where, hint=hint)
        yield path
        return
    parts = Path(pattern).parts
    # A pattern cannot begin at the top of a file system.
    start, rest = (Path(parts[0]), parts[1:]) if Path(pattern).is_absolute() else (root, parts)
    fixed = next(number for number, part in enumerate(rest) if any(sign in part for sign in _MAGIC))
    searched(start.joinpath(*rest[:fixed]), deep=len(rest) > fixed + 1 or "**" in rest)
    try:
        for count in range(fixed + 1, len(rest) + 1):  # A link may lead out of what is searched, or nowhere yet
            for link in filter(Path.is_symlink, start.glob("/".join(rest[:count]))):
                searched(link, deep=True) if link.is_dir() else note(link)
        found = sorted(start.glob("/".join(rest)), key=lambda path: path.as_posix())
    except (ValueError, NotImplementedError) as error:
        raise NeuralArtError(f"'{pattern}' is no pattern: {error}", where=where) from error
    yield from (path for path in found if path.is_file() and path.suffix in COMPILED)


def _left_out(path: Path, root: Path, patterns: Sequence[str]) -> bool:
    text = path.as_posix()
    return any(fnmatchcase(text, (root / pattern).as_posix()) for pattern in patterns)


def _files(patterns: Sequence[str], root: Path, where: str) -> tuple[Path, ...]:
    without = [pattern.removeprefix("!") for pattern in patterns if pattern.startswith("!")]
    made: dict[Path, None] = {}
    for pattern in patterns:
        if pattern.startswith("!"):
            continue
        found = list(_expand(root, pattern, where))
        if not found:
            what = f"'{pattern}' fits no file that can be compiled below {root.as_posix()}"
            hint = f"these are compiled: {', '.join(COMPILED)}; ** stands for any folders"
            raise NeuralArtError(what, where=where, hint=hint)
        made.update(dict.fromkeys(path for path in found if not _left_out(path, root, without)))
    if not made:
        raise NeuralArtError("every file is left out again", where=where)
    return tuple(made)


def _is_file_name(text: str) -> bool:
    return "/" in text or "\\" in text or text.endswith((".a", ".o", ".lib"))


def collect(config: ApplicationConfig, root: Path) -> SourceSet:
    """Find the files of an application of kind ``sources``; ``root``: where its paths start. NeuralArtError: a pattern
    matches nothing, or a file or folder is missing.
    """
    given = config.sources
    assert given is not None
    for name in given.include_dirs:
        if not (root / name).is_dir():
            raise NeuralArtError(f"no folder {(root / name).as_posix()}", where=config.said("include_dirs"))
    script = root / given.linker_script if given.linker_script else None
    if script is not None and not script.is_file():
        raise NeuralArtError(f"no file {script.as_posix()}", where=config.said("linker_script"))
    archives = tuple(root / name for name in given.libraries if _is_file_name(name))
    for archive in archives:
        if not archive.is_file():
            hint = "a name alone (m) is one of -lm"
            raise NeuralArtError(f"no file {archive.as_posix()}", where=config.said("libraries"), hint=hint)
    return SourceSet(
        _files(given.files, root, config.said("files")),
        tuple(root / name for name in given.include_dirs),
        given.defines,
        script,
        archives,
        tuple(name.removeprefix("-l") for name in given.libraries if not _is_file_name(name)),
    )
