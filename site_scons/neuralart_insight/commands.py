"""Commands that show what is there."""

from __future__ import annotations

from neuralart.command import module_commands
from neuralart.plugins import register

_COMMANDS = """
    look neuralart_insight.why: say what has changed since the last good build
        why digits-n6
    begin neuralart_insight.fit.cli: say which boards a model fits, and where it would lie
        fit doorbell.tflite
    look neuralart_insight.inspect.cli: show what a file is, and what is in it
        inspect network.c flash_plan.json doorbell.tflite
    look neuralart_insight.lint.cli: look for known traps in networks, sources, linker scripts
        lint digits-n6 src/ app.ld
    look neuralart_insight.profiling.report_cli target: write a page with pictures of what a build made
        report digits-n6 -o report.html
    look neuralart_insight.profiling.cli: show estimated and measured cycles of each epoch
        profile out -d npu_profiler.log --npu-mhz 800
    look neuralart_insight.profiling.diff_cli: compare two builds, compiles or profiles
        diff build.old/digits-n6 digits-n6 --markdown
    begin neuralart_insight.doctor.cli: show which tools are here, and what a missing one means
        doctor run-digits-n6
    more neuralart_insight.sbom.package: list what this package consists of, with hashes, as CycloneDX
        sbom --output sbom.json
    look neuralart_insight.plan.cli: show which addresses are whose
        plan digits-n6 --svg plan.svg
"""
for _command in module_commands(_COMMANDS):
    register("commands", _command.name, _command, protocol=1)
