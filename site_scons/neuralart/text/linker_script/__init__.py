"""GNU linker scripts, read as GNU ld reads them: :mod:`~neuralart.text.linker_script.read`."""
