"""``neuralart inspect``: what a file is and what it says, for people and for programs."""
