"""What an application must know: inputs and outputs of its networks, the caches around a run, the table of networks.
Facts: the CPU sees memory through its data cache, the NPU and every other bus master do not; the NPU sees cacheable
pools through a cache of its own. Nothing keeps these caches equal. Software epochs are computed by the CPU.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from neuralart.boards.types import Board
from neuralart.errors import NeuralArtError
from neuralart.memory.regions import fold_alias
from neuralart.network.facts import Network, Port
from neuralart.quick import dataclass
from neuralart.text.c_values import single, string

LINE = 32  # bytes of a line of the data cache (Cortex-M55, Cortex-M7)

_CACHED_CORES = ("cortex-m55", "cortex-m7")
_TIGHTLY_COUPLED = ("ITCM", "DTCM")
# Cacheable in the default address map of Armv7-M and Armv8-M: code, SRAM and the first half of external RAM.
_CACHED_RANGES = ((0x0000_0000, 0x4000_0000), (0x6000_0000, 0xA000_0000))


@dataclass(frozen=True)
class Duty:
    """Cache maintenance that an application must do around a run."""

    # (name in small letters, to be done); the same names for every input, and for every output.
    flags: tuple[tuple[str, bool], ...]
    words: tuple[str, ...]  # the same in sentences


def who_computes(network: Network) -> str:
    """Say which unit computes a network."""
    kinds = {epoch.kind for epoch in network.epochs}
    if kinds <= {"SW"}:
        return "the CPU computes every epoch"
    return "the NPU computes, and the CPU some epochs" if kinds & {"SW", "HYBRID"} else "the NPU computes every epoch"


def cpu_caches(board: Board, port: Port) -> bool:
    """Whether the CPU reads this tensor through its data cache; assumed for buffers of the application."""
    if board.cpu not in _CACHED_CORES:
        return False
    if port.user_allocated:
        return True
    region = board.region_at(port.address)
    if region is not None and region.name in _TIGHTLY_COUPLED:
        return False
    if region is not None and region.mpu_normal:
        return True
    return any(start <= port.address < end for start, end in _CACHED_RANGES)


def duty_of(board: Board, network: Network, port: Port, *, output: bool) -> Duty:
    """Find the cache maintenance of a tensor, from the core, the memory and who computes the network."""
    cached = cpu_caches(board, port)
    # Facts do not say which epoch reads or writes a tensor: where the NPU takes part, it may.
    npu = any(epoch.kind != "SW" for epoch in network.epochs)
    cpu = any(epoch.kind in ("SW", "HYBRID") for epoch in network.epochs)
    npu_cache = npu and any(pool.fname == port.pool and pool.cacheable for pool in network.pools)
    if output:
        first = ("cache_clean_invalidate_around_run", cached and npu)
        flags = (first, ("cache_clean_before_dma", cached and cpu), ("npu_cache_clean_after_run", npu_cache))
        told = (
            (not cached, "The CPU does not cache this memory."),
            # Not invalidated only: a software epoch's results may still be in the cache.
            (cached and npu, "The NPU wrote it to memory: clean and invalidate its lines before the run and after it."),
            (cached and not npu, "The CPU reads it: nothing to do, the CPU wrote it too."),
            (cached and cpu, "Another bus master reads it (DMA, display): clean its lines before that."),
            (npu_cache, "The NPU writes it through its cache: clean it there after the run."),
        )
    else:
        around = "Another bus master writes it (DMA, camera): clean and invalidate its lines before and after that."
        last = ("npu_cache_clean_invalidate_before_run", npu_cache)
        flags = (("cache_clean_before_run", cached and npu), ("cache_clean_invalidate_around_dma", cached), last)
        told = (
            (not cached, "The CPU does not cache this memory."),
            (cached and npu, "The CPU wrote it: clean its lines before the run, the NPU reads memory."),
            (cached and not npu, "The CPU wrote it: nothing to do, the CPU reads it too."),
            (cached, around),
            (npu_cache, "The NPU reads it through its cache: clean and invalidate it there before the run."),
        )
    return Duty(flags, tuple(words for true, words in told if true))


SCHEMA = 1

_CTYPES = {
    **{name: f"{name}_t" for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")},
    **{"bool": "uint8_t", "float32": "float", "float64": "double"},
}
_SPATIAL = {1: "", 2: "", 3: "W", 4: "HW", 5: "DHW"}


@dataclass(frozen=True)
class PortTensor:
    """An input or output, as an application needs it."""

    prefix: str  # of its macros, DIGITS_IN_1
    port: Port  # the facts
    address: int  # in the alias of the firmware's security state; 0 when the application provides the buffer
    alias: int  # the same bytes in the other security state; 0 if there is no other address
    layout: str  # meaning of the axes, NHWC; undefined where the network does not say
    duty: Duty  # what to do about caches

    @property
    def ctype(self) -> str:
        """C type of an element."""
        return _CTYPES[self.port.dtype]

    @property
    def quantized(self) -> bool:
        """Whether it has scale and zero point."""
        return self.port.scale != 0.0


def layout(port: Port) -> str:
    """Letters of the axes in memory order: N batch, D, H, W space, C channels."""
    rank = len(port.shape)
    if port.channel_position not in ("last", "first") or rank not in _SPATIAL:
        return "undefined"
    if rank == 1:
        return "C"
    space = _SPATIAL[rank]
    return f"N{space}C" if port.channel_position == "last" else f"NC{space}"


def tensors(board: Board, network: Network) -> list[PortTensor]:
    """Inputs, then outputs. NeuralArtError: a tensor lies in no memory of the board, or has a type without a C type."""
    made = []
    for kind, ports in (("IN", network.inputs), ("OUT", network.outputs)):
        for number, port in enumerate(ports, start=1):
            where = f"{'input' if kind == 'IN' else 'output'} '{port.name}' of network {network.name}"
            if port.dtype not in _CTYPES:
                raise NeuralArtError(f"elements of type '{port.dtype}' have no C type", where=where)
            address, alias = _addresses(board, port)
            duty = duty_of(board, network, port, output=kind == "OUT")
            made.append(PortTensor(f"{network.name.upper()}_{kind}_{number}", port, address, alias, layout(port), duty))
    return made


def _addresses(board: Board, port: Port) -> tuple[int, int]:
    if port.user_allocated:
        return 0, 0
    address = fold_alias(board, port.address)
    region = board.region_at(address)
    if region is None or region.alias is None:
        return address, 0
    return address, address - region.base + region.alias


def _macros(tensor: PortTensor) -> list[tuple[str, str]]:
    port = tensor.port
    values = [
        ("NAME", string(port.name)),
        ("ADDRESS", f"0x{tensor.address:08x}u"),
        ("ALIAS", f"0x{tensor.alias:08x}u"),
        ("USER_ALLOCATED", str(int(port.user_allocated))),
        ("BYTES", f"{port.bytes}u"),
        ("TYPE", tensor.ctype),
        ("TYPE_NAME", string(port.dtype)),
        ("ELEMENTS", f"{math.prod(port.shape)}u"),
        ("RANK", str(len(port.shape))),
        ("SHAPE", "{" + ", ".join(map(str, port.shape)) + "}"),
        *((f"DIM_{axis}", str(size)) for axis, size in enumerate(port.shape)),
        ("LAYOUT", string(tensor.layout)),
        ("QUANTIZED", str(int(tensor.quantized))),
        ("SCALE", single(port.scale)),
        ("ZERO_POINT", f"({port.zero_point})" if port.zero_point < 0 else str(port.zero_point)),
        *((name.upper(), str(int(value))) for name, value in tensor.duty.flags),
    ]
    return [(f"{tensor.prefix}_{name}", value) for name, value in values]


def _check_names(networks: Sequence[Network], names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            listed = " and ".join(network.name for network in networks)
            hint = "macros are named by the network in capitals: rename one of the networks"
            raise NeuralArtError(f"network_io.h would define {name} twice for networks {listed}", hint=hint)
        seen.add(name)


def source(board: Board, networks: Sequence[Network]) -> str:
    """Text of ``network_io.h``, one header for all networks of an image. NeuralArtError: a tensor lies in no memory or
    has no C type, or two networks would have the same macros.
    """
    lines = [
        f"/* {board.name}: inputs and outputs of {', '.join(network.name for network in networks)}. Generated. */",
        "#ifndef NETWORK_IO_H",
        "#define NETWORK_IO_H",
        "",
        "#include <stdint.h>",
        "",
        "/* Buffers are cleaned and invalidated in lines of so many bytes. */",
        f"#define NETWORK_IO_CACHE_LINE {LINE}u",
    ]
    names = []
    for network in networks:
        prefix = network.name.upper()
        counts = [(f"{prefix}_IN_COUNT", len(network.inputs)), (f"{prefix}_OUT_COUNT", len(network.outputs))]
        names += [name for name, _ in counts]
        lines += ["", f"/* ---- {network.name}: {who_computes(network)} ---- */", ""]
        lines += [f"#define {name} {count}" for name, count in counts]
        for tensor in tensors(board, network):
            macros = _macros(tensor)
            names += [name for name, _ in macros]
            lines += ["", *(f"/* {sentence} */" for sentence in tensor.duty.words)]
            lines += [f"#define {name} {value}" for name, value in macros]
    _check_names(networks, names)
    return "\n".join([*lines, "", "#endif", ""])


def _tensor_json(tensor: PortTensor) -> dict[str, object]:
    port = tensor.port
    return {
        "macros": tensor.prefix,
        "name": port.name,
        "address": None if port.user_allocated else f"0x{tensor.address:08x}",
        "alias": f"0x{tensor.alias:08x}" if tensor.alias else None,
        "user_allocated": port.user_allocated,
        "bytes": port.bytes,
        "type": port.dtype,
        "shape": list(port.shape),
        "layout": tensor.layout,
        "scale": port.scale if tensor.quantized else None,
        "zero_point": port.zero_point if tensor.quantized else None,
        "cache": {**dict(tensor.duty.flags), "words": list(tensor.duty.words)},
    }


def json_text(board: Board, networks: Sequence[Network]) -> str:
    """The same as JSON (``network_io.json``), for tools on the host. NeuralArtError: as :func:`source`."""
    source(board, networks)  # the same refusals
    made = []
    for network in networks:
        both = tensors(board, network)
        inputs, outputs = both[: len(network.inputs)], both[len(network.inputs) :]
        ports = {"inputs": list(map(_tensor_json, inputs)), "outputs": list(map(_tensor_json, outputs))}
        made.append({"name": network.name, "computes": who_computes(network), **ports})
    data = {"schema": SCHEMA, "board": board.name, "cache_line": LINE, "networks": made}
    return json.dumps(data, indent=1, ensure_ascii=True) + "\n"


def user_io_bytes(networks: Sequence[Network]) -> int:
    """Bytes of the inputs and outputs that the application must provide: a buffer shares no cache line with others."""
    ports = [port for network in networks for port in (*network.inputs, *network.outputs)]
    return sum(-(-port.bytes // LINE) * LINE for port in ports if port.user_allocated)


def app_networks_c(networks: Sequence[Network]) -> str:
    """Text of ``app_networks.c`` for firmware/app/app_networks.h."""
    return "\n".join(
        [
            "/* The networks of this image. Generated. */",
            '#include "app_networks.h"',
            "",
            *(f"LL_ATON_DECLARE_NAMED_NN_INSTANCE_AND_INTERFACE({network.symbol});" for network in networks),
            "",
            "const app_network_t app_networks[] = {",
            *(f'    {{"{n.name}", &NN_Instance_{n.symbol}, "{n.abi_stamp}"}},' for n in networks),
            "};",
            f"const unsigned app_network_count = {len(networks)};",
            "",
            "/* One line more than needed, so that no buffers are an array too. */",
            f"uint8_t app_user_io[{user_io_bytes(networks) + LINE}] __attribute__((aligned({LINE})));",
            f"const uint32_t app_user_io_bytes = {user_io_bytes(networks)};",
            "",
        ]
    )
