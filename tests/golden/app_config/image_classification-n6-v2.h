/* app_config.h of network network (image_classification, classifier). Generated: change what it is made from. */
#ifndef APP_CONFIG
#define APP_CONFIG

#include "arm_math.h"

#define USE_DCACHE

#define CAMERA_FLIP CMW_MIRRORFLIP_NONE

#define ASPECT_RATIO_CROP       (1)
#define ASPECT_RATIO_FIT        (2)
#define ASPECT_RATIO_FULLSCREEN (3)
#define ASPECT_RATIO_MODE       ASPECT_RATIO_FIT

/* Width and height 0: what the sensor gives. */
#define CAPTURE_FORMAT DCMIPP_PIXEL_PACKER_FORMAT_RGB565_1
#define CAPTURE_BPP    2
#define CAMERA_WIDTH   0
#define CAMERA_HEIGHT  0

#define LCD_FG_WIDTH            800
#define LCD_FG_HEIGHT           480
#define LCD_FG_FRAMEBUFFER_SIZE (LCD_FG_WIDTH * LCD_FG_HEIGHT * 2)

#define NN_WIDTH  (96)
#define NN_HEIGHT (128)
#define NN_BPP    3

#define COLOR_BGR  (0)
#define COLOR_RGB  (1)
#define COLOR_MODE COLOR_RGB

#define NB_CLASSES (3)
#define CLASSES_TABLE const char* classes_table[NB_CLASSES] = { \
  "daisy", \
  "dandelion", \
  "roses" \
}

#define WELCOME_MSG_1 "image_classification.tflite"
#define WELCOME_MSG_2 "Model runs on the STM32"

#endif
