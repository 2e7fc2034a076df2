"""Commands that run networks on virtual boards, and compare."""

from __future__ import annotations

from neuralart.command import ModuleCommand
from neuralart.plugins import register

_COMMANDS = (
    ModuleCommand(
        "npu",
        "run",
        "run what ST Edge AI Core compiled on a virtual NPU, without a board",
        "npu out/network.c --model doorbell.tflite",
        "neuralart_virtual.npu_cli",
    ),
    ModuleCommand(
        "npu-compare",
        "run",
        "tell which assumptions of the virtual NPU records of a board confirm",
        "npu-compare record --network out/network.c",
        "neuralart_virtual.npu_compare_cli",
    ),
    ModuleCommand(
        "run",
        "run",
        "run firmware on a virtual board and compare it with golden vectors",
        "run --board stm32n6570-dk --elf firmware.elf --plan flash_plan.json --vectors vectors",
        "neuralart_virtual.emulator.cli",
    ),
    ModuleCommand(
        "load",
        "run",
        "write a model to a board, start it there, and show what its epochs take",
        "load -i build/network_rel.bin --mode xip",
        "neuralart_virtual.loading.load_cli",
    ),
    ModuleCommand(
        "vectors",
        "run",
        "make golden vectors of a model: inputs and expected outputs",
        "vectors doorbell.tflite pictures/ -o vectors --resize fit",
        "neuralart_virtual.vectors.vectors_cli",
    ),
    ModuleCommand(
        "validate",
        "run",
        "measure how far a built network is from its reference and its labels",
        "validate digits-n6 --data test.npy --labels labels.csv",
        "neuralart_virtual.validation.cli",
    ),
    ModuleCommand(
        "talk",
        "run",
        "ask a board with firmware for validation what it is and computes",
        "talk /dev/ttyACM0 --input input.bin --per-layer",
        "neuralart_virtual.validation_link.cli",
    ),
)
for _command in _COMMANDS:
    register("commands", _command.name, _command, protocol=1)
