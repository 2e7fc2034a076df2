"""Which compiler, and what differs from the profile's file: for the compiler that is always there."""

from __future__ import annotations

import json

import pytest

from neuralart import cli
from neuralart.compilers.command_line import COMPILERS
from neuralart.network.facts import load
from neuralart.resources import package_parent
from support.servers.programs import N6_LIKE, pool_text

DIGITS = package_parent().parent / "models" / "digits" / "digits.tflite"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "n6.mpool").write_text(pool_text(*N6_LIKE))
    options = "--all-buffers-info --enable-epoch-controller --Omax-ca-pipe 4"
    (tmp_path / "na.json").write_text(
        json.dumps({"Profiles": {"default": {"memory_pool": "n6.mpool", "options": options}}})
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STEDGEAI_CORE_DIR", raising=False)
    monkeypatch.setenv("NEURALART_STEDGEAI_ROOTS", str(tmp_path / "nowhere"))
    monkeypatch.setenv("NEURALART_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def run(*words: str, code: int = 0, profile: bool = True) -> None:
    base = ["compile", "-m", str(DIGITS), "--target", "stm32n6", "-n", "d", "-o", "out", "--quiet"]
    base += ["--st-neural-art", "default@na.json"] if profile else ["--mpool", "n6.mpool"]
    assert cli.main([*base, *words]) == code


def refused(capsys, *words: str, **named) -> str:
    run(*words, code=1, **named)
    out, err = capsys.readouterr()
    said, *hint = err.splitlines()
    # A hint that is long, as with the folder of this test in it, has a line of its own.
    assert (out, len(hint) <= 1, all(line.startswith("  ") for line in hint)) == ("", True, True), err
    return " ".join([said.removeprefix("neuralart compile: error: "), *(line.strip() for line in hint)])


def test_the_default_is_the_reference_compiler(folder):
    run()
    default = (folder / "out/d.c").read_bytes()
    for name in ("reference", "auto"):
        run("--compiler", name)
        assert (folder / "out/d.c").read_bytes() == default
    assert load(folder / "out/network.json").runtime == "neuralart"


def test_edits_reach_the_reference_compiler(folder):
    run()
    assert "all-buffers-info" in (folder / "out/d.c").read_text()
    run("--profile-remove=--all-buffers-info", "--profile-add=--Opreserve-inputs")
    text = (folder / "out/d.c").read_text()
    assert "all-buffers-info" not in text
    assert "Opreserve-inputs = true" in text
    run("--pair", "profiling")
    notes = (folder / "out/d_generate_report.txt").read_text()
    assert "Omax-ca-pipe" in notes
    assert "enable-epoch-controller" not in notes


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--profile-remove=--Oauto",), "na.json: remove: '--Oauto' is not in the profile"),
        (("--profile-add=x",), "na.json: add: 'x' belongs to no option"),
        (("--profile-add=--encrypt-weights",), "--encrypt-weights is refused"),
        (("--profile-add='--Os",), "no closing quotation"),
        (("--extra-options=--x",), "--extra-options: means nothing to the reference compiler (leave it out, or use"),
        (
            ("--recording", "r"),
            "--recording: means nothing to the reference compiler (leave it out, or use --compiler recorded",
        ),
        (("--compiler-version", "4.0.*"), "--compiler-version: means nothing to the reference compiler"),
        (("--failures", "f.yaml"), "--failures: means nothing to the reference compiler"),
        (("--tool-cache", "c.json"), "--tool-cache: means nothing to the reference compiler"),
        (
            ("--compiler", "stedgeai"),
            "--compiler stedgeai: no ST Edge AI Core found; looked at STEDGEAI_CORE_DIR: not set",
        ),
        (("--compiler", "recorded"), "--recording: is required"),
        (("--compiler", "auto", "--compiler-version", "new"), "'new' is no version to ask for"),
    ],
)
def test_refusals(capsys, words, said):
    assert said in refused(capsys, *words)


def test_no_profile_to_change(capsys):
    assert refused(capsys, "--profile-add=--Os", profile=False).startswith(
        "--profile-add: there is no profile to change"
    )


@pytest.mark.parametrize("words", [("--compiler", "gcc"), ("--pair", "x"), ("--profile-add",), ("a-word",)])
def test_wrong_usage(capsys, words):
    with pytest.raises(SystemExit) as end:
        run(*words)
    assert end.value.code == cli.USAGE_ERROR
    assert capsys.readouterr().err.count("\n") == 1


def test_all_compilers_are_named():
    assert COMPILERS == ("reference", "stedgeai", "recorded", "auto", "adopted")
