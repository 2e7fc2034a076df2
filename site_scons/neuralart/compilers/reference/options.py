"""Every option of ``stedgeai generate`` and of a profile: honored, refused, or without effect here.

One table feeds the command line, the reader of profile options and docs/reference/generate-options.md. Nothing is ever
ignored silently: an option without effect is noted in the report, anything else is refused with the reason.
"""

from __future__ import annotations

from typing import NamedTuple

from neuralart.network.targets import CPU, NPU

HONORED = "honored"
REFUSED = "refused"
NO_EFFECT = "no effect"

FLAG = "flag"
VALUE = "value"
MAYBE = "optional value"


class Option(NamedTuple):
    """One option."""

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


_MAPPING = "it steers the mapping to an NPU; here every epoch is software"
_BUFFERS = "the application provides the activation buffers"
_VALIDATE = "it belongs to the validate command"
_SETS = "the command line of generate sets it"

GENERATE: tuple[Option, ...] = (
    Option(("--model", "-m"), HONORED, "the .tflite to compile", VALUE, metavar="FILE"),
    Option(
        ("--target",),
        HONORED,
        "what to compile for: stm32n6, mps3-an547 (NPU flow), stm32h7, mps2-an500 (CPU flow)",
        VALUE,
        metavar="NAME",
    ),
    Option(("--name", "-n"), HONORED, "C name and file prefix (default network)", VALUE, metavar="NAME"),
    Option(("--output", "-o"), HONORED, "folder of the results (default ./st_ai_output)", VALUE, metavar="DIR"),
    Option(
        ("--st-neural-art",),
        HONORED,
        "[profile@]file.json, profile-NAME of the board's own file, or nothing for its default",
        MAYBE,
        "the memory-pool file of CPU targets is --memory-pool FILE",
        metavar="PROFILE",
        flow=NPU,
    ),
    Option(
        ("--mpool",),
        HONORED,
        "memory-pool file instead of the profile's (own option)",
        VALUE,
        "CPU targets: --memory-pool FILE",
        metavar="FILE",
        flow=NPU,
    ),
    Option(
        ("--memory-pool",),
        HONORED,
        "memory-pool file (JSON) of the activations; without it they are one buffer",
        VALUE,
        "NPU targets: --mpool FILE or a profile",
        metavar="FILE",
        flow=CPU,
    ),
    Option(
        ("--split-weights",),
        HONORED,
        "each constant is a C array of its own",
        remedy="NPU targets: the pool file decides where weights go",
        flow=CPU,
    ),
    Option(
        ("--binary",),
        HONORED,
        "the weights in N_data.bin too",
        remedy="NPU targets: weights are always in N_atonbuf.<pool>.raw",
        flow=CPU,
    ),
    Option(
        ("--initializers",),
        HONORED,
        "pools whose initializer is declared, comma separated, or none (own option)",
        VALUE,
        "CPU targets: weights are a C array",
        metavar="POOLS",
        flow=NPU,
    ),
    Option(("--type", "-t"), HONORED, "type of the model: tflite", VALUE, choices=("tflite",), metavar="TYPE"),
    Option(
        ("--input-data-type",),
        HONORED,
        "float32, int8 or uint8, int32 for an input that is int32 anyway; one for all inputs, or one for each, "
        "comma separated",
        VALUE,
        metavar="TYPES",
    ),
    Option(("--output-data-type",), HONORED, "likewise for the outputs", VALUE, metavar="TYPES"),
    Option(
        ("--inputs-ch-position",),
        HONORED,
        "chlast or chfirst; refused where it would need a transposition",
        VALUE,
        metavar="POSITIONS",
    ),
    Option(("--outputs-ch-position",), HONORED, "likewise for the outputs", VALUE, metavar="POSITIONS"),
    Option(("--no-inputs-allocation",), HONORED, "the application provides the input buffers"),
    Option(("--no-outputs-allocation",), HONORED, "the application provides the output buffers"),
    Option(("--allocate-inputs",), HONORED, "the default; refused together with --no-inputs-allocation"),
    Option(("--allocate-outputs",), HONORED, "the default; refused together with --no-outputs-allocation"),
    Option(("--all-buffers-info",), HONORED, "as in a profile: relocatable models need it (own option)", flow=NPU),
    Option(("--no-report",), HONORED, "write no N_generate_report.txt"),
    Option(
        ("--verbosity", "-v"), HONORED, "0 to 3: how much is printed (default 1)", VALUE, choices=("0", "1", "2", "3")
    ),
    Option(("--quiet",), HONORED, "print nothing but errors"),
    Option(("--workspace", "-w"), NO_EFFECT, "this compiler needs no workspace and writes none", VALUE, metavar="DIR"),
    Option(("--no-workspace",), NO_EFFECT, "this compiler needs no workspace"),
    Option(
        ("--enable-epoch-controller", "--eec"),
        NO_EFFECT,
        "there is no hardware epoch to put into a blob: no N_ecblobs.h",
    ),
    Option(
        ("--optimization", "-O"),
        NO_EFFECT,
        "the placement always aims at little memory",
        VALUE,
        choices=("time", "ram", "balanced"),
    ),
    Option(
        ("--compression", "-c"),
        NO_EFFECT,
        "weights stay as they are, which lossless allows",
        VALUE,
        choices=("lossless", "none"),
    ),
    Option(("--no-onnx-optimizer",), NO_EFFECT, "only .tflite is read"),
    Option(("--use-onnx-simplifier",), NO_EFFECT, "only .tflite is read"),
    Option(("--prefetch-compressed-weights",), NO_EFFECT, "no weight is compressed"),
    Option(
        ("--c-api",),
        HONORED,
        "legacy: the LL_ATON interface, on CPU targets ai_<name>_run and the like; st-ai is not written",
        VALUE,
        choices=("legacy",),
    ),
    Option(("--allocate-activations",), REFUSED, _BUFFERS, remedy="NPU targets: the pool file decides where they go"),
    Option(("--allocate-states",), REFUSED, "no operator has a state"),
    Option(("--input-memory-alignment",), REFUSED, _BUFFERS, VALUE, "inputs are aligned to 32 bytes in them"),
    Option(("--output-memory-alignment",), REFUSED, _BUFFERS, VALUE, "outputs are aligned to 32 bytes in them"),
    Option(("--cut-input-tensors",), REFUSED, "models are compiled whole", VALUE, "cut the model before"),
    Option(("--cut-output-tensors",), REFUSED, "models are compiled whole", VALUE, "cut the model before"),
    Option(("--cut-input-layers",), REFUSED, "models are compiled whole", VALUE, "cut the model before"),
    Option(("--cut-output-layers",), REFUSED, "models are compiled whole", VALUE, "cut the model before"),
    Option(
        ("--fix-parametric-shapes",), REFUSED, "shapes must be fixed in the model", VALUE, "export it with fixed shapes"
    ),
    Option(("--custom",), REFUSED, "custom layers are not supported", VALUE),
    Option(("--quantize", "-q"), REFUSED, "models are compiled as they are", MAYBE, "quantize the model before"),
    Option(("--hsp",), REFUSED, "there is no such accelerator here", MAYBE),
    Option(("--ihex",), REFUSED, "raw initializers only", MAYBE, "convert the .raw, or let the build do it"),
    Option(("--address",), REFUSED, "the pool file gives all addresses", VALUE, "set the offset of the pool"),
    Option(("--copy-weights-at",), REFUSED, "the pool file gives all addresses", VALUE, "set the offset of the pool"),
    Option(("--no-c-files",), REFUSED, "the C is what this compiler is for"),
    Option(("--dll",), REFUSED, "no host library is made"),
    Option(("--lib",), REFUSED, "no library is copied", VALUE),
    Option(("--relocatable", "-r", "--reloc"), REFUSED, "generate does not make relocatable images", MAYBE),
    *(
        Option((name,), REFUSED, _VALIDATE, takes)
        for name, takes in (
            ("--mode", VALUE),
            ("--desc", VALUE),
            ("--val-json", VALUE),
            ("--valinput", VALUE),
            ("--valoutput", VALUE),
            ("--batch-size", VALUE),
            ("--range", VALUE),
            ("--full", FLAG),
            ("--io-only", FLAG),
            ("--save-csv", FLAG),
            ("--classifier", FLAG),
            ("--no-check", FLAG),
            ("--no-exec-model", FLAG),
            ("--seed", VALUE),
        )
    ),
)

PROFILE: tuple[Option, ...] = (
    Option(("--enable-virtual-mem-pools",), HONORED, "adjoining writable pools of equal properties form one pool"),
    Option(("--all-buffers-info",), HONORED, "the table of internal buffers is filled"),
    Option(("--Opreserve-inputs",), HONORED, "input buffers are not reused for other tensors"),
    Option(("--native-float",), NO_EFFECT, "float32 is always computed as such"),
    Option(("--mvei",), NO_EFFECT, "the kernels are compiled for the board's own CPU"),
    Option(("--cache-maintenance",), NO_EFFECT, "the CPU alone touches the buffers during an inference"),
    Option(("--enable-epoch-controller",), NO_EFFECT, "there is no hardware epoch to put into a blob: no N_ecblobs.h"),
    Option(("--ec-single-epoch",), NO_EFFECT, "there is no epoch-controller blob"),
    Option(("--optimization", "-O"), NO_EFFECT, _MAPPING, VALUE, choices=("0", "1", "2", "3")),
    Option(("--Os", "-M", "-Os"), NO_EFFECT, "the placement always aims at little memory"),
    Option(("--Oauto", "-A"), NO_EFFECT, _MAPPING),
    Option(("--d-auto",), NO_EFFECT, _MAPPING, MAYBE),
    Option(("--Oauto-sched",), NO_EFFECT, _MAPPING),
    Option(("--Oalt-sched",), NO_EFFECT, _MAPPING),
    Option(("--Ocache-opt",), NO_EFFECT, _MAPPING),
    Option(("--Omax-ca-pipe",), NO_EFFECT, _MAPPING, VALUE),
    Option(("--Oconv-split-cw",), NO_EFFECT, _MAPPING, MAYBE),
    Option(("--Oconv-split-kw",), NO_EFFECT, _MAPPING, MAYBE),
    Option(("--Oconv-split-stripe",), NO_EFFECT, _MAPPING, MAYBE),
    Option(("--Oshuffle-dma",), NO_EFFECT, _MAPPING),
    Option(("--no-hw-sw-parallelism",), NO_EFFECT, _MAPPING),
    Option(("--expand-softmax",), NO_EFFECT, _MAPPING),
    Option(("--mapping-recap",), NO_EFFECT, "the report always lists every epoch"),
    Option(("--sched-stats",), NO_EFFECT, "the report always lists every epoch"),
    Option(("--num-ops-info",), NO_EFFECT, "the report always counts operations"),
    # Half of the profiles in the field have it: what it lists does not exist here, and nothing reads it in a build.
    Option(
        ("--csv-file",),
        NO_EFFECT,
        "no CSV is written: it lists NPU cycles and bus traffic, of which there are none",
        VALUE,
    ),
    Option(("--generate-stai",), REFUSED, "stai_N.c is not written", remedy="use the LL_ATON interface"),
    Option(("--encrypt-weights",), REFUSED, "weights would stay readable", remedy="remove it to accept plain weights"),
    Option(("--force-8bits-scale-offset",), REFUSED, "it would change results", remedy="remove it"),
    Option(("--continue-on-errors",), REFUSED, "errors stop the compile"),
    Option(("--dot-file",), REFUSED, "no graph drawing is written", VALUE, "remove it"),
    Option(("--onnx-output",), REFUSED, "no ONNX is written", VALUE, "remove it"),
    Option(("--save-mpool-file",), REFUSED, "no copy of the pools is written", VALUE, "remove it"),
    Option(("--save-mdesc-file",), REFUSED, "there is no machine description here", VALUE, "remove it"),
    Option(("--options-file", "--load-options"), REFUSED, "options stand in the profile", VALUE, "copy them there"),
    *(
        Option(names, REFUSED, _SETS, VALUE, remedy)
        for names, remedy in (
            (("--load-mpool", "--load-mpool-file"), "use memory_pool of the profile, or --mpool"),
            (("--network-name",), "use --name"),
            (("--load-mdesc", "-t", "--load-mdesc-file"), "software epochs need no machine description"),
            (("--load-cdesc", "--load-cdesc-file"), "software epochs need no machine description"),
            (("--onnx-input", "-i"), "use --model"),
            (("--json-quant-file",), "the quantization stands in the .tflite"),
            (("--c-output", "-g"), "use --name"),
            (("--output-info-file",), "it is always N_c_info.json"),
            (("--out-dir-prefix",), "use --output"),
        )
    ),
)


def find(table: tuple[Option, ...], name: str) -> Option | None:
    """The option of a name."""
    return next((option for option in table if name in option.names), None)


def spellings(table: tuple[Option, ...]) -> list[str]:
    """All names."""
    return [name for option in table for name in option.names]


def _rows(table: tuple[Option, ...], effect: str) -> list[str]:
    lines = []
    for option in sorted(
        (option for option in table if option.effect == effect), key=lambda option: option.name.lower()
    ):
        names = ", ".join(f"`{name}`" for name in option.names)
        value = {FLAG: "", VALUE: "value", MAYBE: "value or none"}[option.takes]
        if option.choices:
            value = ", ".join(f"`{choice}`" for choice in option.choices)
        text = f"{option.flow} targets only: {option.why}" if option.flow else option.why
        text += f"; {option.remedy}" if option.remedy else ""
        lines.append(f"| {names} | {value} | {text} |")
    return lines


def document() -> str:
    """The text of docs/reference/generate-options.md."""
    parts = [
        "# Options of the reference compiler",
        "",
        "`neuralart compile` takes the options of `stedgeai generate`; profiles hold the options of its NPU compiler.",
        "Each is honored, has no effect here (then the report says so), or is refused. Unknown ones are refused too.",
        "",
        "This page is written by `python -m neuralart.compilers.reference.options`; a test compares the two.",
    ]
    for title, table in (("Command line", GENERATE), ("Profile options", PROFILE)):
        for effect, words in ((HONORED, "honored"), (NO_EFFECT, "no effect"), (REFUSED, "refused")):
            parts += [
                "",
                f"## {title}: {words}",
                "",
                "| option | value | what |",
                "|---|---|---|",
                *_rows(table, effect),
            ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    print(document(), end="")
