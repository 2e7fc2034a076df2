"""What must agree within a report, and with the ``c_info.json`` of the same run: findings, sentences with numbers."""

from __future__ import annotations

from neuralart.vendor.c_info.types import CPU, CInfo
from neuralart_insight.vendor.report.types import Report

# Buffers of the NPU begin at multiples of less.
ALIGNMENT = 64


def check(report: Report) -> tuple[str, ...]:
    """Sums and ranges within a report."""
    return (*_check_pools(report), *_check_epochs(report), *_check_layers(report), *_check_sections(report))


def _check_pools(report: Report) -> list[str]:
    findings = []
    for pool in report.pools:
        if pool.used > pool.size + pool.uncertainty:
            findings.append(f"pool {pool.name} uses {pool.used} of {pool.size} bytes")
        if pool.first is None or pool.last is None:
            continue
        if not pool.address <= pool.first <= pool.last <= pool.end:
            used = f"the used range 0x{pool.first:08X}-0x{pool.last:08X}"
            findings.append(f"pool {pool.name}: {used} is not within 0x{pool.address:08X}-0x{pool.end:08X}")
        elif pool.used > pool.last - pool.address + pool.uncertainty:
            what = f"pool {pool.name} uses {pool.used} bytes, the used range ends after {pool.last - pool.address}"
            findings.append(what)
    return findings


def _check_epochs(report: Report) -> list[str]:
    counts = report.counts
    if counts is None:
        return []
    listed = {"HW": 0, "EC": 0, "SW": 0, "HYBRID": 0}
    for epoch in report.epochs:
        listed[epoch.kind] += epoch.last - epoch.number + 1
    blobs = sum(epoch.kind == "EC" for epoch in report.epochs) + report.empty_blobs
    # Numbers are left out within a blob: it lists as many epochs as it has, or more.
    within = int.__lt__ if any(epoch.last > epoch.number for epoch in report.epochs) else int.__ne__
    return [
        f"{counted} {what} are counted, {found} listed"
        for what, counted, found, wrong in (
            ("epochs", counts.total, sum(listed.values()), within),
            ("software epochs", counts.software, listed["SW"], int.__ne__),
            ("hybrid epochs", counts.hybrid, listed["HYBRID"], int.__ne__),
            ("hardware epochs", counts.hardware, listed["HW"] + listed["EC"], within),
            ("blobs", counts.blobs, blobs, int.__ne__),
        )
        if counted is not None and wrong(found, counted)
    ]


def _check_layers(report: Report) -> list[str]:
    if not report.layers or report.totals is None:
        return []
    return [
        f"the model has {total} {what}, its layers add up to {added}"
        for what, total, added in (
            ("macc", report.totals.macc, sum(layer.macc or 0 for layer in report.layers)),
            ("bytes of weights", report.totals.weights, sum(layer.size or 0 for layer in report.layers)),
        )
        if total is not None and total != added
    ]


def _check_sections(report: Report) -> list[str]:
    """FLASH is text, rodata and data; RAM is data and bss."""
    findings = []
    sections = {section.module: section for section in report.sections}
    for number, module in enumerate(("RT total", "TOTAL")):
        section = sections.get(module)
        if section is None or report.flash is None or report.ram is None:
            continue
        flash, ram = section.text + section.rodata + section.data, section.data + section.bss
        for what, told, added in (("FLASH", report.flash[number], flash), ("RAM", report.ram[number], ram)):
            if told != added:
                findings.append(f"{module}: {told} bytes of {what} in the summary, {added} in the sections")
    return findings


def check_against(report: Report, info: CInfo) -> tuple[str, ...]:
    """A report and the ``c_info.json`` that should be of the same run."""
    findings = []
    if report.core and info.core and report.core.text != info.core.text:
        findings.append(f"the report is of {report.core.text}, the c_info of {info.core.text}")
    if info.graph is None:
        return tuple(findings)
    if report.counts is not None:
        kinds = [epoch.kind for epoch in info.epochs]
        if len(kinds) != report.counts.total:
            findings.append(f"{report.counts.total} epochs in the report, {len(kinds)} in the c_info")
        software = kinds.count("SW")
        if software != report.counts.software:
            findings.append(f"{report.counts.software} software epochs in the report, {software} in the c_info")
    by_name = {pool.name: pool for pool in info.real_pools}
    for usage in report.pools:
        pool = by_name.get(usage.name)
        # The used range may go beyond what is in it: the report adds weights and activations, without gaps.
        gaps = ALIGNMENT if usage.weights and usage.activations else 0
        if pool is None:
            findings.append(f"pool {usage.name} is in the report only")
        elif pool.address != usage.address:
            what = f"pool {usage.name} is at 0x{usage.address:x} in the report, at {pool.address} in the c_info"
            findings.append(what)
        elif not pool.used - gaps <= usage.used + usage.uncertainty <= pool.used + 2 * usage.uncertainty:
            findings.append(f"pool {usage.name}: {usage.used} bytes used in the report, {pool.used} in the c_info")
    return (*findings, *_sums(report, info))


def _sums(report: Report, info: CInfo) -> list[str]:
    """Figures of a CPU target, and what was measured of the compiled code."""
    pairs: list[tuple[str, int | None, int | None]] = []
    if report.c_totals is not None and info.flow == CPU and info.graph is not None:
        pairs += [
            ("macc", report.c_totals.macc, sum(node.macc for node in info.graph.nodes)),
            ("bytes of weights", report.c_totals.weights, info.weights_used),
            ("bytes of activations", report.c_totals.activations, info.activations_used),
        ]
    if info.footprint is not None and report.flash and report.ram:
        pairs += [
            ("bytes of flash of the runtime", report.flash[0], info.footprint.kernel_flash),
            ("bytes of RAM of the runtime", report.ram[0], info.footprint.kernel_ram),
        ]
    unequal = ((what, one, other) for what, one, other in pairs if None not in (one, other) and one != other)
    return [f"{first} {what} in the report, {second} in the c_info" for what, first, second in unequal]
