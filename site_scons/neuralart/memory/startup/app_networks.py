"""``app_networks.c``: the table by which the reference application knows its networks."""

from __future__ import annotations

from collections.abc import Sequence

from neuralart.network.facts import Network

_LINE = 32  # a buffer shares no cache line with anything else (Cortex-M55, Cortex-M7)


def user_io_bytes(networks: Sequence[Network]) -> int:
    """Bytes of the inputs and outputs that the application must provide, each rounded up to whole cache lines."""
    ports = [port for network in networks for port in (*network.inputs, *network.outputs)]
    return sum(-(-port.bytes // _LINE) * _LINE for port in ports if port.user_allocated)


def source(networks: Sequence[Network]) -> str:
    """Text of ``app_networks.c`` for firmware/app/app_networks.h."""
    return "\n".join(
        [
            "/* The networks of this image. Generated. */",
            '#include "app_networks.h"',
            "",
            *(f"LL_ATON_DECLARE_NAMED_NN_INSTANCE_AND_INTERFACE({network.name});" for network in networks),
            "",
            "const app_network_t app_networks[] = {",
            *(f'    {{"{n.name}", &NN_Instance_{n.name}, "{n.abi_stamp}"}},' for n in networks),
            "};",
            f"const unsigned app_network_count = {len(networks)};",
            "",
            "/* One line more than needed, so that no buffers are an array too. */",
            f"uint8_t app_user_io[{user_io_bytes(networks) + _LINE}] __attribute__((aligned({_LINE})));",
            f"const uint32_t app_user_io_bytes = {user_io_bytes(networks)};",
            "",
        ]
    )
