"""Layer 1: SCons builders, one file each, in the shape of SCons's own tools.

A file has a docstring, an emitter, an action whose command and message are construction variables, the table of its
construction variables, and ``add_to(env)``.
"""
