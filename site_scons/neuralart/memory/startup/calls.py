"""Writes ``neuralart_networks.c``: the same calls for networks on the NPU and on the core (firmware/calls). Networks on
the core have the legacy API, others LL_ATON's.
"""

from __future__ import annotations

from collections.abc import Sequence

from neuralart.boards.types import Board
from neuralart.errors import NeuralArtError
from neuralart.memory.startup.network_io import LINE, duty_of
from neuralart.network.facts import NEURALART, Network, Port
from neuralart.network.targets import CPU, flow_of
from neuralart.resources import firmware_dir
from neuralart.text.c_values import single, string

HEADER, SOURCE = "neuralart_networks.h", "neuralart_networks.c"
_READY = "if (!{n}_ready) {{\n    return NEURALART_E_NOT_READY;\n  }}"


def header() -> bytes:
    """Text of the header, which is equal for all programs."""
    return (firmware_dir() / "calls" / HEADER).read_bytes()


def source(board: Board, networks: Sequence[Network]) -> str:
    """Text of ``neuralart_networks.c`` for all networks of a program.

    Raises:
        NeuralArtError: Two networks have one name.
    """
    names = [network.name for network in networks]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise NeuralArtError(f"network {twice} is given twice", where=SOURCE)
    cpu = flow_of(board.target) == CPU
    ours = all(network.runtime == NEURALART for network in networks)
    lines = [f"/* Calls of {', '.join(names)}, for {board.name}. Generated. */", f'#include "{HEADER}"', ""]
    lines += _core_head(networks) if cpu else _npu_head(networks, ours)
    for network in networks:
        lines += ["", f"/* ---- {network.name} ---- */", ""]
        for kind, ports in (("inputs", network.inputs), ("outputs", network.outputs)):
            lines += _tensors(network, kind, ports)
        lines += [f"static int {network.symbol}_ready;", ""]
        lines += _core(network) if cpu else _npu(board, network, ours)
    rows = (
        f"    {{{string(n.name)}, {n.symbol}_inputs, {n.symbol}_outputs, {len(n.inputs)}u, {len(n.outputs)}u, "
        f"{n.symbol}_init, {n.symbol}_run}},"
        for n in networks
    )
    table = ["", "const neuralart_network_t neuralart_networks[] = {", *rows, "};"]
    count = f"const unsigned neuralart_network_count = {len(networks)}u;"
    return "\n".join([*lines, *table, count, "", *_error_text(cpu), ""])


def _tensors(network: Network, kind: str, ports: Sequence[Port]) -> list[str]:
    rows = (
        f"    {{{string(port.name)}, {string(port.dtype)}, NULL, {port.bytes}u, {single(port.scale)}, "
        f"{port.zero_point}}},"
        for port in ports
    )
    own = [
        f"static uint64_t {network.symbol}_{kind[:-1]}_{n}[{-(-port.bytes // LINE) * LINE // 8}] "
        f"__attribute__((aligned({LINE})));"
        for n, port in enumerate(ports)
        if port.user_allocated
    ]
    return [*own, f"static neuralart_tensor_t {network.symbol}_{kind}[] = {{", *rows, "};"]


def _error_text(cpu: bool) -> list[str]:
    texts = {
        "NONE_SUCH": "there is no such network",
        "REFUSED": "the runtime refuses the network",
        "NOT_READY": "the network is not ready: call neuralart_init",
        "FAILED": "the inference failed",
    }
    lines = ["const char *neuralart_error_text(int error) {", "  switch (error) {", "    case 0:"]
    lines += ['      return "no error";']
    for name, text in texts.items():
        lines += [f"    case NEURALART_E_{name}:", f'      return "{text}";']
    other = '"unknown error"' if cpu else "npu_memory_error_text(error)"
    return [*lines, "    default:", f"      return {other};", "  }", "}"]


# ---- on the core


def _used(network: Network) -> list[str]:
    """Pools of its activation buffers, in the order in which the API numbers them."""
    return [pool.fname for pool in network.pools if pool.rights == "ACC_WRITE" and pool.activations]


def _core_head(networks: Sequence[Network]) -> list[str]:
    lines = [
        "/* A memory for the activations of a pool: -DNEURALART_IN_AXIRAM='__attribute__((section(\".axiram\")))' */"
    ]
    for pool in sorted({pool for network in networks for pool in _used(network)}):
        lines += [f"#ifndef NEURALART_IN_{pool}", f"#define NEURALART_IN_{pool}", "#endif"]
    return [*lines, "", *(f'#include "{network.symbol}{part}.h"' for network in networks for part in ("", "_data"))]


def _core(network: Network) -> list[str]:
    n, macro = network.symbol, network.symbol.upper()
    pools = _used(network)
    sizes = [f"AI_{macro}_DATA_ACTIVATION_{number}_SIZE" for number in range(1, len(pools) + 1)]
    lines = [
        f"NEURALART_IN_{pool} static uint64_t {n}_activations_{number}[({size} + 7) / 8] "
        f"__attribute__((aligned({LINE})));"
        for number, (pool, size) in enumerate(zip(pools, sizes, strict=True), start=1)
    ]
    given = [f"{n}_activations_{number}" for number in range(1, len(pools) + 1)]
    lines += [f"static ai_handle {n}_network = AI_HANDLE_NULL;", "", f"static int {n}_init(void) {{"]
    lines += [f"  const ai_handle activations[] = {{{', '.join(given) or 'NULL'}}};"]
    lines += [
        f"  const ai_error error = ai_{n}_create_and_init(&{n}_network, activations, NULL);",
        "  if (error.type != AI_ERROR_NONE) {",
        "    return NEURALART_E_REFUSED;",
        "  }",
    ]
    for kind, ports in (("inputs", network.inputs), ("outputs", network.outputs)):
        lines += [f"  ai_buffer *{kind} = ai_{n}_{kind}_get({n}_network, NULL);"]
        for number, port in enumerate(ports):
            if port.user_allocated:
                lines += [f"  {kind}[{number}].data = {n}_{kind[:-1]}_{number};"]
            lines += [f"  {n}_{kind}[{number}].data = {kind}[{number}].data;"]
    lines += [f"  {n}_ready = 1;", "  return 0;", "}", "", f"static int {n}_run(void) {{"]
    lines += [f"  {_READY.format(n=n)}"]
    for kind in ("inputs", "outputs"):
        lines += [f"  ai_buffer *{kind} = ai_{n}_{kind}_get({n}_network, NULL);"]
    return [*lines, f"  return ai_{n}_run({n}_network, inputs, outputs) == 1 ? 0 : NEURALART_E_FAILED;", "}"]


# ---- on the NPU


def _npu_head(networks: Sequence[Network], ours: bool) -> list[str]:
    headers = ["ll_aton.h"] if ours else ["ll_aton_runtime.h", "ll_aton_caches_interface.h"]
    lines = [f'#include "{name}"' for name in (*headers, "npu_memory_init.h", "npu_memory.h")]
    lines += ["", *(f"LL_ATON_DECLARE_NAMED_NN_INSTANCE_AND_INTERFACE({n.symbol});" for n in networks), ""]
    return [
        *lines,
        "/* Memories and runtime, once for all networks. */",
        "static int bring_up(void) {",
        "  static int done;",
        "  const int error = done ? 0 : npu_memory_init();",
        "  if (error == 0 && !done) {",
        "    LL_ATON_RT_RuntimeInit();",
        "    done = 1;",
        "  }",
        "  return error;",
        "}",
    ]


def _npu(board: Board, network: Network, ours: bool) -> list[str]:
    n = network.symbol
    lines = [f"static int {n}_init(void) {{", "  const int error = bring_up();", "  if (error != 0) {"]
    lines += ["    return error;", "  }"]
    if ours:
        lines += [f"  if (!LL_ATON_RT_Init_Network(&NN_Instance_{n})) {{", "    return NEURALART_E_REFUSED;", "  }"]
    else:
        lines += [f"  LL_ATON_RT_Init_Network(&NN_Instance_{n});"]
    before, after = [], []
    for kind, ports in (("inputs", network.inputs), ("outputs", network.outputs)):
        one = kind[:-1].capitalize()
        for number, port in enumerate(ports):
            data = f"{n}_{kind}[{number}].data"
            if port.user_allocated:
                own = f"{n}_{kind[:-1]}_{number}"
                given = f"LL_ATON_Set_User_{one}_Buffer_{n}({number}u, {own}, sizeof {own})"
                lines += [f"  if ({given} != LL_ATON_User_IO_NOERROR) {{", "    return NEURALART_E_REFUSED;", "  }"]
                lines += [f"  {data} = {own};"]
            else:
                lines += [f"  {data} = LL_Buffer_addr_start(&LL_ATON_{one}_Buffers_Info_{n}()[{number}]);"]
            flags = dict(duty_of(board, network, port, output=kind == "outputs").flags)
            span = f"((uint32_t)(uintptr_t){data}, {port.bytes}u);"
            if flags.get("cache_clean_before_run") or flags.get("cache_clean_invalidate_around_run"):
                before.append(f"  npu_memory_clean_invalidate{span}")
            if flags.get("npu_cache_clean_invalidate_before_run"):
                before.append(f"  LL_ATON_Cache_NPU_Clean_Invalidate_Range{span}")
            if flags.get("npu_cache_clean_after_run"):
                after.append(f"  LL_ATON_Cache_NPU_Clean_Invalidate_Range{span}")
            if flags.get("cache_clean_invalidate_around_run"):
                after.append(f"  npu_memory_clean_invalidate{span}")
    wait = [] if ours else ["    if (state == LL_ATON_RT_WFE) {", "      LL_ATON_OSAL_WFE();", "    }"]
    return [
        *lines,
        *[f"  {n}_ready = 1;", "  return 0;", "}", "", f"static int {n}_run(void) {{", f"  {_READY.format(n=n)}"],
        *before,
        "  LL_ATON_RT_RetValues_t state;",
        "  do {",
        f"    state = LL_ATON_RT_RunEpochBlock(&NN_Instance_{n});",
        *wait,
        "  } while (state != LL_ATON_RT_DONE);",
        *([] if ours else [f"  LL_ATON_RT_Reset_Network(&NN_Instance_{n});"]),
        *after,
        *["  return 0;", "}"],
    ]
