/* app_config.h of network network (object_detection, yolo_v2). Generated: change what it is made from. */
#ifndef APP_CONFIG
#define APP_CONFIG

#include "arm_math.h"

#define USE_DCACHE

#define CAMERA_FLIP CMW_MIRRORFLIP_NONE

#define ASPECT_RATIO_CROP       (1)
#define ASPECT_RATIO_FIT        (2)
#define ASPECT_RATIO_FULLSCREEN (3)
#define ASPECT_RATIO_MODE       ASPECT_RATIO_CROP

#define POSTPROCESS_TYPE POSTPROCESS_OD_YOLO_V2_UF

#define COLOR_BGR  (0)
#define COLOR_RGB  (1)
#define COLOR_MODE COLOR_RGB

#define NB_CLASSES (1)
#define CLASSES_TABLE const char* classes_table[NB_CLASSES] = { \
  "person" \
}

#define AI_OD_YOLOV2_PP_NB_CLASSES     (1)
#define AI_OD_YOLOV2_PP_NB_ANCHORS     (5)
#define AI_OD_YOLOV2_PP_GRID_WIDTH     (13)
#define AI_OD_YOLOV2_PP_GRID_HEIGHT    (7)
#define AI_OD_YOLOV2_PP_NB_INPUT_BOXES (AI_OD_YOLOV2_PP_GRID_WIDTH * AI_OD_YOLOV2_PP_GRID_HEIGHT)
#define AI_OD_YOLOV2_PP_CONF_THRESHOLD  (0.6f)
#define AI_OD_YOLOV2_PP_IOU_THRESHOLD   (0.45f)
#define AI_OD_YOLOV2_PP_MAX_BOXES_LIMIT (10)

/* Width and height of each anchor */
static const float AI_OD_YOLOV2_PP_ANCHORS[2 * AI_OD_YOLOV2_PP_NB_ANCHORS] = {
  0.9883f, 3.3606f,
  2.1194f, 5.3759f,
  3.052f, 9.1336f,
  5.5517f, 9.3066f,
  9.726f, 11.1422f,
};

#define WELCOME_MSG_1 "detection_yolo_v2.tflite"
#define WELCOME_MSG_2 "Model runs on the STM32"

#endif
