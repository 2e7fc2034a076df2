"""Commands that run networks on virtual boards, and compare."""

from __future__ import annotations

from neuralart.command import ModuleCommand
from neuralart.plugins import register

_COMMANDS = (
    ModuleCommand(
        "npu",
        "look",
        "run what ST Edge AI Core compiled on a virtual NPU",
        "npu out/network.c --model doorbell.tflite",
        "neuralart_virtual.npu_cli",
    ),
    ModuleCommand(
        "npu-compare",
        "tool",
        "tell which assumptions of the virtual NPU records of a board confirm",
        "npu-compare record --network out/network.c",
        "neuralart_virtual.npu_compare_cli",
    ),
    ModuleCommand(
        "run",
        "daily",
        "run its firmware on a virtual board, and compare outputs",
        "run --board stm32n6570-dk --elf firmware.elf --plan flash_plan.json --vectors vectors",
        "neuralart_virtual.emulator.cli",
        target=True,
    ),
    ModuleCommand(
        "load",
        "daily",
        "write a relocatable model to its board, and start it",
        "load -i build/network_rel.bin --mode xip",
        "neuralart_virtual.loading.load_cli",
        target=True,
    ),
    ModuleCommand(
        "vectors",
        "more",
        "make golden vectors of a model: inputs and expected outputs",
        "vectors doorbell.tflite pictures/ -o vectors --resize fit",
        "neuralart_virtual.vectors.vectors_cli",
    ),
    ModuleCommand(
        "validate",
        "daily",
        "measure how far its outputs are from a reference",
        "validate digits-n6 --data test.npy --labels labels.csv",
        "neuralart_virtual.validation.cli",
    ),
    ModuleCommand(
        "talk",
        "tool",
        "ask a board with firmware for validation what it is and computes",
        "talk /dev/ttyACM0 --input input.bin --per-layer",
        "neuralart_virtual.validation_link.cli",
    ),
)
for _command in _COMMANDS:
    register("commands", _command.name, _command, protocol=1)
