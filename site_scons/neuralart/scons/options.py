"""The options of a network as words of the compile command."""

from __future__ import annotations

from neuralart.config.types import NetworkConfig
from neuralart.errors import NeuralArtError

# What the build itself says on the command line: a second word would win and the declared files would not come.
_OWN_OPTIONS = {
    **dict.fromkeys(("--model", "-m"), "the key 'model'"),
    **dict.fromkeys(("--name", "-n"), "the name of the network"),
    **dict.fromkeys(("--output", "-o"), "NEURALART_BUILD_DIR"),
    **dict.fromkeys(("--help", "-h"), "neuralart compile --help by hand"),
    "--target": "the board",
    "--st-neural-art": "the key 'profile'",
    "--mpool": "the key 'mpool'",
    "--memory-pool": "the key 'mpool'",
    "--initializers": "the key 'initializers'",
    "--binary": "neuralart compile by hand: a build declares no further file of the constants",
    "--no-report": "neuralart compile by hand: a build declares the report",
}


def option_words(config: NetworkConfig) -> list[str]:
    """The words by which a network's keys and its ``options`` reach the compiler.

    Raises:
        NeuralArtError: An option says what the build says itself.
    """
    words: list[str] = []
    for text in config.options:
        # argparse also takes -nNAME.
        option = text.partition("=")[0] if text.startswith("--") else text[:2]
        if option in _OWN_OPTIONS:
            raise NeuralArtError(
                f"options: '{option}' is not for here", where=config.said("options"), hint=f"use {_OWN_OPTIONS[option]}"
            )
    for option, value in (
        ("--input-data-type", config.input_data_type),
        ("--output-data-type", config.output_data_type),
        ("--inputs-ch-position", config.inputs_ch_position),
        ("--outputs-ch-position", config.outputs_ch_position),
    ):
        if value:
            words += [option, value]
    if not config.allocate_inputs:
        words.append("--no-inputs-allocation")
    if not config.allocate_outputs:
        words.append("--no-outputs-allocation")
    return [*words, *config.options]
