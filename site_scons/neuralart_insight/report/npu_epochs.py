"""What each epoch of a compiled network does on the NPU, decoded by the virtual NPU: figures, and tables of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from neuralart.errors import NeuralArtError
from neuralart.vendor.tables import plural, table

if TYPE_CHECKING:
    from neuralart.vendor.network_c.types import GeneratedNetwork
    from neuralart_virtual.network_c.ecblobs import BlobHeader

Epoch = Mapping[str, Any]
HEADS = ("epoch", "units, or kernels of software", "reads", "writes", "MACs", "of the most")
NUMBERS = (4, 5)
NOTHING: Mapping[str, Any] = MappingProxyType({"epochs": [], "missing": ""})
MOST = (
    "the most: 4 accelerators x 72 products a step (36 of features with 16 bits), a word a step at each port; no time"
)


def _decoded(decode: Callable[[], Sequence[Epoch]]) -> dict[str, Any]:
    epochs: Sequence[Epoch] = ()
    missing = ""
    try:
        epochs = decode()
    except ImportError as error:
        missing = f"{error.name} is not installed: pip install 'scons-neuralart[npu]'"
    except NeuralArtError as error:
        missing = str(error)
    return {"epochs": list(epochs), "missing": missing}


def of_network(network: GeneratedNetwork, folder: Path) -> dict[str, Any]:
    """``epochs`` of a network.c as docs/reference/inspect.md lists them, and ``missing``: why there are none.
    ``folder``: of the header with its programs.
    """

    def decode() -> Sequence[Epoch]:
        from neuralart_virtual.npu import described

        return described.of_network(network, folder)

    return _decoded(decode)


def of_file(path: Path) -> dict[str, Any]:
    """The same of a file. NeuralArtError: it is no network.c."""
    from neuralart.vendor.network_c.read import read

    return of_network(read(path), path.parent)


def of_programs(header: BlobHeader) -> dict[str, Any]:
    """The same of a header with programs of the epoch controller."""

    def decode() -> Sequence[Epoch]:
        from neuralart_virtual.npu import described

        return described.of_programs(header)

    return _decoded(decode)


def units(epoch: Epoch) -> str:
    """``2 CONVACC, 4 ARITH``; of software the names of its kernels, without what all of them begin with."""
    kinds = Counter(name.rstrip("0123456789") for name in epoch["units"])
    prefixes = ("ll_sw_forward_", "LL_ATON_LIB_DMA_", "LL_ATON_LIB_")
    for name in epoch["kernels"]:
        kinds[next((name.removeprefix(each) for each in prefixes if name.startswith(each)), name)] += 1
    return ", ".join(kind if count == 1 and epoch["kernels"] else f"{count} {kind}" for kind, count in kinds.items())


def moved(epoch: Epoch, *, writes: bool) -> dict[str, int]:
    """Bytes that its streams read or write, by pool."""
    sums = Counter[str]()
    for stream in epoch["streams"]:
        if stream["writes"] == writes:
            sums[stream["pool"]] += stream["bytes"]
    return dict(sorted(sums.items()))


def _cells(epoch: Epoch) -> tuple[str, ...]:
    sides = (moved(epoch, writes=writes) for writes in (False, True))
    texts = [", ".join(f"{pool} {size:,}" for pool, size in side.items()) or "-" for side in sides]
    what = ": ".join(filter(None, (units(epoch), epoch["missing"]))) or "-"
    if not epoch["most_macs"]:
        return (epoch["epoch"], what, *texts, "-", "-")
    return (epoch["epoch"], what, *texts, f"{epoch['macs']:,}", f"{100 * epoch['macs'] / epoch['most_macs']:.1f} %")


def cells(epochs: Iterable[Epoch]) -> list[tuple[str, ...]]:
    """Rows below HEADS."""
    return [_cells(epoch) for epoch in epochs]


def summary(epochs: Sequence[Epoch]) -> str:
    """Sums of all epochs, in a line."""
    macs, most = (sum(epoch[key] or 0 for epoch in epochs) for key in ("macs", "most_macs"))
    software = sum(epoch["kind"] == "SW" for epoch in epochs)
    sides = (sum(sum(moved(epoch, writes=writes).values()) for epoch in epochs) for writes in (False, True))
    read, written = sides
    share = f", {100 * macs / most:.1f} % of the most" if most else ""
    count = f"{plural(len(epochs) - software, 'epoch')} on the NPU, {software:,} by software"
    return f"{count}; {macs:,} MACs{share}; {read:,} bytes read, {written:,} written"


def lines(record: Mapping[str, Any], *, whole: bool = True) -> list[str]:
    """The epochs of a record for people; ``whole``: each of them, not their sums alone. Empty if there are none."""
    if not record["epochs"]:
        return [f"what each epoch does: unknown: {record['missing']}"] if record["missing"] else []
    rows = table(HEADS, cells(record["epochs"])) if whole else []
    return ["what each epoch does, decoded:", *rows, f"  {summary(record['epochs'])}", f"  {MOST}"]
