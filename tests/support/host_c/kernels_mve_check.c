/* Convolutions, fully connected layers and sums of other kernels against the plain C ones: see kernels_check.h. */
#include "kernels_check.h"

void c_conv2d_s8(const int8_t *, const int8_t *, const int32_t *, const int32_t *, const int32_t *, int8_t *,
                 const na_conv2d_t *);
void c_depthwise_conv2d_s8(const int8_t *, const int8_t *, const int32_t *, const int32_t *, const int32_t *, int8_t *,
                           const na_conv2d_t *);
void c_fully_connected_s8(const int8_t *, const int8_t *, const int32_t *, const double *, int8_t *,
                          const na_fully_connected_t *);
void c_add_s8(const int8_t *, const int8_t *, int8_t *, const na_add_t *);
void c_sub_s8(const int8_t *, const int8_t *, int8_t *, const na_add_t *);
void c_squared_difference_s8(const int8_t *, const int8_t *, int8_t *, const na_add_t *);
int main(void);

/* ---- layers */

static na_conv2d_t window_layer(void) {
  na_conv2d_t p = {0};
  p.batches = between(1, 2);
  p.kernel_height = between(1, 4), p.kernel_width = between(1, 4);
  if (one_in(4)) p.kernel_height = p.kernel_width = 1;
  p.stride_height = between(1, 3), p.stride_width = between(1, 3);
  p.dilation_height = one_in(4) ? 2 : 1, p.dilation_width = one_in(4) ? between(2, 3) : 1;
  p.input_height = between(1, 7), p.input_width = between(1, 7);
  p.output_height = between(1, 5), p.output_width = between(1, 5);
  /* Also windows that lie outside altogether. */
  p.pad_top = between(0, p.kernel_height), p.pad_left = between(0, p.kernel_width);
  p.input_offset = -zero_point(), p.output_offset = zero_point();
  limits(&p.activation_min, &p.activation_max);
  return p;
}

/* Mostly such that outputs spread over the range. */
static int32_t *shifts(int32_t count, int32_t terms) {
  const int32_t usual = 32 - __builtin_clz((uint32_t)terms) / 2;
  return one_in(6) ? words(count, -31, 30) : words(count, usual - 27, usual - 22);
}

static void convolution(result_t *r, int depthwise) {
  new_layer();
  na_conv2d_t p = window_layer();
  if (depthwise) {
    const int32_t channels = one_in(8) ? between(120, 150) : one_in(6) ? 1 : between(1, 36);
    const int32_t times = one_in(3) && channels < 120 ? between(2, channels == 1 ? 20 : 9) : 1;
    p.input_channels = channels, p.output_channels = channels * times;
    p.kernel_channels = 1;
  } else {
    const int32_t groups = one_in(3) ? between(2, 4) : 1;
    p.kernel_channels = one_in(8) ? between(140, 320) : one_in(3) ? between(1, 4) : between(1, 40);
    p.input_channels = groups * p.kernel_channels;
    p.output_channels = groups * (one_in(8) ? between(60, 140) : between(1, 20));
    /* Gathered in two equal parts. */
    if (one_in(16)) p.kernel_height = p.kernel_width = 3, p.kernel_channels = p.input_channels = 256;
  }
  const int32_t taps = p.kernel_height * p.kernel_width;
  const int32_t filter_bytes = taps * p.output_channels * p.kernel_channels;
  const int32_t count = p.batches * p.output_height * p.output_width * p.output_channels;
  const int8_t *input = bytes(p.batches * p.input_height * p.input_width * p.input_channels);
  int8_t *filter = bytes(filter_bytes);
  /* As most converters make them: symmetric. */
  if (one_in(2))
    for (int32_t i = 0; i < filter_bytes; i++) filter[i] = (int8_t)(filter[i] == -128 ? -127 : filter[i]);
  const int32_t *bias = bias_of(p.output_channels);
  int32_t *multiplier = room(p.output_channels * 4, 4);
  for (int32_t i = 0; i < p.output_channels; i++) multiplier[i] = factor();
  const int32_t *shift = shifts(p.output_channels, taps * p.kernel_channels);
  make_outputs(count);
  if (depthwise) {
    c_depthwise_conv2d_s8(input, filter, bias, multiplier, shift, outputs[0], &p);
    na_depthwise_conv2d_s8(input, filter, bias, multiplier, shift, outputs[1], &p);
  } else {
    c_conv2d_s8(input, filter, bias, multiplier, shift, outputs[0], &p);
    na_conv2d_s8(input, filter, bias, multiplier, shift, outputs[1], &p);
  }
  compare(r, count, (const int32_t *)&p, sizeof p / 4);
}

static void fully_connected(result_t *r) {
  new_layer();
  na_fully_connected_t p = {0};
  p.batches = between(1, 3), p.depth = one_in(4) ? between(1, 700) : between(1, 40), p.units = between(1, 40);
  p.input_offset = -zero_point(), p.output_offset = zero_point();
  p.filter_offset = one_in(2) ? 0 : -zero_point();
  p.per_channel = one_in(2);
  limits(&p.activation_min, &p.activation_max);
  const int32_t count = p.batches * p.units;
  const int8_t *input = bytes(p.batches * p.depth), *filter = bytes(p.units * p.depth);
  const int32_t *bias = bias_of(p.units);
  double *scale = room((p.per_channel ? p.units : 1) * 8, 8);
  for (int32_t i = 0; i < (p.per_channel ? p.units : 1); i++)
    scale[i] = (double)factor() / 2147483648.0 / (double)((uint32_t)1 << (one_in(6) ? between(0, 31) : between(8, 12)));
  make_outputs(count);
  c_fully_connected_s8(input, filter, bias, scale, outputs[0], &p);
  na_fully_connected_s8(input, filter, bias, scale, outputs[1], &p);
  compare(r, count, (const int32_t *)&p, sizeof p / 4);
}

typedef void kernel_t(const int8_t *, const int8_t *, int8_t *, const na_add_t *);

static void add(result_t *r, kernel_t *plain, kernel_t *mve) {
  new_layer();
  na_add_t p = {0};
  int32_t count = 1, counts[2] = {1, 1};
  int32_t *strides[2] = {p.broadcast.stride1, p.broadcast.stride2};
  const int broadcast = one_in(2);
  for (int axis = NA_BROADCAST_RANK - 1; axis >= 0; axis--) {
    const int32_t size = axis == NA_BROADCAST_RANK - 1 ? between(1, 37) : one_in(2) ? 1 : between(1, 4);
    p.broadcast.shape[axis] = size;
    count *= size;
    for (int side = 0; side < 2; side++) {
      const int repeats = size == 1 ? one_in(2) : broadcast && one_in(3);
      strides[side][axis] = repeats ? 0 : counts[side];
      if (!repeats) counts[side] *= size;
    }
  }
  p.input1_offset = -zero_point(), p.input2_offset = -zero_point(), p.output_offset = zero_point();
  p.input1_multiplier = factor(), p.input2_multiplier = factor(), p.output_multiplier = factor();
  p.input1_shift = one_in(4) ? between(-31, -1) : between(-3, -1);
  p.input2_shift = one_in(4) ? between(-31, -1) : between(-3, -1);
  /* An operand that is halved. */
  if (one_in(3)) p.input1_multiplier = 1 << 30, p.input1_shift = 0;
  if (one_in(3)) p.input2_multiplier = 1 << 30, p.input2_shift = 0;
  p.output_shift = one_in(6) ? between(-31, 3) : between(-20, -17);
  limits(&p.activation_min, &p.activation_max);
  const int8_t *inputs[2] = {bytes(counts[0]), bytes(counts[1])};
  make_outputs(count);
  plain(inputs[0], inputs[1], outputs[0], &p);
  /* Sometimes in place of the first or the second input. */
  for (int side = 0; side < 2; side++) {
    if (counts[side] != count || !one_in(3)) continue;
    memcpy(outputs[1], inputs[side], (size_t)count);
    inputs[side] = outputs[1];
    break;
  }
  mve(inputs[0], inputs[1], outputs[1], &p);
  compare(r, count, (const int32_t *)&p, sizeof p / 4);
}

int main(void) {
  result_t results[] = {{.name = "conv2d_s8"}, {.name = "depthwise_conv2d_s8"}, {.name = "fully_connected_s8"},
                        {.name = "add_s8"}, {.name = "sub_s8"}, {.name = "squared_difference_s8"}};
  console_init();
  for (int i = 0; i < LAYERS; i++) {
    convolution(&results[0], 0);
    convolution(&results[1], 1);
    fully_connected(&results[2]);
    add(&results[3], c_add_s8, na_add_s8);
    add(&results[4], c_sub_s8, na_sub_s8);
    add(&results[5], c_squared_difference_s8, na_squared_difference_s8);
  }
  for (unsigned i = 0; i < sizeof results / sizeof *results; i++) report(&results[i]);
  console_puts("done\n");
  for (;;) __asm__ volatile("wfi");
}
