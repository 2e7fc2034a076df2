"""Readers of generated C: ``network.c``, ``network_ecblobs.h`` and initializers as C arrays. The files are read as
text, all versions alike: what a guard of the preprocessor hides from the compiler is looked at too, unknown members are
left aside, missing parts are empty. What is there and cannot be understood is a ``Problem``.
"""
