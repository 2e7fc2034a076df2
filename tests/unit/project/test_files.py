"""A reader never sees half a file, and a failure leaves what was there."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from neuralart.errors import NeuralArtError
from neuralart.files import alone_with, nearest_file, read_bytes, write_bytes, write_text


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_write_makes_folders_and_nothing_else(tmp_path: Path) -> None:
    write_bytes(tmp_path / "a" / "b" / "file.bin", b"\0\r\n\xff")
    assert read_bytes(tmp_path / "a" / "b" / "file.bin") == b"\0\r\n\xff"
    assert _names(tmp_path / "a" / "b") == ["file.bin"]


def test_text_is_utf8_with_lf_on_every_system(tmp_path: Path) -> None:
    write_text(tmp_path / "t", "é\n$x\n")
    assert (tmp_path / "t").read_bytes() == b"\xc3\xa9\n$x\n"


def test_write_replaces(tmp_path: Path) -> None:
    target = tmp_path / "t"
    target.write_bytes(b"a longer text than the next")
    write_bytes(target, b"new")
    assert target.read_bytes() == b"new"


def test_the_old_bytes_are_there_until_the_new_ones_are_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "t"
    target.write_bytes(b"old")
    seen: list[tuple[bytes, bytes]] = []
    replace = Path.replace

    def spy(self: Path, other: Path) -> Path:
        seen.append((target.read_bytes(), self.read_bytes()))
        return replace(self, other)

    monkeypatch.setattr(Path, "replace", spy)
    write_bytes(target, b"new")
    assert seen == [(b"old", b"new")]


def _disk_full(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_disk_full_while_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "t"
    target.write_bytes(b"old")
    write = Path.write_bytes

    def half(self: Path, data: bytes) -> int:
        write(self, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", half)
    with pytest.raises(NeuralArtError) as caught:
        write_bytes(target, b"newer")
    assert caught.value.where == str(target)
    assert os.strerror(errno.ENOSPC) in caught.value.what
    assert target.read_bytes() == b"old"
    assert _names(tmp_path) == ["t"]


def test_failing_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "t"
    target.write_bytes(b"old")
    monkeypatch.setattr(Path, "replace", _disk_full)
    with pytest.raises(NeuralArtError, match="cannot write"):
        write_bytes(target, b"new")
    assert target.read_bytes() == b"old"
    assert _names(tmp_path) == ["t"]


def test_a_folder_stands_where_the_file_goes(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    with pytest.raises(NeuralArtError, match="cannot write"):
        write_bytes(tmp_path / "t", b"new")
    assert _names(tmp_path) == ["t"]
    assert _names(tmp_path / "t") == []


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
@pytest.mark.parametrize("there", [True, False])
def test_a_link_in_its_place_is_replaced_and_never_followed(there: bool, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    if there:
        elsewhere.write_bytes(b"precious")
    (tmp_path / "t").symlink_to(elsewhere)
    write_bytes(tmp_path / "t", b"new")
    assert not (tmp_path / "t").is_symlink() and (tmp_path / "t").read_bytes() == b"new"
    assert (elsewhere.read_bytes() if there else not elsewhere.exists()) == (b"precious" if there else True)


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_links_where_the_temporary_file_goes_are_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"precious")
    for name in (".t.part", f".t.{os.getpid()}-{threading.get_ident()}.part"):
        (tmp_path / name).symlink_to(elsewhere)
    write_bytes(tmp_path / "t", b"new")
    assert elsewhere.read_bytes() == b"precious"
    assert (tmp_path / "t").read_bytes() == b"new"


def test_half_files_of_the_killed_are_swept_away_those_of_the_living_stay(tmp_path: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    living, other = f".t.{os.getppid()}-1.part", f".t.{os.getpid()}-1.part"
    for name in (f".t.{ended.stdout.strip()}-5.part", living, other, ".t.x.part", ".u.99999999-1.part"):
        (tmp_path / name).write_bytes(b"half")
    write_bytes(tmp_path / "t", b"new")
    assert _names(tmp_path) == sorted([living, other, ".u.99999999-1.part", "t"])


def test_the_mode_is_the_one_of_any_new_file(tmp_path: Path) -> None:
    write_bytes(tmp_path / "t", b"new")
    (tmp_path / "usual").write_bytes(b"")
    assert (tmp_path / "t").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_many_writers_of_one_file(tmp_path: Path) -> None:
    """Each writes all of it; nobody's rename fails because of another's."""
    path = tmp_path / "t"

    def write(number: int) -> None:
        write_bytes(path, bytes([number]) * 5000)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(200)))
    assert len(set(path.read_bytes())) == 1 and path.stat().st_size == 5000
    assert _names(tmp_path) == ["t"]


def test_a_file_stands_where_the_folder_goes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"file")
    with pytest.raises(NeuralArtError, match="cannot write"):
        write_bytes(tmp_path / "a" / "t", b"new")
    assert (tmp_path / "a").read_bytes() == b"file"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(NeuralArtError, match="cannot write"):
            write_bytes(tmp_path / "t", b"new")
        assert _names(tmp_path) == []
    finally:
        tmp_path.chmod(0o755)


@pytest.mark.parametrize("name", ["missing", "."])
def test_unreadable(tmp_path: Path, name: str) -> None:
    with pytest.raises(NeuralArtError) as caught:
        read_bytes(tmp_path / name)
    assert caught.value.where == str(tmp_path / name)
    assert caught.value.what.startswith("cannot read: ")


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b"])
def test_names_that_no_file_can_have(name: str) -> None:
    with pytest.raises(NeuralArtError, match="cannot read: ") as caught:
        read_bytes(Path(name))
    str(caught.value).encode("utf-8")


COUNT = """
import sys, time
from pathlib import Path
from neuralart.files import alone_with
path = Path(sys.argv[1])
for _ in range(20):
    with alone_with(path):
        number = int(path.read_text())
        time.sleep(0.001)
        path.write_text(str(number + 1))
"""


def test_nobody_else_changes_it_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "counter"
    path.write_text("0", "utf-8")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    running = [subprocess.Popen([sys.executable, "-c", COUNT, str(path)], env=env) for _ in range(3)]
    assert [process.wait(timeout=60) for process in running] == [0, 0, 0]
    assert path.read_text("utf-8") == "60"


HOLD = """
import sys, time
from pathlib import Path
from neuralart.files import alone_with
with alone_with(Path(sys.argv[1])):
    print("mine", flush=True)
    time.sleep(60)
"""


def test_a_lock_is_freed_by_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "flash.nor"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", HOLD, str(path)], env=env, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == b"mine\n"
        with (
            pytest.raises(NeuralArtError, match=r"another process has been changing it"),
            alone_with(path, patience=0.05),
        ):
            pass
        holder.kill()
        holder.wait()
    assert _names(tmp_path) == ["flash.nor.lock"]
    with alone_with(path, patience=0.05):
        assert _names(tmp_path) == ["flash.nor.lock"]
    assert _names(tmp_path) == []


def test_a_place_that_cannot_be_locked(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", "utf-8")
    with pytest.raises(NeuralArtError, match="cannot write"), alone_with(tmp_path / "file" / "x"):
        pass


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("models/digts.tflite", "models/digits.tflite"),
        ("models/other.tflite", "models/digits.tflite"),
        ("models/DIGITS.tflite", "models/digits.tflite"),
        ("model/digits.tflite", "models/digits.tflite"),
        ("./models/../models/digts.tflite", "models/../models/digits.tflite"),
        ("models/digits.onnx", ""),
        ("somewhere/digits.tflite", ""),
        ("models/digits.tflite", ""),
        ("models/digits.tflite/x.tflite", ""),
        ("x" * 300 + "/x.tflite", ""),
        ("a\0b/x.tflite", ""),
    ],
)
def test_nearest_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: str, found: str) -> None:
    (tmp_path / "models").mkdir()
    for name in ("digits.tflite", "digts.txt", "README.md"):
        (tmp_path / "models" / name).touch()
    monkeypatch.chdir(tmp_path)
    assert nearest_file(Path(asked)) == (f"did you mean '{found}'?" if found else "")
    told = tmp_path.as_posix() + "/" + found
    assert nearest_file(tmp_path / asked) == (f"did you mean '{told}'?" if found else "")
