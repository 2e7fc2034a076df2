/* app_config.h of network network (semantic_segmentation, deeplab_v3). Generated: change what it is made from. */
#ifndef APP_CONFIG
#define APP_CONFIG

#include "arm_math.h"

#define USE_DCACHE

#define CAMERA_FLIP CMW_MIRRORFLIP_NONE

#define ASPECT_RATIO_CROP       (1)
#define ASPECT_RATIO_FIT        (2)
#define ASPECT_RATIO_FULLSCREEN (3)
#define ASPECT_RATIO_MODE       ASPECT_RATIO_FULLSCREEN

/* Width and height 0: what the sensor gives. */
#define CAPTURE_FORMAT DCMIPP_PIXEL_PACKER_FORMAT_RGB565_1
#define CAPTURE_BPP    2
#define CAMERA_WIDTH   0
#define CAMERA_HEIGHT  0

#define LCD_FG_WIDTH            800
#define LCD_FG_HEIGHT           480
#define LCD_FG_FRAMEBUFFER_SIZE (LCD_FG_WIDTH * LCD_FG_HEIGHT * 2)

#define NN_WIDTH  (256)
#define NN_HEIGHT (320)
#define NN_BPP    3

#define POSTPROCESS_TYPE POSTPROCESS_SSEG_DEEPLAB_V3_UF

#define COLOR_BGR  (0)
#define COLOR_RGB  (1)
#define COLOR_MODE COLOR_RGB

#define NB_CLASSES (2)
#define CLASSES_TABLE const char* classes_table[NB_CLASSES] = { \
  "background", \
  "person" \
}

#define AI_SSEG_DEEPLABV3_PP_NB_CLASSES (2)
#define AI_SSEG_DEEPLABV3_PP_WIDTH      (256)
#define AI_SSEG_DEEPLABV3_PP_HEIGHT     (320)

#define WELCOME_MSG_1 "segmentation_deeplab_v3.tflite"
#define WELCOME_MSG_2 "Model runs on the STM32"

#endif
