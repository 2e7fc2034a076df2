"""Commands of the core."""

from __future__ import annotations

from neuralart.command import ModuleCommand
from neuralart.plugins import register

_COMMANDS = (
    ModuleCommand(
        "build",
        "daily",
        "build variants, or say that they are up to date",
        "build digits-n6 run-digits-n6",
        "neuralart.build",
    ),
    ModuleCommand(
        "compile",
        "more",
        "compile a .tflite or .onnx into network.c, initializers and reports",
        "compile -m doorbell.tflite --target stm32n6570-dk -o out",
        "neuralart.compilers.cli",
    ),
    ModuleCommand(
        "record",
        "more",
        "compile with ST Edge AI Core and keep the result for others",
        "record --recording recordings/doorbell -m doorbell.tflite --target stm32n6",
        "neuralart.compilers.recorded",
    ),
    ModuleCommand(
        "flash",
        "daily",
        "write the flash of its board, or a flash plan to a device",
        "flash --plan flash_plan.json --nor board.nor",
        "neuralart.flashing.cli",
        target=True,
    ),
    ModuleCommand("debug", "daily", "start its firmware under gdb", "debug digits-n6", "neuralart.build", True),
    ModuleCommand("monitor", "daily", "show what its board prints", "monitor digits-n6", "neuralart.build", True),
    ModuleCommand(
        "verify",
        "more",
        "compare the flash of a device with a flash plan",
        "verify --plan flash_plan.json --nor board.nor",
        "neuralart.flashing.cli",
        target=True,
    ),
    ModuleCommand(
        "check-image",
        "tool",
        "check a firmware image before it reaches a board",
        "check-image firmware.elf --board stm32n6570-dk --network network.json",
        "neuralart.memory.image.check_image",
    ),
    ModuleCommand(
        "application",
        "more",
        "build the user's own application around networks, or check it",
        "application check --folder ../firmware --generated doorbell:out/doorbell.c",
        "neuralart.applications.cli",
    ),
    ModuleCommand(
        "relocatable",
        "more",
        "build, verify or check a relocatable model (network_rel.bin)",
        "relocatable check network_rel.bin --at 0x71000000 --ram 0x34200000:512K",
        "neuralart.relocatable.cli",
    ),
    ModuleCommand(
        "plugins",
        "more",
        "list compilers, boards, rules and so on, and who brings them",
        "plugins --added compilers boards",
        "neuralart.plugins.cli",
    ),
)
for _command in _COMMANDS:
    register("commands", _command.name, _command, protocol=1)
