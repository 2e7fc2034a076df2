"""A measurement for programs and people: records, a table of comma-separated values, and the vendor's own words. Where
the vendor's profiler mixes two things, both are shown: its difference to ``max_cycles`` is a share of the measured
cycles, that of the estimate stands beside it; engines that read and write are not averaged together.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from neuralart_insight.profiling.estimate import PoolAccess, traffic_of
from neuralart_insight.profiling.join import ProfiledEpoch, ProfiledNetwork
from neuralart_insight.profiling.measured import BURSTS, Phases, jitter, milliseconds, total_phases
from neuralart_insight.profiling.totals import bandwidth, gops, in_words, pool_lines, pool_record, ratio

_TIMES, _CYCLES = ("ms", "%", "cumul %"), ("CPU cycles", "NPU core", "- max_cycles")
HEADS = ("epoch", "type", *_TIMES, *_CYCLES, "compute", "GOPS", "operators")
_NONE = Phases(None, 0, None)
_BAR = 60


def _core(phases: Phases | None) -> int | None:
    return None if phases is None else phases.core


def _fields(record: Phases | None) -> dict[str, Any] | None:
    return None if record is None else asdict(record)


def epoch_record(network: ProfiledNetwork, epoch: ProfiledEpoch) -> dict[str, Any]:
    """What was measured of an epoch, and how it compares with what was expected."""
    one, npu_hz = epoch.measured, network.clocks.npu
    core, total = _core(one.npu), None if one.npu is None else one.npu.total
    compute, most, operations = (epoch.sum_of(key) for key in ("compute_cycles", "max_cycles", "operations"))
    apart = None if core is None or most is None else core - most
    took = network.milliseconds(one)
    return {
        "first": one.first,
        "last": one.last,
        "type": one.kind,
        "epochs": [each.id for each in epoch.expected],
        "duration_ms": took,
        "share": ratio(took, network.whole_ms),
        "mcu_cycles": _fields(one.mcu),
        "npu_cycles": _fields(one.npu),
        "max_cycles": most,
        "difference": apart,
        "difference_to_measured": ratio(apart, core),
        "difference_to_estimate": ratio(apart, most),
        "compute_ratio": ratio(compute, core),
        "compute_ratio_total": ratio(compute, total),
        "gops": gops(operations, total, npu_hz),
        "core_gops": gops(operations, core, npu_hz),
        "bus": {
            str(port): {
                **{"read": bursts.bytes[0], "written": bursts.bytes[1]},
                **{"read_bursts": list(bursts.read), "write_bursts": list(bursts.written)},
                "bytes_per_second": bandwidth(sum(bursts.bytes), core, npu_hz),
            }
            for port, bursts in one.ports.items()
        },
        "streams": [
            {**vars(s), "share": ratio(s.cycles, core), "pools": list(epoch.pools_of(s.direction, s.engine))}
            for s in one.streams
        ],
        "npu_cache": None if one.cache is None else {key: list(row) for key, row in asdict(one.cache).items()},
        "pools": {
            name: {"read": each.read, "written": each.written, "bytes_per_second": bandwidth(each.bytes, core, npu_hz)}
            for name, each in epoch.pools.items()
        },
    }


def _totals(network: ProfiledNetwork) -> dict[str, Any]:
    epochs = [epoch.measured for epoch in network.epochs]
    mcu, npu = total_phases(epochs, "mcu"), total_phases(epochs, "npu")
    cycles = None if mcu is None else mcu.total
    clocks = network.clocks
    took, core_took = milliseconds(cycles, clocks.mcu), milliseconds(_core(npu), clocks.npu)
    npu_total = None if npu is None else npu.total
    sums = {key: [epoch.sum_of(key) for epoch in network.epochs] for key in ("operations", "compute_cycles")}
    operations, compute = (sum(v for v in sums[key] if v is not None) or None for key in sums)
    pools = traffic_of(each for epoch in network.epochs for each in epoch.expected)
    whole = PoolAccess(sum(p.read for p in pools.values()), sum(p.written for p in pools.values()))
    speeds = {
        name: pool_record(
            access, bandwidth(access.bytes, _core(npu), clocks.npu), bandwidth(access.bytes, cycles, clocks.mcu)
        )
        for name, access in {**pools, "": whole}.items()
    }
    return {
        "duration_ms": took,
        "npu_core_ms": core_took,
        "npu_core_share": ratio(core_took, took),
        "mcu_cycles": _fields(mcu),
        "npu_cycles": _fields(npu),
        "inferences_per_second": ratio(clocks.mcu or 0, cycles),
        "gops": gops(operations, npu_total, clocks.npu),
        "core_gops": gops(operations, _core(npu), clocks.npu),
        "compute_ratio": ratio(compute, npu_total),
        "core_compute_ratio": ratio(compute, _core(npu)),
        "jitter": jitter(epochs),
        "bandwidth": speeds.pop(""),
        "pools": speeds,
    }


def measured_record(network: ProfiledNetwork) -> dict[str, Any]:
    """For programs (docs/reference/profile.md has the schema)."""
    found = network.measurement
    return {
        "network": found.name,
        "source": found.source,
        "records": found.how,
        "samples": found.samples,
        "device": found.device,
        "clocks": {f"{name}_hz": hertz for name, hertz in asdict(network.clocks).items()},
        "inputs": [asdict(tensor) for tensor in found.inputs],
        "outputs": [asdict(tensor) for tensor in found.outputs],
        "epochs": [epoch_record(network, epoch) for epoch in network.epochs],
        "totals": _totals(network),
        "missing": list(found.missing),
        "notes": list(network.notes),
    }


def as_csv(network: ProfiledNetwork) -> str:
    """A line for each epoch, with all that is known of it: ``mcu_cycles.core``, ``bus.0.read``; unknown stays empty."""
    rows = [dict(_flat("", epoch_record(network, epoch))) for epoch in network.epochs]
    text = io.StringIO()
    writer = csv.DictWriter(text, dict.fromkeys(key for row in rows for key in row), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Cells of a record; a list is one cell, but that of the streams: each engine has its own."""
    if name == "streams":
        yield from ((f"{name}.{s['engine']}.{s['direction']}", s["cycles"]) for s in value)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}".lstrip("."), inner)
    else:
        yield name, " ".join(map(str, value)) if isinstance(value, list) else value


def _number(value: float | None, form: str, unit: str = "") -> str:
    return "-" if value is None else f"{value:{form}}{unit}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f}%"


def _phases(phases: Phases | None) -> str:
    if phases is None:
        return "-"
    parts = ("-" if part is None else f"{part}" for part in (phases.pre, phases.core, phases.post))
    return f"[{', '.join(parts)}]"


def measured_rows(network: ProfiledNetwork) -> list[list[Any]]:
    """A row for each epoch under :data:`HEADS`."""
    rows, cumulated = [], 0.0
    for epoch in network.epochs:
        record = epoch_record(network, epoch)
        cumulated += record["share"] or 0.0
        rows.append(
            [
                epoch.measured.name.removeprefix("EpochBlock_"),
                epoch.measured.kind,
                _number(record["duration_ms"], ".3f"),
                _number(None if record["share"] is None else 100 * record["share"], ".1f"),
                _number(None if record["share"] is None else 100 * cumulated, ".1f"),
                _phases(epoch.measured.mcu),
                _core(epoch.measured.npu),
                record["difference"],
                _percent(record["compute_ratio"]),
                _number(record["core_gops"], ".1f"),
                ", ".join(dict.fromkeys(epoch.operators)) or "-",
            ]
        )
    return rows


def epoch_lines(network: ProfiledNetwork, epoch: ProfiledEpoch) -> list[str]:
    """The block that the vendor's profiler prints of an epoch."""
    one, record, clocks = epoch.measured, epoch_record(network, epoch), network.clocks
    mcu, core = one.mcu or _NONE, _core(one.npu)
    operations, most = epoch.sum_of("operations"), record["max_cycles"]
    lines = [f"{one.name} (num={one.first}:{one.last}, c_type={one.kind})", "  [compiler]"]

    def add(name: str, text: str) -> None:
        lines.append(f"    {name:<22} : {text}")

    def total(name: str, parts: Mapping[str, Mapping[str, Any]]) -> None:
        if parts:
            read, written = (sum(part[key] for part in parts.values()) for key in ("read", "written"))
            speed = in_words(bandwidth(read + written, core, clocks.npu))
            add(name, f"r={read} w={written} -> {speed}")

    add("operations", "-" if operations is None else f"{operations}")
    if units := [unit for each in epoch.expected for unit in each.units]:
        add("processor units", ", ".join(units))
    if most is not None and operations is not None:
        compute = epoch.sum_of("compute_cycles")
        fast = gops(operations, most, clocks.npu or 1e9), gops(operations, compute or 0, clocks.npu or 1e9)
        add("ops/cycle", f"{_number(fast[0], '.1f')} (ideal {_number(fast[1], '.1f')})")
        add("cycles", f"max_cycles={most} compute_cycles={compute}")
    lines.append("  [target]")
    took = record["duration_ms"]
    parts = ",".join(_number(milliseconds(part, clocks.mcu), ".3f") for part in (mcu.pre, mcu.core, mcu.post))
    share = _number(None if record["share"] is None else 100 * record["share"], ".1f", "%")
    add("duration", f"{_number(took, '.3f', 'ms')} ({share})")
    add("mcu cycles", f"{_phases(one.mcu)} -> {parts} ms (mcu_freq={_number((clocks.mcu or 0) / 1e6, 'g')}MHz)")
    apart = ""
    if record["difference"] is not None:
        shares = (_percent(record[f"difference_to_{what}"]) for what in ("measured", "estimate"))
        form = " {:+d} to max_cycles ({} of the measured, {} of the estimated cycles)"
        apart = form.format(record["difference"], *shares)
    add("core npu cycles", f"{_number(core, 'd')} -> {_number(milliseconds(core, clocks.npu), '.3f')} ms{apart}")
    both = f"{_percent(record['compute_ratio'])} (total {_percent(record['compute_ratio_total'])})"
    add("compute cycles ratio", both)
    add("GOPS", f"{_number(record['gops'], '.1f')} (core {_number(record['core_gops'], '.1f')})")
    name = "[" + ",".join(map(str, BURSTS)) + "]x8="
    for port, bus in record["bus"].items():
        bursts = (f"{word[0]}burst{name}({','.join(map(str, bus[f'{word}_bursts']))})" for word in ("read", "write"))
        moved = f"r={bus['read']} w={bus['written']}"
        add(f"busif {port}", f"{moved} {' '.join(bursts)} -> {in_words(bus['bytes_per_second'])}")
    total("busif (total)", record["bus"])
    if one.streams:
        busiest = max(one.streams, key=lambda stream: stream.cycles)
        add("strg engines", f"{_percent(ratio(busiest.cycles, core))} (id={busiest.engine}.{busiest.direction})")
    for stream in one.streams:
        active = f"{stream.cycles} cycles, {_number(ratio(100 * stream.cycles, core), '.0f', '%')}"
        active += "".join(f" {name}" for name in epoch.pools_of(stream.direction, stream.engine))
        add("  active", f"STRENG.{stream.engine}.{stream.direction}: busif={stream.port}, {active}")
    if one.cache is not None:
        words = (("hit", "miss", "alloc-miss", "evict"), ("hit", "miss", "alloc-miss", "through"))
        rows = (one.cache.read, one.cache.written)
        shown = [", ".join(f"{w}={n}" for w, n in zip(*pair, strict=False)) for pair in zip(words, rows, strict=True)]
        add("NPU cache cnts", f"R[{shown[0]}], W[{shown[1]}]")
    for pool, access in record["pools"].items():
        add(pool, f"r={access['read']} w={access['written']} -> {in_words(access['bytes_per_second'])}")
    total("mem accesses (total)", record["pools"])
    return lines


def board_lines(network: ProfiledNetwork) -> list[str]:
    """What the firmware says of itself and of the network."""
    found, lines = network.measurement, []
    for side, tensors in (("input", found.inputs), ("output", found.outputs)):
        for number, one in enumerate(tensors):
            quant = f", scale {one.scale:g}, zero point {one.zero_point}" if one.scale else ""
            place = f", at 0x{one.address:08x}" if one.address is not None else ""
            shape = ",".join(map(str, one.shape))
            lines.append(f"{f'{side} {number}':<20} : {one.name} {one.dtype}[{shape}]{quant}{place}")
    clocks = ", ".join(f"{name} {hz / 1e6:g} MHz" for name, hz in asdict(network.clocks).items() if hz)
    said = {"n_nodes": found.nodes, "device": found.device, "clocks": clocks, **found.about}
    return lines + [f"{name:<20} : {text}" for name, text in said.items() if text]


def measured_summary(network: ProfiledNetwork) -> list[str]:
    """Lines about the network as a whole, in the words of the vendor's profiler."""
    totals, found = _totals(network), network.measurement
    mcu, npu = totals["mcu_cycles"] or {}, totals["npu_cycles"] or {}
    sums = [None if None in cycles.values() else sum(cycles.values()) for cycles in (mcu, npu)]
    shares = ", ".join(_number(ratio(100 * (part or 0), sums[0]), ".2f") for part in mcu.values())
    took = _number(totals["duration_ms"], ".3f", "ms")
    core = f"npu_core:{_number(totals['npu_core_ms'], '.3f', 'ms')} ({_percent(totals['npu_core_share'])})"
    lines = [
        f"total duration       : {took}, {core}, mcu_cycles=[{shares}]%",
        f"mcu cycles           : {_number(sums[0], 'd')} (core only = {_number(mcu.get('core'), 'd')})",
    ]
    if npu:
        lines.append(f"npu cycles           : {_number(sums[1], 'd')} (core only = {npu['core']})")
    if totals["core_gops"] is not None:
        lines.append(f"GOPS                 : {_number(totals['gops'], '.1f')} (core {totals['core_gops']:.1f})")
    lines.append(f"inf/s                : {_number(totals['inferences_per_second'], '.1f')} ({took})")
    if totals["core_compute_ratio"] is not None:
        both = f"{_percent(totals['compute_ratio'])}, {_percent(totals['core_compute_ratio'])} (core only)"
        lines.append(f"compute cycles ratio : {both}")
    if totals["jitter"] is not None:
        lines.append(f"jitter               : {_percent(totals['jitter'])} of an epoch's CPU cycles at most")
    named = {**totals["pools"], **({"total": totals["bandwidth"]} if totals["pools"] else {})}
    lines += pool_lines(named, 20)
    lines += [f"missing              : {text}" for text in found.missing]
    return lines + [f"note                 : {text}" for text in network.notes]


def bars(network: ProfiledNetwork) -> list[str]:
    """The time of each epoch as a bar: before (``<``), while (``#``) and behind (``>``) the work of the hardware."""
    times = [network.milliseconds(epoch.measured) or 0.0 for epoch in network.epochs]
    most = max(times, default=0.0)
    lines = []
    for epoch, took in zip(network.epochs, times, strict=True):
        mcu = epoch.measured.mcu
        if mcu is None or not mcu.total or not most:
            continue
        marks, cycles = "", 0
        for part, mark in ((mcu.pre or 0, "<"), (mcu.core, "#"), (mcu.post or 0, ">")):
            # Ends are rounded, not lengths: a part too short to be seen does not shift others.
            cycles += part
            marks += mark * (round(cycles * _BAR * took / most / mcu.total) - len(marks))
        lines.append(f"{epoch.measured.name.removeprefix('EpochBlock_'):>12} {took:9.3f} ms |{marks}")
    return lines
