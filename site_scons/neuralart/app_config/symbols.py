"""Which ``POSTPROCESS_...`` symbol and which names of macros: the application's own wrapper decides."""

from __future__ import annotations

import re

from neuralart.app_config.kinds import Kind
from neuralart.app_config.request import LETTERS, Request
from neuralart.errors import NeuralArtError, nearest

# The first wrapper calls its DeepLab "UF" and reads bytes.
_TAKES_UINT8 = "AI_SSEG_DATA_UINT8"
_DEFINED = re.compile(r"^[ \t]*(?:#[ \t]*define[ \t]+|static const \w+ )([A-Za-z_]\w*)", re.M | re.ASCII)


def _known(request: Request) -> tuple[tuple[str, ...], str]:
    """Symbols that there are, and who says so."""
    generation, application = request.generation, request.application
    wrapper = application.wrapper if application else None
    if wrapper is not None:
        if generation.name == "h7" and wrapper.tested:
            return tuple(sorted(wrapper.tested)), wrapper.sources[0]
        if generation.name != "h7" and wrapper.symbols:
            return tuple(sorted(wrapper.symbols)), wrapper.header
    return generation.symbols, f"the wrapper of generation {generation.name}"


def _taken(request: Request, symbol: str) -> str:
    """Type of the outputs that the source of a symbol takes: its last letter, unless the source says otherwise."""
    wrapper = request.application.wrapper if request.application else None
    if wrapper is not None and any(read.name == _TAKES_UINT8 for read in wrapper.reads_under(symbol)):
        return "uint8"
    return {letter: dtype for dtype, letter in LETTERS.items()}[symbol[-1]]


def choose(request: Request, kind: Kind, dtype: str) -> str:
    """The symbol for this use case and this type of output.

    Returns:
        Empty where the use case has no post-processing.

    Raises:
        NeuralArtError: The wrapper has no such symbol, or no source that implements it.
    """
    known, who = _known(request)
    if request.generation.name == "h7":
        if kind.h7_symbol and kind.h7_symbol not in known:
            raise request.refuse(f"{kind.h7_symbol} is not in {who}", nearest(kind.h7_symbol, known), "model_type")
        return kind.h7_symbol
    if not kind.stems:
        return ""
    of_kind = [symbol for stem in kind.stems for symbol in known if re.fullmatch(f"POSTPROCESS_{stem}_U[FIU]", symbol)]
    fitting = [symbol for symbol in of_kind if _taken(request, symbol) == dtype]
    if not fitting:
        wanted = f"POSTPROCESS_{kind.stems[0]}_U{LETTERS[dtype]}"
        what = f"{wanted} is not in {who}" if wanted not in known else f"{wanted} of {who} takes other outputs"
        hint = nearest(wanted, known)
        if of_kind:
            hint = f"it has {of_kind[0]}: compile with output_data_type: {_taken(request, of_kind[0])}"
        raise request.refuse(f"{what} (the outputs are {dtype})", hint, "model_type")
    _check_source(request, fitting[0])
    return fitting[0]


def _check_source(request: Request, symbol: str) -> None:
    wrapper = request.application.wrapper if request.application else None
    if wrapper is None or not wrapper.sources or symbol in wrapper.tested:
        return
    where = wrapper.symbols.get(symbol, wrapper.header)
    raise NeuralArtError(
        f"{symbol} is defined, but no source implements it",
        where=where,
        hint=f"sources: {', '.join(sorted(wrapper.tested)) or 'none'}",
    )


def prefix(request: Request, kind: Kind, symbol: str) -> str:
    """Beginning of the macros: what the wrapper's sources read, else the generation's."""
    usual = kind.prefixes.get(request.generation.name, "")
    wrapper = request.application.wrapper if request.application else None
    if wrapper is None or not symbol:
        return usual
    read = [read.name for read in wrapper.reads_under(symbol) if read.name not in wrapper.defines]
    for candidate in (usual, *kind.all_prefixes()):
        if candidate and any(name.startswith(candidate) for name in read):
            return candidate
    return usual


def check_reads(request: Request, kind: Kind, symbol: str, text: str) -> None:
    """Everything that the wrapper reads under the symbol must be there.

    Args:
        request: The request.
        kind: The use case.
        symbol: The chosen symbol.
        text: The header.

    Raises:
        NeuralArtError: The wrapper reads a macro that neither the header nor the application defines.
    """
    application = request.application
    wrapper = application.wrapper if application else None
    if application is None or wrapper is None or not symbol:
        return
    beginnings = (*kind.all_prefixes(), *kind.families)
    defined = {*_DEFINED.findall(text), *wrapper.defines}
    for read in wrapper.reads_under(symbol):
        if read.optional or read.name in defined or not read.name.startswith(beginnings):
            continue
        if not application.provides(read.name):
            raise NeuralArtError(
                f"reads {read.name}, which {request.generation.header} does not define",
                where=read.where,
                hint=f"defines: [{read.name}=...] in app_config, or a template of your own",
            )
