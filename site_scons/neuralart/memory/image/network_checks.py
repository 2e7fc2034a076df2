"""Checks whether an image and its networks belong together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from neuralart.boards.types import Board, Machine
from neuralart.errors import NeuralArtError
from neuralart.memory.findings import Finding, error, warning
from neuralart.memory.image.image_facts import ImageFacts
from neuralart.memory.image.place_checks import stack_range
from neuralart.memory.regions import Span, alias_warnings, fold, network_spans
from neuralart.network.facts import NETWORK_RUNTIME, NEURALART, Network


def _image_spans(board: Board, image: ImageFacts) -> list[Span]:
    """All that the image occupies: where its bytes are loaded, where they are used, the stack."""
    spans = []
    for part in image.parts:
        spans.append(Span(f"{part.name} of the image", "image", part.run, part.run + part.size))
        if part.data and part.load != part.run:
            spans.append(Span(f"initial values of {part.name}", "image", part.load, part.load_end))
    stack = stack_range(board, image)
    if stack is not None:
        spans.append(Span("the stack", "image", *stack))
    return spans


def overlap(board: Board, image: ImageFacts, networks: Sequence[Network]) -> Iterator[Finding]:
    """Check that no pool of a network shares a byte with the image."""
    mine = _image_spans(board, image)
    for network in networks:
        try:
            pools = network_spans(board, network)
        except NeuralArtError as failure:
            yield error("overlap", str(failure))
            continue
        for pool in pools:
            for span in mine:
                common = min(span.end, pool.end) - max(span.start, pool.start)
                if common > 0:
                    what = f"{span} and {pool} have {common} bytes in common"
                    yield error("overlap", what, "move the pool, or link the image elsewhere")


def aliases(board: Board, networks: Sequence[Network]) -> Iterator[Finding]:
    """Check that networks use the addresses of the firmware's security state."""
    for network in networks:
        for text in alias_warnings(board, network):
            remedy = "give the pool its secure address, unless your firewall is set up for this one"
            yield warning("alias", text, remedy)


def _table(board: Board, image: ImageFacts) -> Mapping[str, str] | None:
    """Stamps by network, as the reference application's table has them; None without that table."""
    symbols = image.symbols
    if "app_networks" not in symbols or "app_network_count" not in symbols:
        return None
    count = image.word(fold(board, symbols["app_network_count"]))
    size = image.sizes.get("app_networks", 0)
    if not count or size != 12 * count:
        return None
    start = fold(board, symbols["app_networks"])
    stamps = {}
    for row in range(start, start + size, 12):
        pointers = image.word(row), image.word(row + 8)
        texts = [image.text(fold(board, pointer)) for pointer in pointers if pointer is not None]
        if len(texts) != 2 or texts[0] is None or texts[1] is None:
            return None
        stamps[texts[0]] = texts[1]
    return stamps


def _present(image: ImageFacts, stamp: str) -> bool:
    try:
        binary = bytes.fromhex(stamp)
    except ValueError:
        binary = b""
    wanted = [stamp.encode("utf-8"), *([binary] if len(binary) == 8 else [])]
    return any(form in part.data for part in image.loaded for form in wanted)


def stamps(board: Board, image: ImageFacts, networks: Sequence[Network]) -> Iterator[Finding]:
    """Check that the image was linked for these networks and no others."""
    table = _table(board, image)
    for network in networks:
        name, stamp = network.name, network.abi_stamp
        if table is not None and table.get(name, stamp) != stamp:
            what = f"the image was linked for abi stamp {table[name]} of network {name}, its network.json has {stamp}"
            yield error("stamp", what, "link the image again")
        elif table is None and network.runtime == NETWORK_RUNTIME:
            continue  # Its constants are C of the image itself.
        elif table is None and network.runtime != NEURALART and not _present(image, stamp):
            # An application of the user's own; the C of other compilers does not hold the stamp.
            what = f"nothing in the image tells whether the constants in the flash are those of network {name}"
            remedy = "compile npu_memory_init.c into it and call npu_memory_init()"
            yield warning("stamp", what, f"{remedy}: it turns memories on and checks them")
        elif not _present(image, stamp) or (table is not None and name not in table):
            has = f"; it has {', '.join(table) or 'none'}" if table is not None else ""
            what = f"abi stamp {stamp} of network {name} is not in the image{has}"
            yield error("stamp", what, "link the image with this network's C")
    # An application may offer a network under several names, such as with what comes before it.
    known = {network.name for network in networks} | {network.abi_stamp for network in networks}
    others = [name for name, stamp in (table or {}).items() if not {name, stamp} & known]
    if others and networks:
        for name in others:
            what = f"the image expects network {name} (abi stamp {(table or {})[name]}), which is not among those given"
            yield error("stamp", what, "give its network.json with --network, or link the image without it")
    elif others:
        what = f"the networks of the image are not checked: {', '.join(others)}"
        yield warning("stamp", what, "give each with --network")


def runtime(machine: Machine, networks: Sequence[Network], allow_reference: bool) -> Iterator[Finding]:
    """Check that the runtime of each network exists on the machine and is allowed there."""
    for network in networks:
        if machine.kind == "silicon" and network.runtime == NEURALART and not allow_reference:
            yield error(
                "runtime",
                f"network {network.name} is made for runtime neuralart, which computes without the NPU",
                "compile it with the vendor's compiler; if it is meant: allow_reference_on_hardware: true in the "
                "variant, --allow-reference-on-hardware by hand",
            )
        elif machine.kind != "silicon" and network.runtime not in (NEURALART, NETWORK_RUNTIME):
            what = f"network {network.name} is made for runtime {network.runtime}, machine {machine.kind} has no NPU"
            yield error("runtime", what, "virtual boards run networks of the reference compiler")
