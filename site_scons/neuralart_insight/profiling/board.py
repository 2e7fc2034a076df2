"""A measurement by the validation protocol: the passes of the vendor's profiler, kept as the log that it would write.
The reader of saved logs computes all figures from that log, so a measurement and its replay cannot differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from neuralart.errors import NeuralArtError, printable
from neuralart_virtual.validation_link.client import PER_LAYER, PERF, LayerRecord, ValidationClient, check_stamp
from neuralart_virtual.validation_link.messages import Fields, dtype

PASSES = (0x31, 0x51, 0x08)
"""What each pass counts: engines that read, and those that write (both with NPU cycles and cache); bus interfaces."""
_KINDS = {0: "HW", 1: "EXTRA", 2: "SW", 3: "HYBRID", 4: "EC"}
_NPU = 4  # Runtime of a network on the NPU
_CONFIG, _NODE = "s:config:", "s:node:"
_CACHES = (("fpu", 1 << 16), ("dcache", 1 << 11), ("icache", 1 << 10), ("npu_cache", 1))


def _text(text: str) -> str:
    """A name as a log can hold it between quotes."""
    return printable(text).replace("'", "?").replace('"', "?")


def _device(client: ValidationClient) -> Iterator[str]:
    """What the board is."""
    system, extra = client.system, [*client.system["extra"], 0, 0]
    attributes = [name for name, bit in _CACHES if system["cache"] & bit]
    attributes += [f"{name}={hz}" for name, hz in (("mcu_freq", system["core_hz"]), ("npu_freq", extra[1])) if hz]
    yield f"[I]     device.desc : 0x{system['device']:x} @{system['core_hz'] / 1e6:g}/{system['bus_hz'] / 1e6:g}MHz"
    yield f"[I]     device.attrs : {','.join(attributes)}"
    yield f"[I]     protocol : {client.framing}"


def _described(network: Fields, client: ValidationClient) -> Iterator[str]:
    """What a network is."""
    name = _text(network["name"])
    yield "[D] -> [model_info msg]"
    yield f'[D]    name: "{name}"'
    for side in ("inputs", "outputs"):
        for tensor in network[side]:
            yield from (f"[D]    {side} {{", f'[D]      name: "{_text(tensor["name"])}"')
            yield from (f"[D]      addr: {tensor['address']}", "[D]    }")
    yield "[D] <- [model_info msg]"
    yield f"[I]     Summary '{name}'"
    for letter, side in (("I", "inputs"), ("O", "outputs")):
        for number, tensor in enumerate(network[side], 1):
            kind, shape = dtype(tensor["format"]), ",".join(map(str, tensor["shape"]))
            size = tensor["size"] * max(tensor["format"] >> 7 & 0x7F, 1) // 8
            scale = f", QLinear({tensor['scale']:.9g},{tensor['zero_point']},{kind})" if tensor["scale"] else ""
            place = f"[I]     {letter}[{number}/{len(network[side])}] '{_text(tensor['name'])}'"
            yield f"{place} : {kind}[{shape}], {size:,} Bytes{scale}"
    yield f"[I]     n_nodes : {network['nodes']}"
    yield f"[I]     activations : {sum(each['size'] for each in network['activations']):,} bytes"
    yield f"[I]     compile_datetime : {_text(network['compiled'])}"
    yield f"[I]     runtime lib : {_text(network['runtime_text'])}"
    yield from _device(client)


def _of_operators(layers: Sequence[LayerRecord]) -> Iterator[str]:
    """Lines about epochs as a firmware for profiling sends them, of one that sends times alone."""
    for index, layer in enumerate(layers):
        one = layer.operator
        first, last, named = one["id"] & 0xFFFF, one["id"] >> 16, _KINDS.get(one["type"] & 15, "HW")
        epochs = f"{index}:{first}:{-1 if named == 'EXTRA' else first}:{last if last < 0x8000 else -1}"
        yield f"{_NODE}evt_pre_start:{epochs}:0:0:{named}"
        yield f"{_NODE}mcu_cycles:{':'.join(map(str, [*one['counters'], 0, 0, 0][:3]))}"


def _ones(network: Fields) -> list[bytes]:  # An element of each input: the board fills the input with it
    return [bytes(max(tensor["format"] >> 10 & 15, 1)) for tensor in network["inputs"]]


def _sample(client: ValidationClient, network: Fields, counters: int, first: bool) -> Iterator[str]:
    """One inference."""
    *layers, whole = client.run(network, _ones(network), PER_LAYER | PERF, first, counters)
    lines = [line for each in (*layers, whole) for line in each.lines if line.startswith(_NODE)]
    if not any(line.startswith(f"{_NODE}evt_pre_start:") for line in lines):
        lines = list(_of_operators(layers))
    yield from (f"[T]      [TARGET:1] {printable(line)}" for line in lines)
    yield f'[D]      name="{_text(network["name"])}" counters="CPU cycles"{whole.operator["counters"]}'


def measured_log(
    client: ValidationClient, url: str, name: str, batch: int, stamps: dict[str, str], done: Callable[[int, int], None]
) -> str:
    """Run each pass of a network (empty name: of all) ``batch`` times, and keep what the board says of it. ``stamps``:
    ABI stamps of networks that the user has built; ``done``: called with the number of runs done, and all.
    NeuralArtError: the board has no such network, or another build of it, or cannot observe epochs.
    """
    found = [client.network(name)] if name else client.networks()
    said = (line for line in dict.fromkeys(client.lines) if line.startswith(_CONFIG))
    lines = [f"[I] neuralart profile of {url}", *(f"[T] [TARGET:1] {printable(line)}" for line in said)]
    runs = [(network, counters, number) for network in found for counters in PASSES for number in range(batch)]
    for ready, (network, counters, number) in enumerate(runs, 1):
        if not number and counters == PASSES[0]:
            check_stamp(network, stamps.get(network["name"], str(network["signature"])), url)
            if network["runtime"] & 0xFF != _NPU:
                what = f"network '{network['name']}' has no epochs: its runtime is not that of the NPU"
                raise NeuralArtError(what, where=url)
            lines += _described(network, client)
            client.run(network, _ones(network), PERF, first=False)  # The first inference of all is slower than others
        lines += _sample(client, network, counters, number == 0)
        done(ready, len(runs))
    return "".join(f"{line}\n" for line in lines)
