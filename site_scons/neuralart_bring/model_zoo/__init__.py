"""Configurations of ST's model zoo become entries of variants.yaml (docs/reference/import.md)."""
