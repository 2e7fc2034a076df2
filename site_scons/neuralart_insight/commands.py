"""Commands that show what is there."""

from __future__ import annotations

from neuralart.command import ModuleCommand
from neuralart.plugins import register

_COMMANDS = (
    ModuleCommand(
        "inspect",
        "look",
        "show what a file is and says: network.c, reports, pools, models, images",
        "inspect network.c flash_plan.json doorbell.tflite",
        "neuralart_insight.inspect.cli",
    ),
    ModuleCommand(
        "lint",
        "look",
        "look for the known traps in networks, pool files, sources and linker scripts",
        "lint digits-n6 src/ app.ld",
        "neuralart_insight.lint.cli",
    ),
    ModuleCommand(
        "report",
        "look",
        "write a page with pictures of what a build made",
        "report digits-n6 -o report.html",
        "neuralart_insight.profiling.report_cli",
    ),
    ModuleCommand(
        "profile",
        "look",
        "show what the compiler expects of a network and what a board measured, by epoch",
        "profile out -d npu_profiler.log --npu-mhz 800",
        "neuralart_insight.profiling.cli",
    ),
    ModuleCommand(
        "diff",
        "look",
        "compare two builds, compiles or profiles: epochs, cycles, memory, symbols",
        "diff build.old/digits-n6 digits-n6 --markdown",
        "neuralart_insight.profiling.diff_cli",
    ),
    ModuleCommand(
        "doctor",
        "look",
        "show the tools on this machine, and what each missing one means",
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
        "plan",
        "look",
        "show who has which addresses: slots, pools, firmware, staging, free banks",
        "plan digits-n6 --svg plan.svg",
        "neuralart_insight.plan.cli",
    ),
)
for _command in _COMMANDS:
    register("commands", _command.name, _command, protocol=1)
