/* Layers that lie at TABLE, computed by our MVE kernels and by CMSIS-NN. Prints the ticks of CALIBRATION instructions,
 * for each layer our ticks, those of CMSIS-NN, those of what it prepares once, and how many outputs differ, and "done".
 * What CMSIS-NN is given is what its interface asks for; its scratch memory is there before. */
#include <arm_nnfunctions.h>
#include <arm_nnsupportfunctions.h>

#include "mve_count.h"
#include "neuralart_kernels.h"

/* As cmsis_nn.py writes them. */
enum { CONV_2D, DEPTHWISE_CONV_2D, FULLY_CONNECTED, ADD };

typedef struct {
  int32_t kind;
  const void *parameters;
  const int8_t *input, *input2, *filter;
  const int32_t *bias;
  int32_t *multiplier, *shift;
  const double *scale;
  int32_t outputs;
} layer_t;

typedef struct {
  int32_t layers;
  int8_t *ours, *theirs, *scratch;
  layer_t layer[];
} table_t;

#define LAYERS ((const table_t *)TABLE)

int main(void);

static void ours(const layer_t *l, int8_t *output) {
  if (l->kind == CONV_2D)
    na_conv2d_s8(l->input, l->filter, l->bias, l->multiplier, l->shift, output, l->parameters);
  else if (l->kind == DEPTHWISE_CONV_2D)
    na_depthwise_conv2d_s8(l->input, l->filter, l->bias, l->multiplier, l->shift, output, l->parameters);
  else if (l->kind == FULLY_CONNECTED)
    na_fully_connected_s8(l->input, l->filter, l->bias, l->scale, output, l->parameters);
  else
    na_add_s8(l->input, l->input2, output, l->parameters);
}

/* Ticks of the layer, and of what is prepared for it. */
static uint32_t convolution(const layer_t *l, int8_t *output, cmsis_nn_context *context) {
  const na_conv2d_t *p = l->parameters;
  const cmsis_nn_dims input = {p->batches, p->input_height, p->input_width, p->input_channels};
  const cmsis_nn_dims out = {p->batches, p->output_height, p->output_width, p->output_channels};
  const cmsis_nn_dims bias = {1, 1, 1, p->output_channels};
  const cmsis_nn_per_channel_quant_params factors = {l->multiplier, l->shift};
  const cmsis_nn_tile stride = {p->stride_width, p->stride_height}, padding = {p->pad_left, p->pad_top};
  const cmsis_nn_tile dilation = {p->dilation_width, p->dilation_height};
  const cmsis_nn_activation limits = {p->activation_min, p->activation_max};
  if (l->kind == CONV_2D) {
    const cmsis_nn_dims filter = {p->output_channels, p->kernel_height, p->kernel_width, p->kernel_channels};
    const cmsis_nn_conv_params q = {p->input_offset, p->output_offset, stride, padding, dilation, limits};
    context->size = arm_convolve_wrapper_s8_get_buffer_size(&q, &input, &filter, &out);
    start();
    arm_convolve_wrapper_s8(context, &q, &factors, &input, l->input, &filter, l->filter, &bias, l->bias, &out, output);
    return ticks();
  }
  const cmsis_nn_dims filter = {1, p->kernel_height, p->kernel_width, p->output_channels};
  const cmsis_nn_dw_conv_params q = {
      p->input_offset, p->output_offset, p->output_channels / p->input_channels, stride, padding, dilation, limits};
  context->size = arm_depthwise_conv_wrapper_s8_get_buffer_size(&q, &input, &filter, &out);
  start();
  arm_depthwise_conv_wrapper_s8(context, &q, &factors, &input, l->input, &filter, l->filter, &bias, l->bias, &out,
                                output);
  return ticks();
}

static uint32_t fully_connected(const layer_t *l, int8_t *output, cmsis_nn_context *context, uint32_t *prepared) {
  const na_fully_connected_t *p = l->parameters;
  const cmsis_nn_dims input = {p->batches, 1, 1, p->depth}, out = {p->batches, 1, 1, p->units};
  const cmsis_nn_dims filter = {p->depth, 1, 1, p->units}, bias = {1, 1, 1, p->units};
  const cmsis_nn_quant_params factors = {l->multiplier, l->shift, p->per_channel};
  const cmsis_nn_fc_params q = {
      p->input_offset, p->filter_offset, p->output_offset, {p->activation_min, p->activation_max}};
  context->size = arm_fully_connected_s8_get_buffer_size(&filter);
  start();
  arm_vector_sum_s8(context->buf, p->depth, p->units, l->filter, p->input_offset, p->filter_offset, l->bias);
  *prepared = ticks();
  start();
  arm_fully_connected_wrapper_s8(context, &q, &factors, &input, l->input, &filter, l->filter, &bias, l->bias, &out,
                                 output);
  return ticks();
}

static uint32_t add(const layer_t *l, int8_t *output) {
  const na_add_t *p = l->parameters;
  start();
  arm_elementwise_add_s8(l->input, l->input2, p->input1_offset, p->input1_multiplier, p->input1_shift, p->input2_offset,
                         p->input2_multiplier, p->input2_shift, 20, output, p->output_offset, p->output_multiplier,
                         p->output_shift, p->activation_min, p->activation_max, l->outputs);
  return ticks();
}

int main(void) {
  console_init();
  calibrate();
  for (int32_t n = 0; n < LAYERS->layers; n++) {
    const layer_t *l = &LAYERS->layer[n];
    cmsis_nn_context context = {LAYERS->scratch, 0};
    uint32_t prepared = 0, different = 0;
    start();
    ours(l, LAYERS->ours);
    const uint32_t our_ticks = ticks();
    const uint32_t their_ticks = l->kind == ADD               ? add(l, LAYERS->theirs)
                                 : l->kind == FULLY_CONNECTED ? fully_connected(l, LAYERS->theirs, &context, &prepared)
                                                              : convolution(l, LAYERS->theirs, &context);
    for (int32_t i = 0; i < l->outputs; i++) different += LAYERS->ours[i] != LAYERS->theirs[i];
    console_puts("layer");
    put_hex(our_ticks), put_hex(their_ticks), put_hex(prepared), put_hex(different);
    console_putc('\n');
  }
  console_puts("done\n");
  for (;;) __asm__ volatile("wfi");
}
