"""What was found becomes networks and variants: which board, which build and which files belong together."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from neuralart import boards
from neuralart.boards.boot_modes import XIP
from neuralart.boards.types import Board
from neuralart.network.facts import LL_ATON, NEURALART
from neuralart.network.targets import CPU, NPU, flow_of
from neuralart.vendor.runtime_header import RUNTIME_HEADER, parse_runtime
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
_FSBL = re.compile(r"fsbl|bootloader", re.I)
_WEIGHTS = re.compile(r"network|weight|model|atonbuf|param", re.I)
_ORIGIN = re.compile(r"\bORIGIN\s*=\s*(0x[0-9A-Fa-f]+)")
# As STM32CubeMX calls the linker script of a program that is executed in flash.
_IN_PLACE = re.compile(r"ROMxspi\d", re.I)
_NAME = re.compile(r"[^A-Za-z0-9_]+")
_RUNS = {NPU: "the NPU", CPU: "the core"}


class _Address(int):
    """Written as people write addresses."""

    def __repr__(self) -> str:
        return f"0x{self:08x}"


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
    order = {"make": 0, "cmake": 1, "cubeide": 2}

    def rank(build: FoundBuild) -> tuple[bool, bool, int, int, int]:
        names_it = network.c_file.rpartition("/")[2] in build.text
        return (
            bool(build.why),
            not names_it and build.kind != "cubeide",
            order[build.kind],
            -_common(build.file, network.c_file),
            # STM32CubeIDE/CM7 is the build of CM7/App.
            -len({*build.file.split("/")} & {*network.c_file.split("/")}),
        )

    return min(mine or others, key=rank, default=None)


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


def moved_slots(flash: Sequence[FlashCommand], board: Board, pools: set[int]) -> dict[str, dict[str, int]]:
    """The application's slot, where the tree flashes it elsewhere than the board has it."""
    places = {
        each.address
        for each in flash
        if each.address is not None
        and each.address not in pools
        and not _FSBL.search(each.file)
        and not _WEIGHTS.search(each.file.rpartition("/")[2])
        and board.region_at(each.address) is not None
    }
    slot = board.boot.slot if board.boot is not None else ""
    if len(places) != 1 or slot not in board.slots or board.slots[slot] in places:
        return {}
    return {"slots": {slot: _Address(places.pop())}}


def _boot(build: FoundBuild, repository: Repository, board: Board, slots: Mapping[str, object]) -> dict[str, object]:
    """The mode in which the program of a build is executed in its slot: its linker script says so."""
    boot = board.boot
    if boot is None or boot.in_place or not build.scripts:
        return {}
    slot = slots.get(boot.slot, board.slots[boot.slot])
    assert isinstance(slot, int)
    script = build.scripts[0]
    vectors = {int(each, 0) for each in _ORIGIN.findall(repository.text(script))}
    in_slot = slot + boot.header in vectors or _IN_PLACE.search(script.rpartition("/")[2])
    return {"boot": XIP} if in_slot else {}


def _flash_notes(found: FoundTree) -> list[str]:
    """Constants that a command flashes elsewhere than where the network reads them."""
    notes = []
    for network in found.networks:
        if network.generated is None or network.generated.flow == CPU:
            continue
        pools = {pool.fname: pool.address for pool in network.generated.pools.pools}
        for fname in network.generated.needed:
            mine = {network.initializers.get(fname, ""), f"{network.folder}/network_data.hex"}
            for each in found.flash:
                if each.file in mine and each.address not in (None, pools.get(fname)):
                    notes.append(
                        f"{each.said_in} writes {each.file} to 0x{each.address or 0:08x}, {network.c_file} reads pool "
                        f"{fname} at 0x{pools.get(fname, 0):08x}"
                    )
    return notes


def _runtime_notes(found: FoundTree) -> list[str]:
    """Networks for another runtime than the tree has: its build would be refused."""
    texts = {path: found.repository.text(path) for path in found.repository.named(RUNTIME_HEADER)}
    headers = [header for path, text in texts.items() if (header := parse_runtime(text, path)) is not None]
    return [
        f"{network.c_file} is made for runtime {network.version}, {headers[0].where} is {headers[0].text}: "
        "its build is refused until they are of one release"
        for network in found.networks
        if network.version and headers and all(header.text != network.version for header in headers)
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
        else:
            members[network.c_name] = network
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
            variant["application"] = {mine.kind: {"folder": shown, **mine.settings, "stage": _stage(names.values())}}
            npu = [each.generated for each in names.values() if each.generated and each.generated.flow == NPU]
            used = {pool.address for generated in npu for pool in generated.pools.pools}
            slots = moved_slots(found.flash, loaded[board], used)
            variant |= {**_boot(mine, found.repository, loaded[board], slots.get("slots", {})), **slots}
        variants[_unique(f"{tree}-{board}" if len(found.boards) > 1 else tree, variants)] = variant
    notes += [note for network in found.networks for note in network.notes]
    return Entries(networks, variants, (*notes, *_flash_notes(found), *_runtime_notes(found)))


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
