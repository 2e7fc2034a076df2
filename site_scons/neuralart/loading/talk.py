"""What a board that was just started says that it is, and what it computes, epoch by epoch."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from neuralart.emulator import Difference, LinkFailure
from neuralart.emulator.link import RemoteNetwork, Session
from neuralart.emulator.vectors import Vectors, first_difference
from neuralart.validation_link.client import PER_LAYER, ValidationClient
from neuralart.validation_link.ports import BoardPort

Wanted = tuple[str, str, str]
"""C name of a network, what it must say of itself (16 hex digits), and the file that it was made from."""


class SerialTransport(BoardPort):
    """A serial port as the other end of a session. Of the machine behind it nothing is known but what it sends."""

    def waiting_for(self) -> str:
        """For messages."""
        return "is it the board's port, with its baud rate?"

    def spent(self) -> float | None:
        """Unknown."""
        return None

    def idle(self) -> bool:
        """Unknown."""
        return False


def discard(port: BoardPort) -> None:
    """Throw away what ran before has said. A board that never ends is not heard out: 64 KiB are."""
    left = 1 << 16
    # A socket gives one byte each time.
    while left > 0 and (data := port.read(0.05)):
        left -= len(data)


def introduced(session: Session, wanted: Sequence[Wanted], url: str) -> Iterator[tuple[int, RemoteNetwork]]:
    """Number and description of each network that is wanted, if the board says that it runs them, bit by bit.
    LinkFailure: it runs something else, or reports an error. MachineStop: it says nothing.
    """
    found = {each.name: (number, each) for number, each in enumerate(session.hello())}
    for name, stamp, where in wanted:
        if name not in found or found[name][1].abi_stamp != stamp:
            runs = ", ".join(f"'{each.name}' {each.abi_stamp}" for _, each in found.values()) or "no network"
            what = f"the board runs {runs}, not '{name}' {stamp} of {where}"
            raise LinkFailure(what, where=url, hint="load it without no-flash")
        yield found[name]


def inferences(session: Session, number: int, remote: RemoteNetwork, vectors: Vectors | None) -> tuple[bytes, bytes]:
    """Let a network compute golden vectors, or two random inputs. Returns its last input and output, each all tensors
    concatenated. Difference: an output is not what the vectors expect.
    """
    size = sum(remote.inputs)
    inputs = vectors.input_data if vectors is not None else [random.Random(n).randbytes(size) for n in (1, 2)]
    for index, data in enumerate(inputs):
        output = session.infer(number, data)
        if vectors is not None and (text := first_difference(vectors, index, output)):
            raise Difference(text, where=vectors.where)
    return data, output


def epochs(port: BoardPort, remote: RemoteNetwork, data: bytes, expected: bytes) -> list[int]:
    """What each epoch of an inference takes, then all of it. Difference: other outputs than by the host link."""
    client, parts = ValidationClient(port), []
    for size in remote.inputs:
        parts.append(data[:size])
        data = data[size:]
    records = client.run(client.network(remote.name), parts, PER_LAYER)
    client.close()
    if b"".join(bytes(tensor["data"]["content"]) for tensor in records[-1].tensors) != expected:
        raise Difference("observed epoch by epoch, its outputs differ", where=remote.name)
    return [max(each.operator["counters"], default=0) for each in records]


def table(counts: Sequence[int], virtual: bool, hertz: float) -> Iterator[str]:
    """Lines about what :func:`epochs` returned. ``virtual``: instructions were counted, which are no time; else cycles
    of a core of ``hertz`` (0: unknown).
    """
    *each, whole = counts
    yield f"  {'epoch':<8}{'instructions' if virtual else 'cycles':>14}{'%':>8}"
    for number, count in enumerate(each):
        yield f"  {number:<8}" + (f"{count:>14,}{100 * count / whole:>8.1f}" if whole else f"{'-':>14}")
    end = "a virtual board: instructions (by 1,000) are no time" if virtual else "--cpu-mhz makes time of cycles"
    end = f"{1000 * whole / hertz:.3f} ms, {hertz / whole:.2f} inf/s" if hertz and whole and not virtual else end
    yield f"  total   {whole:>14,}  {end}" if whole else f"  total   {'-':>14}  nothing is counted here"
