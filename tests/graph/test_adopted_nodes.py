"""``compiler: {adopted: FOLDER}`` as nodes: files, inputs, command, and what is refused."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import SCons.Errors

from neuralart.config.types import AdoptedConfig, NetworkConfig, RelocatableConfig, VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.resources import board_data_dir
from neuralart.text.values import Location
from support.models.vendor_network_c import Want, make
from support.projects import graphs, repositories
from support.servers.messages import one_message

BOARD = "stm32n6570-dk"


@pytest.fixture
def model(tree: Path) -> Path:
    repositories.put(tree, repositories.network("Model", Want(version="2.2", ec=True)))
    repositories.h747(tree / "h7")
    return tree / "Model"


def _net(env: Any, compiler: Any = None, board: str = BOARD, **more: Any) -> Any:
    return env.Network("net", board=board, compiler=compiler or {"adopted": "Model"}, **more)


def refusal(env: Any, **named: Any) -> str:
    with pytest.raises(SCons.Errors.UserError) as caught:
        _net(env, **named)
    one_message(str(caught.value))
    return str(caught.value)


def test_files_and_inputs(env: Any, model: Path) -> None:
    net = _net(env)
    assert (net.compiler, net.runtime, net.config.model) == ("adopted", "ll_aton", "")
    assert [Path(str(node)).name for node in net.code] == ["network.c"]
    names = {Path(str(node)).name for node in net.files}
    assert names >= {"network.c", "network_ecblobs.h", "network_data.xSPI2.bin", "network.json", "manifest.json"}
    assert Path(str(net.initializers["xSPI2"])).name == "network_atonbuf.xSPI2.raw"
    assert net.pool_address["xSPI2"] == 0x71000000
    read = {Path(str(node)).name for node in net.c.sources}
    assert read == {"network.c", "network_ecblobs.h", "network_data.xSPI2.bin"}
    words = graphs.command(net.c)
    assert words[words.index("--compiler") :][:6] == [
        "--compiler",
        "adopted",
        "--adopted",
        "Model",
        "--c-file",
        "network.c",
    ]
    assert "--initializer" in words and "xSPI2=Model/network_data.xSPI2.bin" in words
    assert _net(env).c is net.c
    (model / "w.bin").write_bytes((model / "network_data.xSPI2.bin").read_bytes())
    other = _net(env, {"adopted": {"folder": "Model", "c_file": "network.c", "initializers": {"xSPI2": "Model/w.bin"}}})
    assert other.folder != net.folder


def test_a_network_of_the_core(env: Any, model: Path) -> None:
    net = _net(env, {"adopted": "h7/CM7/X-CUBE-AI/App"}, "stm32h747i-disco")
    assert (net.runtime, [Path(str(node)).name for node in net.c]) == (
        "network_runtime",
        ["network.c", "network_data.c", "network_data_params.c"],
    )
    assert {Path(str(node)).name for node in net.headers} >= {"network.h", "network_data.h", "network_config.h"}


def test_refusals(env: Any, model: Path) -> None:
    assert "'profile' means nothing to an adopted network: it is compiled already" in refusal(env, profile="a.json")
    assert "'memory' means nothing to an adopted network: " in refusal(env, memory="smallest")
    assert "'allocate_inputs' means nothing" in refusal(env, allocate_inputs=False)
    assert "Model/network.c is a network for the NPU, networks of board stm32h747i-disco run on the core" in refusal(
        env, board="stm32h747i-disco"
    )
    assert "networks.net: no model" in refusal(env, compiler="reference")
    assert "adopted: nowhere no such folder" in refusal(env, compiler={"adopted": "nowhere"})
    assert "'folder' is missing" in refusal(env, compiler={"adopted": {"c_file": "network.c"}})
    said = refusal(env, mpool=str(board_data_dir() / f"pools/{BOARD}.mpool"))
    assert "it is not the pool file that the network was compiled for" in said
    with pytest.raises(SCons.Errors.UserError, match=r"an adopted network keeps its name \(call it network.c\)"):
        env.NeuralArtNetwork(
            "x/net.c", "Model/network.c", NEURALART_BOARD=BOARD, NEURALART_COMPILER={"adopted": "Model"}
        )
    assert env.NeuralArtNetwork(
        "x/network.c", "Model/network.c", NEURALART_BOARD=BOARD, NEURALART_COMPILER={"adopted": "Model"}
    )


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        ("Model", "Model/network.c: pool xSPI2 at 0x71000000 is USEMODE_ABSOLUTE: the external memories of"),
        ("Moved", "no installation of ST Edge AI Core is named, and network net needs its runtime (pack_dir: FOLDER"),
        ("Idle", "no installation of ST Edge AI Core is named, and network net needs its runtime (pack_dir: FOLDER"),
    ],
)
def test_relocatable_models(
    env: Any, model: Path, gcc: Any, monkeypatch: pytest.MonkeyPatch, folder: str, said: str
) -> None:
    monkeypatch.delenv("STEDGEAI_CORE_DIR", raising=False)
    repositories.put(Path("Moved"), dict(make(Want(relative=True)).files.items()))
    shutil.copytree("Moved", "Idle")
    code = Path("Idle/network.c")
    unused = "/* index=7 file postfix=xSPI1 name=hyperRAM offset=0x90000000  absolute_mode size=33554424 READ_WRITE */"
    text = code.read_text("utf-8")
    code.write_text(text.replace("/* global pool", f"/* global pool 7 is ? */\n{unused}\n/* global pool", 1), "utf-8")
    network = NetworkConfig("net", "", compiler="adopted", adopted=AdoptedConfig(folder))
    variant = VariantConfig(
        "v", "V", BOARD, "", (network,), relocatable=RelocatableConfig(), where=Location("v.yaml", 3)
    )
    with pytest.raises((SCons.Errors.UserError, NeuralArtError)) as caught:
        env.NeuralArtVariant(variant)
    assert said in str(caught.value)


def test_a_pool_that_moves_is_refused(env: Any, model: Path) -> None:
    files = make(Want(relative=True)).files
    repositories.put(Path("Moved"), {name: data for name, data in files.items()})
    net = _net(env, {"adopted": "Moved"})
    with pytest.raises(SCons.Errors.UserError, match="xSPI2"):
        env.MemoryInitializers(net)
