"""Console output and text report of the made-up tool."""

from __future__ import annotations

from pathlib import Path

from support.fake_stedgeai.placement import Placed
from support.models import vendor_network_c as shape

_END = "=" * 84
_DASHES = "-" * 84


def _amount(size: int) -> str:
    if size < 1024:
        return f"{size:10,}  B"
    return f"{size / 1024:10.3f} kB" if size < 1 << 20 else f"{size / (1 << 20):10.3f} MB"


def summary(job) -> str:
    rows = [
        ("model file", str(Path(job.model).resolve())),
        ("type", job.model.rpartition(".")[2]),
        ("c_name", job.symbol),
    ]
    rows += [
        ("target/series", "stm32n6npu" if job.npu else job.target),
        ("workspace dir", job.ws),
        ("output dir", job.out),
    ]
    width = max(len(value) for _, value in rows)
    lines = [f" {key:<18} :   {value:<{width}}   " for key, value in rows]
    rule = " " + "-" * (width + 26)
    return "\n".join([f" Exec/report summary ({job.command})", rule, *lines, rule])


def _epochs(job, controller: bool) -> list[str]:
    from support.fake_stedgeai.sources import want

    steps = shape.plan(want(job, controller))
    last = max(step[1] for step in steps)
    count = {kind: len({s[0] for s in steps if s[2] == kind}) for kind in ("HW", "SW", "HYBRID", "EC")}
    if job.key < "3":
        lines = [f"Total number of epochs: {last} of which {count['SW']} implemented in software", "---"]
        lines.append("epoch ID   HW/SW/EC Operation (SW only)")
        for first, _, kind, ops in steps:
            label = {"HW": "HW", "SW": "-SW-", "HYBRID": "-SW-", "EC": "EC"}[kind]
            lines.append(f"epoch {first}      {label:>4}   " + (f"(  {ops[0]}  )" if kind == "SW" else ""))
        return lines
    hard = last - count["SW"] - count["HYBRID"]
    lines = [f"Total number of epochs                               {last}"]
    lines.append(f">> pure software (SW) epochs                         {count['SW']}")
    lines.append(f">> hybrid epochs (using both software and hardware)  {count['HYBRID']}")
    blobs = f"(implemented in {count['EC']} epoch controller blobs/meta epochs)"
    lines.append(f">> pure hardware (HW or EC) epochs                   {hard}  {blobs}")
    rule = "+------------------+--------+----------------+"
    lines += [rule, "|     epoch ID     |  Type  |    Details     |", rule]
    for first, end, kind, ops in steps:
        name = f"epoch_{first}" if kind != "EC" else f"epochs {first} -> {end}"
        label = {"HYBRID": "Hybrid"}.get(kind, kind)
        lines.append(f"| {name:^16} | {label:^6} | {'' if kind in ('HW', 'EC') else ops[0]:^14} |")
    return [*lines, rule]


def body(job, placed: Placed, controller: bool) -> str:
    weights = {pool.fname: 0 for pool in job.pools}
    for row in placed.rows:
        if row.table == "param":
            weights[row.pool] += row.end - row.start
    lines = ["Compilation details", _DASHES, f"Compiler version: {job.atonn}"]
    lines += [
        f"Compiler arguments:  -i {job.out}/{job.exported}.onnx --load-mpool {job.mpool} {' '.join(job.options)}",
        _END,
    ]
    lines += ["", "Memory usage information  (input/output buffers are included in activations)", _DASHES]
    total = [0, 0]
    for pool in sorted(job.pools, key=lambda pool: pool.address):
        constant = weights[pool.fname]
        rest = max(0, pool.used - constant)
        total[0] += constant
        total[1] += rest
        share = 100 * pool.used / pool.size if pool.size else 0.0
        lines.append(
            f"\t{pool.name:<10} [0x{pool.address:08X} - 0x{pool.address + pool.size:08X}]: {_amount(pool.used)} / "
            f"{_amount(pool.size)}  ({share:6.2f} % used) -- weights: {_amount(constant)} ({share:6.2f} % used)  "
            f"activations: {_amount(rest)} ({share:6.2f} % used)"
        )
    lines += ["---"] if job.key < "3" else []
    lines.append(
        f"Total: {_amount(sum(total)):>51}   -- weights: {_amount(total[0])}  activations: {_amount(total[1])}"
    )
    lines += [_END, "", "Used memory ranges", _DASHES]
    for pool in job.pools:
        if pool.used:
            end = pool.address + pool.size
            used = f"0x{pool.address:08X}-0x{pool.address + pool.used:08X}"
            lines.append(f"\t{pool.name:<10} [0x{pool.address:08X} - 0x{end:08X}]: {used}")
    return "\n".join([*lines, _END, "", "Epochs details", _DASHES, *_epochs(job, controller), _END, ""])


def report(job, text: str) -> str:
    head = [f"ST Edge AI Core v{job.core}", f"Created date          : {job.now} {job.ticks}"]
    head += [f"Parameters            : {' '.join(job.argv)}", ""]
    if not job.npu:
        head += [*(line[1:] for line in summary(job).splitlines()), ""]
    head += [
        f"Model name - {''.join(c for c in job.stem if c.isalnum() or c == '_')}",
        "model: macc=2,490 weights=9,904 ",
    ]
    head[-1] += "activations=-- io=--"
    return "\n".join([*head, "", text])
