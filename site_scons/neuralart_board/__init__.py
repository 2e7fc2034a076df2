"""Real boards: programmers, signing, serial ports."""
