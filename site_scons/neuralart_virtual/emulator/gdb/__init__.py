"""A GDB server for virtual boards: packets, what the core and the memories are, commands, the connection."""
