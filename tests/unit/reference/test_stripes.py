"""Layers in stripes: that nothing is lost whatever the chain, what is no chain, and how little memory remains."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from pathlib import Path

import pytest

from neuralart import cli
from neuralart.compilers.request import BorderOptions
from neuralart.errors import NeuralArtError
from neuralart_reference.cpu import compile as cpu
from neuralart_reference.ir import Program
from neuralart_reference.lower import lower
from neuralart_reference.planning.lifetimes import blocks, constants, live_bytes
from neuralart_reference.planning.planner import MemoryPlan, plan
from neuralart_reference.planning.sharing import share
from neuralart_reference.planning.stripes import NOTHING, chains, in_stripes, layer_of, smallest, striped
from support.cases.lowering import parameters
from support.models.networks import PUBLISHED, Network, tflite_of
from support.servers.carried_out import carried_out, random_network
from support.servers.programs import FLASH, RAM, pool_file

ONE = pool_file(("RAM", 0x1000, 1 << 24, RAM), ("FLASH", 0x70000000, 1 << 24, FLASH))
KIB = 1024


def shared(net: Network, *outputs: int) -> Program:
    program = lower(net.model([net.input], outputs or [net.last]), BorderOptions())
    return share(replace(program, overlap=True), inputs_writable=True)


def work(program: Program) -> int:
    return sum(call.macc for call in program.calls)


def used(placed: MemoryPlan) -> int:
    return placed.pools[0].used


def found(program: Program, epoch: int) -> list[tuple[int, int]]:
    """First epoch and length of the chains around an epoch."""
    return sorted((start, len(chain)) for start, chain in chains(program, epoch, program.calls))


def cut_at_random(program: Program, rng: random.Random) -> Program:
    """Chains of any length in any number of stripes."""
    calls, epoch = program.calls, 0
    while epoch < len(program.calls):
        made = [chain for start, chain in chains(program, epoch, calls) if start == epoch]
        if made and rng.random() < 0.8:
            chain, before = rng.choice(made), len(program.calls)
            program = striped(program, epoch, chain, rng.randint(1, chain[-1].made.height))
            epoch += len(program.calls) - before + len(chain)
        else:
            epoch += 1
    return program


# ---- nothing is lost


def random_chain(rng: random.Random) -> Program:
    """Windows one behind the other, the last of which are read twice."""
    net = Network(rng.randint(6, 12), rng.randint(1, 4))
    value = net.input
    for _ in range(rng.randint(2, 6)):
        small = net.shape(value)[1] < 4
        kernel, stride = rng.choice([1, 3]), 1 if small else rng.choice([1, 1, 2])
        kind = "conv" if small else rng.choice(["conv", "depthwise", "pool", "pad"])
        if kind == "conv":
            value = net.conv(value, rng.randint(1, 6), kernel, stride)
        elif kind == "depthwise":
            value = net.depthwise(value, kernel, stride)
        elif kind == "pool":
            value = net.pool(value, 2, stride)
        else:
            value = net.conv(net.pad(value, rng.randint(0, 1), rng.randint(0, 3)), rng.randint(1, 6), 3, 2, "VALID")
    net.add(value, net.conv(value, net.shape(value)[3]))
    return lower(net.model([net.input], [net.last]), BorderOptions())


def test_whatever_is_cut_no_byte_is_lost() -> None:
    cut = 0
    # With a first pool that takes nothing no time goes into an exact search.
    pools = pool_file(("NONE", 0x800, 16, RAM), ("RAM", 0x1000, 1 << 24, RAM), ("FLASH", 0x70000000, 1 << 24, FLASH))
    for seed in range(40):
        rng = random.Random(seed)
        program = random_network(seed) if seed % 4 == 0 else random_chain(rng)
        free = itertools.accumulate((each.bytes for each in program.tensors), initial=0)
        where = dict(enumerate(free))
        want = carried_out(program, lambda number, at=where: at[number], bytearray(where[len(program.tensors)]))
        before = share(replace(program, overlap=seed % 3 > 0), inputs_writable=True)
        for made in (cut_at_random(before, rng), in_stripes(before)):
            placed = plan(made, pools)
            memory = bytearray(b"\x5a" * (placed.pools[1].used + 0x1000))
            assert carried_out(made, lambda number, at=placed.tensors: at[number] - 0x800, memory) == want, seed
            cut += len(made.stripes)
    assert cut > 50, cut


def test_rows_of_each_stripe() -> None:
    """A convolution of stride 2 with padding, and a pooling behind it, in three stripes."""
    net = Network(11, 2)
    net.pool(net.conv(net.input, 4, 3, 2), 2, 1)
    program = shared(net)
    ((start, chain),) = chains(program, 0, program.calls)
    made = striped(program, start, chain, 3)
    assert [call.kernel for call in made.calls] == ["na_conv2d_s8", "na_max_pool_s8"] * 3
    rows = [(parameters(call), call.args[0].offset) for call in made.calls]
    # 5 rows of the pooling from 6 of the convolution: 1, 2 and 2, from 2, 3 and 3 of which one is computed twice.
    names = ("pad_top", "input_height", "output_height")
    assert [(*(int(fields[name]) for name in names), offset) for fields, offset in rows] == [
        (1, 4, 2, 0),
        (0, 2, 1, 0),
        (0, 7, 3, 1 * 11 * 2),
        (0, 3, 2, 0),
        (0, 6, 3, 5 * 11 * 2),
        (0, 3, 2, 0),
    ]
    assert [call.args[-2].offset for call in made.calls[1::2]] == [0, 1 * 5 * 4, 3 * 5 * 4]
    assert work(made) - work(program) == 2 * 6 * 4 * 9 * 2
    assert made.stripes == (
        "'v2' (CONV_2D) to 'v3' (MAX_POOL_2D), 3 stripes, 864 multiply-accumulates are computed again",
    )
    assert [made.tensors[call.writes[0]].name for call in made.calls[::2]] == [
        "v2 rows 0 to 1",
        "v2 rows 1 to 3",
        "v2 rows 3 to 5",
    ]


def test_weights_are_there_once() -> None:
    net = Network(16, 3)
    net.depthwise(net.conv(net.input, 8, 3), 3, 2)
    program = shared(net)
    made = in_stripes(program)
    assert len(made.calls) > len(program.calls)
    ends = [[(item.key, item.label, item.data) for item in constants(each)[0]] for each in (program, made)]
    assert ends[0] == ends[1] and any(label.endswith("multiplier") for _, label, _ in ends[0])
    assert {item.epoch for item in constants(made)[0]} == {len(made.calls) - 2, len(made.calls) - 1}


# ---- what is a chain


def test_chains_around_a_layer() -> None:
    net = Network(16, 3)
    first = net.conv(net.input, 4, 3)
    second = net.depthwise(first)
    third = net.conv(second, 4)
    net.pool(third, 2, 2)
    assert found(shared(net), 1) == [(0, 2), (0, 3), (0, 4), (1, 2), (1, 3)]
    # The second is an output, or read again: it must be there as a whole, so that only what ends there is a chain.
    assert found(shared(net, net.last, second), 1) == [(0, 2)]
    assert found(shared(net, net.last, second), 2) == [(2, 2)]
    net.add(second, third)
    program = lower(net.model([net.input], [net.last]), BorderOptions())
    assert found(program, 1) == [(0, 2)]
    # Only calls that are asked for: a stripe is not cut again.
    assert [*chains(program, 1, program.calls[1:])] == []
    # Outside of the program, as before the first epoch, there is nothing.
    assert found(program, -1) == found(program, len(program.calls)) == []


def test_what_is_no_layer_of_a_chain() -> None:
    net = Network(8, 3)
    net.add(net.conv(net.input, 3, 3), net.input)
    program = shared(net)
    assert [layer_of(program, call) is None for call in program.calls] == [False, True]
    (first, _), fields = program.calls, parameters(program.calls[0])
    rest = first.args[:-1]
    part = replace(first.args[-1], fields=tuple({**fields, "output_height": "4"}.items()))
    assert layer_of(program, replace(first, args=(*rest, part))) is None
    assert layer_of(program, replace(first, scratch=16)) is None
    assert layer_of(program, replace(first, kernel="na_new_s8")) is None
    two = replace(program.tensors[0], shape=(2, 4, 8, 3))
    assert layer_of(replace(program, tensors=[two, *program.tensors[1:]]), first) is None


def test_a_chain_does_not_end_in_its_input() -> None:
    """In place over the input, its first rows would be gone before the last ones are read."""
    net = Network(8, 4)
    first = net.conv(net.input, 4)
    net.conv(first, 4)
    program = shared(net)
    assert found(program, 0) == [(0, 2)]
    program.aliases[net.last] = net.input
    assert found(program, 0) == []


# ---- how little


@pytest.mark.parametrize(
    ("name", "vendor", "ours", "more"),
    [
        ("squeezenet_v1.1_128", 242, 181, 0.01),
        ("squeezenet_v1.1_224", 842, 569, 0.01),
        ("mobilenet_v1_0.25_96", 50, 30, 0.05),
        ("mobilenet_v2_0.35_128", 225, 66, 0.05),
        ("st_efficientnet_lc_v1_224", 393, 199, 0.01),
    ],
)
def test_published_networks_in_stripes(name: str, vendor: int, ours: int, more: float) -> None:
    program = shared(PUBLISHED[name]())
    made = smallest(program, lambda each: plan(each, ONE), ())
    placed = plan(made, ONE)
    assert used(placed) <= ours * KIB <= vendor * KIB
    assert max(live_bytes(blocks(made), len(made.calls))) <= placed.lower_bound <= used(placed)
    assert 0 < work(made) - work(program) < more * work(program)


def test_what_gains_nothing_stays() -> None:
    net = Network(8, 64)
    net.conv(net.conv(net.input, 4), 4)
    program = shared(net)
    made = smallest(program, lambda each: plan(each, ONE), ())
    assert made.calls == program.calls and made.stripes == (NOTHING,)


def test_stripes_that_do_not_fit() -> None:
    net = Network(32, 3)
    net.pool(net.conv(net.input, 16, 3), 4, 4)
    program = shared(net)

    def place(tried: Program) -> MemoryPlan:
        if tried.stripes:
            raise NeuralArtError("does not fit")
        return plan(tried, ONE)

    assert smallest(program, place, ()).calls == program.calls


def test_what_fits_only_in_stripes() -> None:
    net = Network(32, 3)
    net.pool(net.conv(net.input, 16, 3), 4, 4)
    program = shared(net)
    least = used(plan(in_stripes(program), ONE))
    small = pool_file(("RAM", 0x1000, least, RAM), ("FLASH", 0x70000000, 1 << 24, FLASH))
    assert least < 0.5 * used(plan(program, ONE))
    assert used(plan(smallest(program, lambda each: plan(each, small), ()), small)) == least


# ---- the option and the key


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    net = Network(24, 3)
    net.depthwise(net.conv(net.input, 16, 3), 3, 2)
    (tmp_path / "m.tflite").write_bytes(tflite_of(net))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("target", ["stm32h7", "mps3-an547"])
def test_compile(here: Path, capsys: pytest.CaptureFixture[str], target: str) -> None:
    words = ["compile", "--model", "m.tflite", "--target", target, "--quiet", "--memory", "smallest"]
    for folder in ("a", "b"):
        assert cli.main([*words, "--output", folder]) == 0
    names = sorted(path.name for path in (here / "a").iterdir())
    assert all((here / "a" / name).read_bytes() == (here / "b" / name).read_bytes() for name in names)
    said = (here / "a" / "network_generate_report.txt").read_text("utf-8")
    assert "\nIn stripes of rows: 'v2' (CONV_2D) to 'v4' (DEPTHWISE_CONV_2D), " in said
    assert "--memory smallest" in said and "\nNo placement needs less than " in said
    assert cli.main([*words[:-1], "small", "--output", "c"]) == 1
    assert "--memory: 'small' is refused: " in capsys.readouterr().err and not (here / "c").exists()


def test_the_report_says_that_nothing_is_gained(here: Path) -> None:
    net = Network(8, 64)
    net.conv(net.input, 4)
    (here / "n.tflite").write_bytes(tflite_of(net))
    files = cpu.compile_network(cpu.CpuRequest(here / "n.tflite", memory="smallest")).files
    assert f"\nIn stripes of rows: {NOTHING}\n".encode() in files["network_generate_report.txt"]


def test_a_key_that_says_something_else(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "variants.yaml").write_text(
        "schema: 1\nnetworks:\n  net:\n    model: m.tflite\n    memory: least\n"
        "variants:\n  v: {board: mps3-an547, network: net}\n"
    )
    assert cli.main(["lint", "v"]) == 1
    printed = capsys.readouterr()
    assert "variants.yaml:5: " in printed.err + printed.out and "'least'" in printed.err + printed.out
