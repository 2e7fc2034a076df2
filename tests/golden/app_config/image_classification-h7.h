/* ai_model_config.h of network network (image_classification, classifier). Generated: change what it is made from. */
#ifndef __AI_MODEL_CONFIG_H__
#define __AI_MODEL_CONFIG_H__

#define INPUT_HEIGHT   (128)
#define INPUT_WIDTH    (96)
#define INPUT_CHANNELS (3)

#define NB_CLASSES (3)
#define CLASSES_TABLE const char* classes_table[NB_CLASSES] = { \
  "daisy", \
  "dandelion", \
  "roses" \
}

#define ASPECT_RATIO_FIT     (1)
#define ASPECT_RATIO_CROP    (2)
#define ASPECT_RATIO_PADDING (3)
#define ASPECT_RATIO_MODE    ASPECT_RATIO_FIT

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
