"""Syntaxes of others, each with one reader that knows the places: JSON, YAML, C, linker scripts, Intel HEX, sizes."""
