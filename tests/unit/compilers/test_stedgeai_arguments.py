"""The command line of stedgeai: exact words per version, what is handed on, what is refused and why."""

from __future__ import annotations

import pytest

from neuralart.compilers.command_line import parsed
from neuralart.compilers.options import GENERATE
from neuralart.compilers.stedgeai import options as rules
from neuralart.compilers.stedgeai.compile import plan
from neuralart.compilers.stedgeai.options import command_line
from neuralart.compilers.stedgeai.request import check_model, check_target, request_of
from neuralart.resources import package_parent
from neuralart.vendor.releases import RELEASES, parse_core, release_of
from support.fake_stedgeai import VERSIONS
from support.models.stedgeai_case import make, refusal, request

SERIES = {".".join(map(str, release.series)): release for release in RELEASES}
NPU = ("generate", "--model", "m.tflite", "--target", "stm32n6", "--name", "net")
STAGED = ("--st-neural-art", "default@profile/profile.json")
END = ("--workspace", "ws", "--output", "out")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    make(tmp_path / "w")
    monkeypatch.chdir(tmp_path / "w")
    return tmp_path / "w"


def words(series: str, *given: str, target="stm32n6", profile="default@na.json", shown="default@profile/profile.json"):
    """The words for the tool, without the program."""
    made = request(*given, target=target, profile=profile)
    return command_line(made, SERIES[series], model="m.tflite", profile=shown, path=lambda text: f"../{text}").words


@pytest.mark.parametrize("series", SERIES)
@pytest.mark.parametrize(
    ("given", "handed"),
    [
        ((), ()),
        (("--input-data-type", "uint8"), ("--input-data-type", "uint8")),
        (("--output-data-type", "int8,float32"), ("--output-data-type", "int8,float32")),
        (("--inputs-ch-position", "chlast"), ("--inputs-ch-position", "chlast")),
        (("--outputs-ch-position", "chfirst"), ("--outputs-ch-position", "chfirst")),
        (("--no-inputs-allocation",), ("--no-inputs-allocation",)),
        (("--no-outputs-allocation",), ("--no-outputs-allocation",)),
        (("--allocate-inputs", "--allocate-outputs"), ()),
        (("--enable-epoch-controller",), ()),
        (("--optimization", "time"), ()),
        (("--compression", "none"), ()),
        (("--type", "onnx"), ("--type", "onnx")),
        (("--use-onnx-simplifier", "--no-onnx-optimizer"), ("--no-onnx-optimizer", "--use-onnx-simplifier")),
        (("--fix-parametric-shapes", "{'a': 1}"), ("--fix-parametric-shapes", "{'a': 1}")),
        (("--custom", "layers/my.json"), ("--custom", "../layers/my.json")),
        (("--cut-output-layers", "conv 3"), ("--cut-output-layers", "conv 3")),
        (("--cut", "a,b"), ("--cut-output-tensors", "a,b")),
        (("--hsp",), ("--hsp",)),
        (("--hsp", "x"), ("--hsp", "x")),
        (("--quiet", "--workspace", "elsewhere", "--output", "there", "--initializers", "xSPI2"), ()),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_npu_words(series, given, handed):
    assert words(series, *given) == (*NPU, *STAGED, *handed, *END)


@pytest.mark.parametrize(
    ("given", "last"),
    [
        (("--verbosity", "2"), ("--verbosity", "2")),
        (("--verbosity", "1"), ()),
        (("--no-report",), ("--no-report",)),
        (("--extra-options=--new-thing 3", "--extra-options=--other='a b'"), ("--new-thing", "3", "--other=a b")),
    ],
)
def test_last_words(given, last):
    assert words("4.0", *given) == (*NPU, *STAGED, *END, *last)


@pytest.mark.parametrize("series", SERIES)
def test_cpu_words(series):
    given = ["--optimization", "ram", "--compression", "lossless", "--c-api", "st-ai", "--binary", "--split-weights"]
    given += ["--memory-pool", "h7.json", "--input-memory-alignment", "8", "--relocatable", "split"]
    assert words(series, *given, target="stm32h7") == (
        *("generate", "--model", "m.tflite", "--target", "stm32h7", "--name", "net"),
        *("--optimization", "ram", "--compression", "lossless", "--c-api", "st-ai", "--memory-pool", "../h7.json"),
        *("--split-weights", "--input-memory-alignment", "8", "--binary", "--relocatable", "split"),
        *END,
    )


def test_dispatched_weights_are_split():
    """The tool splits them; where they go is said in its C afterwards."""
    assert words("4.0", "--dispatch-weights", ".A=1K,.B=2K", target="stm32h7") == (
        *("generate", "--model", "m.tflite", "--target", "stm32h7", "--name", "net", "--split-weights"),
        *END,
    )


def test_the_tools_own_profile():
    assert words("4.0", profile="profile-allmems--O3", shown="profile-allmems--O3") == (
        *NPU,
        "--st-neural-art",
        "profile-allmems--O3",
        *END,
    )
    own = {"profile": "profile-default", "shown": "profile-default"}
    assert "--enable-epoch-controller" in words("3.0", "--enable-epoch-controller", **own)
    text = refusal(words, "2.2", "--enable-epoch-controller", **own)
    assert "--enable-epoch-controller: refused: version 2.2 has it in profiles only (name a profile file" in text


@pytest.mark.parametrize("series", SERIES)
def test_the_epoch_controller_is_a_matter_of_the_profile(series):
    made = request("--enable-epoch-controller")
    version = parse_core(next(row[0] for text, row in VERSIONS.items() if text.startswith(series)))
    planned = plan(made, version)
    assert "--enable-epoch-controller" in planned.staged.options
    assert "net_ecblobs.h" in planned.files
    assert "--enable-epoch-controller" not in words(series, "--enable-epoch-controller")


# ---- refusals


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--c-api", "legacy"), "--c-api: refused: the NPU flow writes one set of files"),
        (("--memory-pool", "x.json"), "--memory-pool: refused: the memory-pool file of the NPU says it: use --mpool"),
        (("--split-weights",), "--split-weights: refused"),
        (("--dispatch-weights", ".A=1K"), "--dispatch-weights: refused: the memory-pool file of the NPU says it"),
        (("--dispatch-weights", ""), "--dispatch-weights: '' is no SECTION=SIZE"),
        (("--binary",), "--binary: refused: weights are always in N_atonbuf.<pool>.raw"),
        (("--ihex",), "--ihex: refused: the NPU flow accepts and ignores it"),
        (("--address", "0x70000000"), "--address: refused: the NPU flow accepts and ignores it: set the offset"),
        (("--quantize",), "--quantize: refused: models are compiled as they are"),
        (("--mode", "target"), "--mode: refused: it belongs to the validate command"),
        (("--full",), "--full: refused: it belongs to the validate command"),
        (("--dll",), "--dll: refused: it would change which files there are"),
        (("--memory", "smallest"), "--memory: refused: the reference compiler alone computes layers in stripes"),
        (("--type", "caffe"), "--type: 'caffe' is refused (possible: tflite, onnx, keras)"),
        (("--fix-parametric-shapes", ""), "--fix-parametric-shapes: lacks its value"),
        (("--allocate-inputs", "--no-inputs-allocation"), "--allocate-inputs: contradicts --no-inputs-allocation"),
        (("--allocate-outputs", "--no-outputs-allocation"), "--allocate-outputs: contradicts"),
        (
            ("--extra-options=--output x",),
            "words for the tool: --output: '--output' is an option of this command itself",
        ),
        (("--extra-options=-n other",), "words for the tool: -n: '--name' is an option of this command itself"),
        (("--extra-options=--input_data_type=uint8",), "'--input-data-type' is an option of this command itself"),
        (("--extra-options=--ihex",), "words for the tool: --ihex: refused: the NPU flow accepts and ignores it"),
        (("--extra-options=--version",), "words for the tool: '--version' is not allowed here"),
        (("--extra-options=--a 'b",), "no closing quotation"),
    ],
)
def test_npu_refusals(given, said):
    assert said in refusal(words, "4.0", *given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--st-neural-art", "default@na.json"), "--st-neural-art: target stm32h7 has no Neural-ART (leave it out)"),
        (("--profile-add=--Os",), "--profile-add: target stm32h7 has no Neural-ART"),
        (("--pair", "profiling"), "--pair: target stm32h7 has no Neural-ART"),
        (("--enable-epoch-controller",), "refused: there is no epoch controller without an NPU"),
        (("--optimization", "speed"), "--optimization: 'speed' is refused (possible: time, ram, balanced)"),
        (("--c-api", "new"), "--c-api: 'new' is refused (possible: legacy, st-ai)"),
        (("--binary", "5"), "unrecognized arguments: 5"),
        (("--memory-pool", ""), "--memory-pool: lacks its value"),
    ],
)
def test_cpu_refusals(given, said):
    assert said in refusal(words, "4.0", *given, target="stm32h7")


def test_values_of_our_own_options():
    assert refusal(request, "--verbosity", "9") == "--verbosity: '9' is refused (possible: 0, 1, 2, 3)"
    assert refusal(request, target="esp32").startswith("--target: 'esp32' is no target of ST Edge AI Core")
    for target in ("stm32n6", "stm32h7", "stm32", "stellar-e", "stm32u5"):
        check_target(target)


def test_words_that_are_none():
    text = refusal(parsed, ["--frob"], "variants.yaml:3")
    assert text == "variants.yaml:3: unrecognized arguments: --frob"
    assert "--model: is required" in refusal(request_of, parsed(["--target", "stm32n6"]))
    assert "--target: is required" in refusal(request_of, parsed(["--model", "x"]))


def test_options_without_effect_are_noted():
    made = request("--optimization", "time", "--workspace", "w")
    notes = command_line(made, SERIES["4.0"], model="m", profile="p").notes
    assert [note.partition(":")[0] for note in notes] == ["--workspace", "--optimization"]


def test_every_option_of_the_common_table_has_a_rule():
    assert set(rules.RULES) == {option.name for option in GENERATE}
    for option in GENERATE:
        rule = rules.RULES[option.name]
        assert rule.why or rule.fate in (rules.OWN, rules.PASSED, rules.CPU_OR_OWN), option.name


# ---- models


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("net_OE_3_3_1.onnx", "the model as the tool's own front end exported it (_OE_)"),
        ("net_OE_3_1_0_OE_3_3_1.ONNX", "name the model it was made from"),
        ("net.pt", "'.pt' is no kind of model (possible: .tflite, .onnx, .h5, .keras)"),
        ("net", "'' is no kind of model"),
        ("none.tflite", "none.tflite: cannot read: No such file or directory"),
        ("empty.onnx", "empty.onnx: is empty"),
        ("folder.tflite", "folder.tflite: is a folder"),
        ("n\u00e9t.onnx", "n\\xe9t.onnx: the name 'n\u00e9t' has letters outside ASCII, on which the tool's compiler"),
    ],
)
def test_models_that_are_refused(folder, name, said):
    (folder / "empty.onnx").write_bytes(b"")
    (folder / "folder.tflite").mkdir()
    if name.startswith("n\u00e9t") or "_OE_" in name:
        (folder / name).write_bytes(b"x")
    assert said in refusal(check_model, folder / name, name)


@pytest.mark.parametrize(
    "name", ["a.tflite", "a.onnx", "a.h5", "a.keras", "yolo.256.tflite", "x_OE_.onnx", "OE_1.onnx"]
)
def test_models_that_are_taken(folder, name):
    (folder / name).write_bytes(b"x")
    check_model(folder / name, name)


def test_the_release_of_each_version():
    for text in VERSIONS:
        assert release_of(parse_core(text)).core == text


# ---- the documentation

DOC = (package_parent().parent / "docs/reference/stedgeai.md").read_text("utf-8")


def test_the_documentation_tells_what_happens_to_each_option():
    table = DOC[DOC.index("## Options") : DOC.index("## Files")]
    for name, rule in rules.RULES.items():
        if rule.fate == rules.OWN and name not in ("--st-neural-art", "--mpool", "--initializers"):
            continue
        said = (
            f"`{name}`" in table or (name.startswith("--cut-") and "`--cut-*`" in table) or rule.why == rules._VALIDATE
        )
        assert said, name


def test_the_documentation_tells_the_names_of_exports():
    row = next(line for line in DOC.splitlines() if line.startswith("| `M_OE_V.onnx`"))
    assert [cell.strip() for cell in row.split("|")[2:7]] == [
        f"`{release.habits.front_end}`" for release in SERIES.values()
    ]
