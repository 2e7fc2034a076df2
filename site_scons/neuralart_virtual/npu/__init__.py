"""The NPU of the STM32N6 at register level: it executes compiled networks, without time.

What is known of each mode, and how, is a table in docs/reference/npu.md.
"""
