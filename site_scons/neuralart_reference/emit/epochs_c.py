"""Epoch functions and the epoch table: one software epoch per kernel call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from neuralart_reference.emit.ctext import in_comment
from neuralart_reference.emit.emission import Emission, user_symbol
from neuralart_reference.ir import Arg, Call, ConstArg, Null, StructArg, TensorArg

_RULER = "-" * 67
_FLAGS = "EpochBlock_Flags_epoch_start | EpochBlock_Flags_epoch_end | EpochBlock_Flags_pure_sw"


def pointer(emission: Emission, address: int, size: int, ctype: str, *, written: bool = False) -> str:
    """An address as a C expression: base of the pool plus offset, with the sum beside it where it is known."""
    plan = emission.plan.pool_of(address, size)
    const = "" if written else "const "
    place = f"(uintptr_t)({emission.base(plan)} + {address - plan.address}UL)"
    text = f"({const}{ctype} *)ATON_LIB_PHYSICAL_TO_VIRTUAL_ADDR({place})"
    return text if plan.pool.relative else f"{text} /* Equivalent hex address = 0x{address:08x}UL */"


def _placed(emission: Emission, epoch: int, number: int, arg: Arg) -> str:
    key = emission.plan.constant_of.get((epoch, number))
    if key is not None:
        offset = arg.offset if isinstance(arg, TensorArg) else 0
        size = next(len(item.data) for item in emission.plan.constants if item.key == key)
        assert isinstance(arg, TensorArg | ConstArg)
        return pointer(emission, emission.plan.constant_address[key] + offset, max(0, size - offset), arg.ctype)
    assert isinstance(arg, TensorArg)
    owner = emission.owner(arg.tensor)
    if owner is not None:
        const = "" if arg.written else "const "
        offset = emission.program.offset(arg.tensor) + arg.offset
        return f"({const}{arg.ctype} *)({user_symbol(emission.name, *owner)} + {offset})"
    size = emission.tensor(arg.tensor).bytes - arg.offset
    return pointer(emission, emission.address(arg.tensor) + arg.offset, size, arg.ctype, written=arg.written)


def arguments(
    call: Call, place: Callable[[int, Arg], str], working: str
) -> tuple[list[str], list[tuple[str, StructArg]]]:
    """The words of a kernel call, and the parameter structures it needs. ``place`` gives the address of the tensor or
    constant that is the argument of a number, as a C expression; so is ``working``, the working memory, empty if the
    call needs none.
    """
    structs: list[tuple[str, StructArg]] = []
    words: list[str] = []
    for number, arg in enumerate(call.args):
        if isinstance(arg, Null):
            words.append("NULL")
        elif isinstance(arg, StructArg):
            struct = f"parameters{len(structs) or ''}"
            structs.append((struct, arg))
            words.append(f"&{struct}")
        else:
            note = f" /* {in_comment(arg.label)} */" if isinstance(arg, ConstArg) else ""
            words.append(place(number, arg) + note)
    if working:
        # Working memory stands before the parameters.
        at = len(words) - 1 if call.args and isinstance(call.args[-1], StructArg) else len(words)
        words.insert(at, working)
    return words, structs


def declarations(structs: Sequence[tuple[str, StructArg]]) -> str:
    """The parameter structures of a call."""
    return "".join(
        f"  static const {arg.ctype} {name} = {{\n"
        + "".join(f"    .{member} = {value},\n" for member, value in arg.fields)
        + "  };\n"
        for name, arg in structs
    )


def node_name(emission: Emission, call: Call) -> str:
    """What a call is named after in comments."""
    tensors = (*call.writes, *call.reads)
    return in_comment(emission.tensor(tensors[0]).name) if tensors else call.kind


def function_name(emission: Emission, epoch: int) -> str:
    """The C function of an epoch; it carries the network's name, so that networks can share a program."""
    return f"LL_ATON_Start_EpochBlock_{epoch}_{emission.name}"


def _function(emission: Emission, epoch: int, call: Call) -> str:
    working = ""
    if call.scratch:
        working = pointer(emission, emission.plan.scratch[epoch], call.scratch, "void", written=True)
    words, structs = arguments(call, partial(_placed, emission, epoch), working)
    return (
        f"/* scheduling epoch={epoch:<4} nodes=1   {_RULER} */\n\n"
        f"static void {function_name(emission, epoch)}(const void *epoch_block)\n{{\n"
        f"  /* Unit= 0 [PROCESSOR 0] */\n  /* kind={in_comment(call.kind)} node={node_name(emission, call)} */\n"
        f"{declarations(structs)}\n"
        "  (void)epoch_block;\n"
        f"  {call.kernel}(\n    " + ",\n    ".join(words) + ");\n}\n"
    )


def reset_state(emission: Emission, head: str, place: Callable[[int], str]) -> str:
    """The function that gives the tensors that are kept between inferences their first values; empty without any.
    ``place``: number of a tensor -> its address as a C expression.
    """
    program = emission.program
    lines = "".join(
        f"  for (uint8_t *at = {place(number)}, *end = at + {program.tensors[number].bytes}; at < end;) {{\n"
        f"    *at++ = 0x{byte:02x};\n  }}\n"
        for number, byte in program.states.items()
    )
    return f"{head}\n{{\n{lines}}}\n" if lines else ""


def functions(emission: Emission) -> str:
    """All epoch functions."""
    return "\n".join(_function(emission, epoch, call) for epoch, call in enumerate(emission.program.calls))


def table(emission: Emission) -> str:
    """``LL_ATON_EpochBlockItems_<N>``."""
    rows = "".join(
        "    {\n"
        f"      .start_epoch_block = {function_name(emission, epoch)},\n"
        "      .end_epoch_block = NULL,\n"
        "      .wait_mask = 0x00000000,\n"
        f"      .flags = {_FLAGS},\n"
        "#ifdef LL_ATON_EB_DBG_INFO\n"
        f"      .epoch_num = {epoch},\n"
        f"      .last_epoch_num = {epoch},\n"
        "      .in_streng_mask = 0x0000,\n"
        "      .out_streng_mask = 0x0000,\n"
        "      .estimated_npu_cycles = 0,\n"
        "      .estimated_tot_cycles = 0,\n"
        "#endif\n"
        "    },\n"
        for epoch in range(len(emission.program.calls))
    )
    return (
        f"const LL_ATON_RT_EpochBlockItem_t *LL_ATON_EpochBlockItems_{emission.name}(void)\n{{\n"
        "  static const LL_ATON_RT_EpochBlockItem_t ll_atonn_rt_epoch_block_array[] = {\n"
        f"{rows}"
        "    {\n      .flags = EpochBlock_Flags_last_eb,\n    },\n"
        "  };\n\n"
        "  return ll_atonn_rt_epoch_block_array;\n}\n"
    )
