"""Translates the options of ``neuralart compile``, which all compilers share, into the tool's command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from neuralart.compilers.options import GENERATE
from neuralart.compilers.stedgeai.request import ToolRequest
from neuralart.errors import NeuralArtError
from neuralart.vendor.releases import Release

OWN = "own"  # This project sets it, or turns it into something else
PASSED = "passed"  # Handed on as it is
CPU = "cpu"  # Handed on for targets without an NPU, refused for the NPU
CPU_ONLY_EFFECT = "cpu, no effect on the NPU"  # Handed on for targets without an NPU, without effect on the NPU
CPU_OR_OWN = "cpu, our own for the NPU"  # Handed on for targets without an NPU, done by this project for the NPU
REFUSED = "refused"

FLAG, VALUE, PATH, MAYBE = "flag", "value", "path", "optional value"


class OptionRule(NamedTuple):
    """What happens to an option."""

    fate: str  # One of the words above
    takes: str = FLAG  # ``flag``, ``value``, ``path`` (relative to the current folder) or ``optional value``
    why: str = ""  # For refused ones and those without effect
    choices: tuple[str, ...] = ()  # Allowed values; empty: the tool knows


_VALIDATE = "it belongs to the validate command, which is run on a board"
_NO_NPU = "not applicable to the NPU flow"
_AIMS = ("time", "ram", "balanced")
_NPU_POOLS = "the memory-pool file of the NPU says it: use --mpool or a profile"


def _each(names: str, *rule: Any) -> dict[str, OptionRule]:
    return dict.fromkeys(names.split(), OptionRule(*rule))


RULES: Mapping[str, OptionRule] = {
    **_each("--model --target --name --output --st-neural-art --mpool --initializers --verbosity", OWN, VALUE),
    **_each("--dispatch-weights", CPU, VALUE, _NPU_POOLS),
    **_each("--quiet --no-report --enable-epoch-controller --all-buffers-info", OWN),
    **_each("--no-inputs-allocation --no-outputs-allocation", PASSED),
    **_each("--allocate-inputs --allocate-outputs", OWN),
    **_each("--workspace", OWN, VALUE, "every compile gets a workspace of its own"),
    **_each("--no-workspace", OWN, FLAG, "every compile gets a workspace of its own"),
    **_each("--type", PASSED, VALUE, "", ("tflite", "onnx", "keras")),
    **_each("--input-data-type --output-data-type --inputs-ch-position --outputs-ch-position", PASSED, VALUE),
    **_each("--no-onnx-optimizer --use-onnx-simplifier", PASSED),
    **_each("--fix-parametric-shapes", PASSED, VALUE),
    **_each("--custom", PASSED, PATH),
    **_each("--cut-input-tensors --cut-input-layers --cut-output-tensors --cut-output-layers", PASSED, VALUE),
    **_each("--prefetch-compressed-weights", PASSED),
    **_each("--hsp", PASSED, MAYBE),
    **_each("--optimization", CPU_ONLY_EFFECT, VALUE, f"{_NO_NPU}: the profile's options say it", _AIMS),
    **_each("--compression", CPU_ONLY_EFFECT, VALUE, _NO_NPU),
    **_each("--c-api", CPU, VALUE, "the NPU flow writes one set of files", ("legacy", "st-ai")),
    **_each("--memory-pool", CPU, PATH, _NPU_POOLS),
    **_each("--split-weights --allocate-activations --allocate-states", CPU, FLAG, _NPU_POOLS),
    **_each("--input-memory-alignment --output-memory-alignment", CPU, VALUE, "the NPU compiler aligns them itself"),
    **_each("--binary", CPU, FLAG, "weights are always in N_atonbuf.<pool>.raw"),
    **_each("--relocatable", CPU_OR_OWN, MAYBE),
    **_each("--quantize", REFUSED, MAYBE, "models are compiled as they are: quantize the model before"),
    **_each("--ihex", REFUSED, MAYBE, "the NPU flow accepts and ignores it: the build makes hex files itself"),
    **_each("--address", CPU, VALUE, "the NPU flow accepts and ignores it: set the offset of the pool"),
    **_each("--copy-weights-at", CPU, VALUE, "set the offset of the pool"),
    **_each("--input-shape", REFUSED, VALUE, "ST Edge AI Core has --fix-parametric-shapes"),
    **_each("--memory", REFUSED, VALUE, "the reference compiler alone computes layers in stripes"),
    **_each("--no-c-files --dll", REFUSED, FLAG, "it would change which files there are"),
    **_each("--lib", REFUSED, VALUE, "the runtime is taken from the installation itself"),
    **_each("--mode --desc --val-json --valinput --valoutput --batch-size --range --seed", REFUSED, VALUE, _VALIDATE),
    **_each("--full --io-only --save-csv --classifier --no-check --no-exec-model", REFUSED, FLAG, _VALIDATE),
}

# In the words for the tool itself they would contradict what the command sets; all spellings, underscores too.
_ALSO_OURS = ("--no-workspace", "--version", "--help", "-h")


def check_extra(words: Sequence[str]) -> None:
    """Refuse words for the tool that are options of our command line."""
    known = {name: option.name for option in GENERATE for name in option.names}
    for word in words:
        if not word.startswith("-"):
            continue
        name = word.partition("=")[0].replace("_", "-") if word.startswith("--") else word[:2]
        if name in _ALSO_OURS:
            raise NeuralArtError(f"'{name}' is not allowed here", where="words for the tool", hint="leave it out")
        if name in known:
            rule = RULES[known[name]]
            own = f"'{known[name]}' is an option of this command itself"
            why = f"refused: {rule.why}" if rule.fate == REFUSED else own
            raise NeuralArtError(why, where=f"words for the tool: {name}", hint="give it before the --")


def handed_on(
    values: Mapping[str, str | bool | None], *, npu: bool, path: Callable[[str], str] = lambda text: text
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Make words for the tool, and notes on options without effect. ``values``: canonical name -> parsed value, None:
    not given; ``path``: rewrites paths for the tool's folder. NeuralArtError: an option or value is refused.
    """
    words: list[str] = []
    notes: list[str] = []
    for name, rule in RULES.items():
        value = values.get(name)
        if value is None:
            continue
        if rule.fate == REFUSED or (rule.fate == CPU and npu):
            raise NeuralArtError(f"refused: {rule.why}", where=name)
        if rule.fate == OWN or (rule.fate in (CPU_ONLY_EFFECT, CPU_OR_OWN) and npu):
            if rule.why:
                notes.append(f"{name}: {rule.why}")
            continue
        given = "" if value is True else str(value)
        if rule.takes == FLAG and given:
            raise NeuralArtError(f"takes no value, but has '{given}'", where=name)
        if rule.takes in (VALUE, PATH) and not given:
            raise NeuralArtError("lacks its value", where=name)
        if rule.choices and given not in rule.choices:
            raise NeuralArtError(f"'{given}' is refused", where=name, hint=f"possible: {', '.join(rule.choices)}")
        words += [name, path(given) if rule.takes == PATH else given] if given else [name]
    return tuple(words), tuple(notes)


WORKSPACE, OUTPUT = "ws", "out"
_CONTROLLER = "--enable-epoch-controller"


class CommandLine(NamedTuple):
    """The tool's command line."""

    words: tuple[str, ...]  # Behind the program
    notes: tuple[str, ...]  # Options without effect


def _profile_words(request: ToolRequest, release: Release, profile: str) -> list[str]:
    """The NPU's part."""
    words = ["--st-neural-art", profile]
    assert request.profile is not None
    if request.controller and request.profile.path is None:
        # A profile file says it by its options, in every version.
        if not release.habits.controller_option:
            raise NeuralArtError(
                f"refused: version {'.'.join(map(str, release.series))} has it in profiles only",
                where=_CONTROLLER,
                hint="name a profile file: --st-neural-art PROFILE@FILE.json",
            )
        words.append(_CONTROLLER)
    return words


def command_line(
    request: ToolRequest, release: Release, *, model: str, profile: str, path: Callable[[str], str] = lambda text: text
) -> CommandLine:
    """The words for the tool, the same in every folder; NeuralArtError if an option is refused, also by this release.

    ``model`` and ``profile`` (argument of ``--st-neural-art``, empty without NPU) are relative to where the tool runs,
    ``path`` makes other paths so.
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
