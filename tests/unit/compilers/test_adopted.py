"""Generated C of a tree, adopted: its files, its constants whatever they are called, its facts, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from neuralart import cli
from neuralart.compilers import adopted
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.network import facts
from neuralart.text.ihex import ihex
from support.models import vendor_network_c as shape
from support.models.vendor_network_c import RELEASES, Want

BASE = 0x71000000
PLAIN = Want()
RAW = "network_atonbuf.xSPI2.raw"
# Its headers are all that a network for the core without description has.
CPU_H = """#define STAI_TINY_IN_NUM (1)
#define STAI_TINY_IN_1_FORMAT (STAI_FORMAT_S8)
#define STAI_TINY_IN_1_SHAPE {1,8,8,3}
#define STAI_TINY_IN_1_SIZE_BYTES (192)
#define STAI_TINY_OUT_NUM (1)
#define STAI_TINY_OUT_1_NAME ("scores")
#define STAI_TINY_OUT_1_FORMAT (STAI_FORMAT_FLOAT32)
#define STAI_TINY_OUT_1_SHAPE {1,10}
#define STAI_TINY_OUT_1_SIZE_BYTES (40)
#define STAI_TINY_ACTIVATIONS_SIZE_BYTES (4096)
#define STAI_TINY_WEIGHTS_SIZE_BYTES \\
  (1234)
"""
CPU_C = '#include "tiny.h"\n.tool_version = STAI_INIT_VERSION(3, 0, 0),\nstai_return_code stai_tiny_init(void) { }\n'


def tree(folder: Path, want: Want = PLAIN, *leave_out: str) -> Path:
    made = shape.make(want)
    for name in leave_out:
        made.files.pop(name)
    made.write(folder)
    return folder


def taken(folder: Path, name: str = "net", **given: object) -> tuple[adopted.AdoptPlan, facts.Network, Path]:
    planned = adopted.plan(folder, **given)  # type: ignore[arg-type]
    out = folder.parent / "out"
    made, _ = adopted.adopt(planned, name, out)
    assert facts.load(out / "network.json") == made
    facts.check_files(out)
    return planned, made, out


def refusal(folder: Path, **given: object) -> str:
    with pytest.raises(NeuralArtError) as caught:
        taken(folder, **given)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value.what)
    return str(caught.value)


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize("ec", [False, True])
def test_every_release(tmp_path: Path, version: str, ec: bool) -> None:
    want = Want(version=version, ec=ec, all_buffers=True)
    folder = tree(tmp_path / "Model", want)
    planned, made, out = taken(folder)
    assert (made.name, made.symbol, made.runtime) == ("net", want.c_name, "ll_aton")
    assert ".".join(map(str, made.runtime_version)) == want.runtime
    assert made.macc is None
    assert [port.bytes for port in made.inputs]
    for name in planned.found.code:
        assert (out / name).read_bytes() == (folder / name).read_bytes(), "files are not edited"
    assert ("network_ecblobs.h" in planned.found.code) is ec
    assert {pool.fname: pool.weights for pool in made.pools if pool.weights} == {
        "xSPI2": len((folder / RAW).read_bytes())
    }


def test_activations_are_not_made_up(tmp_path: Path) -> None:
    """Where no buffer ends where the rounded number of a comment says, the exact one is unknown."""
    folder = tree(tmp_path / "Model")
    _, exact, _ = taken(folder)
    assert None not in [pool.activations for pool in exact.pools]
    text = (folder / "network.c").read_text()
    assert text.count("is 64.00 KB */") == 1
    (folder / "network.c").write_text(text.replace("is 64.00 KB */", "is 70.31 KB */"))
    _, rounded, _ = taken(folder)
    assert [pool.activations for pool in rounded.pools if pool.used and pool.rights == "ACC_WRITE"] == [None]


@pytest.mark.parametrize(
    "name",
    [
        "network_data.xSPI2.bin",
        "my.xSPI2.raw",
        "weights.bin",
        "kws v3.bin",
        "network_data.hex",
        "anything.hex",
        "blob-xSPI2.hex",
    ],
)
def test_constants_under_any_name(tmp_path: Path, name: str) -> None:
    folder = tree(tmp_path / "Model")
    data = read_bytes(folder / RAW)
    (folder / RAW).unlink()
    (folder / name).write_bytes(ihex(BASE, data).encode() if name.endswith("hex") else data)
    (folder / "picture.bin").write_bytes(b"\0" * 9)
    planned, _, out = taken(folder)
    assert [path.name for path in planned.initializers.values()] == [name]
    assert (out / RAW).read_bytes() == data
    assert (out / name).read_bytes() == (folder / name).read_bytes()


def test_constants_elsewhere(tmp_path: Path) -> None:
    folder = tree(tmp_path / "Model")
    moved = tmp_path / "flash me.bin"
    (folder / RAW).rename(moved)
    said = refusal(folder)
    assert "bytes of constants are in pool xSPI2 (0x71000000), and no file beside it holds them" in said
    assert "initializers: {xSPI2: FILE}" in said
    _, made, _ = taken(folder, initializers={"xSPI2": moved})
    assert made.initializers[0].weights == moved.stat().st_size
    assert "pool AXISRAM9 of" in refusal(folder, initializers={"AXISRAM9": moved})
    assert "no file" in refusal(folder, initializers={"xSPI2": tmp_path / "none.bin"})


def as_c(data: bytes, network: str) -> str:
    """Constants as the tool writes them for a pool with FORMAT_C."""
    words = [f"0x{int.from_bytes(data[at : at + 8], 'little'):016X}ULL" for at in range(0, len(data), 8)]
    return (
        f"/* global pool 8 is {len(data)} bytes */\n/* index=8 file postfix=xSPI2 name=octoFlash offset=0x71000000  "
        f"relative_mode size={len(data)} READ_ONLY score=50 */\n"
        f"LL_ATON_ALIGNED(64) const uint64_t _mem_pool_xSPI2_{network}[{len(words)}] = {{\n{','.join(words)}\n}};\n"
    )


def test_constants_as_c(tmp_path: Path) -> None:
    """They become raw bytes: the text of the C file is no weights. A damaged file is refused."""
    folder = tree(tmp_path / "Model")
    data = read_bytes(folder / RAW)
    (folder / RAW).unlink()
    text = as_c(data, "Default")
    c = folder / "network_atonbuf.xSPI2.c"
    c.write_text(text)
    for given in ({}, {"initializers": {"xSPI2": c}}):
        planned, _, out = taken(folder, **given)
        assert planned.initializers == {"xSPI2": c}
        assert (out / RAW).read_bytes() == data
    c.write_text(text.removesuffix("};\n"))
    assert "has no end (the file is cut off; make it again)" in refusal(folder, initializers={"xSPI2": c})
    c.write_text("int x;\n" + " " * len(data))
    assert "no array uint64_t _mem_pool_" in refusal(folder, initializers={"xSPI2": c})


def test_pools_without_use(tmp_path: Path) -> None:
    """Such a pool does not stand in the way of a relocatable model; one that a virtual pool reaches does."""
    folder = tree(tmp_path / "Model")
    before = adopted.plan(folder).found.idle
    c = folder / "network.c"
    text = c.read_text()
    pool = "/* index=7 file postfix=xSPI1 name=hyperRAM offset=0x90000000  absolute_mode size=33554424 READ_WRITE */\n"
    c.write_text(text.replace("/* global pool", f"/* global pool 7 is ? */\n{pool}/* global pool", 1))
    assert adopted.plan(folder).found.idle == ("xSPI1", *before)
    over = "/* index=9 file postfix=V name=V offset=0x90000000  absolute_mode size=4096 vpool READ_WRITE */\n"
    both = f"/* global pool 7 is ? */\n{pool}/* global pool 9 is 4.00 KB */\n{over}/* global pool"
    c.write_text(text.replace("/* global pool", both, 1))
    assert adopted.plan(folder).found.idle == before


def test_constants_of_another_compile(tmp_path: Path) -> None:
    folder = tree(tmp_path / "Model")
    data = read_bytes(folder / RAW)
    (folder / RAW).write_bytes(data[:-16])
    said = refusal(folder)
    assert f"holds {len(data) - 16} bytes, pool xSPI2 of network.c reads" in said
    assert "it is of another compile of the network" in said
    (folder / RAW).unlink()
    (folder / "network_data.hex").write_text(ihex(0x70380000, data))
    assert "its bytes belong to 0x70380000, pool xSPI2 of network.c is at 0x71000000" in refusal(folder)
    (folder / "a_data.bin").write_bytes(data)
    (folder / "b_data.bin").write_bytes(data)
    assert [path.name for path in taken(folder)[0].initializers.values()] == ["a_data.bin"], "equal files are one"
    (folder / "b_data.bin").write_bytes(data + b"\0")
    assert "several files may be it: a_data.bin, b_data.bin" in refusal(folder)


def test_which_network(tmp_path: Path) -> None:
    folder = tree(tmp_path / "Model")
    (folder / "other.c").write_bytes((folder / "network.c").read_bytes())
    assert "has several networks: network.c, other.c" in refusal(folder)
    planned, _, _ = taken(folder, c_file="network.c")
    assert planned.found.c_file == "network.c"
    (folder / "main.c").write_text("int main(void) { return 0; }\n")
    assert "main.c is no generated network" in refusal(folder, c_file="main.c")
    assert "has no no.c" in refusal(folder, c_file="no.c")
    assert "no such folder" in refusal(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    assert "has no C file of a generated network" in refusal(tmp_path / "empty")


def test_blobs_that_are_not_there(tmp_path: Path) -> None:
    folder = tree(tmp_path / "Model", Want(ec=True), "network_ecblobs.h")
    assert "it includes network_ecblobs.h, which is not beside it" in refusal(folder)


def test_a_description_of_another_compile_is_left_aside(tmp_path: Path) -> None:
    folder = tree(tmp_path / "Model")
    (folder / "network_c_info.json").write_text("{}")
    _, made, out = taken(folder)
    assert made.macc is None
    assert (out / "network_c_info.json").read_text() == "{}"
    assert "note: " in (out / "provenance.txt").read_text()


def test_a_network_for_the_core(tmp_path: Path) -> None:
    folder = tmp_path / "App"
    folder.mkdir()
    (folder / "tiny.c").write_text(CPU_C)
    (folder / "tiny_data.c").write_text("const int a[] = { 1 };\n")
    assert "neither its headers nor a c_info.json say what its inputs and outputs are" in refusal(folder)
    (folder / "tiny.h").write_text(CPU_H)
    planned, made, out = taken(folder)
    assert planned.found.code == ("tiny.c", "tiny_data.c", "tiny.h")
    assert (made.runtime, made.runtime_version, made.macc) == ("network_runtime", (3, 0, 0, 0), None)
    assert [(port.name, port.shape, port.dtype) for port in (*made.inputs, *made.outputs)] == [
        ("in_1", (1, 8, 8, 3), "int8"),
        ("scores", (1, 10), "float32"),
    ]
    assert {pool.fname: pool.used for pool in made.pools} == {"activations": 4096, "weights": 1234}
    assert made.initializers == ()
    assert json.loads((out / "manifest.json").read_text())["network"] == "net"


def test_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tree(tmp_path / "Model", Want(version="2.2"))
    words = ["compile", "--compiler", "adopted", "--adopted", str(folder), "-o", str(tmp_path / "out")]
    assert cli.main([*words, "--name", "net", "--target", "stm32n6570-dk"]) == 0
    assert capsys.readouterr().out.startswith("network net (Default in C): unknown MAC, for ll_aton 1.1.1.14, adopted")
    assert cli.main([*words, "--target", "stm32h7"]) == 1
    assert "is of a network for the NPU, target stm32h7 is for the core" in capsys.readouterr().err
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert cli.main([*words[:-1], str(folder), "--force"]) == 1
    assert "is a folder of the user's own files" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert cli.main([*words, "--initializer", "xSPI2"]) == 1
    assert "'xSPI2' is no POOL=FILE" in capsys.readouterr().err
    assert cli.main([*words[:3], "-o", "x"]) == 1
    assert "--adopted: is required" in capsys.readouterr().err
    assert cli.main(["compile", "-m", "a.tflite", "--target", "stm32n6", "--adopted", "x"]) == 1
    assert "leave it out, or use --compiler adopted" in capsys.readouterr().err


def test_a_network_for_the_core_of_the_reference_compiler(tmp_path: Path) -> None:
    """With its description everything is known; without, what its headers say."""
    from neuralart_reference.cpu.compile import CpuRequest, compile_network, write

    model = Path(__file__).resolve().parents[3] / "models/digits/digits.tflite"
    folder = tmp_path / "App"
    write(compile_network(CpuRequest(model=model, name="digits", report=False)), folder)
    own = facts.load(folder / "network.json")
    _, made, _ = taken(folder, "one")
    assert (made.runtime, made.abi_stamp, made.runtime_version, made.macc, len(made.epochs)) == (
        own.runtime,
        own.abi_stamp,
        own.runtime_version,
        own.macc,
        len(own.epochs),
    )
    assert [(port.bytes, port.dtype, port.scale) for port in made.inputs] == [
        (port.bytes, port.dtype, port.scale) for port in own.inputs
    ]
    (folder / "digits_c_info.json").unlink()
    (tmp_path / "out" / "manifest.json").unlink()
    _, less, _ = taken(folder, "two")
    assert (less.runtime, less.abi_stamp, less.macc, less.epochs) == (own.runtime, own.abi_stamp, None, ())
    assert [port.bytes for port in (*less.inputs, *less.outputs)] == [
        port.bytes for port in (*own.inputs, *own.outputs)
    ]
