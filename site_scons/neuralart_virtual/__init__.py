"""Virtual parts of chips: what a board has besides its core, as functional models."""
