"""Builds ``<n>_rel.bin`` from network.c and its raw files."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from neuralart import toolchain
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes, write_bytes
from neuralart.network import facts
from neuralart.network.facts import LL_ATON, NEURALART, NEURALART_VERSION
from neuralart.quick import dataclass, field, replace
from neuralart.relocatable.build import clang, network_source, pool_table, runtimes, staging
from neuralart.relocatable.build.assemble import RO_ALIGN, Container, Linked, assemble, read_linked, script
from neuralart.relocatable.build.network_source import NetworkSource
from neuralart.relocatable.build.objects import PARTS, ObjectCompiler, write_if_new
from neuralart.relocatable.build.pool_table import Params, TableEntry
from neuralart.relocatable.build.request import ANSWERS, VENDOR, BuildRequest, check
from neuralart.relocatable.build.runtimes import Runtime, neuralart
from neuralart.relocatable.build.staging import DEFINE as BLOBS_IN_PARAMS
from neuralart.relocatable.build.staging import StagedSources
from neuralart.vendor.releases import Version, dotted, relocation_of

FACTS = "network.json"
DEFAULT_NAME = "Default"


@dataclass(frozen=True)
class Prepared:
    """All that is known before a compile."""

    request: BuildRequest  # with its layout decided
    source: NetworkSource  # network.c
    runtime: Runtime  # what it is built with
    entries: tuple[TableEntry, ...]  # the pool table
    params: Params = field(repr=False)  # initial contents of the pools
    staged: StagedSources = field(repr=False)  # C to compile
    notes: tuple[str, ...] = ()  # options without effect
    warnings: tuple[str, ...] = ()  # what may not be meant


@dataclass(frozen=True)
class Built:
    prepared: Prepared  # what it was made from
    container: Container  # its bytes
    linked: Linked  # the ELF, taken apart
    files: Mapping[str, bytes] = field(repr=False)  # name -> bytes of what belongs into the output folder
    compiler: ObjectCompiler  # with what it ran: nothing when everything was remembered


def _known(source: NetworkSource) -> dict[str, tuple[int, int]]:
    """Use of the pools as our own compiler counted it; it knows the working memory of kernels."""
    path = source.path.with_name(FACTS)
    if not path.is_file():
        what = f"is missing: it says how much working memory {source.path.name} needs"
        raise NeuralArtError(what, where=str(path), hint="copy all files of the compile")
    network = facts.load(path)
    if network.symbol != source.c_name:
        what = f"is of network '{network.symbol}', {source.path.name} of '{source.c_name}'"
        raise NeuralArtError(what, where=str(path), hint="keep the files of a compile together")
    return {pool.fname: (pool.used, pool.activations or 0) for pool in network.pools if not pool.virtual}


def _any_name(version: Version) -> bool:
    """The headers of that runtime know networks by the names they have."""
    form = relocation_of(version)
    return form is None or form.any_name


def _runtime(version: Version, request: BuildRequest, where: str) -> Runtime:
    """The runtime that a network.c is made for. NeuralArtError: it needs a vendor's installation and none is named, or
    that has another version.
    """
    if version[0] == 0:
        if version != NEURALART_VERSION:
            what = f"network.c is made for runtime {NEURALART} {dotted(version)}, this is {dotted(NEURALART_VERSION)}"
            raise NeuralArtError(what, where=where, hint="compile the model again")
        return neuralart(request)
    if request.pack is None:
        what = f"network.c is made for runtime {LL_ATON} {dotted(version)}, which is not part of this package"
        hint = "name an installation of ST Edge AI Core with --pack-dir or STEDGEAI_CORE_DIR"
        raise NeuralArtError(what, where=where, hint=hint)
    return runtimes.installed(request.pack, version, request, where)


def prepare(request: BuildRequest) -> Prepared:
    """Read, check and generate; compile nothing. NeuralArtError: the network cannot become a relocatable model."""
    check(request)
    facts.refuse_changed(request.network.parent)
    source = network_source.read(request.network)
    where = str(request.network)
    # The flag says how the code was compiled; pools of clang are where the network has them.
    state, request = request.secure, replace(request, secure=request.secure and request.clang is None)
    runtime = _runtime(source.version, request, where)
    runtime = runtime if request.clang is None else clang.runtime_for(runtime, request.clang)
    request = replace(request, layout=request.layout or runtime.layout)
    if not _any_name(source.version) and source.c_name != DEFAULT_NAME:
        what = f"ST Edge AI Core 2.1 makes relocatable models of networks called {DEFAULT_NAME} only, this is"
        hint = "compile it again without --name, or with a newer version"
        raise NeuralArtError(f"{what} '{source.c_name}'", where=where, hint=hint)
    notes = list(request.notes)
    if request.blobs_in_params and not source.epoch_controller:
        notes.append("--ecblob-in-params: there are no epoch-controller blobs in this network")
        request = replace(request, blobs_in_params=False)
    known = _known(source) if runtime.name == NEURALART else {}
    found = pool_table.uses(source, as_vendor=request.layout == VENDOR, known=known)
    entries = pool_table.table(source, found, secure=state)
    params = pool_table.collect(
        source, entries, alignment=RO_ALIGN[request.layout], moved_first=request.blobs_in_params
    )
    if not params.data and not request.blobs_in_params:
        what = "has no constants in any pool: a loader refuses an image without params"
        raise NeuralArtError(what, where=where, hint="is it complete?")
    staged = staging.stage(request, source, runtime, entries, params)
    warnings: tuple[str, ...] = ()
    if not source.all_buffers and not known:
        warnings = (
            f"{where}: compiled without --all-buffers-info: what is in use is what its comments say of the pools",
        )
    return Prepared(request, source, runtime, entries, params, staged, tuple(notes), warnings)


def _compiler(prepared: Prepared, store: Path, work: Path) -> ObjectCompiler:
    request, runtime = prepared.request, prepared.runtime
    maps = [(work, ".")]
    if request.layout != VENDOR:
        maps.append((runtime.root, runtime.name))
    return ObjectCompiler(_found(prepared, store), store, maps)


def _found(prepared: Prepared, store: Path, *, gnu: bool = False) -> toolchain.Toolchain:
    """The compiler; ``gnu``: the GNU one in any case."""
    request, runtime = prepared.request, prepared.runtime
    asked = toolchain.WantedCompiler(request.prefix)
    environ = dict(os.environ)
    if request.programs is not None:
        environ["PATH"] = f"{request.programs}{os.pathsep}{environ.get('PATH', '')}"
    if request.clang is not None and not gnu:
        return clang.find(request.clang, environ)
    # What the compiler said of itself: asking again takes longer than all else after new weights.
    cache = store.with_name(ANSWERS)
    try:
        return toolchain.find(replace(asked, libc=runtime.libc), environ, cache=cache, where="--cross-compile")
    except NeuralArtError:
        # The preferred C library only decides about headers.
        return toolchain.find(asked, environ, cache=cache, where="--cross-compile")


def _sources(prepared: Prepared, work: Path) -> list[tuple[Path, list[str], bool]]:
    """C files in the order of the link, with their flags, and whether they go behind the archives of the runtime."""
    runtime, own = prepared.runtime, prepared.staged.sources
    defines = list(runtime.defines)
    if _any_name(runtime.version):
        defines.append(f'MODEL_CONF="{staging.CONF}"')
    if prepared.request.blobs_in_params:
        defines.append(BLOBS_IN_PARAMS)
    common = [*runtime.flags, *(f"-D{text}" for text in defines)]
    # The first of the network's own files is the code, which goes in front; the pools go behind.
    found = [(work / name, common, bool(number and runtime.archives)) for number, name in enumerate(own)]
    for each in (*runtime.per_network, *runtime.sources):
        found.append((each.path, [*common, *each.flags, *(f"-D{text}" for text in each.defines)], each.late))
    return found


def _link(prepared: Prepared, compiler: ObjectCompiler, first: list[Path], late: list[Path], work: Path) -> Path:
    request, runtime = prepared.request, prepared.runtime
    if request.layout == VENDOR and runtime.script is not None:
        text = read_bytes(runtime.script)
    else:
        text = script(request.layout, clang=request.clang is not None).encode()
    place = work / "model.ld"
    write_if_new(place, text.decode("utf-8", "replace"))
    words = [*runtime.link, "-Wl,--gc-sections", "-Wl,--emit-relocs", "-Wl,--build-id=none"]
    # The addresses follow the order.
    names = "\0".join(path.name for path in late).encode()
    inputs = text + b"".join(read_bytes(path) for path in runtime.archives) + names
    folders = []
    libraries = list(runtime.libraries)
    if isinstance(compiler.toolchain, clang.Clang):
        if libraries:
            stored = clang.helpers(compiler.toolchain, words, lambda: _found(prepared, compiler.store, gnu=True))
            libraries, inputs = [str(stored)], inputs + read_bytes(stored)
            compiler.maps = [*compiler.maps, (stored.parent, "libraries")]
    elif runtime.name == LL_ATON and compiler.toolchain.libc == runtime.libc:
        # Linker scripts of installations name the C library and libgcc: the linker looks into what it finds.
        traced = toolchain.libraries(compiler.toolchain, runtime.link, cache=compiler.store.with_name(ANSWERS))
        inputs += b"".join(read_bytes(path) for path in traced)
    elif runtime.name == LL_ATON:
        # The linker wants to see the files. This compiler has none that fit, so they are empty: what the archive of the
        # installation lacks is refused by name.
        folders = ["-L", str(work)]
        for name in ("libc.a", "libm.a"):
            write_if_new(work / name, "!<arch>\n")
    rest = [*folders, *map(str, runtime.archives), *map(str, late), *libraries, "-T", str(place)]

    def parts(elf: bytes) -> bytes:
        markers, clang = prepared.staged.markers, request.clang is not None
        return read_linked(elf, f"{request.name}.elf", markers, clang=clang).encoded

    return compiler.link(request.name, words, first, rest, inputs + Linked.FORMAT, parts)


def build(request: BuildRequest, say: Callable[[str], object] = lambda _text: None) -> Built:
    """Make an image. Nothing is written outside the store of objects and the working folder. ``request``: what to make;
    ``say``: told about each step. NeuralArtError: it cannot be made.
    """
    prepared = prepare(request)
    request = prepared.request
    store = (request.objects or request.output / "objects").resolve()
    work = (request.output / "work").resolve()
    for name, text in prepared.staged.files.items():
        write_if_new(work / name, text)
    compiler = _compiler(prepared, store, work)
    say(f"compiling with {compiler.toolchain.identity}")
    sources = _sources(prepared, work)
    head, last = prepared.runtime.include_dirs[:-1], prepared.runtime.include_dirs[-1:]
    objects = compiler.compile([(path, flags) for path, flags, _ in sources], (*head, work, *last), work)
    held = compiler.toolchain.libc
    if prepared.runtime.name == LL_ATON and request.clang is None and held != prepared.runtime.libc:
        note = f"linked without newlib, this compiler has {held}: sizes may differ from those of the vendor's driver"
        prepared = replace(prepared, notes=(*prepared.notes, note))
    say("linking")
    first, late = (
        [path for path, each in zip(objects, sources, strict=True) if each[2] is end] for end in (False, True)
    )
    linked_at = _link(prepared, compiler, first, late, work)
    linked = Linked.decoded(read_bytes(linked_at.with_suffix(PARTS)))
    name = f"{request.name}_rel.bin"
    alignment = RO_ALIGN[request.layout]
    number, params = request.toolchain[0], prepared.params
    container = assemble(linked, params, split=request.split, alignment=alignment, toolchain=number, where=name)
    files = {name: container.image}
    if container.params is not None:
        files[f"{request.name}_rel_params.bin"] = container.params
    if request.keep:
        files[f"{request.name}.elf"] = read_bytes(linked_at)
        files[f"{request.name}.map"] = read_bytes(linked_at.with_suffix(".map"))
    return Built(prepared, container, linked, files, compiler)


def write(built: Built, extra: Mapping[str, bytes]) -> None:
    """Write the results, each complete or not at all. NeuralArtError: the folder cannot be written."""
    request = built.prepared.request
    for name, data in (*built.files.items(), *extra.items()):
        write_bytes(request.output / name, data)
    stale = {f"{request.name}_rel_params.bin"} - set(built.files)
    if not request.c_file:
        stale |= {f"{request.name}_rel.c", f"{request.name}_rel.h"}
    for name in stale:
        (request.output / name).unlink(missing_ok=True)
    if not request.keep:
        work = request.output / "work"
        for name in (*built.prepared.staged.files, "model.ld", "libc.a", "libm.a"):
            (work / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # It may hold files of others
            work.rmdir()
