"""Commands that show what is there."""

from __future__ import annotations

from neuralart.command import ModuleCommand
from neuralart.plugins import register

_COMMANDS = (
    ModuleCommand(
        "why",
        "look",
        "say what has changed since the last good build",
        "why digits-n6",
        "neuralart_insight.why",
    ),
    ModuleCommand(
        "fit",
        "begin",
        "say which boards a model fits, and where it would lie",
        "fit doorbell.tflite",
        "neuralart_insight.fit.cli",
    ),
    ModuleCommand(
        "inspect",
        "look",
        "show what a file is, and what is in it",
        "inspect network.c flash_plan.json doorbell.tflite",
        "neuralart_insight.inspect.cli",
    ),
    ModuleCommand(
        "lint",
        "look",
        "look for known traps in networks, sources, linker scripts",
        "lint digits-n6 src/ app.ld",
        "neuralart_insight.lint.cli",
    ),
    ModuleCommand(
        "report",
        "look",
        "write a page with pictures of what a build made",
        "report digits-n6 -o report.html",
        "neuralart_insight.profiling.report_cli",
        target=True,
    ),
    ModuleCommand(
        "profile",
        "look",
        "show estimated and measured cycles of each epoch",
        "profile out -d npu_profiler.log --npu-mhz 800",
        "neuralart_insight.profiling.cli",
    ),
    ModuleCommand(
        "diff",
        "look",
        "compare two builds, compiles or profiles",
        "diff build.old/digits-n6 digits-n6 --markdown",
        "neuralart_insight.profiling.diff_cli",
    ),
    ModuleCommand(
        "doctor",
        "begin",
        "show which tools are here, and what a missing one means",
        "doctor run-digits-n6",
        "neuralart_insight.doctor.cli",
    ),
    ModuleCommand(
        "sbom",
        "more",
        "list what this package consists of, with hashes, as CycloneDX",
        "sbom --output sbom.json",
        "neuralart_insight.sbom.package",
    ),
    ModuleCommand(
        "plan", "look", "show which addresses are whose", "plan digits-n6 --svg plan.svg", "neuralart_insight.plan.cli"
    ),
)
for _command in _COMMANDS:
    register("commands", _command.name, _command, protocol=1)
