"""What a run on a virtual board may be given beside the image."""

from __future__ import annotations

from dataclasses import dataclass

from neuralart.emulator.coherency import Watched
from neuralart.emulator.image import Load
from neuralart.flashing.nor import Nor

DEAD_BANKS = ("fault", "zeros")


@dataclass(frozen=True)
class Conditions:
    """The surroundings of one power-up."""

    nor: Nor | None = None  # The flash; the boot chain starts what is in it. None: the image is loaded in place
    # What an access to a bank that is off does: ``fault`` stops the run, ``zeros`` reads zeros and loses writes
    dead_bank: str = "fault"
    xspi_unmapped: bool = False  # The boot chain leaves no memory mapped
    mapped: tuple[str, ...] = ()  # Memories that the boot chain leaves mapped beside those that the board's file says
    external: tuple[Load, ...] = ()  # What the external loader writes when the firmware waits for it
    watched: tuple[Watched, ...] = ()  # Ranges that the core must clean its data cache behind before the first epoch
