"""Traps of networks: what they compute where, and which runtime they were made for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from neuralart.lint.types import ERROR, NOTE, WARNING, Facts, Hit, Rule
from neuralart.network.facts import LL_ATON
from neuralart.plugins import register
from neuralart.vendor.releases import before_runtime, of_runtime

_EXPORTED = re.compile(r".*_OE_\d+(?:_\d+)*\.onnx", re.I)
_SHOWN = 4


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _software(facts: Facts) -> Iterator[Hit]:
    for network in facts.networks:
        steps = [step for step in network.steps if step.kind in ("SW", "HYBRID")]
        if network.runtime != LL_ATON or not steps:
            continue
        counts = Counter(name for step in steps for name in step.operators)
        operators = [f"{count} {name}" for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
        hybrid = sum(step.kind == "HYBRID" for step in steps)
        yield Hit(
            steps[0].where,
            f"the CPU computes {len(steps)} of {len(network.steps)} steps of network {network.name}"
            + (f", {hybrid} of them together with the NPU" if hybrid else "")
            + (f": {_listed(operators)}" if operators else ""),
        )


def _floats(facts: Facts) -> Iterator[Hit]:
    for network in facts.networks:
        if network.runtime == LL_ATON and network.floats:
            names = [name for name, _ in network.floats]
            yield Hit(
                network.floats[0][1],
                f"{len(names)} buffer{'s' if len(names) > 1 else ''} inside of network {network.name} "
                f"hold{'' if len(names) > 1 else 's'} floats: {_listed(names)}",
            )


def _exported(facts: Facts) -> Iterator[Hit]:
    given = [*facts.models, *((network.model, network.model_where) for network in facts.networks if network.model)]
    for name, where in dict.fromkeys(given):
        if _EXPORTED.fullmatch(name):
            yield Hit(where, f"{name} is what the tool's own front end wrote (_OE_)")


def _booleans(facts: Facts) -> Iterator[Hit]:
    for exported in facts.exports:
        names = [tensor.name for tensor in exported.tensors.values() if tensor.type.upper().startswith("BOOL")]
        if names:
            yield Hit(exported.file, f"{len(names)} tensors are truth values: {_listed(names)}")


def _release(version: tuple[int, int, int, int]) -> str:
    text = ".".join(map(str, version))
    release = of_runtime(version)
    if release is not None:
        return f"{text} (ST Edge AI Core {release.core})"
    return f"{text} (the reference compiler)" if version[0] == 0 else text


def _guard(facts: Facts) -> Iterator[Hit]:
    for network in facts.networks:
        for header in facts.runtimes:
            if network.guard is not None and header.version != network.guard:
                quiet = " It only warns about that." if network.guard_kind == "warning" else ""
                yield Hit(
                    network.guard_where or network.where,
                    f"network {network.name} is made for runtime {_release(network.guard)}, the application has "
                    f"{_release(header.version)} at {header.where}.{quiet}",
                )


def _quiet_guard(facts: Facts) -> Iterator[Hit]:
    for network in facts.networks:
        if network.guard is not None and network.guard_kind == "warning" and not facts.runtimes:
            yield Hit(
                network.guard_where or network.where,
                f"network {network.name} only warns when it is compiled against another runtime than "
                f"{_release(network.guard)}",
            )


def _old_key(facts: Facts) -> Iterator[Hit]:
    guards = {network.guard for network in facts.networks if network.guard is not None}
    # Of some releases the key was the right one.
    old = bool(guards) and all(before_runtime(guard).habits.description_key == "memory_desc" for guard in guards)
    for file in facts.profiles:
        for profile in file.profiles:
            if profile.old_key and not old:
                yield Hit(f"{file.file}:{profile.line}", f"profile '{profile.name}' names its machine with memory_desc")


RULES = (
    Rule(
        "software-epochs",
        NOTE,
        "epochs of a vendor network that the CPU computes",
        "They take most of the time of many networks, and nothing says so but a table in a report.",
        "quantize their layers, or replace them; max_sw_epochs and min_offload in budgets: make it an error",
        ("network",),
        _software,
    ),
    Rule(
        "float-layers",
        WARNING,
        "buffers of floats inside of a vendor network",
        "A layer that is not quantized runs on the CPU in floating point, slowly, and with other results than "
        "expected.",
        "quantize the whole model, or cut it before the float layers",
        ("network",),
        _floats,
    ),
    Rule(
        "exported-model",
        ERROR,
        "a file *_OE_*.onnx as a model",
        "It has been through the tool's optimizer already: compiled again it is pre-processed twice, silently.",
        "compile the model's own file",
        ("model",),
        _exported,
    ),
    Rule(
        "bool-tensor",
        WARNING,
        "truth values in a quantization file (*_Q.json)",
        "One of them makes the Neural-ART compiler drop the quantization of the whole network, and end well.",
        "remove the operator that makes it",
        ("quantization file",),
        _booleans,
    ),
    Rule(
        "runtime-guard",
        ERROR,
        "a network that was made for another runtime than the application brings",
        "All four numbers must agree, the last one too. Up to 2.1, and in networks made by 2.2 on Windows, the guard "
        "is a "
        "warning that nobody sees.",
        "take Middlewares/ST/AI from the release that compiled the network, or compile it with the release of the "
        "runtime",
        ("network", "ll_aton_version.h"),
        _guard,
    ),
    Rule(
        "quiet-guard",
        NOTE,
        "a guard that only warns, and no runtime to compare with",
        "A network and a runtime that do not belong together compile, and misbehave.",
        "lint it together with the application's ll_aton_version.h",
        ("network",),
        _quiet_guard,
    ),
    Rule(
        "memory-desc",
        WARNING,
        "the key memory_desc in a profile",
        "Releases from 2.2 on ignore it with a warning: the machine they compile for is the default one.",
        "call it machine_desc",
        ("profile",),
        _old_key,
    ),
)

for _rule in RULES:
    register("lint", _rule.id, _rule, protocol=1)
