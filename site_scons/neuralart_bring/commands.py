"""Commands that bring a model or a repository in, and take a build out."""

from __future__ import annotations

from neuralart.command import ModuleCommand
from neuralart.plugins import register

_COMMANDS = (
    ModuleCommand(
        "schema",
        "tool",
        "print what editors check variants.yaml and board files with",
        "schema variants > .vscode/variants.schema.json",
        "neuralart_bring.schema.cli",
    ),
    ModuleCommand(
        "new",
        "begin",
        "make a project for a model of yours",
        "new doorbell --board stm32n6570-dk --model doorbell.tflite",
        "neuralart_bring.own_model.project",
    ),
    ModuleCommand(
        "import",
        "begin",
        "make variants.yaml of a model-zoo user_config.yaml",
        "import user_config.yaml -o variants.yaml",
        "neuralart_bring.adopt.import_cli",
    ),
    ModuleCommand(
        "adopt",
        "begin",
        "make variants.yaml of a firmware repository",
        "adopt ../firmware -o variants.yaml",
        "neuralart_bring.adopt.adopt_cli",
    ),
    ModuleCommand(
        "ide",
        "begin",
        "write tasks and debug configurations for VS Code",
        "ide digits-n6",
        "neuralart_bring.export.ide",
    ),
    ModuleCommand(
        "export",
        "more",
        "write what a variant made as a folder for a build of your own",
        "export digits-n6 --to ../product/third_party/digits",
        "neuralart_bring.export.cli",
    ),
    ModuleCommand(
        "matrix",
        "tool",
        "print jobs that build the variants on several machines",
        "matrix --all --format github --shards 3 --verb run",
        "neuralart_fleet.ci.matrix_cli",
    ),
    ModuleCommand(
        "patch",
        "tool",
        "fit an application's own C sources to a network",
        "patch ../firmware --network out --aspect-ratio crop --diff",
        "neuralart_bring.patching.cli",
    ),
    ModuleCommand(
        "appconfig",
        "tool",
        "write app_config.h or ai_model_config.h for an application",
        "appconfig --network network.json --config app.yaml -o Inc/app_config.h",
        "neuralart_bring.appconfig_cli",
    ),
    ModuleCommand(
        "completion",
        "tool",
        "print a script with which a shell completes this command",
        "completion bash > ~/.local/share/bash-completion/completions/neuralart",
        "neuralart_bring.completion",
    ),
)
for _command in _COMMANDS:
    register("commands", _command.name, _command, protocol=1)
