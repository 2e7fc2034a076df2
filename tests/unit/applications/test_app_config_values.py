"""Every value that a header derives from a network, and every network that does not fit: both numbers in one line."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from neuralart.app_config import application, audio, generate, vision
from neuralart.app_config.generations import GENERATIONS
from neuralart.app_config.kinds import KINDS
from neuralart.config.app_config import MODEL_TYPES, AudioConfig
from neuralart.errors import NeuralArtError
from support.models import app_configs as made
from support.models.app_configs import Case, network, picture, tensor, wrapper_header, wrapper_source, write_application
from support.servers.messages import flat


def macros(text: str) -> dict[str, str]:
    """Names and values of all macros with a value on their line, without the parentheses."""
    found = re.findall(r"^#define (\w+) +(.+?)(?: \\)?$", text, re.M)
    assert len(dict(found)) == len(found)
    return {name: re.sub(r"^\((.*)\)$", r"\1", value) for name, value in found}


def header(case: Case, generation: str, **changes) -> generate.Header:
    return generate.header(case.config, case.tensors, generation=generation, **changes)


def values(case: Case, generation: str, prefix: str = "", **changes) -> dict[str, str]:
    found = macros(header(case, generation, **changes).text)
    return {name.removeprefix(prefix): value for name, value in found.items() if name.startswith(prefix)}


def refusal(case: Case, generation: str = "n6-v3", **changes) -> str:
    with pytest.raises(NeuralArtError) as caught:
        header(case, generation, **changes)
    return flat(str(caught.value))


def said(case: Case, **changes) -> Case:
    return replace(case, config=replace(case.config, **changes))


def fed(case: Case, image, *outputs) -> Case:
    return replace(case, tensors=network(image, *(outputs or case.tensors.outputs)))


def test_every_use_case_has_its_kind_and_a_case() -> None:
    known = {(use_case, model_type) for use_case, types in MODEL_TYPES.items() for model_type in types}
    assert set(KINDS) == known == {(case.config.use_case, case.config.model_type) for case in made.CASES}


# Values ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "generation", "prefix", "expected"),
    [
        (
            made.MOVENET,
            "n6-v1",
            "AI_",
            {
                "SPE_MOVENET_POSTPROC_HEATMAP_WIDTH": "48",
                "SPE_MOVENET_POSTPROC_HEATMAP_HEIGHT": "48",
                "SPE_MOVENET_POSTPROC_NB_KEYPOINTS": "13",
                "POSE_PP_POSE_KEYPOINTS_NB": "13",
                "POSE_PP_CONF_THRESHOLD": "0.4f",
            },
        ),
        (
            made.YOLO_V8,
            "n6-v1",
            "AI_OBJDETECT_YOLOV8_PP_",
            {
                "NB_CLASSES": "3",
                "TOTAL_BOXES": "1344",
                "CONF_THRESHOLD": "0.6f",
                "IOU_THRESHOLD": "0.45f",
                "MAX_BOXES_LIMIT": "10",
            },
        ),
        (
            made.YOLO_V8.with_outputs("int8"),
            "n6-v3",
            "AI_OD_YOLOV8_PP_",
            {
                "NB_CLASSES": "3",
                "TOTAL_BOXES": "1344",
                "SCALE": "0.25f",
                "ZERO_POINT": "-7",
                "CONF_THRESHOLD": "0.6f",
                "IOU_THRESHOLD": "0.45f",
                "MAX_BOXES_LIMIT": "10",
            },
        ),
        (
            made.YOLO_V5,
            "n6-v2",
            "AI_OD_YOLOV5_PP_",
            {
                "NB_CLASSES": "1",
                "TOTAL_BOXES": "6300",
                "SCALE": "0.25f",
                "ZERO_POINT": "0",
                "CONF_THRESHOLD": "0.6f",
                "IOU_THRESHOLD": "0.45f",
                "MAX_BOXES_LIMIT": "10",
            },
        ),
        (
            made.YOLO_V2,
            "h7",
            "AI_OBJDETECT_YOLOV2_PP_",
            {
                "NB_CLASSES": "1",
                "NB_ANCHORS": "5",
                "GRID_WIDTH": "13",
                "GRID_HEIGHT": "7",
                "NB_INPUT_BOXES": "AI_OBJDETECT_YOLOV2_PP_GRID_WIDTH * AI_OBJDETECT_YOLOV2_PP_GRID_HEIGHT",
                "CONF_THRESHOLD": "0.6f",
                "IOU_THRESHOLD": "0.45f",
                "MAX_BOXES_LIMIT": "10",
            },
        ),
        (
            made.YOLO_X,
            "n6-v3",
            "AI_OD_ST_YOLOX_PP_",
            {
                "NB_CLASSES": "2",
                "NB_ANCHORS": "1",
                **{
                    f"{g}_GRID_{side}": n
                    for g, n in zip("LMS", ("32", "16", "8"), strict=True)
                    for side in ("WIDTH", "HEIGHT")
                },
                **{
                    f"{g}_NB_INPUT_BOXES": f"AI_OD_ST_YOLOX_PP_{g}_GRID_WIDTH * AI_OD_ST_YOLOX_PP_{g}_GRID_HEIGHT"
                    for g in "LMS"
                },
                "CONF_THRESHOLD": "0.6f",
                "IOU_THRESHOLD": "0.45f",
                "MAX_BOXES_LIMIT": "10",
            },
        ),
        (
            made.SSD,
            "n6-v2",
            "AI_OD_SSD_ST_PP_",
            {
                "NB_CLASSES": "2",
                "TOTAL_DETECTIONS": "3830",
                "CONF_THRESHOLD": "0.6f",
                "IOU_THRESHOLD": "0.45f",
                "MAX_BOXES_LIMIT": "10",
            },
        ),
        (
            made.FACES,
            "n6-v3",
            "AI_FD_BLAZEFACE_PP_",
            {
                "NB_KEYPOINTS": "6",
                "NB_CLASSES": "1",
                "IMG_SIZE": "128",
                "OUT_0_NB_BOXES": "512",
                "OUT_1_NB_BOXES": "384",
                "CONF_THRESHOLD": "0.6f",
                "IOU_THRESHOLD": "0.45f",
                "MAX_BOXES_LIMIT": "10",
            },
        ),
        (
            made.POSES,
            "n6-v3",
            "AI_",
            {
                "MPE_YOLOV8_PP_NB_CLASSES": "1",
                "MPE_YOLOV8_PP_TOTAL_BOXES": "1344",
                "MPE_YOLOV8_PP_KEYPOINTS_NB": "17",
                "MPE_YOLOV8_PP_CONF_THRESHOLD": "0.6f",
                "MPE_YOLOV8_PP_IOU_THRESHOLD": "0.45f",
                "MPE_YOLOV8_PP_MAX_BOXES_LIMIT": "10",
                "POSE_PP_POSE_KEYPOINTS_NB": "17",
                "POSE_PP_CONF_THRESHOLD": "0.6f",
            },
        ),
        (made.DEEPLAB, "n6-v2", "AI_SSEG_DEEPLABV3_PP_", {"NB_CLASSES": "2", "WIDTH": "256", "HEIGHT": "320"}),
        (
            made.SEG,
            "n6-v2",
            "AI_YOLOV8_SEG_",
            {
                "PP_NB_CLASSES": "2",
                "PP_TOTAL_BOXES": "1344",
                "PP_MASK_NB": "32",
                "PP_MASK_SIZE": "64",
                "PP_CONF_THRESHOLD": "0.6f",
                "PP_IOU_THRESHOLD": "0.45f",
                "PP_MAX_BOXES_LIMIT": "10",
                "SCALE": "0.02f",
                "ZERO_POINT": "25",
                "MASK_SCALE": "0.020748684f",
                "MASK_ZERO_POINT": "-115",
            },
        ),
        (
            made.AUDIO,
            "audio-v1",
            "CTRL_X_CUBE_AI_SPECTROGRAM_",
            {
                "NMEL": "64U",
                "COL": "96U",
                "HOP_LENGTH": "160U",
                "NFFT": "512U",
                "WINDOW_LENGTH": "400U",
                "NORMALIZE": "0U",
                "FORMULA": "MEL_HTK",
                "FMIN": "125U",
                "FMAX": "7500U",
                "TYPE": "SPECTRUM_TYPE_MAGNITUDE",
                "LOG_FORMULA": "LOGMELSPECTROGRAM_SCALE_LOG",
                "SILENCE_THR": "100.0f",
                "WIN": "user_win",
                "MEL_LUT": "user_melFiltersLut",
                "MEL_START_IDX": "user_melFiltersStartIndices",
                "MEL_STOP_IDX": "user_melFiltersStopIndices",
            },
        ),
    ],
    ids=lambda value: value.name if isinstance(value, Case) else None,
)
def test_values_of_the_post_processing(case: Case, generation: str, prefix: str, expected: dict[str, str]) -> None:
    assert values(case, generation, prefix) == expected


def test_sizes_stand_in_the_first_generations_only() -> None:
    wanted = {"NN_WIDTH": "96", "NN_HEIGHT": "128", "NN_BPP": "3"}
    for generation in ("n6-v1", "n6-v2"):
        found = values(made.CLASSIFIER, generation)
        assert {name: found.get(name) for name in wanted} == wanted
        assert found["CAPTURE_FORMAT"] == "DCMIPP_PIXEL_PACKER_FORMAT_RGB565_1"
        assert found["LCD_FG_FRAMEBUFFER_SIZE"] == "LCD_FG_WIDTH * LCD_FG_HEIGHT * 2"
    assert not [name for name in values(made.CLASSIFIER, "n6-v3") if name.startswith(("NN_", "CAPTURE_", "LCD_"))]
    found = values(made.CLASSIFIER, "h7")
    assert (found["INPUT_WIDTH"], found["INPUT_HEIGHT"], found["INPUT_CHANNELS"]) == ("96", "128", "3")


@pytest.mark.parametrize(
    ("key", "generation", "value", "macro", "symbol"),
    [
        *(
            ("aspect_ratio", "n6-v3", word, "ASPECT_RATIO_MODE", f"ASPECT_RATIO_{symbol}")
            for word, symbol in (("crop", "CROP"), ("fit", "FIT"), ("full_screen", "FULLSCREEN"))
        ),
        *(
            ("aspect_ratio", "h7", word, "ASPECT_RATIO_MODE", f"ASPECT_RATIO_{word.upper()}")
            for word in ("crop", "fit", "padding")
        ),
        *(("color_mode", "n6-v1", word, "COLOR_MODE", f"COLOR_{word.upper()}") for word in ("rgb", "bgr")),
        *(("color_mode", "h7", word, "PP_COLOR_MODE", f"{word.upper()}_FORMAT") for word in ("rgb", "bgr")),
        *(
            ("camera_flip", "n6-v2", word, "CAMERA_FLIP", f"CMW_MIRRORFLIP_{word.upper()}")
            for word in ("none", "flip", "mirror", "flip_mirror")
        ),
    ],
)
def test_settings_are_symbols(key: str, generation: str, value: str, macro: str, symbol: str) -> None:
    found = values(said(made.CLASSIFIER, **{key: value}), generation)
    assert found[macro] == symbol
    if key != "camera_flip":
        assert found[symbol].isdigit()


def test_numbers_of_the_ratios_are_those_of_the_applications() -> None:
    n6, h7 = values(made.CLASSIFIER, "n6-v2", "ASPECT_RATIO_"), values(made.CLASSIFIER, "h7", "ASPECT_RATIO_")
    assert {**n6, "MODE": ""} == {"CROP": "1", "FIT": "2", "FULLSCREEN": "3", "MODE": ""}
    assert {**h7, "MODE": ""} == {"FIT": "1", "CROP": "2", "PADDING": "3", "MODE": ""}


@pytest.mark.parametrize("given", ["uint8", "int8", "float32"])
@pytest.mark.parametrize("got", ["uint8", "int8", "float32"])
def test_formats_of_h7(given: str, got: str) -> None:
    case = fed(made.CLASSIFIER, picture(64, dtype=given), tensor(1, 3, dtype=got))
    found = values(case, "h7")
    assert found["QUANT_INPUT_TYPE"] == f"{given.upper()}_FORMAT"
    assert found["QUANT_OUTPUT_TYPE"] == f"{got.upper()}_FORMAT"
    assert (found["UINT8_FORMAT"], found["INT8_FORMAT"], found["FLOAT32_FORMAT"]) == ("1", "2", "3")


def test_gray_images_of_h7() -> None:
    gray = said(fed(made.CLASSIFIER, picture(28, channels=1)), color_mode="grayscale")
    found = values(gray, "h7")
    assert (found["INPUT_CHANNELS"], found["PP_COLOR_MODE"]) == ("1", "GRAYSCALE_FORMAT")
    assert "channels of input 'image' (uint8[1,28,28,1]): 1, but 3 with color_mode: rgb" in refusal(
        said(gray, color_mode="rgb"), "h7"
    )


def test_a_model_with_the_channels_first() -> None:
    """The layout says which axis is which; H7 applications take such a model."""
    case = fed(made.CLASSIFIER, tensor(1, 3, 128, 96, dtype="int8", layout="NCHW", name="image"))
    found = values(case, "h7")
    assert (found["INPUT_HEIGHT"], found["INPUT_WIDTH"], found["INPUT_CHANNELS"]) == ("128", "96", "3")
    heat = fed(made.MOVENET, picture(192, 256), tensor(1, 17, 48, 64, layout="NCHW"))
    found = values(said(heat, keypoints=0), "n6-v2", "AI_SPE_MOVENET_POSTPROC_")
    assert found == {"HEATMAP_WIDTH": "64", "HEATMAP_HEIGHT": "48", "NB_KEYPOINTS": "17"}


def test_the_class_table() -> None:
    text = header(made.SSD, "n6-v1").text
    assert (
        "#define NB_CLASSES (2)\n"
        "#define CLASSES_TABLE const char* classes_table[NB_CLASSES] = { \\\n"
        '  "background", \\\n  "person" \\\n}\n'
    ) in text
    assert '"a \\042quoted\\042 cat"' in header(made.YOLO_V8, "n6-v1").text
    assert "NB_CLASSES" not in header(made.MOVENET, "n6-v1").text


@pytest.mark.parametrize(("dtype", "zero", "letter"), [("float32", 0, "F"), ("uint8", 3, "U"), ("int8", -3, "I")])
@pytest.mark.parametrize("generation", ["n6-v1", "n6-v2", "n6-v3"])
@pytest.mark.parametrize(
    "case", [c for c in made.CASES if KINDS[c.config.use_case, c.config.model_type].stems], ids=lambda case: case.name
)
def test_the_last_letter_agrees_with_the_outputs(
    case: Case, generation: str, dtype: str, zero: int, letter: str
) -> None:
    """A symbol that the wrapper has, or a refusal that says what it has."""
    case = case.with_outputs(dtype)
    stem = KINDS[case.config.use_case, case.config.model_type].stems[0]
    symbol = f"POSTPROCESS_{stem}_U{letter}"
    known = GENERATIONS[generation].symbols
    if symbol in known:
        assert header(case, generation).symbol == symbol
        assert values(case, generation)["POSTPROCESS_TYPE"] == symbol
        return
    message = refusal(case, generation)
    assert f"{symbol} is not in the wrapper of generation {generation} (the outputs are {dtype})" in message
    others = [name for name in known if name.startswith(f"POSTPROCESS_{stem}_U")]
    if others:
        types = {"F": "float32", "U": "uint8", "I": "int8"}
        assert f"it has {others[0]}: compile with output_data_type: {types[others[0][-1]]}" in message


def test_h7_numbers_its_symbols_itself() -> None:
    found = values(made.SSD, "h7", "POSTPROCESS_")
    assert found == {
        "CENTER_NET": "1",
        "YOLO_V2": "2",
        "ST_SSD": "3",
        "SSD": "4",
        "ST_YOLO_X": "5",
        "TYPE": "POSTPROCESS_ST_SSD",
    }
    assert "POSTPROCESS" not in header(made.CLASSIFIER, "h7").text


def test_anchors_are_written_in_pairs_and_scaled_by_the_grid() -> None:
    assert (
        "static const float AI_OD_YOLOV2_PP_ANCHORS[2 * AI_OD_YOLOV2_PP_NB_ANCHORS] = {\n"
        "  0.9883f, 3.3606f,\n  2.1194f, 5.3759f,\n"
    ) in header(made.YOLO_V2, "n6-v2").text
    text = header(made.YOLO_X, "n6-v2").text
    for name, number in (("L", "16.0f"), ("M", "8.0f"), ("S", "4.0f")):
        row = f"AI_OD_ST_YOLOX_PP_{name}_ANCHORS[2 * AI_OD_ST_YOLOX_PP_NB_ANCHORS] = {{{number}, {number}}};"
        assert f"static const float {row}\n" in text
    two = said(made.YOLO_X, anchors=(0.5, 0.25, 1.0, 2.0))
    outs = [replace(out, shape=(*out.shape[:3], 14)) for out in two.tensors.outputs]
    assert (
        "S_ANCHORS[2 * AI_OD_ST_YOLOX_PP_NB_ANCHORS] = {4.0f, 2.0f, 8.0f, 16.0f};"
        in header(fed(two, picture(256), *outs), "n6-v2").text
    )


def test_anchors_of_blazeface() -> None:
    """Each cell of a grid has its anchors in its middle, row by row; the coarse grid has three layers of two."""
    first, second = vision.blazeface_anchors(128)
    assert (len(first), len(second)) == (512, 384)
    assert first[:3] == [(1 / 32, 1 / 32), (1 / 32, 1 / 32), (3 / 32, 1 / 32)]
    assert second[5:7] == [(1 / 16, 1 / 16), (3 / 16, 1 / 16)]
    assert first[-1] == (31 / 32, 31 / 32) and second[-1] == (15 / 16, 15 / 16)
    assert vision.blazeface_anchors(120) is None
    files = header(made.FACES, "n6-v3").companions
    assert list(files) == ["fd_blazeface_anchors_0.h", "fd_blazeface_anchors_1.h"]
    assert "static const float32_t g_Anchors_0[1024] = {\n  0.03125f, 0.03125f,\n" in files["fd_blazeface_anchors_0.h"]
    assert files["fd_blazeface_anchors_1.h"].count("\n  ") == 384


# Sound ----------------------------------------------------------------------------------------------------------------


def test_audio_classes_are_sorted_and_the_garbage_class_joins_them() -> None:
    found = header(made.AUDIO, "audio-v2").text
    assert '_CLASS_LIST   { \\\n  "chainsaw", \\\n  "dog", \\\n  "rain" \\\n}\n' in found
    assert "#define CTRL_X_CUBE_AI_MODEL_CLASS_NUMBER (3U)\n" in found
    case = said(made.AUDIO, audio=AudioConfig(use_garbage_class=True))
    case = fed(case, case.tensors.inputs[0], tensor(1, 4))
    assert '"dog", \\\n  "other", \\\n  "rain"' in header(case, "audio-v1").text
    assert "classes of output 'out' (float32[1,3]): 3, but 4 are named (with other)" in refusal(
        fed(case, case.tensors.inputs[0], tensor(1, 3)), "audio-v1"
    )


@pytest.mark.parametrize(
    ("changes", "macro", "value"),
    [
        ({"to_db": True}, "SPECTROGRAM_SILENCE_THR", "0.0f"),
        ({"to_db": True}, "SPECTROGRAM_LOG_FORMULA", "LOGMELSPECTROGRAM_SCALE_DB"),
        ({"to_db": True, "silence_threshold": 3.5}, "SPECTROGRAM_SILENCE_THR", "3.5f"),
        ({"power": 2}, "SPECTROGRAM_TYPE", "SPECTRUM_TYPE_POWER"),
        ({"norm": "slaney"}, "SPECTROGRAM_NORMALIZE", "1U"),
        ({"htk": False}, "SPECTROGRAM_FORMULA", "MEL_SLANEY"),
        ({"target_rate": 48000, "n_fft": 2048}, "SENSOR_ODR", "48000.0f"),
        ({"unknown_class_threshold": 0.25}, "OOD_THR", "0.25f"),
        ({"sensor": 'x"y'}, "SENSOR_NAME", '"x\\042y"'),
    ],
)
def test_audio_settings(changes: dict[str, object], macro: str, value: str) -> None:
    assert values(said(made.AUDIO, audio=AudioConfig(**changes)), "audio-v1", "CTRL_X_CUBE_AI_")[macro] == value


def test_the_two_generations_of_audio_differ_in_a_prefix() -> None:
    first, second = header(made.AUDIO, "audio-v1").text, header(made.AUDIO, "audio-v2").text
    assert first != second and first.replace("_AI_MODE_", "_AI_MODEL_") == second


def test_mel_filters() -> None:
    """64 filters, 125 to 7500 Hz, a transform of 512 at 16 kHz: 461 coefficients, as published tables have."""
    got = audio.filters(AudioConfig())
    assert (len(got.weights), len(got.first), len(got.last)) == (461, 64, 64)
    assert sum(last - first + 1 for first, last in zip(got.first, got.last, strict=True)) == 461
    assert all(0.0 < weight <= 1.0 for weight in got.weights)
    assert got.first[0] == 5 and got.last[-1] <= 240  # 31.25 Hz a bin: above 125 Hz, not above 7500 Hz
    same_area = audio.filters(AudioConfig(norm="slaney"))
    assert len(same_area.weights) == 461 and max(same_area.weights) < 0.1
    # Slaney's scale is linear below 1 kHz: its first filters are equally wide.
    linear = audio.filters(AudioConfig(htk=False, n_mels=40, fmin=0, fmax=8000, n_fft=2048))
    widths = [last - first for first, last in zip(linear.first, linear.last, strict=True)]
    assert max(widths[:10]) - min(widths[:10]) <= 1 < widths[-1] - widths[0]


def test_a_mel_filter_between_two_bins() -> None:
    audio = AudioConfig(n_mels=128, patch_length=48, n_fft=256, window_length=200)
    case = fed(said(made.AUDIO, audio=audio), tensor(1, 128, 48, 1, dtype="int8"))
    message = refusal(case, "audio-v1")
    assert "mel filter " in message and "lies between two bins of 62.5 Hz (fewer n_mels, or a larger n_fft)" in message


def test_the_window() -> None:
    window = audio.window(400)
    assert (len(window), window[0], window[200]) == (400, 0.0, 1.0)
    assert window[100] == pytest.approx(0.5) and window[1] == pytest.approx(window[399])  # periodic, not symmetric


def test_tables_of_an_audio_application(tmp_path: Path) -> None:
    plain = header(made.AUDIO, "audio-v1").companions
    assert list(plain) == ["user_mel_tables.c", "user_mel_tables.h"]
    assert "extern const float32_t user_melFiltersLut[461];\n" in plain["user_mel_tables.h"]
    assert "const uint32_t user_melFiltersStopIndices[64] = {\n" in plain["user_mel_tables.c"]
    own = "PREPROC_FLOAT_T x;\nint n = CTRL_X_CUBE_AI_MODEL_CLASS_NUMBER;\n"
    found = application.find(write_application(tmp_path, {"Src/audio.c": own}))
    flexible = generate.header(made.AUDIO.config, made.AUDIO.tensors, application=found)
    assert flexible.generation == "audio-v2"
    text = flexible.companions["user_mel_tables.h"]
    assert '#include "preproc_dpu.h"\n\n#ifdef __cplusplus\nextern "C" {\n#endif\n' in text
    assert "extern const PREPROC_FLOAT_T user_win[400];\n" in text


# Networks that do not fit ---------------------------------------------------------------------------------------------

GOOD = picture(192)


@pytest.mark.parametrize(
    ("case", "message"),
    [
        # Inputs.
        (
            fed(made.MOVENET, picture(192, dtype="int8")),
            "input 'image' (int8[1,192,192,3]) is int8, the camera writes uint8 (compile with input_data_type: uint8)",
        ),
        (
            fed(made.MOVENET, picture(192, channels=1)),
            "input 'image' (uint8[1,192,192,1]) has 1 channels, the camera writes 3",
        ),
        (
            fed(made.MOVENET, tensor(1, 3, 192, 192, dtype="uint8", layout="NCHW")),
            "is NCHW, the camera writes NHWC (compile with inputs_ch_position: chlast)",
        ),
        (fed(made.MOVENET, tensor(2, 192, 192, 3, dtype="uint8")), "has a batch of 2, the application gives 1 image"),
        (
            fed(made.MOVENET, tensor(1, 192, 192, dtype="uint8")),
            "is no image: batch, height, width and channels are needed",
        ),
        (fed(made.MOVENET, replace(GOOD, layout="")), "is no image"),
        (
            replace(made.MOVENET, tensors=replace(made.MOVENET.tensors, inputs=(GOOD, GOOD))),
            "takes a network with one input, this one has 2",
        ),
        (
            replace(made.MOVENET, tensors=replace(made.MOVENET.tensors, inputs=())),
            "takes a network with one input, this one has 0",
        ),
        # Poses.
        (fed(made.MOVENET, picture(160)), "width of the heatmap is 48, 4 x 48: 192, but 160 is the width of the input"),
        (
            fed(made.MOVENET, picture(160, 192)),
            "height of the heatmap is 48, 4 x 48: 192, but 160 is the height of the input",
        ),
        (
            said(made.MOVENET, keypoints=17),
            "keypoints of output 'heatmaps' (float32[1,48,48,13]): 13, but 17 are asked for",
        ),
        (
            fed(made.MOVENET, GOOD, tensor(1, 48, 624)),
            "output 'out' (float32[1,48,624]) is not [1, height, width, keypoints] (is model_type right?)",
        ),
        (
            fed(made.MOVENET, GOOD, tensor(1, 4), tensor(1, 5)),
            "movenet has 1 output, this network has 2: 'out_0' (float32[1,4]), 'out_1' (float32[1,5])",
        ),
        (
            fed(made.MOVENET, GOOD, tensor(1, 48, 48, 13, dtype="int16")),
            "the post-processing takes float32, int8, uint8 (compile with output_data_type)",
        ),
        (
            said(made.MOVENET, confidence_thresh=None),
            "'confidence_thresh' is missing, movenet needs it (for example confidence_thresh: 0.5)",
        ),
        (fed(made.POSES, GOOD, tensor(1, 57, 1344)), "has 57 values for each box, that is not 5 + 3 x keypoints"),
        (fed(made.POSES, GOOD, tensor(1, 5, 1344)), "has 5 values for each box"),
        (fed(made.POSES, GOOD, tensor(1, 56)), "is not [1, 5 + 3 x keypoints, boxes]"),
        (said(made.POSES, keypoints=13), "keypoints of output 'out' (float32[1,56,1344]): 17, but 13 are asked for"),
        # Classes.
        (
            said(made.CLASSIFIER, class_names=("a", "b")),
            "classes of output 'scores' (float32[1,3]): 3, but 2 are named",
        ),
        (
            said(made.CLASSIFIER, class_names=()),
            "'class_names' is missing (classes of output 'scores' (float32[1,3]) has 3: class_names: [a, b, ...])",
        ),
        (
            made.CLASSIFIER.with_outputs("int8"),
            "output 'scores' (int8[1,3]): the application reads float32 (compile with output_data_type: float32)",
        ),
        (said(made.DEEPLAB, class_names=("a",)), "classes of output 'out' (float32[1,320,256,2]): 2, but 1 is named"),
        # Detectors.
        (said(made.YOLO_V8, class_names=("a",)), "classes of output 'out' (float32[1,7,1344]): 3, but 1 is named"),
        (
            fed(made.YOLO_V8, GOOD),
            "boxes of output 'out' (float32[1,7,1344]): 1344, but 756 follow from an input of 192x192",
        ),
        (
            fed(made.YOLO_V8, picture(256), tensor(1, 1344, 7)),
            "boxes of output 'out' (float32[1,1344,7]): 7, but 1344 follow from an input of 256x256 (are the axes in",
        ),
        (fed(made.YOLO_V8, picture(250, 256)), "height of the input is 250, no multiple of the stride 8"),
        (fed(made.YOLO_V8, picture(256), tensor(1344, 7)), "is not [1, 4 + classes, boxes]"),
        (
            said(made.YOLO_V8, nms_thresh=None),
            "'nms_thresh' is missing, yolo_v8 needs it (for example nms_thresh: 0.5)",
        ),
        (
            said(made.YOLO_V8, max_detection_boxes=0),
            "'max_detection_boxes' is missing, yolo_v8 needs it (for example max_detection_boxes: 10)",
        ),
        (fed(made.YOLO_V5, GOOD), "6300, but 2268 follow from an input of 192x192"),
        (said(made.YOLO_V5, class_names=("a", "b")), "1, but 2 are named"),
        (
            said(made.YOLO_V2, network_stride=0),
            "'network_stride' is missing, yolo_v2 needs it (32 for tiny_yolo_v2, 16 for st_yolo_lc_v1)",
        ),
        (
            said(made.YOLO_V2, network_stride=16),
            "elements of output 'out' (float32[1,7,13,30]): 2730, but 10920 follow from 14 x 26 cells x 5 anchors "
            "x (5 + 1 classes)",
        ),
        (said(made.YOLO_V2, network_stride=30), "width of the input is 416, no multiple of the stride 30"),
        (said(made.YOLO_V2, anchors=()), "'anchors' is missing, yolo_v2 needs it"),
        (
            said(made.YOLO_V2, anchors=(1.0, 2.0)),
            "2730, but 546 follow from 7 x 13 cells x 1 anchors x (5 + 1 classes)",
        ),
        (said(made.YOLO_V2, class_names=()), "'class_names' is missing"),
        (
            said(made.YOLO_X, class_names=("a",)),
            "elements of output 'out_1' (float32[1,32,32,7]): 7168, but 6144 follow from 32 x 32 cells",
        ),
        (fed(made.YOLO_X, picture(256), tensor(1, 8)), "st_yolo_x has 3 outputs, this network has 1"),
        (fed(made.BLAZEFACE, picture(128, 144)), "height of the input: 128, but 144 is its width"),
        (fed(made.BLAZEFACE, picture(120)), "size of the input is 120, no multiple of 16"),
        (
            fed(made.BLAZEFACE, picture(256)),
            "the outputs have 512, 512, 384, 384 boxes, but 2048 and 1536 follow from an input of 256x256",
        ),
        (
            fed(made.BLAZEFACE, picture(128), *(tensor(1, 512, 16), tensor(1, 512, 1)) * 2),
            "the outputs have 512, 512, 512, 512 boxes, but 512 and 384 follow",
        ),
        (
            fed(
                made.BLAZEFACE,
                picture(128),
                tensor(1, 512, 16),
                tensor(1, 512, 1),
                tensor(1, 384, 1),
                tensor(1, 384, 14),
            ),
            "two outputs must have 1 value for each box, and two the same number",
        ),
        (
            fed(
                made.BLAZEFACE,
                picture(128),
                tensor(1, 512, 15),
                tensor(1, 512, 1),
                tensor(1, 384, 1),
                tensor(1, 384, 15),
            ),
            "outputs with 15 values for each box, but 4 and 2 for each keypoint are needed",
        ),
        (said(made.BLAZEFACE, class_names=("a", "b")), "class_names: 2, but 1 is what a detector of faces knows"),
        # Segmentation.
        (
            said(made.SEG, class_names=("a",)),
            "classes of output 'out_0' (int8[1,38,1344]) (values for each box less 4 and 32 masks): 2, but 1 is named",
        ),
        (
            fed(made.SEG, picture(256), made.SEG.tensors.outputs[0], tensor(1, 64, 32, 32, dtype="int8")),
            "height of output 'out_1' (int8[1,64,32,32]): 64, but 32 is its width",
        ),
        (
            fed(made.SEG, picture(256), tensor(1, 38, 1344), made.SEG.tensors.outputs[1]),
            "outputs of different types: 'out_0' (float32[1,38,1344]) and 'out_1_1' (int8[1,64,64,32])",
        ),
    ],
)
def test_networks_that_do_not_fit(case: Case, message: str) -> None:
    generation = "n6-v3" if case.config.model_type != "yolo_v5" else "n6-v2"
    assert message in refusal(case, generation)


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (
            fed(made.SSD, GOOD, tensor(1, 3830, 2), tensor(1, 3829, 4), tensor(1, 3830, 4)),
            "detections of output 'out_1' (float32[1,3829,4]): 3829, but 3830 are in output 'out_0' "
            "(float32[1,3830,2])",
        ),
        (
            fed(made.SSD, GOOD, tensor(1, 3830, 4), tensor(1, 3830, 4), tensor(1, 3830, 2)),
            "values of output 'out_2' (float32[1,3830,2]) (anchors): 2, but 4 describe a box",
        ),
        (
            said(made.SSD, class_names=("a", "b")),
            "classes of output 'out_0' (float32[1,3830,2]): 2, but 3 are named (with the background)",
        ),
        (fed(made.SSD, GOOD, tensor(3830, 2), tensor(3830, 4), tensor(3830, 4)), "is not [1, detections, n]"),
    ],
)
def test_st_ssd_that_does_not_fit(case: Case, message: str) -> None:
    assert message in refusal(case, "n6-v2")


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (said(made.AUDIO, audio=None), "'audio' is missing (the settings of feature extraction)"),
        (
            said(made.AUDIO, audio=AudioConfig(n_mels=32)),
            "elements of input 'patch' (int8[1,64,96,1]): 6144, but 3072 follow from n_mels 32 x patch_length 96",
        ),
        (
            said(made.AUDIO, audio=AudioConfig(n_mels=48, patch_length=128)),
            "first side of input 'patch' (int8[1,64,96,1]) is 64, n_mels is 48",
        ),
        (said(made.AUDIO, class_names=("a", "b")), "classes of output 'scores' (float32[1,3]): 3, but 2 are named"),
        (said(made.AUDIO, class_names=()), "'class_names' is missing"),
    ],
)
def test_sound_that_does_not_fit(case: Case, message: str) -> None:
    assert message in refusal(case, "audio-v2")


@pytest.mark.parametrize(
    ("case", "generation", "message"),
    [
        (
            said(made.CLASSIFIER, aspect_ratio="padding"),
            "n6-v3",
            "aspect_ratio: padding does not exist in applications of generation n6-v3 (known: crop, fit, full_screen)",
        ),
        (
            said(made.CLASSIFIER, aspect_ratio="full_screen"),
            "h7",
            "aspect_ratio: full_screen does not exist in applications of generation h7 (known: crop, fit, padding)",
        ),
        (
            said(made.CLASSIFIER, color_mode="grayscale"),
            "n6-v1",
            "color_mode: grayscale does not exist in applications of generation n6-v1 (known: rgb, bgr)",
        ),
        (
            made.MOVENET,
            "h7",
            "pose_estimation with movenet does not exist in generation h7 (it exists in n6-v1, n6-v2, n6-v3)",
        ),
        (
            made.AUDIO,
            "n6-v2",
            "audio_event_detection with log_mel does not exist in generation n6-v2 (it exists in audio-v1, audio-v2)",
        ),
        (made.CLASSIFIER, "audio-v1", "image_classification with classifier does not exist in generation audio-v1"),
        (
            said(made.CLASSIFIER, display="usb", camera="usb"),
            "h7",
            "display and camera both take USB, the board has 1 port",
        ),
        (said(made.CLASSIFIER, display="usb"), "h7", "'camera' is missing beside 'display'"),
        (said(made.CLASSIFIER, camera="dcmi"), "n6-v2", "'camera' means nothing in generation n6-v2"),
        (
            fed(said(made.MOVENET, keypoints=0), GOOD, tensor(1, 48, 48, 12)),
            "n6-v1",
            "has 12 keypoints, the application draws 13 or 17",
        ),
        (
            fed(made.CLASSIFIER, picture(64, dtype="int16")),
            "h7",
            "input 'image' (int16[1,64,64,3]): the application takes float32, int8, uint8",
        ),
        (
            fed(made.YOLO_V8, picture(256), tensor(1, 7, 1344, dtype="int8", scale=1e-40)),
            "n6-v3",
            "template: 1e-40 is too small for a float32",
        ),
    ],
)
def test_settings_that_a_generation_does_not_have(case: Case, generation: str, message: str) -> None:
    assert message in refusal(case, generation)


def test_notes() -> None:
    twelve = fed(said(made.MOVENET, keypoints=0), GOOD, tensor(1, 48, 48, 12))
    assert header(twelve, "n6-v3").notes == ("12 keypoints: the application draws a skeleton for 13 and 17 only",)
    narrow = fed(made.CLASSIFIER, picture(100))
    (note,) = header(narrow, "n6-v2").notes
    assert note.startswith("the input is 100 pixels wide, no multiple of 16")
    assert header(narrow, "h7").notes == header(made.MOVENET, "n6-v2").notes == ()


def test_the_interfaces_of_the_h743() -> None:
    found = values(said(made.CLASSIFIER, display="spi", camera="usb"), "h7")
    assert found["DISPLAY_INTERFACE"] == "DISPLAY_INTERFACE_SPI" and found["CAMERA_INTERFACE"] == "CAMERA_INTERFACE_USB"
    assert found["CAMERA_SENSOR"] == "CAMERA_SENSOR_OV5640"
    assert "INTERFACE" not in header(made.CLASSIFIER, "h7").text


def test_the_greeting() -> None:
    found = values(made.MOVENET, "n6-v2", "WELCOME_", model_name="move net.tflite")
    assert found == {"MSG_1": '"move net.tflite"', "MSG_2": '"Model runs on the STM32"'}
    own = said(made.MOVENET, welcome=('say "hi"', "second line of it"))
    assert values(own, "n6-v2", "WELCOME_") == {"MSG_1": '"say \\042hi\\042"', "MSG_2": '"second line of it"'}
    found = values(own, "n6-v2", "WELCOME_", board="nucleo-n657x0-q", narrow_display=True)
    assert found["MSG_2"] == '(char *[2]) {"second line", "of it"}'


def test_further_macros() -> None:
    text = header(said(made.MOVENET, defines=("ROTATE", "LEVEL=(3)", "EMPTY=")), "n6-v2").text
    assert text.endswith("\n\n#define ROTATE\n#define LEVEL (3)\n#define EMPTY\n\n#endif\n")


# Applications that decide ---------------------------------------------------------------------------------------------


def app(tmp_path: Path, files: dict[str, str]) -> application.Application:
    return application.find(write_application(tmp_path / "fw", files), "fw")


def test_the_wrapper_chooses_generation_and_names(tmp_path: Path) -> None:
    case = made.YOLO_V8.with_outputs("int8")
    symbol, first = "POSTPROCESS_OD_YOLO_V8_UI", "AI_OBJDETECT_YOLOV8_PP_"
    found = app(
        tmp_path,
        {
            "app_postprocess.h": wrapper_header("n6-v2"),
            "app_postprocess.c": wrapper_source(symbol, f"{first}NB_CLASSES", f"{first}SCALE"),
        },
    )
    got = generate.header(case.config, case.tensors, application=found)
    assert (got.generation, got.symbol) == ("n6-v1", symbol)
    assert "#define AI_OBJDETECT_YOLOV8_PP_SCALE       (0.25f)\n" in got.text and "AI_OD_" not in got.text
    # The names that the sources read win over those of a generation that the user insists on.
    got = generate.header(case.config, case.tensors, application=found, generation="n6-v2")
    assert "#define AI_OBJDETECT_YOLOV8_PP_SCALE " in got.text
    # A generation in the settings wins over the application, one of the command line over both.
    config = replace(case.config, generation="n6-v2")
    assert generate.header(config, case.tensors, application=found).generation == "n6-v2"
    assert generate.header(config, case.tensors, application=found, generation="n6-v1").generation == "n6-v1"


def test_a_symbol_that_the_application_does_not_have(tmp_path: Path) -> None:
    symbol = "POSTPROCESS_OD_ST_SSD_UF"
    found = app(tmp_path, {"app_postprocess.h": wrapper_header("n6-v3")})
    with pytest.raises(NeuralArtError) as caught:
        generate.header(made.SSD.config, made.SSD.tensors, application=found)
    assert f"{symbol} is not in fw/app_postprocess.h (the outputs are float32) (did you mean '" in flat(
        str(caught.value)
    )
    # A later wrapper that still has it is believed.
    kept = app(tmp_path, {"app_postprocess.h": wrapper_header("n6-v3", more=(symbol,))})
    assert generate.header(made.SSD.config, made.SSD.tensors, application=kept).symbol == symbol


def test_a_symbol_that_was_renamed(tmp_path: Path) -> None:
    symbol = "POSTPROCESS_OD_FD_BLAZEFACE_UI"
    found = app(
        tmp_path,
        {
            "app_postprocess.h": wrapper_header("n6-v3", without=("POSTPROCESS_OD_BLAZEFACE_UI",), more=(symbol,)),
            "app_postprocess_b.c": wrapper_source(symbol, "AI_OD_FD_BLAZEFACE_PP_IMG_SIZE"),
        },
    )
    case = made.BLAZEFACE.with_outputs("int8")
    got = generate.header(case.config, case.tensors, application=found)
    assert got.symbol == symbol and "#define AI_OD_FD_BLAZEFACE_PP_IMG_SIZE       (128)\n" in got.text


def test_a_symbol_that_no_source_implements(tmp_path: Path) -> None:
    found = app(
        tmp_path,
        {
            "app_postprocess.h": wrapper_header("n6-v3"),
            "app_postprocess_a.c": wrapper_source("POSTPROCESS_OD_YOLO_V2_UF"),
        },
    )
    with pytest.raises(NeuralArtError) as caught:
        generate.header(made.MOVENET.config, made.MOVENET.tensors, application=found)
    assert str(caught.value) == (
        "fw/app_postprocess.h:19: POSTPROCESS_SPE_MOVENET_UF is defined, but no source implements it "
        "(sources: POSTPROCESS_OD_YOLO_V2_UF)"
    )


def test_a_macro_that_the_header_does_not_have(tmp_path: Path) -> None:
    symbol = "POSTPROCESS_SPE_MOVENET_UF"
    reads = ("AI_SPE_MOVENET_POSTPROC_HEATMAP_WIDTH", "AI_POSE_PP_NEW", "AI_SPE_POSTPROCESS_ERROR_NO")
    files = {"app_postprocess.h": wrapper_header("n6-v3"), "app_postprocess_m.c": wrapper_source(symbol, *reads)}
    case = made.MOVENET
    with pytest.raises(NeuralArtError) as caught:
        generate.header(case.config, case.tensors, application=app(tmp_path, files))
    assert str(caught.value) == (
        "fw/app_postprocess_m.c:9: reads AI_POSE_PP_NEW, which app_config.h does not define "
        "(defines: [AI_POSE_PP_NEW=...] in app_config, or a template of your own)"
    )
    mine = said(case, defines=("AI_POSE_PP_NEW=(3)",))
    generate.header(mine.config, mine.tensors, application=app(tmp_path, {}))
    generate.header(case.config, case.tensors, application=app(tmp_path, {"lib/pp.h": "#define AI_POSE_PP_NEW (1)\n"}))


def test_a_source_that_takes_bytes_under_a_name_for_floats(tmp_path: Path) -> None:
    """The first wrapper's DeepLab is called UF and reads uint8: then uint8 is what fits, and float32 is refused."""
    symbol = "POSTPROCESS_SSEG_DEEPLAB_V3_UF"
    source = wrapper_source(symbol, "AI_SSEG_DEEPLABV3_PP_WIDTH", "AI_SSEG_DATA_UINT8")
    found = app(tmp_path, {"app_postprocess.h": wrapper_header("n6-v1"), "app_postprocess.c": source})
    case = made.DEEPLAB.with_outputs("uint8")
    assert generate.header(case.config, case.tensors, application=found).symbol == symbol
    with pytest.raises(NeuralArtError) as caught:
        generate.header(made.DEEPLAB.config, made.DEEPLAB.tensors, application=found)
    assert f"it has {symbol}: compile with output_data_type: uint8" in str(caught.value)


def test_h7_takes_the_symbols_that_its_source_compares(tmp_path: Path) -> None:
    source = "#if POSTPROCESS_TYPE == POSTPROCESS_YOLO_V2\nint x = AI_OBJDETECT_YOLOV2_PP_NB_CLASSES;\n#endif\n"
    found = app(tmp_path, {"Inc/CM7/app_postprocess.h": wrapper_header("h7"), "Src/CM7/app_postprocess.c": source})
    got = generate.header(made.YOLO_V2.config, made.YOLO_V2.tensors, application=found)
    assert (got.name, got.generation, got.symbol) == ("ai_model_config.h", "h7", "POSTPROCESS_YOLO_V2")
    with pytest.raises(NeuralArtError) as caught:
        generate.header(made.YOLO_X.config, made.YOLO_X.tensors, application=found)
    assert "POSTPROCESS_ST_YOLO_X is not in fw/Src/CM7/app_postprocess.c (" in str(caught.value)


def test_sizes_for_a_later_application_that_still_reads_them(tmp_path: Path) -> None:
    found = app(tmp_path, {"app_postprocess.h": wrapper_header("n6-v3"), "Src/main.c": "int w = NN_WIDTH;\n"})
    got = generate.header(made.MOVENET.config, made.MOVENET.tensors, application=found)
    assert got.generation == "n6-v3" and "#define NN_WIDTH  (192)\n" in got.text


def test_neither_application_nor_generation() -> None:
    with pytest.raises(NeuralArtError) as caught:
        generate.header(made.MOVENET.config, made.MOVENET.tensors)
    assert "for which generation of application? (name the application's folder (application:), or generation: " in (
        str(caught.value)
    )


def test_names_of_classes_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "labels.txt"
    config = replace(made.CLASSIFIER.config, class_names=(), class_names_file="labels.txt")
    path.write_bytes("\ufeffdaisy\r\n the  rose \r\nGröße\n\n\n".encode())
    assert generate.class_names(config, tmp_path) == ("daisy", "the  rose", "Größe")
    assert generate.class_names(made.CLASSIFIER.config, tmp_path) == made.CLASSIFIER.config.class_names
    for data, message in (
        (b"", "labels.txt holds no names"),
        (b"a\n\nb\n", "labels.txt:2: line is empty (one name of a class a line)"),
        (b"a\n\x07b\n", "labels.txt:2: line has a control character"),
        (b"a\n\xff\n", "labels.txt is not UTF-8"),
    ):
        path.write_bytes(data)
        with pytest.raises(NeuralArtError) as caught:
            generate.class_names(config, tmp_path)
        assert str(caught.value) == message or message in str(caught.value)
    path.unlink()
    with pytest.raises(NeuralArtError, match=r"labels.txt: cannot read"):
        generate.class_names(config, tmp_path)
