"""``neuralart profile``: what the compiler expects of a network, and what a board measured, epoch by epoch."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuralart import outputs, project_folder
from neuralart.errors import NeuralArtError, nearest
from neuralart.files import LOG, write_bytes, write_lines, write_text
from neuralart.text.console import say
from neuralart.text.sizes import number_that

if TYPE_CHECKING:
    from neuralart_insight.profiling.estimate import NetworkEstimate
    from neuralart_insight.profiling.instructions import InstructionProfile
    from neuralart_insight.profiling.join import ProfiledNetwork
    from neuralart_insight.profiling.measured import NetworkMeasurement

    Pair = tuple[NetworkEstimate, ProfiledNetwork | None]

FAILED = 2
_LOG = "neuralart_profile.log"
_DEFAULT_NPU_HZ = 10**9


_clock = number_that(lambda value: 1.0 <= value <= 100_000.0, "is not a clock in MHz, for example 800")


def _megahertz(text: str) -> float:
    return _clock(text) * 1e6


def _batch(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 1 << 20):
        raise argparse.ArgumentTypeError(f"'{text}' is no number of samples from 1")
    return int(text)


def _is_trace(data: bytes) -> bool:
    """Its first packet describes the first track, as only we number them (perfetto.py)."""
    return data[:1] == b"\x0a" and data[2:4] == b"\xe2\x03" and data[5:8] == b"\x08\x01\x12"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options; those that ST's npu_profiler.py has are called as there."""
    add = parser.add_argument
    text = "folder of a compile, c_info.json, network.csv, network.c, or a variant"
    add("network", metavar="NETWORK", nargs="?", default="", help=text)
    add("-c", "--cfile", dest="network_too", default="", metavar="NETWORK", help="the same")
    add("-n", "--name", default="", help="C name of the network, where a folder or a log holds several")
    text = "a board (serial:/dev/ttyACM0:921600, socket:HOST:PORT), or what one measured: a saved log of npu_profiler, "
    text += "checker or validate, or a c_info.json with times"
    add("-d", "--desc", default="", metavar="DESC", help=text)
    text = "compile that the board runs, without the epoch controller (pair: profiling), where NETWORK is the main one"
    add("--pair", type=Path, metavar="NETWORK", help=text)
    result = partial(outputs.add, parser)
    text = "keep what a board says: -d FILE reads it again"
    result("--raw", mine=outputs.says(b"[I] neuralart profile of "), help=text)
    text = "so many samples of each pass (default: all of a log, 1 of a board)"
    add("-b", "--batch", type=_batch, default=0, metavar="N", help=text)
    text = "count instructions of a variant's epochs: on its virtual machine, or on qemu (-b inferences, default: 1)"
    add("--on", choices=("virtual", "qemu"), default="", help=text)
    text = "clock of the NPU (default: the log's, that of the variant's board, or 1000)"
    add("--npu-mhz", type=_megahertz, metavar="MHZ", dest="npu_hz", help=text)
    text = "clock of the CPU (default: the log's, or that of the variant's board)"
    add("--cpu-mhz", type=_megahertz, metavar="MHZ", dest="cpu_hz", help=text)
    add("--pools", type=Path, metavar="FILE", help=".mpool: how fast the pools are, where the files do not tell")
    text = "build folder of a variant (default: build)"
    add("--build", type=Path, default=project_folder.default("build"), metavar="DIR", help=text)
    project_folder.add_file(parser)
    text = "end with 2 where a variant's network is above one of its limits (budgets in the project file)"
    add("--check", action="store_true", help=text)
    text = "0: sums alone, 1: a line for each epoch (default), 2: all that is known of each epoch"
    add("-v", "--verbosity", type=int, choices=(0, 1, 2), nargs="?", const=1, default=1, help=text)
    add("--plot", action="store_true", help="the time of each epoch as a bar of characters")
    add("--no-color", action="store_true", help="for scripts of ST's tools; the output has no colors")
    text = f"write the text there too ({_LOG})"
    result("--log", mine=outputs.says(LOG), nargs="?", const=Path(_LOG), help=text)
    mine = outputs.says(b"first,last,type,epochs,duration_ms,")
    result("--csv", mine=mine, help="write a line for each measured epoch")
    result("--perfetto", mine=_is_trace, help="write a trace for ui.perfetto.dev")
    text, mine = "write the profile for programs (profile.json)", outputs.says(b'"kind": "neuralart-profile"')
    result("-o", "--output", mine=mine, help=text)
    add("--json", action="store_true", help="print it (docs/reference/profile.md)")


def _compile(args: argparse.Namespace, path: Path) -> NetworkEstimate:
    from neuralart_insight.profiling import estimate

    speeds = estimate.speeds_of(args.pools) if args.pools else {}
    return estimate.of_folder(path, args.name, speeds) if path.is_dir() else estimate.of_file(path, speeds)


def _estimates(args: argparse.Namespace) -> list[NetworkEstimate]:
    from neuralart_insight.profiling import estimate

    named = args.network or args.network_too
    if args.network and args.network_too:
        raise NeuralArtError("a network and -c", hint="give one of them")
    if not named:
        return []
    path = Path(named)
    if path.exists() or path.suffix:
        return [_compile(args, path)]
    found = estimate.of_variant(named, args.build)
    chosen = [each for each in found if args.name in ("", each.name)]
    if not chosen:
        raise NeuralArtError(f"no network '{args.name}'", where=named, hint=nearest(args.name, [e.name for e in found]))
    return chosen


def _asked(args: argparse.Namespace, url: str, baud: int) -> list[NetworkMeasurement]:
    """What the board at a port measures now."""
    from neuralart.network import facts
    from neuralart.text.progress import at_work
    from neuralart_board.ports import BoardPort
    from neuralart_board.runners.session import serial_port
    from neuralart_bring.last_build import network_folders
    from neuralart_insight.profiling.board import measured_log
    from neuralart_insight.profiling.counter_log import parse_counter_log
    from neuralart_virtual.validation_link.client import ValidationClient

    url = url or serial_port("", "-d serial:PORT")
    index = _index(args)
    folders = network_folders(index).values() if index.is_file() else ()
    built = [facts.load(folder / "network.json") for folder in folders]
    stamps = {network.symbol: network.abi_stamp for network in built}
    with at_work("profile") as work, closing(BoardPort(url, baud)) as port, closing(ValidationClient(port)) as client:
        log = measured_log(client, url, args.name, args.batch or 1, stamps, lambda n, of: work.show(n, of, "runs"))
    if args.raw is not None:
        write_text(args.raw, log)
    return parse_counter_log(log.encode("utf-8"), url)


def _measurements(args: argparse.Namespace, estimates: list[NetworkEstimate]) -> list[NetworkMeasurement]:
    """What ``-d`` names holds."""
    from neuralart_board.ports import of_descriptor
    from neuralart_insight.profiling import estimate
    from neuralart_insight.profiling.counter_log import read_counter_log
    from neuralart_insight.profiling.join import of_executions

    desc: str = args.desc.removeprefix("file:")
    if (port := of_descriptor(desc)) is not None:
        return _asked(args, *port)
    path = Path(desc)
    if path.suffix != ".json":
        return read_counter_log(path, args.batch)
    found = estimate.of_file(path)
    # After a validation on an NPU a c_info may have its times alone.
    epochs = found.epochs or (estimates[0].epochs if len(estimates) == 1 else ())
    return [of_executions(replace(found, epochs=epochs))]


def _pick(found: list[NetworkMeasurement], name: str) -> NetworkMeasurement:
    """The measurement of a network. A log of one network needs no name, which a project may call as it likes."""
    named = [each for each in found if each.name == name]
    if len(named) == 1 or len(found) == 1:
        return (named or found)[0]
    names = [each.name for each in found]
    raise NeuralArtError(f"{len(found)} networks were measured", where=found[0].source, hint=nearest(name, names))


def _index(args: argparse.Namespace) -> Path:
    """``index.json`` of the variant that is named, if it is one."""
    build: Path = args.build
    return build / (args.network or args.network_too or "-") / "index.json"


def _board_clocks(args: argparse.Namespace) -> dict[str, int]:
    """Clocks of the board that a variant was built for, if it is one of ours."""
    index = _index(args)
    if not index.is_file():
        return {}
    from neuralart import boards
    from neuralart_bring.last_build import read_index

    try:
        board = boards.load(read_index(index)["board"])
    except NeuralArtError:
        return {}  # A board of a project: its file is not known here
    return {key: mhz * 1_000_000 for key, mhz in board.clocks.items()}


def _joined(args: argparse.Namespace, estimates: list[NetworkEstimate], defaults: dict[str, int]) -> list[Pair]:
    """Each network with its measurement; without ``-d`` that is the times that its c_info has."""
    pair = _compile(args, args.pair) if args.pair is not None else None
    sources = estimates if pair is None else [pair] * len(estimates)
    if pair is not None and not (estimates and (args.desc or pair.executions)):
        hint = "-c NETWORK, -d LOG"
        raise NeuralArtError("a pair is of another compile, and was measured", where="--pair", hint=hint)
    if not args.desc and not any(each.executions for each in sources):
        return [(each, None) for each in estimates]
    from neuralart_insight.profiling.estimate import NetworkEstimate
    from neuralart_insight.profiling.join import beside, join, of_executions

    def joined(one: NetworkMeasurement, each: NetworkEstimate | None) -> ProfiledNetwork:
        told = {"mcu": one.clocks.mcu or defaults.get("cpu_mhz"), "npu": one.clocks.npu or defaults.get("npu_mhz")}
        given = {"mcu": args.cpu_hz, "npu": args.npu_hz}
        clocks = replace(one.clocks, **{key: round(given[key]) if given[key] else told[key] for key in given})
        return beside(join(one, pair, clocks), each) if pair and each else join(one, each, clocks)

    if not args.desc:
        both = zip(estimates, sources, strict=True)
        return [(each, joined(of_executions(one), each) if one.executions else None) for each, one in both]
    measured = _measurements(args, sources)
    if estimates:
        return [(each, joined(_pick(measured, args.name or each.name), each)) for each in estimates]
    missing = ("no compile was named (-c): no compiler estimate",)
    chosen = [_pick(measured, args.name)] if args.name else measured
    return [(NetworkEstimate(one.name, (), (), missing), joined(one, None)) for one in chosen]


def with_measured(desc: str, estimates: list[NetworkEstimate], defaults: dict[str, int]) -> tuple[list[Pair], float]:
    """Each estimate with what ``desc`` measured of it (empty: nothing), and the clock of the NPU."""
    parser = argparse.ArgumentParser()
    configure(parser)
    args = parser.parse_args([f"--desc={desc}"])
    pairs = _joined(args, estimates, defaults)
    return pairs, _npu_hz(args, pairs[0][1] if pairs else None, defaults)


def _text(
    args: argparse.Namespace, each: NetworkEstimate, measured: ProfiledNetwork | None, npu_hz: float
) -> list[str]:
    from neuralart.vendor.tables import table
    from neuralart_insight.profiling import totals

    lines = []
    if each.source:
        name = each.name or Path(args.network or args.network_too).name
        lines += [f"{name}: estimate of the compiler ({', '.join(each.source)}); cycles of the NPU clock"]
        lines += table(*totals.epoch_table(each, npu_hz)) if args.verbosity else []
        lines += [f"  {line}" for line in totals.summary(each, npu_hz)]
        if each.code is not None:
            from neuralart_insight.report import npu_epochs

            lines += npu_epochs.lines(_decoded(args, each), whole=bool(args.verbosity))
    if measured is not None:
        from neuralart_insight.profiling import measured_report as report

        found = measured.measurement
        lines.append(f"{found.name or 'network'}: measured ({found.source}: {found.how})")
        lines += [f"  {line}" for line in report.board_lines(measured)] if args.verbosity else []
        lines += table(report.HEADS, report.measured_rows(measured)) if args.verbosity else []
        if args.verbosity > 1:
            lines += [f"  {line}" for epoch in measured.epochs for line in report.epoch_lines(measured, epoch)]
        lines += [f"  {line}" for line in report.measured_summary(measured)]
        lines += [f"  {line}" for line in report.bars(measured)] if args.plot else []
    return lines


def _decoded(args: argparse.Namespace, each: NetworkEstimate) -> dict[str, Any]:
    """What each epoch does on the NPU; nothing without a network.c."""
    from neuralart_insight.report import npu_epochs

    seen = vars(args).setdefault("decoded", {})
    if each.code not in seen:
        seen[each.code] = npu_epochs.of_file(each.code) if each.code is not None else dict(npu_epochs.NOTHING)
    found: dict[str, Any] = seen[each.code]
    return found


def _counted(args: argparse.Namespace, name: str) -> InstructionProfile:
    from neuralart_insight.profiling.instructions import count_instructions

    variant, on, seen = args.network or args.network_too, args.on or "virtual", vars(args).setdefault("counted", {})
    if name not in seen:
        seen[name] = count_instructions(args.file, args.build, variant, args.name or name, on, args.batch or 1)
    found: InstructionProfile = seen[name]
    return found


def _broken(args: argparse.Namespace, pairs: list[Pair], defaults: dict[str, int]) -> list[str]:
    """What is above its limit. NeuralArtError: no variant of the project file is profiled."""
    from neuralart import config
    from neuralart_insight.profiling.limits import broken

    networks = config.read(args.file).variant(args.network or args.network_too).networks
    by_name = {network.name: network.budgets for network in networks}
    found = []
    for each, measured in pairs:
        # A network that runs on the core has the name that its application knows.
        budgets = by_name.get(each.name) if len(by_name) > 1 else next(iter(by_name.values()))
        npu_hz = _npu_hz(args, measured, defaults)
        if budgets is not None:
            found += broken(budgets, each, measured, npu_hz, args.file.parent, partial(_counted, args, each.name))
    return found


def _npu_hz(args: argparse.Namespace, measured: ProfiledNetwork | None, defaults: dict[str, int]) -> float:
    told = measured.clocks.npu if measured is not None else None
    return float(args.npu_hz or told or defaults.get("npu_mhz") or _DEFAULT_NPU_HZ)


def run(args: argparse.Namespace) -> int:
    """Print the profile; 2 if a checked limit is not kept. NeuralArtError: no such network, or a wrong file of it."""
    from neuralart_insight.profiling import measured_report as report
    from neuralart_insight.profiling import totals

    estimates = _estimates(args)
    if not estimates and not args.desc:
        raise NeuralArtError("nothing to profile", hint="name a compile or a variant, or -d LOG")
    defaults = _board_clocks(args)
    pairs = _joined(args, estimates, defaults)
    if args.csv is not None and (len(pairs) != 1 or pairs[0][1] is None):
        raise NeuralArtError("a table is of one network that was measured", where="--csv", hint="-d LOG, --name NAME")
    lines: list[str] = []
    records: list[dict[str, Any]] = []
    for each, measured in pairs:
        npu_hz = _npu_hz(args, measured, defaults)
        if args.json or args.output is not None:
            records.append(totals.to_record(each, npu_hz))
            records[-1]["npu"] = _decoded(args, each)
            records[-1]["measured"] = measured and report.measured_record(measured)
            records[-1]["instructions"] = _counted(args, each.name).record() if args.on else None
        if measured is not None and args.csv is not None:
            write_text(args.csv, report.as_csv(measured))
        if not args.json or args.log is not None:
            lines += _text(args, each, measured, npu_hz)
            lines += _counted(args, each.name).lines(args.verbosity) if args.on else []
    made = json.dumps(records[0] if len(records) == 1 else records, indent=1, allow_nan=False)
    if args.output is not None:
        write_text(args.output, made + "\n")
    if args.perfetto is not None:
        from neuralart_insight.profiling.perfetto import trace_of

        write_bytes(args.perfetto, trace_of(pairs, _npu_hz(args, pairs[0][1], defaults)))
    if args.log is not None:
        write_lines(args.log, lines)
    if args.json:
        print(made)
    else:
        say(*lines)
    broken = _broken(args, pairs, defaults) if args.check else []
    for line in broken:
        say(f"neuralart profile: {line}", file=sys.stderr)
    return FAILED if broken else 0
