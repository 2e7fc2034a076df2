"""Everything that a compile writes, each file a pure function from an Emission to text."""
