"""Flash runners: what writes images into the flash of a device, and compares them with what it holds.

In order to define your own runner, you need to:

1. Define a subclass of :class:`Runner` with a ``name`` and the ``capabilities`` that it has. What it cannot do is data
   as well: ``refusals`` are looked at before anything is started.
2. Implement ``write``: it compares with the device, leaves alone what holds its bytes already, and says for each write
   how many sectors it erased and kept. Implement ``verify`` as well if the device can be read.
3. Implement ``reset`` if it can, and ``script`` if it works by commands that a person could type.
4. Register the class as a plugin (:func:`neuralart.plugins.register`, kind ``runners``) under its name;
   ``NEURALART_RUNNER`` and ``neuralart flash --runner`` then know it.

The build asks a runner for names and refusals only. It is ``neuralart flash``, a process of its own, that writes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from neuralart import plugins
from neuralart.errors import NeuralArtError
from neuralart.quick import dataclass, lazy_regex

if TYPE_CHECKING:
    from neuralart.boards.types import Board, Machine
    from neuralart.flashing.nor import Mismatch, Written
    from neuralart.flashing.plan import FlashPlan
    from neuralart.flashing.script import CommandScript


DEFAULT = "virtual"
# What a runner can do with a device.
EXTERNAL, INTERNAL, RESET, RAM = "flash external", "flash internal", "reset", "load RAM"
GDB, SERIAL = "gdb server", "serial"
# What is left beside the record of a real device: the journal (its suffix), and what ``DRY=1`` writes.
JOURNAL, SCRIPTS = ".journal", "flash_plan"
SCRIPT_NAMES = tuple(
    f"{SCRIPTS}{part}.{kind}" for part in ("", ".model", ".application") for kind in ("sh", "bat", "cfg")
)
_SERIAL = lazy_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class Capabilities:
    """What a runner can do."""

    machines: frozenset[str]  # Kinds of machine whose flash it reaches: ``silicon``, ``unicorn``, ``qemu``
    verify: bool = True  # It can read the device and compare
    probes: bool = False  # Its devices are told apart by a serial number
    does: frozenset[str] = frozenset({EXTERNAL})  # What it can do: :data:`EXTERNAL` and so on


@dataclass(frozen=True)
class Refusal:
    """A reason not to do something, as data."""

    when: Callable[[Mapping[str, Any]], bool]  # It holds for these subjects (a mapping of names to what is asked about)
    what: str  # What is said; ``{board.name}`` and the like are filled in from the subjects
    hint: str = ""  # What to do instead, likewise


def first_refusal(refusals: tuple[Refusal, ...], **subjects: Any) -> tuple[str, str]:
    """What is said and what to do, of the first refusal that holds; two empty texts if none does."""
    for refusal in refusals:
        if refusal.when(subjects):
            return refusal.what.format(**subjects), refusal.hint.format(**subjects)
    return "", ""


@dataclass(frozen=True)
class FlashJob:
    """What is written or compared."""

    plan: FlashPlan  # The flash plan
    board: Board  # The board that it is for
    record: Path  # The file that says what the device holds
    probe: str = ""  # Serial number of the device; empty: the only one
    only: str | None = None  # A part of the plan, ``application`` or ``model``; None: all of it
    top: Path = Path()  # Folder that the plan's paths start from
    force: bool = False  # Write what the device holds already, too
    server: str = ""  # ``HOST:PORT`` of a gdb server that runs already, for the runner that talks to one


class Runner(ABC):
    """Writes the flash of one kind of device. See the module for how to define one.

    Attributes:
        name: What users call it.
        capabilities: What it can do.
        refusals: What it refuses, of a ``board`` and a ``machine``; :attr:`capabilities` are looked at after them.
    """

    name: ClassVar[str]
    capabilities: ClassVar[Capabilities]
    refusals: ClassVar[tuple[Refusal, ...]] = ()

    def refusal(self, verb: str, board: Board, machine: Machine) -> tuple[str, str]:
        """Why a device cannot be written or compared, and what to do; two empty texts if it can."""
        return first_refusal((*self.refusals, *_BY_CAPABILITIES), runner=self, verb=verb, board=board, machine=machine)

    def record_name(self, probe: str) -> str:
        """Name of the file that says what a device holds, within the folder of its build.

        NeuralArtError: the serial number is not one, or this runner's devices have none.
        """
        return f"flash-{self.name}{self._serial(probe)}.json"

    def device(self, record: str, probe: str) -> str:
        """What no two commands may use at the same time."""
        return f"{self.name} {probe or 'device'}"

    def found(self) -> Path | None:
        """The program that this runner starts; None: it is not on this machine, or it starts none."""
        return None

    def installed(self) -> tuple[dict[str, str], Path]:
        """Where the programs that :meth:`script` names are on this machine, by name; and the folder of loaders."""
        return {}, Path("ExternalLoader")

    def words(self, probe: str) -> list[str]:
        """What ``neuralart flash`` and ``verify`` need in front of the record: this runner and its device."""
        return ["--runner", self.name, *(["--probe", probe] if probe else []), "--record"]

    def flash(self, job: FlashJob) -> tuple[Written, ...]:
        """Write, and keep the record of it. A write that fails half way leaves no record."""
        from neuralart.flashing import plan

        writes = job.plan.chosen(job.only)
        # While the device is untouched, its record is true: what can be refused before is refused before.
        plan.contents(job.plan, writes, job.top)
        held = plan.read_record(job.record) if job.record.exists() else ()
        plan.remove_record(job.record)
        done = self.write(job)
        plan.save_record(job.record, self.name, job.probe, job.plan.board, plan.held_after(held, writes))
        return done

    @abstractmethod
    def write(self, job: FlashJob) -> tuple[Written, ...]:
        """Write what the device does not hold yet.

        NeuralArtError: a file has changed or is missing, or the device cannot be written.
        """

    def reset(self, job: FlashJob) -> None:
        """Start the device anew. NeuralArtError: it cannot be reached, or this runner cannot."""
        raise NeuralArtError(f"runner {self.name} cannot reset a device", where=str(job.record))

    def load(self, job: FlashJob, elf: Path) -> int:
        """Load an image where it is linked, and run it. Returns its entry. NeuralArtError: it does not arrive."""
        raise NeuralArtError(f"runner {self.name} loads no images", where=str(elf), hint="RUNNER=gdb does")

    def script(self, job: FlashJob) -> CommandScript:
        """What a person types who does by hand what :meth:`flash` does. NeuralArtError: nothing can be typed."""
        raise NeuralArtError(f"runner {self.name} starts no program: there is nothing to show", where=str(job.record))

    def verify(self, job: FlashJob) -> Mismatch | None:
        """Compare the device with a plan.

        Returns the first difference, or None. NeuralArtError: a file has changed, or the device cannot be read.
        """
        raise NeuralArtError(f"runner {self.name} cannot read its device", where=str(job.record))

    def _serial(self, probe: str) -> str:
        if not probe:
            return ""
        if not self.capabilities.probes:
            raise NeuralArtError(f"runner {self.name} knows no probes, this is '{probe}'", where="NEURALART_PROBE")
        if not _SERIAL.fullmatch(probe):
            hint = "SERIAL=, --probe: letters, digits, . _ and -"
            raise NeuralArtError(f"'{probe}' is no serial number of a probe", where="NEURALART_PROBE", hint=hint)
        return f"-{probe}"


_BY_CAPABILITIES = (
    Refusal(
        lambda of: of["machine"].kind not in of["runner"].capabilities.machines,
        "runner {runner.name} cannot {verb} machine {machine.kind}",
        "NEURALART_RUNNER names another one",
    ),
    Refusal(
        lambda of: of["verb"] == "verify" and not of["runner"].capabilities.verify,
        "runner {runner.name} cannot read its device",
        "flash- writes it",
    ),
    Refusal(
        lambda of: "base" not in of["board"].flash,
        "board {board.name} has no flash",
        "'flash:' in the board's file says what",
    ),
)


def find(name: str, where: str = "") -> Runner:
    """The runner of a name. NeuralArtError: there is none."""
    runner: Runner = plugins.find("runners", name, where).made()
    return runner
