"""What the virtual NPU computes of a compiled network, as golden vectors: they show what another compile changes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

from neuralart import __version__
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.network.facts import LL_ATON, pieces
from neuralart.vendor.generated.files import candidates
from neuralart.vendor.network_c.read import port_of
from neuralart_virtual.emulator.inputs.preprocessing import library
from neuralart_virtual.emulator.variant_networks import built_network
from neuralart_virtual.vectors.expected import ExpectedOutputs
from neuralart_virtual.vectors.npu_buffers import KeptEpochs, hash_of
from neuralart_virtual.virtual_npu import NpuOptions

NAME = "virtual NPU of scons-neuralart"


def found(text: str, project: Path, given: NpuOptions) -> tuple[Path, NpuOptions]:
    """The ``network.c`` that a path or a variant stands for, and how it runs: as the command line says, else as the
    variant does. NeuralArtError: it is neither, or no vendor compiled it.
    """
    path = Path(text)
    if path.suffix == ".c":
        return path, given
    subject = built_network(project, None, text, "", runs_here=False)
    names, of_variant = candidates(subject.facts.parent), NpuOptions.of_keys(subject.variant.added)
    if subject.network.runtime != LL_ATON or len(names) != 1:
        what = f"network {subject.network.name} is made for runtime {subject.network.runtime}"
        raise NeuralArtError(what, where="--from-npu", hint="the virtual NPU runs what ST Edge AI Core compiled")
    plain = NpuOptions()
    options = NpuOptions(given.assume or of_variant.assume, given.ties if given.ties != plain.ties else of_variant.ties)
    return subject.facts.parent / names[0], options


class NpuVectors:
    """A compiled network that computes outputs."""

    def __init__(self, network: Path, options: NpuOptions) -> None:
        """``network``: its network.c. NeuralArtError: NumPy is missing, or a file is missing or wrong."""
        library("numpy", "the virtual NPU")
        from neuralart_virtual.npu import described
        from neuralart_virtual.npu.network_memory import initializer
        from neuralart_virtual.npu.run import load

        self._network = load(network, assume=options.assume, ties=options.ties)
        generated, folder = self._network.network, network.parent
        self.inputs, self.outputs = (tuple(map(port_of, side)) for side in (generated.inputs, generated.outputs))
        raws = (initializer(generated, folder, pool) for pool in generated.pools if not pool.of_user)
        programs = [folder / generated.ecblobs] if generated.ecblobs else []
        self._files = [network, *programs, *(path for path in raws if path is not None)]
        self._options, self._described = options, described.of_network(generated, folder)

    def stamp(self) -> str:
        """A hash of the compile: of network.c, programs and initializers, whatever their names are; 16 hex digits."""
        digests = b"".join(hashlib.sha256(read_bytes(path)).digest() for path in self._files)
        return hashlib.sha256(digests).hexdigest()[:16]

    def compute(self, inputs: Sequence[bytes], done: Callable[[int], None]) -> tuple[ExpectedOutputs, KeptEpochs]:
        """Outputs of each vector, and who computed them; and what each epoch wrote. NeuralArtError: an epoch cannot be
        executed.
        """
        network, outputs, notes = self._network, [], list[str]()
        rules = self._options.assume, self._options.ties.words()
        kept = KeptEpochs(network.network.name, hash_of(inputs), *rules, self._described)
        for number, data in enumerate(inputs):
            for port, part in zip(self.inputs, pieces(data, (port.bytes for port in self.inputs)), strict=True):
                network.set_input(port.name, part)
            kept.vectors.append([])
            result = network.run(lambda epoch: kept.add(epoch, network.memory))
            outputs.append(b"".join(result.outputs[port.name].tobytes() for port in self.outputs))
            notes = result.notes
            done(number + 1)
        words = (f"{NAME} {__version__}", f"compile {self.stamp()}", *notes)
        return ExpectedOutputs(", ".join(words), tuple(outputs)), kept
