"""The table of releases: what a new release needs is one row of it."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest

from neuralart.compilers.stedgeai.fileset import FileConditions, expected
from neuralart.errors import NeuralArtError
from neuralart.relocatable.build import runtimes
from neuralart.relocatable.build.request import BuildRequest
from neuralart.relocatable.predict import prediction
from neuralart.vendor import releases
from neuralart.vendor.c_info.read import parse_c_info
from neuralart.vendor.network_c import checks
from neuralart.vendor.network_c.read import parse
from neuralart.vendor.releases import RELEASES, Release, parse_core
from neuralart_insight.doctor import known_bad
from support.models import vendor_reports
from support.models.vendor_network_c import Want, make
from support.relocatable import fake_pack

RUNTIME = (1, 1, 4, 7)
# The made-up release: this row, and in it the line about the key that it renames.
NEW = replace(
    RELEASES[-1],
    core="4.1.0",
    build="20700",
    runtime=RUNTIME,
    branch="STAI-4.1",
    renamed={"used_size_bytes": "used_bytes"},
)


def renamed(value: Any, old: str, new: str) -> Any:
    """The same JSON with another name for a key, wherever it stands."""
    if isinstance(value, dict):
        return {new if key == old else key: renamed(each, old, new) for key, each in value.items()}
    return [renamed(each, old, new) for each in value] if isinstance(value, list) else value


def info_of_new() -> bytes:
    data = copy.deepcopy(vendor_reports.c_info("4.0"))
    data = json.loads(vendor_reports.dump(data).decode().replace(vendor_reports.CORES["4.0"], "4.1.0-20700 abcdef012"))
    return json.dumps(renamed(data, "used_size_bytes", "used_bytes"), indent=1).encode()


def network_c_of_new() -> str:
    text = make(Want(version="4.0.1")).files["network.c"].decode()
    for old, new in (("1.1.3.275", "1.1.4.7"), ("STAI-4.0", "STAI-4.1"), ("!= 3", "!= 4"), ("!= 275", "!= 7")):
        text = text.replace(old, new)
    return text


@pytest.fixture
def with_new(monkeypatch: pytest.MonkeyPatch) -> Release:
    monkeypatch.setattr(releases, "RELEASES", (*RELEASES, NEW))
    return NEW


@pytest.mark.usefixtures("with_new")
def test_a_new_release_is_known_to_the_command_line() -> None:
    found = parse_core("4.1.0-20700")
    assert found is not None
    assert releases.is_known(found.numbers) and releases.release_of(found) is NEW
    needed = expected(FileConditions("n", "m"), found).needed
    assert "stai_n.c" in needed and "m_OE_3_3_1.onnx" in needed


def test_a_new_release_is_the_nearest_known_one_without_its_row() -> None:
    found = parse_core("4.1.0-20700")
    assert found is not None
    assert not releases.is_known(found.numbers) and releases.release_of(found).core == "4.0.1"
    assert "m_OE_3_3_1.onnx" not in expected(FileConditions("n", "m"), found).needed


def test_a_renamed_key_of_c_info_is_read_with_the_row_and_refused_without(monkeypatch: pytest.MonkeyPatch) -> None:
    old = parse_c_info(vendor_reports.dump(vendor_reports.c_info("4.0")), "c.json")
    with pytest.raises(NeuralArtError, match=r"memory_pools\[0\] has no 'used_size_bytes'"):
        parse_c_info(info_of_new(), "c.json")
    monkeypatch.setattr(releases, "RELEASES", (*RELEASES, NEW))
    new = parse_c_info(info_of_new(), "c.json")
    assert new.pools == old.pools and max(pool.used for pool in new.pools) == 467824
    assert new.notes == ()
    # Files of the releases before are read as ever.
    assert parse_c_info(vendor_reports.dump(vendor_reports.c_info("2.2")), "c.json").weights_used == old.weights_used


def test_messages_about_a_renamed_key_give_the_place_and_the_name_in_the_file(with_new: Release) -> None:
    data = info_of_new().replace(b'"used_bytes": 4096', b'"used_bytes": "many"')
    with pytest.raises(NeuralArtError) as caught:
        parse_c_info(data, "c.json")
    line = data[: data.index(b'"many"')].count(b"\n") + 1
    assert caught.value.where.startswith(f"c.json:{line}:")
    assert caught.value.what == "memory_pools[0].used_bytes must be a whole number, not a text"


def test_a_renamed_key_at_the_top_is_no_unknown_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releases, "RELEASES", (*RELEASES, replace(NEW, renamed={"memory_pools": "pools"})))
    data = renamed(vendor_reports.c_info("4.0"), "memory_pools", "pools")
    found = parse_c_info(vendor_reports.dump(data), "c.json")
    assert len(found.pools) == 5 and found.notes == ()


def test_generated_c_of_a_new_release_agrees_with_itself(with_new: Release) -> None:
    network = parse(network_c_of_new(), "network.c")
    assert network.runtime == RUNTIME and releases.of_runtime(network.runtime) is with_new
    assert {problem.code for problem in checks.problems(network)} == set()
    mixed = parse(network_c_of_new().replace("STAI-4.1", "STAI-4.0"), "network.c")
    assert {problem.code for problem in checks.problems(mixed)} == {"guard-branch"}


def test_relocatable_models_of_a_new_release(with_new: Release, tmp_path: Any) -> None:
    pack = fake_pack.make(tmp_path / "pack", (1, 1, 3, 275))
    header = pack / "Middlewares/ST/AI/Npu/ll_aton/ll_aton_version.h"
    numbers = zip(("MAJOR", "MINOR", "MICRO", "DEV"), RUNTIME, strict=True)
    header.write_text("".join(f"#define LL_ATON_VERSION_{part} {number}\n" for part, number in numbers))
    request = BuildRequest(tmp_path / "network.c", tmp_path / "out", "net")
    made = runtimes.installed(pack, RUNTIME, request, "network.c")
    assert (made.version, made.header_words) == (RUNTIME, 26)
    assert prediction.text_of(RUNTIME) == "1.1.4.7 (ST Edge AI Core 4.1.0)"


@pytest.mark.usefixtures("with_new")
def test_doctor_knows_the_runtime_of_a_new_release() -> None:
    found = next(each for each in known_bad.read() if each.id == "runtime-4.1")
    assert found.when == (("stedgeai", "4.1.*"), ("ll_aton", "!=1.1.4.7"))


def test_rows_are_sorted_and_differ() -> None:
    cores = [tuple(map(int, release.core.split("."))) for release in RELEASES]
    assert cores == sorted(set(cores))
    runtimes = [release.runtime for release in RELEASES]
    assert runtimes == sorted(set(runtimes))
    assert len({release.build for release in RELEASES}) == len(RELEASES)


@pytest.mark.parametrize(
    ("runtime", "core"),
    [
        ((1, 1, 3, 8), "3.0.0"),
        ((1, 1, 3, 9), "3.0.0"),
        ((9, 0, 0, 0), "4.0.1"),
        ((1, 1, 2), "2.2.0"),
        ((0, 1), "2.0.0"),
    ],
)
def test_the_release_before_a_runtime(runtime: tuple[int, ...], core: str) -> None:
    assert releases.before_runtime(runtime).core == core


def test_the_reference_runtime_has_no_row() -> None:
    assert releases.relocation_of((0, 1, 0, 0)) is None
    assert releases.relocation_of((1, 0, 0, 16)) == RELEASES[1].relocation
