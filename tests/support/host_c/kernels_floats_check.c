/* Kernels of float32 against the plain C ones: see kernels_check.h. */
#include "kernels_check.h"
#include "neuralart_kernels_float.h"

typedef void conv_t(const float *, const float *, const float *, float *, const na_conv2d_f32_t *);
typedef void pool_t(const float *, float *, const na_pool_f32_t *);

typedef void numbers_t(const float *, const float *, float *, const na_numbers_f32_t *);

conv_t c_conv2d_f32, c_depthwise_conv2d_f32;
pool_t c_max_pool_f32, c_average_pool_f32;
numbers_t c_add_f32, c_sub_f32, c_mul_f32;
void c_fully_connected_f32(const float *, const float *, const float *, float *, const na_fully_connected_f32_t *);
int main(void);

static int tiny; /* Numbers of this layer are near the smallest ones */

static float number(void) {
  union {
    uint32_t bits;
    float value;
  } x = {draw()};
  if (one_in(10)) return one_in(2) ? 0.0f : -0.0f;
  /* Exponents: all that are small, subnormal numbers among them; or around one. */
  const uint32_t exponent = (uint32_t)(tiny ? between(0, one_in(2) ? 2 : 90) : between(110, 135));
  x.bits = (x.bits & 0x807fffffu) | exponent << 23;
  return x.value;
}

static float *floats(int32_t count) {
  float *made = room(count * 4, 4);
  for (int32_t i = 0; i < count; i++) made[i] = number();
  return made;
}

static void bounds(float *low, float *high) {
  const int kind = between(0, 3);
  *low = kind < 2 ? -3.40282347e38f : kind == 2 ? 0.0f : number();
  *high = kind < 2 ? 3.40282347e38f : kind == 2 ? 6.0f : *low + (tiny ? 1e-38f : 100.0f);
}

static float *places[2]; /* The outputs, as numbers */

static void begin(void) {
  new_layer();
  tiny = one_in(3);
}

static void places_for(int32_t count) {
  make_outputs(count * 4 + 4);
  for (int k = 0; k < 2; k++) {
    outputs[k] = (int8_t *)(((uintptr_t)outputs[k] + 3) & ~(uintptr_t)3);
    memset(outputs[k] - GUARD, k ? 0x5A : 0xC3, (size_t)(count * 4 + 2 * GUARD));
    places[k] = (float *)(void *)outputs[k];
  }
}

static void convolution(result_t *r, int depthwise, conv_t *plain, conv_t *other) {
  begin();
  na_conv2d_f32_t p = {0};
  na_conv2d_t *w = &p.window;
  w->batches = between(1, 2);
  w->kernel_height = between(1, 4), w->kernel_width = between(1, 4);
  if (one_in(4)) w->kernel_height = w->kernel_width = 1;
  w->stride_height = between(1, 3), w->stride_width = between(1, 3);
  w->dilation_height = one_in(4) ? 2 : 1, w->dilation_width = one_in(4) ? between(2, 3) : 1;
  w->input_height = between(1, 7), w->input_width = between(1, 7);
  w->output_height = between(1, 5), w->output_width = between(1, 5);
  w->pad_top = between(0, w->kernel_height), w->pad_left = between(0, w->kernel_width);
  bounds(&p.low, &p.high);
  if (depthwise) {
    w->input_channels = between(1, 20), w->kernel_channels = 1;
    w->output_channels = w->input_channels * (one_in(3) ? between(2, 9) : 1);
  } else {
    const int32_t groups = one_in(4) ? between(2, 4) : 1;
    w->kernel_channels = one_in(3) ? between(1, 4) : between(1, 30);
    w->input_channels = groups * w->kernel_channels, w->output_channels = groups * between(1, 20);
  }
  const int32_t count = w->batches * w->output_height * w->output_width * w->output_channels;
  const float *input = floats(w->batches * w->input_height * w->input_width * w->input_channels);
  const float *filter = floats(w->kernel_height * w->kernel_width * w->output_channels * w->kernel_channels);
  const float *bias = one_in(4) ? NULL : floats(w->output_channels);
  places_for(count);
  plain(input, filter, bias, places[0], &p);
  other(input, filter, bias, places[1], &p);
  compare(r, count * 4, (const int32_t *)&p, sizeof p / 4);
}

static void fully_connected(result_t *r) {
  begin();
  na_fully_connected_f32_t p = {between(1, 3), one_in(4) ? between(1, 700) : between(1, 40), between(1, 40), 0, 0};
  bounds(&p.low, &p.high);
  const int32_t count = p.batches * p.units;
  const float *input = floats(p.batches * p.depth), *filter = floats(p.units * p.depth);
  const float *bias = one_in(4) ? NULL : floats(p.units);
  places_for(count);
  c_fully_connected_f32(input, filter, bias, places[0], &p);
  na_fully_connected_f32(input, filter, bias, places[1], &p);
  compare(r, count * 4, (const int32_t *)&p, sizeof p / 4);
}

/* Kernel, stride and padding of an axis, each window with a value at least; the number of windows. */
static int32_t axis_of(int32_t size, int32_t *kernel, int32_t *stride, int32_t *padding) {
  *kernel = between(1, size < 5 ? size : 5);
  *stride = between(1, 3);
  *padding = between(0, *kernel - 1);
  return (size + *padding + between(0, *kernel - 1) - *kernel) / *stride + 1;
}

static void pool(result_t *r, pool_t *plain, pool_t *other) {
  begin();
  na_pool_f32_t p = {0};
  na_pool_t *w = &p.window;
  w->batches = between(1, 2), w->channels = between(1, 20);
  w->input_height = between(1, 8), w->input_width = between(1, 8);
  w->output_height = axis_of(w->input_height, &w->kernel_height, &w->stride_height, &w->pad_top);
  w->output_width = axis_of(w->input_width, &w->kernel_width, &w->stride_width, &w->pad_left);
  bounds(&p.low, &p.high);
  const int32_t count = w->batches * w->output_height * w->output_width * w->channels;
  const float *input = floats(w->batches * w->input_height * w->input_width * w->channels);
  places_for(count);
  plain(input, places[0], &p);
  other(input, places[1], &p);
  compare(r, count * 4, (const int32_t *)&p, sizeof p / 4);
}

static void numbers(result_t *r, numbers_t *plain, numbers_t *other) {
  begin();
  na_numbers_f32_t p = {0};
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
  bounds(&p.low, &p.high);
  const float *inputs[2] = {floats(counts[0]), floats(counts[1])};
  places_for(count);
  plain(inputs[0], inputs[1], places[0], &p);
  /* Sometimes in place of the first or the second input. */
  for (int side = 0; side < 2; side++) {
    if (counts[side] != count || !one_in(3)) continue;
    memcpy(places[1], inputs[side], (size_t)count * 4);
    inputs[side] = places[1];
    break;
  }
  other(inputs[0], inputs[1], places[1], &p);
  compare(r, count * 4, (const int32_t *)&p, sizeof p / 4);
}

int main(void) {
  result_t results[] = {{.name = "conv2d_f32"}, {.name = "depthwise_conv2d_f32"}, {.name = "fully_connected_f32"},
                        {.name = "max_pool_f32"}, {.name = "average_pool_f32"}, {.name = "add_f32"},
                        {.name = "sub_f32"}, {.name = "mul_f32"}};
  console_init();
  for (int i = 0; i < LAYERS; i++) {
    convolution(&results[0], 0, c_conv2d_f32, na_conv2d_f32);
    convolution(&results[1], 1, c_depthwise_conv2d_f32, na_depthwise_conv2d_f32);
    fully_connected(&results[2]);
    pool(&results[3], c_max_pool_f32, na_max_pool_f32);
    pool(&results[4], c_average_pool_f32, na_average_pool_f32);
    numbers(&results[5], c_add_f32, na_add_f32);
    numbers(&results[6], c_sub_f32, na_sub_f32);
    numbers(&results[7], c_mul_f32, na_mul_f32);
  }
  for (unsigned i = 0; i < sizeof results / sizeof *results; i++) report(&results[i]);
  console_puts("done\n");
  for (;;) __asm__ volatile("wfi");
}
