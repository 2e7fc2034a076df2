"""The command line of ``stedgeai generate``: a pure function of request and version."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from neuralart.compilers.stedgeai.options import check_extra, handed_on
from neuralart.compilers.stedgeai.request import Request
from neuralart.errors import NeuralArtError
from neuralart.vendor.releases import Release

WORKSPACE, OUTPUT = "ws", "out"
_CONTROLLER = "--enable-epoch-controller"


class CommandLine(NamedTuple):
    """What the tool is started with."""

    words: tuple[str, ...]  # Behind the program
    notes: tuple[str, ...]  # Options without effect


def _profile_words(request: Request, release: Release, profile: str) -> list[str]:
    """The NPU's part."""
    words = ["--st-neural-art", profile]
    assert request.profile is not None
    if request.controller and request.profile.path is None:
        # Of a profile file the options say it, in every version.
        if not release.habits.controller_option:
            raise NeuralArtError(
                f"refused: version {'.'.join(map(str, release.series))} has it in profiles only",
                where=_CONTROLLER,
                hint="name a profile file: --st-neural-art PROFILE@FILE.json",
            )
        words.append(_CONTROLLER)
    return words


def command_line(
    request: Request, release: Release, *, model: str, profile: str, path: Callable[[str], str] = lambda text: text
) -> CommandLine:
    """The words for the tool, the same in every folder.

    Args:
        request: What to compile.
        release: Of the tool.
        model: The model, relative to where the tool runs.
        profile: Argument of ``--st-neural-art``, likewise; empty without NPU.
        path: Makes other paths relative to where the tool runs.

    Raises:
        NeuralArtError: An option is refused, also by this version.
    """
    check_extra(request.extra)
    handed, notes = handed_on(request.values, npu=request.npu, path=path)
    for kind in ("inputs", "outputs"):
        if request.values.get(f"--allocate-{kind}") and request.values.get(f"--no-{kind}-allocation"):
            raise NeuralArtError(f"contradicts --no-{kind}-allocation", where=f"--allocate-{kind}", hint="keep one")
    words = ["generate", "--model", model, "--target", request.target, "--name", request.name]
    if request.npu:
        words += _profile_words(request, release, profile)
    elif request.controller:
        raise NeuralArtError("refused: there is no epoch controller without an NPU", where=_CONTROLLER)
    words += handed
    words += ["--workspace", WORKSPACE, "--output", OUTPUT]
    verbosity = request.values.get("--verbosity")
    if isinstance(verbosity, str) and verbosity in ("2", "3"):
        words += ["--verbosity", verbosity]
    if not request.report:
        words.append("--no-report")
    return CommandLine((*words, *request.extra), notes)
