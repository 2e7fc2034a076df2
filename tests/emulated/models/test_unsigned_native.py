"""uint8 models against LiteRT's reference kernels: the random graphs of every operator once more, as uint8."""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import oracle
from support.cases import cases_numbers
from support.cases.operator_cases import OPERATORS, VECTORS, Case
from support.cases.unsigned_cases import EXTRA, SIGNED_ONLY, UnsignedWriter, unsigned
from support.host_c import native
from support.host_c.native import compiled

SEED = 26
MODELS, BRANCHES = 2, 100
FEW = 1, 25  # of what was compared in the long run, all of it, and is one table
LONG = bool(os.environ.get("NEURALART_TORTURE"))
DRAWS = {name: draw for name, draw in (OPERATORS | EXTRA).items() if name not in SIGNED_ONLY}

pytestmark = [
    pytest.mark.hostcc,
    pytest.mark.long,
    pytest.mark.skipif(bool(native.unavailable()), reason=native.unavailable()),
]


def drawn(names: Sequence[str], *key: int) -> tuple[list[Case], bytes]:
    rng = np.random.default_rng([SEED, zlib.crc32(names[0].encode()), *key])
    writer = UnsignedWriter(rng)
    cases = [unsigned(DRAWS[name], rng, writer) for name in names]
    return cases, writer.finish([i for c in cases for i in c.inputs], [o for c in cases for o in c.outputs])


@pytest.mark.torture
@pytest.mark.parametrize("operator", DRAWS)
def test_bytes_are_those_of_litert(operator: str, tmp_path: Path) -> None:
    count, branches = (MODELS, BRANCHES) if LONG or operator not in cases_numbers.UNSIGNED else FEW
    models = [drawn([operator] * branches, number) for number in range(count)]
    folders = [compiled(tmp_path, f"case{number}", model) for number, (_, model) in enumerate(models)]
    found: list[str] = []
    varied = 0
    for (cases, model), network in zip(models, native.build(folders, tmp_path), strict=True):
        inputs = [[value for case in cases for value in case.vectors[v]] for v in range(VECTORS)]
        want = oracle.run(model, inputs)
        varied += sum(len(np.unique(value)) > 2 for value in want[0])
        owners = [case for case in cases for _ in case.outputs]
        for expected, actual in zip(want, network.run(inputs), strict=True):
            for case, a, b in zip(owners, expected, actual, strict=True):
                assert a.dtype == b.dtype
                if a.tobytes() != b.tobytes():
                    at = int(np.flatnonzero(a.ravel() != b.ravel())[0])
                    found.append(f"{case.text} [{at}] expected {a.ravel()[at]} got {b.ravel()[at]}")
    assert not found, f"{len(found)}:\n" + "\n".join(found[:5])
    assert varied > count * branches * 0.3, varied


def test_kernels_have_defined_behavior(tmp_path: Path) -> None:
    models = {f"defined{n}": drawn([*DRAWS], n) for n in range(10)}
    own = {"allocate_inputs": False, "allocate_outputs": False}
    folders = [compiled(tmp_path, name, model, **own) for name, (_, model) in models.items()]
    for network, (cases, _) in zip(native.build(folders, tmp_path, sanitize=True), models.values(), strict=True):
        network.run([[value for case in cases for value in case.vectors[v]] for v in range(VECTORS)])
