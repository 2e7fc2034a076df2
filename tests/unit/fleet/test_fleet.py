"""Shards, jobs and reports for fleets of build servers."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
import SCons.Script
import yaml
from hypothesis import given
from hypothesis import strategies as st

from neuralart import cli, config, intact
from neuralart.errors import NeuralArtError
from neuralart_fleet.ci import junit, shards
from neuralart_fleet.scons import parts as fleet

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "continuous-integration.md"
VARIANTS = ("a", "b", "c-n6", "d", "e")
PROJECT = "schema: 1\ndefault: [a, b]\nnetworks:\n  n: {model: n.tflite}\nvariants:\n" + "".join(
    f"  {name}: {{title: T, board: stm32n6570-dk, network: n}}\n" for name in VARIANTS
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("variants.yaml")
    path.write_text(PROJECT, "utf-8")
    return path


# ---- shards

NAMES = st.lists(st.text("abc-0", min_size=1, max_size=4), min_size=1, max_size=30, unique=True)


@pytest.mark.long
@given(names=NAMES, count=st.integers(1, 12), data=st.data())
def test_each_variant_is_in_exactly_one_shard(names: list[str], count: int, data: st.DataObject) -> None:
    costs = data.draw(st.dictionaries(st.sampled_from([*names, "unknown"]), st.integers(0, 10**6)))
    parts = shards.split(names, costs, count)
    assert len(parts) == count
    assert sorted(name for part in parts for name in part) == sorted(names)
    other = data.draw(st.permutations(names))
    assert [set(part) for part in shards.split(other, costs, count)] == [set(part) for part in parts]
    # What is left is given to whoever has least: no two differ by more than the largest one.
    known = [costs[name] for name in names if name in costs]
    usual = sum(known) / len(known) if known else 1.0
    sums = [sum(costs.get(name, usual) for name in part) for part in parts]
    assert max(sums) - min(sums) <= max(costs.get(name, usual) for name in names) * (1 + 1e-9)
    alike = [len(part) for part in shards.split(names, dict.fromkeys(names, data.draw(st.integers(0, 3))), count)]
    assert max(alike) - min(alike) <= 1


def test_the_costliest_are_apart_and_the_order_is_that_of_the_command_line() -> None:
    costs = {"a": 90, "b": 10, "c": 80, "d": 20}
    assert shards.split(["d", "c", "b", "a"], costs, 2) == [["b", "a"], ["d", "c"]]
    assert shards.split(["a", "x"], {"a": 7}, 3) == [["a"], ["x"], []]
    assert shards.split(["a", "a"], {}, 1) == [["a"]]


@pytest.mark.parametrize(
    "text", ["", "1", "0/2", "3/2", "-1/2", "1/0", "1/1001", "1/2/3", "a/b", " 1/2", "1/" + "9" * 9]
)
def test_what_is_no_shard(text: str) -> None:
    with pytest.raises(NeuralArtError, match=r"--shard: '.*' is no shard \(K/N: the K-th of N parts"):
        shards.parse(text)


@pytest.mark.parametrize("text", ["", "[]", "7", '{"a": 1.5}', '{"a": -1}', '{"a": true}', '{"a": 1, "a": 2}', "\0"])
def test_damaged_costs(text: str, project: Path) -> None:
    Path("variants.costs.json").write_text(text, "utf-8")
    with pytest.raises(NeuralArtError, match=r"^variants\.costs\.json: these are no costs: .*--record writes it again"):
        shards.costs_of(project)


class _Targets(list[str]):
    _add_Default = _do_nothing = print


def _narrowed(monkeypatch: pytest.MonkeyPatch, shard: str, *targets: str) -> list[str]:
    for name in ("COMMAND_LINE_TARGETS", "BUILD_TARGETS"):
        monkeypatch.setattr(SCons.Script, name, _Targets(targets))
    path = Path("variants.yaml")
    env = SimpleNamespace(GetOption={"shard": shard}.get)
    fleet.narrow(env, config.read(path).config, path)
    assert SCons.Script.BUILD_TARGETS == SCons.Script.COMMAND_LINE_TARGETS
    return list(SCons.Script.BUILD_TARGETS)


def test_targets_of_one_variant_stay_together(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [*VARIANTS, *(f"run-{name}" for name in VARIANTS)]
    parts = [_narrowed(monkeypatch, f"{number}/3", *asked) for number in (1, 2, 3)]
    assert sorted(name for part in parts for name in part) == sorted(asked)
    assert all({f"run-{name}" for name in part if name in VARIANTS} < set(part) for part in parts)
    assert [_narrowed(monkeypatch, f"{number}/2") for number in (1, 2)] == [["a"], ["b"]]
    with pytest.raises(SystemExit, match="0"):
        _narrowed(monkeypatch, "3/3", "a", "run-b")
    with pytest.raises(NeuralArtError, match="--shard: 'build/x' is no target of one variant"):
        _narrowed(monkeypatch, "1/3", "a", "build/x")


# ---- jobs


def _matrix(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert cli.main(["tool", "matrix", *words]) == 0
    return yaml.safe_load(capsys.readouterr().out)


def test_jobs(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = _matrix(capsys)["include"]
    assert rows == [{"name": "a", "targets": "a"}, {"name": "b", "targets": "b"}]
    Path("variants.costs.json").write_text(json.dumps({"a": 50, "b": 30, "d": 20}), "utf-8")
    rows = _matrix(capsys, "--all", "--shards", "2", "--verb", "run")["include"]
    assert [row["name"] for row in rows] == ["1 of 2", "2 of 2"]
    words = [set(row["targets"].split()) for row in rows]
    assert words[0] | words[1] == {*VARIANTS, *(f"run-{name}" for name in VARIANTS)} and not words[0] & words[1]
    # No job without work.
    assert len(_matrix(capsys, "a", "b", "--shards", "9")["include"]) == 2


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["f"], "no 'f' here (known: a, b, c-n6, d, e)"),
        (["--verb", "rum"], "no 'rum-' here (did you mean 'run-'?"),
        (["--shards", "0"], "--shard: '1/0' is no shard"),
        (["--record", "none.json"], "none.json: cannot read: No such file or directory (scons --debug=time,json"),
        (["--file", "other.yaml"], "other.yaml"),
    ],
)
def test_refusals(words: list[str], line: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["tool", "matrix", *words]) == cli.USER_ERROR
    assert line in capsys.readouterr().err
    assert not Path("variants.costs.json").exists()


def test_costs_are_those_of_files_and_effects(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stamps = {
        "format": intact.FORMAT,
        "groups": [[{"at": "build", "files": {key: 1}}] for key in ("shared.o", "a/a.o", "b/b.o")],
        "variants": {"a": {"groups": [0, 1]}, "b": {"groups": [0, 2]}},
    }
    Path("build").mkdir()
    Path("build", intact.NAME).write_text(intact.with_checksum(json.dumps(stamps)), "utf-8")
    took = {"build/shared.o": 1.0, "build/a/a.o": 0.25, "run-a": 2.0, "run-d": -1.0, "plan-c-n6": 0.0005, "other": 9}
    stats = {"Time": {"Commands": {name: {"start": 0, "duration": each} for name, each in took.items()}}}
    Path("stats.json").write_text(json.dumps(stats), "utf-8")
    Path("variants.costs.json").write_text(json.dumps({"e": 7, "gone": 8, "a": 1}), "utf-8")
    assert cli.main(["tool", "matrix", "--record", "stats.json"]) == 0
    assert capsys.readouterr().out == "variants.costs.json: 5 of 5 variants\n"
    assert shards.costs_of(project) == {"a": 3250, "b": 1000, "c-n6": 0, "d": 0, "e": 7}
    Path("stats.json").write_text("{}", "utf-8")
    assert cli.main(["tool", "matrix", "--record", "stats.json"]) == cli.USER_ERROR
    assert "stats.json: has no times of steps" in capsys.readouterr().err


# What of the services' formats is used here. Whoever has the published schemas tests with them, too.
_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT, "minItems": 1}


def _closed(required: tuple[str, ...] = (), **properties: object) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


_OBJECT = {"type": "object"}
_STEP = {
    **_closed(**{key: _TEXT for key in ("uses", "run", "id", "if")}, **{key: _OBJECT for key in ("with", "env")}),
    "oneOf": [{"required": ["uses"]}, {"required": ["run"]}],
}
_STRATEGY = _closed(("matrix",), **{"fail-fast": {"type": "boolean"}, "matrix": {"type": ["object", "string"]}})
_JOB = _closed(
    ("runs-on", "steps"),
    **{"runs-on": _TEXT, "name": _TEXT, "needs": _TEXT, "outputs": {"type": "object"}},
    strategy=_STRATEGY,
    steps={"type": "array", "items": _STEP, "minItems": 1},
)
GITHUB = _closed(("on", "jobs"), name=_TEXT, on={}, jobs={"type": "object", "additionalProperties": _JOB})
_REPORTS = _closed(when={"enum": ["always", "on_success"]}, reports=_closed(junit=_TEXT), paths=_TEXTS)
_TRIGGER = _closed(("include",), strategy={"const": "depend"}, include={"type": "array", "minItems": 1})
_GITLAB_JOB = _closed(
    stage={"enum": ["build", "test"]},
    image=_TEXT,
    before_script=_TEXTS,
    script=_TEXTS,
    parallel={"type": "integer", "minimum": 2},
    artifacts=_REPORTS,
    trigger=_TRIGGER,
)
GITLAB = {"type": "object", "minProperties": 1, "additionalProperties": _GITLAB_JOB}
SCHEMAS = "NEURALART_CI_SCHEMAS"


def _check(service: str, made: Any) -> None:
    """``service``: name of the published schema, as the catalog of schemas has it."""
    import jsonschema

    jsonschema.validate(made, GITHUB if service == "github-workflow" else GITLAB)
    if SCHEMAS in os.environ:
        published = json.loads(Path(os.environ[SCHEMAS], f"{service}.json").read_text("utf-8"))
        kind = jsonschema.validators.validator_for(published)
        kind(published).validate(made)


def _blocks() -> list[tuple[str, Any]]:
    """YAML files of the page, by the name in their first line."""
    found = re.findall(r"^```yaml\n# ([^ ,\n]+)[^\n]*\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)
    # YAML 1.1 takes the key ``on`` for a truth value, the services do not.
    return [
        (name, {"on" if key is True else key: value for key, value in yaml.safe_load(text).items()})
        for name, text in found
    ]


@pytest.mark.skipif(importlib.util.find_spec("jsonschema") is None, reason="jsonschema is not installed")
def test_files_of_both_services(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = _blocks()
    services = ["gitlab-ci" if "gitlab" in name else "github-workflow" for name, _ in blocks]
    assert services.count("gitlab-ci") >= 2 and services.count("github-workflow") >= 2
    for service, (_, made) in zip(services, blocks, strict=True):
        _check(service, made)
    for words in ([], ["--all", "--shards", "3", "--verb", "run"]):
        _check("gitlab-ci", _matrix(capsys, "--format", "gitlab", *words))
        job = {"runs-on": "x", "strategy": {"matrix": _matrix(capsys, *words)}, "steps": [{"run": "true"}]}
        _check("github-workflow", {"on": "push", "jobs": {"build": job}})
    for key, wrong in (("github-workflow", {"on": "push", "jobs": {"a": {}}}), ("gitlab-ci", {"a": {"script": []}})):
        with pytest.raises(Exception, match=r"required|\[\]"):
            _check(key, wrong)


# ---- reports

NASTY = "a<b>&\"'\x00\x1b[31m\ud800\ufffe\u2028]]> ü 😀"


def _parsed(path: Path) -> ElementTree.Element:
    return ElementTree.fromstring(path.read_bytes())


def test_reports_hold_any_text(tmp_path: Path) -> None:
    bad = junit.CheckOutcome(NASTY, NASTY, (NASTY, "second\nthird\tline"), output=["", NASTY])
    rows = [bad, junit.CheckOutcome(NASTY, "good"), junit.CheckOutcome("other", "left", skipped=NASTY)]
    path, again = tmp_path / "new" / "a.xml", tmp_path / "b.xml"
    junit.write(path, rows)
    junit.write(again, rows)
    assert path.read_bytes() == again.read_bytes()
    top = _parsed(path)
    assert {key: top.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        **{"tests": "3", "failures": "1"},
        **{"errors": "0", "skipped": "1"},
    }
    assert [suite.get("tests") for suite in top] == ["2", "1"]
    case = top[0][0]
    assert case.get("name") == top[0].get("name") == "a<b>&\"'\\x00\\x1b[31m\\ud800\\ufffe\\u2028]]> ü 😀"
    assert case[0].tag == "failure" and case[0].get("message") == "a<b>&\"'\\x00\\x1b[31m\\ud800\\ufffe"
    assert (case[0].text or "").splitlines()[1:] == ["]]> ü 😀", "second", "third   line"]
    assert [each.tag for each in case] == ["failure", "system-out"] and len(top[0][1]) == 0
    # The suites of another report come first.
    junit.write(tmp_path / "all.xml", [junit.CheckOutcome("last", "x")], [path])
    assert [suite.get("name") for suite in _parsed(tmp_path / "all.xml")][1:] == ["other", "last"]
    assert _parsed(tmp_path / "all.xml").get("tests") == "4"


def test_a_report_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(NeuralArtError, match="cannot write"):
        junit.write(tmp_path / "file" / "report.xml", [])


def test_watch_says_what_it_needs(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    assert cli.main(["watch", "a"]) == cli.USER_ERROR
    said = "neuralart watch: error: watch: needs watchfiles (pip install 'scons-neuralart[watch]')\n"
    assert capsys.readouterr().err == said
