"""Readers of foreign syntaxes that know the place of each value: JSON, YAML, C, linker scripts, Intel HEX, sizes."""
