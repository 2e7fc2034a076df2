"""The three buffer tables of network.c."""

from __future__ import annotations

from collections.abc import Sequence

from neuralart.compilers.reference.emit import rows as build
from neuralart.compilers.reference.emit.ctext import array, data_type, single, string
from neuralart.compilers.reference.emit.emission import Emission, user_symbol
from neuralart.compilers.reference.emit.rows import Row

_CHPOS = {"L": "CHPos_Last", "F": "CHPos_First", "U": "CHPos_UNDEFINED"}
_EXCLUDED = "#if LL_ATON_DBG_BUFFER_INFO_EXCLUDED == 0\n"


def _shape_name(row: Row) -> str:
    return "buff_info__shape_" + "_".join(map(str, row.onnx_order))


def _memory_name(row: Row) -> str:
    return f"buff_info__mem_shape_{row.letter}_" + "_".join(map(str, row.memory))


def _declare(rows: Sequence[Row], tag: str, seen: set[str]) -> str:
    """Arrays that rows refer to and that do not exist yet; rows are numbered with a tag."""
    text = []
    for number, row in enumerate(rows):
        for name, values in ((_shape_name(row), row.shape), (_memory_name(row), row.memory)):
            if name not in seen:
                seen.add(name)
                text.append(f"  static const uint32_t {name}[] = {{ {array(values)} }};\n")
        if row.quantization is not None:
            scales = array([single(scale) for scale in row.quantization.scales], 6)
            zeros = array(row.quantization.zero_points)
            text.append(f"  static const float {_quant(tag, number)}_scale[] = {{ {scales} }};\n")
            text.append(f"  static const int16_t {_quant(tag, number)}_offset[] = {{ {zeros} }};\n")
    return "".join(text)


def _quant(tag: str, number: int) -> str:
    return f"buff_info__{tag}_{number}_quant"


def _base(emission: Emission, row: Row) -> str:
    if row.owner is not None:
        return f"((unsigned char *)&{user_symbol(emission.name, *row.owner)})"
    assert row.plan is not None
    text = emission.base(row.plan)
    pointer = f"(unsigned char *)({text})"
    return pointer if row.plan.pool.relative else f"{pointer} /* Equivalent hex address = {text} */"


def _row(emission: Emission, row: Row, tag: str, number: int) -> str:
    enumerator, bits, unsigned, _ctype = data_type(row.dtype)
    integer = enumerator not in ("DataType_FLOAT", "DataType_UNDEFINED")
    fields = [
        ("name", string(row.name)),
        ("addr_base", f"{{{_base(emission, row)}}}"),
        ("offset_start", str(row.start)),
        ("offset_end", str(row.end)),
        ("offset_limit", str(row.limit)),
        ("is_user_allocated", str(int(row.owner is not None))),
        ("is_param", str(int(row.is_param))),
        ("epoch", str(row.epoch)),
        ("batch", str(row.shape[0] if len(row.shape) > 1 and not row.is_param else 1)),
        ("mem_shape", _memory_name(row)),
        ("mem_ndims", str(len(row.memory))),
        ("chpos", _CHPOS[row.letter]),
        ("Qm", str(bits - 1 + unsigned if integer else 0)),
        ("Qn", "0"),
        ("Qunsigned", str(unsigned)),
        ("type", enumerator),
        ("nbits", str(bits)),
        ("ndims", str(len(row.shape))),
        ("shape", _shape_name(row)),
    ]
    if row.quantization is not None:
        fields.append(("per_channel", str(int(row.quantization.per_channel))))
        fields.append(("scale", f"{_quant(tag, number)}_scale"))
        fields.append(("offset", f"{_quant(tag, number)}_offset"))
    return "    {\n" + "".join(f"      .{name} = {value},\n" for name, value in fields) + "    },\n"


def _rows(emission: Emission, rows: Sequence[Row], tag: str) -> str:
    return "".join(_row(emission, row, tag, number) for number, row in enumerate(rows))


def _function(emission: Emission, title: str, ports: Sequence[Row], params: Sequence[Row]) -> str:
    head = f"const LL_Buffer_InfoTypeDef *LL_ATON_{title}_Buffers_Info_{emission.name}(void)\n{{\n"
    tag = title.lower()
    seen: set[str] = set()
    arrays = _declare(ports, tag, seen)
    body = _rows(emission, ports, tag)
    if params:
        arrays += f"{_EXCLUDED}{_declare(params, 'param', seen)}#endif\n"
        body += f"{_EXCLUDED}{_rows(emission, params, 'param')}#endif\n"
    return (
        f"{head}{arrays}  static const LL_Buffer_InfoTypeDef buff_info[] = {{\n{body}"
        "    {\n      .name = NULL,\n    },\n  };\n\n  return buff_info;\n}\n"
    )


def tables(emission: Emission) -> str:
    """Input (with the weights behind the real inputs), output and internal tables."""
    inputs = _function(emission, "Input", build.port_rows(emission, "input"), build.constant_rows(emission))
    outputs = _function(emission, "Output", build.port_rows(emission, "output"), ())
    internal = build.internal_rows(emission) if emission.all_buffers else []
    if internal:
        last = _function(emission, "Internal", internal, ())
    else:
        head = f"const LL_Buffer_InfoTypeDef *LL_ATON_Internal_Buffers_Info_{emission.name}(void)"
        last = f"{head}\n{{\n  return NULL;\n}}\n"
    return "\n".join((inputs, outputs, last))
