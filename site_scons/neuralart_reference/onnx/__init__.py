"""Quantized ONNX models as graphs of the same operators that a .tflite has. Needs the package ``onnx``."""
