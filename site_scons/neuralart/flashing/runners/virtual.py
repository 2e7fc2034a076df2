"""The virtual flash: a file that virtual boards boot from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuralart import plugins
from neuralart.flashing.runners import Capabilities, FlashJob, Refusal, Runner

if TYPE_CHECKING:
    from neuralart.flashing.nor import Mismatch, Written


class Virtual(Runner):
    """Writes the virtual flash of a machine that is simulated or emulated; a serial number tells two of them apart."""

    name = "virtual"
    capabilities = Capabilities(frozenset({"unicorn", "qemu"}), verify=True, probes=True)
    refusals = (
        Refusal(
            lambda of: of["machine"].kind == "silicon",
            "runner virtual writes a file, and machine silicon boots from none",
            "RUNNER=cubeprogrammer or another one on the command line, or machine: unicorn",
        ),
    )

    def record_name(self, probe: str) -> str:
        """The flash itself."""
        return f"flash{self._serial(probe)}.nor"

    def device(self, record: str, probe: str) -> str:
        """Each file is a device."""
        return record

    def words(self, probe: str) -> list[str]:
        """The file says all."""
        return ["--nor"]

    def flash(self, job: FlashJob) -> tuple[Written, ...]:
        """Write it; there is no other record to keep."""
        return self.write(job)

    def write(self, job: FlashJob) -> tuple[Written, ...]:
        """Write the file, whole or not at all; it is left alone if it holds everything already."""
        from neuralart.flashing.nor import Nor, chip_of, load_for, program_plan

        chip = chip_of(job.board)
        new = not job.record.exists()
        nor = Nor(chip) if new else load_for(job.record, job.board)
        done = program_plan(job.plan, nor, job.only, job.top, force=job.force)
        if new or any(written.erased for written in done):
            nor.save(job.record)
        return done

    def verify(self, job: FlashJob) -> Mismatch | None:
        """Compare the file with the plan."""
        from neuralart.flashing.nor import load_for, verify_plan

        return verify_plan(job.plan, load_for(job.record, job.board), job.only, job.top)


plugins.register("runners", Virtual.name, Virtual, protocol=1)
