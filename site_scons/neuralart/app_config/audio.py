"""Settings of the spectrogram for audio events, checked against the network."""

from __future__ import annotations

import math

from neuralart.app_config.render import cfloat
from neuralart.app_config.request import Request, Values
from neuralart.config.app_config import AudioConfig
from neuralart.errors import NeuralArtError
from neuralart.quick import dataclass
from neuralart.text.c_values import EXTERN_C, EXTERN_C_END

# Window and mel filters of an audio application (``user_mel_tables.[ch]``), in plain arithmetic ---------------------

_LINEAR = 200.0 / 3  # Hz per mel below the bend of Slaney's scale
_BEND = 1000.0
_STEP = math.log(6.4) / 27.0


def _to_mel(hertz: float, htk: bool) -> float:
    if htk:
        return 2595.0 * math.log10(1.0 + hertz / 700.0)
    if hertz < _BEND:
        return hertz / _LINEAR
    return _BEND / _LINEAR + math.log(hertz / _BEND) / _STEP


def _to_hertz(mel: float, htk: bool) -> float:
    if htk:
        return 700.0 * (math.pow(10.0, mel / 2595.0) - 1.0)
    if mel < _BEND / _LINEAR:
        return mel * _LINEAR
    return _BEND * math.exp(_STEP * (mel - _BEND / _LINEAR))


def window(length: int) -> list[float]:
    """Compute a periodic Hann window of ``length`` samples."""
    return [0.5 - 0.5 * math.cos(2.0 * math.pi * at / length) for at in range(length)]


@dataclass(frozen=True)
class Filters:
    weights: tuple[float, ...]  # all coefficients that are not zero, filter after filter
    first: tuple[int, ...]  # first bin of each filter
    last: tuple[int, ...]  # last bin of each filter


def filters(audio: AudioConfig, where: str = "") -> Filters:
    """Compute the mel filters of some settings. NeuralArtError: a filter lies between two bins."""
    low, high = _to_mel(audio.fmin, audio.htk), _to_mel(audio.fmax, audio.htk)
    count = audio.n_mels
    points = [_to_hertz(low + (high - low) * at / (count + 1), audio.htk) for at in range(count + 2)]
    bins = [at * audio.target_rate / audio.n_fft for at in range(audio.n_fft // 2 + 1)]
    weights: list[float] = []
    first: list[int] = []
    last: list[int] = []
    for number in range(count):
        left, middle, right = points[number : number + 3]
        area = 2.0 / (right - left) if audio.norm == "slaney" else 1.0
        near = [(at, bin_) for at, bin_ in enumerate(bins) if left < bin_ < right]
        row = [(at, area * min((one - left) / (middle - left), (right - one) / (right - middle))) for at, one in near]
        if not row:
            place = f"({left:.1f} to {right:.1f} Hz) lies between two bins of {audio.target_rate / audio.n_fft:.1f} Hz"
            hint = "fewer n_mels, or a larger n_fft"
            raise NeuralArtError(f"mel filter {number} of {count} {place}", where=where, hint=hint)
        first.append(row[0][0])
        last.append(row[-1][0])
        weights += [value for _, value in row]
    return Filters(tuple(weights), tuple(first), tuple(last))


def tables(audio: AudioConfig, real: str, where: str = "") -> dict[str, str]:
    """Write ``user_mel_tables.h`` and ``.c``; ``real``: type ``float32_t`` or another. Errors as :func:`filters`."""
    made = filters(audio, where)
    arrays = (
        (real, "user_win", [cfloat(value) for value in window(audio.window_length)]),
        (real, "user_melFiltersLut", [cfloat(value) for value in made.weights]),
        ("uint32_t", "user_melFiltersStartIndices", [f"{value}u" for value in made.first]),
        ("uint32_t", "user_melFiltersStopIndices", [f"{value}u" for value in made.last]),
    )
    includes = ['#include "arm_math.h"', *(['#include "preproc_dpu.h"'] if real != "float32_t" else [])]
    said = f"Hann window of {audio.window_length} and {audio.n_mels} mel filters, {audio.fmin} to {audio.fmax} Hz"
    head = f"/* {said}. Generated. */"
    header = [head, "#ifndef USER_MEL_TABLES_H", "#define USER_MEL_TABLES_H", "", *includes, ""]
    header += [
        *EXTERN_C,
        *(f"extern const {kind} {name}[{len(items)}];" for kind, name, items in arrays),
        *EXTERN_C_END,
    ]
    header += ["", "#endif", ""]
    source = [head, '#include "user_mel_tables.h"', ""]
    for kind, name, items in arrays:
        rows = [f"  {', '.join(items[at : at + 8])}," for at in range(0, len(items), 8)]
        source += [f"const {kind} {name}[{len(items)}] = {{", *rows, "};", ""]
    return {"user_mel_tables.h": "\n".join(header), "user_mel_tables.c": "\n".join(source)}


# ---------------------------------------------------------------------------------------------------------------------

# The sum of a spectrogram that counts as silence, on the natural logarithm's scale; none on the scale of decibels.
_SILENCE = 100.0
_OTHER = "other"


def log_mel(request: Request) -> Values:
    """Derive the values for a classifier of log-mel spectrograms, ``[1, mels, columns, 1]``."""
    audio = request.config.audio
    if audio is None:
        raise request.refuse("app_config: 'audio' is missing", "the settings of feature extraction", "use_case")
    tensor = request.input
    sides = [size for size in tensor.shape[1:] if size != 1]
    wanted, why = audio.n_mels * audio.patch_length, f"n_mels {audio.n_mels} x patch_length {audio.patch_length}"
    request.equal(tensor.elements, wanted, f"elements of input {tensor}", f"follow from {why}", "audio.n_mels")
    if sides[:1] != [audio.n_mels] and audio.n_mels != 1:
        what = f"first side of input {tensor} is {sides[0]}, n_mels is {audio.n_mels}"
        raise request.refuse(what, key="audio.n_mels")
    (output,) = request.outputs(1)
    if not request.classes:
        raise request.refuse("app_config: 'class_names' is missing", "class_names: [a, b, ...]", "use_case")
    # Networks of the zoo are trained with the names in this order.
    names = sorted([*request.classes, *([_OTHER] if audio.use_garbage_class else [])])
    named = f"are named{f' (with {_OTHER})' if audio.use_garbage_class else ''}"
    key = "class_names_file" if request.config.class_names_file else "class_names"
    request.equal(output.elements, len(names), f"classes of output {output}", named, key)
    # The N6 application chooses its own type of real numbers.
    flexible = bool(request.application and request.application.reads_any("PREPROC_FLOAT_T"))
    silence = audio.silence_threshold
    if silence is None:
        silence = 0.0 if audio.to_db else _SILENCE
    dtype, real = request.dtype((output,)), "PREPROC_FLOAT_T" if flexible else "float32_t"
    made = tables(audio, real, request.config.said("audio.n_mels"))
    return Values(dtype, {"audio": audio, "silence": silence}, tuple(names), companions=made)
