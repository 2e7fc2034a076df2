"""``run-<variant>``: the built image computes the golden vectors, and says so when it does not."""

from __future__ import annotations

import json
import re

import pytest

from support.projects.sconsproject import Project, prepare

pytestmark = [pytest.mark.arm, pytest.mark.qemu, pytest.mark.long]


def test_both_machines_are_bit_exact_twice_in_the_order_of_the_command_line(built: Project) -> None:
    machines = {"digits-n6": "unicorn", "digits-an547": "qemu"}
    for names in (["digits-an547", "digits-n6"], ["digits-n6", "digits-an547"]):
        out = built.run("-j4", *(f"run-{name}" for name in names)).out
        assert re.findall(r"^RUN +(\S+)|20 vectors bit-exact on (\w+)", out, re.M) == [
            row for name in names for row in ((name, ""), ("", machines[name]))
        ], out


def test_run_builds_what_it_needs(sources: Project, tmp_path_factory: pytest.TempPathFactory) -> None:
    out = prepare(sources, tmp_path_factory, "run-digits-n6").out
    assert "bit-exact" in out
    assert not sources.path("build/digits-an547").exists()


def test_wrong_expectation_names_the_first_difference(built: Project) -> None:
    path = built.path("models/digits/vectors/outputs.bin")
    data = bytearray(path.read_bytes())
    width = json.loads(built.path("models/digits/vectors/vectors.json").read_text("utf-8"))["outputs"][0]["bytes"]
    at = 3 * width + 4
    got = int.from_bytes(data[at : at + 1], "little", signed=True)
    wrong = got ^ 1
    data[at : at + 1] = wrong.to_bytes(1, "little", signed=True)
    path.write_bytes(bytes(data))
    failed = built.run("run-digits-n6", code=2)
    assert f"index 4: expected {wrong}, got {got}" in failed.err, failed.err
    assert "vector 3" in failed.err


def test_without_vectors(built: Project) -> None:
    built.path("names.txt").write_text("".join(f"the {digit}\n" for digit in range(10)), "utf-8")
    inputs, labels = "    input: models/digits/vectors/inputs.bin\n", "    labels: names.txt\n"
    built.edit("variants.yaml", "    vectors: models/digits/vectors\n", inputs + labels)
    out = built.run("run-digits-n6").out
    # The first two pictures are a 0 and a 1, as the vectors' outputs say.
    assert "digits: input 0: output 'digit' int8[1,10]: the 0 0." in out
    assert "digits: input 1: output 'digit' int8[1,10]: the 1 0." in out
    assert "digits: 20 inputs (models/digits/vectors/inputs.bin) computed on unicorn" in out
    assert out.rstrip().endswith("; not compared: no vectors")
    built.edit("variants.yaml", inputs, "")
    first = built.run("run-digits-n6", "run-digits-an547").out
    shown = [line.partition("output 'digit'")[2] for line in first.splitlines() if "output 'digit'" in line]
    # The same input on both machines, and so the same output.
    assert len(shown) == 2 and shown[0] == shown[1]
    assert first.count("not compared: no vectors") == 2
