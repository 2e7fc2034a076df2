"""Documented failures on demand: by the model's name (``fail-e700.tflite``) or FAKE_STEDGEAI_FAIL."""

from __future__ import annotations

import os

_AUTO = """\
Warning: Oauto did not find valid compile options: aborting
Configuration 0: alt-scheduler(false):
total bytes left unallocated=3211264
Configuration 1: alt-scheduler(true):
total bytes left unallocated=3211264"""
_E103 = "E103(CliRuntimeError): Error calling the Neural Art compiler - ['', 'see above']"
# What the front end says and ends with.
FRONT = {
    "e010": "E010(InvalidModelError): Non-numerical or not-string elements in layer_3's parameter out_0",
    "e102": "E102(CliArgumentError): stm32n6 cannot be used with this mode",
    "tool": "TOOL ERROR: list index out of range",
    "not-implemented": "NOT IMPLEMENTED: Unkonwn layer format for layer Input_72",
    "ir": "INTERNAL ERROR: Your model ir_version 10 is higher than the checker's (9).",
    "shapes": "INTERNAL ERROR: Exported ONNX could be malformed since ONNX shape inference fails",
    "channels": "INTERNAL ERROR: Mismatch in channel position",
    "load": "LOAD ERROR: STM32 - read timeout 50094.0ms/50000ms",
    "unheard-of": "Segmentation fault in a new place",
}
E700 = """\
Allocation Pass failed on schedule. Not enough memory on device
Minimal sizes needed are: {'unlimited memory': 6405160}
Generated device info file %(ws)s/device_info.mpool.in

E700(UnfeasibleAllocation): Allocation Pass failed on schedule. Not enough memory on device
Minimal sizes needed are: {'unlimited memory': 6405160}
Generated device info file %(ws)s/device_info.mpool.in"""
# What the NPU compiler says within its block.
COMPILER = {
    "oauto": _AUTO,
    "e103": "Error: something about the graph",
    "signo11": "Internal compiler error (signo=11), please report",
    "signo22": "Internal compiler error (signo=22), please report",
    "unallocated": "total bytes left unallocated=4096",
}
# Exit status 0, but not as it should be.
QUIET = (
    "no-c",
    "no-cinfo",
    "no-report",
    "no-raw",
    "spill",
    "sizes",
    "float-layers",
    "surprise",
    "cut-off",
    "bad-cinfo",
)
# A complete set of files, and an exit status all the same.
LATE = ("late",)


def wanted(model: str) -> str:
    """Which failure is asked for; empty: none."""
    name = model.replace("\\", "/").rpartition("/")[2]
    asked = os.environ.get("FAKE_STEDGEAI_FAIL", "")
    if not asked and name.startswith("fail-"):
        asked = name[len("fail-") :].split(".")[0]
    known = (*FRONT, *COMPILER, *QUIET, *LATE, "e700", "")
    assert asked in known, f"no failure '{asked}'"
    return asked


def shell_block(command: str, said: str) -> str:
    """How the tool shows the output of a program that failed."""
    body = "\n".join(f"   {line}" for line in said.splitlines())
    return f"   >>> Shell execution has FAILED (returned code = 1)\n   $ {command}\n{body}\n   <<<\n"


def compiler_failure(which: str) -> str:
    """The line behind the block."""
    return _E103
