"""The legacy C API of CPU networks, on this machine: golden vectors through it, and every wrong use of it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from neuralart.resources import firmware_dir
from neuralart_reference.cpu.compile import CpuRequest, compile_network, write
from support.boards.h747 import DIGITS, REPO, pools
from support.host_c import cpu_native
from support.models.streams import stream

pytestmark = pytest.mark.hostcc

THREE = {"DTCMRAM": 300, "AXIRAM": 2048, "SDRAM": 512}
VECTORS = DIGITS / "vectors"


def network(folder: Path, name: str = "network", model: Path = DIGITS / "digits.tflite", **options: object) -> Path:
    write(compile_network(CpuRequest(model=model, name=name, report=False, **options)), folder)
    return folder


@pytest.mark.parametrize(
    ("sizes", "options"),
    [
        ({}, {}),
        ({"AXIRAM": 2560}, {}),
        ({"AXIRAM": 2048, "SDRAM": 512}, {"split_weights": True}),
        (THREE, {}),
        (THREE, {"allocate_inputs": False, "allocate_outputs": False}),
        ({}, {"allocate_inputs": False, "split_weights": True}),
    ],
)
def test_golden_vectors(tmp_path: Path, sizes: dict[str, int], options: dict[str, object]) -> None:
    """Buffers are as large as the network says and no larger; memory is full of garbage. One program for all modes."""
    file = {"memory_pool": pools(tmp_path, **sizes)} if sizes else {}
    program = cpu_native.build(network(tmp_path / "n", **file, **options), "network", tmp_path / "program")
    inputs, outputs = ((VECTORS / f"{name}.bin").read_bytes() for name in ("inputs", "outputs"))
    for mode in ("o", "op") if "allocate_inputs" in options else ("", "o", "p", "op"):
        assert cpu_native.run(program, inputs, mode) == outputs, mode


@pytest.mark.long
@pytest.mark.parametrize("name", ["mobilenet", "heatmap", "detector"])
def test_larger_networks(tmp_path: Path, name: str) -> None:
    """Three pools, of which each takes a part."""
    model = REPO / "models" / name / f"{name}.tflite"
    whole = compile_network(CpuRequest(model=model, report=False)).cpu.activation_sizes[0]
    sizes = {"DTCMRAM": whole // 8, "AXIRAM": whole // 2, "SDRAM": 4 * whole}
    folder = network(tmp_path / "n", name, model, memory_pool=pools(tmp_path, **sizes))
    assert f"AI_{name.upper()}_DATA_ACTIVATIONS_COUNT    (3)" in (folder / f"{name}_data_params.h").read_text()
    program = cpu_native.build(folder, name, tmp_path / "program", sanitize=False)
    got = cpu_native.run(program, (model.parent / "vectors" / "inputs.bin").read_bytes())
    assert got == (model.parent / "vectors" / "outputs.bin").read_bytes()


def test_variables_begin_anew_with_each_program(tmp_path: Path) -> None:
    """Each result is the maximum of an input and the one before it, at first of the variable's first value."""
    model = tmp_path / "m.tflite"
    model.write_bytes(stream(first=2))
    program = cpu_native.build(network(tmp_path / "n", model=model), "network", tmp_path / "program")
    for _ in range(2):
        assert cpu_native.run(program, bytes([0, 1, 2, 3, 4, 9, 0, 0, 0, 0, *bytes(5)])) == bytes(
            [2, 2, 2, 3, 4, 9, 1, 2, 3, 4, 9, 0, 0, 0, 0]
        )


def test_every_wrong_use(tmp_path: Path) -> None:
    folder = network(tmp_path / "n", memory_pool=pools(tmp_path, AXIRAM=2048, SDRAM=512))
    program = tmp_path / "check"
    check = Path(cpu_native.__file__).with_name("legacy_check.c")
    own = [str(path) for path in sorted(folder.glob("network*.c"))]
    words = [*cpu_native.SANITIZER, f"-I{folder}", str(check), *own, *cpu_native.shared(), "-o", str(program)]
    cpu_native.cc(words)
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 0), done.stderr


def test_two_networks_in_one_program(tmp_path: Path) -> None:
    """Names do not collide, whatever they are."""
    one = network(tmp_path / "one", "na")
    two = network(tmp_path / "two", "ai")
    main = tmp_path / "main.c"
    main.write_text(
        '#include "na.h"\n#include "na_data.h"\n#include "ai.h"\n#include "ai_data.h"\n'
        "int main(void) { ai_handle a, b;\n"
        "  return ai_na_create(&a, AI_NA_DATA_CONFIG).type || ai_ai_create(&b, AI_AI_DATA_CONFIG).type || a == b; }\n"
    )
    sources = [str(path) for folder in (one, two) for path in sorted(folder.glob("*.c"))]
    program = tmp_path / "program"
    cpu_native.cc(
        [*cpu_native.SANITIZER, f"-I{one}", f"-I{two}", str(main), *sources, *cpu_native.shared(), "-o", str(program)]
    )
    assert subprocess.run([str(program)], check=False).returncode == 0


def test_headers_stand_alone(tmp_path: Path) -> None:
    folder = network(tmp_path / "n")
    include = firmware_dir() / "runtime" / "legacy" / "include"
    for header in (*sorted(folder.glob("*.h")), *sorted(include.glob("*.h"))):
        source = tmp_path / "one.c"
        source.write_text(f'#include "{header.name}"\n#include "{header.name}"\n')
        cpu_native.cc([f"-I{folder}", "-c", str(source), "-o", str(tmp_path / "one.o")])
