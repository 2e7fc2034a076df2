"""``network.json`` of a CPU network: the same facts, but its pools get their places when the application is linked."""

from __future__ import annotations

from neuralart.compilers.reference.cpu.cpu_network import CpuNetwork
from neuralart.compilers.reference.cpu.pool_file import WEIGHTS
from neuralart.compilers.reference.cpu.ports import PortView, views
from neuralart.compilers.reference.emit.emission import NUMERICS
from neuralart.compilers.reference.usage import PoolPlan
from neuralart.network.facts import APPLICATION, NEURALART, NEURALART_VERSION, Epoch, Network, PoolUse, Port


def _port(network: CpuNetwork, kind: str, index: int, port: PortView) -> Port:
    quantization = port.quantization
    activations = network.placed.activations
    pool = activations[port.array.number - 1].fname if port.array.number and not port.constant else ""
    return Port(
        name=port.tensor.name,
        pool=WEIGHTS if port.constant else pool,
        address=0 if port.provided else port.array.offset + port.offset,
        bytes=port.tensor.bytes,
        shape=port.tensor.shape or (1,),
        dtype=port.tensor.dtype,
        scale=quantization.scale if quantization is not None else 0.0,
        zero_point=quantization.zero_point if quantization is not None else 0,
        channel_position=network.emission.channel_position(kind, index),
        user_allocated=port.provided,
    )


def _pool(network: CpuNetwork, plan: PoolPlan) -> PoolUse:
    weights = plan.fname == WEIGHTS
    used = sum(each.size for each in network.weights) if weights else plan.used
    # Without a memory-pool file the application gives whatever is needed.
    size = used if weights or not network.memories else plan.size
    return PoolUse(
        name=plan.name,
        fname=plan.fname,
        address=0,
        size=size,
        used=used,
        weights=used if weights else 0,
        activations=0 if weights else plan.activations,
        rights=plan.pool.rights,
        mode=APPLICATION,
    )


def facts(network: CpuNetwork, stamp: str) -> Network:
    """The facts of a compiled network.

    Args:
        network: What was compiled.
        stamp: The abi stamp.
    """
    calls = network.emission.program.calls
    plans = sorted(network.emission.plan.pools, key=lambda plan: plan.address)
    return Network(
        name=network.name,
        runtime=NEURALART,
        runtime_version=NEURALART_VERSION,
        abi_stamp=stamp,
        numerics=NUMERICS,
        pools=tuple(_pool(network, plan) for plan in plans),
        inputs=tuple(_port(network, "input", n, port) for n, port in enumerate(views(network, "input"))),
        outputs=tuple(_port(network, "output", n, port) for n, port in enumerate(views(network, "output"))),
        epochs=tuple(Epoch(number, "SW", (call.kind,)) for number, call in enumerate(calls)),
        macc=sum(call.macc for call in calls),
    )
