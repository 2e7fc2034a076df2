"""Known traps of networks on these boards, each found with its file and line (docs/reference/lint.md)."""
