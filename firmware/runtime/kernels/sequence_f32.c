/* Recurrent layers of ONNX in float32: whole sequences, from a given beginning. */
#include "single.h"

#include <stddef.h>

#include "neuralart_kernels.h"
#include "numbers.h"

static void begin(float *state, const float *initial, int32_t count) {
  for (int32_t i = 0; i < count; i++) state[i] = initial ? initial[i] : 0.0f;
}

/* The row of the first time: of a sequence that is read backwards, the last one. */
static int32_t first_row(int32_t steps, int32_t time_step) { return time_step < 0 ? (1 - steps) * time_step : 0; }

void na_sequence_lstm_f32(const float *input, const float *weights, const float *recurrent_weights, const float *bias,
                          const float *peephole, const float *initial, const float *initial_cells, float *state,
                          float *cells, float *output, void *working, const na_lstm_f32_t *p) {
  const int32_t row = first_row(p->steps, p->time_step);
  begin(state, initial, p->batches * p->outputs);
  begin(cells, initial_cells, p->batches * p->cells);
  na_lstm_f32(input + row * p->inputs, weights, recurrent_weights, bias, peephole, NULL, NULL, NULL, state, cells,
              output + row * p->outputs, working, p);
}

void na_sequence_rnn_f32(const float *input, const float *weights, const float *recurrent_weights, const float *bias,
                         const float *initial, float *state, float *output, const na_rnn_f32_t *p) {
  const int32_t row = first_row(p->steps, p->time_step);
  begin(state, initial, p->batches * p->units);
  na_rnn_f32(input + row * p->inputs, weights, recurrent_weights, bias, state, output + row * p->units, p);
}

static float products(const float *values, const float *weights, int32_t count) {
  float sum = 0.0f;
  for (int32_t i = 0; i < count; i++) sum += values[i] * weights[i];
  return sum;
}

static float sigmoid(float x) { return (float)(1.0 / (1.0 + na_exp(-(double)x))); }

/* working: how much is kept, what is reset of the state, and the new values. */
static void step(const float *x, float *state, const float *weights, const float *recurrent_weights, const float *bias,
                 float *working, const na_gru_f32_t *p) {
  const int32_t units = p->units, block = units * p->inputs, square = units * units;
  float *kept = working, *reset = working + units, *made = working + 2 * units;
  for (int32_t i = 0; i < units; i++) {
    const float *w = weights + i * p->inputs, *r = recurrent_weights + i * units;
    kept[i] = sigmoid(products(x, w, p->inputs) + products(state, r, units) + bias[i]);
    reset[i] = sigmoid(products(x, w + block, p->inputs) + products(state, r + square, units) + bias[units + i]);
  }
  for (int32_t i = 0; !p->after && i < units; i++) reset[i] *= state[i];
  for (int32_t i = 0; i < units; i++) {
    const float *r = recurrent_weights + 2 * square + i * units;
    const float own = products(x, weights + 2 * block + i * p->inputs, p->inputs) + bias[2 * units + i];
    made[i] = na_tanh(own + (p->after ? reset[i] * (products(state, r, units) + bias[3 * units + i])
                                      : products(reset, r, units)));
  }
  for (int32_t i = 0; i < units; i++) state[i] = (1.0f - kept[i]) * made[i] + kept[i] * state[i];
}

void na_sequence_gru_f32(const float *input, const float *weights, const float *recurrent_weights, const float *bias,
                         const float *initial, float *state, float *output, void *working, const na_gru_f32_t *p) {
  begin(state, initial, p->batches * p->units);
  for (int32_t batch = 0; batch < p->batches; batch++, state += p->units) {
    int32_t row = first_row(p->steps, p->time_step) + batch * p->batch_step;
    for (int32_t time = 0; time < p->steps; time++, row += p->time_step) {
      step(input + row * p->inputs, state, weights, recurrent_weights, bias, working, p);
      for (int32_t i = 0; i < p->units; i++) output[row * p->units + i] = state[i];
    }
  }
}
