"""Flash runners: names, refusals as data, the virtual one, and one whose device is no file of ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

import pytest

from neuralart import boards, cli
from neuralart.boards.types import Machine
from neuralart.errors import NeuralArtError
from neuralart.flashing import plan as plans
from neuralart.flashing.nor import Mismatch, Written
from neuralart.flashing.plan import Write
from neuralart.flashing.runners import Capabilities, FlashJob, Refusal, Runner, find
from neuralart.flashing.runners.virtual import Virtual

BOARD = boards.load("stm32n6570-dk", [])
SILICON, UNICORN = Machine("silicon", ()), Machine("unicorn", ())
BASE = 0x70000000


class Shelf(Runner):
    """Keeps bytes by address in a dictionary, as a probe would in a chip."""

    name = "shelf"
    capabilities = Capabilities(frozenset({"silicon"}), verify=True, probes=True)
    refusals = (
        Refusal(lambda of: of["board"].name == "mps3-an547", "board {board.name} has no shelf", "build one for it"),
    )
    held: ClassVar[dict[int, bytes]] = {}
    broken: ClassVar[bool] = False

    def write(self, job: FlashJob) -> tuple[Written, ...]:
        done = []
        for write in job.plan.chosen(job.only):
            data = (job.top / write.file).read_bytes()
            same = self.held.get(write.address) == data
            self.held[write.address] = data
            if self.broken:
                raise NeuralArtError("the cable fell out", where=job.probe)
            done.append(Written(write, 0 if same else 1, 1 if same else 0))
        return tuple(done)

    def verify(self, job: FlashJob) -> Mismatch | None:
        for write in job.plan.chosen(job.only):
            data = (job.top / write.file).read_bytes()
            if self.held.get(write.address) != data:
                return Mismatch(write, 0, data[0], 0xFF)
        return None


class Blind(Runner):
    """Writes and cannot read."""

    name = "blind"
    capabilities = Capabilities(frozenset({"silicon", "unicorn"}), verify=False)

    def write(self, job: FlashJob) -> tuple[Written, ...]:
        return tuple(Written(write, 1, 0) for write in job.plan.chosen(job.only))


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> Shelf:
    monkeypatch.setattr(Shelf, "held", {})
    return Shelf()


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    rows = []
    for name, kind, address in (("application", "application", 0x100000), ("weights", "model", 0x200000)):
        (tmp_path / f"{name}.bin").write_bytes(name.encode() * 9)
        rows.append(plans.write_of(name, kind, tmp_path / f"{name}.bin", BASE + address, f"{name}.bin"))
    path = tmp_path / "flash_plan.json"
    path.write_text(plans.make(BOARD.name, rows), "utf-8")
    return path


def job(plan: Path, only: str | None = None, probe: str = "0042") -> FlashJob:
    return FlashJob(plans.read(plan), BOARD, plan.with_name("record.json"), probe, only, plan.parent)


# ---- names


def test_a_runner_is_found_by_its_name() -> None:
    assert isinstance(find("virtual"), Virtual)
    with pytest.raises(NeuralArtError, match=r"^SConstruct:7: no flash runner 'virtaul' \(did you mean 'virtual'\?"):
        find("virtaul", "SConstruct:7")


def test_a_record_is_named_by_runner_and_probe(shelf: Shelf) -> None:
    assert [Virtual().record_name(probe) for probe in ("", "two")] == ["flash.nor", "flash-two.nor"]
    assert [shelf.record_name(probe) for probe in ("", "00.42")] == ["flash-shelf.json", "flash-shelf-00.42.json"]


@pytest.mark.parametrize("probe", ["a/b", "../x", "-x", "a b", "x" * 65, "\n"])
def test_a_serial_number_cannot_leave_its_folder(shelf: Shelf, probe: str) -> None:
    for runner in (shelf, Virtual()):
        with pytest.raises(NeuralArtError, match="is no serial number of a probe"):
            runner.record_name(probe)


def test_a_runner_without_probes_takes_no_serial_number() -> None:
    with pytest.raises(NeuralArtError, match=r"^NEURALART_PROBE: runner blind knows no probes, this is '0042'"):
        Blind().record_name("0042")


def test_a_device_is_a_file_or_a_probe(shelf: Shelf) -> None:
    assert Virtual().device("build/x/flash.nor", "") == "build/x/flash.nor"
    assert shelf.device("a.json", "0042") == shelf.device("b.json", "0042") == "shelf 0042"
    assert shelf.device("a.json", "") != shelf.device("a.json", "0042")


def test_words_of_the_command(shelf: Shelf) -> None:
    assert Virtual().words("two") == ["--nor"]
    assert shelf.words("") == ["--runner", "shelf", "--record"]
    assert shelf.words("0042") == ["--runner", "shelf", "--probe", "0042", "--record"]


# ---- refusals


def test_refusals_are_data(shelf: Shelf) -> None:
    other = boards.load("mps3-an547", [])
    assert Virtual().refusal("write", BOARD, UNICORN) == ("", "")
    assert (
        Virtual().refusal("write", BOARD, SILICON)[0]
        == "runner virtual writes a file, and machine silicon boots from none"
    )
    assert shelf.refusal("write", BOARD, SILICON) == ("", "")
    assert shelf.refusal("write", BOARD, UNICORN) == (
        "runner shelf cannot write machine unicorn",
        "NEURALART_RUNNER names another one",
    )
    assert shelf.refusal("write", other, UNICORN) == ("board mps3-an547 has no shelf", "build one for it")
    assert Blind().refusal("write", BOARD, UNICORN) == ("", "")
    assert Blind().refusal("verify", BOARD, UNICORN)[0] == "runner blind cannot read its device"


def test_a_runner_that_cannot_read_says_so(plan: Path) -> None:
    with pytest.raises(NeuralArtError, match="runner blind cannot read its device"):
        Blind().verify(job(plan, probe=""))


# ---- the record


def test_the_record_says_what_a_device_holds(shelf: Shelf, plan: Path) -> None:
    shelf.flash(job(plan, "model"))
    path = plan.with_name("record.json")
    data = json.loads(path.read_text("utf-8"))
    assert (data["runner"], data["probe"], data["board"]) == ("shelf", "0042", "stm32n6570-dk")
    assert [row["name"] for row in data["holds"]] == ["weights"]
    shelf.flash(job(plan, "application"))
    assert [write.name for write in plans.read_record(path)] == ["application", "weights"]
    assert plans.read_record(path) == plans.read(plan).writes
    before = path.read_bytes()
    done = shelf.flash(job(plan))
    assert [(written.erased, written.kept) for written in done] == [(0, 1), (0, 1)]
    assert path.read_bytes() == before


def test_nothing_is_skipped_because_of_a_record(shelf: Shelf, plan: Path) -> None:
    """Somebody else may have written the device meanwhile."""
    shelf.flash(job(plan))
    Shelf.held[BASE + 0x100000] = b"another image"
    assert [written.erased for written in shelf.flash(job(plan))] == [1, 0]


def test_a_write_that_fails_leaves_no_record(shelf: Shelf, plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf.flash(job(plan))
    monkeypatch.setattr(Shelf, "broken", True)
    with pytest.raises(NeuralArtError, match="the cable fell out"):
        shelf.flash(job(plan))
    assert not plan.with_name("record.json").exists()


def test_what_is_refused_before_writing_leaves_the_record(shelf: Shelf, plan: Path) -> None:
    shelf.flash(job(plan))
    (plan.parent / "weights.bin").write_bytes(b"other")
    with pytest.raises(NeuralArtError, match="'weights' has changed since the plan was made"):
        shelf.flash(job(plan))
    assert len(plans.read_record(plan.with_name("record.json"))) == 2


def _write(name: str, address: int, size: int) -> Write:
    return Write(name, "model", f"{name}.bin", address, size, "0" * 64)


def test_what_is_overwritten_is_no_longer_held() -> None:
    held = (_write("a", 0, 100), _write("b", 100, 100), _write("c", 300, 10))
    after = plans.held_after(held, (_write("c", 400, 10), _write("new", 150, 100)))
    assert [(write.name, write.address) for write in after] == [("a", 0), ("new", 150), ("c", 400)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not a record of what a device holds"),
        ("[]", "not a record of what a device holds"),
        ('{"schema": 1, "holds": []}', "not a record of what a device holds"),
        ('{"schema": 2, "holds": [], "board": "x"}', "schema 2, this version reads 1"),
        ('{"schema": 1, "holds": [{}], "board": "x"}', "'name' is missing"),
        ('{"schema": 1, "holds": 5, "board": "x"}', "'writes' a list"),
    ],
)
def test_a_record_that_is_none(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "record.json"
    path.write_text(text, "utf-8")
    with pytest.raises(NeuralArtError, match=said) as caught:
        plans.read_record(path)
    assert str(path) in str(caught.value)


# ---- the command


def test_a_second_flash_says_that_it_wrote_nothing(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nor = plan.with_name("flash.nor")
    words = ["--plan", str(plan), "--nor", str(nor), "--top", str(plan.parent)]
    assert cli.main(["flash", *words]) == 0
    assert "nothing was written" not in capsys.readouterr().out
    before = (nor.read_bytes(), nor.stat().st_mtime_ns)
    assert cli.main(["flash", "--runner", "virtual", *words]) == 0
    assert f"{nor}: nothing was written, it held all of this already" in capsys.readouterr().out
    assert (nor.read_bytes(), nor.stat().st_mtime_ns) == before


def test_a_runner_that_is_not_known_is_one_line(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["flash", "--plan", str(plan), "--record", "x", "--runner", "virtul"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("neuralart flash: error: --runner: no flash runner 'virtul' (did you mean 'virtual'?")
    assert said.count("\n") == 1
