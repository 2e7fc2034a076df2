"""Reports of every release and command, console output, and what is done with lines that nobody foresaw."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralart.errors import NeuralArtError
from neuralart.vendor.c_info.read import parse_c_info
from neuralart_insight.report import offload
from neuralart_insight.vendor.report import checks as report_checks
from neuralart_insight.vendor.report.read import parse_report
from support.models import vendor_reports as vendor


def read(text: str):
    return parse_report(text.encode(), "r.txt")


def info(release="2.2", **own):
    return parse_c_info(vendor.dump(vendor.c_info(release, **own)), "c.json")


@pytest.mark.parametrize("command", ["generate", "analyze"])
@pytest.mark.parametrize("release", vendor.RELEASES)
def test_every_release(release, command):
    report = read(vendor.report(release, command))
    assert (report.command, report.flow, report.log, report.notes) == (command, "npu", False, ())
    assert report.core is not None and report.core.text == vendor.CORES[release]
    assert report.created == "2026-01-01 10:00:00" and report.model == "net"
    assert report.parameters == f"{command} --model net.tflite --target stm32n6 --st-neural-art default@my.json"
    assert (report.compiler, report.compiler_arguments) == (vendor.COMPILERS[release], "-i net.onnx")
    assert bool(report.sections) == (command == "generate")
    assert report_checks.check(report) == ()
    assert report_checks.check_against(report, info(release)) == ()


def test_layers():
    layers = read(vendor.report("2.2")).layers
    assert [(layer.m_id, layer.name, layer.original) for layer in layers] == [
        (0, "input", ""),
        (0, "conv2d_0", "CONV_2D"),
        (0, "nl_0_nl", "CONV_2D"),
        (1, "add_1", "ADD"),
    ]
    conv, add = layers[1], layers[3]
    assert (conv.parameters, conv.size, conv.macc, conv.inputs) == (112, 128, 7168, ("input",))
    assert conv.outputs == ((("b", 1), ("h", 8), ("w", 8), ("c", 4)),)
    assert (add.parameters, add.inputs) == (None, ("conv2d_0", "nl_0_nl"))
    assert add.outputs == ((("b", 1), ("c", 4)), (("b", 2),))


def test_memory():
    pools = {pool.name: pool for pool in read(vendor.report("4.0")).pools}
    flash, ram, none = pools["octoFlash"], pools["npuRAM5"], pools["flexMEM"]
    assert (flash.address, flash.size, flash.used, flash.weights) == (0x71000000, 117440512, 10081, 10081)
    assert (flash.first, flash.last) == (0x71000000, 0x71002770)
    assert (ram.used, ram.activations, ram.uncertainty) == (9072, 9072, 1)
    assert (none.used, none.uncertainty, none.first) == (0, 0, None)


def test_epochs_in_both_styles():
    old, new = read(vendor.report("2.2")), read(vendor.report("3.0"))
    assert old.counts is not None and new.counts is not None
    assert (old.counts.total, old.counts.software, old.counts.hybrid) == (4, 1, None)
    assert (new.counts.total, new.counts.software, new.counts.hybrid) == (4, 1, 0)
    assert (new.counts.hardware, new.counts.blobs) == (3, 1)
    assert [(e.number, e.last, e.kind, e.operators) for e in old.epochs] == [
        (1, 1, "HW", ()),
        (2, 2, "HW", ()),
        (3, 3, "HW", ()),
        (4, 4, "SW", ("Softmax",)),
    ]
    assert [(e.number, e.last, e.kind, e.operators) for e in new.epochs] == [
        (1, 3, "EC", ()),
        (4, 4, "SW", ("Softmax",)),
    ]


GAPS = vendor.NEW_EPOCHS.replace(
    "| epoch_4          |  SW  | Softmax |",
    "\n".join(
        [
            "| epochs    7 -> 7 |  EC  |         |",
            "| <no executed epochs> |   EC   |                  |",
            "| epoch_9          | Hybrid |  Transpose |",
            "| epoch_12         |  SW  | Sub(float) |",
        ]
    ),
).replace("epochs    1 -> 3", "epochs    1 -> 6")
GAPS = GAPS.replace("                         4\n", "                         6\n").replace(
    "hardware)  0", "hardware)  1"
)
GAPS = GAPS.replace("epochs                   3", "epochs                   4").replace("in 1 epoch", "in 3 epoch")


def test_numbers_that_are_left_out():
    """Not every number within a blob is an epoch, and a blob may have none: the counts are exact, not the list."""
    report = read(vendor.report("4.0").replace(vendor.NEW_EPOCHS, GAPS))
    assert report.counts is not None and (report.counts.total, report.counts.blobs) == (6, 3)
    assert [(epoch.number, epoch.last) for epoch in report.epochs] == [(1, 6), (7, 7), (9, 9), (12, 12)]
    assert (report.empty_blobs, report.notes, report_checks.check(report)) == (1, (), ())
    found = offload.from_report(report)
    assert (found.hardware, found.hybrid, found.software, found.percent) == (4, 1, 1, 66.7)
    assert [row.reason for row in found.rows] == ["unknown", "not quantized"]
    fewer = report_checks.check(read(vendor.report("4.0").replace(vendor.NEW_EPOCHS, GAPS.replace("1 -> 6", "1 -> 2"))))
    assert fewer == ("6 epochs are counted, 5 listed", "4 hardware epochs are counted, 3 listed")
    blobs = report_checks.check(read(vendor.report("4.0").replace(vendor.NEW_EPOCHS, GAPS.replace("in 3", "in 2"))))
    assert blobs == ("2 blobs are counted, 3 listed",)


def test_sections():
    report = read(vendor.report("2.2"))
    sizes = {section.module: section for section in report.sections}
    assert list(sizes) == ["EC Blobs", "network.o", "ll atonn runtime", "RT total", "weights", "activations", "TOTAL"]
    assert (sizes["EC Blobs"].rodata, sizes["TOTAL"].bss) == (6272, 13197)
    assert (report.target, report.flash, report.ram) == ("stm32n6npu", (19813, 29894), (29, 13197))


@pytest.mark.parametrize("release", vendor.RELEASES)
def test_validation(release):
    report = read(vendor.report(release, "validate"))
    assert (report.command, report.flow, report.notes) == ("validate", "npu", ())
    found = report.validation
    assert found is not None
    assert (found.samples, found.duration_ms, found.duration_spread) == (10, 0.146, (0.145, 0.154, 0.003))
    assert found.cycles == (8398, 105738, 2599) and found.inferences_per_second == 6853.06
    assert found.device == "stm32 family - 0x486 - STM32N6xx @800/400MHz"
    assert found.runtime.startswith("atonn-v1.1.1-14")
    assert [(n.c_id, n.type, n.duration_ms, n.percent, n.cycles, n.name) for n in found.nodes] == [
        (0, "epoch (EC)", 0.1, 68.5, (8000, 100000, 2000), "EpochBlock_1 -> 3"),
        (1, "epoch (SW)", 0.046, 31.5, (398, 5738, 599), "EpochBlock_4"),
    ]
    (row,) = found.accuracy
    figures = dict(row.figures)
    assert row.output == "X-cross #1" and figures["acc"] is None and figures["cos"] == 1.0
    if release >= "3":
        assert figures["snr"] == float("inf") and row.tensor == "out"
        assert found.shares == (("HW", 86.6), ("SW", 0.0), ("SW ctrl", 13.4))
    else:
        assert list(figures) == ["acc", "rmse", "mae", "l2r", "mean", "std", "nse", "cos"]
        assert row.tensor == "'pool_1', 10 x int8(1x32), m_id=[1]" and figures["mean"] == -0.000012


def test_times_of_a_cpu():
    row = "0       -      epoch (EC)        0.100    68.5%    68.5%  [   8,000  100,000    2,000 ]   EpochBlock_1 -> 3"
    text = vendor.report("2.2", "validate")
    assert row in text
    other = "0       16     Conv2D (0x103)    1.323    30.2%    30.2%  [ 635,206 ]   ai_node_0"
    found = read(text.replace(row, other)).validation
    assert found is not None
    assert (found.nodes[0].m_id, found.nodes[0].type, found.nodes[0].cycles) == ("16", "Conv2D (0x103)", (635206,))


@pytest.mark.parametrize("release", vendor.RELEASES)
def test_cpu_target(release):
    report = read(vendor.cpu_report(release))
    assert (report.flow, report.counts, report.pools, report.notes) == ("cpu", None, (), ())
    assert [(layer.type, layer.original, layer.size) for layer in report.layers] == [
        ("Input", "", None),
        ("Gemm", "MatMul", 1924),
    ]
    assert report.layers[1].inputs == ("input",)
    assert report.totals is not None and report.c_totals is not None
    assert (report.totals.weights, report.totals.activations) == (1924, None)
    assert (report.c_totals.macc, report.c_totals.weights, report.c_totals.activations) == (481, 724, 1444)
    assert dict(report.summary)["target/series"] == "stm32f4"
    assert report.files == ("out/network.c", "out/network.h")
    assert report_checks.check(report) == ()
    cpu = parse_c_info(vendor.dump(vendor.cpu_c_info(release)), "c.json")
    assert report_checks.check_against(report, cpu) == ()


BAR = "PASS:  98%|####8| 102/104 [01:32<00:06,  3.16s/it]      "


def test_console_output():
    """Progress bars, stamps of the graphical front end, carriage returns, other programs' lines in front."""
    plain = read(vendor.report("4.0"))
    body = vendor.report("4.0").split("\n", 4)
    noisy = "Copy done\n" + "\n".join(
        [body[0], *(f"{BAR}{line}" for line in body[4].splitlines()), f"{BAR}{BAR}", "elapsed time (GENERATE): 4.753s"]
    )
    report = read(noisy)
    assert report.log and not plain.log
    assert (report.pools, report.counts, report.epochs) == (plain.pools, plain.counts, plain.epochs)
    assert (report.sections, report.flash) == (plain.sections, plain.flash)
    assert (report.elapsed, report.command) == (4.753, "generate")
    stamped = "\n".join(
        f"2026-06-16 21:30:05,481 [INFO] CmdLine:76 - {line}" for line in vendor.report("2.2").splitlines()
    )
    assert read(stamped).pools == read(vendor.report("2.2")).pools
    assert read(noisy.replace("\n", "\r\n")).epochs == plain.epochs
    assert read(noisy.replace("\n", "\r")).epochs == plain.epochs


def test_encodings_of_windows():
    text = vendor.report("2.2").replace("net.tflite", "C:/Users/Jürgen/net.tflite")
    want = read(text)
    for data in (text.encode("utf-16"), text.encode("utf-8-sig"), text.encode("cp1252")):
        found = parse_report(data, "r.txt")
        assert (found.parameters, found.pools) == (want.parameters, want.pools)


def test_failed_runs():
    text = (
        "Run failed: Error: analyze error: E700(UnfeasibleAllocation): Not enough memory on device. Output: "
        "ST Edge AI Core v4.0.1-20581 7ed50de05\n\n"
        f"{BAR}WARNING: layer_norm is not quantized\nWARNING: layer_norm is not quantized\n"
        "E700(UnfeasibleAllocation): Not enough memory on device\n  TOOL ERROR: list index out of range\n"
        "LOAD ERROR: STM32 - read timeout\nNo INTERNAL ERROR: here\n"
    )
    report = read(text)
    assert report.core is not None and report.core.numbers == (4, 0, 1)
    assert report.command == "analyze"
    assert report.errors == (
        "E700(UnfeasibleAllocation): Not enough memory on device",
        "TOOL ERROR: list index out of range",
        "LOAD ERROR: STM32 - read timeout",
    )
    assert report.warnings == ("WARNING: layer_norm is not quantized",)


def test_output_cut_off_at_its_beginning():
    report = read("\n".join(vendor.NEW_EPOCHS.splitlines()[9:]))
    assert report.core is None and len(report.epochs) == 2 and report.counts is None


@pytest.mark.parametrize("text", ["", "\n\n", "hello\n", "\x00\x01\x02", "m_id layer (x)\n"])
def test_what_is_no_report(text):
    with pytest.raises(NeuralArtError, match=r"^r\.txt:1: not a report: "):
        read(text)


@pytest.mark.parametrize(
    ("old", "new", "note"),
    [
        ("9.845 kB /    112.000 MB", "9.845 furlongs /    112.000 MB", "not understood in the memory table"),
        ("8.859 kB /", "8.8.59 kB /", "not understood in the memory table"),
        (": 0x71000000-0x71002770", ": nothing", "not understood in the used ranges"),
        ("epoch 4      -SW-   (", "epoch 4      -QW-   (", "'QW' is no kind of epoch"),
        ("epoch 4      -SW-   (", "epoch 4 ???", "not understood in the list of epochs"),
        ("network.o                           736", "network.o                           7 36 x", "table of sections"),
        ("[b:1,h:8,w:8,c:3]", "[b:1,h:8,w:8,ch]", "the shape [b:1,h:8,w:8,ch] was not understood"),
    ],
)
def test_lines_that_nobody_foresaw_are_notes(old, new, note):
    text = vendor.report("2.2")
    assert old in text
    changed = text.replace(old, new)
    notes = read(changed).notes
    line = changed[: changed.index(new)].count("\n") + 1
    assert len(notes) == 1 and note in notes[0] and notes[0].startswith(f"line {line}: ")


def test_notes_of_a_validation():
    text = vendor.report("2.2", "validate")
    assert "accuracy table" in read(text.replace("X-cross #1   n.a.   0.000082811", "X-cross #1   n.a.")).notes[0]
    assert "table of times" in read(text.replace("0.100    68.5%", "quick    68.5%")).notes[0]


@pytest.mark.parametrize(
    ("old", "new", "finding"),
    [
        ("0x342E0000-0x342E2370", "0x342E0000-0x342E1000", "npuRAM5 uses 9072 bytes, the used range ends after 4096"),
        ("0x342E0000-0x342E2370", "0x342D0000-0x342E2370", "is not within 0x342E0000-0x34350000"),
        ("epochs: 4 of", "epochs: 5 of", "5 epochs are counted, 4 listed"),
        ("of which 1 impl", "of which 2 impl", "2 software epochs are counted, 1 listed"),
        ("macc=8,448", "macc=8,449", "the model has 8449 macc, its layers add up to 8448"),
        ("weights=128", "weights=129", "129 bytes of weights"),
        ("RT total         19,813", "RT total         19,814", "RT total: 19814 bytes of FLASH"),
        ("TOTAL            29,894             13,197", "TOTAL            29,894             13,198", "bytes of RAM"),
    ],
)
def test_checks(old, new, finding):
    text = vendor.report("2.2")
    assert old in text
    found = report_checks.check(read(text.replace(old, new)))
    assert any(finding in each for each in found), found


HYBRID = (
    vendor.OLD_EPOCHS.replace("epochs: 4 of", "epochs: 5 of")
    .replace("epoch 3       HW\n", "epoch 3       ??\nepoch 5       HW\n")
    .replace("epoch 2       HW\n", "epoch 2       ??    (   Concat   )\n")
)


def test_epochs_that_need_both_in_the_old_style():
    """Up to 2.x the list shows question marks for them; the count of software epochs leaves them out."""
    report = read(vendor.report("2.2").replace(vendor.OLD_EPOCHS, HYBRID))
    assert [(epoch.number, epoch.kind, epoch.operators) for epoch in report.epochs] == [
        (1, "HW", ()),
        (2, "HYBRID", ("Concat",)),
        (3, "HYBRID", ()),
        (5, "HW", ()),
        (4, "SW", ("Softmax",)),
    ]
    assert (report.notes, report_checks.check(report)) == ((), ())
    found = offload.from_report(report)
    assert (found.hardware, found.hybrid, found.software, found.percent) == (2, 2, 1, 40.0)
    less = report_checks.check(
        read(vendor.report("2.2").replace(vendor.OLD_EPOCHS, HYBRID.replace("of which 1", "of which 3")))
    )
    assert less == ("3 software epochs are counted, 1 listed",)
    data = vendor.c_info("2.2")
    data["graphs"][0]["nodes"][2]["mapping"] = "NODE_SW_HW"
    old = vendor.report("2.2").replace("epoch 2       HW\n", "epoch 2       ??\n")
    assert report_checks.check_against(read(old), parse_c_info(vendor.dump(data), "c.json")) == ()


def test_a_pool_with_weights_and_activations():
    """The report adds both up, what is used ends behind the gaps between them."""
    figures = (
        "8.859 kB /    448.000 kB  (  1.98 % used) -- weights:          0  B (  0.00 % used)  activations:      8.859"
    )
    mixed = "8.853 kB /    448.000 kB  (  1.98 % used) -- weights:     16  B (  0.00 % used)  activations:      8.837"
    text = vendor.report("4.0")
    assert text.count(figures) == 1
    assert report_checks.check_against(read(text.replace(figures, mixed)), info("4.0")) == ()
    alone = figures.replace("8.859 kB /", "8.853 kB /")
    found = report_checks.check_against(read(text.replace(figures, alone)), info("4.0"))
    assert found == ("pool npuRAM5: 9065 bytes used in the report, 9072 in the c_info",)
    much = mixed.replace("8.853 kB /", "8.700 kB /")
    assert len(report_checks.check_against(read(text.replace(figures, much)), info("4.0"))) == 1


def test_amounts_with_a_comma():
    text = vendor.report("4.0").replace("8.859 kB /    448.000 kB", "8.859 kB /  1,023.992 kB")
    report = read(text)
    assert report.notes == () and [pool.name for pool in report.pools][2] == "npuRAM5"


def test_checks_of_the_new_style():
    text = vendor.report("4.0")
    for old, new, finding in (
        ("hybrid epochs (using both software and hardware)  0", "hybrid epochs (using both)  2", "2 hybrid epochs"),
        (
            "pure hardware (HW or EC) epochs                   3",
            "pure hardware (HW or EC) epochs  4",
            "4 hardware epochs",
        ),
    ):
        found = report_checks.check(read(text.replace(old, new)))
        assert any(finding in each for each in found), found


@pytest.mark.parametrize(
    ("old", "new", "finding"),
    [
        (
            "v2.2.0-20266 2adc00962",
            "v2.1.0-20194 329b0e98d",
            "the report is of 2.1.0-20194 329b0e98d, the c_info of 2.2.0",
        ),
        ("epochs: 4 of which 1", "epochs: 5 of which 2", "5 epochs in the report, 4 in the c_info"),
        ("epochs: 4 of which 1", "epochs: 4 of which 0", "0 software epochs in the report, 1 in the c_info"),
        ("8.859 kB /", "8.890 kB /", "pool npuRAM5: 9103 bytes used in the report, 9072 in the c_info"),
        ("octoFlash  [0x71000000", "octoFlash  [0x71000010", "at 0x71000010 in the report"),
        ("octoFlash  [0x71000000", "hexaFlash  [0x71000000", "pool hexaFlash is in the report only"),
        ("RT total         19,813", "RT total         19,814", "19814 bytes of flash of the runtime in the report"),
    ],
)
def test_two_files_of_different_runs(old, new, finding):
    found = report_checks.check_against(read(vendor.report("2.2").replace(old, new)), info())
    assert any(finding in each for each in found), found


def test_a_validation_has_nothing_to_compare_but_the_version():
    results = parse_c_info(vendor.dump(vendor.results_c_info("2.2")), "c.json")
    assert report_checks.check_against(read(vendor.report("2.2")), results) == ()


@given(st.sampled_from(["2.2", "4.0"]), st.integers(0, 10_000), st.binary(max_size=12))
def test_damaged_reports_are_read_or_refused(release, at, bytes_):
    data = vendor.report(release).encode() + vendor.VALIDATION.encode() + vendor.ACCURACY.encode()
    at %= len(data)
    try:
        report = parse_report(data[:at] + bytes_ + data[at + len(bytes_) :], "r.txt")
    except NeuralArtError as error:
        assert "\n" not in str(error)
    else:
        report_checks.check(report)


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused(text):
    try:
        parse_report(("ST Edge AI Core v4.0.1\n" + text).encode(), "r.txt")
    except NeuralArtError as error:
        assert "\n" not in str(error)


def test_endless_lines_take_no_time():
    """A line of a million blanks, digits or dashes is no line of a table."""
    for filler in (" ", "1 ", "- ", "[0x1 - 0x1]: ", "epoch 1 ", "| epochs 1 "):
        text = vendor.report("2.2").replace("network.o ", "network.o " + filler * 200_000)
        assert read(text).core is not None
