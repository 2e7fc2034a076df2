"""Commands that run networks on virtual boards, and compare."""

from __future__ import annotations

from neuralart.command import module_commands
from neuralart.plugins import register

_COMMANDS = """
    look neuralart_virtual.npu_cli: run what ST Edge AI Core compiled on a virtual NPU
        npu out/network.c --model doorbell.tflite
    tool neuralart_virtual.npu_compare_cli: tell which assumptions of the virtual NPU records of a board confirm
        npu-compare record --network out/network.c
    daily neuralart_virtual.emulator.cli target: run its firmware on a virtual board, and compare outputs
        run --board stm32n6570-dk --elf firmware.elf --plan flash_plan.json --vectors vectors
    daily neuralart_virtual.loading.load_cli target: write a relocatable model to its board, and start it
        load -i build/network_rel.bin --mode xip
    more neuralart_virtual.vectors.vectors_cli: make golden vectors of a model: inputs and expected outputs
        vectors doorbell.tflite pictures/ -o vectors --resize fit
    daily neuralart_virtual.validation.cli: measure how far its outputs are from a reference
        validate digits-n6 --data test.npy --labels labels.csv
    tool neuralart_virtual.validation_link.cli: ask a board with firmware for validation what it is and computes
        talk /dev/ttyACM0 --input input.bin --per-layer
"""
for _command in module_commands(_COMMANDS):
    register("commands", _command.name, _command, protocol=1)
