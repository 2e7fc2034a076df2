"""Real boards as a kind of machine (``machine: silicon``): ``load-``, ``debug-``, ``boot-``, ``reset-`` and so on."""

from __future__ import annotations

from typing import Any

from neuralart.plugins import register
from neuralart.scons import commands
from neuralart.scons.flash import flash
from neuralart.scons.flash.targets import DeclaredVariant, shown
from neuralart.scons.paths import LiteralWord, build_dir, file_words
from neuralart.scons.registry import registry_of


class Silicon:
    """A real board, behind a programmer or a debugger."""

    def declare(self, verb: str, name: str, variant: DeclaredVariant) -> Any:
        """Declare what is done with it besides writing its flash."""
        return _device(verb, name, variant)


def _device(verb: str, name: str, variant: DeclaredVariant) -> Any:
    """The alias of what is done with a real board besides writing its flash."""
    env, base, program = variant.env, variant.base, variant.program
    (runner, probe), sources = variant.writer, []
    words: list[Any] = ["device", verb, "--board", program.board.name]
    words += ["--probe", LiteralWord(probe)] if probe else []
    if verb in ("load", "debug"):
        assert program.firmware is not None  # else there is a reason not to come here
        words += file_words(base, "--elf", program.firmware.elf)
        sources = [program.firmware.elf, program.firmware.check]
    server, port = flash.argument(env, "SERVER"), flash.argument(env, "PORT")
    if verb == "monitor":
        words += ["--port", LiteralWord(port)] if port else []
    else:
        words += ["--server", LiteralWord(server)] if server else []
    words += ["--runner", runner.name] if verb not in ("debug", "monitor") else []
    for file in registry_of(base).board_files:
        words += file_words(base, "--board-file", file)
    action, literals = commands.command(base, words, shown(verb, variant.name, program, ""))
    (alias,) = base.Alias(name, sources, [action], **literals)
    flash.hold(base, runner, probe, base.fs.File(f"#{build_dir(env)}/{variant.name}/device"), alias)
    return alias


register("machines", "silicon", Silicon(), protocol=1)
