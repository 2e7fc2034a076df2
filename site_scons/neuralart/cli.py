"""The ``neuralart`` command: one sub-command per thing a person may want by hand.

A sub-command is a module with ``configure(parser)`` and ``run(args) -> int``, or ``configure_X`` and ``run_X`` where
several share one; it is imported only when it is asked for, so that ``neuralart X --help`` starts fast.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Container, Sequence
from typing import Any, NoReturn

from neuralart import __version__
from neuralart.errors import NeuralArtError, of_system, similar
from neuralart.text import console

# name -> (module, one line of help)
COMMANDS = {
    "new": ("neuralart.own_model.project", "make a folder in which a model of yours is built and run"),
    "schema": ("neuralart.own_model.project", "print what editors check variants.yaml and board files with"),
    "build": ("neuralart.build", "call scons, unless all that is asked for is known to be intact"),
    "compile": ("neuralart.compilers.cli", "compile a .tflite or .onnx into network.c, initializers and reports"),
    "record": ("neuralart.compilers.recorded", "compile with ST Edge AI Core and keep the result for others"),
    "operators": ("neuralart.compilers.cli", "list what the reference compiler takes, with its limits"),
    "run": ("neuralart.emulator.cli", "run firmware on a virtual board and compare it with golden vectors"),
    "npu": ("neuralart_virtual.npu.cli", "run what ST Edge AI Core compiled on a virtual NPU, without a board"),
    "vectors": ("neuralart.own_model.vectors_cli", "make golden vectors of a model: inputs and expected outputs"),
    "validate": ("neuralart.validation.cli", "measure how far a built network is from its reference and its labels"),
    "sign": ("neuralart.signing.cli", "put the header that the boot chain reads in front of an image"),
    "flash": ("neuralart.flashing.cli", "write the flash of a device by a flash plan"),
    "verify": ("neuralart.flashing.cli", "compare the flash of a device with a flash plan"),
    "load": ("neuralart.loading.load_cli", "write a model to a board, start it there, and show what its epochs take"),
    "device": ("neuralart.flashing.cli", "reset a real board, load an image, debug it, show its serial port"),
    "talk": ("neuralart.validation_link.cli", "ask a board with firmware for validation what it is and computes"),
    "boards": ("neuralart.doctor.connected", "list the boards, show one, or list what is connected"),
    "plan": (
        "neuralart.memory.plan.plan_cli",
        "show who has which addresses: slots, pools, firmware, staging, free banks",
    ),
    "watch": ("neuralart.scons.watch_cli", "build variants again, and run them, whenever one of their files changes"),
    "matrix": ("neuralart.ci.matrix_cli", "print jobs that build the variants on several machines"),
    "why": ("neuralart.why", "show what has changed since the last good build of a variant"),
    "check-image": ("neuralart.memory.image.check_image", "check a firmware image before it reaches a board"),
    "patch": ("neuralart.patching.cli", "fit an application's own C sources to a network"),
    "report": ("neuralart.profiling.report_cli", "write a page with pictures of what a build made"),
    "profile": (
        "neuralart.profiling.cli",
        "show what the compiler expects of a network and what a board measured, by epoch",
    ),
    "diff": (
        "neuralart.profiling.diff_cli",
        "compare two builds, compiles or profiles: epochs, cycles, memory, symbols",
    ),
    "inspect": ("neuralart.inspect.cli", "show what a file is and says: network.c, reports, pools, models, images"),
    "lint": ("neuralart.lint.cli", "look for the known traps in networks, pool files, sources and linker scripts"),
    "doctor": ("neuralart.doctor.cli", "show the tools on this machine, and what each missing one means"),
    "application": ("neuralart.applications.cli", "build the user's own application around networks, or check it"),
    "export": ("neuralart.export.cli", "write what a variant made as a folder for a build of your own"),
    "sbom": ("neuralart.sbom.package", "list what this package consists of, with hashes, as CycloneDX"),
    "ide": ("neuralart.export.ide", "write debug configurations for Visual Studio Code"),
    "relocatable": ("neuralart.relocatable.cli", "build, verify or check a relocatable model (network_rel.bin)"),
    "appconfig": ("neuralart.app_config.cli", "write app_config.h or ai_model_config.h for an application"),
    "plugins": ("neuralart.plugins.cli", "list compilers, boards, rules and so on, and who brings them"),
    "import": ("neuralart.adopt.import_cli", "turn a model-zoo user_config.yaml into entries of variants.yaml"),
    "adopt": ("neuralart.adopt.adopt_cli", "find the networks and builds of a repository, and write its variants.yaml"),
    "completion": ("neuralart.completion", "print a script with which a shell completes this command"),
}
# What a call of each looks like, behind ``neuralart``; its help shows it.
EXAMPLES = {
    "new": "new doorbell --board stm32n6570-dk --model doorbell.tflite",
    "schema": "schema variants > .vscode/variants.schema.json",
    "build": "build digits-n6 run-digits-n6",
    "compile": "compile -m doorbell.tflite --target stm32n6570-dk -o out",
    "record": "record --recording recordings/doorbell -m doorbell.tflite --target stm32n6",
    "operators": "operators CONV_2D SOFTMAX",
    "run": "run --board stm32n6570-dk --elf firmware.elf --plan flash_plan.json --vectors vectors",
    "npu": "npu out/network.c --model doorbell.tflite",
    "vectors": "vectors doorbell.tflite pictures/ -o vectors --resize fit",
    "validate": "validate digits-n6 --data test.npy --labels labels.csv",
    "sign": "sign firmware.bin -o application.bin",
    "flash": "flash --plan flash_plan.json --nor board.nor",
    "verify": "verify --plan flash_plan.json --nor board.nor",
    "load": "load -i build/network_rel.bin --mode xip",
    "device": "device load --board stm32n6570-dk --runner gdb --elf firmware.elf",
    "talk": "talk /dev/ttyACM0 --input input.bin --per-layer",
    "boards": "boards stm32n6570-dk",
    "plan": "plan digits-n6 --svg plan.svg",
    "watch": "watch digits-n6 --run",
    "matrix": "matrix --all --format github --shards 3 --verb run",
    "why": "why digits-n6",
    "check-image": "check-image firmware.elf --board stm32n6570-dk --network network.json",
    "patch": "patch ../firmware --network out --aspect-ratio crop --diff",
    "report": "report digits-n6 -o report.html",
    "profile": "profile out -d npu_profiler.log --npu-mhz 800",
    "diff": "diff build.old/digits-n6 digits-n6 --markdown",
    "inspect": "inspect network.c flash_plan.json doorbell.tflite",
    "lint": "lint digits-n6 src/ app.ld",
    "doctor": "doctor run-digits-n6",
    "application": "application check --folder ../firmware --generated doorbell:out/doorbell.c",
    "export": "export digits-n6 --to ../product/third_party/digits",
    "sbom": "sbom --output sbom.json",
    "ide": "ide digits-n6",
    "relocatable": "relocatable check network_rel.bin --at 0x71000000 --ram 0x34200000:512K",
    "appconfig": "appconfig --network network.json --config app.yaml -o Inc/app_config.h",
    "plugins": "plugins --added compilers boards",
    "import": "import user_config.yaml -o variants.yaml",
    "adopt": "adopt ../firmware -o variants.yaml",
    "completion": "completion bash > ~/.local/share/bash-completion/completions/neuralart",
}

USER_ERROR = 1
USAGE_ERROR = 2


class _Parser(argparse.ArgumentParser):
    """Wrong usage is one line, too."""

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE_ERROR, f"{self.prog}: error: {message} (see {self.prog} --help)\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        found, unknown = super().parse_known_args(args, namespace)
        several = next((each for each in self._get_positional_actions() if each.nargs in ("*", "+")), None)
        if several is not None and not any(word.startswith("-") for word in unknown):
            # argparse takes words of one list only where no option stands between them.
            more = [self._get_value(several, word) for word in unknown]
            setattr(found, several.dest, [*(getattr(found, several.dest) or ()), *more])
            unknown = []
        if unknown:
            near = similar(unknown[0].partition("=")[0], self._option_string_actions)
            self.error("; ".join(filter(None, (f"unknown argument '{unknown[0]}'", near))))
        return found, unknown


def _function(command: str, verb: str) -> Callable[[Any], Any]:
    module = importlib.import_module(COMMANDS[command][0])
    found: Callable[[Any], Any] = getattr(module, f"{verb}_{command}", None) or getattr(module, verb)
    return found


def parser_of(asked: Container[str | None]) -> argparse.ArgumentParser:
    """The command line, with arguments for the asked commands alone; None among them: the others are listed, too."""
    parser = _Parser(prog="neuralart", description="From a quantized network to a running STM32 board.")
    parser.add_argument("--no-color", action="store_true", help="no colors on a terminal, as with NO_COLOR=1")
    parser.add_argument("--version", action="version", version=f"neuralart {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (_, text) in COMMANDS.items():
        if name not in asked and None not in asked:
            continue
        command = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        if name in asked:
            command.formatter_class = argparse.RawDescriptionHelpFormatter  # An example is not folded
            _function(name, "configure")(command)
            command.epilog = "\n".join(filter(None, (f"example: neuralart {EXAMPLES[name]}", command.epilog)))
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a sub-command. Returns 0 when it did what was asked, 1 for a refusal of the user's input, 2 for wrong usage
    (and for a difference between expected and computed outputs). Without a command it prints the help, and returns 2.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["--no-color"]:
        os.environ["NO_COLOR"] = words.pop(0)
    if words[:1] == ["build"] and words[1:2] not in (["-h"], ["--help"]):
        words.insert(1, "--")  # The rest is for scons, from the first option on
    console.on_terminals()
    asked = next((word for word in words if not word.startswith("-")), None)
    try:
        parser = parser_of((asked,) if words[:1] == [asked] else (asked, None))
        if not words:
            parser.print_help()
            return USAGE_ERROR
        if asked == words[0] and asked not in COMMANDS:
            parser.error("; ".join(filter(None, (f"no command '{asked}'", similar(asked, tuple(COMMANDS))))))
        args = parser.parse_args(words)
        status = int(_function(args.command, "run")(args))
        sys.stdout.flush()
        # Rooms of one floor do not know each other: a command says which one follows it.
        then = getattr(args, "then", None)
        return main(then) if then and not status else status
    except NeuralArtError as error:
        print(f"neuralart {asked}: error: {error}", file=sys.stderr)
        return USER_ERROR
    except BrokenPipeError:
        # The reader has seen enough (``| head``); the interpreter must not try to write the rest when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception as error:
        known = sys.modules.get("neuralart.plugins")
        found = known.blamed(error) if known is not None else None
        if found is None and isinstance(error, OSError):
            found = of_system(error)
        if found is None:
            raise
        print(f"neuralart {asked}: error: {found}", file=sys.stderr)
        return USER_ERROR
    except KeyboardInterrupt:
        print(f"neuralart {asked or ''}: interrupted".replace(" :", ":"), file=sys.stderr)
        return 130
