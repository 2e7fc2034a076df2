"""``N.c``, the whole file in the order that tools expect, and ``N.h``: sizes and names as macros."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from neuralart.network.facts import NEURALART_VERSION
from neuralart.network.targets import relative_symbol
from neuralart.text.c_values import EXTERN_C, EXTERN_C_END, string
from neuralart_reference.emit import rows as build
from neuralart_reference.emit.ctext import array, data_type, in_comment, kilobytes, single
from neuralart_reference.emit.emission import TOOL, Emission, score, user_symbol
from neuralart_reference.emit.epochs_c import functions, pointer, reset_state, table
from neuralart_reference.emit.rows import Row
from neuralart_reference.planning.lifetimes import IO_ALIGN
from neuralart_reference.planning.planner import PoolPlan

INCLUDES = ("ll_aton_NN_interface.h", "ll_aton.h", "ll_aton_lib.h", "ll_aton_version.h", "ll_sw.h")
BANNER_END = " */\n"


def banner(emission: Emission) -> str:
    """The first comment. No version, date or folder: equal inputs give equal bytes."""
    options = "".join(f" * --{name} = {value}\n" for name, value in emission.options)
    version = ".".join(map(str, NEURALART_VERSION))
    return (
        "/*\n"
        f" * Network {emission.name}, made by the neuralart reference compiler. Do not edit: changes are lost.\n"
        " * Every epoch is software and runs on the CPU: no part is mapped to an NPU.\n"
        " *\n"
        ' * GIT_SHA         "none"\n'
        f' * GIT_BRANCH      "{TOOL}"\n'
        f' * GIT_DESCRIPTION "{TOOL}-runtime-{version}"\n'
        " *\n"
        " * Command Line options:\n"
        f"{options}{BANNER_END}"
    )


def version_guard() -> str:
    """A condition of the preprocessor: the runtime's version is another than this compiler writes for."""
    numbers = zip(("MAJOR", "MINOR", "MICRO", "DEV"), NEURALART_VERSION, strict=True)
    return " || ".join(f"LL_ATON_VERSION_{part} != {number}" for part, number in numbers)


def head() -> str:
    """Includes, guard, defaults."""
    includes = "".join(f'#include "{name}"\n' for name in INCLUDES)
    return (
        f"{includes}\n#if {version_guard()}\n"
        '#  error "Possible mismatch in ll_aton library used"\n'
        "#endif\n\n"
        "#if !defined(LL_ATON_DBG_BUFFER_INFO_EXCLUDED)\n"
        "#  define LL_ATON_DBG_BUFFER_INFO_EXCLUDED 0\n"
        "#endif\n"
    )


# Buffers that the application provides, and the start-up functions --------------------------------------------------


def _owned(emission: Emission, kind: str) -> list[tuple[int, int]]:
    """(index, bytes) of the ports of a kind whose buffer the application provides."""
    return [
        (index, emission.tensor(tensor).bytes)
        for index, tensor in enumerate(emission.port_tensors(kind))
        if emission.owner(tensor) is not None
    ]


def pointers(emission: Emission) -> str:
    """The variables that hold the application's buffers."""
    lines: list[str] = []
    number = len(emission.plan.pools) + len(emission.disabled())
    for kind in ("input", "output"):
        for index, size in _owned(emission, kind):
            tensor = emission.tensor(emission.port_tensors(kind)[index])
            symbol = user_symbol(emission.name, kind, index)
            lines.append(f"/* User {kind.capitalize()} allocated buffer (mempool {number}) size {size} */")
            lines.append(f"static unsigned char *{symbol} = NULL; /* tensor name {in_comment(tensor.name)} */")
            number += 1
    return "".join(f"{line}\n" for line in lines)


def _setter(emission: Emission, kind: str) -> str:
    title, owned = kind.capitalize(), _owned(emission, kind)
    head = (
        f"LL_ATON_User_IO_Result_t LL_ATON_Set_User_{title}_Buffer_{emission.name}"
        "(uint32_t num, void *buffer, uint32_t size)\n{\n"
    )
    if not owned:
        return head + "  (void)num;\n  (void)buffer;\n  (void)size;\n  return LL_ATON_User_IO_WRONG_INDEX;\n}\n"
    cases = "".join(
        f"  case {index}:\n"
        f"    if (size < {size}U) {{\n      return LL_ATON_User_IO_WRONG_SIZE;\n    }}\n"
        f"    {user_symbol(emission.name, kind, index)} = buffer;\n"
        "    return LL_ATON_User_IO_NOERROR;\n"
        for index, size in owned
    )
    return (
        f"{head}"
        "  if ((uintptr_t)buffer % LL_ATON_USER_IO_ALIGNMENT != 0) {\n    return LL_ATON_User_IO_WRONG_ALIGN;\n  }\n"
        f"  switch (num) {{\n{cases}  default:\n    return LL_ATON_User_IO_WRONG_INDEX;\n  }}\n}}\n"
    )


def _getter(emission: Emission, kind: str) -> str:
    title, owned = kind.capitalize(), _owned(emission, kind)
    head = f"void *LL_ATON_Get_User_{title}_Buffer_{emission.name}(uint32_t num)\n{{\n"
    if not owned:
        return f"{head}  (void)num;\n  return NULL;\n}}\n"
    cases = "".join(
        f"  case {index}:\n    return {user_symbol(emission.name, kind, index)};\n" for index, _size in owned
    )
    return f"{head}  switch (num) {{\n{cases}  default:\n    return NULL;\n  }}\n}}\n"


def reset_head(name: str) -> str:
    """The function that begins a new stream: a network with variables has it."""
    return f"void LL_ATON_Reset_State_{name}(void)"


def user_functions(emission: Emission) -> str:
    """Set/Get, and start-up: an inference is refused while the application owes a buffer."""
    name = emission.name
    owed = [user_symbol(name, kind, index) for kind in ("input", "output") for index, _ in _owned(emission, kind)]
    ready = " && ".join(f"{symbol} != NULL" for symbol in owed) or "true"
    parts = [make(emission, kind) for kind in ("input", "output") for make in (_setter, _getter)]

    def place(number: int) -> str:
        return pointer(emission, emission.address(number), emission.tensor(number).bytes, "uint8_t", written=True)

    reset = reset_state(emission, reset_head(name), place)
    parts += [reset] if reset else []
    begun = f"  LL_ATON_Reset_State_{name}();\n" if reset else ""
    parts.append(f"bool LL_ATON_EC_Network_Init_{name}(void)\n{{\n{begun}  return true;\n}}\n")
    parts.append(f"bool LL_ATON_EC_Inference_Init_{name}(void)\n{{\n  return {ready};\n}}\n")
    return "\n".join(parts)


# ---------------------------------------------------------------------------------------------------------------------

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
        ("epoch", str(row.written)),
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


# ---------------------------------------------------------------------------------------------------------------------


def _pool_lines(index: int, plan: PoolPlan) -> list[str]:
    pool, size = plan.pool, kilobytes(plan.used) if plan.used else "?"
    words = [
        f"index={index}",
        f"file postfix={plan.fname}",
        f"name={in_comment(plan.name)}",
        f"offset=0x{pool.address:08x} ",
        "relative_mode" if pool.mode == "USEMODE_RELATIVE" else "absolute_mode",
        f"size={plan.size}",
        *(["vpool"] if plan.parts else []),
        "READ_WRITE" if pool.writable else "READ_ONLY",
        f"THROUGHPUT={pool.throughput}",
        f"LATENCY={pool.latency}",
        f"byte width={pool.byte_width}",
        f"freq ratio={pool.freq_ratio:g}",
        "burst max length=MAXINT",
        "burst penalty=0",
        "pipelined=ON",
        f"cacheable={'ON' if pool.cacheable else 'OFF'}",
        f"read_power={pool.read_power:g}",
        f"write_power={pool.write_power:g}",
        f"use4initializers={'YES' if pool.constants_preferred or not pool.writable else 'NO'}",
        f"score={score(pool)} ",
    ]
    return [f"/* global pool {index} is {size} */", f"/* {' '.join(words)} */"]


def pool_comments(emission: Emission) -> str:
    """Two lines per pool: those in use order, virtual ones, disabled ones (size 0). The symbol of its base stands
    behind an enabled relative pool: tools count the two.
    """
    lines: list[str] = []
    for index, plan in enumerate((*emission.plan.pools, *emission.disabled())):
        lines += _pool_lines(index, plan)
        if plan.size and plan.pool.relative:
            name = relative_symbol(plan.fname, emission.name)
            lines.append(f"extern unsigned char {name}[]; /* {kilobytes(plan.used) if plan.used else '?'} */")
    return "\n".join(lines) + "\n"


# ---------------------------------------------------------------------------------------------------------------------


def network_c(emission: Emission) -> str:
    """The generated C: no data of the weights, no folder, no date."""
    parts = [
        banner(emission),
        head(),
        pool_comments(emission),
        pointers(emission),
        user_functions(emission),
        functions(emission),
        table(emission),
        tables(emission),
    ]
    return "\n".join(part for part in parts if part)


def abi_stamp(emission: Emission, text: str) -> str:
    """16 hex digits that change when code and initializers no longer belong together. A hash of the generated C without
    its first comment, and of base, size and extents of each pool.
    """
    body = text.partition(BANNER_END)[2]
    layout = "".join(
        f"{pool.fname} 0x{pool.address:08x} {pool.size} {pool.used} {pool.weights}\n" for pool in emission.plan.pools
    )
    return hashlib.sha256(f"{body}\n{layout}".encode()).hexdigest()[:16]


def _port_macros(emission: Emission, prefix: str, kind: str) -> list[str]:
    short = "IN" if kind == "input" else "OUT"
    tensors = emission.port_tensors(kind)
    lines = ["", f"#define {prefix}_{short}_NUM ({len(tensors)})"]
    for index, number in enumerate(tensors, start=1):
        tensor = emission.tensor(number)
        lines.append(f"/* {kind} {index}: {in_comment(tensor.name)} */")
        lines.append(f"#define {prefix}_{short}_{index}_ALIGNMENT ({IO_ALIGN})")
        lines.append(f"#define {prefix}_{short}_{index}_SIZE_BYTES ({tensor.bytes})")
    return lines


def network_h(emission: Emission) -> str:
    """The header."""
    prefix = f"LL_ATON_{emission.name.upper()}"
    lines = [
        f"/* Network {emission.name}: made by the neuralart reference compiler. */",
        f"#ifndef {prefix}_H",
        f"#define {prefix}_H",
        "",
        f"#define {prefix}_C_MODEL_NAME {string(emission.name)}",
        f"#define {prefix}_ORIGIN_MODEL_NAME {string(emission.model.stem)}",
    ]
    for kind in ("input", "output"):
        owned = _owned(emission, kind)
        if owned:
            lines.append(f"#define {prefix}_USER_ALLOCATED_{kind.upper()}S ({len(owned)})")
    if emission.program.states:
        lines += ["", *EXTERN_C, f"{reset_head(emission.name)};", *EXTERN_C_END]
    lines += _port_macros(emission, prefix, "input") + _port_macros(emission, prefix, "output")
    return "\n".join([*lines, "", "#endif", ""])
