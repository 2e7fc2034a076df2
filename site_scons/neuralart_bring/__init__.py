"""Brings models and repositories in (``new``, ``import``, ``adopt``), and takes builds out (``export``, ``ide``)."""
