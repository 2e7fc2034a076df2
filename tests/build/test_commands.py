"""Help, clean, dry run, targets: what a user types beside the names of variants."""

from __future__ import annotations

import pytest

from support.sconsproject import Project

pytestmark = [pytest.mark.arm, pytest.mark.long]


def test_help_lists_variants(sources: Project) -> None:
    out = sources.run("-h").out
    assert "digits-n6" in out and "Digits on the STM32N6570-DK" in out
    assert "run-VARIANT" in out and "(default)" in out
    assert not sources.path("build").exists()


def test_dry_run_makes_nothing(sources: Project) -> None:
    result = sources.run("-n", "digits-n6")
    assert {"NETWORK", "CC", "LINK", "IMAGE", "SUMMARY"} <= result.tags
    assert not [path for path in sources.path("build").rglob("*") if path.is_file() and path.name != ".toolchain.json"]


def test_clean_removes_all(built: Project) -> None:
    built.run("-c")
    left = [name for name in built.files("build") if not name.endswith(".toolchain.json")]
    assert left == []


def test_clean_of_one_variant_keeps_the_other(built: Project) -> None:
    built.run("-c", "digits-n6")
    assert not built.path("build/digits-n6/firmware.elf").exists()
    built.up_to_date("digits-an547")


def test_path_target(built: Project) -> None:
    built.path("build/digits-n6/firmware.bin").unlink()
    assert built.run("build/digits-n6/firmware.bin").commands == {("OBJCOPY", "build/digits-n6/firmware.bin")}


def test_everything_does_not_run_firmware(built: Project) -> None:
    assert "RUN" not in built.run(".").tags


def test_whole_commands_on_request(sources: Project) -> None:
    out = sources.run("-n", "VERBOSE=1", "digits-n6").out
    assert "-m neuralart compile" in out and "arm-none-eabi-gcc" in out


def test_commands_name_no_folder_of_this_machine(sources: Project) -> None:
    """Equal trees give equal signatures: no absolute path counts in a command."""
    out = sources.run("-n", "--debug=explain", "VERBOSE=1", "digits-n6").out
    commands = [line for line in out.splitlines() if line.startswith(("arm-none-eabi-", "/"))]
    assert commands
    for line in commands:
        words = [w for w in line.split() if str(sources.root) in w]
        assert all(w.startswith("-ffile-prefix-map=") for w in words), line


@pytest.mark.parametrize(
    ("target", "hint"),
    [("digits-n7", "did you mean 'digits-n6'"), ("run-digit-n6", "did you mean 'run-digits-n6'")],
)
def test_misspelt_target(sources: Project, target: str, hint: str) -> None:
    failed = sources.run(target, code=2)
    assert f"unknown target '{target}'" in failed.err and hint in failed.err
