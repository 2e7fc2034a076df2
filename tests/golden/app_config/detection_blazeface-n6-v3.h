/* app_config.h of network network (object_detection, blazeface). Generated: change what it is made from. */
#ifndef APP_CONFIG
#define APP_CONFIG

#include "arm_math.h"

#define USE_DCACHE

#define CAMERA_FLIP CMW_MIRRORFLIP_NONE

#define ASPECT_RATIO_CROP       (1)
#define ASPECT_RATIO_FIT        (2)
#define ASPECT_RATIO_FULLSCREEN (3)
#define ASPECT_RATIO_MODE       ASPECT_RATIO_CROP

#define POSTPROCESS_TYPE POSTPROCESS_OD_BLAZEFACE_UF

#define COLOR_BGR  (0)
#define COLOR_RGB  (1)
#define COLOR_MODE COLOR_RGB

#define NB_CLASSES (1)
#define CLASSES_TABLE const char* classes_table[NB_CLASSES] = { \
  "face" \
}

/* Anchors: fd_blazeface_anchors_0.h and fd_blazeface_anchors_1.h */
#define AI_OD_BLAZEFACE_PP_NB_KEYPOINTS   (6)
#define AI_OD_BLAZEFACE_PP_NB_CLASSES     (1)
#define AI_OD_BLAZEFACE_PP_IMG_SIZE       (128)
#define AI_OD_BLAZEFACE_PP_OUT_0_NB_BOXES (512)
#define AI_OD_BLAZEFACE_PP_OUT_1_NB_BOXES (384)
#define AI_OD_BLAZEFACE_PP_CONF_THRESHOLD  (0.6f)
#define AI_OD_BLAZEFACE_PP_IOU_THRESHOLD   (0.45f)
#define AI_OD_BLAZEFACE_PP_MAX_BOXES_LIMIT (10)

#define WELCOME_MSG_1 "detection_blazeface.tflite"
#define WELCOME_MSG_2 "Model runs on the STM32"

#endif
