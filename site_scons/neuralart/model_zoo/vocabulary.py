"""What the keys and words of the model zoo mean here, release by release."""

from __future__ import annotations

from collections.abc import Mapping

from neuralart.config.app_config import MODEL_TYPES as USE_CASE_TYPES
from neuralart.config.app_config import USE_CASES

# (model type, network_stride) -> model_type of the zoo; what is not here is a name of a family of classifiers.
_SPELLINGS = {
    ("yolo_v2", 32): "tiny_yolo_v2 yolov2t",
    ("yolo_v2", 16): "st_yolo_lc_v1 st_yololcv1",
    ("st_yolo_x", 0): "st_yolo_x st_yoloxn",
    ("yolo_v5", 0): "yolo_v5",
    ("yolo_v8", 0): "yolo_v5u yolov5u yolo_v8 yolov8 yolov8n yolo_v11 yolov11 yolov11n",
    ("st_ssd", 0): "st_ssd_mobilenet_v1 ssd_mobilenet_v2_fpnlite SSD",
    ("blazeface", 0): "face_detect_front facedetect_front",
    ("movenet", 0): "heatmaps_spe",
    ("yolo_v8_pose", 0): "yolo_mpe",
    ("deeplab_v3", 0): "deeplab_v3 deeplabv3",
    ("yolo_v8_seg", 0): "yolo_v8_seg yolov8n_seg",
}
MODEL_TYPES: Mapping[str, tuple[str, int]] = {
    word: kind for kind, words in _SPELLINGS.items() for word in words.split()
}
# Model types that have an application, but no header here.
NO_HEADER = frozenset({"CENTER_NET", "hand_spe", "spe", "ssd", "st_yolodv2milli", "st_yolod", "yunet", "yunetn"})
# The same word in another use case.
BY_USE_CASE: Mapping[tuple[str, str], str] = {
    ("pose_estimation", "yolo_v8"): "yolo_v8_pose",
    ("instance_segmentation", "yolo_v8"): "yolo_v8_seg",
}
# Where a model type alone says what it is for: those of the zoo call three of their own yolo_v8.
USE_CASE_OF: Mapping[str, str] = {
    kind: use_case for use_case in USE_CASES for kind in USE_CASE_TYPES[use_case] if kind != "yolo_v8"
}
# Parts of paths of the zoo -> use case; empty: it has one, but no header is made for it.
FOLDERS: Mapping[str, str] = {
    **{name: name for name in USE_CASES},
    "audio": "audio_event_detection",
    "sensing_free_rtos": "audio_event_detection",
    **dict.fromkeys(("speech_enhancement", "sensing_thread_x", "hand_posture", "human_activity_recognition"), ""),
    **dict.fromkeys(("arc_fault_detection", "depth_estimation", "neural_style_transfer"), ""),
    **dict.fromkeys(("re_identification", "reidentification"), ""),
}
# Families of parts -> the built-in board that is meant where none is named.
SERIES: Mapping[str, str] = {"STM32N6": "stm32n6570-dk", "STM32H7": "stm32h747i-disco"}
# How the zoo's names of boards with an STM32N6 begin.
N6_BOARDS = ("stm32n6", "nucleo-n6")
# feature_extraction.<key> -> audio.<key>.
AUDIO = (
    *("n_mels", "patch_length", "hop_length", "n_fft", "window_length", "fmin", "fmax", "power", "norm", "htk"),
    "to_db",
)

NO_COUNTERPART = "has no counterpart"
_TRAINING = "training belongs to the model zoo"
_PROGRAM = "programs are found on this machine"
_RESCALING = "part of the quantized model, whose input takes bytes"
_SCALING = "the camera pipe scales in hardware"
# Dotted path -> why nothing here corresponds. The longest one wins; a section whose keys are all dropped is one line.
REASONS: Mapping[str, str] = {
    **dict.fromkeys(("general", "dataset", "training", "train_parameters", "data_augmentation", "model"), _TRAINING),
    **dict.fromkeys(("custom_data_augmentation", "callbacks"), _TRAINING),
    **dict.fromkeys(("evaluation", "prediction"), "accuracy on a data set is measured by the model zoo"),
    **dict.fromkeys(("benchmarking", "benchmark"), "boards are measured here, not in a cloud"),
    **dict.fromkeys(("preprocessing", "pre_processing"), "belongs to data sets"),
    **dict.fromkeys(("preprocessing.rescaling", "pre_processing.rescaling"), _RESCALING),
    **dict.fromkeys(("preprocessing.resizing.interpolation", "pre_processing.resizing"), _SCALING),
    **dict.fromkeys(("postprocessing", "post_processing"), "belongs to evaluation"),
    **dict.fromkeys(("tools", "stm32ai"), _PROGRAM),
    **dict.fromkeys(("tools.stedgeai.on_cloud", "tools.stm32ai.on_cloud"), "networks are compiled on this machine"),
    "general.project_name": "a network is named by its model (--name)",
    "operation_mode": "scons and its targets say what is done",
    "quantization": "the model is quantized already; the use case says the types of its inputs and outputs",
    "mlflow": "logs of training",
    "hydra": "folders of the model zoo's runs",
    "defaults": "hydra's composition of files; write the values into this one",
    "model.model_name": "a variant of the architecture, part of the model",
    "model.input_shape": "the model says it",
    "feature_extraction": "the application extracts features its own way",
    "deployment": NO_COUNTERPART,
    "deployment.verbosity": "scons says what it does",
    "deployment.hardware_setup.serie": "follows from the board",
    "deployment.hardware_setup": "the board has one way only",
}
