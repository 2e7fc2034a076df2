"""A result of a compile that somebody changed is never shipped: it is made again, with one line that says so."""

from __future__ import annotations

import pytest

from support.sconsproject import Project

pytestmark = [pytest.mark.arm, pytest.mark.long]


def test_changed_constants_and_code_are_made_again(built: Project) -> None:
    before = built.results()
    folder = built.network_folder("digits-an547")
    (raw,) = folder.glob("*.raw")
    # Start-up code is made from network.json: what it includes is known all the time.
    for path in (raw, folder / "digits.c", folder / "network.json"):
        data = bytearray(path.read_bytes())
        data[100] ^= 1
        path.write_bytes(data)
        name = path.relative_to(built.root).as_posix()
        result = built.run("digits-an547")
        assert f"neuralart: {name} changed since it was compiled: it is made again" in result.out.splitlines()
        assert not result.tags & {"CC", "LINK"}
        assert built.results() == before
        built.up_to_date("digits-an547")
