"""A variants.yaml with most of its keys."""

GOOD = """\
schema: 1
default: [one]
boards: [boards/mine.yaml]
defaults:
  network:
    input_data_type: uint8
    options: [--all-buffers-info]
  variant:
    toolchain: {prefix: arm-none-eabi-, libc: picolibc}
    optimization: -O2
networks:
  digits:
    model: models/digits.tflite
    vectors: models/vectors
  wake_word:
    model: models/wake.tflite
    input_data_type: int8
    allocate_inputs: false
    initializers: [xSPI2]
variants:
  one:
    title: First
    board: stm32n6570-dk
    network: digits
  two:
    board: mine
    machine: qemu
    networks: [wake_word, digits]
    toolchain: {libc: newlib, version: "12.2"}
    defines: [TRACE, LIMIT=3]
    optimization: -Os
    overrides:
      digits: {output_data_type: float32, options: []}
"""
