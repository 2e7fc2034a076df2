"""variants.yaml: what a project builds (docs/reference/variants.md)."""

from __future__ import annotations

from neuralart.config.read import ProjectFile, read

__all__ = ["ProjectFile", "read"]
