"""Audio events: the settings of the spectrogram, compared with the network."""

from __future__ import annotations

from neuralart.app_config import mel
from neuralart.app_config.request import Request, Values

# The sum of a spectrogram that counts as silence, on the natural logarithm's scale; none on the scale of decibels.
_SILENCE = 100.0
_OTHER = "other"


def log_mel(request: Request) -> Values:
    """A classifier of log-mel spectrograms, ``[1, mels, columns, 1]``."""
    audio = request.config.audio
    if audio is None:
        raise request.refuse("app_config: 'audio' is missing", "the settings of feature extraction", "use_case")
    tensor = request.input
    sides = [size for size in tensor.shape[1:] if size != 1]
    request.equal(
        tensor.elements,
        audio.n_mels * audio.patch_length,
        f"elements of input {tensor}",
        f"follow from n_mels {audio.n_mels} x patch_length {audio.patch_length}",
        "audio.n_mels",
    )
    if sides[:1] != [audio.n_mels] and audio.n_mels != 1:
        raise request.refuse(
            f"first side of input {tensor} is {sides[0]}, n_mels is {audio.n_mels}", key="audio.n_mels"
        )
    (output,) = request.outputs(1)
    if not request.classes:
        raise request.refuse("app_config: 'class_names' is missing", "class_names: [a, b, ...]", "use_case")
    # Networks of the zoo are trained with the names in this order.
    names = sorted([*request.classes, *([_OTHER] if audio.use_garbage_class else [])])
    request.equal(
        output.elements,
        len(names),
        f"classes of output {output}",
        f"are named{f' (with {_OTHER})' if audio.use_garbage_class else ''}",
        "class_names_file" if request.config.class_names_file else "class_names",
    )
    # The N6 application chooses its own type of real numbers.
    flexible = bool(request.application and request.application.reads_any("PREPROC_FLOAT_T"))
    silence = audio.silence_threshold
    if silence is None:
        silence = 0.0 if audio.to_db else _SILENCE
    return Values(
        request.dtype((output,)),
        {"audio": audio, "silence": silence},
        tuple(names),
        companions=mel.tables(
            audio, "PREPROC_FLOAT_T" if flexible else "float32_t", request.config.said("audio.n_mels")
        ),
    )
