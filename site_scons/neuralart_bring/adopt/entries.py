"""What was found becomes networks and variants: which board, which build and which files belong together."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from neuralart import boards
from neuralart.boards.types import Board
from neuralart.config.application import CMAKE, CUBEIDE, MAKE
from neuralart.network.facts import LL_ATON, NEURALART
from neuralart.network.targets import CPU, NPU, flow_of
from neuralart.vendor.runtime_header import RUNTIME_HEADER, parse_runtime
from neuralart_bring.adopt import places
from neuralart_bring.adopt.builds import CUBEMX, FoundBuild
from neuralart_bring.adopt.flash import FlashCommand
from neuralart_bring.adopt.networks import FoundNetwork
from neuralart_bring.adopt.tree import Repository, folder_of

# What trees call the boards besides their names: folders of their support packages.
_ALSO = {
    "stm32n6570-dk": ("stm32n6570-discovery", "stm32n6570dk"),
    "nucleo-n657x0-q": ("stm32n6xx-nucleo", "nucleo-n657x0"),
    "stm32h747i-disco": ("stm32h747i-discovery", "stm32h747i-eval"),
}
_IOC_BOARD = re.compile(r"^board=(.+)$", re.M)
_NAME = re.compile(r"[^A-Za-z0-9_]+")
_RUNS = {NPU: "the NPU", CPU: "the core"}


@dataclass(frozen=True)
class Entries:
    networks: Mapping[str, Mapping[str, object]]  # By name
    variants: Mapping[str, Mapping[str, object]]  # By name
    notes: tuple[str, ...] = ()  # What is worth a look, or why something is left out


@dataclass(frozen=True)
class FoundTree:
    repository: Repository = field(repr=False)
    networks: Sequence[FoundNetwork]
    builds: Sequence[FoundBuild]
    scripts: Sequence[str]
    flash: Sequence[FlashCommand]
    boards: Sequence[str]  # Boards that the tree is for


def boards_in(text: str, known: Sequence[str]) -> list[str]:
    """Boards that a text names, by their names or what trees call them, the most frequent first."""
    plain = text.lower().replace("_", "-")
    counts = {name: sum(plain.count(word) for word in (name, *_ALSO.get(name, ()))) for name in known}
    return sorted((name for name in known if counts[name]), key=lambda name: (-counts[name], name))


def boards_of(repository: Repository, builds: Sequence[FoundBuild], known: Sequence[str]) -> list[str]:
    """Boards that a tree is for: by the projects that are made for one, by the folders of its builds, by its README."""
    told = [match[1] for build in builds if build.kind == CUBEMX for match in _IOC_BOARD.finditer(build.text)]
    folders = [build.folder for build in builds]
    readme = [repository.text(path) for path in repository.own("readme*") if "/" not in path]
    # Files name other boards in passing: all together mean the most frequent one.
    contents = ["\n".join(build.text for build in builds)]
    for texts in (told, folders, contents, [repository.root.name], readme):
        found = [board for text in texts for board in boards_in(text, known)[:1]]
        if found:
            return list(dict.fromkeys(found))
    return []


def _common(one: str, other: str) -> int:
    """How many folders two paths share."""
    pairs = zip(one.split("/"), other.split("/"), strict=False)
    return next((number for number, (a, b) in enumerate(pairs) if a != b), 99)


def _build_for(network: FoundNetwork, board: str, found: FoundTree) -> FoundBuild | None:
    """The build that is most likely this network's: its text or its folder names the board, it is near."""
    usable = [build for build in found.builds if build.kind != CUBEMX]
    mine = [build for build in usable if board in boards_in(build.file, found.boards)]
    others = [build for build in usable if not boards_in(build.file, found.boards)]
    order = {MAKE: 0, CMAKE: 1, CUBEIDE: 2}

    def rank(build: FoundBuild) -> tuple[bool, bool, int, int, int]:
        return (
            bool(build.why),
            not build.names(network.c_file) and build.kind != CUBEIDE,
            order[build.kind],
            -_common(build.file, network.c_file),
            # STM32CubeIDE/CM7 is the build of CM7/App.
            -len({*build.file.split("/")} & {*network.c_file.split("/")}),
        )

    return min(mine or others, key=rank, default=None)


def _not_compiled(networks: Sequence[FoundNetwork], build: FoundBuild | None) -> list[FoundNetwork]:
    """Networks whose C the text of a build leaves out, while it names that of another one."""
    if build is None or build.kind == CUBEIDE or build.patterns:
        return []
    left = [each for each in networks if not build.names(each.c_file)]
    return left if len(left) < len(networks) else []


def _stage(networks: Collection[FoundNetwork]) -> dict[str, str]:
    """The places of their C and headers, which they have already (where two have a name, no rule can say it)."""
    codes = [(network.folder, name) for network in networks if network.generated for name in network.generated.code]
    names = [name for _, name in codes]
    rules = {name: "./" if folder == "." else f"{folder}/" for folder, name in codes if names.count(name) == 1}
    return {**rules, "*": ""}


def _unique(name: str, taken: Mapping[str, object]) -> str:
    number, free = 2, name
    while free.lower() in {each.lower() for each in taken}:
        free, number = f"{name}_{number}", number + 1
    return free


def _network_name(network: FoundNetwork, board: str, several: bool) -> str:
    stem = network.c_file.rpartition("/")[2].removesuffix(".c")
    name = f"{stem}_{board}" if several and board else stem
    name = _NAME.sub("_", name).strip("_") or "network"
    return name if not name[0].isdigit() else f"net_{name}"


def _below(shown: str, path: str) -> str:
    """A path of the tree as variants.yaml names it."""
    return path if shown == "." else f"{shown}/{path}" if path != "." else shown


def _compiler(network: FoundNetwork, found: FoundTree, shown: str) -> dict[str, object]:
    told: dict[str, object] = {"folder": _below(shown, network.folder)}
    if len([other for other in found.networks if other.folder == network.folder]) > 1:
        told["c_file"] = network.c_file.rpartition("/")[2]
    if any(folder_of(path) != network.folder for path in network.initializers.values()):
        told["initializers"] = {pool: _below(shown, path) for pool, path in network.initializers.items()}
    return {"adopted": told if len(told) > 1 else told["folder"]}


def _network(network: FoundNetwork, found: FoundTree, shown: str) -> dict[str, object]:
    pools = {"mpool": _below(shown, network.mpool)} if network.mpool else {}
    return {"compiler": _compiler(network, found, shown), **pools}


def _runtime_notes(found: FoundTree, left: Collection[str]) -> list[str]:
    """Networks for another runtime than the tree has: its build would be refused. ``left``: C that is not built."""
    texts = {path: found.repository.text(path) for path in found.repository.named(RUNTIME_HEADER)}
    headers = [header for path, text in texts.items() if (header := parse_runtime(text, path)) is not None]
    return [
        f"{network.c_file} is made for runtime {network.version}, {headers[0].where} is {headers[0].text}: "
        "its build is refused until they are of one release"
        for network in found.networks
        if network.c_file not in left
        and network.version
        and headers
        and all(header.text != network.version for header in headers)
    ]


def _why_not(network: FoundNetwork, board: str, build: FoundBuild | None, found: FoundTree, flow: str) -> str:
    """Why there is no entry for a network; empty: there is one. ``flow``: where networks of the board run."""
    if network.why or network.generated is None:
        return network.why
    if not board and found.boards:
        return f"the tree is for {' and '.join(found.boards)}, its folder for none of them (--board NAME)"
    if not board:
        return "nothing names a board that is known (--board NAME)"
    if network.generated.flow != flow:
        return f"it runs on {_RUNS[network.generated.flow]}, networks of {board} on {_RUNS[flow]}"
    if build is None:
        # Of a network of ours, the camera application of this project is one.
        return "" if flow == CPU and network.runtime == NEURALART else "there is no build of its program"
    return f"{build.file}: {build.why}" if build.why else ""


def entries(found: FoundTree, known: Sequence[str], shown: str) -> Entries:
    """Networks and variants for everything that can be built as it lies there.

    Args:
        found: What is there.
        known: Names of the boards that are known.
        shown: The tree's folder as variants.yaml names it.
    """
    networks: dict[str, Mapping[str, object]] = {}
    variants: dict[str, Mapping[str, object]] = {}
    notes: list[str] = []
    loaded: dict[str, Board] = {}
    # What one build puts into one program, by names in C: that cannot have two networks of a name.
    programs: dict[tuple[str, str], dict[str, FoundNetwork]] = {}
    made = {build.file: build for build in found.builds}
    # Networks without an entry that such a program has nevertheless.
    lacking: dict[tuple[str, str], list[FoundNetwork]] = {}
    for network in found.networks:
        board = _board_for(network, found, known)
        build = _build_for(network, board, found)
        if board:
            loaded[board] = loaded.get(board) or boards.load(board)
        why = _why_not(network, board, build, found, flow_of(loaded[board].target) if board else "")
        members = programs.setdefault((board, build.file if build is not None else ""), {}) if not why else {}
        other = members.get(network.c_name)
        if other is not None and build is not None:
            loser, winner = sorted((network, other), key=partial(_nearness, build=build))
            members[network.c_name] = winner
            network, why = loser, f"{winner.c_file} is network {network.c_name} of {build.file}"
        if why:
            notes.append(f"no entry for {network.c_file}: {why}")
            if network.why and network.generated is not None and build is not None and build.names(network.c_file):
                lacking.setdefault((board, build.file), []).append(network)
        else:
            members[network.c_name] = network
    left: list[str] = []
    for (_, file), members in programs.items():
        for network in _not_compiled(list(members.values()), made.get(file)):
            left.append(members.pop(network.c_name).c_file)
            other_file = next(iter(members.values())).c_file
            notes.append(f"no entry for {network.c_file}: {file} compiles {other_file}, and this one not")
    stems = [network.c_file.rpartition("/")[2] for members in programs.values() for network in members.values()]
    tree = _NAME.sub("-", found.repository.root.resolve().name).strip("-").lower() or "tree"
    for (board, file), members in programs.items():
        names: dict[str, FoundNetwork] = {}
        for network in members.values():
            several = stems.count(network.c_file.rpartition("/")[2]) > 1
            names[_unique(_network_name(network, board, several), networks)] = network
            networks |= {name: _network(each, found, shown) for name, each in names.items()}
        variant: dict[str, object] = {"board": board, "networks": list(names)}
        if any(network.runtime == LL_ATON for network in names.values()):
            # No virtual machine has an NPU.
            variant["machine"] = "silicon"
        if file:
            mine = made[file]
            settings, question = mine.program([each.c_file for each in names.values()])
            notes += [question] if question else []
            variant["application"] = {mine.kind: {"folder": shown, **settings, "stage": _stage(names.values())}}
            npu = [each.generated for each in names.values() if each.generated and each.generated.flow == NPU]
            used = {pool.address for generated in npu for pool in generated.pools.pools}
            begins = places.vectors(mine, found.repository)
            slots = places.moved_slots(found.flash, loaded[board], used, begins)
            notes += places.header_notes(found.flash, loaded[board], used, begins)
            variant |= {**places.boot_mode(mine, found.repository, loaded[board], slots.get("slots", {})), **slots}
        name = _unique(f"{tree}-{board}" if len(found.boards) > 1 else tree, variants)
        variants[name] = variant
        others = {each.c_name: each.c_file for each in lacking.get((board, file), ()) if each.c_name not in members}
        notes += [
            f"{file} compiles {c_file} too: the flash plan of {name} lacks its constants" for c_file in others.values()
        ]
    notes += [note for network in found.networks for note in network.notes]
    notes += [*places.flash_notes(found.networks, found.flash), *_runtime_notes(found, left)]
    return Entries(networks, variants, tuple(notes))


def _nearness(network: FoundNetwork, build: FoundBuild) -> tuple[bool, int]:
    """The larger, the more likely the build compiles it: its text has the path, or it is near."""
    parts = network.c_file.split("/")
    tails = ("/".join(parts[start:]) for start in range(len(parts) - 1))
    return any(tail in build.text for tail in tails), _common(network.c_file, build.file)


def _board_for(network: FoundNetwork, found: FoundTree, known: Sequence[str]) -> str:
    """The board of a network: the one that its folder names, else the only one of the tree."""
    named = boards_in(network.folder, known)
    if named:
        return named[0] if named[0] in found.boards else ""
    return found.boards[0] if len(found.boards) == 1 else ""
