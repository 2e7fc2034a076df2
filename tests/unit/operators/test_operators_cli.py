"""``neuralart operators`` and the table in the documentation say what is registered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from neuralart import cli
from neuralart_reference.operators import TYPES, every
from neuralart_reference.operators_cli import beside_types
from support.servers.messages import flat

DOC = Path(__file__).parents[3] / "docs" / "reference" / "operators.md"


def test_documented_table_is_the_generated_one(capsys: pytest.CaptureFixture[str]) -> None:
    """To renew it: the lines behind the mark are what ``neuralart operators --markdown`` prints."""
    assert cli.main(["operators", "--markdown"]) == 0
    assert DOC.read_text("utf-8").partition("<!-- table -->\n")[2] == capsys.readouterr().out


def test_the_readme_has_their_number() -> None:
    assert f"[{len(list(every()))} operators](docs/reference/operators.md)" in (DOC.parents[2] / "README.md").read_text(
        "utf-8"
    )


def test_every_operator_has_limits(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["operators"]) == 0
    table, _, note = capsys.readouterr().out.partition("\n\n")
    assert note.startswith("uint8 tensors are computed as int8")
    lines = table.splitlines()
    assert [line.split()[0] for line in lines] == [each.kind for each in every()]
    assert all(len(line.split()) > 1 for line in lines)
    assert not [each.kind for each in every() if "|" in each.limits or "\n" in each.limits], "they stand in a table"


def test_types_are_those_of_the_limits() -> None:
    types = {each.kind: " ".join(each.types) for each in every()}
    assert types["CONV_2D"] == "int8 uint8 int16 float32", "a bias of int32 is none of its types"
    assert types["BATCH_MATMUL"] == "int8 float32", "it is not computed on uint8"
    assert types["ARG_MAX"] == "int8 uint8 int32 float32", "int64 is its result"
    assert types["QUANTIZE"] == "int8 uint8 int16 float32"
    assert types["SVDF"] == "int8 float32", "int16 is inside"
    assert types["RESHAPE"] == "int8 uint8 int16 int32 int64 float32 bool"
    assert all(types.values())


@pytest.mark.parametrize(
    ("limits", "left"),
    [
        ("int8, uint8, int64 and bool, equal quantization; any dimension", "equal quantization; any dimension"),
        (
            "int8, by table; any slope; also int16, slope not negative; also float32",
            "int8, by table; any slope; also int16, slope not negative",
        ),
        ("int8, int64 to bool; also bool", "int8, int64 to bool"),
        ("int8; constant weights; int64 bias or none; also float32 and int64", "constant weights; int64 bias or none"),
        ("float32", ""),
    ],
)
def test_limits_beside_columns_of_types(limits: str, left: str) -> None:
    assert beside_types(limits, TYPES) == left


def test_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["operators", "--json", "add", "CONV_2D"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["schema"] == 1
    assert [row["kind"] for row in data["operators"]] == ["ADD", "CONV_2D"]


def test_one_that_is_not_supported(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["operators", "CONV2D"]) == 1
    said = flat(capsys.readouterr().err.rstrip("\n"))
    assert said.startswith("neuralart operators: error: operator CONV2D is not supported (did you mean 'CONV_2D'?")
