"""Buffers that the application provides, and the start-up functions."""

from __future__ import annotations

from neuralart.compilers.reference.emit.ctext import in_comment
from neuralart.compilers.reference.emit.emission import Emission, user_symbol


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


def functions(emission: Emission) -> str:
    """Set/Get functions, and the two start-up functions.

    An inference is refused (false) while the application has not provided a buffer that it owes.
    """
    name = emission.name
    owed = [user_symbol(name, kind, index) for kind in ("input", "output") for index, _ in _owned(emission, kind)]
    ready = " && ".join(f"{symbol} != NULL" for symbol in owed) or "true"
    parts = [make(emission, kind) for kind in ("input", "output") for make in (_setter, _getter)]
    parts.append(f"bool LL_ATON_EC_Network_Init_{name}(void)\n{{\n  return true;\n}}\n")
    parts.append(f"bool LL_ATON_EC_Inference_Init_{name}(void)\n{{\n  return {ready};\n}}\n")
    return "\n".join(parts)
