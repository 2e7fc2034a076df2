/* The host sends tensors and gets tensors. To the shared code of the host link each of these is a network:
 *   network     the network itself, for its golden vectors;
 *   camera      a captured picture (RGB565) in, the network's outputs out: the host in place of the camera interface;
 *   preprocess  a captured picture in, the network's input out.
 */
#include "app_link.h"

#include "app_network.h"
#include "app_networks.h"
#include "host_link.h"

static AppConfig_TypeDef *application;

static void run(const void *item) {
  (void)item;
  if (!Network_Inference(application)) {
    host_link_error(HOST_LINK_E_INIT, AI_NETWORK_MODEL_NAME, "the network refuses to run");
  }
}

static void preprocess(const void *item) {
  (void)item;
  Network_Preprocess(application);
}

static void preprocess_and_run(const void *item) {
  preprocess(item);
  run(item);
}

#define EPOCH (EpochBlock_Flags_epoch_start | EpochBlock_Flags_epoch_end | EpochBlock_Flags_pure_sw)
#define LAST {.flags = EpochBlock_Flags_last_eb}

static const LL_ATON_RT_EpochBlockItem_t run_items[] = {{.start_epoch_block = run, .flags = EPOCH}, LAST};
static const LL_ATON_RT_EpochBlockItem_t camera_items[] = {{.start_epoch_block = preprocess_and_run, .flags = EPOCH}, LAST};
static const LL_ATON_RT_EpochBlockItem_t preprocess_items[] = {{.start_epoch_block = preprocess, .flags = EPOCH}, LAST};

static const LL_ATON_RT_EpochBlockItem_t *get_run_items(void) { return run_items; }
static const LL_ATON_RT_EpochBlockItem_t *get_camera_items(void) { return camera_items; }
static const LL_ATON_RT_EpochBlockItem_t *get_preprocess_items(void) { return preprocess_items; }

/* Filled when buffers are known; the entry behind the last one stays empty and ends a table. */
static LL_Buffer_InfoTypeDef nn_input[2], nn_outputs[AI_NETWORK_OUT_NUM + 1], frame[2];

static const LL_Buffer_InfoTypeDef *get_nn_input(void) { return nn_input; }
static const LL_Buffer_InfoTypeDef *get_nn_outputs(void) { return nn_outputs; }
static const LL_Buffer_InfoTypeDef *get_frame(void) { return frame; }

static const NN_Interface_TypeDef run_interface = {
    .network_name = AI_NETWORK_MODEL_NAME,
    .epoch_block_items = get_run_items,
    .input_buffers_info = get_nn_input,
    .output_buffers_info = get_nn_outputs,
};
static const NN_Interface_TypeDef camera_interface = {
    .network_name = "camera",
    .epoch_block_items = get_camera_items,
    .input_buffers_info = get_frame,
    .output_buffers_info = get_nn_outputs,
};
static const NN_Interface_TypeDef preprocess_interface = {
    .network_name = "preprocess",
    .epoch_block_items = get_preprocess_items,
    .input_buffers_info = get_frame,
    .output_buffers_info = get_nn_input,
};

static NN_Instance_TypeDef run_instance = {.network = &run_interface};
static NN_Instance_TypeDef camera_instance = {.network = &camera_interface};
static NN_Instance_TypeDef preprocess_instance = {.network = &preprocess_interface};

const app_network_t app_networks[] = {
    {AI_NETWORK_MODEL_NAME, &run_instance, AI_NETWORK_ABI_STAMP},
    {"camera", &camera_instance, AI_NETWORK_ABI_STAMP},
    {"preprocess", &preprocess_instance, AI_NETWORK_ABI_STAMP},
};
const unsigned app_network_count = sizeof app_networks / sizeof app_networks[0];

/* No network here asks the shared code for buffers. */
uint8_t app_user_io[1];
const uint32_t app_user_io_bytes = 0;

static void describe(LL_Buffer_InfoTypeDef *row, const char *name, void *address, uint32_t bytes) {
  row->name = name;
  row->addr_base.p = address;
  row->offset_end = bytes;
  row->offset_limit = bytes;
}

#ifdef NEURALART_VALIDATION_LINK
/* Types and quantization, which the host link does not tell and the validation protocol does. */
static void describe_elements(LL_Buffer_InfoTypeDef *row, const ai_buffer *buffer, float *scale, int16_t *zero) {
  ai_buffer_format format = AI_BUFFER_FORMAT(buffer);
  bool plain = AI_BUFFER_FMT_GET_SIGN(format) == 0;
  row->nbits = (uint8_t)AI_BUFFER_FMT_GET_BITS(format);
  row->type = AI_BUFFER_FMT_GET_TYPE(format) == AI_BUFFER_FMT_TYPE_FLOAT ? DataType_FLOAT
              : plain                                                    ? DataType_UINT8
                                                                         : DataType_INT8;
  *scale = AI_BUFFER_META_INFO_INTQ_GET_SCALE(buffer->meta_info, 0);
  *zero = (int16_t)AI_BUFFER_META_INFO_INTQ_GET_ZEROPOINT(buffer->meta_info, 0);
  row->scale = scale;
  row->offset = zero;
}

static void describe_tensors(void) {
  static float scales[AI_NETWORK_OUT_NUM + 1];
  static int16_t zeros[AI_NETWORK_OUT_NUM + 1];
  frame[0].nbits = 8 * RGB_565_BPP;
  frame[0].type = DataType_UINT16;
  describe_elements(&nn_input[0], &ai_get_inputs()[0], &scales[AI_NETWORK_OUT_NUM], &zeros[AI_NETWORK_OUT_NUM]);
  for (uint32_t n = 0; n < AI_NETWORK_OUT_NUM; n++) {
    describe_elements(&nn_outputs[n], &ai_get_outputs()[n], &scales[n], &zeros[n]);
  }
}
#endif

void app_link_serve(AppConfig_TypeDef *app) {
  static const uint32_t output_bytes[AI_NETWORK_OUT_NUM] = AI_NETWORK_OUT_SIZE_BYTES;
  application = app;
  describe(&frame[0], "frame", app->captured, CAM_FRAME_BYTES);
  describe(&nn_input[0], "input", app->nn_input, AI_NETWORK_IN_1_SIZE_BYTES);
  for (uint32_t n = 0; n < AI_NETWORK_OUT_NUM; n++) {
    describe(&nn_outputs[n], "output", app->nn_output[n], output_bytes[n]);
  }
  LL_ATON_RT_RuntimeInit();
#ifdef NEURALART_VALIDATION_LINK
  describe_tensors();
  for (unsigned n = 0; n < app_network_count; n++) {
    (void)LL_ATON_RT_Init_Network(app_networks[n].instance); /* a block that runs on the core: never refused */
  }
#endif
  host_link_serve();
}
