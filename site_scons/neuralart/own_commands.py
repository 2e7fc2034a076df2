"""Commands of the core."""

from __future__ import annotations

from neuralart.command import module_commands
from neuralart.plugins import register

_COMMANDS = """
    daily neuralart.build: build variants, or say that they are up to date
        build digits-n6 run-digits-n6
    more neuralart.compilers.cli: compile a .tflite or .onnx into network.c, initializers and reports
        compile -m doorbell.tflite --target stm32n6570-dk -o out
    more neuralart.compilers.recorded: compile with ST Edge AI Core and keep the result for others
        record --recording recordings/doorbell -m doorbell.tflite --target stm32n6
    daily neuralart.flashing.cli target: write the flash of its board, or a flash plan to a device
        flash --plan flash_plan.json --nor board.nor
    daily neuralart.build target: start its firmware under gdb
        debug digits-n6
    daily neuralart.build target: show what its board prints
        monitor digits-n6
    more neuralart.flashing.cli target: compare the flash of a device with a flash plan
        verify --plan flash_plan.json --nor board.nor
    tool neuralart.memory.image.check_image: check a firmware image before it reaches a board
        check-image firmware.elf --board stm32n6570-dk --network network.json
    more neuralart.applications.cli: build the user's own application around networks, or check it
        application check --folder ../firmware --generated doorbell:out/doorbell.c
    more neuralart.relocatable.cli: build, verify or check a relocatable model (network_rel.bin)
        relocatable check network_rel.bin --at 0x71000000 --ram 0x34200000:512K
    more neuralart.plugins.cli: list compilers, boards, rules and so on, and who brings them
        plugins --added compilers boards
"""
for _command in module_commands(_COMMANDS):
    register("commands", _command.name, _command, protocol=1)
