#!/usr/bin/env python3
"""What the kernels cost: instructions of a software epoch by its products and outputs, fitted on measured epochs.

    python benchmarks/cost_model.py [--work FOLDER] [--keep] [--write]

Builds every model below models/ for one virtual board, counts the instructions of each epoch with its first golden
vector, as `neuralart profile VARIANT --on virtual` does, and fits a line for each kernel. Each model is left out once
and estimated by what was fitted on the others: that is the error which is printed, and published with the estimate.
`--write` replaces the file in the package. See benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPO / "site_scons"))

import numpy as np  # noqa: E402

from neuralart.vendor.c_info import read as c_info  # noqa: E402
from neuralart_insight.profiling import cost  # noqa: E402
from neuralart_insight.profiling.instructions import count_instructions  # noqa: E402

BOARD = "stm32n6570-dk"
# As the machine's cpu_flags and the build's optimization are.
CORE = "cortex-m33 code, plain C, gcc {gcc} -O2"
MODELS = tuple(sorted(path.stem for path in (REPO / "models").glob("*/*.tflite")))


@dataclass(frozen=True)
class Sample:
    """An epoch that was measured."""

    model: str
    epoch: int
    kernel: str
    terms: tuple[int, int, int]  # Multiply-accumulate operations, output elements, 1
    instructions: int


def make_tree(top: Path) -> None:
    """This project's own sources, and a variant for each model."""
    for folder in ("site_scons", "firmware", "models"):
        shutil.copytree(REPO / folder, top / folder, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    shutil.copy2(REPO / "SConstruct", top / "SConstruct")
    networks = {m: {"model": f"models/{m}/{m}.tflite", "vectors": f"models/{m}/vectors"} for m in MODELS}
    variants = {f"cost-{m}": {"title": m, "board": BOARD, "network": m} for m in MODELS}
    made = {"schema": 1, "networks": networks, "variants": variants}
    (top / "variants.yaml").write_text(json.dumps(made, indent=1) + "\n", "utf-8")  # JSON is YAML


def measured(top: Path) -> list[Sample]:
    """Every epoch of every model."""
    words = [sys.executable, "-m", "SCons", "-Q", "-s", *(f"cost-{model}" for model in MODELS)]
    subprocess.run(words, cwd=top, check=True, stdout=sys.stderr)
    samples = []
    for model in MODELS:
        (path,) = top.glob(f"build/networks/**/{model}_c_info.json")
        info = c_info.read(path)
        nodes, buffers = {each.number: each for each in info.epochs}, {each.id: each for each in info.buffers}
        found = count_instructions(top / "variants.yaml", top / "build", f"cost-{model}", "", "virtual", 1)
        for epoch in found.epochs:
            kernel, terms = cost.terms_of(nodes[epoch.id], buffers) or ("", (0, 0, 0))
            samples.append(Sample(model, epoch.id, kernel, terms, epoch.instructions))
    return samples


def line_of(samples: Sequence[Sample]) -> tuple[float, ...]:
    """Coefficients of the terms, none below 0, that make the relative errors of the samples smallest.

    Every choice of terms is tried, which for three of them is quick and exact. As many terms as there are different
    samples would fit anything, so at least one sample more is asked for, unless there is one term.
    """
    size = np.array([sample.instructions for sample in samples], float)
    terms = np.array([sample.terms for sample in samples], float) / size[:, None]
    different = len({sample.terms for sample in samples})
    best: tuple[float, tuple[float, ...]] | None = None
    for count in range(1, max(1, min(3, different - 1)) + 1):
        for chosen in itertools.combinations(range(3), count):
            part = terms[:, chosen]
            if np.linalg.matrix_rank(part) < count:
                continue
            found = np.linalg.lstsq(part, np.ones(len(samples)), rcond=None)[0]
            error = float(np.sum((part @ found - 1) ** 2))
            if found.min() >= 0 and (best is None or error < best[0] - 1e-9):
                full = [0.0, 0.0, 0.0]
                for index, value in zip(chosen, found, strict=True):
                    full[index] = float(value)
                best = error, tuple(full)
    assert best is not None  # One term of an epoch that executes something always fits somehow
    return best[1]


def fitted(samples: Iterable[Sample]) -> dict[str, tuple[float, ...]]:
    """The line of each kernel."""
    by_kernel: dict[str, list[Sample]] = {}
    for sample in samples:
        by_kernel.setdefault(sample.kernel, []).append(sample)
    return {kernel: line_of(found) for kernel, found in sorted(by_kernel.items())}


def estimated(lines: dict[str, tuple[float, ...]], sample: Sample) -> float:
    return sum(factor * term for factor, term in zip(lines[sample.kernel], sample.terms, strict=True))


def rounded(values: Iterable[float]) -> list[float]:
    return [float(f"{value:.4g}") for value in values]


@dataclass(frozen=True)
class LeftOut:
    """A model, estimated by what was fitted on the others."""

    model: str
    epochs: int
    known: int  # Epochs whose kernel the others have
    error: float  # Of the sum of those, as a share of the measured sum
    epoch_errors: tuple[float, ...]  # The same of each

    def row(self) -> str:
        middle, most = statistics.median(map(abs, self.epoch_errors)), max(map(abs, self.epoch_errors))
        return f"| {self.model} | {self.known} of {self.epochs} | {self.error:+.1%} | {middle:.1%} | {most:.1%} |"


def left_out(samples: Sequence[Sample], model: str) -> LeftOut:
    lines = fitted(each for each in samples if each.model != model)
    own = [each for each in samples if each.model == model]
    known = [each for each in own if each.kernel in lines]
    found = [estimated(lines, each) for each in known]
    whole = sum(each.instructions for each in known)
    errors = tuple(value / each.instructions - 1 for value, each in zip(found, known, strict=True))
    return LeftOut(model, len(own), len(known), sum(found) / whole - 1, errors)


def report(samples: list[Sample], core: str, write: bool) -> None:
    """The errors, the table of docs/reference/profile.md, and the file of the package."""
    checked = [left_out(samples, model) for model in MODELS]
    print("| left out | epochs | sum | an epoch, median | an epoch, most |\n|---|---|---|---|---|")
    for each in checked:
        print(each.row())
    in_several = {
        each.kernel for each in samples if any(o.kernel == each.kernel and o.model != each.model for o in samples)
    }
    print("\n| kernel | epochs | of models | a product | an output | a call |\n|---|---|---|---|---|---|")
    lines = {kernel: rounded(line) for kernel, line in fitted(samples).items()}
    for kernel, line in lines.items():
        own = [each for each in samples if each.kernel == kernel]
        note = "" if kernel in in_several else " (never checked: not estimated)"
        print(
            f"| {kernel}{note} | {len(own)} | {len({each.model for each in own})} | {line[0]} | {line[1]} | {line[2]} |"
        )
    errors = sorted(abs(error) for each in checked for error in each.epoch_errors)
    data = {
        "core": core,
        "models": list(MODELS),
        "error": float(f"{max(abs(each.error) for each in checked):.3f}"),
        "epoch_error": float(f"{errors[-(-len(errors) * 9 // 10) - 1]:.3f}"),
        "kernels": {kernel: line for kernel, line in lines.items() if kernel in in_several},
    }
    print(f"\nlargest error of a sum {data['error']:.1%}, nine of ten epochs {data['epoch_error']:.1%}")
    if write:
        cost.FILE.write_text(json.dumps(data, indent=1) + "\n", "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--work", type=Path, help="build there (default: a temporary folder)")
    parser.add_argument("--keep", action="store_true", help="leave the tree")
    parser.add_argument("--write", action="store_true", help=f"replace {cost.FILE.name}")
    args = parser.parse_args()
    top = args.work or Path(tempfile.mkdtemp(prefix="neuralart-cost-"))
    try:
        top.mkdir(parents=True, exist_ok=True)
        make_tree(top)
        samples = measured(top)
    finally:
        if not args.keep:
            shutil.rmtree(top, ignore_errors=True)
    gcc = subprocess.run(["arm-none-eabi-gcc", "-dumpversion"], check=True, capture_output=True, text=True).stdout
    report(samples, CORE.format(gcc=gcc.strip()), args.write)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
