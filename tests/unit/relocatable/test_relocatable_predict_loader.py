"""What the predictor says of the reference runtime's loader is what that loader does, on random installs."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from neuralart.errors import NeuralArtError
from neuralart.relocatable.format import container
from neuralart.relocatable.predict.prediction import InstallCall, LoadingFirmware, Room
from neuralart.relocatable.predict.predictor import predict
from support.relocatable import rel_images
from support.relocatable.loader_host import CLEAR, COPY, XIP, Host, compile_host, unavailable
from support.relocatable.rel_images import Pool, Recipe, build

pytestmark = [pytest.mark.hostcc, pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "-")]

BASES = (0x71000000, 0x71800000, 0x34000000, 0x34300000, 0x90000000, 0x60000000)
CASES = 1500
GCC_M55 = 0x80485D22  # asynchronous, without debug information, non-secure
PARAM, MIXED = replace(rel_images.PARAM, size=96), replace(rel_images.MIXED, size=44)
TABLES = (
    (PARAM,),
    (MIXED, PARAM),
    (Pool("A", 0x02030200, 24, 0x34300000, b"\x22" * 24), PARAM, Pool("B", 0x03020200, 64, 0x34300100)),
    (Pool("A", 0x03020200, 64, 0x34300000),),
    (replace(PARAM, flags=0x01010100), Pool("X", 0x01020601, 4096)),
)
POINTERS = (rel_images.RAM + 4, rel_images.ROM + 0x101)


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    host = Host(compile_host(tmp_path_factory.mktemp("loader")))
    for base in BASES:
        host.map(base)
    yield host
    host.close()


def _image(rng: random.Random, sizes: int) -> tuple[bytes, bool]:
    pools = rng.choice(TABLES)
    got = tuple(rng.sample([rel_images.RAM + 8, rel_images.P0 + 16, rel_images.ROM + 0x81, 0], 2))
    if any(pool.flags >> 24 == 1 and pool.flags & 1 for pool in pools):
        got += (rel_images.P1 + 40,)
    built = build(
        Recipe(
            words=rng.choice((24, 26)),
            version=(0, 1, 0, 0),
            description="neuralart-reference (RELOC.GCC)",
            flags=GCC_M55,
            pools=pools,
            got=got,
            pointers=POINTERS,
            split=rng.random() < 0.3,
        )
    ).put("context.sizes", sizes)
    if rng.random() < 0.5:
        name = rng.choice(
            [
                n
                for n in built.at
                if n.startswith(("pool", "got", "pointer", "entry", "flags", "rel0", "context.rt_v", "bss"))
            ]
        )
        old = built.word(name)
        low, high = 0x3430_0000, 0x3430_8000
        if name.endswith(".dst"):
            # Only where there is memory: the loader has no way to know what else is none.
            built.put(name, rng.choice((0, low, 0x34000000, 0x71000000, 0x90000000, rng.randrange(low, high, 4))))
        elif name.endswith(".size"):
            built.put(name, rng.choice((0, 1, 64, 0x20000000, 0x1000)))
        elif name.endswith((".foff", ".name")) or name == "bss_end":
            built.put(name, old + rng.choice((-4, 0, 4, 8)))
        elif name.endswith(".flags"):
            built.put(name, old ^ 1 << rng.choice((0, 1, 8, 9, 10, 16, 17, 18, 24, 25)))
        else:
            built.put(name, rng.choice((old ^ 1 << rng.randrange(32), old + 4, old - 4, rng.choice(POINTERS))))
    return bytes(built.data), bool(built.word("params_offset") == 0)


def _call(rng: random.Random, split: bool) -> InstallCall:
    def base(usual: int) -> int:
        at = usual if rng.random() < 0.85 else rng.choice(BASES)
        return at + rng.choice((0, 0, 0, 0, 8, 0x40, 0x1000, 4, 2))

    given = split if rng.random() < 0.9 else not split
    return InstallCall(
        at=base(0x71000000),
        ram=Room(base(0x34000000), rng.choice((0x4000, 0x4000, 0x4000, 700, 200))),
        ext_ram=Room(base(0x90000000), rng.choice((0x2000, 0x2000, 0x1000, 40))) if rng.random() < 0.9 else None,
        params=base(0x71800000) if given else 0,
        copy=rng.random() < 0.5,
        clear=rng.random() < 0.3,
    )


def test_the_loader_does_what_is_predicted(host):
    rng = random.Random("predict and load")
    seen: Counter[int] = Counter()
    for number in range(CASES):
        data, split = _image(rng, host.sizes)
        call = _call(rng, split)
        try:
            image = container.parse(data, "x.bin")
        except NeuralArtError:
            # What the reader refuses is a matter of test_relocatable_faults.py.
            continue
        firmware = LoadingFirmware((0, 1, 0, 0), secure=True, dbg_info=False)
        expected = predict(image, call, firmware)
        host.put(call.at & ~3, bytes(4096))
        host.put(call.at, data)
        ext = (call.ext_ram.start, call.ext_ram.size) if call.ext_ram is not None else (0, 0)
        mode = (COPY if call.copy else XIP) | (CLEAR if call.clear else 0)
        code, reason = host.install(call.at, call.ram.start, call.ram.size, mode, ext=ext, params=call.params)
        assert code == expected.code, (
            f"case {number}: loader {code} {reason}; predicted {expected}, {call}, {image.pools}"
        )
        seen[code] += 1
    assert seen[0] > CASES / 5 and all(seen[code] > 10 for code in (-1, -2, -7, -8)), seen
