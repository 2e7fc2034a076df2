"""Software kernels that treat each element by itself: quantization, activations, arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from neuralart_virtual.npu.software.tensors import IN, OUT, Array, Kernel


def dequantize(kernel: Kernel) -> None:
    """(x - zero point) * scale, in single precision."""
    x = kernel.view(IN)
    scale, zero = kernel.quantization("i", x.dtype.itemsize)
    kernel.write_reals((x.astype(np.int64) - zero).astype(np.float32) * scale)


def quantize(kernel: Kernel) -> None:
    """x / scale, rounded half to even, plus the zero point."""
    x = kernel.view(IN, "<f4")
    scale, zero = kernel.quantization("o", kernel.view(OUT).dtype.itemsize)
    kernel.same_size(x)
    kernel.write_steps(np.rint(np.nan_to_num(x / scale, posinf=1e9, neginf=-1e9)) + zero)


def requantize(kernel: Kernel) -> None:
    """From one scale and zero point to another ones, rounded half away from zero."""
    x, (scale, zero), (out_scale, out_zero) = kernel.quantized_ends()
    kernel.same_size(x)
    kernel.write_steps(_rounded((x.astype(np.float64) - zero) * (scale.astype(np.float64) / out_scale)) + out_zero)


def _rounded(values: Array) -> Array:
    """To the nearest, ties away from zero."""
    return np.asarray(np.trunc(values + np.copysign(0.5, values)))


def _sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def _of_x(function: Callable[[Array], Array], x: Array, parameters: dict[str, Any]) -> Array:
    return function(x)


# Functions of x alone, as NumPy calls them.
_OF_X = "abs exp log sqrt ceil floor sign sin cos tan sinh cosh tanh"
_INVERSE = "arcsin arccos arctan arcsinh arccosh arctanh"
# By general.type, behind LL_SW_: of x, alpha, beta, gamma, min, max.
ACTIVATIONS: dict[str, Callable[[Array, dict[str, Any]], Array]] = {
    "RELU": lambda x, p: np.maximum(x, 0),
    "PRELU": lambda x, p: np.where(x < 0, x * p["alpha"], x),
    "THRESHOLDEDRELU": lambda x, p: np.where(x > p["alpha"], x, 0),
    "ELU": lambda x, p: np.where(x < 0, p["alpha"] * np.expm1(np.minimum(x, 0)), x),
    "SELU": lambda x, p: p["gamma"] * np.where(x < 0, p["alpha"] * np.expm1(np.minimum(x, 0)), x),
    "SIGMOID": lambda x, p: _sigmoid(x),
    "HARDSIGMOID": lambda x, p: np.clip(x * p["alpha"] + p["beta"], 0, 1),
    "HARDSWISH": lambda x, p: x * np.clip(x / 6 + 0.5, 0, 1),
    "SWISH": lambda x, p: x * _sigmoid(x),
    "SOFTPLUS": lambda x, p: np.logaddexp(x, 0),
    "SOFTSIGN": lambda x, p: x / (1 + np.abs(x)),
    "CLIP": lambda x, p: np.clip(x, p["min"], p["max"]),
    "NEG": lambda x, p: -x,
    "RECIPROCAL": lambda x, p: 1 / x,
    "ROUND": lambda x, p: np.rint(x),
    "ERF": lambda x, p: np.vectorize(math.erf, otypes=[np.float64])(x),
    **{name.upper(): partial(_of_x, getattr(np, name)) for name in _OF_X.split()},
    **{f"A{name[3:].upper()}": partial(_of_x, getattr(np, name)) for name in _INVERSE.split()},
}

ARITHMETIC: dict[str, Callable[[Array, Array], Array]] = {
    "ARITHADD": np.add,
    "ARITHSUM": np.add,
    "ARITHSUB": np.subtract,
    "ARITHMUL": np.multiply,
    "ARITHDIV": np.divide,
    "POW": np.power,
    "MIN": np.minimum,
    "MAX": np.maximum,
    "MOD": np.mod,
    "EQUAL": np.equal,
    "GREATER": np.greater,
    "LESS": np.less,
    "GREATEROREQUAL": np.greater_equal,
    "LESSOREQUAL": np.less_equal,
    "AND": np.logical_and,
    "OR": np.logical_or,
    "XOR": np.logical_xor,
}


def _function(kernel: Kernel, table: dict[str, Any]) -> Any:
    name = kernel.info.members.get("general.type", "").removeprefix("LL_SW_")
    if name not in table:
        kernel.fail(f"has the type '{name[:40]}', which is not modeled")
    return table[name]


def activation(kernel: Kernel) -> None:
    """A function of each element in single precision."""
    function = _function(kernel, ACTIVATIONS)
    x = kernel.view(IN, "<f4")
    kernel.same_size(x)
    parameters: dict[str, Any] = {name: kernel.real(name) for name in ("alpha", "beta", "gamma", "min", "max")}
    if kernel.has("operand"):
        # There may be more slopes than channels: the first ones count.
        parameters["alpha"] = kernel.view("operand", "<f4")[..., : x.shape[3]]
    kernel.write_reals(function(x, parameters))


def activation_integer(kernel: Kernel) -> None:
    """The same of quantized elements, by real numbers in between."""
    function = _function(kernel, ACTIVATIONS)
    parameters: dict[str, Any] = {name: kernel.real(name) for name in ("alpha", "beta", "gamma", "min", "max")}
    _by_reals(kernel, lambda x: function(x, parameters))


def _by_reals(kernel: Kernel, function: Callable[[Array], Array]) -> None:
    x, (scale, zero), (out_scale, out_zero) = kernel.quantized_ends()
    result = function((x.astype(np.float64) - zero) * scale.astype(np.float64))
    kernel.write_steps(_rounded(np.nan_to_num(result / out_scale.astype(np.float64))) + out_zero)


def batch_normalization(kernel: Kernel) -> None:
    """(x - mean) / sqrt(variance) * scale + bias in single precision, one of each per channel.

    The call has no epsilon: the compiler has added it to the variance.
    """
    x = kernel.view(IN, "<f4")
    kernel.same_size(x)
    constants = {name: kernel.flat(name, "<f4") for name in ("mean", "var", "scale", "bias")}
    for name, values in constants.items():
        if len(values) != x.shape[3]:
            kernel.fail(f"has {len(values)} numbers in {name} for {x.shape[3]} channels")
    result = (x - constants["mean"]) / np.sqrt(constants["var"]) * constants["scale"]
    kernel.write_reals(result + constants["bias"])


def arithmetic(kernel: Kernel) -> None:
    """Two or more tensors in single precision, the smaller ones repeated along axes of size 1."""
    function = _function(kernel, ARITHMETIC)
    result = kernel.view(IN, "<f4")
    for name in ("operand", "operand1", "operand2"):
        if kernel.has(name):
            result = _broadcast(kernel, function, result, kernel.view(name, "<f4"))
    kernel.write_reals(result)


def arithmetic_integer(kernel: Kernel) -> None:
    """Two quantized tensors, by real numbers in between."""
    function = _function(kernel, ARITHMETIC)
    other = kernel.view("operand")
    scale = kernel.flat("operand_s", "<f4").astype(np.float64)
    kind = other.dtype if kernel.has("operand_zp") else np.dtype("<i1")
    zero = kernel.flat("operand_zp", kind).astype(np.int64) if kernel.has("operand_zp") else 0
    second = (other.astype(np.float64) - zero) * scale
    _by_reals(kernel, lambda x: _broadcast(kernel, function, x, second))


def _broadcast(kernel: Kernel, function: Any, first: Array, second: Array) -> Array:
    try:
        result: Array = function(first, second)
    except ValueError:
        kernel.fail(f"has operands of the shapes {first.shape} and {second.shape}")
    return result
