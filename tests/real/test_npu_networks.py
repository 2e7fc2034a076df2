"""Every public compiled network in NEURALART_NPU_DATA runs on the virtual NPU (docs/reference/npu-networks.md)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from neuralart.vendor.network_c.read import read
from neuralart_insight.profiling.npu_diff import lines_of, npu_diff
from neuralart_virtual.network_c import ecblobs
from neuralart_virtual.npu import described
from neuralart_virtual.npu.controller import Label, decode
from neuralart_virtual.npu.modes import assumable
from neuralart_virtual.npu.run import load
from neuralart_virtual.vectors.npu_outputs import NpuVectors
from neuralart_virtual.virtual_npu import NpuOptions
from support.npu.npu_cases import CASES, DATA
from support.npu.npu_networks import constants, networks

pytestmark = [pytest.mark.long, pytest.mark.skipif(not DATA.is_dir(), reason="NEURALART_NPU_DATA is not set")]
NETWORKS = list(networks(DATA)) if DATA.is_dir() else []


@pytest.mark.parametrize("path", NETWORKS, ids=lambda path: str(path.relative_to(DATA)))
def test_a_network_runs_to_its_end(path: Path, tmp_path: Path, tell: Callable[[str], None]) -> None:
    """All of its epochs; what is not known is assumed, and named."""
    network = read(path, path.name)
    ready = load(path, constants(network, path.parent, tmp_path), assume=assumable())
    rng = np.random.default_rng(5)
    for port in ready.network.inputs:
        ready.set_input(port.row.name, rng.bytes(port.row.bytes))
    done = ready.run()
    labels = [int(epoch.label) for epoch in done.epochs]
    assert labels == sorted(labels) and all(epoch.outputs for epoch in done.epochs)
    hardware = sum(epoch.hardware for epoch in done.epochs)
    # What is told of an epoch without running it is what it did.
    told: dict[str, list[list[int]]] = {}
    for each in described.of_network(network, path.parent):
        assert not each["missing"] and (each["macs"] or 0) <= (each["most_macs"] or 0), each
        if each["kind"] == "HW":
            sides = [sum(s["bytes"] for s in each["streams"] if s["writes"] == w) for w in (False, True)]
            told.setdefault(each["epoch"], []).append([each["macs"], *sides])
    ran: dict[str, list[list[int]]] = {}
    for epoch in done.epochs:
        if epoch.hardware:
            work = epoch.work
            ran.setdefault(epoch.label, []).append([work.products, work.read_bytes, work.written_bytes])
    assert told == ran
    assert done.epochs and set(done.outputs) == {port.row.name for port in network.outputs}
    assumed = ", ".join(note.split(":")[0] for note in done.notes) or "nothing assumed"
    software = len(labels) - hardware
    tell(f"{path.relative_to(DATA)}: {hardware} epochs on the NPU, {software} by software; {assumed}")


def test_programs_decode(tell: Callable[[str], None]) -> None:
    """Every program of every header in the folder, up to its end; equal headers once."""
    programs, epochs, seen = 0, 0, set()
    for path in sorted(DATA.rglob("*_ecblobs.h")):
        text = path.read_bytes()
        # One repository has a placeholder instead of its header.
        if text in seen or b"_ec_blob_" not in text:
            continue
        seen.add(text)
        for blob in ecblobs.read(path).blobs:
            words = ecblobs.moved(blob, dict.fromkeys((r.id for r in blob.relocations), 0), path.name)
            programs += 1
            epochs += sum(isinstance(step, Label) for step in decode(words))
    tell(f"{programs} programs of {len(seen)} headers decode, {epochs} epochs")
    assert programs >= (657 if len(NETWORKS) >= 62 else 9) and epochs > 200


# Compiles of one model by two commits: how many of their epochs pair.
PAIRS = (
    ("AlexGraefe+STM32N6MRE", "185757f739", "b6eeb486e4", "Model/network.c", 8),
    ("ginodecock+fall-guard-od", "2dc48f05cb", "360ab8a8db", "Model/network.c", 67),
    ("PeleAB+STM32N6-FaceRecognition", "38146cdf55", "51b68f7087", "Model/face_recognition.c", 83),
)


@pytest.mark.parametrize(("repository", "a", "b", "name", "paired"), PAIRS)
def test_two_compiles_of_a_model(
    repository: str, a: str, b: str, name: str, paired: int, tell: Callable[[str], None]
) -> None:
    paths = [DATA / f"{repository}@{commit}" / name for commit in (a, b)]
    if not all(path.is_file() for path in paths):
        pytest.skip(f"{repository} is not in NEURALART_NPU_DATA")
    one, other = (described.of_network(read(path, path.name), path.parent) for path in paths)
    record = npu_diff(one, other)
    tell(f"{repository} {a} -> {b}: {lines_of(record)[0]}")
    assert record["paired"] == paired and record["changed"]
    assert lines_of(npu_diff(one, one))[0].endswith(" 0 differ; 0 added, 0 removed")


def test_another_release_of_the_compiler(tell: Callable[[str], None]) -> None:
    """MobileNetV1 by 4.0 and 2.1: values pair the epochs, of which the compilers split and join some."""
    cases = {case.name: case for case in CASES}
    kept = []
    for case in (cases["mobilenet-4.0"], cases["mobilenet-2.1"]):
        if missing := case.missing():
            pytest.skip(missing)
        network = NpuVectors(case.folder / case.network, NpuOptions())
        inputs = [np.random.default_rng(5).bytes(sum(port.bytes for port in network.inputs))]
        kept.append(network.compute(inputs, lambda done: None)[1])
    record = npu_diff(kept[0].described, kept[1].described, kept=kept)
    tell("; ".join(lines_of(record)))
    assert record["paired"] >= 29 and record["values"]["epochs"] >= 28 and record["values"]["steps"] <= 20
