"""Values in the structures of generated C: numbers, names, addresses. What cannot be read is an error."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from neuralart.errors import NeuralArtError
from neuralart_virtual.network_c.epochs import Description, Structure, place, whole, wholes
from neuralart_virtual.npu.memory import Bytes, NpuMemory

# Enumerators of the structures, and the value of the field that each stands for.
NAMES = {
    **{"ARITH_AFFINE": 0, "ARITH_MIN": 1, "ARITH_MAX": 2, "ARITH_MUL": 7, "ARITH_X_AND_Y": 0x0B},
    **{"ARITH_X_OR_Y": 0x0F, "ARITH_NOT_X": 0x13, "ARITH_X_XOR_Y": 0x17, "ARITH_X_EQ_Y": 0x1B},
    **{"ARITH_X_LT_Y": 0x1F, "ARITH_X_LE_Y": 0x23, "ARITH_X_GT_Y": 0x27, "ARITH_X_GE_Y": 0x2B},
    **{"ARITH_ABS_X": 0x2F, "ARITH_SIGN_X": 0x33, "ARITH_CLIP": 0x37},
    **{"ACTIV_RELU": 0, "ACTIV_PRELU": 1, "ACTIV_TRELU": 2, "ACTIV_FUNC": 3},
    **{"POOL_MAX": 0, "POOL_MIN": 1, "POOL_AVG": 2, "POOL_GMAX": 8, "POOL_GMIN": 9, "POOL_GAVG": 10},
    **{"AFILT_MODE_NONE": 0, "AFILT_MODE_PIXELDROP": 1, "AFILT_MODE_FRAMEDROP": 2},
    **{"AFILT_MODE_FRAMEZERO": 3},
}


class StructureReader:
    """Reads members of structures. Pools and buffers whose base is a symbol stand where ``bases`` says."""

    def __init__(self, description: Description, memory: NpuMemory, bases: Mapping[str, int]) -> None:
        """``bases``: address by symbol, such as ``_mem_pool_xSPI2_network``."""
        self.description, self.memory = description, memory
        self._bases = bases

    def error(self, structure: Structure, member: str, what: str) -> NeuralArtError:
        """An error about a member, with its place in the file."""
        return self.description.error(f"{member} of {structure.name} {what}", structure.offset)

    def number(self, structure: Structure, member: str, missing: int = 0) -> int:
        """A number or an enumerator. NeuralArtError: it is neither."""
        text = structure.members.get(member)
        if text is None:
            return missing
        value = NAMES.get(text, whole(text))
        if value is None:
            raise self.error(structure, member, f"is '{text[:60]}', no number that is known")
        return value

    def numbers(self, structure: Structure, member: str) -> tuple[int, ...]:
        """A list of numbers. NeuralArtError: something else is among them."""
        text = structure.members.get(member, "{}")
        values = wholes(text)
        if values is None:
            raise self.error(structure, member, f"is '{text[:60]}', no list of numbers")
        return values

    def address(self, structure: Structure, member: str) -> int:
        """An address; 0 without one. NeuralArtError: it is no address, or its pool has no base."""
        text = structure.members.get(member, "{0}")
        found = place(text)
        if found is None:
            raise self.error(structure, member, f"is '{text[:60]}', no address")
        if not found.symbol:
            return found.offset
        if found.symbol not in self._bases:
            raise self.error(structure, member, f"needs {found.symbol}, which has no address")
        return self._bases[found.symbol] + found.offset

    def vector(self, structure: Structure, member: str, count: int, bits: int) -> list[int] | None:
        """Signed numbers of 8, 16 or 32 bits behind an address; None where there is none."""
        address = self.address(structure, member)
        if address == 0:
            return None
        if bits not in (8, 16, 32):
            raise self.error(structure, member, f"has numbers of {bits} bits, not of 8, 16 or 32")
        data = self.bytes(structure, member, address, count * bits // 8)
        return [int(value) for value in np.frombuffer(data.tobytes(), f"<i{bits // 8}")]

    def bytes(self, structure: Structure, member: str, address: int, size: int) -> Bytes:
        """Memory that a member leads to. NeuralArtError: there is none."""
        try:
            return self.memory.view(address, size)
        except NeuralArtError as error:
            raise self.error(structure, member, f"leads nowhere: {error.what}") from None
