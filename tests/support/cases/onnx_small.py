"""A quantized ONNX model of one convolution, as a file has it: to look at without the package onnx."""

from __future__ import annotations

from base64 import b64decode

SMALL = b64decode("""
CAgSAXQ6sgIKHAoBeAoBcwoBehIBcSIOUXVhbnRpemVMaW5lYXIKHgoBcQoBcwoBehIBZCIQRGVxdWFudGl6ZUxpbmVhcgoeCgF3CgFzCgFu
EgF2IhBEZXF1YW50aXplTGluZWFyCg8KAWQKAXYSAWMiBENvbnYKHAoBYwoBcwoBehIBciIOUXVhbnRpemVMaW5lYXIKHgoBcgoBcwoBehIB
eSIQRGVxdWFudGl6ZUxpbmVhchIFc21hbGwqCxABQgFzSgTNzEw9KggQA0IBekoB/SofCAIIAggCCAIQA0IBd0oQ+Pn6+/z9/v8AAQIDBAUG
ByoIEANCAW5KAQBaHAoBeBIXChUIARIRCgMSAW4KAggCCgIIBAoCCARiHAoBeRIXChUIARIRCgMSAW4KAggCCgIIAwoCCANCBAoAEA0=
""")
"""float32 [n, 2, 4, 4] -> QuantizeLinear, Conv of 2 x 2 taps, QuantizeLinear, DequantizeLinear -> [n, 2, 3, 3]."""
