"""What a board computes, by the validation protocol over a serial port."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from neuralart.errors import NeuralArtError

if TYPE_CHECKING:
    from neuralart.network.facts import Network
    from neuralart.validation_link.client import ValidationClient


def _check(client: ValidationClient, network: Network) -> Any:
    """The board's network, if it is that of the build. NeuralArtError: it is another."""
    from neuralart.validation_link.client import check_stamp

    found = client.network(network.symbol)
    check_stamp(found, network.abi_stamp, "--on board")
    inputs, outputs = len(found["inputs"]), len(found["outputs"])
    if (inputs, outputs) != (len(network.inputs), len(network.outputs)):
        what = f"network '{network.symbol}' of the board has {inputs} inputs and {outputs} outputs"
        what += f", that of the build {len(network.inputs)} and {len(network.outputs)}"
        raise NeuralArtError(what, where="--on board", hint="flash- writes this one")
    return found


def outputs_of(
    client: ValidationClient, network: Network, samples: Sequence[bytes], done: Callable[[int], None]
) -> list[bytes]:
    """Outputs of each sample, concatenated in the order of the network's; so are the inputs of each in ``samples``.

    ``done``: called with the number of samples that are computed. NeuralArtError: the board runs another build,
    refuses, or does not answer.
    """
    found = _check(client, network)
    expected = [port.bytes for port in network.outputs]
    made = []
    for number, sample in enumerate(samples):
        parts, at = [], 0
        for port in network.inputs:
            parts.append(sample[at : at + port.bytes])
            at += port.bytes
        tensors = client.run(found, parts, first=number == 0)[-1].tensors
        data = [bytes(tensor["data"]["content"]) for tensor in tensors]
        if [len(each) for each in data] != expected:
            sizes = " and ".join(str(len(each)) for each in data)
            what = f"the board answers {sizes} bytes, {' and '.join(map(str, expected))} are expected"
            raise NeuralArtError(what, where="--on board")
        made.append(b"".join(data))
        done(number + 1)
    return made


def on_board(
    url: str, baud: int, network: Network, samples: Sequence[bytes], done: Callable[[int], None]
) -> tuple[str, Sequence[bytes]]:
    """Which device computed, and what (:func:`outputs_of`). ``url``: a device or URL of pyserial."""
    from neuralart.validation_link.client import ValidationClient
    from neuralart.validation_link.ports import BoardPort

    with closing(BoardPort(url, baud)) as port, closing(ValidationClient(port)) as client:
        made = outputs_of(client, network, samples, done)
        return f"device 0x{client.system['device']:x} at {url}", made
