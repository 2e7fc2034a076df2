"""Says for each tensor which cache maintenance an application must do around a run.

Facts: the CPU sees memory through its data cache, the NPU and every other bus master do not; the NPU sees cacheable
pools through a cache of its own. Nothing keeps these caches equal. Software epochs are computed by the CPU.
"""

from __future__ import annotations

from dataclasses import dataclass

from neuralart.boards.types import Board
from neuralart.network.facts import Network, Port

LINE = 32  # bytes of a line of the data cache (Cortex-M55, Cortex-M7)

_CACHED_CORES = ("cortex-m55", "cortex-m7")
_TIGHTLY_COUPLED = ("ITCM", "DTCM")
# Cacheable in the default address map of Armv7-M and Armv8-M: code, SRAM and the first half of external RAM.
_CACHED_RANGES = ((0x0000_0000, 0x4000_0000), (0x6000_0000, 0xA000_0000))


@dataclass(frozen=True)
class Duty:
    """What to do.

    Attributes:
        flags: (name in small letters, to be done); the same names for every input, and for every output.
        words: The same in sentences.
    """

    flags: tuple[tuple[str, bool], ...]
    words: tuple[str, ...]


def who_computes(network: Network) -> str:
    """Say in words which unit computes."""
    kinds = {epoch.kind for epoch in network.epochs}
    if kinds <= {"SW"}:
        return "the CPU computes every epoch"
    return "the NPU computes, and the CPU some epochs" if kinds & {"SW", "HYBRID"} else "the NPU computes every epoch"


def cpu_caches(board: Board, port: Port) -> bool:
    """Does the CPU see this tensor through its data cache? (A buffer of the application: assumed so.)"""
    if board.cpu not in _CACHED_CORES:
        return False
    if port.user_allocated:
        return True
    region = board.region_at(port.address)
    if region is not None and region.name in _TIGHTLY_COUPLED:
        return False
    if region is not None and region.mpu_normal:
        return True
    return any(start <= port.address < end for start, end in _CACHED_RANGES)


def of(board: Board, network: Network, port: Port, *, output: bool) -> Duty:
    """The duty of a tensor.

    Args:
        board: Which core, which memory.
        network: Who computes, which pools go through the NPU cache.
        port: The tensor.
        output: It is an output.
    """
    cached = cpu_caches(board, port)
    # Facts do not say which epoch reads or writes a tensor: where the NPU takes part, it may.
    npu = any(epoch.kind != "SW" for epoch in network.epochs)
    cpu = any(epoch.kind in ("SW", "HYBRID") for epoch in network.epochs)
    npu_cache = npu and any(pool.fname == port.pool and pool.cacheable for pool in network.pools)
    return _output(cached, npu, cpu, npu_cache) if output else _input(cached, npu, npu_cache)


def _input(cached: bool, npu: bool, npu_cache: bool) -> Duty:
    words = []
    if not cached:
        words.append("The CPU does not cache this memory.")
    else:
        if npu:
            words.append("The CPU wrote it: clean its lines before the run, the NPU reads memory.")
        else:
            words.append("The CPU wrote it: nothing to do, the CPU reads it too.")
        words.append(
            "Another bus master writes it (DMA, camera): clean and invalidate its lines before and after that."
        )
    if npu_cache:
        words.append("The NPU reads it through its cache: clean and invalidate it there before the run.")
    return Duty(
        (
            ("cache_clean_before_run", cached and npu),
            ("cache_clean_invalidate_around_dma", cached),
            ("npu_cache_clean_invalidate_before_run", npu_cache),
        ),
        tuple(words),
    )


def _output(cached: bool, npu: bool, cpu: bool, npu_cache: bool) -> Duty:
    words = []
    if not cached:
        words.append("The CPU does not cache this memory.")
    else:
        if npu:
            # Not invalidated only: a software epoch's results may still be in the cache.
            words.append("The NPU wrote it to memory: clean and invalidate its lines before the run and after it.")
        else:
            words.append("The CPU reads it: nothing to do, the CPU wrote it too.")
        if cpu:
            words.append("Another bus master reads it (DMA, display): clean its lines before that.")
    if npu_cache:
        words.append("The NPU writes it through its cache: clean it there after the run.")
    return Duty(
        (
            ("cache_clean_invalidate_around_run", cached and npu),
            ("cache_clean_before_dma", cached and cpu),
            ("npu_cache_clean_after_run", npu_cache),
        ),
        tuple(words),
    )
