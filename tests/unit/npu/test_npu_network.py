"""A whole compiled network on the virtual NPU: by structures and by a program, with equal memory; bad input of each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuralart.errors import NeuralArtError
from neuralart.vendor.network_c.read import parse
from neuralart_virtual.network_c import ecblobs, epochs
from neuralart_virtual.npu.dataflow import EpochWork
from neuralart_virtual.npu.memory import NpuMemory
from neuralart_virtual.npu.reference import BufferComparison, Pair, tensor_of
from neuralart_virtual.npu.run import EpochResult, VirtualNetwork, load
from neuralart_virtual.npu.software.tensors import Output
from neuralart_virtual.npu.units.rounding import EVEN, Ties
from support.npu import npu_driver
from support.npu import npu_network as made
from support.npu import npu_plain as plain


def ready(folder: Path, *, controller: bool, **how: Any) -> VirtualNetwork:
    network = load(made.write(folder, controller=controller), **how)
    network.set_input("image", made.image())
    return network


def ram(network: VirtualNetwork) -> bytes:
    return network.memory.view(made.RAM, 0x1000).tobytes()


def test_both_forms_leave_equal_memory(tmp_path: Path) -> None:
    labels, memories, outputs = [], [], []
    for controller in (False, True):
        network = ready(tmp_path / str(controller), controller=controller)
        run = network.run()
        labels.append([(e.label, e.hardware) for e in run.epochs])
        memories.append(ram(network))
        outputs.append(run.outputs["scores"])
        work = [(e.work.products, e.work.read_bytes, e.work.written_bytes) for e in run.epochs]
        taps = made.SIDE**2 * made.COUNT * 9 * made.DEPTH
        assert work[0] == (0, made.IN_ELEMENTS, made.IN_ELEMENTS)
        assert work[1] == (taps, made.IN_ELEMENTS + 9 * made.DEPTH * made.COUNT, made.COARSE)
        assert run.notes == []
    assert labels[0] == labels[1] == [*((str(n), True) for n in (1, 2, 3, 4)), ("5", False), ("6", False)]
    assert memories[0] == memories[1]
    assert outputs[0].shape == (1, 1, 1, made.COUNT) and outputs[0].dtype == np.float32
    assert abs(float(outputs[0].sum()) - 1) < 1e-6
    assert len({bytes([b]) for b in memories[0][made.ACTIVATED : made.ACTIVATED + made.COARSE]}) > 3


@pytest.mark.parametrize(("controller", "interrupts"), [(False, False), (False, True), (True, True)])
def test_by_register_writes_too(tmp_path: Path, controller: bool, interrupts: bool) -> None:
    """Word by word, as a runtime does it: it polls, or waits for interrupts."""
    network = ready(tmp_path / "a", controller=controller)
    network.run()
    other = ready(tmp_path / "b", controller=controller)
    driver = npu_driver.run(other, interrupts=interrupts)
    assert (driver.epochs, driver.programs) == ((0, 1) if controller else (4, 0))
    assert ram(other) == ram(network)


def test_against_plain_integers(tmp_path: Path) -> None:
    """The whole chain once more, element by element."""
    network, weights = ready(tmp_path, controller=True), made.Weights()
    network.run()
    x = list(np.frombuffer(made.image(), np.int8).tolist())
    given = {"height": made.SIDE, "width": made.SIDE, "depth": made.DEPTH, "crop": (0, 5, 0, 5), "pads": [1] * 4}
    given |= {"kernel_height": 3, "kernel_width": 3, "count": made.COUNT, "strides": (1, 1), "shift": 4, "zero": 0}
    given |= {"ties": "away", "size": 2, "saturate": True, "relu": False, "fill": 0, "sum_shift": 0}
    middle = plain.convolution(x, weights.kernels.reshape(-1).tolist(), given, None)
    scaled = []
    for place, value in enumerate(middle):
        channel = place % made.COUNT
        value = plain.stored(plain.rounded(value * int(weights.factors[channel]), 14, "away"), 2, True)
        value = value * 17929 + int(weights.constants[channel])
        scaled.append(plain.stored(plain.rounded(value, 20, "away"), 1, True))
    shape = (made.SIDE, made.SIDE, made.COUNT)
    pooled = plain.windows(scaled, shape, (2, 2), (2, 2), (0, 0, 0, 0), (3, 3), max, None)
    assert network.memory.view(made.RAM + made.POOLED, made.COARSE).view(np.int8).tolist() == pooled
    halves = [[v for i, v in enumerate(pooled) if i % 8 // 4 == half] for half in (0, 1)]
    given |= {"height": 3, "width": 3, "depth": 4, "crop": (0, 2, 0, 2), "pads": [0] * 4, "kernel_height": 1}
    given |= {"kernel_width": 1, "shift": 3, "sum_shift": 3}
    first = plain.convolution(halves[0], weights.second[0].reshape(-1).tolist(), given, None)
    sums = plain.convolution(halves[1], weights.second[1].reshape(-1).tolist(), given, first)
    inner = [(int(a), int(b), int(c)) for a, b, c in weights.inner]
    shifts = {"normal": 5, "width": 2, "b": 6, "c": 8}
    outer = weights.outer.tolist()
    found = [plain.stored(plain.rounded(plain.activation(v, outer, inner, shifts), 9, "away"), 1, True) for v in sums]
    assert network.memory.view(made.RAM + made.ACTIVATED, made.COARSE).view(np.int8).tolist() == found
    means = [sum(found[c :: made.COUNT]) * 29127 for c in range(made.COUNT)]
    average = [plain.stored(plain.rounded(v, 18, "away"), 1, True) for v in means]
    assert network.memory.view(made.RAM + made.AVERAGE, made.COUNT).view(np.int8).tolist() == average
    reals = [(v + 3) * 0.125 for v in average]
    powers = np.exp(np.array(reals) - max(reals))
    np.testing.assert_allclose(network.output("scores").reshape(-1), powers / powers.sum(), rtol=1e-6)


def test_another_tie_rule_changes_the_run(tmp_path: Path) -> None:
    memories = {}
    for ties in (Ties(), Ties(EVEN)):
        network = ready(tmp_path / ties.default, controller=False, ties=ties)
        network.run()
        memories[ties.default] = ram(network)
    assert memories["away"] != memories["even"]


def test_a_second_run_gives_the_same(tmp_path: Path) -> None:
    network = ready(tmp_path, controller=True)
    first = network.run().outputs["scores"]
    assert np.array_equal(network.run().outputs["scores"], first)


def test_comparison_and_force(tmp_path: Path) -> None:
    """Buffers pair with the tensor that they are like; with force the next epoch gets the reference."""
    network = ready(tmp_path / "a", controller=False)
    network.run()
    pooled = network.memory.view(made.RAM + made.POOLED, made.COARSE).copy().view(np.int8)
    image = np.frombuffer(made.image(), np.int8).reshape(6, 6, 4)
    other = pooled.astype(int).reshape(3, 3, 8)
    other[0, 0, 0] += 1 if other[0, 0, 0] < 127 else -1
    references = {"image": image, "pooled": other, "no": np.zeros((3, 3, 8))}
    for force in (False, True):
        network = ready(tmp_path / str(force), controller=False)
        comparison = BufferComparison(
            iter([{name: tensor_of(values) for name, values in references.items()}]), feed=force
        )
        comparison.begins(network.memory)
        network.run(comparison)
        first, second = comparison.pairs[:2]
        assert (first.pair, first.different) == (Pair("image", 4, 128), 0.0)
        assert (second.epoch, second.pair, second.largest) == ("2", Pair("pooled", 8, 0), 1)
        assert second.different == 1 / made.COARSE
        kept = network.memory.view(made.RAM + made.POOLED, made.COARSE).view(np.int8)
        assert np.array_equal(kept, other.reshape(-1)) == force
        assert {"4", "5", "6"} <= {label for label, _ in comparison.unpaired}


def compared(
    buffer: np.ndarray[Any, Any], tensor: np.ndarray[Any, Any], joined: float = 0.0
) -> tuple[BufferComparison, bytes]:
    """A buffer of an epoch beside a tensor, and what memory holds behind it; ``joined``: scale of another tensor."""
    memory = NpuMemory()
    memory.add("RAM", made.RAM, buffer.astype(np.int8).view(np.uint8).reshape(-1).copy())
    tensors = {"x": tensor_of(tensor, 0.09), "joined": tensor_of(np.zeros((1, 1, 1)), joined)}
    comparison = BufferComparison(iter([tensors]), feed=True)
    comparison.begins(memory)
    comparison(EpochResult("1", True, (Output(made.RAM, 1, buffer.size),), (1.0,), EpochWork()))
    return comparison, memory.view(made.RAM, buffer.size).tobytes()


def test_a_tensor_in_the_quantization_of_another() -> None:
    """As in front of a concatenation: half of a step more or less is rounding, and what is fed has that scale, too."""
    tensor = np.clip(np.random.default_rng(3).normal(-90, 40, (8, 8, 16)), -128, 127).astype(int)
    scaled = np.rint(0.45 * tensor - 70.4)
    found = scaled + (np.indices(tensor.shape).sum(0) % 40 == 0)
    assert compared(found, tensor, 0.25)[0].pairs == [], "no tensor of the model has that scale: the epoch is wrong"
    comparison, held = compared(found, tensor, 0.2)
    (pair,) = comparison.pairs
    assert pair.largest == 1 and pair.different < 0.1 and pair.pair.factor == pytest.approx(0.45, abs=0.01)
    assert np.abs(np.frombuffer(held, np.int8).reshape(tensor.shape) - scaled).max() <= 1


def test_what_is_equal_by_chance_is_no_pair() -> None:
    """Most of both are zero: two of three elements are equal, as they are in any order."""
    rng = np.random.default_rng(4)
    one, other = (np.where(rng.random((8, 8, 16)) < 0.8, -128, rng.integers(-128, 128, (8, 8, 16))) for _ in range(2))
    comparison, held = compared(one, other)
    assert (one == other).mean() > 0.6 and not comparison.pairs and held == one.astype(np.int8).tobytes()


def test_constants_in_c(tmp_path: Path) -> None:
    """As some projects keep them; the bytes beside them come first."""
    expected = ready(tmp_path, controller=False).run().outputs["scores"]
    raw = tmp_path / f"{made.NAME}_atonbuf.xSPI2.raw"
    words = np.frombuffer(raw.read_bytes(), "<u8")
    source = raw.with_suffix(".c")
    source.write_text(
        f"const uint64_t _mem_pool_xSPI2_{made.NAME}[{len(words)}] = {{\n"
        + ",".join(f"0x{int(word):016X}ULL" for word in words)
        + ",\n};\n"
    )
    raw.unlink()
    network = load(tmp_path / f"{made.NAME}.c")
    network.set_input("image", made.image())
    assert np.array_equal(network.run().outputs["scores"], expected)
    for text in ("const uint64_t other[1] = {1};", source.read_text().replace("0x", "x"), f"{'9' * 40}"):
        source.write_text(text.replace("ULL", "ULL" if "x" in text else ""))
        said = refused(tmp_path)
        assert f"{source.name}: no array _mem_pool_xSPI2_{made.NAME} of words of 64 bits" in said


# ---- what is wrong with a folder ----


def refused(folder: Path, **how: Any) -> str:
    """What is said of the network in a folder; one line."""
    with pytest.raises(NeuralArtError) as caught:
        network = load(folder / f"{made.NAME}.c", **how)
        network.set_input("image", made.image())
        network.run()
    text = str(caught.value)
    assert "\n" not in text
    return text


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert text.count(old) >= 1, old
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("operation = POOL_MAX", "operation = POOL_NICE", "operation of init_poolacc_1_2 is 'POOL_NICE', no number"),
        ("operation = POOL_MAX", "operation = POOL_AVG", "epoch 2: POOL1 CTRL (0x000) TYPE = 2: only the maximum"),
        ("nKernels = 8", "nKernels = 300", "nKernels of init_convacc_1_2 gives 300, more than the 8 bits of CONVACC"),
        ("fWidth = 6", "fWidth = many", "fWidth of init_convacc_1_2 is 'many', no number that is known"),
        ("{16, 16, 16}", "{16, 16}", "vec_precision of init_arithacc_0_2 has 2 numbers, not 3"),
        ("{16, 16, 16}", "{12, 16, 16}", "A_vector of init_arithacc_0_2 has numbers of 12 bits"),
        ("ARITH_BCAST_CHAN", "ARITH_BCAST_SOME", "bcast of init_arithacc_0_2 is 'ARITH_BCAST_SOME', which is unknown"),
        ("0x71000000UL + 512", "0x71900000UL + 512", "A_vector of init_arithacc_0_2 leads nowhere: "),
        ("0x71000000UL + 512", "0x71000000UL * 2", "A_vector of init_arithacc_0_2 is '{((unsigned char *)"),
        ("0x71000000UL + 512", "_mem_pool_xSPI3_made + 512", "needs _mem_pool_xSPI3_made, which has no address"),
        ("LL_Convacc_Init(1", "LL_Convacc_Init(9", "made.c:"),
        ("LL_Convacc_Init(1, &init", "LL_Convacc_Init(1, &other", "LL_Convacc_Init takes 'other_convacc_1_2', which"),
        ("STRSWITCH, 0, CONVACC, 1, 0", "STRSWITCH, 0, CONVACC, 7, 0", "no link of the switch: "),
        ("ATONN_SRCPORT(STRSWITCH, 0, STRENG, 8", "ATONN_SRCPORT(STRSWITCH, 0, STRENG, 12", "STRENG12 is no source"),
        ("{CONVACC, 1}", "{CONVACC, 5}", "no unit: "),
        ("{CONVACC, 1}", "{CONVACC, 2}", "epoch 2: CONVACC2 CTRL (0x000) SIMD = 0: "),
        ("ROM1_nbytes = 36", "ROM1_nbytes = 3600", "ROM1_nbytes of init_activacc_1_3 is 3600, at most 768"),
        ("offset_end = 400", "offset_end = 900", "epoch 1: STRENG9: frame 1 is wanted, LIMIT is 1 frames"),
        ("offset_limit = 464", "offset_limit = 300", "epoch 1: STRENG4 LIMITADDR (0x038) = 0x342e012b: a frame ends"),
        (
            "464,\n    .frame_offset = 144,\n    .frame_tot_cnt = 1",
            "464,\n    .frame_offset = 0,\n    .frame_tot_cnt = 900000000",
            "epoch 1: STRENG4: the epoch does not end: its frames are too many or too large",
        ),
        ("nbits_out = 8", "nbits_out = 12", "epoch 1: STRENG9 CTRL (0x000) SIZE"),
        ("ll_sw_forward_softmax(", "ll_sw_forward_lstm(", "ll_sw_forward_lstm is not modeled: no kernel of ours"),
        ("axis = 1", "axis = 9", "ll_sw_forward_softmax has the axis 9"),
        ("dim.tensor_c = 8", "dim.tensor_c = 7", "ll_sw_forward_dequantizelinear gives the shape (1, 1, 1, 7)"),
        ("dim.tensor_c = 8", "dim.tensor_c = 80000000", "general.input.mem.start_offset of first_info leads nowhere"),
        ("&first_info", "&third_info", "ll_sw_forward_dequantizelinear takes 'third_info', which"),
        ("static void LL_ATON_End_EpochBlock_5", "static void end_5", "no function LL_ATON_End_EpochBlock_5"),
    ],
)
def test_damaged_structures(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = made.write(tmp_path, controller=False)
    edit(path, old, new)
    assert said in refused(tmp_path)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_a_network_that_is_cut_off(tmp_path: Path, share: float) -> None:
    path = made.write(tmp_path, controller=False)
    text = path.read_text("utf-8")
    path.write_text(text[: int(len(text) * share)], encoding="utf-8")
    assert refused(tmp_path).startswith("made.c")


def test_a_program_that_is_cut_off(tmp_path: Path) -> None:
    made.write(tmp_path, controller=True)
    data = made.program(made.Weights())
    (tmp_path / "made_ecblobs.h").write_text(made.ecblobs_h(data[: len(data) // 2 // 8 * 8]), encoding="utf-8")
    assert refused(tmp_path).startswith("made.c: epoch 1: EPOCHCTRL: word 1 of the program: ")


def test_a_program_with_an_unknown_operation(tmp_path: Path) -> None:
    made.write(tmp_path, controller=True)
    data = bytearray(made.program(made.Weights()))
    data[8:12] = (0x1F).to_bytes(4, "little")
    (tmp_path / "made_ecblobs.h").write_text(made.ecblobs_h(bytes(data)), encoding="utf-8")
    said = "EPOCHCTRL: word 2 of the program: operation 0x1f is unknown (0x0000001f)"
    assert refused(tmp_path) == f"made.c: epoch 1: {said}"


def test_files_that_are_missing(tmp_path: Path) -> None:
    made.write(tmp_path, controller=True)
    (tmp_path / "made_atonbuf.xSPI2.raw").rename(tmp_path / "kept")
    assert refused(tmp_path) == (
        "made.c: pool xSPI2 has 1 constants, and no file with them is given (wanted: made_*.xSPI2.raw)"
    )
    (tmp_path / "kept").rename(tmp_path / "made_data.xSPI2.bin")
    (tmp_path / "made_ecblobs.h").unlink()
    assert "made_ecblobs.h" in refused(tmp_path)


def test_weights_of_another_network_are_not_taken(tmp_path: Path) -> None:
    """Two networks may share a folder: each has its name in front of its files."""
    made.write(tmp_path, controller=False)
    raw = tmp_path / "made_atonbuf.xSPI2.raw"
    other = raw.rename(tmp_path / "other_atonbuf.xSPI2.raw")
    assert "pool xSPI2 has 1 constants, and no file with them is given" in refused(tmp_path)
    other.rename(tmp_path / "atonbuf.xSPI2.raw")
    ready_again = load(tmp_path / f"{made.NAME}.c")
    ready_again.set_input("image", made.image())
    ready_again.run()


def test_initializers_that_do_not_fit(tmp_path: Path) -> None:
    made.write(tmp_path, controller=False)
    raw = tmp_path / "made_atonbuf.xSPI2.raw"
    raw.write_bytes(raw.read_bytes()[:0x100])
    assert "made.c: epoch 2: STRENG7: frame 0: 288 bytes at 0x71000000" not in refused(tmp_path)
    raw.write_bytes(bytes((1 << 20) + 2))
    assert refused(tmp_path) == "made.c: made_atonbuf.xSPI2.raw has 1048578 bytes, pool xSPI2 1048576"
    assert "no pool is called 'xSPI9'" in refused(tmp_path, initializers={"xSPI9": raw})


def test_inputs_by_name(tmp_path: Path) -> None:
    network = ready(tmp_path, controller=False)
    with pytest.raises(NeuralArtError, match=r"made\.c: no input is called 'picture' \(image\)"):
        network.set_input("picture", b"")
    with pytest.raises(NeuralArtError, match=r"made\.c: input image has 144 bytes, 3 are given"):
        network.set_input("image", b"abc")
    with pytest.raises(NeuralArtError, match="no output is called 'x'"):
        network.output("x")


def test_programs_move_with_their_pools() -> None:
    """Words of a program that a table lists get the base of their pool."""
    table = bytearray()
    names, patches = b"xSPI2\0\0\0", (3, 5)
    table += (1).to_bytes(4, "little")
    for number in (16, len(patches), 24):
        table += number.to_bytes(4, "little")
    table += names + b"".join(p.to_bytes(4, "little") for p in patches)
    words = [0xCA057A7A, 8, *range(100, 108)]
    head = b"".join(n.to_bytes(4, "little") for n in (0xECBF0030, 20, 0, 0, 20 + len(table)))
    data = head + bytes(table) + b"".join(w.to_bytes(4, "little") for w in words)
    data += bytes(-len(data) % 8)
    header = ecblobs.parse(made.ecblobs_h(data), "x.h")
    (blob,) = header.blobs
    assert header.problems == () and blob.form == "wrapped"
    moved = ecblobs.moved(blob, {"xSPI2": 0x70000000}, "x.h")
    assert moved == [*words[:5], 0x70000000 + 103, 104, 0x70000000 + 105, 106, 107]
    with pytest.raises(NeuralArtError, match="wants an address for xSPI2"):
        ecblobs.moved(blob, {}, "x.h")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (".offset_end = 1568,", ".offset_end = 1567,", "output scores has 31 bytes, no float32"),
        (
            "size=458752 READ_WRITE",
            "size=2150498303 READ_WRITE",
            "npuRAM5 at 0x342e0000 has 2150498303 bytes: no memory",
        ),
        (".kfilt_tot = 16,", ".kfilt_tot = 3,", "CONVACC0 KFILT (0x020) LAST = 7: 0 to 7 of 3 kernels, the unit has 8"),
    ],
)
def test_what_damaged_structures_once_did(tmp_path: Path, old: str, new: str, said: str) -> None:
    """An exception of NumPy, gigabytes of memory."""
    path = made.write(tmp_path, controller=False)
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(NeuralArtError) as refused:
        load(path).run()
    assert said in str(refused.value)


def test_a_long_word_in_a_function_is_read_once() -> None:
    """A search that tries each letter of it took minutes."""
    text = "void f(void) {\n  " + "A" * 200_000 + " " * 200_000 + "\n  const float x = 1;\n}\n"
    network = replace(parse(made.network_c(made.Weights(), controller=False), "x.c"), text=text)
    description = epochs.Description(network)
    function = description.function("f")
    assert description.variable(function, "x") == ("float", "1")
    assert description.variable(function, "y") == ("", "")
