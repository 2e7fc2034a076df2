"""The compile flow of targets without an NPU: C with the legacy API, weights as a C array, activations in buffers
that the application provides, one for each memory pool.
"""
