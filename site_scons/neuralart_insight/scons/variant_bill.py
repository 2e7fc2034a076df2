"""``sbom-<variant>``: what a variant is made of, file by file. Loaded only when that target is asked for. The graph of
the build says what goes into a firmware; the place of a file says what it is.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import SCons.Node.FS

from neuralart import __version__
from neuralart.applications.runtime import parse_name
from neuralart.compilers.command_line import REFERENCE
from neuralart.fingerprint import closure
from neuralart.network.facts import NEURALART_VERSION
from neuralart.resources import PACKAGE, firmware_dir
from neuralart.scons import node_plans
from neuralart.scons.network.nodes import Compiled, NetworkNodes
from neuralart.scons.network.plan import CompilePlan
from neuralart.scons.paths import named, place
from neuralart.scons.registry import code_value, names_value, registry_of
from neuralart.toolchain import programs as programs_of
from neuralart_insight.sbom import bill
from neuralart_insight.sbom.bill import BillPart

if TYPE_CHECKING:
    from neuralart.scons.flash.images import VariantProgram

_ARCHIVES = (".a", ".lib")
_CODE = (".c", ".h", ".cc", ".cpp", ".cxx", ".s", ".ld")
_CONSTANTS = "_data_params.c"  # Of a network that runs on the core
# Role -> type and name of the part that the files of this role make.
_GROUPS = {
    "runtime": (bill.LIBRARY, "scons-neuralart runtime"),
    "vendor-runtime": (bill.LIBRARY, "ST Edge AI network runtime"),
    "c-library": (bill.LIBRARY, "C library"),
    "application": (bill.APPLICATION, "application"),
    "input": (bill.DATA, "other inputs of the build"),
}


def _files_behind(tops: Iterable[Any]) -> Iterator[Any]:
    """The files that nothing makes and that some nodes are made of, without what C files include."""
    seen: set[Any] = set()
    todo = list(tops)
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        # Of a node that is up to date SCons has taken the builder away, but not these.
        needed = [*node.sources, *(node.depends or ())]
        if not needed and isinstance(node, SCons.Node.FS.File):
            yield node
        # Of a tree with a build of its own SCons knows a hash.
        yield from (node.fs.File(str(path)) for path in getattr(node.attributes, "neuralart_files", ()))
        todo += needed


def _weights(network: Compiled) -> list[Any]:
    """The files that hold its constants."""
    if isinstance(network, NetworkNodes):
        return list(network.initializers.values())
    return [node for node in network.code if str(node).endswith(_CONSTANTS)]


class VariantBill:
    """The bill of a variant. ``programs``: for each board that it runs on. ``made``: nodes of all its files."""

    def __init__(self, env: Any, programs: Sequence[VariantProgram], made: Sequence[Any]) -> None:
        self._env, self.programs, self.made = env, programs, made
        # The programs of a variant share theirs.
        self._networks = list({net.folder: net for each in programs for net in each.networks}.values())
        self._firmwares = [each.firmware for each in programs if each.firmware is not None]
        found = dict.fromkeys(each.toolchain for each in self._firmwares)
        self._toolchains = {each.identity: programs_of(each) for each in found if each is not None}
        # Of an adopted network there is no model.
        self._models = [network.facts.sources[0] for network in self._networks if network.config.adopted is None]

    def _compiler(self, network: Compiled) -> tuple[str, str, list[Path]]:
        """Name, version and files of the compiler of a network."""
        plan = node_plans.known(network.files[0], CompilePlan)
        assert plan is not None  # its emitter has left it there
        chosen = plan.compiler
        install = registry_of(self._env).known("stedgeai", network.config.compiler_version) if chosen.slow else None
        if install is not None:
            return "ST Edge AI Core", install.version.text, [install.program]
        if chosen.kind == REFERENCE:
            return "scons-neuralart reference compiler", __version__, closure(("neuralart_reference",))
        # A recording says of which tool it is; a plugin says itself who it is.
        return chosen.identity, "", [Path(node.srcnode().get_abspath()) for node in chosen.sources]

    def nodes(self) -> list[Any]:
        """Everything that the bill tells hashes of, and the code that writes it."""
        others = [path for paths in self._toolchains.values() for path in paths]
        others += [path for network in self._networks for path in self._compiler(network)[2]]
        nodes = [*self.made, *self._models, *_files_behind(self.made)]
        nodes += [node for network in self._networks for node in _weights(network)]
        nodes += [self._env.fs.File(str(path)) for path in others]
        more = [names_value(nodes), code_value(self._env, "sbom", "neuralart_insight/sbom")]
        return list(dict.fromkeys([*nodes, *more]))

    def _name(self, path: Path) -> str:
        """Relative to the top folder or to ours; of other files the last part: the same everywhere."""
        for root, said in ((firmware_dir(), "firmware"), (PACKAGE, "neuralart")):
            if path.is_relative_to(root):
                return f"{said}/{path.relative_to(root).as_posix()}"
        text = named(self._env, path)
        return path.name if Path(text).is_absolute() else text

    def _role(self, path: Path, vendor: Container[Path]) -> str:
        """What a file that the build reads is."""
        archive = path.suffix in _ARCHIVES
        if path in vendor or (archive and parse_name(path.name) is not None):
            return "vendor-runtime"
        if archive and Path(named(self._env, path)).is_absolute():
            return "c-library"
        if path.is_relative_to(firmware_dir() / "runtime"):
            return "runtime"
        return "application" if archive or path.suffix.lower() in _CODE else "input"

    def _files(self, role: str, paths: Iterable[Path]) -> tuple[BillPart, ...]:
        return bill.files(role, ((self._name(path), path) for path in paths))

    def _read(self) -> Iterator[BillPart]:
        """What the build reads, one part for each role."""
        vendor = {path for each in self._firmwares if each.vendor is not None for path in each.vendor.sources}
        roles: dict[str, list[Path]] = {}
        for node in _files_behind(self.made):
            if node not in self._models:
                path = place(node)
                roles.setdefault(self._role(path, vendor), []).append(path)
        for role, paths in sorted(roles.items()):
            kind, name = _GROUPS[role]
            version = ".".join(map(str, NEURALART_VERSION)) if role == "runtime" else ""
            if role == "vendor-runtime":
                said = [found.said for path in paths if (found := parse_name(path.name)) is not None]
                name = f"{name}: {', '.join(sorted(said))}" if said else name
            yield bill.group(kind, name, role, self._files("file", paths), version)

    def _tools(self) -> Iterator[BillPart]:
        """Who compiled the networks and the C."""
        compilers = {name: (version, paths) for name, version, paths in map(self._compiler, self._networks)}
        for name, (version, paths) in sorted(compilers.items()):
            yield bill.group(bill.APPLICATION, name, "compiler", self._files("file", paths), version)
        for identity, paths in self._toolchains.items():
            # Of the tools of one folder the names tell enough.
            parts = bill.files("file", ((path.name, path) for path in paths))
            yield bill.group(bill.APPLICATION, identity, "toolchain", parts)

    def text(self) -> str:
        """The bill. NeuralArtError: A file cannot be read, or the library is not installed."""
        variant = self.programs[0].variant
        made = self._files("output", map(place, self.made))
        weights = [place(node) for network in self._networks for node in _weights(network)]
        models = self._files("model", map(place, self._models))
        parts = [
            *(replace(part, kind=bill.MODEL) for part in models),
            *(replace(part, kind=bill.DATA) for part in self._files("weights", weights)),
            *self._tools(),
            *self._read(),
            *made,
        ]
        digest = bill.of_files({part.name: part.sha256 for part in made})
        return bill.text(BillPart(bill.FIRMWARE, variant.name, "variant", digest), parts)
