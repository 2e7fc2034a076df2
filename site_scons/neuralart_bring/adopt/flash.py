"""What a repository flashes where: commands in its scripts, its Makefiles and its README."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from neuralart.vendor.generated.initializers import first_address
from neuralart_bring.adopt.builds import expanded
from neuralart_bring.adopt.tree import Repository, folder_of

_READ = (
    *("*.sh", "*.bat", "*.cmd", "*.ps1", "*.md", "readme*", "makefile", "gnumakefile", "*.mk", "launch.json"),
    "tasks.json",
)
_PROGRAM = re.compile(
    r"(?:^|[\s\"'])(?:-w|-d|--write|--download)[ \t]+(\"[^\"\n]+\"|'[^'\n]+'|\S+)(?:[ \t]+\"?(0x[0-9a-fA-F]{5,8})\b)?"
)
_OBJCOPY = re.compile(r"--change-addresses[ \t=]+(0x[0-9a-fA-F]{5,8})\b([^\n]*)")
_IMAGE = re.compile(r"[^\s\"']+\.(?:bin|hex|raw|elf|srec|ihex)\b", re.I)
_CONTINUED = re.compile(r"[ \t]*[\\^`]\r?\n[ \t]*")
_SET = re.compile(
    r"^[ \t]*(?:set[ \t]+|export[ \t]+|\$)?\"?(\w+)[ \t]*[:?]?=[ \t]*[\"']?([^\"'\n#&;]*?)[\"']?[ \t]*$", re.M | re.I
)
_PLAIN = re.compile(r"\$(\w+)|%(\w+)%")
_UNKNOWN = re.compile(r"[$%<>@*|]")
_SUFFIXES = (".bin", ".hex", ".raw", ".elf", ".srec", ".ihex")


@dataclass(frozen=True, order=True)
class FlashCommand:
    """A file that something writes into flash."""

    said_in: str  # ``file:line`` below the top
    file: str  # Below the top where it is there, else as it is said
    address: int | None  # None: the command names none, and the file is not there or has none


def _values(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for match in _SET.finditer(text):
        found.setdefault(match[1], match[2])
    return found


def _known(word: str, values: Mapping[str, str]) -> str:
    word = _PLAIN.sub(lambda match: values.get(match[1] or match[2], match[0]), word)
    return expanded(word, values).strip("\"'").replace("\\", "/").removeprefix("./")


def _place(repository: Repository, said: str, base: str) -> str:
    """A file as its path below the top; as it is said where it is not there, or in several places."""
    for start in (base, "."):
        path = said if start == "." else f"{start}/{said}"
        if path in repository.paths:
            return path
    known = [path for path in repository.by_name.get(said.rpartition("/")[2], []) if f"/{path}".endswith(f"/{said}")]
    return known[0] if len(known) == 1 else said


def _address(repository: Repository, file: str) -> int | None:
    if not file.lower().endswith((".hex", ".ihex")) or file not in repository.paths:
        return None
    return first_address(repository.head(file))


def _commands(repository: Repository, path: str) -> Iterator[FlashCommand]:
    text = repository.text(path)
    # Lines keep their numbers.
    joined = _CONTINUED.sub(lambda match: " " + "\0", text)
    values = _values(text)
    number = 1
    for line in joined.split("\n"):
        where = f"{path}:{number}"
        number += 1 + line.count("\0")
        plain = line.replace("\0", "")
        for match in _PROGRAM.finditer(plain):
            said = _known(match[1], values)
            if said.lower().endswith(_SUFFIXES) and not _UNKNOWN.search(said):
                file = _place(repository, said, folder_of(path))
                yield FlashCommand(where, file, int(match[2], 16) if match[2] else _address(repository, file))
        for match in _OBJCOPY.finditer(plain):
            files = [each for each in _IMAGE.findall(_known(plain, values)) if not _UNKNOWN.search(each)]
            if files:
                yield FlashCommand(where, _place(repository, files[-1], folder_of(path)), int(match[1], 16))


def commands(repository: Repository) -> list[FlashCommand]:
    """All of them, each said once, in the order of the files that say them."""
    found = [each for path in repository.own(*_READ) for each in _commands(repository, path)]
    return list(dict.fromkeys(found))
