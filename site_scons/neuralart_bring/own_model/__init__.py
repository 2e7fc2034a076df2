"""A model of the user's own: a folder to build it in, and vectors to prove it with."""
