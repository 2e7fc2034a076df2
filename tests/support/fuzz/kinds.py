"""The table: every kind of file that the package reads, by name."""

from __future__ import annotations

from support.fuzz import of_images, of_networks, of_npu, of_projects, of_records
from support.fuzz.judge import Kind

KINDS: dict[str, Kind] = {
    kind.name: kind for each in (of_networks, of_npu, of_images, of_projects, of_records) for kind in each.KINDS
}
