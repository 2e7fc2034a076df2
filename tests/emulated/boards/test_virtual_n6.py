"""The reference application on the virtual STM32N6: what works, and what stops a run with a name."""

from __future__ import annotations

import re
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from neuralart import boards, cli
from neuralart.errors import NeuralArtError
from neuralart.network.facts import to_json
from neuralart_virtual.emulator import Difference, LinkFailure, MachineStop, runner
from neuralart_virtual.emulator.host_link import Frame, Session, encode
from neuralart_virtual.emulator.image import Symbols, read_elf, read_raw
from neuralart_virtual.emulator.inputs.source import RandomInputs, at_random
from neuralart_virtual.emulator.unicorn_board import UnicornBoard
from neuralart_virtual.emulator.vectors import described
from support.boards.firmware import N6_STEPS, WEIGHTS, Builder, facts, have_gcc, memory_init, pixels, reference

pytest.importorskip("unicorn", reason="Unicorn is not installed: pip install scons-neuralart[emulator]")
pytestmark = [pytest.mark.arm, pytest.mark.skipif(not have_gcc, reason="arm-none-eabi-gcc is not on PATH")]

FLASH = 0x71000000
ALL = tuple(N6_STEPS)


@pytest.fixture(scope="module")
def board():
    return boards.load("stm32n6570-dk")


@pytest.fixture(scope="module")
def builder(tmp_path_factory, board):
    return Builder(tmp_path_factory.mktemp("n6"), board, "unicorn", FLASH, 0x342E0000)


@pytest.fixture
def run(board, tmp_path):
    """Runs an image as ``neuralart run`` does, with its weights in flash unless told otherwise."""

    def go(image, *, loads=None, timeout=5.0, **more):
        given = [(image.weights, FLASH)] if loads is None else loads
        return runner.run(
            board,
            "unicorn",
            image.elf,
            given,
            [runner.NetworkRun(image.network, image.vectors)],
            timeout=timeout,
            **more,
        )

    return go


@pytest.fixture
def session(board):
    """A session with an image, and the board under it."""

    def start(image, **more):
        machine = UnicornBoard(
            board, board.machines["unicorn"], read_elf(image.elf), [read_raw(image.weights, FLASH)], **more
        )
        return machine, Session(machine, timeout=5.0)

    return start


def without(*steps: str) -> str:
    return memory_init(tuple(step for step in ALL if step not in steps))


def test_all_vectors_are_bit_exact(builder, run, tmp_path):
    seen = []
    result = run(
        builder.image(tmp_path, memory=memory_init(ALL)), on_vector=lambda name, done, count: seen.append(done)
    )
    assert [(n.name, n.vectors) for n in result.networks] == [("toy", 5)]
    assert result.console == ("scons-neuralart reference application on stm32n6570-dk",)
    assert seen == [1, 2, 3, 4, 5]
    assert "cortex-m33" in result.note and "a model of the NPU" in result.note


def test_the_command_prints_one_line_per_network(builder, tmp_path, capsys):
    image = builder.image(tmp_path / "with space", memory=memory_init(ALL))
    console = tmp_path / "console.txt"
    words = ["run", "--board", "stm32n6570-dk", "--machine", "unicorn", "--elf", str(image.elf)]
    words += ["--load", f"{image.weights}@0x71000000", "--network", str(image.network)]
    words += ["--vectors", str(image.vectors), "--console", str(console)]
    assert cli.main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "  | scons-neuralart reference application on stm32n6570-dk"
    assert re.fullmatch(r"toy: 5 vectors bit-exact on unicorn \(cortex-m33 code; .*no timing\)", lines[1])
    assert (
        console.read_text(encoding="utf-8")
        == "# Log of neuralart\nscons-neuralart reference application on stm32n6570-dk\n"
    )


def test_the_command_shows_outputs_that_nobody_knows(builder, tmp_path, capsys):
    """Random inputs, and a file of the vectors' own inputs with names of classes."""
    image = builder.image(tmp_path, memory=memory_init(ALL))
    words = ["run", "--board", "stm32n6570-dk", "--elf", str(image.elf), "--load", f"{image.weights}@0x71000000"]
    words += ["--network", str(image.network)]
    assert cli.main(words) == 0
    shown = capsys.readouterr().out.splitlines()
    (inputs,) = at_random(facts().inputs, RandomInputs())
    assert [f"toy: input 0: {line}" for line in described(facts(), reference(inputs))] == shown[1:3]
    said = (
        r"toy: 1 input \(pseudo-random inputs, seed 0\) computed on unicorn \(cortex-m33 .*\); not compared: no vectors"
    )
    assert re.fullmatch(said, shown[3]) and len(shown) == 4
    raw = image.vectors / "inputs.bin"
    assert cli.main([*words, "--input", str(raw), "--labels", '["a", "b", "c", "d"]']) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[1:3] == [f"toy: input 0: {line}" for line in described(facts(), reference(pixels(0)), "abcd")]
    best = max(zip(struct.unpack("<4h", reference(pixels(0))[16:]), "abcd", strict=True))
    assert f"output 'sums' int16[1,4]: {best[1]} {best[0]}" in shown[2]
    assert shown[-1].startswith(f"toy: 5 inputs ({raw.as_posix()}) computed") and len(shown) == 2 + 5 * 2
    raw.write_bytes(b"12345")
    assert cli.main([*words, "--input", str(raw)]) == 1
    assert "inputs.bin: 5 bytes are no whole number of vectors of 16 bytes" in capsys.readouterr().err


def test_the_command_exits_with_2_at_a_difference(builder, tmp_path, capsys):
    image = builder.image(tmp_path, memory=memory_init(ALL))
    words = ["run", "--board", "stm32n6570-dk", "--elf", str(image.elf)]
    words += ["--network", str(image.network), "--vectors", str(image.vectors)]
    assert cli.main(words) == 2
    error = capsys.readouterr().err
    assert error.startswith("neuralart run: toy: vector 0, output 'scores' index 0: expected ")
    assert error.count("\n") == 1


def test_forgotten_weights_read_as_erased_flash(builder, run, tmp_path):
    image = builder.image(tmp_path, memory=memory_init(ALL))
    erased = reference(pixels(0), b"\xff" * 16)
    expected = reference(pixels(0))
    index = next(n for n in range(16) if erased[n] != expected[n])
    want, got = struct.unpack_from("b", expected, index)[0], struct.unpack_from("b", erased, index)[0]
    with pytest.raises(Difference) as caught:
        run(image, loads=[])
    assert str(caught.value) == f"toy: vector 0, output 'scores' index {index}: expected {want}, got {got}"


def test_flash_cannot_be_stored_to(builder, run, tmp_path):
    memory = memory_init(ALL).replace("return 0;", "*(volatile uint32_t *)0x71000000u = 1; return 0;")
    with pytest.raises(MachineStop, match=r"write at 0x71000000 by npu_memory_init.*xSPI2 is flash"):
        run(builder.image(tmp_path, memory=memory))


def test_a_bank_that_is_not_enabled_is_named(builder, run, tmp_path):
    with pytest.raises(MachineStop) as caught:
        run(builder.image(tmp_path, memory=memory_init(())))
    text = str(caught.value)
    assert re.match(r"write at 0x342e0000 by \w+\+0x[0-9a-f]+ \(pc 0x34[0-9a-f]{6}\): AXISRAM5 ", text)
    assert "has no clock: set bit 2 of RCC_MEMENR (0x5602824c)" in text
    assert "is shut down: clear SRAMSD in RAMCFG_AXISRAM5CR (0x52023200)" in text
    assert "RAMCFG has no clock: set bit 12 of RCC_AHB2ENR (0x56028254)" in text


def test_a_bank_that_stays_shut_down_is_named(builder, run, tmp_path):
    with pytest.raises(MachineStop) as caught:
        run(builder.image(tmp_path, memory=without("shutdown")))
    assert str(caught.value).endswith("AXISRAM5 is shut down: clear SRAMSD in RAMCFG_AXISRAM5CR (0x52023200)")


def test_a_bank_without_a_clock_is_named(builder, run, tmp_path):
    with pytest.raises(MachineStop) as caught:
        run(builder.image(tmp_path, memory=without("clock")))
    assert str(caught.value).endswith("AXISRAM5 has no clock: set bit 2 of RCC_MEMENR (0x5602824c)")


def test_ramcfg_without_a_clock_does_not_answer(builder, run, tmp_path):
    with pytest.raises(MachineStop) as caught:
        run(builder.image(tmp_path, memory=without("ramcfg-clock")))
    assert re.fullmatch(
        r"read at 0x52023200 by npu_memory_init\S* \(pc 0x34[0-9a-f]{6}\): "
        r"RAMCFG has no clock: set bit 12 of RCC_AHB2ENR \(0x56028254\)",
        str(caught.value),
    )


def test_clear_and_set_twins_of_the_clock_register(builder, run, tmp_path):
    # MEMENR itself sets the bit, MEMENCR takes it away again.
    memory = without("clock").replace("{\n", "{\n  *(volatile uint32_t *)0x5602824Cu |= 1u << 2;\n")
    assert run(builder.image(tmp_path / "set", memory=memory)).networks[0].vectors == 5
    memory = memory.replace("return 0;", "*(volatile uint32_t *)0x5602924Cu = 1u << 2; return 0;")
    with pytest.raises(MachineStop, match="AXISRAM5 has no clock"):
        run(builder.image(tmp_path / "cleared", memory=memory))


BANK = "volatile uint32_t *bank = (volatile uint32_t *)0x342E0000u, *cr = (volatile uint32_t *)0x52023200u;"


@pytest.mark.parametrize(
    ("action", "code"),
    [
        # Shut down and woken: the contents are gone. The alias shows the same bytes. A stopped clock keeps them.
        ("*bank = 0x12345678u; *cr |= 1u << 20; *cr &= ~(1u << 20); return *bank == 0x12345678u ? 71 : 72;", 72),
        ("*bank = 0x12345678u; return *(volatile uint32_t *)0x242E0000u == 0x12345678u ? 73 : 74;", 73),
        (
            "*bank = 0x12345678u; *(volatile uint32_t *)0x5602924Cu = 4; *(volatile uint32_t *)0x56028A4Cu = 4;"
            " return *bank == 0x12345678u ? 75 : 76;",
            75,
        ),
    ],
)
def test_contents_of_a_bank(builder, run, tmp_path, action, code):
    memory = memory_init(ALL).replace("return 0;", f"{BANK} (void)cr; {action}")
    with pytest.raises(LinkFailure, match=f"error 5: npu_memory_init returned: {code}"):
        run(builder.image(tmp_path, memory=memory))


def test_a_bank_that_is_shut_down_again_is_dead(builder, run, tmp_path):
    memory = memory_init(ALL).replace("return 0;", f"{BANK} *bank = 1; *cr |= 1u << 20; *bank = 2; return 0;")
    with pytest.raises(MachineStop, match=r"write at 0x342e0000 by npu_memory_init.*AXISRAM5 is shut down"):
        run(builder.image(tmp_path, memory=memory))


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("*(volatile uint32_t *)0x44000000u = 1;", "write at 0x44000000 .*this peripheral is not modeled"),
        ("(void)*(volatile uint32_t *)0x52001800u;", "read at 0x52001800 near .*nothing is modeled there"),
        ("*(volatile uint8_t *)0x5602824Cu = 1;", "write of 1 bytes at 0x5602824c near .*no such register"),
        ("(void)*(volatile uint32_t *)0xA0000000u;", "read at 0xa0000000 .*no memory is there"),
        ("((void (*)(void))0x342E0001u)();", r"fetch at 0x342e0000 \(lr npu_memory_init.*AXISRAM5 has no clock"),
        ('__asm__ volatile("udf #0");', r"at npu_memory_init.*undefined instruction .*no MVE"),
        ('__asm__ volatile("svc #0");', r"at npu_memory_init.*SVC"),
        ('__asm__ volatile("bkpt #0xab");', r"at npu_memory_init.*breakpoint"),
        ('__asm__ volatile("wfi");', r"the core sleeps at npu_memory_init.*nothing wakes it"),
    ],
)
def test_stops_have_names(builder, run, tmp_path, statement, message):
    memory = memory_init(()).replace("return 0;", f"{statement} return 0;")
    with pytest.raises(MachineStop, match=message):
        run(builder.image(tmp_path, memory=memory))


def test_a_fault_inside_the_network_is_placed(builder, run, tmp_path):
    image = builder.image(tmp_path, memory=memory_init(ALL), defines=("TOY_FAULT",))
    with pytest.raises(MachineStop, match=r"write at 0x50000000 by add_weights\S* .*not modeled"):
        run(image)


def test_a_network_that_hangs_runs_out_of_time(builder, run, tmp_path):
    image = builder.image(tmp_path, memory=memory_init(ALL), defines=("TOY_HANG",))
    with pytest.raises(MachineStop, match=r"no answer after 0.3 s of computing: waited for outputs; .* at add_weights"):
        run(image, timeout=0.3)


def test_an_error_code_of_the_memory_start_up_is_reported(builder, run, tmp_path):
    with pytest.raises(LinkFailure, match="the firmware reports error 5: npu_memory_init returned: -17"):
        run(builder.image(tmp_path, memory=memory_init(ALL, returns=-17)))


def test_the_runtime_refuses_hardware_epochs(builder, run, tmp_path):
    image = builder.image(tmp_path, memory=memory_init(ALL), defines=("TOY_HARDWARE",))
    with pytest.raises(LinkFailure, match="error 6: toy: the runtime refuses the network"):
        run(image)


def test_buffers_of_the_application(builder, run, tmp_path):
    image = builder.image(tmp_path / "right", memory=memory_init(ALL), defines=("TOY_USER_IO",), user_io=True)
    assert run(image).networks[0].vectors == 5
    image = builder.image(tmp_path / "none", memory=memory_init(ALL), defines=("TOY_USER_IO",))
    with pytest.raises(LinkFailure, match="error 7: toy: app_user_io of the application is too small"):
        run(image)


def test_another_abi_stamp_is_refused(builder, run, tmp_path):
    image = builder.image(tmp_path, memory=memory_init(ALL), stamp="f" * 16)
    with pytest.raises(LinkFailure, match=r"built for abi stamp ffffffffffffffff, network.json has 0123456789abcdef"):
        run(image)


def test_other_sizes_and_other_names_are_refused(builder, run, tmp_path):
    image = builder.image(tmp_path, memory=memory_init(ALL))
    other = replace(facts(), name="toys")
    image.network.write_text(to_json(other), encoding="utf-8")
    with pytest.raises(LinkFailure, match=r"no network 'toys' .did you mean 'toy'"):
        run(image)
    image.network.write_text(to_json(replace(facts(), runtime="ll_aton")), encoding="utf-8")
    with pytest.raises(NeuralArtError, match=r"holds 0 generated networks in C, not one"):
        run(image)
    image.network.write_text(to_json(replace(facts(), runtime="network_runtime")), encoding="utf-8")
    with pytest.raises(NeuralArtError, match="runtime network_runtime: virtual boards run neuralart only"):
        run(image)


def test_a_damaged_frame_is_answered_and_survived(builder, session, tmp_path):
    machine, link = session(builder.image(tmp_path, memory=memory_init(ALL)))
    link.hello()
    whole = bytearray(encode(Frame("I", b"\0" + pixels(1))))
    whole[10] ^= 0x40
    machine.write(bytes(whole))
    with pytest.raises(LinkFailure, match=r"error 1: toy: the inputs arrived damaged \(CRC\)"):
        link._expect("O", "outputs")
    assert link.infer(0, pixels(2)) == reference(pixels(2))


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (Frame("I", b""), "error 4: infer: the frame names no network"),
        (Frame("I", b"\x07" + bytes(16)), "error 3: infer: no network of this number"),
        (Frame("I", b"\0" + bytes(15)), "error 4: toy: the frame is not as long as the inputs"),
        (Frame("Z", b""), "error 2: host link: unknown type of frame"),
        (Frame("Q", b"x"), "error 4: quit: this frame has no payload"),
    ],
)
def test_wrong_frames_are_answered_and_survived(builder, session, tmp_path, frame, message):
    machine, link = session(builder.image(tmp_path, memory=memory_init(ALL)))
    link.hello()
    machine.write(encode(frame))
    with pytest.raises(LinkFailure, match=message):
        link._expect("O", "outputs")
    assert link.infer(0, pixels(3)) == reference(pixels(3))


def test_hello_can_be_asked_for_again(builder, session, tmp_path):
    machine, link = session(builder.image(tmp_path, memory=memory_init(ALL)))
    first = link.hello()
    machine.write(encode(Frame("H", b"")))
    assert link.hello() == first


def test_a_console_without_a_clock_is_named(board, builder, tmp_path, run):
    memory = memory_init(ALL).replace("return 0;", "*(volatile uint32_t *)0x5602926Cu = 1u << 4; return 0;")
    with pytest.raises(MachineStop, match=r"the console's port at 0x52001000 has no clock: set bit 4 of 0x5602826c"):
        run(builder.image(tmp_path, memory=memory))


def test_loading_into_a_bank_that_is_off(builder, run, tmp_path):
    image = builder.image(tmp_path, memory=memory_init(ALL))
    with pytest.raises(NeuralArtError, match=r"weights.raw is loaded to 0x342e0000 in AXISRAM5, which is off"):
        run(image, loads=[(image.weights, 0x342E0000)])
    with pytest.raises(NeuralArtError, match="no memory is at 0xa0000000"):
        run(image, loads=[(image.weights, 0xA0000000)])
    with pytest.raises(NeuralArtError, match=r"firmware.elf segment 0 .* and weights.raw .* overlap"):
        run(image, loads=[(image.weights, 0x34000410)])


def test_an_image_for_another_board_does_not_start(board, builder, tmp_path):
    elsewhere = replace(board, code=replace(board.code, offset=0x8000))
    image = builder.image(tmp_path, memory=memory_init(ALL))
    with pytest.raises(MachineStop, match="the vector table at 0x34008000 starts nothing"):
        UnicornBoard(elsewhere, board.machines["unicorn"], read_elf(image.elf))


def test_the_core_answers_the_cpuid_of_the_real_one(builder, run, tmp_path):
    memory = memory_init(()).replace("return 0;", "return (int)(*(volatile uint32_t *)0xE000ED00u >> 4 & 0xfff);")
    with pytest.raises(LinkFailure, match=f"returned: {0xD22}"):
        run(builder.image(tmp_path, memory=memory))


def test_without_unicorn_the_extra_is_named(monkeypatch, builder, run, tmp_path):
    import sys

    image = builder.image(tmp_path, memory=memory_init(ALL))
    monkeypatch.setitem(sys.modules, "unicorn", None)
    with pytest.raises(NeuralArtError, match=r"pip install 'scons-neuralart\[emulator\]'"):
        run(image)


def test_large_weights_may_cross_pieces_of_flash(board, builder, session, tmp_path):
    image = builder.image(tmp_path, memory=memory_init(ALL))
    machine, _ = session(image)
    blob = tmp_path / "blob.bin"
    blob.write_bytes(bytes(n & 0xFF for n in range(3000)))
    machine._banks.load(read_raw(blob, 0x71100000 - 1000))
    assert machine._banks.peek(0x71100000 - 1000, 1000) + machine._banks.peek(0x71100000, 2000) == blob.read_bytes()
    assert machine._banks.peek(0x71100000 + 2000, 2) == b"\xff\xff"


def test_not_an_elf(tmp_path, board):
    for name, data in (
        ("empty.elf", b""),
        ("text.elf", b"hello, this is no ELF file" * 9),
        ("cut.elf", b"\x7fELF\1\1"),
    ):
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(NeuralArtError, match=name):
            read_elf(path)
    with pytest.raises(NeuralArtError, match="cannot read"):
        read_elf(Path("/nowhere/firmware.elf"))
    import sys

    if sys.platform == "linux":
        with pytest.raises(NeuralArtError, match="not an Arm executable"):
            read_elf(Path(sys.executable))


def test_symbols():
    symbols = Symbols([(0x200, 0x10, "second"), (0x100, 0x20, "first")])
    assert symbols.name_at(0x100) == "first"
    assert symbols.name_at(0x112) == "first+0x12"
    assert symbols.name_at(0x150) == ""
    assert symbols.name_at(0x50) == ""
    assert symbols.describe(0x20E) == "second+0xe (pc 0x0000020e)"
    assert symbols.describe(0x300) == "pc 0x00000300"


def test_weights_are_what_the_tests_think(builder, tmp_path):
    # A reference that saturates nowhere, or nowhere negative, would not see those mistakes of the firmware.
    hidden = [s for n in range(5) for s in struct.unpack("16b", reference(pixels(n))[:16])]
    assert 127 in hidden and -128 in hidden
    assert len(WEIGHTS) == 16
