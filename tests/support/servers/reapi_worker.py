"""A worker of BuildGrid that a test can kill: ``python -m support.servers.reapi_worker URL [hold]``.

It speaks the Remote Workers API, does one step at a time, and prints a line when it is there and when it has begun.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from neuralart_fleet.config import CacheConfig
from neuralart_fleet.remote.grpc_store import GrpcStore
from neuralart_fleet.remote.messages import Digest, files_of, message, parse

_BOTS = "/google.devtools.remoteworkers.v1test2.Bots/"
_RESULT = "type.googleapis.com/build.bazel.remote.execution.v2.ActionResult"
_OK, _COMPLETED = 1, 4  # BotStatus, LeaseState
_SECONDS = 120  # However the test ends, so does this


class _Worker:
    def __init__(self, url: str, *, hold: bool) -> None:
        self._store = GrpcStore(CacheConfig(url, timeout=20), "")
        self._hold = hold

    def serve(self) -> None:
        bot, device = (2, str(uuid.uuid4())), message((1, message((1, "cpu"))))
        session, leases = b"", list[bytes]()
        end = time.monotonic() + _SECONDS
        while time.monotonic() < end:
            said = message((1, session), bot, (3, _OK), (4, device), (5, leases))
            if not session:
                answer = self._store.call(f"{_BOTS}CreateBotSession", message((1, self._store.instance), (2, said)))
                print("there", flush=True)
            else:
                answer = self._store.call(f"{_BOTS}UpdateBotSession", message((1, session), (2, said)))
            fields = parse(answer)
            session, leases = fields[1][0], [self._done(parse(lease)) for lease in fields.get(5, ())]

    def _done(self, lease: dict[int, list[bytes]]) -> bytes:
        payload = parse(lease[8][0])
        action = payload[2][0]
        if payload[1][0].endswith(b"Digest"):
            action = self._blob(action)
        print("begun", flush=True)
        if self._hold:
            time.sleep(_SECONDS)
        result = message((1, _RESULT), (2, self._result(parse(action))))
        return message((7, lease[7][0]), (8, lease[8][0]), (9, result), (2, _COMPLETED), (3, b""))

    def _blob(self, digest: bytes) -> bytes:
        data, wanted = io.BytesIO(), Digest.read(digest)
        assert not wanted.size or self._store.read("cas", wanted, data)
        return data.getvalue()

    def _files(self, folder: bytes, above: str = "") -> Iterator[tuple[str, bytes]]:
        fields = parse(self._blob(folder))
        for name, digest, _ in files_of({2: fields.get(1, [])}):
            yield above + name, self._blob(digest.written)
        for row in map(parse, fields.get(2, ())):
            yield from self._files(row[2][0], f"{above}{row[1][0].decode()}/")

    def _result(self, action: dict[int, list[bytes]]) -> bytes:
        command = parse(self._blob(action[1][0]))
        outputs = [name.decode() for name in command.get(7, ())]
        made = {}
        with tempfile.TemporaryDirectory() as place:
            for name, data in [*self._files(action[2][0]), *((f"{name}.", b"") for name in outputs)]:
                (Path(place) / name).parent.mkdir(parents=True, exist_ok=True)
                (Path(place) / name).write_bytes(data)
            env = {row[1][0].decode(): row.get(2, [b""])[0].decode() for row in map(parse, command.get(2, ()))}
            ran = subprocess.run(command[1], cwd=place, env=env, capture_output=True)
            files = []
            for name in outputs:
                if (Path(place) / name).is_file():
                    data = (Path(place) / name).read_bytes()
                    digest = Digest.of_file(Path(place) / name)
                    made[digest] = lambda data=data: data
                    files.append(message((1, name), (2, digest.written)))
        self._store.upload(made)
        return message((2, files), (4, ran.returncode), (5, ran.stdout), (7, ran.stderr))


if __name__ == "__main__":
    _Worker(sys.argv[1], hold="hold" in sys.argv).serve()
