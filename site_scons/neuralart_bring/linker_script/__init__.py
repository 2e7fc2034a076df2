"""GNU linker scripts, read as GNU ld reads them: :mod:`~neuralart_bring.linker_script.read`."""
