"""Parts of the loading application that read what others wrote: the load table, the stamp of a model, its pools."""

from __future__ import annotations

import random
import struct
import subprocess
import zlib
from pathlib import Path

import pytest

from neuralart.relocatable.format import container, load_table
from neuralart.relocatable.format.container import stamp_of
from neuralart.resources import firmware_dir
from support.relocatable.load_tables import read_table
from support.relocatable.loader_host import FLAGS, HERE, SANITIZER, Host, Model, unavailable

pytestmark = [pytest.mark.hostcc, pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "-")]

AT, OTHER, PARAMS = 0x7100_0000, 0x7200_0000, 0x7180_0000
MREL = load_table.MAGIC


class Parts(Host):
    """The process."""

    def core(self, *_: object, **__: object) -> None:
        """Nothing here looks at the core."""

    def fill(self, address: int, data: bytes) -> None:
        assert self.ask(f"put {address:x} {data.hex()}") == "ok"

    def read_table(self, *words: int) -> str:
        # At the end of a page: a word more would end the process.
        at = AT + 4096 - 4 * len(words)
        self.fill(at, struct.pack(f"<{len(words)}I", *words))
        return self.ask(f"table {at:x}")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root, folder = firmware_dir(), tmp_path_factory.mktemp("app-loader")
    names = ("image_stamp", "load_table", "model_memory", "model_pools")
    sources = [*(root / "app_loader" / f"{name}.c" for name in names), root / "runtime" / "relocatable_image.c"]
    sources += [root / "runtime" / "memory" / "crc32.c", HERE / "app_loader_host.c"]
    include = ["-I", str(root / "runtime" / "include"), "-I", str(root / "app_loader")]
    command = ["cc", *FLAGS, "-DLL_ATON_RT_RELOC", "-DNPU_MEMORY_ACCESS_BY_TEST", *SANITIZER, *include]
    # Addresses of this machine have more bits than those of the target.
    command += ["-Wno-pointer-to-int-cast", "-o", str(folder / "parts"), *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "parts"


@pytest.fixture
def parts(program: Path):
    parts = Parts(program)
    yield parts
    parts.close()


# ---- the load table


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_what_python_writes_the_firmware_reads(parts: Parts, count: int) -> None:
    models = [(AT + 0x10000 * n, PARAMS if n == 1 else 0) for n in range(count)]
    for mode in (["xip"], ["copy"], ["copy", "clear"], ["ext", "xip"], ["xip", "ext", "clear", "no-overlay"]):
        data = load_table.make(mode, models)
        flags = sum(load_table.FLAGS.get(word, 0) for word in mode)
        rows = "".join(f" {model:x}:{params:x}" for model, params in models)
        assert parts.read_table(*struct.unpack(f"<{len(data) // 4}I", data)) == f"flags {flags:x}{rows}"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((0xFFFFFFFF,), "0|no load table is there: nothing was written"),
        ((0,), "0|no load table is there: nothing was written"),
        ((0x4D52454C,), "0|not a load table: no MREL"),
        ((MREL, 0), "1|the load table must name 1 to 4 models"),
        ((MREL, 5), "1|the load table must name 1 to 4 models"),
        ((MREL, 0xFFFFFFFF), "1|the load table must name 1 to 4 models"),
        ((MREL, 1, 0x10), "2|the load table has unknown flags"),
        ((MREL, 1, 0x80000001), "2|the load table has unknown flags"),
        ((MREL, 4, 1, AT, 0, AT, 0, AT, 0, 0, 0), "9|the load table has no address of a model"),
        ((MREL, 1, 1, 0xFFFFFFFF, 0xFFFFFFFF), "3|the load table has no address of a model"),
        ((MREL, 1, 1, AT, 0xFFFFFFFF), "4|the load table is cut off: the address of params was not written"),
    ],
    ids=str,
)
def test_a_wrong_table_is_read_no_further(parts: Parts, words: tuple[int, ...], said: str) -> None:
    assert parts.read_table(*words) == said


def test_random_tables(parts: Parts) -> None:
    """The firmware and the package agree, word by word, on what a table is."""
    rng = random.Random(5)
    choices = [MREL, MREL, MREL, 1, 2, 4, 5, 0, 8, 15, 16, AT, PARAMS, 0xFFFFFFFF]
    taken = 0
    for _ in range(3000):
        words = [MREL if rng.random() < 0.9 else 7, rng.choice([1, 2, 3, 4, 5, 0]), rng.choice(range(18))]
        words += [rng.choice(choices) for _ in range(8)]
        answer = parts.read_table(*words)
        table = read_table(words)
        if table is None:
            assert not answer.startswith("flags")
            continue
        flags, models = table
        assert answer == f"flags {flags:x}" + "".join(f" {a:x}:{b:x}" for a, b in models)
        taken += 1
    assert 100 < taken < 2900


# ---- the stamp


@pytest.mark.parametrize("split", [False, True], ids=["combined", "split"])
@pytest.mark.parametrize("header_words", [24, 26])
def test_the_stamp_is_what_python_says(parts: Parts, split: bool, header_words: int) -> None:
    m = Model(split=split, header_words=header_words, pools=[("xSPI2", 0x01010500, 0, 0, 0x100)])
    image = m.build()
    end = m.rel_at + 4 * len(m.relocations)
    parts.fill(AT, image)
    parts.fill(PARAMS, m.params)
    text, at, size, crc, wanted = parts.ask(f"stamp {AT:x} {PARAMS if split else 0:x}").split()
    assert text == f"{zlib.crc32(image[:end]):08x}{zlib.crc32(m.params):08x}"
    assert text == stamp_of(container.parse(image, "m", m.params if split else None))
    assert (int(at, 16), int(size, 16)) == (PARAMS if split else AT + m.params_at, len(m.params))
    assert int(crc, 16) == int(wanted, 16) == zlib.crc32(m.params)


def test_every_byte_counts_but_padding(parts: Parts) -> None:
    """A changed byte changes its half of the stamp; the file's own words may make it no image instead."""
    m = Model(pools=[("xSPI2", 0x01010500, 0, 0, 0x100)])
    image, end = m.build(), 0
    end = m.rel_at + 4 * len(m.relocations)
    stamp = stamp_of(container.parse(image, "m"))
    rng, changed = random.Random(6), 0
    for at in [*rng.sample(range(end), 150), *rng.sample(range(m.params_at, len(image)), 50)]:
        bad = bytearray(image)
        bad[at] ^= 1 << rng.randrange(8)
        parts.fill(AT, bytes(bad))
        answer = parts.ask(f"stamp {AT:x} 0")
        if answer.startswith("-"):
            continue
        changed += 1
        assert (answer[:8] != stamp[:8]) == (at < end), hex(at)
        assert answer.split()[4] == f"{zlib.crc32(m.params):x}" or at < end
        if at >= end:
            assert answer[8:16] != stamp[8:] and answer.split()[3] != answer.split()[4]
    assert changed > 150


@pytest.mark.parametrize(
    ("word", "value", "said"),
    [
        (12, 0x10000000, "-1|damaged: the params end behind the last address"),
        (12, 0xFFFFFFFF, "-1|damaged: the params end behind the last address"),
        (5, 0x40000000, "-1|damaged: the runtime context"),
    ],
)
def test_a_damaged_context(parts: Parts, word: int, value: int, said: str) -> None:
    m = Model()
    m.build()
    m.words = {m.ro + m.context + 4 * word: value}
    parts.fill(AT, m.build())
    assert parts.ask(f"stamp {AT:x} 0") == said


def test_params_that_end_behind_the_last_address(parts: Parts) -> None:
    m = Model(split=True)
    parts.fill(AT, m.build())
    assert parts.ask(f"stamp {AT:x} {0xFFFFFF04:x}") == "-1|damaged: the params end behind the last address"


def test_no_image(parts: Parts) -> None:
    parts.fill(AT, b"\xff" * 128)
    assert parts.ask(f"stamp {AT:x} 0").startswith("-1|not a relocatable model")
    assert parts.ask(f"stamp {AT + 2:x} 0") == "-1|the image is not at a multiple of 4"


# ---- pools and memory


@pytest.mark.parametrize(
    ("one", "other", "collide", "strict"),
    [
        ((0x02010100, 0x342E0000, 64), (0x03020200, 0x342E0040, 64), 0, 0),
        ((0x02010100, 0x342E0000, 64), (0x03020200, 0x342E003F, 64), 1, 1),
        ((0x03020200, 0x342E003F, 64), (0x02030200, 0x342E0000, 64), 1, 1),
        ((0x03020200, 0x342E0000, 64), (0x03020200, 0x342E0020, 8), 0, 1),
        ((0x03020200, 0x342E0020, 8), (0x03020200, 0x342E0000, 64), 0, 1),
        ((0x01010500, 0, 64), (0x02010100, 0x342E0000, 64), 0, 0),
        ((0x01010500, 0, 64), (0x01010500, 0, 64), 0, 0),
    ],
)
def test_pools_of_two_models(parts: Parts, one, other, collide: int, strict: int) -> None:
    for address, (flags, dst, size) in ((AT, one), (OTHER, other)):
        pools = [("xSPI2", 0x01010500, 0, 0, 8), ("POOL", flags, 0, dst, size)]
        parts.fill(address, Model(pools=pools).build())
    assert parts.ask(f"collide {AT:x} {OTHER:x} 0") == str(collide)
    assert parts.ask(f"collide {AT:x} {OTHER:x} 1") == str(strict)


@pytest.mark.parametrize(
    ("begin", "size", "bytes_", "rest"),
    [
        (0x1000, 0x200, 0, "1000 200"),
        (0x1000, 0x200, 1, "1040 1c0"),
        (0x1000, 0x200, 0x40, "1040 1c0"),
        (0x1000, 0x200, 0x200, "0 0"),
        (0x1000, 0x200, 0x201, "0 0"),
        (0x1000, 0x1F0, 0x1C1, "0 0"),
        (0x1000, 0x200, 0xFFFFFFFF, "0 0"),
        (0, 0, 0, "0 0"),
        (0, 0, 64, "0 0"),
    ],
)
def test_taking_memory(parts: Parts, begin: int, size: int, bytes_: int, rest: str) -> None:
    assert parts.ask(f"take {begin:x} {size:x} {bytes_:x}") == rest
