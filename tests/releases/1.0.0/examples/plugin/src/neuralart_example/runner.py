"""A flash runner: a folder with a file for each image, named by its address, as a production line takes them."""

from __future__ import annotations

from pathlib import Path

from neuralart.files import read_bytes, write_bytes
from neuralart.flashing.nor import Mismatch, Written
from neuralart.flashing.plan import Write, contents
from neuralart.flashing.runners import Capabilities, FlashJob, Runner
from neuralart.plugins import register


class Folder(Runner):
    """Implements ``neuralart.flashing.runners.Runner``."""

    name = "folder"
    capabilities = Capabilities(frozenset({"silicon", "unicorn", "qemu"}))

    def _files(self, job: FlashJob) -> list[tuple[Write, Path, bytes]]:
        """Write, file and bytes of each image."""
        folder = job.record.with_suffix("")
        writes = job.plan.chosen(job.only)
        images = zip(writes, contents(job.plan, writes, job.top), strict=True)
        return [(write, folder / f"{write.address:08x}.bin", data) for write, data in images]

    def write(self, job: FlashJob) -> tuple[Written, ...]:
        """Write the files that are not there yet."""
        done = []
        for write, path, data in self._files(job):
            same = path.is_file() and read_bytes(path) == data
            if not same:
                write_bytes(path, data)
            done.append(Written(write, erased=int(not same), kept=int(same)))
        return tuple(done)

    def verify(self, job: FlashJob) -> Mismatch | None:
        """Compare the files with the plan."""
        for write, path, data in self._files(job):
            held = read_bytes(path)
            for offset in range(len(data)):
                if held[offset : offset + 1] != data[offset : offset + 1]:
                    return Mismatch(write, offset, data[offset], held[offset] if offset < len(held) else 0xFF)
        return None


register("runners", "folder", Folder, protocol=1)
