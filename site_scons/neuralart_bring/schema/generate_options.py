"""The reference page of the compiler's options: ``python -m neuralart_bring.schema.generate_options`` prints
docs/reference/generate-options.md.
"""

from __future__ import annotations

from neuralart.compilers.options import FLAG, GENERATE, HONORED, MAYBE, NO_EFFECT, PROFILE, REFUSED, VALUE, Option


def _rows(table: tuple[Option, ...], effect: str) -> list[str]:
    lines = []
    for option in sorted(table, key=lambda option: option.name.lower()):
        if option.effect != effect:
            continue
        names = ", ".join(f"`{name}`" for name in option.names)
        value = {FLAG: "", VALUE: "value", MAYBE: "value or none"}[option.takes]
        if option.choices:
            value = ", ".join(f"`{choice}`" for choice in option.choices)
        text = f"{option.flow} targets only: {option.why}" if option.flow else option.why
        text += f"; {option.remedy}" if option.remedy else ""
        lines.append(f"| {names} | {value} | {text} |")
    return lines


def document() -> str:
    """Write docs/reference/generate-options.md."""
    parts = [
        "# Options of the reference compiler",
        "",
        "`neuralart compile` takes the options of `stedgeai generate`; profiles hold the options of its NPU compiler.",
        "The command line takes those as well (`-O3 --Oalt-sched`) and adds them to the profile's.",
        "Each is honored, has no effect here (then the report says so), or is refused. Unknown ones are refused too.",
        "",
        "This page is written by `python -m neuralart_bring.schema.generate_options`; a test compares the two.",
    ]
    for title, table in (("Command line", GENERATE), ("Profile options", PROFILE)):
        for effect in (HONORED, NO_EFFECT, REFUSED):
            head = ["", f"## {title}: {effect}", "", "| option | value | what |", "|---|---|---|"]
            parts += [*head, *_rows(table, effect)]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    print(document(), end="")
