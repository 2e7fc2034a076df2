/* SVDF, LSTM and simple recurrent layers in float32. */
#include "single.h"

#include "neuralart_kernels.h"
#include "numbers.h"

enum { FORGET, CELL, OUTPUT, INPUT };

static float products(const float *values, const float *weights, int32_t count) {
  float sum = 0.0f;
  for (int32_t i = 0; i < count; i++) sum += values[i] * weights[i];
  return sum;
}

static float sigmoid(float x) { return (float)(1.0 / (1.0 + na_exp(-(double)x))); }

static float clipped(float value, float limit) {
  return limit > 0.0f && value > limit ? limit : limit > 0.0f && value < -limit ? -limit : value;
}

void na_svdf_f32(const float *input, const float *weights, const float *time_weights, const float *bias, float *state,
                 float *output, const na_svdf_f32_t *p) {
  for (int32_t batch = 0; batch < p->batches; batch++, input += p->inputs) {
    for (int32_t unit = 0; unit < p->units; unit++) {
      float total = bias ? bias[unit] : 0.0f;
      for (int32_t r = 0; r < p->rank; r++, state += p->memory) {
        const int32_t filter = unit * p->rank + r;
        for (int32_t i = 1; i < p->memory; i++) state[i - 1] = state[i];
        state[p->memory - 1] = products(input, weights + filter * p->inputs, p->inputs);
        total += products(state, time_weights + filter * p->memory, p->memory);
      }
      total = total < p->low ? p->low : total;
      *output++ = total > p->high ? p->high : total;
    }
  }
}

/* Distances from the mean, in units of their spread. */
static void normalize(float *gate, const float *norm, const float *bias, int32_t count) {
  float sum = 0.0f, squares = 0.0f;
  for (int32_t i = 0; i < count; i++) sum += gate[i];
  const float mean = sum / (float)count;
  for (int32_t i = 0; i < count; i++) squares += (gate[i] - mean) * (gate[i] - mean);
  const float spread = 1.0f / na_square_root(squares / (float)count + 1e-8f);
  for (int32_t i = 0; i < count; i++) gate[i] = (gate[i] - mean) * spread * norm[i] + bias[i];
}

/* One gate of all cells; of the state before this time step, but for the peephole of the output gate. */
static void compute_gate(int32_t number, float *gates, const float *x, const float *h, const float *cells,
                         const na_lstm_constants_t *w, const na_lstm_f32_t *p) {
  float *gate = gates + number * p->cells;
  for (int32_t i = 0; i < p->cells; i++) {
    const int32_t row = number * p->cells + i;
    gate[i] = (w->norm ? 0.0f : w->bias[row]) + products(x, w->input + row * p->inputs, p->inputs);
    gate[i] += products(h, w->recurrent + row * p->outputs, p->outputs);
    if (w->peephole && number != CELL) gate[i] += w->peephole[row] * cells[i];
  }
  if (w->norm) normalize(gate, w->norm + number * p->cells, w->bias + number * p->cells, p->cells);
  for (int32_t i = 0; i < p->cells; i++) gate[i] = number == CELL ? na_tanh(gate[i]) : sigmoid(gate[i]);
}

static void step(const float *x, float *h, float *cells, float *gates, const na_lstm_constants_t *w,
                 const na_lstm_f32_t *p) {
  compute_gate(FORGET, gates, x, h, cells, w, p);
  compute_gate(CELL, gates, x, h, cells, w, p);
  if (p->gates > INPUT) compute_gate(INPUT, gates, x, h, cells, w, p);
  for (int32_t i = 0; i < p->cells; i++) {
    const float forget = gates[FORGET * p->cells + i];
    const float entered = p->gates > INPUT ? gates[INPUT * p->cells + i] : 1.0f - forget;
    cells[i] = clipped(forget * cells[i] + gates[CELL * p->cells + i] * entered, p->cell_clip);
  }
  compute_gate(OUTPUT, gates, x, h, cells, w, p);
  float *hidden = gates + OUTPUT * p->cells;
  for (int32_t i = 0; i < p->cells; i++) hidden[i] *= na_tanh(cells[i]);
  for (int32_t i = 0; i < p->outputs; i++) {
    h[i] = hidden[i];
    if (!w->projection) continue;
    const float sum = products(hidden, w->projection + i * p->cells, p->cells);
    h[i] = clipped((w->projection_bias ? w->projection_bias[i] : 0.0f) + sum, p->output_clip);
  }
}

void na_lstm_f32(const float *input, const float *input_weights, const float *recurrent_weights, const float *bias,
                 const float *peephole, const float *norm, const float *projection, const float *projection_bias,
                 float *output_state, float *cell_state, float *output, void *working, const na_lstm_f32_t *p) {
  const na_lstm_constants_t constants = {input_weights, recurrent_weights, bias,           peephole,
                                         norm,          projection,        projection_bias};
  for (int32_t batch = 0; batch < p->batches; batch++) {
    float *h = output_state + batch * p->outputs;
    for (int32_t time = 0; time < p->steps; time++) {
      const int32_t row = batch * p->batch_step + time * p->time_step;
      step(input + row * p->inputs, h, cell_state + batch * p->cells, working, &constants, p);
      for (int32_t i = 0; i < p->outputs; i++) output[row * p->outputs + i] = h[i];
    }
  }
}

static float function(float x, int32_t which) { return which == 2 ? na_tanh(x) : which == 1 && x < 0.0f ? 0.0f : x; }

/* The new state replaces the old one once all of it is there: the output holds it until then. */
void na_rnn_f32(const float *input, const float *weights, const float *recurrent_weights, const float *bias,
                float *state, float *output, const na_rnn_f32_t *p) {
  for (int32_t batch = 0; batch < p->batches; batch++) {
    float *h = state + batch * p->units;
    for (int32_t time = 0; time < p->steps; time++) {
      const int32_t row = batch * p->batch_step + time * p->time_step;
      float *to = output + row * p->units;
      for (int32_t i = 0; i < p->units; i++) {
        const float sum = bias[i] + products(input + row * p->inputs, weights + i * p->inputs, p->inputs);
        to[i] = function(sum + products(h, recurrent_weights + i * p->units, p->units), p->function);
      }
      for (int32_t i = 0; i < p->units; i++) h[i] = to[i];
    }
  }
}
