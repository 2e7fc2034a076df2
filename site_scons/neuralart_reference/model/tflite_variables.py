"""Resource variables of a TensorFlow Lite file: tensors that keep their value from one inference to the next.

In the file they are handles, made by VAR_HANDLE in every graph that uses one, by name. Another graph, which CALL_ONCE
runs before the first inference, assigns their first values. Here a variable becomes a tensor, the handle of its first
use, and of these operators only READ_VARIABLE (of it) and ASSIGN_VARIABLE (to it) remain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from neuralart.errors import NeuralArtError
from neuralart_reference.model.graph import Model, Operator
from neuralart_reference.model.tflite_operators import quoted

CALL_ONCE = "CALL_ONCE"
_HANDLE = "resource"


def with_variables(model: Model, graph: Callable[[int], Model]) -> Model:
    """Turn handles into tensors; the model itself if there are none. ``graph`` gives a further graph by its number.
    Raises NeuralArtError when a handle is used in another way, a variable changes its shape, or its first value is not
    one byte again and again (as zeros are).
    """
    tensors, operators = list(model.tensors), []
    names: dict[int, str] = {}  # handle -> name of the variable
    variables: dict[str, int] = {}  # name -> tensor
    first: dict[str, int] = {}  # name -> each byte of its first value
    for op in model.operators:
        where = f"{model.path}: operator {op.index} ({op.kind})"
        if op.kind == CALL_ONCE:
            first |= _first_values(graph(int(op.options["init_subgraph_index"])), where)
        elif op.kind == "VAR_HANDLE":
            names |= dict.fromkeys(op.outputs, _name(op))
            for number in op.outputs:
                variables.setdefault(names[number], number)
        elif op.kind in ("READ_VARIABLE", "ASSIGN_VARIABLE"):
            handle, given = (*op.inputs, -1, -1)[:2]
            value = op.outputs[0] if op.kind == "READ_VARIABLE" and op.outputs else given
            if value < 0 or handle not in names:
                raise NeuralArtError("no VAR_HANDLE, or no value", where=where, hint="is the file damaged?")
            number, held = variables[names[handle]], tensors[value]
            if tensors[number].dtype == _HANDLE:
                tensors[number] = replace(held, index=number, name=names[number], data=None, signature=None)
            elif (tensors[number].dtype, tensors[number].shape) != (held.dtype, held.shape):
                what = f"variable {quoted(names[number])} has another type or shape here than before"
                raise NeuralArtError(what, where=where)
            operators.append(replace(op, inputs=(number, *op.inputs[1:])))
        elif any(number in names for number in op.inputs):
            raise NeuralArtError("a variable's handle is an input", where=where, hint="it is for READ_VARIABLE alone")
        else:
            operators.append(op)
    if len(operators) == len(model.operators):
        return model
    states = {number: first.get(name, 0) for name, number in variables.items() if tensors[number].dtype != _HANDLE}
    states |= model.states
    return replace(model, tensors=tuple(tensors), operators=tuple(operators), states=states)


def _name(op: Operator) -> str:
    return "/".join(str(op.options[part]) for part in ("container", "shared_name") if op.options[part])


def _first_values(graph: Model, where: str) -> Mapping[str, int]:
    """Name -> the byte that the variable's first value is made of."""
    names: dict[int, str] = {}
    found: dict[str, int] = {}
    for op in graph.operators:
        if op.kind == "VAR_HANDLE":
            names |= dict.fromkeys(op.outputs, _name(op))
            continue
        assigned = op.kind == "ASSIGN_VARIABLE" and len(op.inputs) == 2 and op.inputs[1] in range(len(graph.tensors))
        data = graph.tensors[op.inputs[1]].data if assigned else None
        if data is None or op.inputs[0] not in names:
            raise NeuralArtError(f"{op.kind} in the graph that it runs: only constants are assigned there", where=where)
        if len(set(data)) > 1:
            what = f"variable {quoted(names[op.inputs[0]])} begins with different values"
            raise NeuralArtError(what, where=where, hint="supported: bytes that are all equal, as those of zeros")
        found[names[op.inputs[0]]] = data[0]
    return found
