"""Made-up logs of the vendor's npu_profiler, in the form of a real one: counter lines, or what is printed of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

HEAD = """\
[I] NPU Utility - AiRunner Profiler (version 0.3)
[T] [TARGET:1] s:config:version:1.0
[T] [TARGET:1] s:config:dev_id:0x486
[T] [TARGET:1] s:config:mcu_freq:800000000
[T] [TARGET:1] s:config:noc_freq:400000000
[T] [TARGET:1] s:config:npu_freq:1000000000
[T] [TARGET:1] s:config:nic_freq:900000000
[T] [TARGET:1] s:config:npu_cache:1
[D] -> [model_info msg]
[D]    name: "%(name)s"
[D]    n_nodes: %(nodes)d
[D]    inputs {
[D]      name: "Input_0_out_0"
[D]      addr: %(address)d
[D]      flags: 1025
[D]    }
[D] <- [model_info msg]
[I]     Summary '%(name)s' - ['%(name)s']
[I]     I[1/1] 'Input_0_out_0'       :   int8[1,8,8,3], 192 Bytes, QLinear(0.003900000,-128,int8), activations
[I]     n_nodes                      :   %(nodes)d
[I]     device.desc                  :   stm32 family - 0x486 - STM32N6xx @800/400MHz
"""


@dataclass
class LoggedEpoch:
    """An epoch and what a board counts of it."""

    number: int
    kind: str = "HW"
    last: int | None = None
    mcu: Sequence[int] = (10, 80, 10)
    npu: Sequence[int] = (12, 100, 13)
    inputs: dict[int, int] = field(default_factory=dict)  # Engine -> cycles
    outputs: dict[int, int] = field(default_factory=dict)
    bursts: Sequence[Sequence[int]] = ()  # Written and read of port 0, then of port 1
    cache: Sequence[Sequence[int]] = ((0, 0, 0, 0), (0, 0, 0, 0))


PASSES = {"i": 0x31, "o": 0x51, "b": 0x08}
"""Option words of the profiler: what the firmware counts, and says."""
_STREAMS = (("i", 0x20), ("o", 0x40))


def node(index: int, epoch: LoggedEpoch, counters: int, extra: int = 0) -> list[str]:
    """What a firmware says of an epoch. It counts one thing of streams and buses, streams that read first."""
    last = epoch.number if epoch.last is None else epoch.last
    numbers = f"{index}:{max(epoch.number, 0)}:{epoch.number}:{last}"
    lines = [f"evt_pre_start:{numbers}:00000013:05000000:{epoch.kind}", f"evt_post_end:{numbers}:1"]
    pre, core, post = epoch.mcu
    lines.append(f"mcu_cycles:{pre}:{core + extra}:{post}")
    which = next((letter for letter, bit in _STREAMS if counters & bit), "")
    if which or counters & 1:
        lines.append("npu_cycles:" + ":".join(map(str, epoch.npu)))
    if which:
        streams = epoch.inputs if which == "i" else epoch.outputs
        lines += [f"streng_active:{which}:{engine}:{cycles}:0" for engine, cycles in streams.items()]
        lines.append(f"streng_active:max:{which}:-1:0")
    elif counters & 8:
        words = ("port0:burst:w", "port0:burst:r", "port1:burst:w", "port1:burst:r")
        counts = epoch.bursts or [(0, 0, 0, 0)] * 4
        lines += [f"{word}:{':'.join(map(str, row))}" for word, row in zip(words, counts, strict=True)]
        lines.append("portx:burst:rw:0:0:0:0")
    if counters & 16:
        lines += [f"npu_cache:{w}:{':'.join(map(str, row))}" for w, row in zip("rw", epoch.cache, strict=True)]
    return lines


def log(
    epochs: Sequence[LoggedEpoch], name: str = "network", address: int = 0, passes: str = "iob", samples: int = 2
) -> str:
    """A log at level debug; the CPU cycles of an epoch are one more in each second sample."""
    lines = [HEAD % {"name": name, "nodes": len(epochs), "address": address}]
    for which in passes:
        for sample in range(samples):
            for index, epoch in enumerate(epochs):
                lines += [
                    f"[T]      [TARGET:1] s:node:{text}\n" for text in node(index, epoch, PASSES[which], sample % 2)
                ]
            lines.append(f'[D]           name="{name}" counters="CPU cycles"[1, 2, 3, 4, 5] dur=1.0ms id=0.0\n')
    return "".join(lines)


PRINTED = """\
[I]     Summary 'kws' - ['kws', 'img']
[I]     I[1/1] 'Input_0_out_0'       :   int8[1,49,10,1], 490 Bytes, QLinear(0.201094970,-5,int8), activations
[I]     device.attrs                 :   fpu,npu_cache=1,mcu_freq=800MHz,npu_freq=1000MHz
[I]        ST.AI Profiling results v2.0 - "kws"
[I]        ------------------------------------------------------------
[I]        nb sample(s)   :   10
[I]        duration       :   1.023 ms by sample (1.022/1.023/0.000)
[I]       Inference time per node
[I]       -------------------------------------------------------------------------------------------
[I]       c_id    m_id   type               dur (ms)        %    cumul  CPU cycles                      name
[I]       -------------------------------------------------------------------------------------------
[I]       0       -      epoch (EC)          1.023   100.0%   100.0%  [     393  817,255      366 ]   EpochBlock_1 -> 22
[I]       1       -      epoch                 0.010   100.0%   100.0%  [       1    7,000        2 ]   EpochBlock_23
[I]       2       -      epoch (extra HW.1)  0.010   100.0%   100.0%  [       1      500        2 ]   EpochBlock_23 (1)
[I]       3       -      extra                 0.010   100.0%   100.0%  [       1    7,000        2 ]   copy
[I]       -------------------------------------------------------------------------------------------
[I]       total                                1.023                    [     393  817,255      366 ]
"""
BLOCKS = """\
[I]      EpochBlock_1 (c_idx=0, num=1:22, c_type=EC, extra=0)
[I]    ------------------------------------------------------------
[I]    [target]
[I]      duration               : 1.022ms (100.0%) total=1.022ms
[I]      mcu cycles             : [395, 817199, 368] -> 0.000,1.021,0.000 ms (mcu_freq=800MHz), 1.022ms
[I]      core npu cycles        : 1021580 -> 1.022 ms (npu_freq=1000MHz)
[I]      busif 0                : r=48 w=8  rburst[1,2,4,8]x8=(4,1,0,0) wburst[1,2,4,8]x8=(1,0,0,0) -> 2.09 GB/s
[I]       active                : STRENG.5.i: busif=1, 34894 cycles, <no-data-size info>, 3%
[I]      NPU cache cnts         : R[hit=1, miss=1920, alloc-miss=0, evict=0], W[hit=0, miss=0, alloc-miss=0, through=2]
[I]      EpochBlock_55 (c_idx=1, num=55:55, c_type=SW, extra=0)
[I]    [target]
[I]      mcu cycles             : [45, 32, 117395] -> 0.000,0.000,0.147 ms (mcu_freq=800MHz), 0.147ms
[I]      npu cycles             : n.a.
[I]      Summary
[I]       mcu cycles            : 817962 (core only = 817199)
"""
