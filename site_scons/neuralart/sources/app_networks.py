"""``app_networks.c``: the table by which the reference application knows its networks."""

from __future__ import annotations

from collections.abc import Sequence

from neuralart.network.facts import Network


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
        ]
    )
