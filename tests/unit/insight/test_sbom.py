"""Bills of materials: valid by CycloneDX's own schema, equal bytes for equal parts, a hash for everything."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from neuralart import __version__, cli
from neuralart.errors import NeuralArtError
from neuralart.resources import PACKAGE, package_parent
from neuralart_insight.doctor.python_environment import PACKAGES
from neuralart_insight.sbom import bill, package

SUBJECT = bill.BillPart(bill.FIRMWARE, "v", "variant", "0" * 64)
VALIDATOR = JsonStrictValidator(SchemaVersion.V1_6)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def parts() -> list[bill.BillPart]:
    files = [bill.BillPart(bill.FILE, f"src/{name} é.c", "file", digest(name)) for name in "ba"]
    return [
        bill.group(bill.LIBRARY, "runtime", "runtime", files, "0.1.0.0"),
        bill.BillPart(bill.MODEL, "models/$(x) `y`.tflite", "model", digest("m")),
        bill.BillPart(bill.LIBRARY, "pyyaml", "dependency", digest("p"), "6.0.3", purl="pyyaml", license="MIT"),
    ]


def test_a_bill_is_valid() -> None:
    text = bill.text(SUBJECT, parts())
    assert VALIDATOR.validate_str(text) is None
    said = json.loads(text)
    assert (said["bomFormat"], said["specVersion"]) == ("CycloneDX", "1.6")
    (tool,) = said["metadata"]["tools"]["components"]
    assert (tool["name"], tool["version"]) == ("scons-neuralart", __version__)
    by_name = {each["name"]: each for each in said["components"]}
    assert by_name["pyyaml"]["purl"] == "pkg:pypi/pyyaml@6.0.3"
    assert [each["license"]["id"] for each in by_name["pyyaml"]["licenses"]] == ["MIT"]
    assert [each["name"] for each in by_name["runtime"]["components"]] == ["src/a é.c", "src/b é.c"]
    assert by_name["models/$(x) `y`.tflite"]["hashes"] == [{"alg": "SHA-256", "content": digest("m")}]
    (root, *_) = (each for each in said["dependencies"] if each["ref"] == said["metadata"]["component"]["bom-ref"])
    assert sorted(root["dependsOn"]) == sorted(each["bom-ref"] for each in said["components"])


def test_the_schema_refuses_what_is_wrong() -> None:
    """Else the tests above and below say nothing."""
    said = json.loads(bill.text(SUBJECT, parts()))
    for change in ({"serialNumber": "urn:uuid:1"}, {"components": [{"type": "file"}]}, {"nonsense": 1}):
        assert VALIDATOR.validate_str(json.dumps({**said, **change})) is not None, change


def test_equal_parts_give_equal_bytes() -> None:
    text = bill.text(SUBJECT, parts())
    assert bill.text(SUBJECT, list(reversed(parts()))) == text
    assert "timestamp" not in text
    number = json.loads(text)["serialNumber"]
    assert uuid.UUID(number).version == 5
    changed = parts()[:-1]
    assert json.loads(bill.text(SUBJECT, changed))["serialNumber"] != number


def test_the_hash_of_several_files_is_that_of_sha256sum(tmp_path: Path) -> None:
    for name in ("b.c", "a.c"):
        (tmp_path / name).write_text(name)
    made = bill.files("file", ((name, tmp_path / name) for name in ("b.c", "a.c")))
    group = bill.group(bill.LIBRARY, "x", "runtime", made)
    assert group.sha256 == digest(f"{digest('a.c')}  a.c\n{digest('b.c')}  b.c\n")
    with pytest.raises(NeuralArtError, match="cannot read: No such file"):
        bill.files("file", [("c.c", tmp_path / "c.c")])


def test_the_package(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["sbom"]) == 0
    text = capsys.readouterr().out
    assert cli.main(["sbom", "--output", str(tmp_path / "new" / "sbom.json")]) == 0
    assert (tmp_path / "new" / "sbom.json").read_text("utf-8") == text
    assert VALIDATOR.validate_str(text) is None
    said = json.loads(text)
    own = {each["name"]: each["hashes"][0]["content"] for each in said["metadata"]["component"]["components"]}
    assert own["neuralart/cli.py"] == hashlib.sha256((PACKAGE / "cli.py").read_bytes()).hexdigest()
    assert "neuralart/data/firmware/app/main.c" in own and not [name for name in own if "__pycache__" in name]
    found = {each["name"]: each for each in said["components"]}
    # What those need in turn, too.
    assert {*PACKAGES, "markupsafe", "cyclonedx-python-lib", "packageurl-python"} <= found.keys()
    assert all(re.fullmatch("[0-9a-f]{64}", each["hashes"][0]["content"]) for each in found.values())
    assert str(package_parent()) not in text and sys.prefix not in text


def test_a_package_that_is_changed_has_another_hash(tmp_path: Path) -> None:
    from importlib.metadata import PathDistribution

    folder = tmp_path / "x-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: x\nVersion: 1\n")
    (folder / "RECORD").write_text("x.py,,\nx-1.dist-info/RECORD,,\n../bin/x,,\n")
    (tmp_path / "x.py").write_text("1")
    before = package._contents(PathDistribution(folder))
    assert before == digest(f"{digest('1')}  x.py\n")
    (tmp_path / "x.py").write_text("2")
    assert package._contents(PathDistribution(folder)) != before


def test_without_the_library_it_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("cyclonedx", "cyclonedx.contrib", "cyclonedx.contrib.license.factories"):
        monkeypatch.setitem(sys.modules, name, None)
    assert cli.main(["sbom"]) == 1
    said = capsys.readouterr().err
    assert "needs the package cyclonedx-python-lib" in said and "pip install 'scons-neuralart[sbom]'" in said


def test_it_is_loaded_for_a_bill_alone() -> None:
    """Neither the module nor the tool's own imports bring the library."""
    code = """
import sys, neuralart_insight.sbom.bill, neuralart_insight.sbom.package, neuralart.scons.tool, neuralart.scons.variant
assert not {"cyclonedx", "packageurl", "neuralart.scons.sbom"} & sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=package_parent())
