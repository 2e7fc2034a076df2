/* ai_model_config.h of network network (object_detection, st_ssd). Generated: change what it is made from. */
#ifndef __AI_MODEL_CONFIG_H__
#define __AI_MODEL_CONFIG_H__

#define INPUT_HEIGHT   (192)
#define INPUT_WIDTH    (192)
#define INPUT_CHANNELS (3)

#define NB_CLASSES (2)
#define CLASSES_TABLE const char* classes_table[NB_CLASSES] = { \
  "background", \
  "person" \
}

#define ASPECT_RATIO_FIT     (1)
#define ASPECT_RATIO_CROP    (2)
#define ASPECT_RATIO_PADDING (3)
#define ASPECT_RATIO_MODE    ASPECT_RATIO_FIT

#define POSTPROCESS_CENTER_NET (1)
#define POSTPROCESS_YOLO_V2 (2)
#define POSTPROCESS_ST_SSD (3)
#define POSTPROCESS_SSD (4)
#define POSTPROCESS_ST_YOLO_X (5)
#define POSTPROCESS_TYPE POSTPROCESS_ST_SSD

/* The first class is the background */
#define AI_OBJDETECT_SSD_ST_PP_NB_CLASSES       (2)
#define AI_OBJDETECT_SSD_ST_PP_TOTAL_DETECTIONS (3830)
#define AI_OBJDETECT_SSD_ST_PP_CONF_THRESHOLD  (0.6f)
#define AI_OBJDETECT_SSD_ST_PP_IOU_THRESHOLD   (0.45f)
#define AI_OBJDETECT_SSD_ST_PP_MAX_BOXES_LIMIT (10)

#define RGB_FORMAT       (1)
#define BGR_FORMAT       (2)
#define GRAYSCALE_FORMAT (3)
#define PP_COLOR_MODE    RGB_FORMAT

#define UINT8_FORMAT      (1)
#define INT8_FORMAT       (2)
#define FLOAT32_FORMAT    (3)
#define QUANT_INPUT_TYPE  UINT8_FORMAT
#define QUANT_OUTPUT_TYPE FLOAT32_FORMAT

#endif
