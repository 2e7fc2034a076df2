"""Damaged files of every kind that is read: what must never happen is printed. ``python -m support.fuzz`` runs it."""

from __future__ import annotations

from pathlib import Path

from support.fuzz.damage import damage, damage_text

__all__ = ["MODELS", "POOLS", "PROFILES", "ROOT", "damage", "damage_text"]

ROOT = Path(__file__).parents[3]
MODELS = [ROOT / "models" / name / f"{name}.tflite" for name in ("digits", "detector")]
POOLS = sorted((ROOT / "site_scons/neuralart/boards/data/pools").glob("*.mpool"))
PROFILES = sorted((ROOT / "site_scons/neuralart/boards/data/profiles").glob("*.json"))
