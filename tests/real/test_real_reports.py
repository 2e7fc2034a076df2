"""Reports, c_info.json and the files around them, as real runs left them; NEURALART_REAL_DATA names the folder."""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from datetime import datetime
from pathlib import Path

import pytest

from neuralart.errors import NeuralArtError
from neuralart.vendor import h7_files, mpool, profile
from neuralart.vendor.c_info import read as c_info
from neuralart_insight.inspect import cli as inspector
from neuralart_insight.inspect import kinds, own_kinds
from neuralart_insight.report import offload
from neuralart_insight.vendor import atonn_options, network_csv, q_json
from neuralart_insight.vendor import c_info_checks as c_info_checks
from neuralart_insight.vendor.report import checks as report_checks
from neuralart_insight.vendor.report import read as generate_report
from support.models.vendor_reports import problems

pytestmark = pytest.mark.real

ROOT = Path(os.environ.get("NEURALART_REAL_DATA") or "/nonexistent")


def files(*patterns: str) -> list[Path]:
    found = {path for pattern in patterns for path in ROOT.rglob(pattern)} if ROOT.is_dir() else set()
    return sorted(path for path in found if path.is_file())


def each(*patterns: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("path", files(*patterns), ids=lambda path: path.relative_to(ROOT).as_posix())


def test_there_is_something_to_read():
    assert files("*c_info.json", "*_report.txt", "*.mpool", "*neural*art*.json"), f"none of them below {ROOT}"


@each("*c_info.json")
def test_c_info(path):
    """All of it agrees with itself, and with the standard library's reading."""
    info = c_info.read(path)
    data = json.loads(path.read_bytes())
    assert (len(info.pools), len(info.buffers)) == (len(data.get("memory_pools", [])), len(data.get("buffers", [])))
    assert info.core is not None and info.core.numbers >= (2, 0, 0)
    assert info.schema == "2.0"
    assert problems(info) == ()
    for pool in info.pools:
        assert pool.size is None or pool.used <= pool.size
        assert pool.used >= 0 and (pool.address is None or 0 <= pool.address < 1 << 32)
    if info.flow == "npu":
        assert re.match(r"\d+\.\d+\.\d+(-\d+)?", info.compiler)
        assert info.epochs and all(epoch.kind in ("HW", "EC", "SW", "HYBRID") for epoch in info.epochs)
        assert len({epoch.number for epoch in info.epochs}) == len(info.epochs)
        assert all(pool.address is not None for pool in info.real_pools)
        # Every byte of weights is counted once, wherever virtual pools are listed besides.
        assert info.weights_used + info.activations_used == sum(pool.used for pool in info.pools if not pool.parts)
        share = offload.from_c_info(info)
        assert share.total == len(info.epochs) and share.percent is not None and 0 <= share.percent <= 100
    elif info.flow == "cpu":
        assert info.graph is not None and info.graph.nodes
    else:
        assert not info.pools and not info.epochs


@each("*_report.txt")
def test_report(path):
    """The blocks that are there are understood to the last line, and their sums are right."""
    report = generate_report.read(path)
    text = path.read_bytes().decode("utf-8", "replace")
    assert report.core is not None and report.core.text in text
    assert report.notes == ()
    assert report_checks.check(report) == ()
    assert bool(report.pools) == ("Memory usage information" in text)
    assert (report.counts is not None) == ("Total number of epochs" in text)
    assert bool(report.sections) == ("Requested memory size by section" in text)
    assert bool(report.layers) == ("\nm_id   layer" in text)
    if "Evaluation report (summary)" in text:
        assert report.validation is not None and report.validation.accuracy
    if "Inference time per node" in text:
        assert report.validation is not None and report.validation.nodes
        assert abs(sum(node.percent for node in report.validation.nodes) - 100) < 1
    if report.counts is not None:
        share = offload.from_report(report)
        assert share.total == report.counts.total


def same_run(created: str, generated: str) -> bool:
    """Within three minutes; a report's local time has no zone, and zones differ by quarters of an hour."""
    if not created or not generated:
        return True
    local = datetime.strptime(created, "%Y-%m-%d %H:%M:%S")
    other = datetime.strptime(generated[:19], "%Y-%m-%dT%H:%M:%S")
    apart = abs((local - other).total_seconds())
    return apart < 15 * 3600 and min(apart % 900, 900 - apart % 900) < 180


@each("*c_info.json")
def test_the_report_beside_it(path):
    """Epochs, pools, totals and versions are those of the same run."""
    info = c_info.read(path)
    name = path.name.removesuffix("c_info.json")
    beside = [path.with_name(f"{name}{command}_report.txt") for command in ("generate", "analyze", "validate")]
    beside = [report for report in beside if report.is_file()]
    if not beside:
        pytest.skip("no report beside it")
    reports = [report for report in map(generate_report.read, beside) if same_run(report.created, info.generated)]
    if not reports:
        pytest.skip("the report beside it is of another run")
    for report in reports:
        assert report_checks.check_against(report, info) == ()


@each("*c_info.json")
def test_the_initializers_beside_it(path):
    info = c_info.read(path)
    name = path.name.removesuffix("c_info.json")
    raws = {pool.fname: path.with_name(name + pool.file) for pool in info.real_pools if pool.file}
    sizes = {fname: raw.stat().st_size for fname, raw in raws.items() if raw.is_file()}
    if not sizes:
        pytest.skip("no initializer beside it")
    assert c_info_checks.check_raw_sizes(info, sizes) == ()


@each("*c_info.json")
def test_the_model_beside_it(path):
    """The signature is the MD5 of the model's file, wherever below the folder that file is."""
    info = c_info.read(path)
    models = {model.name: model for model in files("*.tflite", "*.onnx")}
    known = [file for file in info.model.files if file.name in models]
    if not known:
        pytest.skip("the model is not here")
    for file in known:
        found = hashlib.md5(models[file.name].read_bytes(), usedforsecurity=False).hexdigest()
        assert file.signature == f"0x{found}"


@each("*.mpool", "*.mpool.in")
def test_mpool(path):
    try:
        pools, notes = mpool.read_noted(path)
    except NeuralArtError as error:
        assert "\n" not in str(error) and str(error).startswith(str(path))
        return
    assert pools.pools and isinstance(notes, tuple)
    for pool in pools.enabled:
        assert pool.mode == "USEMODE_RELATIVE" or pool.end <= 1 << 32


@each("*neural*art*.json")
def test_profiles(path):
    found = profile.read_profiles(path)
    assert found.profiles
    for entry in found.profiles:
        assert entry.memory_pool or entry.options


@each("network.csv")
def test_network_csv(path):
    table = network_csv.read(path)
    assert table.epochs and table.notes == () and network_csv.check(table) == ()
    options = path.with_name("atonn_options.ini")
    if options.is_file():
        assert atonn_options.read(options).options["csv-file"] in ("network", "network.csv")
    reports = [report for report in path.parent.glob("*_generate_report.txt")]
    for report in (generate_report.read(report) for report in reports):
        used = {pool.name: pool.used for pool in report.pools}
        for name, bytes_ in table.used:
            assert bytes_ is None or abs(bytes_ - used[name]) <= max(16, used[name] // 1000)


@each("*_Q.json")
def test_q_json(path):
    found = q_json.read(path)
    assert found.tensors and found.originals and found.notes == ()
    assert found.exported.endswith(".onnx") and "_OE_" in found.exported
    assert any(layers for layers in found.originals.values())


@each("*atonn_options.ini")
def test_atonn_options(path):
    found = atonn_options.read(path)
    assert found.version is not None and found.notes == ()
    assert "onnx-input" in found.options and "load-mpool-file" in found.options


@each("mempools*.json")
def test_cpu_pools(path):
    found = h7_files.read_cpu_pools(path)
    assert found.pools and h7_files.check_cpu_pools(found) == ()
    assert all(pool.usable <= pool.size < 1 << 30 for pool in found.pools)


@each("stmaic*.conf")
def test_conf(path):
    found = h7_files.read_cpu_project(path)
    assert found.configurations and found.notes == () and found.sizes["internalFlash_size"] > 0


def test_every_file_prints_a_record_or_one_line(capsys):
    """No traceback whatever the file is; a record is strict JSON; the whole folder takes a moment."""
    counts: dict[str, int] = {}
    used = 0.0
    for path in files("*"):
        data = path.read_bytes()
        start = time.process_time()
        kind = next((kind for kind in own_kinds.KINDS if kind.sniff(data, path.name)), None)
        if kind is not None:
            try:
                record = inspector.inspect(path, kind.name)[1]
                json.dumps(record, allow_nan=False)
                assert record["kind"] == kind.name and kinds.reader(kind).text(record).endswith("\n")
                counts[kind.name] = counts.get(kind.name, 0) + 1
            except NeuralArtError as error:
                assert "\n" not in str(error)
                counts[f"{kind.name} refused"] = counts.get(f"{kind.name} refused", 0) + 1
        used += time.process_time() - start
    with capsys.disabled():
        print(f"\n{ROOT}: {sum(counts.values())} files, {used:.2f} s: {counts}")
    assert counts and used < 0.2 * sum(counts.values()) + 1
