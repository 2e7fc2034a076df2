"""The targets of the core: write a flash, show the plan, hand over to a kind of machine."""

from __future__ import annotations

from typing import Any

from neuralart import plugins
from neuralart.plugins import register
from neuralart.quick import dataclass
from neuralart.scons import node_plans
from neuralart.scons.flash import flash
from neuralart.scons.flash.flash import FlashingPlan
from neuralart.scons.flash.refusals import ON_DEVICE, reason
from neuralart.scons.flash.targets import _PART, DeclaredVariant, by_command, refused, shown, steps
from neuralart.scons.registry import registry_of


def _refusal(env: Any, verb: str, variant: DeclaredVariant) -> tuple[str, str]:
    """Why a target cannot do its work, and what to do; two empty texts if it can."""
    programs = steps(verb, variant.programs) or [(variant.program, "")]
    found = (reason(verb, program, variant.writer[0]) for program, _ in programs)
    why, hint = next((pair for pair in found if pair[0]), ("", ""))
    if flash.is_dry(env) and variant.program.machine.kind == "silicon" and verb in (*ON_DEVICE, "verify"):
        return "DRY=1 shows the commands of flash- only", "leave it out: the board is touched then"
    return why, hint


@dataclass(frozen=True)
class _Flash:
    """Writes the flash of a device, or compares it."""

    help: str

    def declare(self, env: Any, verb: str, variant: DeclaredVariant) -> Any:
        """Declare it."""
        why, hint = _refusal(env, verb, variant)
        return variant.base.AlwaysBuild(
            refused(variant.base, f"{verb}-{variant.name}", why, hint) if why else self._written(env, verb, variant)
        )

    def _written(self, env: Any, verb: str, variant: DeclaredVariant) -> Any:
        assert variant.program.flash is not None  # else there is a reason not to come here
        done, text = "verify" if verb == "verify" else "write", shown(verb, variant.name, variant.program, "")
        files, options = tuple(registry_of(env).board_files), flash.options_of(env)
        plan = FlashingPlan(done, *variant.writer, _PART.get(verb, ""), text, files, options)
        name = f"{verb}-{variant.name}"
        return node_plans.make(env, flash.NAME, flash.VARIABLES, plan, name, variant.program.flash.plan)[0]


@dataclass(frozen=True)
class _OnMachine:
    """What the variant's kind of machine does."""

    help: str

    def declare(self, env: Any, verb: str, variant: DeclaredVariant) -> Any:
        """Declare it."""
        base, name = variant.base, f"{verb}-{variant.name}"
        why, hint = _refusal(env, verb, variant)
        if why:
            return base.AlwaysBuild(refused(base, name, why, hint))
        kind = variant.program.machine.kind
        if kind not in plugins.names("machines", kind):
            what = f"nothing that is installed runs machine {kind}"
            return base.AlwaysBuild(refused(base, name, what, "pip install scons-neuralart has all of it"))
        return base.AlwaysBuild(plugins.find("machines", kind).call("declare", verb, name, variant))


class _Plan:
    """Shows who has which addresses."""

    help = "build, and show who has which addresses"

    def declare(self, env: Any, verb: str, variant: DeclaredVariant) -> Any:
        """Declare it."""
        return variant.base.AlwaysBuild(by_command(env, variant, verb))


_TARGETS = {
    "run": _OnMachine("write a fresh virtual flash, boot from it and compare with golden vectors, or show outputs"),
    "flash": _Flash("write the variant's own virtual flash, which stays, or a real board's"),
    "flash-application": _Flash("write the application only"),
    "flash-model": _Flash("write constants and identity descriptor only"),
    "load": _OnMachine("load the relocatable model in each mode and on each machine, and compare or show outputs"),
    "debug": _OnMachine("like run, but wait for gdb before the first instruction"),
    "boot": _OnMachine("boot the virtual flash as it is and compare with golden vectors, or show outputs"),
    "plan": _Plan(),
    "verify": _Flash("compare the flash with what the build would write"),
    "reset": _OnMachine("start a real board anew"),
    "monitor": _OnMachine("print what the serial port of a real board says"),
}
for _name, _target in _TARGETS.items():
    register("targets", _name, _target, protocol=1)
