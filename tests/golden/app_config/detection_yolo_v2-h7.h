/* ai_model_config.h of network network (object_detection, yolo_v2). Generated: change what it is made from. */
#ifndef __AI_MODEL_CONFIG_H__
#define __AI_MODEL_CONFIG_H__

#define INPUT_HEIGHT   (224)
#define INPUT_WIDTH    (416)
#define INPUT_CHANNELS (3)

#define NB_CLASSES (1)
#define CLASSES_TABLE const char* classes_table[NB_CLASSES] = { \
  "person" \
}

#define ASPECT_RATIO_FIT     (1)
#define ASPECT_RATIO_CROP    (2)
#define ASPECT_RATIO_PADDING (3)
#define ASPECT_RATIO_MODE    ASPECT_RATIO_CROP

#define POSTPROCESS_CENTER_NET (1)
#define POSTPROCESS_YOLO_V2 (2)
#define POSTPROCESS_ST_SSD (3)
#define POSTPROCESS_SSD (4)
#define POSTPROCESS_ST_YOLO_X (5)
#define POSTPROCESS_TYPE POSTPROCESS_YOLO_V2

#define AI_OBJDETECT_YOLOV2_PP_NB_CLASSES     (1)
#define AI_OBJDETECT_YOLOV2_PP_NB_ANCHORS     (5)
#define AI_OBJDETECT_YOLOV2_PP_GRID_WIDTH     (13)
#define AI_OBJDETECT_YOLOV2_PP_GRID_HEIGHT    (7)
#define AI_OBJDETECT_YOLOV2_PP_NB_INPUT_BOXES (AI_OBJDETECT_YOLOV2_PP_GRID_WIDTH * AI_OBJDETECT_YOLOV2_PP_GRID_HEIGHT)
#define AI_OBJDETECT_YOLOV2_PP_CONF_THRESHOLD  (0.6f)
#define AI_OBJDETECT_YOLOV2_PP_IOU_THRESHOLD   (0.45f)
#define AI_OBJDETECT_YOLOV2_PP_MAX_BOXES_LIMIT (10)

/* Width and height of each anchor */
static const float AI_OBJDETECT_YOLOV2_PP_ANCHORS[2 * AI_OBJDETECT_YOLOV2_PP_NB_ANCHORS] = {
  0.9883f, 3.3606f,
  2.1194f, 5.3759f,
  3.052f, 9.1336f,
  5.5517f, 9.3066f,
  9.726f, 11.1422f,
};

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
