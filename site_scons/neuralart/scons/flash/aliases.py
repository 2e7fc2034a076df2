"""``env.FlashAlias(...)`` and ``env.LoadAlias(...)``: names for what is done with a device."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from neuralart import plugins
from neuralart.config.types import VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.scons.failures import at_read_time, refuse_unknown
from neuralart.scons.firmware.firmware import FirmwareNodes
from neuralart.scons.firmware.image import make_check
from neuralart.scons.firmware.relocatable import RelocatableNodes
from neuralart.scons.flash import flash
from neuralart.scons.flash.flash import declare_effect
from neuralart.scons.flash.images import FlashNodes, ModelNodes, VariantProgram
from neuralart.scons.flash.refusals import reason
from neuralart.scons.flash.targets import DeclaredVariant
from neuralart.scons.paths import literal, named_source
from neuralart.scons.registry import registry_of

_FLASH = {
    "runner": "NEURALART_RUNNER",
    "probe": "NEURALART_PROBE",
    "part": "NEURALART_FLASH_PART",
    "board": "NEURALART_BOARD",
    "machine": "NEURALART_MACHINE",
}
_LOAD = ("vectors", "input", "board", "machine", "allow_reference_on_hardware")


@at_read_time
def flash_method(env: Any, name: str, plan: Any, **options: Any) -> Any:
    """``env.FlashAlias(name, plan, ...)``: ``scons NAME`` writes a device by a flash plan, or compares it.

    Returns the alias. ``plan``: a node or a name. ``**options``: ``runner``, ``probe``, ``part`` (``application`` or
    ``model``), ``board``, ``machine``: as the construction variables of ``NeuralArtFlash``; ``verify``: True to compare
    only. SCons.Errors.UserError: an option is unknown or has a wrong value, or the runner refuses.
    """
    refuse_unknown(options, (*_FLASH, "verify"), "FlashAlias")
    chosen = {_FLASH[key]: value for key, value in options.items() if key != "verify"}
    if "verify" in options:
        chosen["NEURALART_FLASH_VERB"] = "verify" if options["verify"] else "write"
    return env.NeuralArtFlash(name, plan, **chosen)[0]


@at_read_time
def load_method(env: Any, name: str, elf: Any, model: Any, plan: Any, **options: Any) -> Any:
    """``env.LoadAlias(name, elf, model, plan, ...)``: ``scons NAME`` loads a relocatable model on a virtual board.

    Returns the alias. ``elf``: the firmware that loads it; ``model``: what ``env.NetworkRel`` returned; ``plan``: flash
    plan with the model and the load table, or several by mode: one after the other. ``**options``: ``vectors``: folder
    of golden vectors, which the outputs are compared with; ``input``: inputs whose outputs are shown; ``board``: where
    it runs, if not where it was compiled for; ``machine``: ``unicorn`` or ``qemu``; by default the board's first;
    ``allow_reference_on_hardware``. SCons.Errors.UserError: an option is unknown or has a wrong value, or the machine
    cannot do it.
    """
    from neuralart.memory.image.check_image import machine_of

    refuse_unknown(options, _LOAD, "LoadAlias")
    if not isinstance(model, RelocatableNodes):
        raise NeuralArtError(f"takes what NetworkRel returned, not {model!r}", where="LoadAlias")
    registry = registry_of(env)
    board = registry.board(str(options.get("board") or model.network.board.name), "LoadAlias")
    machine = machine_of(board, str(options.get("machine", "")))
    vectors, inputs = (named_source(env, literal(env, options.get(key, ""))) for key in ("vectors", "input"))
    network = replace(model.network, vectors=vectors, input=inputs)
    by_mode = plan if isinstance(plan, dict) else {"": plan}
    found = {mode: env.arg2nodes(each, env.fs.File)[0] for mode, each in by_mode.items()}
    (image,) = env.arg2nodes(elf, env.fs.File)[:1] or [None]
    if image is None or not found:
        raise NeuralArtError("takes a firmware, a model and a flash plan", where="LoadAlias")
    allow = bool(options.get("allow_reference_on_hardware", False))
    check = make_check(env, f"{image.get_internal_path()}.check.json", image, board, machine, [], allow_reference=allow)
    variant = VariantConfig(name=name, title="", board=board.name, machine=machine.kind, networks=(network.config,))
    program = VariantProgram(
        variant,
        board,
        machine,
        [network],
        None,
        FirmwareNodes(image, None, None, None, check, None),
        FlashNodes(None, next(iter(found.values())), None, found),
        ModelNodes(model.image, model.params, model.results),
    )
    if machine.kind == "silicon":
        what = "it compares the outputs of a virtual board, not of a real one"
        hint = "machine='unicorn'; neuralart load works with a real one"
        raise NeuralArtError(what, where=name, hint=hint)
    why, hint = reason("load", program, flash.runner_of(env, board, machine)[0])
    if why:
        raise NeuralArtError(why, where=name, hint=hint)
    alias = plugins.find("machines", machine.kind, name).call(
        "declare", "load", name, DeclaredVariant(env, [program], None)
    )
    declare_effect(env, name, name)
    return env.AlwaysBuild(alias)[0]
