"""The vendor's client talks to a board, and prints what it got as JSON. A program: FOLDER WHERE ADDRESS BATCH.

``FOLDER`` holds the package ``stm_ai_runner``. ``BATCH`` is a file with the samples of the only input, one after the
other. The client was made for older versions of two packages; what it misses of them is given to it here.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

MODES = ("IO_ONLY", "PER_LAYER", "PER_LAYER_WITH_DATA", "PERF_ONLY")


def hexes(arrays: Any) -> list[str]:
    return [np.ascontiguousarray(each).tobytes().hex() for each in arrays]


def talk(folder: str, where: str, address: int, batch: bytes) -> dict[str, Any]:
    os.environ["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = "python"
    np.fromstring = lambda data, dtype=float, **_: np.frombuffer(bytes(data), dtype).copy()  # type: ignore[attr-defined]
    sys.path.insert(0, folder)
    from stm_ai_runner import AiRunner  # type: ignore[import-not-found]

    runner = AiRunner()
    if not runner.connect(where):
        raise SystemExit(f"connect: {runner.get_error()}")
    said: dict[str, Any] = {"names": runner.names}
    info = runner.get_info()
    said["device"] = {key: str(value) for key, value in info["device"].items()}
    said["hash"], said["nodes"] = info["hash"], info["n_nodes"]
    (into,) = runner.get_inputs()
    samples = np.frombuffer(batch, into.dtype).reshape(-1, *tuple(into.shape)[1:])
    for mode in MODES:
        outputs, profile = runner.invoke([samples], mode=getattr(AiRunner.Mode, mode))
        said[mode] = {
            "outputs": hexes(outputs),
            "layers": [
                {
                    "name": node["name"],
                    "data": hexes(node["data"] or []),
                    "tensors": [str(each.name) for each in node["io_tensors"]],
                    "extra": node.get("extra", [[]])[0],
                }
                for node in profile["c_nodes"]
            ],
        }
        runner.print_profiling([samples], profile, outputs, debug=True)
    blob = bytes(n * 7 & 255 for n in range(3000))
    memory = {"target_addr": address, "size": len(blob)}
    written = runner.extension(cmd="write-in-memory", target_addr=address, data=blob)
    said["written"] = written["error"]
    said["read"] = bytes(runner.extension(cmd="read-in-memory", **memory)["data"]) == blob
    said["checksum"] = runner.extension(cmd="checksum-in-memory", **memory)["crc"]
    said["refused"] = bool(runner.extension(cmd="unit-test", test_id=10))
    runner.disconnect()
    return said


def main() -> None:
    folder, where, address, batch = sys.argv[1:]
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        said = talk(folder, where, int(address, 0), Path(batch).read_bytes())
    print(json.dumps({**said, "shown": shown.getvalue()}))


if __name__ == "__main__":
    main()
