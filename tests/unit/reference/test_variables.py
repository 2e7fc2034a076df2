"""Resource variables: how they are read, where they lie, how they begin, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuralart.compilers.request import BorderOptions, CompileRequest
from neuralart.errors import NeuralArtError
from neuralart_reference.compile import compile_network
from neuralart_reference.cpu import compile as cpu
from neuralart_reference.lower import lower
from neuralart_reference.model import tflite
from neuralart_reference.model.graph import Model
from neuralart_reference.planning.lifetimes import blocks
from neuralart_reference.planning.sharing import share
from support.models.streams import SHAPE, stream
from tflite_writer import ModelWriter

MPOOL = Path(__file__).parents[3] / "site_scons" / "neuralart" / "boards" / "data" / "pools" / "stm32n6570-dk.mpool"


def read(data: bytes) -> Model:
    return tflite.parse(data, "m.tflite", "m")


def test_handles_become_one_tensor() -> None:
    model = read(stream())
    assert [op.kind for op in model.operators] == ["READ_VARIABLE", "ASSIGN_VARIABLE", "MAXIMUM"]
    ((state, byte),) = model.states.items()
    assert (model.operators[0].inputs, model.operators[1].inputs) == ((state,), (state, model.inputs[0]))
    tensor = model.tensors[state]
    assert (tensor.name, tensor.shape, tensor.dtype, byte) == ("last", SHAPE, "int8", 0xFD)


def test_nothing_else_lies_in_a_variable() -> None:
    program = share(lower(read(stream()), BorderOptions()), inputs_writable=True)
    (state,) = program.states
    assert [call.kernel for call in program.calls] == ["na_copy_8", "na_copy_8", "na_maximum_s8"]
    (block,) = [block for block in blocks(program) if block.key == ("tensor", state)]
    assert (block.first, block.last, block.size) == (-1, len(program.calls), 5)


def test_first_value_of_uint8_is_turned() -> None:
    program = lower(read(stream("uint8", 7)), BorderOptions())
    assert [*program.states.values()] == [7 ^ 0x80]


def test_generated_code_resets(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(stream())
    made = compile_network(CompileRequest(model=path, mpool=MPOOL, name="n", report=False)).files
    text = made["n.c"].decode()
    reset = text.partition("void LL_ATON_Reset_State_n(void)\n")[2].partition("}\n")[0]
    assert reset.count("for (") == 1 and "*end = at + 5; at < end;) {\n    *at++ = 0xfd;\n" in reset
    assert "LL_ATON_Reset_State_n();\n  return true;" in text
    assert "\nvoid LL_ATON_Reset_State_n(void);\n" in made["n.h"].decode()
    made = cpu.compile_network(cpu.CpuRequest(model=path, name="n", target="stm32h7", report=False)).files
    text = made["n.c"].decode()
    assert "ai_n_reset_state();\n}" in text and "at + 5; at < end;) {\n    *at++ = 0xfd;\n  }\n}" in text
    assert "\nvoid ai_n_reset_state(void);\n" in made["n.h"].decode()


def different(writer: ModelWriter) -> None:
    """The handle is read as a tensor of another shape, too."""
    other = writer.tensor("other", (2, 5), "int8", 0.5, -4)
    writer.op("READ_VARIABLE", [3], [other])


def computed(writer: ModelWriter) -> None:
    once = writer.once()
    once.op("RELU", [1], [once.tensor("r", SHAPE, "int8", 0.5, -4)])


def shown(writer: ModelWriter) -> None:
    writer.op("RELU", [3], [writer.tensor("r", SHAPE, "int8", 0.5, -4)])


def unknown(writer: ModelWriter) -> None:
    writer.op("READ_VARIABLE", [0], [writer.tensor("r", SHAPE, "int8", 0.5, -4)])


def elsewhere(writer: ModelWriter) -> None:
    writer.op("CALL_ONCE", [], [], init_subgraph_index=2)


REFUSALS: list[tuple[bytes, str]] = [
    (stream(first=[1, 2, 3, 4, 5]), "operator 0 (CALL_ONCE): variable 'last' begins with different values"),
    (stream(change=different), "operator 6 (READ_VARIABLE): variable 'last' has another type or shape here"),
    (
        stream(change=computed),
        "operator 0 (CALL_ONCE): RELU in the graph that it runs: only constants are assigned there",
    ),
    (stream(change=shown), "operator 6 (RELU): a variable's handle is an input"),
    (stream(change=unknown), "operator 6 (READ_VARIABLE): no VAR_HANDLE, or no value"),
    (stream(change=elsewhere), "graph 2 is asked for, the model has 2"),
]


@pytest.mark.parametrize(("data", "message"), REFUSALS, ids=[message[:40] for _, message in REFUSALS])
def test_refusals(data: bytes, message: str) -> None:
    with pytest.raises(NeuralArtError) as caught:
        read(data)
    assert message in str(caught.value) and "\n" not in str(caught.value)
