"""The boards of this package, registered as those of others are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from neuralart import resources
from neuralart.boards.find import yaml_files
from neuralart.plugins import register


@dataclass(frozen=True)
class _Own:
    name: str

    @property
    def path(self) -> Path:
        return resources.board_data_dir() / f"{self.name}.yaml"


for _name in yaml_files(resources.board_data_dir()):
    register("boards", _name, _Own(_name), protocol=1)
