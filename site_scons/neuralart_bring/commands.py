"""Commands that bring a model or a repository in, and take a build out."""

from __future__ import annotations

from neuralart.command import module_commands
from neuralart.plugins import register

_COMMANDS = """
    tool neuralart_bring.schema.cli: print what editors check variants.yaml and board files with
        schema variants > .vscode/variants.schema.json
    begin neuralart_bring.own_model.project: make a project for a model of yours
        new doorbell --board stm32n6570-dk --model doorbell.tflite
    begin neuralart_bring.adopt.import_cli: make variants.yaml of a model-zoo user_config.yaml
        import user_config.yaml -o variants.yaml
    begin neuralart_bring.adopt.adopt_cli: make variants.yaml of a firmware repository
        adopt ../firmware -o variants.yaml
    begin neuralart_bring.export.ide: write tasks and debug configurations for VS Code
        ide digits-n6
    more neuralart_bring.export.cli: write what a variant made as a folder for a build of your own
        export digits-n6 --to ../product/third_party/digits
    tool neuralart_fleet.ci.matrix_cli: print jobs that build the variants on several machines
        matrix --all --format github --shards 3 --verb run
    tool neuralart_bring.patching.cli: fit an application's own C sources to a network
        patch ../firmware --network out --aspect-ratio crop --diff
    tool neuralart_bring.appconfig_cli: write app_config.h or ai_model_config.h for an application
        appconfig --network network.json --config app.yaml -o Inc/app_config.h
    tool neuralart_bring.completion: print a script with which a shell completes this command
        completion bash > ~/.local/share/bash-completion/completions/neuralart
"""
for _command in module_commands(_COMMANDS):
    register("commands", _command.name, _command, protocol=1)
