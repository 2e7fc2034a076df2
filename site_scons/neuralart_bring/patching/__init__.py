"""Fitting an application's own sources to a network: marker blocks, macros and section attributes. Nothing here knows
an application: which files are patched, where and with what, is data (``data/*.yaml``).
"""
