"""Values as C text, and any text made harmless inside C."""

from __future__ import annotations

from collections.abc import Sequence

from neuralart.text.c_values import PLAIN

_COMMENT = PLAIN - frozenset(" ")

# dtype -> (enumerator of Buffer_DataType_TypeDef, bits, unsigned, C element type)
DATA_TYPES: dict[str, tuple[str, int, int, str]] = {
    "int8": ("DataType_INT8", 8, 0, "int8_t"),
    "uint8": ("DataType_UINT8", 8, 1, "uint8_t"),
    "bool": ("DataType_UINT8", 8, 1, "uint8_t"),
    "int16": ("DataType_INT16", 16, 0, "int16_t"),
    "uint16": ("DataType_UINT16", 16, 1, "uint16_t"),
    "int32": ("DataType_INT32", 32, 0, "int32_t"),
    "int64": ("DataType_INT64", 64, 0, "int64_t"),
    "float32": ("DataType_FLOAT", 32, 0, "float"),
    # DataType_FLOAT is the 4-byte float to every reader.
    "float64": ("DataType_UNDEFINED", 64, 0, "double"),
}
_UNDEFINED = ("DataType_UNDEFINED", 8, 0, "uint8_t")
_OF_CTYPE = {entry[3]: name for name, entry in DATA_TYPES.items() if name != "bool"}


def data_type(dtype: str) -> tuple[str, int, int, str]:
    """Enumerator, bits, unsigned and C type of a tensor's dtype."""
    return DATA_TYPES.get(dtype, _UNDEFINED)


def dtype_of_ctype(ctype: str) -> str:
    """The tensor dtype of a C element type; empty if there is none."""
    return _OF_CTYPE.get(ctype, "")


def in_comment(text: str) -> str:
    """A name inside a comment, without blanks: it can end neither the comment nor the word."""
    return "".join(char if char in _COMMENT else "_" for char in text) or "_"


def single(value: float) -> str:
    """A float32 value as a C constant (15 digits, as the vendor's doubles: more than a float32 needs)."""
    text = f"{value:.15g}"
    return f"{text}f" if any(char in text for char in ".e") else f"{text}.0f"


def array(values: Sequence[object], per_line: int = 12) -> str:
    """The inside of an initializer list, in lines."""
    rows = [values[at : at + per_line] for at in range(0, len(values), per_line)]
    return ",\n    ".join(", ".join(str(value) for value in row) for row in rows)


def kilobytes(size: int) -> str:
    """A size as pool comments show it: ``256 B``, ``105.98 KB``, ``1.00 MB``."""
    if size < 1024:
        return f"{size} B"
    return f"{size / 1024:.2f} KB" if size < 1 << 20 else f"{size / (1 << 20):.2f} MB"
