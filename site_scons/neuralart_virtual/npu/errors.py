"""The one error of the model: what cannot be executed, and where it stands."""

from __future__ import annotations

from typing import Any

from neuralart.errors import NeuralArtError


class NpuError(NeuralArtError):
    """Something that the model cannot execute, in one line.

    ``epoch``: the label of the epoch; ``unit``: ``CONVACC2``; ``register`` and ``offset``: its name
    and its byte offset in the unit; ``field`` and ``value``: what stands there.
    """

    def __init__(
        self,
        reason: str,
        *,
        epoch: str = "",
        unit: str = "",
        register: str = "",
        offset: int | None = None,
        field: str = "",
        value: int | None = None,
        file: str = "",
        hint: str = "",
    ) -> None:
        """``file``: where the program was read from; all but the reason may be missing."""
        self.reason, self.epoch, self.unit, self.file = reason, epoch, unit, file
        self.register, self.offset, self.field, self.value = register, offset, field, value
        name = f"{register} (0x{offset:03x})" if offset is not None else register
        words = (unit, name, field if value is None else f"{field} = {_number(value)}")
        place = " ".join(filter(None, words))
        where = ": ".join(filter(None, (file, f"epoch {epoch}" if epoch else "")))
        what = f"{place}: {reason}" if place else reason
        super().__init__(what, where=where or "NPU", hint=hint)

    def at(self, *, epoch: str = "", file: str = "") -> NpuError:
        """The same error, with an epoch and a file where it has none."""
        place: Any = {name: getattr(self, name) for name in ("unit", "register", "offset", "field", "value", "hint")}
        return NpuError(self.reason, epoch=self.epoch or epoch, file=self.file or file, **place)


def _number(value: int) -> str:
    return str(value) if abs(value) < 1 << 16 else f"0x{value:08x}"
