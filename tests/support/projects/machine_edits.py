"""What the machine of tests/torture/test_incremental_machine.py may edit: keys, texts, programs of the toolchain."""

from __future__ import annotations

import shutil
from pathlib import Path

from support.projects import compile_answers

MODEL = "models/digits/digits.tflite"
POOLS = "models/digits/pools/internal.mpool"
_DATA = "site_scons/neuralart/boards/data"
_PACKAGE = "site_scons/neuralart"
# Keys of variants.yaml and what they may say; the first of each is the default, which is left out.
NETWORK_KEYS = {
    "model": [MODEL, "models/heatmap/heatmap.tflite"],
    "compiler": ["", "auto", "reference", "stedgeai"],
    "profile": ["", "{add: [--all-buffers-info]}"],
    "pair": ["", "profiling"],
    "memory": ["", "smallest"],
    "input_data_type": ["", "float32", "int8"],
    "output_data_type": ["", "float32"],
    "inputs_ch_position": ["", "chfirst"],
    "outputs_ch_position": ["", "chlast"],
    "allocate_inputs": ["", "false"],
    "allocate_outputs": ["", "false"],
    "initializers": ["", "[xSPI2]", "[]"],
    "vectors": ["", "models/digits/vectors"],
    "check": ["", "{max_lsb: 1}"],
    "budgets": ["", "{max_weights: 8M}", "{max_weights: 16}"],
    "options": ["", "[--enable-virtual-mem-pools]"],
    "extra_options": ["", "[--new]"],
    "app_config": ["", "{use_case: image_classification, class_names: [a, b, c, d, e, f, g, h, i, j]}"],
}
VARIANT_KEYS = {
    "title": ["One", "'Two $(x) `y`'", "\"Drei 'vier'\""],
    "board": ["stm32n6570-dk", "nucleo-n657x0-q"],
    "machine": ["", "silicon", "unicorn"],
    "allow_reference_on_hardware": ["", "true"],
    "networks": ["network: digits", "networks: [digits, digits_b]"],
    "application": ["", "reference"],
    "toolchain": ["", "{libc: picolibc}", "{version: '1'}"],
    "optimization": ["", "-O1", "-Os"],
    "kernels": ["", "mve", "dsp"],
    "sign": ["", "{type: fsbl}", "{header_version: '2.1'}"],
    "defines": ["", "[TORTURE=1]", "['TORTURE=2', 'B=\"x y\"']"],
    "slots": ["", "{application: 0x70120000}"],
    "reserved": ["", "[{name: nvs, address: 0x70090000, size: 64K}]"],
    "dead_bank": ["", "zeros"],
    "patch": ["", "{aspect_ratio: crop}"],
    # Both stand below `overrides:`.
    "strategies": ["", "link", "external-loader"],
    "mpool": ["", POOLS],
}
# Of ``relocatable:`` of the second variant.
MODEL_KEYS = {
    "split": ["", "true"],
    "secure": ["", "false"],
    "debug_info": ["", "false"],
    "layout": ["", "vendor"],
    "modes": ["", "[copy]"],
    "clear": ["", "true"],
    "exec_ram": ["", "300K"],
    "name": ["", "other"],
    "gen_c_file": ["", "true"],
}
# Keys that the machine does not draw, and why.
LEFT_OUT = {
    "input": "only runs read it",
    "labels": "only runs read them",
    "cut": "names of one model's tensors, of two that are drawn: tests/unit/reference/test_cut.py",
    "input_shapes": "of a model that leaves sizes open: tests/unit/compilers/test_open_shapes.py",
    "min_cos": "only `neuralart validate` reads it",
    "min_accuracy": "only `neuralart validate` reads it",
    "fsbl": "a file of the vendor's: tests/build/programs/test_signing_build.py",
    "dispatch_weights": "of a network on a core: tests/build/programs/test_imported_h7.py",
    "failures": "only ST Edge AI Core reads it: tests/build/compiled/test_vendor_failures.py",
    "timeout": "it changes no file: tests/graph/test_compilers.py, tests/build/compiled/test_stedgeai_compile.py",
    "overrides": "it is there whenever `mpool` is",
    "network": "drawn with `networks`",
    "runner": "only what is done with a real board reads it",
    "relocatable": "the second variant has it; its keys are drawn",
    "ecblob_in_params": "our compiler makes no blobs: tests/build/compiled/test_vendor_relocatable.py",
    "pack_dir": "an installation of the vendor's: tests/build/compiled/test_vendor_relocatable.py",
    "boot": "it does not go with every `slots`: tests/build/programs/test_boot_modes.py",
    "also_on": "a second board needs pools in external memories: tests/build/compiled/test_relocatable_variants.py",
}
# What may stand in a file instead of what: each changes something that is built.
SOURCES = [
    (f"{_DATA}/stm32n6570-dk.yaml", ["application: 0x70100000", "application: 0x70110000"]),
    (f"{_DATA}/pools/stm32n6570-dk.mpool", ["0x70380000", "0x70390000", "0x703a0000"]),
    (POOLS, ['"value": "0x342e0000"', '"value": "0x342e1000"']),
    ("firmware/app/main.c", ["  host_link_serve();", '  (void)"more";\n  host_link_serve();']),
    ("firmware/app/main.c", ['"reference application"', '"the reference application"']),
    ("firmware/app/host_link.h", ["E_PARAMS = 10", "E_PARAMS = 11"]),
    ("firmware/runtime/kernels/softmax.c", ["#include", "\n\n#include"]),
]
# Code of the package: each changes what some step writes.
CODE = [
    (f"{_PACKAGE}/text/ihex.py", ["\n_ROW = 32", "\n_ROW = 16"]),
    (f"{_PACKAGE}/memory/startup/npu_memory_init.h", ["in them. Generated. */", "in them. */"]),
    ("site_scons/neuralart_reference/planning/lifetimes.py", ["\nALIGN = 16", "\nALIGN = 32"]),
    ("site_scons/neuralart_reference/emit/network_c.py", ["Do not edit: changes are lost.", "Do not edit."]),
    ("site_scons/neuralart_reference/emit/ctext.py", ["per_line: int = 12", "per_line: int = 8"]),
    ("site_scons/neuralart_reference/emit/report.py", [":.3f} kB", ":.2f} kB"]),
    (f"{_PACKAGE}/text/sizes.py", [":.1f} KiB", ":.2f} KiB"]),
    (f"{_PACKAGE}/flashing/plan.py", ['"writes": rows}, indent=1)', '"writes": rows}, indent=2)']),
    (f"{_PACKAGE}/memory/layout/identity.py", ["\n_CHECKED_FROM = 16", "\n_CHECKED_FROM = 12"]),
]


def exchange(path: Path, choices: list[str], number: int) -> None:
    """One of the texts that are possible at a place instead of the one that is there."""
    text = path.read_text("utf-8")
    now = max((choice for choice in choices if choice in text), key=len)
    path.write_text(text.replace(now, choices[number % len(choices)], 1), "utf-8")


# The answers of the real compiler are kept, by what it is asked: a clean build then takes seconds. What SCons asks, it
# asks in full. Objects do not depend on the tree's place: tests/build/steps/test_incremental.py holds that.
_GCC = """#!/bin/sh
if [ "$1" = -dumpfullversion ]; then {version}; exit; fi
case " $* " in
*" -c "*" -o "* | *" -o "*" -c "*) ;;
*) exec {gcc} {more} "$@" ;;
esac
last= out= listing= keyed=
for word; do
  shift
  case $last in
  -o) out=$word ;;
  -MF) listing=$word ;;
  *)
    case $word in
    -o | -MF) ;;
    -[DI]*) set -- "$@" "$word" ;; # what it does is seen in the text
    *) set -- "$@" "$word" && keyed="$keyed|$word" ;;
    esac ;;
  esac
  last=$word
done
if [ "$listing" ]; then
  # The list of headers is written by the preprocessor.
  text=$({gcc} {more} "$@" -MF "$listing" -MQ "$out" -E 2>/dev/null) || exec {gcc} {more} "$@" -MF "$listing" -o "$out"
else
  text=$({gcc} {more} "$@" -E 2>/dev/null) || exec {gcc} {more} "$@" -o "$out"
fi
key=$(printf '%s\\n' "{gcc} {more} $keyed" "$text" | sed "s|$PWD|.|g" | sha256sum | cut -c1-64)
if [ -f "{kept}/$key" ]; then cp "{kept}/$key" "$out"; exit; fi
if [ "$listing" ]; then set -- "$@" -MF "$listing"; fi
{gcc} {more} "$@" -o "$out" || exit
cp "$out" "{kept}/$key.$$" && mv "{kept}/$key.$$" "{kept}/$key"
"""


class Toolchain:
    """Folders with a compiler each: the real one, with other answers.

    Attributes:
        folder: The one that is in use.
    """

    def __init__(self, base: Path, prefix: str = "arm-none-eabi-") -> None:
        self._base, self._prefix = base, prefix
        found = shutil.which(f"{prefix}gcc")
        assert found is not None
        self._gcc = Path(found)
        self._kept = compile_answers.folder or base / "kept"
        self._kept.mkdir(parents=True, exist_ok=True)
        self.choose("first")

    def choose(self, folder: str, version: str = "", more: str = "") -> None:
        """Another folder, or the compiler of this one replaced; ``more``: an option that it adds, another code."""
        self.folder = self._base / folder
        self.folder.mkdir(parents=True, exist_ok=True)
        for program in self._gcc.parent.glob(f"{self._prefix}*"):
            link = self.folder / program.name
            if program != self._gcc and not link.is_symlink():
                link.symlink_to(program)
        says = f"echo {version}" if version else f"{self._gcc} -dumpfullversion"
        text = _GCC.format(version=says, gcc=self._gcc, more=more, kept=self._kept)
        program = self.folder / self._gcc.name
        # A replaced compiler has another time; one that is the same has not been replaced.
        if not program.is_file() or program.read_text("utf-8") != text:
            new = program.with_suffix(".new")
            new.write_text(text, "utf-8")
            new.chmod(0o755)
            new.replace(program)

    @property
    def identity(self) -> str:
        """What decides its answers."""
        return f"{self.folder.name} {(self.folder / self._gcc.name).read_text('utf-8')}"
