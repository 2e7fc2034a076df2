"""Resource variables of a TensorFlow Lite file: tensors that keep their value from one inference to the next.

In the file they are handles, made by VAR_HANDLE in every graph that uses one, by name. Another graph, which CALL_ONCE
runs before the first inference, assigns their first values. Here a variable becomes a tensor, the handle of its first
use, and of these operators only READ_VARIABLE (of it) and ASSIGN_VARIABLE (to it) remain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from neuralart.errors import NeuralArtError
from neuralart.model.graph import Model, Operator

RESOURCE = "resource"
"""The type of a handle."""
CALL_ONCE = "CALL_ONCE"


def with_variables(model: Model, graph: Callable[[int], Model]) -> Model:
    """Turn handles into tensors; the model itself if there are none.

    ``graph`` gives a further graph by its number. Raises NeuralArtError when a handle is used
    in another way, a variable changes its shape, or its first value is not one byte again and again (as zeros are).
    """
    tensors, operators = list(model.tensors), []
    names: dict[int, str] = {}  # handle -> name of the variable
    variables: dict[str, int] = {}  # name -> tensor
    first: dict[str, int] = {}  # name -> each byte of its first value

    def fail(op: Operator, what: str, hint: str = "") -> NeuralArtError:
        return NeuralArtError(what, where=f"{model.path}: operator {op.index} ({op.kind})", hint=hint)

    for op in model.operators:
        if op.kind == CALL_ONCE:
            first |= _first_values(graph(int(op.options["init_subgraph_index"])), lambda what, op=op: fail(op, what))
        elif op.kind == "VAR_HANDLE":
            names |= dict.fromkeys(op.outputs, _name(op))
            for number in op.outputs:
                variables.setdefault(names[number], number)
        elif op.kind in ("READ_VARIABLE", "ASSIGN_VARIABLE"):
            value = (op.outputs if op.kind == "READ_VARIABLE" else op.inputs[1:])[:1]
            if not value or value[0] < 0 or op.inputs[:1] == () or op.inputs[0] not in names:
                raise fail(op, "there is no VAR_HANDLE, or no value, of this variable", "is the file damaged?")
            name, held = names[op.inputs[0]], tensors[value[0]]
            number = variables[name]
            if tensors[number].dtype == RESOURCE:
                tensors[number] = replace(held, index=number, name=name, data=None, signature=None)
            elif (tensors[number].dtype, tensors[number].shape) != (held.dtype, held.shape):
                raise fail(op, f"variable '{name}' has another type or shape here than before")
            operators.append(replace(op, inputs=(number, *op.inputs[1:])))
        elif any(number in names for number in op.inputs):
            raise fail(op, f"a variable's handle is used by {op.kind}", "supported: READ_VARIABLE and ASSIGN_VARIABLE")
        else:
            operators.append(op)
    states = {number: first.get(name, 0) for name, number in variables.items() if tensors[number].dtype != RESOURCE}
    if len(operators) == len(model.operators):
        return model
    return replace(model, tensors=tuple(tensors), operators=tuple(operators), states=states)


def _name(op: Operator) -> str:
    return "/".join(str(op.options[part]) for part in ("container", "shared_name") if op.options[part])


def _first_values(graph: Model, fail: Callable[[str], NeuralArtError]) -> Mapping[str, int]:
    """Name -> the byte that the variable's first value is made of."""
    names: dict[int, str] = {}
    found: dict[str, int] = {}
    for op in graph.operators:
        if op.kind == "VAR_HANDLE":
            names |= dict.fromkeys(op.outputs, _name(op))
            continue
        data = graph.tensors[op.inputs[1]].data if op.kind == "ASSIGN_VARIABLE" and len(op.inputs) == 2 else None
        if data is None or op.inputs[0] not in names:
            raise fail(f"the graph that it runs has {op.kind}: only constants are assigned to variables there")
        if len(set(data)) > 1:
            raise fail(f"variable '{names[op.inputs[0]]}' begins with different values: only equal ones are supported")
        found[names[op.inputs[0]]] = data[0]
    return found
