"""Compiling and linking, each thing once: a store has what was made from the same bytes with the same words. Objects
are named after their contents. Beside them, a file for each C file and each link says which contents belong to which
inputs; whatever is taken from the store is compared with that first.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from neuralart import jsontext
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes, write_bytes
from neuralart.toolchain import Toolchain

_REMEMBERED = 16  # objects of one C file with different headers
_TAIL = 12  # lines of a compiler's complaint that are shown
PARTS = ".parts"  # suffix of what a linked model consists of
_OUTPUT, _LISTING = "output", "listing"  # what the compiler writes, in a folder of its own


@dataclass
class ObjectCompiler:
    toolchain: Toolchain  # the programs
    store: Path  # folder of the objects
    maps: Sequence[tuple[Path, str]] = ()  # (prefix, replacement) of file names in the objects
    ran: list[str] = field(default_factory=list)  # commands that were run, the others were remembered
    said: list[str] = field(default_factory=list)  # what they printed
    notes: list[str] = field(default_factory=list)  # what was wrong with the store
    _hashes: dict[str, str] = field(default_factory=dict)  # of headers that were looked at

    def compile(self, sources: Sequence[tuple[Path, Sequence[str]]], folders: Sequence[Path], work: Path) -> list[Path]:
        """Objects of C files, in their order.

        Args:
            sources: Files, each with its flags.
            folders: Where headers are.
            work: The one among them that belongs to this build alone.

        Raises:
            NeuralArtError: The compiler refuses one.
        """
        self._hashes.clear()
        made = [self._object(source, flags, folders, work, stored=True) for source, flags in sources]
        if None in made:
            # Loading threads takes a twentieth of the time of a model with new weights.
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
                made = list(pool.map(lambda item: self._object(item[0], item[1], folders, work), sources))
        return [path for path in made if path is not None]

    def _object(
        self, source: Path, flags: Sequence[str], folders: Sequence[Path], work: Path, *, stored: bool = False
    ) -> Path | None:
        """The object of a C file; None: it is only taken if it is ``stored``, and is not."""
        # A tree that was moved has the same objects.
        known_as = self._named(source, work)
        named = [source.name if known_as[0] == "@" else known_as, *(self._named(folder, work) for folder in folders)]
        key = "\0".join([self.toolchain.counts, *flags, *named, _hash(source)])
        stem = f"{source.stem}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
        known = self.store / f"{stem}.json"
        entries = _entries(known)
        for entry in entries:
            if all(self._same(name, text, work) for name, text in entry["headers"].items()):
                target: Path = self.store / entry["object"]
                if self._whole(target, entry["sha256"]):
                    return target
        if stored:
            return None
        maps = [f"-ffile-prefix-map={prefix}={text}" for prefix, text in self.maps]
        includes = [word for folder in folders for word in ("-I", str(folder))]
        words = [*flags, *self.toolchain.libc_flags, *maps, *includes, "-c", str(source), "-MMD", "-MF"]
        made = self._make(words, source.name)
        paths = _dependencies(made[_LISTING].decode("utf-8", "replace"))
        headers = {self._named(path, work): _hash(path) for path in paths if path != source}
        digest = hashlib.sha256(made[_OUTPUT]).hexdigest()
        target = self.store / f"{source.stem}-{digest[:16]}.o"
        write_bytes(target, made[_OUTPUT])
        self._remember(known, target.name, digest, headers, entries)
        return target

    def _remember(self, known: Path, name: str, digest: str, headers: dict[str, str], others: list[Any]) -> None:
        entry = {"object": name, "sha256": digest, "headers": headers}
        entries = [entry, *(each for each in others if each["headers"] != headers)][:_REMEMBERED]
        write_bytes(known, json.dumps(entries, indent=1, sort_keys=True).encode())

    def _whole(self, path: Path, digest: str) -> bool:
        """Is a stored file what was stored? One that is not there needs no word."""
        if not path.is_file() or path.is_symlink():
            return False
        if _hash(path) == digest:
            return True
        note = f"{path.name} in the store of objects is damaged: it is made again"
        self.notes += [note] if note not in self.notes else []
        return False

    def _named(self, path: Path, work: Path) -> str:
        """A path without the folder that objects do not show."""
        text = str(path)
        for prefix, to in ((work, "."), *self.maps):
            if f"{text}{os.sep}".startswith(f"{prefix}{os.sep}"):
                return f"@{to}/{text[len(str(prefix)) + 1 :]}".replace(os.sep, "/")
        return text

    def _same(self, name: str, text: str, work: Path) -> bool:
        # Most objects have the same headers.
        if name not in self._hashes:
            path = Path(name)
            for prefix, to in (*reversed(self.maps), (work, ".")):
                if name.startswith(f"@{to}/"):
                    path = prefix / name.removeprefix(f"@{to}/")
            self._hashes[name] = _hash(path) if path.is_file() else ""
        return self._hashes[name] == text

    def link(
        self,
        name: str,
        words: Sequence[str],
        objects: Sequence[Path],
        rest: Sequence[str],
        inputs: bytes,
        parts: Callable[[bytes], bytes],
    ) -> Path:
        """An ELF, with a map and its parts beside it.

        Args:
            name: Of the network, for the file and messages.
            words: Flags in front of the objects.
            objects: In order.
            rest: Words behind them: files, whose contents are among the inputs.
            inputs: What the result depends on beside objects and words: linker script, archives.
            parts: Takes an ELF apart; what it returns is remembered, too.

        Raises:
            NeuralArtError: The linker refuses, or what takes it apart.
        """
        key = hashlib.sha256(self.toolchain.counts.encode())
        key.update("\0".join([*words, *(path.name for path in objects)]).encode() + b"\0" + inputs)
        target = self.store / f"{name}-{key.hexdigest()[:16]}.elf"
        names = {target.with_suffix(suffix).name for suffix in (".elf", ".map", PARTS)}
        known = target.with_suffix(".json")
        for entry in _entries(known):
            stored = entry["headers"]
            if names == set(stored) and all(self._whole(self.store / each, stored[each]) for each in stored):
                return target
        made = self._make([*words, *map(str, objects), *rest, "-Xlinker", "-Map", "-Xlinker"], name)
        digests = {}
        elf, text = made[_OUTPUT], self._map(made[_LISTING], target.name)
        for suffix, data in ((".elf", elf), (".map", text), (PARTS, parts(elf))):
            path = target.with_suffix(suffix)
            write_bytes(path, data)
            digests[path.name] = hashlib.sha256(data).hexdigest()
        self._remember(known, target.name, digests[target.name], digests, [])
        return target

    def _map(self, data: bytes, output: str) -> bytes:
        """A linker map that says nothing of this machine and this run."""
        text = re.sub(rf"OUTPUT\([^\n]*{_OUTPUT} ", f"OUTPUT({output} ", data.decode("utf-8", "replace"))
        places = [(self.store, ""), *((prefix, f"{name}/") for prefix, name in self.maps)]
        # gcc names its own libraries by the way from where it is installed.
        places.append((Path(self.toolchain.folder).parent, "toolchain/"))
        for prefix, name in places:
            for each in {str(prefix), prefix.as_posix(), str(prefix.resolve())}:
                text = text.replace(f"{each}{os.sep}", name).replace(f"{each}/", name)
        return text.encode()

    def _make(self, words: Sequence[str], what: str) -> dict[str, bytes]:
        """Run the compiler, which writes into a folder of its own; the file that the last word asks for is the listing.
        Returns what it wrote, by name.
        """
        import subprocess
        import tempfile

        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
            folder = Path(made)
            command = [str(self.toolchain.program), *words, str(folder / _LISTING), "-o", str(folder / _OUTPUT)]
            try:
                done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
            except OSError as error:
                raise NeuralArtError(f"does not run: {error.strerror}", where=str(self.toolchain.program)) from error
            self.ran.append(" ".join(command))
            if done.stderr.strip():
                self.said.append(done.stderr.rstrip())
            if done.returncode:
                raise refusal(done.stderr, what)
            return {name: read_bytes(folder / name) for name in (_OUTPUT, _LISTING)}


def _hash(path: Path) -> str:
    return hashlib.sha256(read_bytes(path)).hexdigest()


def _entries(known: Path) -> list[dict[str, Any]]:
    """What the store knows of a C file; a damaged list knows nothing."""
    try:
        found = jsontext.loads(known.read_text("utf-8"))
        kinds = {"object": str, "sha256": str, "headers": dict}
        return [entry for entry in found if all(isinstance(entry[key], kind) for key, kind in kinds.items())]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _dependencies(text: str) -> list[Path]:
    """Files of a make rule that gcc wrote."""
    _, _, listed = text.replace("\\\n", " ").partition(": ")
    words = re.findall(r"(?:\\.|[^\s\\])+", listed)
    return [Path(re.sub(r"\\(.)", r"\1", word).replace("$$", "$")) for word in words]


class BuildRefusal(NeuralArtError):
    """A compiler or linker refuses. ``complaint`` is all that it said."""

    complaint: str = ""


def refusal(stderr: str, what: str) -> BuildRefusal:
    """Find the line in which compiler or linker complained."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    missing = sorted(set(re.findall(r"undefined (?:reference to `|(?:hidden )?symbol: )([^\s']+)", stderr)))
    # The driver only says that the linker failed; the linker said why.
    said = [line for line in lines if not line.startswith("collect2:")]
    errors = [line for line in said if "error" in line.lower() or "cannot find" in line] or lines[-1:]
    text = f"does not compile: {(errors or ['no reason given'])[0]}"
    hint = "--verbosity 2 shows everything"
    if missing:
        names = ", ".join(missing[:_TAIL])
        text = f"nothing provides {names}: neither the runtime of relocatable models nor its archive"
        hint = "it needs an operator or a library function that a loaded model cannot have with this runtime"
    made = BuildRefusal(text, where=what, hint=hint)
    made.complaint = stderr.rstrip()
    return made


def write_if_new(path: Path, text: str) -> None:
    """Write a file unless it has this text."""
    data = text.encode("utf-8")
    if not path.is_file() or path.read_bytes() != data:
        write_bytes(path, data)
