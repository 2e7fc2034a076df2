"""A board: a YAML file as docs/reference/boards.md describes it."""

from __future__ import annotations

from pathlib import Path

from neuralart.boards.loading import BoardFile
from neuralart.plugins import register

register("boards", "door-camera", BoardFile(Path(__file__).with_name("door-camera.yaml")), protocol=1)
