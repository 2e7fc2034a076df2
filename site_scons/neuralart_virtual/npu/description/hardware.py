"""The hardware epoch that a function of generated C sets up: units, switch, enabled units."""

from __future__ import annotations

import re

from neuralart_virtual.network_c import epochs
from neuralart_virtual.network_c.epochs import EpochFunction, SetupCall, Structure
from neuralart_virtual.npu import registers
from neuralart_virtual.npu.description.structures import FILLERS, Filler
from neuralart_virtual.npu.description.values import StructureReader
from neuralart_virtual.npu.state import NpuState, UnitState

_DESTINATION = re.compile(r"ATONN_DSTPORT\(\s*STRSWITCH\s*,\s*0\s*,\s*(\w+)\s*,\s*(\d{1,9})\s*,\s*(\d{1,9})\s*\)")
_SOURCE = re.compile(r"Init_Source\((\d)\)\s*=\s*ATONN_SRCPORT\(\s*STRSWITCH\s*,\s*0\s*,\s*(\w+)\s*,\s*(\d{1,9})\s*,")
_CONTEXT = re.compile(r"Init_(Context|Frames)\((\d)\)\s*=\s*(\d{1,9})")
_UNIT = re.compile(r"\{\s*(\w+)\s*,\s*(\d{1,9})\s*\}")


def epoch(function: EpochFunction, reader: StructureReader) -> NpuState | None:
    """The registers as they are when the units are enabled; None if the function enables none.

    Raises NeuralArtError: a structure that cannot be read, or a unit that is none.
    """
    state = NpuState()
    found = False
    for call in function.calls:
        if call.function in FILLERS:
            kind, fill = FILLERS[call.function]
            fill(Filler(reader, _structure(call, 1, function, reader), _unit(state, kind, call, reader)))
        elif call.function == "LL_Decun_Init":
            _unit(state, "DECUN", call, reader).set("CTRL", EN=1)
            found = True
        elif call.function in ("LL_Switch_Init", "LL_Switch_Init_NoReset"):
            if epochs.name(call.arguments[0]) != "NULL":
                _links(state, _structure(call, 0, function, reader), reader)
        elif call.function == "LL_ATON_EnableUnits_Init":
            _enable(state, _structure(call, 0, function, reader), reader)
            found = True
    return state if found else None


def _structure(call: SetupCall, place: int, function: EpochFunction, reader: StructureReader) -> Structure:
    name = epochs.name(call.arguments[place]) if place < len(call.arguments) else ""
    structure = function.structures.get(name)
    if structure is None:
        what = f"{call.function} takes '{name}', which {function.name} does not have"
        raise reader.description.error(what, call.offset)
    return structure


def _unit(state: NpuState, kind: str, call: SetupCall, reader: StructureReader) -> UnitState:
    index = epochs.whole(call.arguments[0]) if call.arguments else None
    if index is None or (kind, index) not in state.units:
        shown = call.arguments[0][:20] if call.arguments else ""
        raise reader.description.error(f"{call.function}: no unit {kind}{shown}", call.offset)
    return state.units[kind, index]


def _links(state: NpuState, structure: Structure, reader: StructureReader) -> None:
    for element in structure.elements:
        text = element.get("", "")
        destination = _DESTINATION.search(text)
        port = (destination[1], int(destination[2]), int(destination[3])) if destination else None
        sources = {int(m[1]): (m[2], int(m[3])) for m in _SOURCE.finditer(text)}
        if port not in registers.DESTINATION_AT or not sources or not sources.keys() <= {0, 1}:
            raise reader.description.error(f"no link of the switch: '{text[:80]}'", structure.offset)
        numbers = {(m[1], int(m[2])): int(m[3]) for m in _CONTEXT.finditer(text)}
        contexts = []
        for i in range(max(sources) + 1):
            source = sources.get(i, ("STRENG", 0))
            if source not in registers.LINKS:
                what = f"{source[0]}{source[1]} is no source of the switch"
                raise reader.description.error(what, structure.offset)
            contexts.append((source, numbers.get(("Context", i), 0), numbers.get(("Frames", i), 0)))
        state.link(port, *contexts)


def _enable(state: NpuState, structure: Structure, reader: StructureReader) -> None:
    for element in structure.elements:
        text = element.get("", "")
        match = _UNIT.search(text)
        key = (match[1], int(match[2])) if match else ("", 0)
        if key not in state.units:
            raise reader.description.error(f"no unit: '{text[:40]}'", structure.offset)
        state.units[key].set("CTRL", EN=1)
