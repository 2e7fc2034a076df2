#include "app_network.h"

#include "dcache.h"

#if AI_NETWORK_IN_1_CHANNEL != 1 && AI_NETWORK_IN_1_CHANNEL != 3
#error "a camera gives 1 channel (gray) or 3 (colors)"
#endif

typedef struct {
  uint8_t red, green, blue;
} color_t;

static uint16_t pixel_at(const uint8_t *picture, uint32_t index) {
  return (uint16_t)(picture[2 * index] | picture[2 * index + 1] << 8);
}

/* RGB565 to 8 bits each: the high bits fill the low ones. */
static color_t color_of(uint16_t pixel) {
  uint32_t red = pixel >> 11, green = (pixel >> 5) & 0x3fu, blue = pixel & 0x1fu;
  return (color_t){(uint8_t)(red << 3 | red >> 2), (uint8_t)(green << 2 | green >> 4), (uint8_t)(blue << 3 | blue >> 2)};
}

/* The nearest pixel. */
static void rescale(const AppConfig_TypeDef *app) {
  for (uint32_t y = 0; y < AI_NETWORK_HEIGHT; y++) {
    uint32_t row = y * CAM_PICTURE_HEIGHT / AI_NETWORK_HEIGHT;
    for (uint32_t x = 0; x < AI_NETWORK_WIDTH; x++) {
      uint32_t from = row * CAM_PICTURE_WIDTH + x * CAM_PICTURE_WIDTH / AI_NETWORK_WIDTH;
      uint32_t to = y * AI_NETWORK_WIDTH + x;
      app->rescaled[2 * to] = app->captured[2 * from];
      app->rescaled[2 * to + 1] = app->captured[2 * from + 1];
    }
  }
}

/* The input takes 0 to 1 for black to white, quantized as it says of itself. */
static void put_value(void *input, uint32_t index, uint8_t value) {
  if (AI_BUFFER_FMT_GET_TYPE(ai_get_input_format()) == AI_BUFFER_FMT_TYPE_FLOAT) {
    ((float *)input)[index] = (float)value / 255.0f;
    return;
  }
  int32_t element = value;
  if (ai_get_input_scale() > 0.0f) {
    element = (int32_t)((float)value / 255.0f / ai_get_input_scale() + 0.5f) + ai_get_input_zero_point();
  }
  int32_t low = AI_BUFFER_FMT_GET_SIGN(ai_get_input_format()) ? -128 : 0;
  element = element < low ? low : element > low + 255 ? low + 255 : element;
  ((uint8_t *)input)[index] = (uint8_t)element;
}

void Network_Preprocess(AppConfig_TypeDef *app) {
  rescale(app);
#ifdef AI_NETWORK_INPUTS_IN_ACTIVATIONS_INDEX
  /* Where an accelerator converts the picture, it writes the input's memory behind the core's back: nothing of it may be
   * in the cache. The buffer is a whole number of lines, as its array is declared. */
  dcache_clean_invalidate(app->activation_buffer[AI_NETWORK_INPUTS_IN_ACTIVATIONS_INDEX],
                          AI_NETWORK_INPUTS_IN_ACTIVATIONS_SIZE + 32 - (AI_NETWORK_INPUTS_IN_ACTIVATIONS_SIZE % 32));
#endif
  for (uint32_t index = 0; index < AI_NETWORK_WIDTH * AI_NETWORK_HEIGHT; index++) {
    color_t color = color_of(pixel_at(app->rescaled, index));
#if AI_NETWORK_IN_1_CHANNEL == 1
    put_value(app->nn_input, index, (uint8_t)((color.red * 77u + color.green * 150u + color.blue * 29u) >> 8));
#else
#if defined(PP_COLOR_MODE) && PP_COLOR_MODE == BGR_FORMAT
    color = (color_t){color.blue, color.green, color.red};
#endif
    put_value(app->nn_input, 3 * index, color.red);
    put_value(app->nn_input, 3 * index + 1, color.green);
    put_value(app->nn_input, 3 * index + 2, color.blue);
#endif
  }
}

bool Network_Inference(AppConfig_TypeDef *app) { return ai_run(app->nn_input, app->nn_output); }

uint32_t Network_Top1(const AppConfig_TypeDef *app) {
  ai_buffer_format format = ai_get_output_format();
  uint32_t best = 0;
  float most = 0.0f;
  for (uint32_t index = 0; index < ai_get_output_elements(); index++) {
    float value;
    if (AI_BUFFER_FMT_GET_TYPE(format) == AI_BUFFER_FMT_TYPE_FLOAT) {
      value = ((const float *)app->nn_output[0])[index];
    } else if (AI_BUFFER_FMT_GET_SIGN(format)) {
      value = (float)((const int8_t *)app->nn_output[0])[index];
    } else {
      value = (float)((const uint8_t *)app->nn_output[0])[index];
    }
    if (index == 0 || value > most) {
      best = index;
      most = value;
    }
  }
  return best;
}
