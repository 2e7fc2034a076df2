"""``N.c``: layers, tables and the functions of the legacy API, without data of the weights or a date; ``N.h`` too."""

from __future__ import annotations

from neuralart.network.facts import NEURALART_VERSION
from neuralart.text.c_values import EXTERN_C, EXTERN_C_END, string
from neuralart_reference.cpu.cpu_network import Array, CpuNetwork, PortView, views
from neuralart_reference.emit.ctext import array, in_comment, single
from neuralart_reference.emit.epochs_c import arguments, declarations, node_name, reset_state
from neuralart_reference.emit.network_c import BANNER_END, version_guard
from neuralart_reference.ir import Arg, Call, TensorArg

# ``N.c``: where every array is, and the layers, one kernel call each ------------------------------------------------


def array_variables(network: CpuNetwork) -> str:
    """A variable for each array."""
    names = [array.name for array in (*network.activations.values(), *network.constants.values())]
    return "".join(f"static na_array_t {name};\n" for name in names)


def reset_head(name: str) -> str:
    """The function that begins a new stream: a network with variables has it, and calls it when it is initialized."""
    return f"void ai_{name}_reset_state(void)"


def _state(network: CpuNetwork, tensor: int) -> str:
    return _pointer(network.activations["tensor", network.emission.program.root(tensor)], 0, "uint8_t", written=True)


def configure(network: CpuNetwork) -> str:
    """The functions that set these variables when buffers are given."""

    def lines(arrays: list[Array], table: str) -> str:
        placed = [array for array in arrays if array.number]
        text = "".join(
            f"  {array.name}.data = AI_PTR({table}[{array.number - 1}] + {array.offset});\n" for array in placed
        )
        return text or f"  (void){table};\n"

    name = network.name
    activations, weights = f"g_{name}_activations_map", f"g_{name}_weights_map"
    reset = reset_state(network.emission, reset_head(name), lambda tensor: _state(network, tensor))
    begun = f"  ai_{name}_reset_state();\n" if reset else ""
    return (
        f"static ai_ptr {activations}[{max(1, len(network.activation_sizes))}];\n"
        f"static ai_ptr {weights}[{len(network.weights)}];\n\n"
        f"{reset}static void {name}_configure_activations(void)\n{{\n"
        f"{lines(list(network.activations.values()), activations)}{begun}}}\n\n"
        f"static void {name}_configure_weights(void)\n{{\n{lines(list(network.constants.values()), weights)}}}\n"
    )


def _pointer(array: Array, offset: int, ctype: str, *, written: bool = False) -> str:
    const = "" if written else "const "
    place = f"({array.name}.data + {offset})" if offset else f"{array.name}.data"
    return f"({const}{ctype} *){place}"


def layer_name(network: CpuNetwork, epoch: int) -> str:
    """The C function of a layer."""
    return f"{network.name}_layer_{epoch}"


def _layer(network: CpuNetwork, epoch: int, call: Call) -> str:
    emission = network.emission

    def place(number: int, arg: Arg) -> str:
        key = emission.plan.constant_of.get((epoch, number))
        if key is not None:
            offset = arg.offset if isinstance(arg, TensorArg) else 0
            return _pointer(network.constants[key], offset, getattr(arg, "ctype", "uint8_t"))
        assert isinstance(arg, TensorArg)
        array = network.activations["tensor", emission.program.root(arg.tensor)]
        offset = emission.program.offset(arg.tensor) + arg.offset
        return _pointer(array, offset, arg.ctype, written=arg.written)

    working = ""
    if call.scratch:
        working = _pointer(network.activations["scratch", epoch], 0, "void", written=True)
    words, structs = arguments(call, place, working)
    return (
        f"/* {in_comment(call.kind)} {node_name(emission, call)} */\n"
        f"static void {layer_name(network, epoch)}(void)\n{{\n{declarations(structs)}"
        f"  {call.kernel}(\n    " + ",\n    ".join(words) + ");\n}\n"
    )


def layers(network: CpuNetwork) -> str:
    """All layers, and the table of them."""
    calls = network.emission.program.calls
    parts = [_layer(network, epoch, call) for epoch, call in enumerate(calls)]
    rows = "".join(f"  {layer_name(network, epoch)},\n" for epoch in range(len(calls)))
    # A network whose outputs are its inputs has no layers, and C has no empty arrays.
    parts.append(f"static void (*const {network.name}_layers[])(void) = {{\n{rows}  NULL,\n}};\n")
    return "\n".join(parts)


# ---------------------------------------------------------------------------------------------------------------------


def banner(network: CpuNetwork, file: str) -> str:
    """The first comment of a file. Equal inputs give equal bytes."""
    options = "".join(f" * --{name} = {value}\n" for name, value in network.emission.options)
    return (
        f"/*\n * {file} of network {network.name}, made by the neuralart reference compiler for the CPU. Do not edit: "
        f"changes are lost.\n *\n * Command Line options:\n{options}{BANNER_END}"
    )


def guarded(network: CpuNetwork, file: str, lines: list[str]) -> str:
    """A header."""
    guard = file.upper().replace(".", "_")
    return "\n".join([f"{banner(network, file)}#ifndef {guard}", f"#define {guard}", "", *lines, "", "#endif", ""])


def _head(network: CpuNetwork) -> str:
    name = network.name
    return (
        f'#include "{name}.h"\n#include "{name}_data.h"\n\n'
        '#include "legacy_network.h"\n#include "ll_aton_version.h"\n#include "neuralart_kernels.h"\n\n'
        f"#if {version_guard()}\n"
        '#  error "Possible mismatch of the runtime that this network is made for"\n'
        "#endif\n"
    )


def _buffers(network: CpuNetwork, kind: str) -> str:
    """Tables of the inputs or outputs."""
    ports = views(network, kind)
    text = []
    for port in ports:
        text.append(f"static const ai_u32 {_part(network, kind, port, 'shape')}[] = {{ {array(port.shape)} }};\n")
        quantization = port.quantization
        if quantization is not None:
            scales = array([single(scale) for scale in quantization.scales], 6)
            scale, zero = (_part(network, kind, port, part) for part in ("scale", "zeropoint"))
            text.append(f"static const ai_float {scale}[] = {{ {scales} }};\n")
            text.append(f"static const ai_i32 {zero}[] = {{ {array(quantization.zero_points)} }};\n")
            text.append(
                f"static const ai_buffer_meta_info {_part(network, kind, port, 'meta')} = "
                f"{{ {len(quantization.scales)}, {scale}, {zero} }};\n"
            )
    rows = "".join(_buffer(network, kind, port) for port in ports)
    places = "".join(
        f"  {{ &{port.array.name}, {port.offset}, {port.tensor.bytes}, {str(port.provided).lower()} }},\n"
        for port in ports
    )
    return (
        f"{''.join(text)}\nstatic ai_buffer {network.name}_{kind}_buffers[] = {{\n{rows}}};\n"
        f"static const na_port_t {network.name}_{kind}_ports[] = {{\n{places}}};\n"
    )


def _part(network: CpuNetwork, kind: str, port: PortView, part: str) -> str:
    return f"{network.name}_{kind}_{port.number}_{part}"


def _buffer(network: CpuNetwork, kind: str, port: PortView) -> str:
    meta = f"&{_part(network, kind, port, 'meta')}" if port.quantization is not None else "NULL"
    shape = f"{{ AI_SHAPE_DIMENSIONS, {_part(network, kind, port, 'shape')} }}"
    return (
        f"  /* {in_comment(port.tensor.name)} */\n"
        f"  {{ {port.format}, AI_HANDLE_NULL, {meta}, AI_FLAG_NONE, {port.elements}, {shape} }},\n"
    )


def _instance(network: CpuNetwork) -> str:
    name, macro = network.name, network.macro
    activations = network.activation_sizes
    macc = sum(call.macc for call in network.emission.program.calls)
    fields = (
        ("name", f"{macro}_MODEL_NAME"),
        ("signature", f"{macro}_MODEL_SIGNATURE"),
        ("macc", str(macc)),
        ("layers", f"{name}_layers"),
        ("layer_count", f"{macro}_N_NODES"),
        ("activations", f"g_{name}_activations_map"),
        ("activation_sizes", f"{name}_activation_sizes"),
        ("activation_count", f"{macro}_DATA_ACTIVATIONS_COUNT"),
        ("configure_activations", f"{name}_configure_activations"),
        ("weights", f"g_{name}_weights_map"),
        ("weight_sizes", f"{name}_weight_sizes"),
        ("weight_count", f"{macro}_DATA_WEIGHTS_COUNT"),
        ("weights_table", f"g_{name}_weights_table"),
        ("configure_weights", f"{name}_configure_weights"),
        ("inputs", f"{name}_input_ports"),
        ("outputs", f"{name}_output_ports"),
        ("input_buffers", f"{name}_input_buffers"),
        ("output_buffers", f"{name}_output_buffers"),
        ("input_count", f"{macro}_IN_NUM"),
        ("output_count", f"{macro}_OUT_NUM"),
    )
    rows = "".join(f"  .{member} = {value},\n" for member, value in fields)
    return (
        f"static const ai_u32 {name}_activation_sizes[] = "
        f"{{ {array(activations) or '0 /* none */'} }};\n"
        f"static const ai_u32 {name}_weight_sizes[] = {{ {array([each.size for each in network.weights])} }};\n\n"
        f"static const na_network_t {name}_network = {{\n{rows}}};\n\n"
        f"static na_instance_t {name}_instance = {{ .network = &{name}_network }};\n"
    )


# Result, name, parameters, and what of them the runtime's function of the same name gets.
_FUNCTIONS = (
    ("ai_error ", "get_error", "ai_handle network", "network"),
    ("ai_error ", "create", "ai_handle *network, const ai_buffer *config", "network"),
    (
        "ai_error ",
        "create_and_init",
        "ai_handle *network, const ai_handle activations[], const ai_handle weights[]",
        "network, activations, weights",
    ),
    ("ai_bool ", "init", "ai_handle network, const ai_network_params *params", "network, params"),
    ("ai_handle ", "destroy", "ai_handle network", "network"),
    ("ai_bool ", "get_report", "ai_handle network, ai_network_report *report", "network, report"),
    ("ai_bool ", "get_info", "ai_handle network, ai_network_report *report", "network, report"),
    ("ai_buffer *", "inputs_get", "ai_handle network, ai_u16 *n_buffer", "network, n_buffer"),
    ("ai_buffer *", "outputs_get", "ai_handle network, ai_u16 *n_buffer", "network, n_buffer"),
    ("ai_i32 ", "run", "ai_handle network, const ai_buffer *input, ai_buffer *output", "network, input, output"),
    ("ai_i32 ", "forward", "ai_handle network, const ai_buffer *input", "network, input, NULL"),
)
_SERVED_BY = {"get_info": "get_report", "forward": "run"}


def _heads(name: str) -> list[str]:
    return [f"{result}ai_{name}_{function}({words})" for result, function, words, _ in _FUNCTIONS]


def _functions(name: str) -> str:
    parts = []
    for head, (_, function, words, given) in zip(_heads(name), _FUNCTIONS, strict=True):
        unused = "  (void)config;\n" if "config" in words else ""
        call = f"na_network_{_SERVED_BY.get(function, function)}(&{name}_instance, {given})"
        parts.append(f"{head}\n{{\n{unused}  return {call};\n}}\n")
    return "\n".join(parts)


def network_c(network: CpuNetwork) -> str:
    """The text of ``N.c``."""
    parts = (
        banner(network, f"{network.name}.c"),
        _head(network),
        array_variables(network),
        configure(network),
        layers(network),
        _buffers(network, "input"),
        _buffers(network, "output"),
        _instance(network),
        _functions(network.name),
    )
    return "\n".join(part for part in parts if part)


def _port_macros(prefix: str, port: PortView) -> list[str]:
    _batch, height, width, channels = port.shape
    name = f"{prefix}_{port.number}"
    return [
        f"/* {in_comment(port.tensor.name)} */",
        f"#define {name}_FORMAT     {port.format}",
        f"#define {name}_HEIGHT     ({height})",
        f"#define {name}_WIDTH      ({width})",
        f"#define {name}_CHANNEL    ({channels})",
        f"#define {name}_SIZE       ({port.elements})",
        f"#define {name}_SIZE_BYTES ({port.tensor.bytes})",
        "",
    ]


def network_h(network: CpuNetwork) -> str:
    """``N.h``: shapes and sizes of inputs and outputs, and the functions."""
    macro = network.macro
    lines = [
        f'#include "{network.name}_config.h"',
        '#include "ai_platform.h"',
        "",
        f"#define {macro}_MODEL_NAME {string(network.name)}",
        f"#define {macro}_ORIGIN_MODEL_NAME {string(network.emission.model.stem)}",
        f"#define {macro}_N_NODES ({len(network.emission.program.calls)})",
        "",
    ]
    for kind, short in (("input", "IN"), ("output", "OUT")):
        ports = views(network, kind)
        lines.append(f"#define {macro}_{short}_NUM ({len(ports)})")
        if not any(port.provided for port in ports):
            lines.append(f"#define {macro}_{kind.upper()}S_IN_ACTIVATIONS ({len(ports)})")
        sizes = ", ".join(f"{macro}_{short}_{port.number}_SIZE_BYTES" for port in ports)
        lines += [f"#define {macro}_{short}_SIZE_BYTES {{ {sizes} }}", ""]
        for port in ports:
            lines += _port_macros(f"{macro}_{short}", port)
    heads = [*_heads(network.name), *([reset_head(network.name)] if network.emission.program.states else [])]
    declared = [*EXTERN_C, "", *(f"{head};" for head in heads), "", *EXTERN_C_END]
    return guarded(network, f"{network.name}.h", [*lines, *declared])


def config_h(network: CpuNetwork, stamp: str) -> str:
    """``N_config.h``: by what the network was made, and which network it is."""
    version = [
        f"#define AI_TOOLS_VERSION_{part} {number}"
        for part, number in zip(("MAJOR", "MINOR", "MICRO"), NEURALART_VERSION, strict=False)
    ]
    lines = [
        # Several networks of one program say the same.
        "#ifndef AI_TOOLS_VERSION_MAJOR",
        *version,
        "#endif",
        "",
        f'#define {network.macro}_MODEL_SIGNATURE "0x{stamp}"',
        f'#define {network.macro}_ABI_STAMP "{stamp}"',
    ]
    return guarded(network, f"{network.name}_config.h", lines)
