"""A folder with a model, pools and profiles, and requests for the user's ST Edge AI Core."""

from __future__ import annotations

from pathlib import Path

from neuralart.compilers.command_line import parsed
from neuralart.compilers.stedgeai.request import ToolRequest, request_of
from neuralart.errors import NeuralArtError
from support.servers.messages import flat
from support.servers.programs import FLASH, N6_LIKE, RAM, pool_text

PROFILES = """{ // ours
 "Globals": {"NA_binary": "x"},
 "_comment": "kept out",
 "Profiles": {
  "default": {"memory_pool": "pools/n6.mpool", "options": "-O3 --all-buffers-info --Os --Omax-ca-pipe 4 --Ocache-opt"},
  "blobs": {"memory_pool": "pools/n6.mpool", "options": "--Os --enable-epoch-controller --ec-single-epoch"},
  "csv": {"memory_pool": "pools/n6.mpool", "options": "--Os --csv-file table"},
  "described": {"memory_pool": "pools/n6.mpool", "memory_desc": "desc/my n6.mdesc", "options": "--Os"},
  "lost": {"memory_pool": "pools/n6.mpool", "machine_desc": "desc/none.mdesc"},
  "small": {"memory_pool": "pools/small.mpool", "options": "--Os"},
  "code": {"memory_pool": "pools/code.mpool", "options": "--Os"},
  "article": {"options": "--Os --load-mpool pools/n6.mpool --csv-file network.csv --output-info-file c_info.json"},
  "linked": {"memory_pool": "pools/linked.mpool", "options": "--Os"},
  "hex": {"memory_pool": "pools/hex.mpool", "options": "--Os"},
  "odd": {"memory_pool": "pools/n6.mpool", "options": "--Os --frobnicate 3"} } }
"""


def make(folder: Path) -> Path:
    """The files; returns the folder."""
    (folder / "pools").mkdir(parents=True)
    (folder / "desc").mkdir()
    (folder / "net.tflite").write_bytes(b"\x1c\0\0\0TFL3" + bytes(range(256)) * 8)
    (folder / "na.json").write_text(PROFILES)
    (folder / "desc" / "my n6.mdesc").write_text("{}")
    plain = pool_text(*N6_LIKE)
    (folder / "pools" / "n6.mpool").write_text(plain)
    (folder / "pools" / "small.mpool").write_text(
        pool_text(("SRAM", 0x34200000, 128, RAM), ("xSPI2", 0x70380000, 1 << 20, FLASH))
    )
    before, flash = plain.rsplit("FORMAT_RAW", 1)
    linked = f'{before}FORMAT_C", "mode": "USEMODE_RELATIVE{flash}'
    (folder / "pools" / "linked.mpool").write_text(linked)
    for kind in ("C", "HEX"):
        assert plain.count("FORMAT_RAW")
        (folder / "pools" / f"{kind.lower().replace('c', 'code')}.mpool").write_text(
            plain.replace("FORMAT_RAW", f"FORMAT_{kind}")
        )
    return folder


def request(*words: str, profile: str = "default@na.json", target: str = "stm32n6") -> ToolRequest:
    """A request for network ``net``; of the NPU with a profile."""
    npu = ["--st-neural-art", profile] if target == "stm32n6" and profile else []
    return request_of(parsed(["--model", "net.tflite", "--name", "net", "--target", target, *npu, *words]))


def refusal(call, *words, **named) -> str:
    """The one line of an error."""
    try:
        call(*words, **named)
    except NeuralArtError as error:
        return flat(str(error))
    raise AssertionError("it was not refused")
