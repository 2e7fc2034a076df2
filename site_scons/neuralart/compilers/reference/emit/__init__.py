"""Everything that a compile writes: one module per file, each a pure function from an Emission to text."""
