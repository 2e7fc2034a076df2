"""Arguments, order of the work and output of the made-up tool."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from support.fake_stedgeai.versions import FRONT_END, VERSIONS

_FLAGS = {"--no-inputs-allocation", "--no-outputs-allocation", "--no-report", "--quiet", "--no-onnx-optimizer"}
_FLAGS |= {"--use-onnx-simplifier", "--prefetch-compressed-weights", "--binary", "--split-weights", "--no-workspace"}
_FLAGS |= {"--allocate-activations", "--allocate-states"}
_VALUES = {"--model", "--target", "--name", "--workspace", "--output", "--input-data-type", "--output-data-type"}
_VALUES |= {"--inputs-ch-position", "--outputs-ch-position", "--type", "--verbosity", "--optimization", "--compression"}
_VALUES |= {"--c-api", "--memory-pool", "--fix-parametric-shapes", "--custom", "--input-memory-alignment"}
_VALUES |= {"--output-memory-alignment", "--address", "--copy-weights-at"}
_VALUES |= {f"--cut-{end}-{kind}" for end in ("input", "output") for kind in ("tensors", "layers")}
_MAYBE = {"--st-neural-art", "--relocatable", "--hsp"}
_BAR = "####"


class Failed(Exception):
    """The tool ends with status 255."""


class Job:
    """What was asked, resolved."""

    def __init__(self, command: str, key: str, root: str, given: dict[str, str], argv: list[str]) -> None:
        self.command, self.key, self.root, self.given, self.argv = command, key, root, given, argv
        self.core, self.cube, self.atonn, _ = VERSIONS[_version_of(key)]
        self.model = given["--model"]
        self.name = given.get("--name", "network")
        self.symbol = given.get("--name") or ("Default" if key < "3" else "network")
        self.target = given.get("--target", "stm32")
        self.out = str(Path(given.get("--output", "st_ai_output")).absolute())
        self.ws = str(Path(given.get("--workspace", "st_ai_ws")).absolute())
        self.stem = Path(self.model).stem
        self.npu = self.target == "stm32n6" and "--st-neural-art" in given
        self.exported = f"{self.stem}_OE_{FRONT_END[key]}"
        self.failure = ""
        self.data = b""
        self.now = time.strftime("%Y-%m-%d %H:%M:%S")
        self.ticks = time.time_ns()
        self.options: list[str] = []
        self.pools: list = []
        self.profile: dict = {}
        self.mpool = ""
        self.prefix = "atonbuf"


def _version_of(key: str) -> str:
    return next(version for version, row in VERSIONS.items() if row[3] == key)


def say(text: str) -> None:
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def progress(done: int, total: int) -> None:
    """The progress bar, on the same stream and line as everything else."""
    if "--quiet" not in sys.argv:
        sys.stdout.write(f"\rPASS: {100 * done // total:3}%|{_BAR}9     | {done}/{total} [00:01<00:00, 3.16s/it]")
        sys.stdout.write("\r" + " " * 60 + "\r")


def parse(words: list[str], key: str) -> dict[str, str]:
    """Options and values; unknown ones are refused."""
    short = {
        "-m": "--model",
        "-t": "--type",
        "-n": "--name",
        "-w": "--workspace",
        "-o": "--output",
        "-O": "--optimization",
    }
    flags, given, at = set(_FLAGS), {}, 0
    if key >= "3":
        flags.add("--enable-epoch-controller")
    while at < len(words):
        word = short.get(words[at], words[at])
        at += 1
        value = ""
        if word in _VALUES or (word in _MAYBE and at < len(words) and not words[at].startswith("-")):
            if at == len(words):
                raise Failed(f"E102(CliArgumentError): argument {word}: expected one argument")
            value = words[at]
            at += 1
        elif word not in flags and word not in _MAYBE:
            raise Failed(f"E102(CliArgumentError): unrecognized arguments: {word}")
        given[word] = value
    for needed in ("--model", "--target"):
        if needed not in given:
            raise Failed(f"E102(CliArgumentError): the following arguments are required: {needed}")
    return given


def record(root: str, argv: list[str]) -> None:
    """Append the call to the installation's own record."""
    kept = ("STEDGEAI_CORE_DIR", "PATH", "PYTHONPATH", "HOME", "LANG")
    call = {"argv": argv, "cwd": str(Path.cwd()), "environment": {k: os.environ[k] for k in kept if k in os.environ}}
    with Path(root, "calls.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(call) + "\n")


def main(version: str, root: str, argv: list[str]) -> int:
    record(root, argv)
    core, cube, _, key = VERSIONS[version]
    if os.environ.get("FAKE_STEDGEAI_HANG"):
        time.sleep(float(os.environ["FAKE_STEDGEAI_HANG"]))
    if "--version" in argv:
        if os.environ.get("FAKE_STEDGEAI_VERSION") is not None:
            say(os.environ["FAKE_STEDGEAI_VERSION"])
            return 0
        say(f"ST Edge AI Core v{core}\n  ISPU 1.2.0\n  MLC 1.2.0\n  StellarAI 1.2.0\n  STM32CubeAI {cube}")
        return 0
    started = time.time()
    try:
        return _answer(core, key, root, argv)
    finally:
        _remember_times(root, started)


def _remember_times(root: str, started: float) -> None:
    """When it worked, and longer than it would need to, where an installation asks for that (a file ``sleep``)."""
    asked = Path(root, "sleep")
    if asked.is_file():
        sys.stdout.flush()
        time.sleep(float(asked.read_text()))
        with Path(root, "times.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps([started, time.time()]) + "\n")


def _answer(core: str, key: str, root: str, argv: list[str]) -> int:
    say(f"ST Edge AI Core v{core}")
    try:
        command = argv[0] if argv and not argv[0].startswith("-") else "analyze"
        given = parse(argv[1:] if argv and argv[0] == command else argv, key)
        job = Job(command, key, root, given, argv)
        return _run(job)
    except Failed as error:
        say(f"\n{error}")
        return 255


def _run(job: Job) -> int:
    from support.fake_stedgeai import failures

    job.failure = failures.wanted(job.model)
    progress(0, 104)
    if not Path(job.model).is_file():
        raise Failed(f"LOAD ERROR: {job.model}: no such file")
    job.data = Path(job.model).read_bytes()
    if job.failure in failures.FRONT:
        raise Failed(failures.FRONT[job.failure])
    if job.failure == "e700":
        Path(job.ws).mkdir(parents=True, exist_ok=True)
        raise Failed(failures.E700 % {"ws": job.ws})
    Path(job.out).mkdir(parents=True, exist_ok=True)
    if job.npu:
        from support.fake_stedgeai import npu

        npu.run(job)
    else:
        from support.fake_stedgeai import cpu

        cpu.run(job)
    progress(104, 104)
    say(f"elapsed time ({job.command.upper() if job.key >= '4' else job.command}): 0.{job.ticks % 1000:03}s")
    return 255 if job.failure in failures.LATE else 0
