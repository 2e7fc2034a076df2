"""A result of a compile that somebody changed is never shipped: it is made again, with one line that says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.sconsproject import Project, copy_sources

pytestmark = [pytest.mark.arm, pytest.mark.long]


def test_changed_constants_and_code_are_made_again(tmp_path: Path) -> None:
    project = copy_sources(tmp_path / "tree")
    project.run("digits-an547")
    before = project.results()
    folder = project.network_folder("digits-an547")
    (raw,) = folder.glob("*.raw")
    for path in (raw, folder / "digits.c"):
        data = bytearray(path.read_bytes())
        data[100] ^= 1
        path.write_bytes(data)
        name = path.relative_to(project.root).as_posix()
        result = project.run("digits-an547")
        assert f"neuralart: {name} changed since it was compiled: it is made again" in result.out.splitlines()
        assert project.results() == before
        project.up_to_date("digits-an547")


@pytest.mark.parametrize("how", ["flipped", "longer", "a link", "touched"])
def test_changed_outputs_of_a_variant_are_made_again(built: Project, tmp_path: Path, how: str) -> None:
    before = built.results()
    name = "build/digits-n6/firmware.bin"
    path = built.path(name)
    data = path.read_bytes()
    if how == "a link":
        (tmp_path / "elsewhere").write_bytes(data)
        path.unlink()
        path.symlink_to(tmp_path / "elsewhere")
    else:
        path.write_bytes({"flipped": bytes([data[0] ^ 1]) + data[1:], "longer": data + b"\n", "touched": data}[how])
    said = built.run("digits-n6").out.splitlines()
    assert (f"neuralart: {name} is not as it was built: it is made again" in said) == (how != "touched")
    assert built.results() == before and not path.is_symlink()
    if how == "a link":
        assert (tmp_path / "elsewhere").read_bytes() == data, "nothing was written through it"
    built.up_to_date("digits-n6")
