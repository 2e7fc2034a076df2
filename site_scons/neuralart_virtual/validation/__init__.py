"""How good a network is on the machine that it was built for (docs/reference/validate.md)."""
