"""``network.json``: the facts that the build decides by."""

from __future__ import annotations

from neuralart.compilers.reference.emit.emission import NUMERICS, Emission
from neuralart.compilers.reference.emit.rows import port_rows
from neuralart.network.facts import NEURALART, NEURALART_VERSION, Epoch, Network, PoolUse, Port


def _ports(emission: Emission, kind: str) -> tuple[Port, ...]:
    ports = []
    for index, row in enumerate(port_rows(emission, kind)):
        quantization = row.quantization
        ports.append(
            Port(
                name=row.name,
                pool=row.pool,
                address=row.address,
                bytes=row.size,
                shape=row.memory,
                dtype=row.dtype,
                scale=quantization.scale if quantization is not None else 0.0,
                zero_point=quantization.zero_point if quantization is not None else 0,
                channel_position=emission.channel_position(kind, index),
                user_allocated=row.owner is not None,
            )
        )
    return tuple(ports)


def network(emission: Emission, stamp: str) -> Network:
    """The facts of a compiled network."""
    pools = tuple(
        PoolUse(
            name=plan.name,
            fname=plan.fname,
            address=plan.address,
            size=plan.size,
            used=plan.used,
            weights=plan.weights,
            activations=plan.activations,
            rights=plan.pool.rights,
            mode=plan.pool.mode,
            virtual=bool(plan.parts),
            parts=plan.parts,
            cacheable=plan.pool.cacheable,
        )
        for plan in emission.plan.pools
    )
    epochs = tuple(Epoch(number, "SW", (call.kind,)) for number, call in enumerate(emission.program.calls))
    return Network(
        name=emission.name,
        runtime=NEURALART,
        runtime_version=NEURALART_VERSION,
        abi_stamp=stamp,
        numerics=NUMERICS,
        pools=pools,
        inputs=_ports(emission, "input"),
        outputs=_ports(emission, "output"),
        epochs=epochs,
        macc=sum(call.macc for call in emission.program.calls),
    )
