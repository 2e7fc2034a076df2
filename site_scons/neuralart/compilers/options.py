"""Every option of ``stedgeai generate`` and of profiles: honored, refused, or without effect here. The table feeds the
command line, the reader of profiles and docs/reference/generate-options.md. The report notes options without effect;
refusals say why.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from neuralart.errors import NeuralArtError, similar
from neuralart.network.targets import CPU, NPU

HONORED = "honored"
REFUSED = "refused"
NO_EFFECT = "no effect"

FLAG = "flag"
VALUE = "value"
MAYBE = "optional value"


class Option(NamedTuple):
    """An option of the table."""

    names: tuple[str, ...]  # all spellings, the canonical one first
    effect: str  # ``honored``, ``refused`` or ``no effect``
    why: str  # what it does here; for the others the reason
    takes: str = FLAG  # ``flag``, ``value`` or ``optional value``
    remedy: str = ""  # for refused ones: what to do instead
    choices: tuple[str, ...] = ()  # allowed values; empty: any
    metavar: str = ""  # name of the value in help texts
    flow: str = ""  # ``NPU`` or ``CPU``: targets of the other flow refuse it; empty: all take it

    @property
    def name(self) -> str:
        """Canonical spelling."""
        return self.names[0]


def _option(
    effect: str, names: str, why: str, takes: str = FLAG, remedy: str = "", choices: str = "", **more: str
) -> Option:
    return Option(tuple(names.split()), effect, why, takes, remedy, tuple(choices.split()), **more)


_used, _idle, _refused = (partial(_option, effect) for effect in (HONORED, NO_EFFECT, REFUSED))
_npu, _cpu = (partial(_used, flow=flow) for flow in (NPU, CPU))

_MAPPING = "it steers the mapping to an NPU; here every epoch is software"
_BUFFERS = "the application provides the activation buffers"
_VALIDATE = "it belongs to the validate command"
_VALIDATE_FLAGS = "full io-only save-csv classifier no-check no-exec-model"
_SETS = "the command line of generate sets it"

GENERATE: tuple[Option, ...] = (
    _used("--model -m", "the .tflite or .onnx to compile", VALUE, metavar="FILE"),
    _used(
        "--target",
        "what to compile for: a board, or stm32n6, mps3-an547 (NPU flow), stm32h7, mps2-an500 (CPU flow)",
        VALUE,
        metavar="NAME",
    ),
    _used("--name -n", "C name and file prefix (default network)", VALUE, metavar="NAME"),
    _used("--output -o", "folder of the results (default ./st_ai_output)", VALUE, metavar="DIR"),
    _npu(
        "--st-neural-art",
        "[profile@]file.json, NAME or profile-NAME of the board's own file, or nothing for its default",
        MAYBE,
        "the memory-pool file of CPU targets is --memory-pool FILE",
        metavar="PROFILE",
    ),
    _npu(
        "--mpool --load-mpool",
        "memory-pool file instead of the profile's (own option)",
        VALUE,
        "CPU targets: --memory-pool FILE",
        metavar="FILE",
    ),
    _cpu(
        "--memory-pool",
        "memory-pool file (JSON) of the activations; without it they are one buffer",
        VALUE,
        "NPU targets: --mpool FILE or a profile",
        metavar="FILE",
    ),
    _cpu(
        "--split-weights",
        "each constant is a C array of its own",
        remedy="NPU targets: the pool file decides where weights go",
    ),
    _cpu(
        "--dispatch-weights",
        "each constant is an array in the first of these sections with room for it, the largest first (own option)",
        VALUE,
        "NPU targets: the pool file decides where weights go",
        metavar="SECTION=SIZE,...",
    ),
    _cpu("--binary", "the weights in N_data.bin too", remedy="NPU targets: weights are always in N_atonbuf.<pool>.raw"),
    _npu(
        "--initializers",
        "pools whose initializer is declared, comma separated, or none (own option)",
        VALUE,
        "CPU targets: weights are a C array",
        metavar="POOLS",
    ),
    _used(
        "--memory", "smallest: layers in stripes of rows where that saves memory (own option)", VALUE, "", "smallest"
    ),
    _used("--cut-output-tensors --cut", "the tensors where the model ends, comma separated", VALUE, metavar="NAMES"),
    _used("--input-shape", "sizes that a model leaves open: NAME=1x3x48,... (own option)", VALUE, metavar="SHAPES"),
    _used("--type -t", "type of the model: tflite or onnx", VALUE, choices="tflite onnx", metavar="TYPE"),
    _used(
        "--input-data-type",
        "float32, int8 or uint8, int32 for an input that is int32 anyway; one for all inputs, or one for each, "
        "comma separated",
        VALUE,
        metavar="TYPES",
    ),
    _used("--output-data-type", "the same for the outputs", VALUE, metavar="TYPES"),
    _used(
        "--inputs-ch-position",
        "chlast or chfirst; refused where it would need a transposition",
        VALUE,
        metavar="POSITIONS",
    ),
    _used("--outputs-ch-position", "the same for the outputs", VALUE, metavar="POSITIONS"),
    _used("--no-inputs-allocation", "the application provides the input buffers"),
    _used("--no-outputs-allocation", "the application provides the output buffers"),
    _used("--allocate-inputs", "the default; refused together with --no-inputs-allocation"),
    _used("--allocate-outputs", "the default; refused together with --no-outputs-allocation"),
    _npu("--all-buffers-info", "as in a profile: relocatable models need it (own option)"),
    _used("--no-report", "write no N_generate_report.txt"),
    _used("--verbosity -v", "0 to 3: how much is printed (default 1)", VALUE, choices="0 1 2 3"),
    _used("--quiet", "print nothing but errors"),
    _idle("--workspace -w", "this compiler needs no workspace and writes none", VALUE, metavar="DIR"),
    _idle("--no-workspace", "this compiler needs no workspace"),
    _idle("--enable-epoch-controller --eec", "there is no hardware epoch to put into a blob: no N_ecblobs.h"),
    _idle("--optimization -O", "the placement always aims at little memory", VALUE, choices="time ram balanced"),
    _idle("--compression -c", "weights stay as they are, which lossless allows", VALUE, choices="lossless none"),
    _idle("--no-onnx-optimizer", "a model is read as it is"),
    _idle("--use-onnx-simplifier", "a model is read as it is"),
    _idle("--prefetch-compressed-weights", "no weight is compressed"),
    _used(
        "--c-api",
        "legacy: the LL_ATON interface, on CPU targets ai_<name>_run and the like; st-ai is not written",
        VALUE,
        choices="legacy",
    ),
    _refused("--allocate-activations", _BUFFERS, remedy="NPU targets: the pool file decides where they go"),
    _refused("--allocate-states", "states lie in the activation buffers"),
    _refused("--input-memory-alignment", _BUFFERS, VALUE, "inputs are aligned to 32 bytes in them"),
    _refused("--output-memory-alignment", _BUFFERS, VALUE, "outputs are aligned to 32 bytes in them"),
    _refused("--cut-input-tensors", "a model is cut at its end alone, by tensors", VALUE, "--cut NAMES"),
    _refused("--cut-input-layers", "a model is cut at its end alone, by tensors", VALUE, "--cut NAMES"),
    _refused("--cut-output-layers", "a model is cut at its end alone, by tensors", VALUE, "--cut NAMES"),
    _refused("--fix-parametric-shapes", "it names no inputs", VALUE, "--input-shape NAME=1x3x48x320"),
    _refused("--custom", "custom layers are not supported", VALUE),
    _refused("--quantize -q", "models are compiled as they are", MAYBE, "quantize the model before"),
    _refused("--hsp", "there is no such accelerator here", MAYBE),
    _refused("--ihex", "raw initializers only", MAYBE, "convert the .raw, or let the build do it"),
    _refused("--address", "the pool file gives all addresses", VALUE, "set the offset of the pool"),
    _refused("--copy-weights-at", "the pool file gives all addresses", VALUE, "set the offset of the pool"),
    _refused("--no-c-files", "the C is what this compiler is for"),
    _refused("--dll", "no host library is made"),
    _refused("--lib", "no library is copied", VALUE),
    _npu(
        "--relocatable -r --reloc",
        "also N_rel.bin, as 'relocatable build' makes it; LIST: split, gen-c-files, no-secure, ecblob-in-params",
        MAYBE,
        "relocatable models are networks of an NPU",
        metavar="LIST",
    ),
    *(
        _refused(f"--{name}", _VALIDATE, FLAG if name in _VALIDATE_FLAGS.split() else VALUE)
        for name in f"mode desc val-json valinput valoutput batch-size range {_VALIDATE_FLAGS} seed".split()
    ),
)

PROFILE: tuple[Option, ...] = (
    _used(
        "--enable-virtual-mem-pools",
        "adjoining writable pools of equal properties form one pool, of different speed too where less is in the "
        "slowest pool then",
    ),
    _used("--all-buffers-info", "the table of internal buffers is filled"),
    _used(
        "--load-mpool --load-mpool-file",
        "the pool file, as memory_pool of the profile (relative to its file); two different ones are refused",
        VALUE,
    ),
    _used("--Opreserve-inputs", "input buffers are not reused for other tensors"),
    _idle("--native-float", "float32 is always computed as such"),
    _idle("--mvei", "the kernels are compiled for the board's own CPU"),
    _idle("--cache-maintenance", "the CPU alone touches the buffers during an inference"),
    _idle("--enable-epoch-controller", "there is no hardware epoch to put into a blob: no N_ecblobs.h"),
    _idle("--ec-single-epoch", "there is no epoch-controller blob"),
    _idle("--optimization -O", _MAPPING, VALUE, choices="0 1 2 3"),
    _idle("--Os -M -Os", "the placement always aims at little memory"),
    _idle("--Oauto -A", _MAPPING),
    _idle("--d-auto", _MAPPING, MAYBE),
    _idle("--Oauto-sched", _MAPPING),
    _idle("--Oalt-sched", _MAPPING),
    _idle("--Ocache-opt", _MAPPING),
    _idle("--Omax-ca-pipe", _MAPPING, VALUE),
    _idle("--Oconv-split-cw", _MAPPING, MAYBE),
    _idle("--Oconv-split-kw", _MAPPING, MAYBE),
    _idle("--Oconv-split-stripe", _MAPPING, MAYBE),
    _idle("--Oshuffle-dma", _MAPPING),
    _idle("--no-hw-sw-parallelism", _MAPPING),
    _idle("--expand-softmax", _MAPPING),
    _idle("--mapping-recap", "the report always lists every epoch"),
    _idle("--sched-stats", "the report always lists every epoch"),
    _idle("--num-ops-info", "the report always counts operations"),
    # Half of the profiles in the field have it: what it lists does not exist here, and nothing reads it in a build.
    _idle("--csv-file", "no CSV is written: it lists NPU cycles and bus traffic, of which there are none", VALUE),
    _idle("--output-info-file", "the description of the network is always N_c_info.json", VALUE),
    _refused("--generate-stai", "stai_N.c is not written", remedy="use the LL_ATON interface"),
    _refused("--encrypt-weights", "weights would stay readable", remedy="remove it to accept plain weights"),
    _refused("--force-8bits-scale-offset", "it would change results", remedy="remove it"),
    _refused("--continue-on-errors", "errors stop the compile"),
    _refused("--dot-file", "no graph drawing is written", VALUE, "remove it"),
    _refused("--onnx-output", "no ONNX is written", VALUE, "remove it"),
    _refused("--save-mpool-file", "no copy of the pools is written", VALUE, "remove it"),
    _refused("--save-mdesc-file", "there is no machine description here", VALUE, "remove it"),
    _refused("--options-file --load-options", "options stand in the profile", VALUE, "copy them there"),
    *(
        _refused(names, _SETS, VALUE, remedy)
        for names, remedy in (
            ("--network-name", "use --name"),
            ("--load-mdesc -t --load-mdesc-file", "software epochs need no machine description"),
            ("--load-cdesc --load-cdesc-file", "software epochs need no machine description"),
            ("--onnx-input -i", "use --model"),
            ("--json-quant-file", "the quantization stands in the .tflite"),
            ("--c-output -g", "use --name"),
            ("--out-dir-prefix", "use --output"),
        )
    ),
)


def find(table: tuple[Option, ...], name: str) -> Option | None:
    """Find an option by name."""
    return next((option for option in table if name in option.names), None)


def of_profile() -> tuple[Option, ...]:
    """Options of profiles that have the same meaning on the command line."""
    taken = set(spellings(GENERATE))
    free = (option._replace(names=tuple(name for name in option.names if name not in taken)) for option in PROFILE)
    return tuple(option for option in free if option.names)


def spellings(table: tuple[Option, ...]) -> list[str]:
    """All names of options."""
    return [name for option in table for name in option.names]


class Choices(NamedTuple):
    """The choices of a profile."""

    virtual_pools: bool = False  # adjoining pools form one
    all_buffers: bool = False  # fill the table of internal buffers
    keep_inputs: bool = False  # no input is ever overwritten
    notes: tuple[str, ...] = ()  # options without effect here, each with the reason


def _lookup(word: str) -> tuple[Option | None, str | None]:
    """The option of a word, and a value written into the same word."""
    exact = find(PROFILE, word)
    if exact is not None:
        return exact, None
    name, equals, value = word.partition("=")
    if equals and word.startswith("--"):
        return find(PROFILE, name), value
    # -O3
    if len(word) == 3 and word.startswith("-O") and word[2].isdigit():
        return find(PROFILE, "-O"), word[2]
    return None, None


def choices(words: Sequence[str], where: str = "profile options") -> Choices:
    """Read the options of a profile. NeuralArtError: one is refused, unknown, or lacks its value."""
    seen: set[str] = set()
    notes: dict[str, str] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        option, value = _lookup(word)
        if option is None:
            if not word.startswith("-"):
                raise NeuralArtError(f"'{word}' belongs to no option", where=where)
            raise NeuralArtError(f"unknown option '{word}'", where=where, hint=_near(word))
        if value is None and option.takes != FLAG:
            if rest and not rest[0].startswith("-"):
                value = rest.pop(0)
            elif option.takes != MAYBE:
                raise NeuralArtError(f"{word} lacks its value", where=where)
        elif value is not None and option.takes == FLAG:
            raise NeuralArtError(f"{option.name} takes no value, but has '{value}'", where=where)
        if value is not None and option.choices and value not in option.choices:
            allowed = ", ".join(option.choices)
            raise NeuralArtError(f"{option.name} is '{value}'", where=where, hint=f"allowed: {allowed}")
        if option.effect == REFUSED:
            raise NeuralArtError(f"{word} is refused: {option.why}", where=where, hint=option.remedy)
        if option.effect == NO_EFFECT:
            notes[option.name] = f"{option.name}{f' {value}' if value else ''}: {option.why}"
        seen.add(option.name)
    return Choices(
        virtual_pools="--enable-virtual-mem-pools" in seen,
        all_buffers="--all-buffers-info" in seen,
        keep_inputs="--Opreserve-inputs" in seen,
        notes=tuple(notes.values()),
    )


def _near(word: str) -> str:
    """Only what is near: the whole list is long."""
    return f"{similar(word, spellings(PROFILE), cutoff=0.5)} docs/reference/generate-options.md lists them all".strip()
