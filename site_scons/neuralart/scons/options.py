"""The options of a network as words of the compile command."""

from __future__ import annotations

from neuralart.config import keys
from neuralart.config.networks import KEYS
from neuralart.config.types import NetworkConfig
from neuralart.errors import NeuralArtError

# What the build itself says on the command line: a second word would win and the declared files would not come.
_OWN_OPTIONS = {
    **{word: f"the key '{key.name}'" for key in KEYS for word in key.taken},
    **dict.fromkeys(("--name", "-n"), "the name of the network"),
    **dict.fromkeys(("--output", "-o"), "NEURALART_BUILD_DIR"),
    **dict.fromkeys(("--help", "-h"), "neuralart compile --help by hand"),
    "--target": "the board",
    "--binary": "neuralart compile by hand: a build declares no further file of the constants",
    "--no-report": "neuralart compile by hand: a build declares the report",
}


def option_words(config: NetworkConfig) -> list[str]:
    """The words by which a network's keys and its ``options`` reach the compiler.

    Raises:
        NeuralArtError: An option says what the build says itself.
    """
    for text in config.options:
        # argparse also takes -nNAME.
        option = text.partition("=")[0] if text.startswith("--") else text[:2]
        if option in _OWN_OPTIONS:
            raise NeuralArtError(
                f"options: '{option}' is not for here", where=config.said("options"), hint=f"use {_OWN_OPTIONS[option]}"
            )
    return [*keys.option_words(config, KEYS), *config.options]
