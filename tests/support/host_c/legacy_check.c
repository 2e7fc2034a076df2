/* Uses the legacy API in every wrong way, too. Prints the first line whose check fails; nothing if all is well. */
#include <stdio.h>
#include <string.h>

#include "network.h"
#include "network_data.h"

#define CHECK(what)                   \
  do {                                \
    if (!(what)) {                    \
      printf("line %d\n", __LINE__);  \
      return 1;                       \
    }                                 \
  } while (0)

static ai_error last(ai_handle network) { return ai_network_get_error(network); }
static int is(ai_error error, ai_error_type type, ai_error_code code) {
  return error.type == (ai_u32)type && error.code == (ai_u32)code;
}

AI_ALIGNED(32) static ai_u8 first[AI_NETWORK_DATA_ACTIVATION_1_SIZE];
AI_ALIGNED(32) static ai_u8 second[AI_NETWORK_DATA_ACTIVATION_2_SIZE];
AI_ALIGNED(32) static ai_u8 copy[AI_NETWORK_DATA_WEIGHTS_SIZE];
static ai_u8 input[AI_NETWORK_IN_1_SIZE_BYTES], output[AI_NETWORK_OUT_1_SIZE_BYTES];

int main(void) {
  ai_handle network = AI_HANDLE_NULL;
  const ai_handle both[] = {first, second};

  /* Before anything is created, nothing works and nothing crashes. */
  CHECK(is(last(network), AI_ERROR_INVALID_HANDLE, AI_ERROR_CODE_NETWORK));
  CHECK(ai_network_inputs_get(network, NULL) == NULL);
  CHECK(ai_network_run(network, NULL, NULL) == 0);
  CHECK(ai_network_destroy(network) == AI_HANDLE_NULL);
  CHECK(is(ai_network_create(NULL, AI_NETWORK_DATA_CONFIG), AI_ERROR_INVALID_PARAM, AI_ERROR_CODE_INVALID_PTR));

  /* Created, not initialized. */
  CHECK(is(ai_network_create(&network, AI_NETWORK_DATA_CONFIG), AI_ERROR_NONE, AI_ERROR_CODE_NONE));
  CHECK(network != AI_HANDLE_NULL);
  CHECK(ai_network_run(network, NULL, NULL) == 0);
  CHECK(is(last(network), AI_ERROR_INVALID_STATE, AI_ERROR_CODE_NETWORK));
  CHECK(is(last(network), AI_ERROR_NONE, AI_ERROR_CODE_NONE)); /* asked for once, forgotten */
  CHECK(!ai_network_init(network, NULL));
  CHECK(is(last(network), AI_ERROR_INVALID_PARAM, AI_ERROR_CODE_NETWORK_PARAMS));

  /* Activation buffers that are missing, or not aligned. */
  CHECK(is(ai_network_create_and_init(&network, NULL, NULL), AI_ERROR_INIT_FAILED, AI_ERROR_CODE_NETWORK_ACTIVATIONS));
  const ai_handle one[] = {first, AI_HANDLE_NULL};
  CHECK(is(ai_network_create_and_init(&network, one, NULL), AI_ERROR_INIT_FAILED, AI_ERROR_CODE_NETWORK_ACTIVATIONS));
  const ai_handle odd[] = {first + 1, second};
  CHECK(is(ai_network_create_and_init(&network, odd, NULL), AI_ERROR_INIT_FAILED, AI_ERROR_CODE_NETWORK_ACTIVATIONS));
  const ai_handle no_weights[] = {AI_HANDLE_NULL};
  CHECK(is(ai_network_create_and_init(&network, both, no_weights), AI_ERROR_INIT_FAILED,
           AI_ERROR_CODE_NETWORK_WEIGHTS));
  CHECK(ai_network_run(network, NULL, NULL) == 0);
  CHECK(is(last(network), AI_ERROR_INVALID_STATE, AI_ERROR_CODE_NETWORK));

  /* As it should be. */
  CHECK(is(ai_network_create_and_init(&network, both, NULL), AI_ERROR_NONE, AI_ERROR_CODE_NONE));
  ai_u16 count = 0;
  ai_buffer *inputs = ai_network_inputs_get(network, &count);
  CHECK(inputs != NULL && count == AI_NETWORK_IN_NUM && count == 1);
  ai_buffer *outputs = ai_network_outputs_get(network, NULL);
  CHECK(outputs != NULL);
  CHECK(AI_BUFFER_FORMAT(&inputs[0]) == AI_NETWORK_IN_1_FORMAT && AI_BUFFER_SIZE(&inputs[0]) == AI_NETWORK_IN_1_SIZE);
  CHECK(AI_BUFFER_FMT_GET_TYPE(inputs[0].format) == AI_BUFFER_FMT_TYPE_Q && AI_BUFFER_FMT_GET_SIGN(inputs[0].format));
  CHECK(AI_BUFFER_FMT_GET_BITS(inputs[0].format) == 8 && AI_BUFFER_FMT_GET_FBITS(inputs[0].format) == 0);
  CHECK(AI_BUFFER_SHAPE_ELEM(&inputs[0], AI_SHAPE_HEIGHT) == 16 && AI_BUFFER_SHAPE_ELEM(&inputs[0], AI_SHAPE_CHANNEL) == 1);
  CHECK(AI_BUFFER_SHAPE_ELEM(&outputs[0], AI_SHAPE_CHANNEL) == 10 && AI_BUFFER_SHAPE_ELEM(&outputs[0], AI_SHAPE_WIDTH) == 1);
  CHECK(AI_BUFFER_META_INFO_INTQ(inputs[0].meta_info));
  CHECK(AI_BUFFER_META_INFO_INTQ_GET_SCALE(inputs[0].meta_info, 0) > 0.00392f);
  CHECK(AI_BUFFER_META_INFO_INTQ_GET_SCALE(inputs[0].meta_info, 0) < 0.00393f);
  CHECK(AI_BUFFER_META_INFO_INTQ_GET_ZEROPOINT(inputs[0].meta_info, 0) == -128);
  CHECK(AI_BUFFER_META_INFO_INTQ_GET_SCALE(inputs[0].meta_info, 1) == 0.0f); /* there is one */
  ai_u8 *own = inputs[0].data;
  CHECK((own >= first && own < first + sizeof first) || (own >= second && own < second + sizeof second));
  CHECK((uintptr_t)own % 32 == 0);

  ai_network_report report;
  CHECK(!ai_network_get_report(network, NULL));
  CHECK(is(last(network), AI_ERROR_INVALID_PARAM, AI_ERROR_CODE_INVALID_PTR));
  CHECK(ai_network_get_info(network, &report) && ai_network_get_report(network, &report));
  CHECK(strcmp(report.model_name, AI_NETWORK_MODEL_NAME) == 0 && report.n_nodes == AI_NETWORK_N_NODES);
  CHECK(strncmp(report.model_signature, "0x", 2) == 0 && strcmp(report.model_signature + 2, AI_NETWORK_ABI_STAMP) == 0);
  CHECK(report.n_inputs == 1 && report.inputs == inputs && report.outputs == outputs && report.n_macc == 97802);
  CHECK(report.activations_size == AI_NETWORK_DATA_ACTIVATIONS_SIZE && report.weights_size == AI_NETWORK_DATA_WEIGHTS_SIZE);

  /* Own buffers, buffers of the caller and forward give the same. */
  for (unsigned n = 0; n < sizeof input; n++) input[n] = (ai_u8)(n * 5);
  memcpy(own, input, sizeof input);
  CHECK(ai_network_run(network, inputs, outputs) == 1);
  ai_u8 expected[sizeof output];
  memcpy(expected, outputs[0].data, sizeof expected);
  ai_buffer mine = inputs[0], theirs = outputs[0];
  mine.data = input;
  theirs.data = output;
  CHECK(ai_network_run(network, &mine, &theirs) == 1);
  CHECK(memcmp(output, expected, sizeof expected) == 0);
  CHECK(input[3] == 15); /* untouched */
  memcpy(own, input, sizeof input);
  CHECK(ai_network_run(network, NULL, NULL) == 1);
  CHECK(memcmp(outputs[0].data, expected, sizeof expected) == 0);
  CHECK(ai_network_forward(network, &mine) == 1);
  CHECK(memcmp(outputs[0].data, expected, sizeof expected) == 0);

  /* Weights of another place, by handles and by parameters. */
  memcpy(copy, AI_NETWORK_DATA_WEIGHTS_TABLE_GET()[0], sizeof copy);
  const ai_handle moved[] = {copy};
  CHECK(is(ai_network_create_and_init(&network, both, moved), AI_ERROR_NONE, AI_ERROR_CODE_NONE));
  CHECK(ai_network_run(network, &mine, &theirs) == 1 && memcmp(output, expected, sizeof expected) == 0);
  memset(copy, 0, sizeof copy);
  CHECK(ai_network_run(network, &mine, &theirs) == 1 && memcmp(output, expected, sizeof expected) != 0);
  ai_network_params params;
  CHECK(!ai_network_data_params_get(NULL) && ai_network_data_params_get(&params));
  CHECK(!ai_network_init(network, &params)); /* the application's part is missing */
  CHECK(is(last(network), AI_ERROR_INIT_FAILED, AI_ERROR_CODE_NETWORK_ACTIVATIONS));
  params.activations.data = (ai_handle)both;
  CHECK(ai_network_init(network, &params));
  CHECK(ai_network_run(network, &mine, &theirs) == 1 && memcmp(output, expected, sizeof expected) == 0);
  CHECK((uintptr_t)g_network_weights_table[0] == AI_MAGIC_MARKER && (uintptr_t)g_network_weights_table[2] == AI_MAGIC_MARKER);

  /* Destroyed: as before it was created. */
  CHECK(ai_network_destroy(&params) == (ai_handle)&params); /* not a network */
  ai_handle gone = network;
  CHECK(ai_network_destroy(network) == AI_HANDLE_NULL);
  CHECK(ai_network_run(gone, &mine, &theirs) == 0 && ai_network_outputs_get(gone, NULL) == NULL);
  return 0;
}
