"""``N.c``: where every array is, and the layers, one kernel call each."""

from __future__ import annotations

from neuralart.compilers.reference.cpu.cpu_network import Array, CpuNetwork
from neuralart.compilers.reference.emit.ctext import in_comment
from neuralart.compilers.reference.emit.epochs_c import arguments, declarations
from neuralart.compilers.reference.ir import Arg, Call, TensorArg


def array_variables(network: CpuNetwork) -> str:
    """A variable for each array."""
    names = [array.name for array in (*network.activations.values(), *network.constants.values())]
    return "".join(f"static na_array_t {name};\n" for name in names)


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
    return (
        f"static ai_ptr {activations}[{max(1, len(network.activation_sizes))}];\n"
        f"static ai_ptr {weights}[{len(network.weights)}];\n\n"
        f"static void {name}_configure_activations(void)\n{{\n"
        f"{lines(list(network.activations.values()), activations)}}}\n\n"
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
    written = call.writes[0] if call.writes else call.reads[0] if call.reads else None
    node = in_comment(emission.tensor(written).name) if written is not None else call.kind
    body = declarations(structs)
    return (
        f"/* {in_comment(call.kind)} {node} */\n"
        f"static void {layer_name(network, epoch)}(void)\n{{\n{body}"
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
