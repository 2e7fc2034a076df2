"""Who reads and writes what, memory by memory: what sharing has to know of a program."""

from __future__ import annotations

from neuralart.compilers.reference.ir import Call, Program, StructArg, TensorArg


def copied(call: Call) -> int | None:
    """How many bytes a call copies; None if it does something else."""
    parameters = call.args[-1] if call.args else None
    if call.kernel != "na_copy_8" or not isinstance(parameters, StructArg):
        return None
    return int(dict(parameters.fields)["count"])


class Memories:
    """The memories of a program: its tensors by owner, with their accesses.

    A copy touches the bytes that it copies. Any other call is taken to touch the whole of a tensor, wherever in it the
    address that it is given lies.

    Args:
        program: What to look at; changes are told by :meth:`join`.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._reads: dict[int, list[tuple[int, range]]] = {}
        self._writes: dict[int, list[tuple[int, range]]] = {}
        for epoch, call in enumerate(program.calls):
            args = [arg for arg in call.args if isinstance(arg, TensorArg)]
            count = copied(call)
            for arg in args:
                self._touch(arg.tensor, epoch, arg.written, None if count is None else (arg.offset, count))
            told = {(arg.tensor, arg.written) for arg in args}
            for tensor in call.reads:
                if (tensor, False) not in told:
                    self._touch(tensor, epoch, False, None)
            for tensor in call.writes:
                if (tensor, True) not in told:
                    self._touch(tensor, epoch, True, None)
        self._sizes: dict[int, int] = {}
        for tensor in (*range(len(program.tensors)), *program.aliases):
            root = program.root(tensor)
            if root in self._reads or root in self._writes:
                end = program.offset(tensor) + program.tensors[tensor].bytes
                self._sizes[root] = max(self._sizes.get(root, 0), end)
        self._inputs = {program.root(tensor) for tensor in program.inputs}
        self._outputs = {program.root(tensor) for tensor in program.outputs}

    def _touch(self, tensor: int, epoch: int, written: bool, part: tuple[int, int] | None) -> None:
        root, start = self._program.root(tensor), self._program.offset(tensor)
        first, count = part or (0, self._program.tensors[tensor].bytes)
        table = self._writes if written else self._reads
        table.setdefault(root, []).append((epoch, range(start + first, start + first + count)))

    def join(self, owner: int, joined: int) -> None:
        """A memory has become another, byte for byte."""
        for table in (self._reads, self._writes):
            table.setdefault(owner, []).extend(table.pop(joined, []))
        for border in (self._inputs, self._outputs):
            if joined in border:
                border.remove(joined)
                border.add(owner)

    def size(self, root: int) -> int:
        """Bytes of a memory."""
        return self._sizes[root]

    def has_input(self, root: int) -> bool:
        """It holds an input of the network."""
        return root in self._inputs

    def has_output(self, root: int) -> bool:
        """It holds an output of the network."""
        return root in self._outputs

    def _epochs(self, root: int) -> list[int]:
        return [epoch for table in (self._reads, self._writes) for epoch, _ in table.get(root, [])]

    def first(self, root: int) -> int:
        """First epoch that touches it; -1 for an input."""
        return -1 if self.has_input(root) else min(self._epochs(root))

    def last(self, root: int) -> int:
        """Last epoch that touches it; beyond every epoch for an output."""
        return len(self._program.calls) if self.has_output(root) else max(self._epochs(root))

    def writes(self, epoch: int, root: int, region: range | None = None) -> bool:
        """An epoch writes a memory, or a part of it."""
        return any(
            number == epoch and (region is None or (part.start < region.stop and region.start < part.stop))
            for number, part in self._writes.get(root, [])
        )
