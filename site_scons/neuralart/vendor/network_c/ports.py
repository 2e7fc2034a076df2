"""Inputs and outputs of generated C as those of any network."""

from __future__ import annotations

from neuralart.network.facts import Port
from neuralart.vendor.network_c.types import NetworkPort


def port_of(port: NetworkPort) -> Port:
    """Shape as in memory; the first scale and zero point, if there are several."""
    return Port(
        name=port.row.name,
        pool=port.pool,
        address=port.address,
        bytes=port.row.bytes,
        shape=port.mem_shape or port.shape,
        dtype=port.dtype,
        scale=port.quant.scales[0] if port.quant and port.quant.scales else 0.0,
        zero_point=port.quant.zero_points[0] if port.quant and port.quant.zero_points else 0,
        channel_position=port.channel_position,
        user_allocated=port.row.user_allocated,
    )
