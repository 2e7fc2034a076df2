"""neuralart_networks.c: the same calls for all networks, compiled with all warnings and called on this machine."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from neuralart import boards, cli, toolchain
from neuralart.config.types import ToolchainConfig
from neuralart.errors import NeuralArtError
from neuralart.memory.startup import calls
from neuralart.network import facts
from neuralart.network.facts import LL_ATON, Network, Port
from support.projects import smallboard as small
from support.projects.sconsproject import REPO

MODEL = REPO / "models/digits/digits.tflite"
H7, N6 = "stm32h747i-disco", "stm32n6570-dk"
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-Wstrict-prototypes", "-Wundef"]
# What stands for the vendor's headers: names of its interface that the calls use.
VENDOR = {
    "ll_aton_runtime.h": '#include "ll_aton.h"\n#define LL_ATON_OSAL_WFE() (void)0\n',
    "ll_aton_caches_interface.h": "void LL_ATON_Cache_NPU_Clean_Invalidate_Range(uint32_t address, uint32_t size);\n",
    "npu_memory_init.h": "int npu_memory_init(void);\n",
}
MAIN = """\
#include <stdio.h>
#include "neuralart_networks.h"
#ifdef __cplusplus
#define AS(type) static_cast<type>
#else
#define AS(type) (type)
#endif
int main(void) {
  const neuralart_network_t *net = neuralart_find("digits");
  if (neuralart_find("digit") != NULL || neuralart_input(NULL, "image") != NULL || net == NULL) return 1;
  if (neuralart_init(NULL) != NEURALART_E_NONE_SUCH || neuralart_run(NULL) != NEURALART_E_NONE_SUCH) return 2;
  if (neuralart_run(net) != NEURALART_E_NOT_READY || neuralart_input(net, NULL)->data != NULL) return 3;
  if (neuralart_init(net) != 0 || neuralart_input(net, "imag") != NULL) return 4;
  neuralart_tensor_t *in = neuralart_input(net, "image"), *out = neuralart_output(net, NULL);
  if (in->bytes != 256 || in->zero_point != -128 || strcmp(out->type, "int8") != 0) return 5;
  for (unsigned run = 0; run < 2; run++) {
    if (fread(in->data, 1, in->bytes, stdin) != in->bytes || neuralart_run(net) != 0) return 6;
    fwrite(out->data, 1, out->bytes, stdout);
  }
  fputs(neuralart_error_text(NEURALART_E_REFUSED), stdout);
  return AS(int)(neuralart_network_count) - 1;
}
"""


def exported(folder: Path, board: str, *options: str) -> Path:
    words = [f"--option={option}" for option in options]
    call = ["export", "--quiet", "--model", str(MODEL), "--board", board, "--name", "digits", "--to", str(folder)]
    assert cli.main([*call, *words]) == 0
    return folder


@pytest.mark.hostcc
@pytest.mark.parametrize("options", [(), ("--no-inputs-allocation", "--no-outputs-allocation")])
def test_results_by_name(tmp_path: Path, options: tuple[str, ...]) -> None:
    """The golden outputs, from C and from C++, whoever provides the buffers; two runs in a row."""
    out = exported(tmp_path / "net", H7, *options)
    made = json.loads((out / "manifest.json").read_text("utf-8"))
    include = [f"-I{out / name}" for name in made["include_dirs"]]
    objects = [str(out / name) for name in made["sources"]]
    (tmp_path / "main.c").write_text(MAIN, "utf-8")
    calls_c = [name for name in objects if name.endswith(calls.SOURCE)]
    subprocess.run(["gcc", "-std=c11", *WARNINGS, *include, "-c", *calls_c, "-o", "calls.o"], cwd=tmp_path, check=True)
    rest = [name for name in objects if name not in calls_c]
    subprocess.run(["gcc", "-ffp-contract=off", *include, "-c", *rest], cwd=tmp_path, check=True)
    vectors = REPO / "models/digits/vectors"
    data = (vectors / "inputs.bin").read_bytes()[: 2 * 256]
    golden = (vectors / "outputs.bin").read_bytes()[: 2 * 10]
    for compiler, language in (("gcc", "c"), ("g++", "c++")):
        strict = [each for each in WARNINGS if language == "c" or "prototypes" not in each]
        main = [compiler, "-x", language, *strict, *include, "-c", "main.c", "-o", "main.o"]
        subprocess.run(main, cwd=tmp_path, check=True)
        made_of = ["main.o", "calls.o", *(f"{Path(name).stem}.o" for name in rest)]
        subprocess.run(["gcc", *made_of, "-lm", "-o", "main"], cwd=tmp_path, check=True)
        done = subprocess.run([tmp_path / "main"], input=data, capture_output=True, timeout=20)
        assert (done.returncode, done.stdout) == (0, golden + b"the runtime refuses the network")


def network(kinds: tuple[str, ...] = ("HW", "SW"), **changes: object) -> Network:
    port = Port("in", "A", 0x2400_1010, 64, (1, 8, 8, 1), "int8", 0.5, -3)
    made = small.network(small.pool("A", 0x2400_1000, 0x800, cacheable=True), name="net", kinds=kinds)
    return replace(made, inputs=(port, replace(port, user_allocated=True)), outputs=(port,), **changes)


@pytest.mark.arm
@pytest.mark.parametrize("runtime", ["neuralart", LL_ATON])
def test_calls_of_the_npu_compile(tmp_path: Path, runtime: str) -> None:
    """With what stands for the vendor's headers; caches are kept equal around the run."""
    for name, text in VENDOR.items():
        (tmp_path / name).write_text(text, "utf-8")
    text = calls.source(small.board(), [network(("HW", "SW") if runtime == LL_ATON else ("SW",), runtime=runtime)])
    (tmp_path / calls.SOURCE).write_text(text, "utf-8")
    include = [f"-I{REPO / folder}" for folder in ("firmware/calls", "firmware/runtime/include")]
    words = ["arm-none-eabi-gcc", "-std=c11", "-mcpu=cortex-m55", *WARNINGS, "-I.", *include]
    words += [*toolchain.find(ToolchainConfig(), os.environ).libc_flags, "-c", calls.SOURCE]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert ("LL_ATON_OSAL_WFE" in text) == (runtime == LL_ATON)
    run = text[text.index("net_run(void)") :]
    assert runtime != LL_ATON or run.index("clean_invalidate") < run.index("RunEpochBlock") < run.rindex("lean_")
    assert "LL_ATON_Set_User_Input_Buffer_net(1u" in text


def test_two_networks_of_one_name() -> None:
    with pytest.raises(NeuralArtError, match="network net is given twice"):
        calls.source(small.board(), [network(), network()])


def test_networks_of_several_pools(tmp_path: Path) -> None:
    out = exported(tmp_path / "net", H7)
    one = facts.load(out / "networks/digits/network.json")
    two = tuple(replace(pool, activations=8) if pool.fname == "AXIRAM" else pool for pool in one.pools)
    text = calls.source(boards.load(H7), [replace(one, pools=two)])
    assert "activations[] = {digits_activations_1, digits_activations_2};" in text
    assert "NEURALART_IN_AXIRAM static uint64_t digits_activations_2" in text


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--to", "x"], "neither a variant nor --model"),
        (["v", "--model", "m.tflite", "--to", "x"], "a variant or --model, not both"),
        (["--model", "m.tflite", "--to", "x"], "--model: no board"),
        (["--model", "m.tflite", "--board", N6, "--to", "x", "--depfile", "x.dep"], "no .d at the end"),
        (["--model", "none.tflite", "--board", N6, "--to", "x"], "none.tflite"),
        (["--model", str(MODEL), "--board", N6, "--to", "x", "--option=--name", "--option=y"], "--name is given twice"),
    ],
)
def test_wrong_exports(
    words: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["export", *words]) == 1
    err = capsys.readouterr().err
    assert says in err and len(err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_what_an_export_depends_on(tmp_path: Path) -> None:
    model = tmp_path / "a $model #1.tflite"
    model.write_bytes(MODEL.read_bytes())
    words = ["--model", str(model), "--board", N6, "--to", str(tmp_path / "out"), "--depfile", str(tmp_path / "n.d")]
    assert cli.main(["export", "--quiet", *words]) == 0
    target, _, rest = (tmp_path / "n.d").read_text("utf-8").partition(": ")
    assert target == (tmp_path / "n").as_posix()
    assert f"{tmp_path.as_posix()}/a\\ $$model\\ \\#1.tflite" in rest
    for part in ("boards/data/stm32n6570-dk.yaml", "pools/stm32n6570-dk.mpool", "conv2d.c", "export/of_model.py"):
        assert part in rest, part
