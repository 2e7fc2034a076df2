"""Facts for the rules: of files of all kinds, and of a variant as it is configured and as it was built last."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path, PurePath

from neuralart import boards, budgets, findings
from neuralart.boards.types import Board
from neuralart.compilers.command_line import REFERENCE
from neuralart.config.read import ProjectFile
from neuralart.config.types import NetworkConfig, VariantConfig, split_profile
from neuralart.errors import NeuralArtError
from neuralart.files import is_file, read_bytes
from neuralart.memory.layout.strategies import LayoutNetwork, by_rule
from neuralart.network import facts
from neuralart.network.pools import PoolFile
from neuralart.text import ihex
from neuralart.text.c_source import blanked, decode
from neuralart.vendor import mpool, runtime_header
from neuralart.vendor.c_info import read as c_info
from neuralart.vendor.c_info.types import RESULTS
from neuralart.vendor.profile import ProfileFile, parse_profiles, read_profiles
from neuralart_bring import last_build
from neuralart_bring.last_build import network_folders, read_networks
from neuralart_bring.linker_script import read as linker_script
from neuralart_bring.linker_script.types import LinkerScript
from neuralart_insight.lint import networks, types
from neuralart_insight.lint.engine import REFUSED, UNREADABLE
from neuralart_insight.vendor.q_json import QFile, parse_q_json

_C = (".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".hh", ".inc", ".s", ".S")
_LINKER = (".ld", ".lds", ".lkr")
_MAKE_NAMES = ("Makefile", "makefile", "GNUmakefile", "CMakeLists.txt", "SConstruct", "SConscript")
_MAKE = (".mk", ".mak", ".cmake")
_MODELS = (".onnx", ".tflite", ".keras", ".h5")
# The tool's workspace holds copies of what is in its output folder.
_SKIPPED = ("__pycache__", "node_modules", "st_ai_ws")
_MOST = 20_000


@dataclass
class Bag:
    """Facts so far."""

    networks: list[types.LintedNetwork] = field(default_factory=list)
    pool_files: list[PoolFile] = field(default_factory=list)
    sources: list[types.Source] = field(default_factory=list)
    scripts: list[LinkerScript] = field(default_factory=list)
    runtimes: list[runtime_header.RuntimeHeader] = field(default_factory=list)
    profiles: list[ProfileFile] = field(default_factory=list)
    exports: list[QFile] = field(default_factory=list)
    models: list[tuple[str, str]] = field(default_factory=list)
    hexes: list[types.HexPiece] = field(default_factory=list)
    findings: list[findings.LintFinding] = field(default_factory=list)  # About files that cannot be read

    def unreadable(self, error: NeuralArtError, file: str = "") -> None:
        """Keep why a file cannot be read."""
        where = error.where or file
        self.findings.append(findings.LintFinding(UNREADABLE, findings.ERROR, where, error.what, error.hint))

    def facts(self, board: Board | None) -> types.Facts:
        """All of it."""
        found = {each.name: tuple(getattr(self, each.name)) for each in fields(types.Facts) if each.name != "board"}
        found["networks"] = tuple(networks.placed(network, self.pool_files) for network in self.networks)
        return types.Facts(board, **found)


def _take_c(bag: Bag, path: Path, file: str) -> None:
    data = read_bytes(path)
    if path.suffix == ".c" and b"LL_ATON_EpochBlockItems_" in data and b"ll_atonn_rt_epoch_block_array" in data:
        bag.networks.append(networks.from_c(path, file, data))
        return
    # ``N_atonbuf.<pool>.c``: numbers only.
    initializer = path.name.count(".") == 2 and path.suffix == ".c" and ".raw" not in path.name
    if path.name.endswith("_ecblobs.h") or (b"_mem_pool_" in data and initializer):
        return
    text = decode(data)
    if path.name == runtime_header.RUNTIME_HEADER:
        header = runtime_header.parse_runtime(text, file)
        if header is not None:
            bag.runtimes.append(header)
            return
    bag.sources.append(types.Source(file, "c", text, blanked(text, texts=True)))


def _take_json(bag: Bag, path: Path, file: str, named: bool) -> None:
    data = read_bytes(path)
    if b'"json_schema_version"' in data:
        info = c_info.parse_c_info(data, file)
        beside = path.with_name(path.name.removesuffix("_c_info.json") + ".c")
        # The C says more, and is looked at itself.
        if info.flow != RESULTS and not (path.name.endswith("_c_info.json") and beside.is_file()):
            bag.networks.append(networks.from_info(info))
    elif b'"abi_stamp"' in data and b'"numerics"' in data:
        network = facts.from_json(data.decode("utf-8", "replace"), file)
        if not is_file(path.parent / f"{network.name}.c"):
            bag.networks.append(networks.from_facts(network, file))
    elif b'"Profiles"' in data:
        bag.profiles.append(parse_profiles(data, file, path.parent))
    elif path.name.endswith("_Q.json"):
        bag.exports.append(parse_q_json(data, file))
    elif named:
        hint = "JSON: profiles, c_info.json, network.json, *_Q.json"
        raise NeuralArtError("no rule looks at such a file", where=file, hint=hint)


def _take(bag: Bag, path: Path, file: str, named: bool) -> None:
    """One file; one that no rule looks at is an error only where the user named it."""
    suffix = path.suffix
    if suffix in _C:
        _take_c(bag, path, file)
    elif suffix in _LINKER:
        bag.scripts.append(linker_script.read(path, file))
    elif suffix in _MAKE or path.name in _MAKE_NAMES:
        bag.sources.append(types.Source(file, "make", decode(read_bytes(path))))
    elif suffix == ".mpool":
        bag.pool_files.append(mpool.read(path, file))
    elif suffix == ".json":
        _take_json(bag, path, file, named)
    elif suffix == ".hex":
        parts = ihex.parse(read_bytes(path), file).parts
        if len(parts) == 1:
            address, data = parts[0]
            bag.hexes.append(types.HexPiece(file, address, len(data), hashlib.sha256(data).hexdigest()))
    elif suffix in _MODELS:
        # An exported model in an output folder belongs there; one that was exported twice was compiled from one.
        if named or path.name.count("_OE_") > 1:
            bag.models.append((path.name, file))
            if named and path.suffix in _MODELS[:2]:
                _take_model(bag, path, file, findings.WARNING)
    elif named and suffix != ".raw":
        hint = "C, linker scripts, makefiles, .mpool, profiles, c_info.json, .hex, models"
        raise NeuralArtError("no rule looks at such a file", where=file, hint=hint)


def _take_model(bag: Bag, path: Path, where: str, level: str, config: NetworkConfig | None = None) -> None:
    """Find what the reference compiler refuses about a model, in its words."""
    from neuralart.compilers.request import input_shapes
    from neuralart_reference.lower import lower
    from neuralart_reference.model import reader

    try:
        if path.suffix == ".tflite" or reader.can_read(path):
            shapes = input_shapes(",".join(config.input_shapes)) if config else {}
            lower(reader.read(path, where, cut=config.cut if config else (), shapes=shapes))
    except NeuralArtError as error:
        bag.findings.append(findings.LintFinding(REFUSED, level, where, error.what, error.hint))


def walk(folder: Path) -> Iterator[Path]:
    """Files below a folder in a fixed order, without hidden ones and copies. NeuralArtError: there are too many."""
    count = 0
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(
            name for name in folders if not name.startswith((".", "neural_art__")) and name not in _SKIPPED
        )
        for name in sorted(names):
            count += 1
            if count > _MOST:
                hint = "name the folders with the application's sources"
                raise NeuralArtError(f"more than {_MOST} files", where=str(folder), hint=hint)
            if not name.startswith("."):
                yield Path(here) / name


def add(bag: Bag, paths: Sequence[Path]) -> None:
    """Take files and folders in; NeuralArtError: no rule looks at a file that was named, or a folder is too large."""
    seen: set[Path] = set()
    for path in paths:
        folder = path.is_dir()
        for each in walk(path) if folder else [path]:
            file = each.as_posix()
            if each.resolve() in seen:
                continue
            seen.add(each.resolve())
            try:
                _take(bag, each, file, not folder)
            except NeuralArtError as error:
                if error.what.startswith("no rule looks at"):
                    raise
                bag.unreadable(error, file)


def _built(config: NetworkConfig, layout: LayoutNetwork, board: Board, folder: Path | None) -> types.LintedNetwork:
    where = config.said()
    found = types.LintedNetwork(config.name, where)
    if folder is not None:
        path = folder / f"{config.name}.c"
        if path.is_file():
            found = networks.from_c(path, path.as_posix(), read_bytes(path))
        else:
            found = networks.from_facts(facts.load(folder / "network.json"), where)
    regions = {pool.fname: board.region_at(pool.address) for pool in layout.pools.enabled}
    by_rules = {fname: by_rule(region) for fname, region in regions.items() if region is not None}
    # What the user says, and the rule for the rest.
    strategies, model = {**by_rules, **layout.strategies}, PurePath(config.model.replace("\\", "/")).name
    found = replace(found, declared=layout.declared, strategies=strategies, loaded=layout.loaded)
    return replace(found, model=model, model_where=config.said("model"))


def add_variant(bag: Bag, project: ProjectFile, variant: VariantConfig, file: Path, build: Path) -> tuple[Board, str]:
    """Take a variant in. Returns its board, and why nothing is known of its last build (empty if something is)."""
    extra = [file.parent / path for path in project.config.boards]
    board = boards.load(variant.booted[0], extra, variant.booted[1])
    layouts = read_networks(board, variant, file.parent)
    built = last_build.read(build, variant.name, board, layouts)
    folders = network_folders(build / variant.name / "index.json") if built.networks else {}
    known = {network.name: network for network in built.networks}
    for config, layout in zip(variant.networks, layouts, strict=True):
        folder = folders.get(config.name)
        bag.networks.append(_built(config, layout, board, folder))
        if config.compiler == REFERENCE and is_file(file.parent / config.model):
            _take_model(bag, file.parent / config.model, config.said("model"), findings.ERROR, config)
        if layout.pools.pools and layout.pools not in bag.pool_files:
            bag.pool_files.append(layout.pools)
        _, profile = split_profile(config.profile)
        if profile and not config.mpool:
            try:
                bag.profiles.append(read_profiles(file.parent / profile, (file.parent / profile).as_posix()))
            except NeuralArtError as error:
                bag.unreadable(error)
        if folder is not None and config.budgets:
            path = folder / f"{config.name}_c_info.json"
            info = c_info.read(path) if path.is_file() else None
            bag.findings += budgets.check(known[config.name], info, config.budgets)
    return board, built.note
