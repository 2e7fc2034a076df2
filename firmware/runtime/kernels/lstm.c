/* UNIDIRECTIONAL_SEQUENCE_LSTM: int8 inputs, outputs and weights, int16 gates and cells. */
#include "fixedpoint16.h"
#include "neuralart_kernels.h"

enum { FORGET, CELL, OUTPUT, INPUT };

/* Sums wrap as 32-bit numbers, hence unsigned. */
static int32_t products(const int8_t *values, const int8_t *weights, int32_t count, int32_t bias) {
  uint32_t sum = (uint32_t)bias;
  for (int32_t i = 0; i < count; i++) sum += (uint32_t)(values[i] * weights[i]);
  return (int32_t)sum;
}

static int32_t add16(int32_t value, int32_t accumulator, int32_t multiplier, int32_t shift) {
  return na_clamp16((int32_t)((uint32_t)na_scale(accumulator, multiplier, shift) + (uint32_t)value));
}

/* Layer normalization: mean with 10 fractional bits, variance as the profile has it (exact for powers of two). */
static void normalize(int16_t *gate, const int16_t *weights, const int32_t *bias, int32_t count,
                      const na_lstm_gate_t *g) {
  int64_t sum = 0, squares = 0;
  for (int32_t i = 0; i < count; i++) {
    sum += gate[i];
    squares += gate[i] * gate[i];
  }
  const int32_t mean = (int32_t)(sum * 1024 / count);
  int32_t variance = (int32_t)((squares * ((1 << 20) / count) - (int64_t)mean * mean) / (1 << 20));
  if (variance < 1) variance = g->least_variance;
  int32_t shift;
  const int32_t multiplier = na_inverse_root(variance, &shift);
  for (int32_t i = 0; i < count; i++) {
    const int32_t scaled = na_scale(1024 * gate[i] - mean, multiplier, shift);
    const int64_t value = (int32_t)((uint32_t)scaled * (uint32_t)(int32_t)weights[i] + (uint32_t)bias[i]);
    const int32_t rounded = (int32_t)((value > 0 ? value + 512 : value - 512) / 1024);
    gate[i] = (int16_t)na_clamp16(na_scale(rounded, g->norm_multiplier, g->norm_shift));
  }
}

void na_lstm_s8(const int8_t *input, const int8_t *input_weights, const int8_t *recurrent_weights, const int32_t *bias,
                const int16_t *peephole, const int16_t *norm, const int32_t *norm_bias, const int8_t *projection,
                const int32_t *projection_bias, int8_t *output_state, int16_t *cell_state, int8_t *output,
                void *working, const na_lstm_t *p) {
  const int32_t cells = p->cells, inputs = p->inputs, outputs = p->outputs;
  const int32_t *recurrent_bias = bias + p->gates * cells;
  int16_t *gates = working;
  int16_t *forget = gates, *modulation = gates + CELL * cells, *opened = gates + OUTPUT * cells;
  const int16_t *entered = gates + INPUT * cells;
  /* The cell is updated before the output gate looks at it. */
  static const int8_t order[] = {FORGET, CELL, INPUT, OUTPUT};

  for (int32_t row = 0; row < p->batches * p->steps; row++) {
    const int32_t batch = row / p->steps, place = batch * p->batch_step + row % p->steps * p->time_step;
    const int8_t *x = input + place * inputs;
    int8_t *y = output + place * outputs, *last = output_state + batch * outputs;
    int16_t *cell = cell_state + batch * cells;

    for (int32_t turn = 0; turn < 4; turn++) {
      const int32_t number = order[turn], at = number * cells;
      const na_lstm_gate_t *g = &p->gate[number];
      int16_t *gate = gates + at;
      if (number == OUTPUT) {
        for (int32_t i = 0; i < cells; i++) {
          const int32_t entering = p->gates == 4 ? entered[i] : INT16_MAX - forget[i];
          const int32_t kept = na_round_shift(forget[i] * cell[i], 15);
          const int32_t value = na_clamp16(kept + na_round_shift(entering * modulation[i], 15 + p->cell_bits));
          cell[i] = (int16_t)(p->cell_clip > 0 ? na_clamp(value, -p->cell_clip, p->cell_clip) : value);
        }
      }
      if (number >= p->gates) continue;
      for (int32_t i = 0; i < cells; i++) {
        const int32_t unit = at + i;
        const int32_t new = products(x, input_weights + unit * inputs, inputs, bias[unit]);
        const int32_t old = products(last, recurrent_weights + unit * outputs, outputs, recurrent_bias[unit]);
        int32_t value = add16(0, new, g->input_multiplier, g->input_shift);
        value = add16(value, old, g->recurrent_multiplier, g->recurrent_shift);
        if (peephole && number != CELL)
          value = add16(value, peephole[unit] * cell[i], g->peephole_multiplier, g->peephole_shift);
        gate[i] = (int16_t)value;
      }
      if (norm) normalize(gate, norm + at, norm_bias + at, cells, g);
      for (int32_t i = 0; i < cells; i++)
        gate[i] = (int16_t)(number == CELL ? na_tanh16(gate[i], 3) : na_logistic16(gate[i]));
    }

    int8_t *hidden = projection ? (int8_t *)(gates + p->gates * cells) : last;
    for (int32_t i = 0; i < cells; i++) {
      const int32_t value = opened[i] * na_tanh16(cell[i], p->cell_bits);
      hidden[i] = (int8_t)na_requantize(value, p->hidden_multiplier, p->hidden_shift, p->hidden_offset, INT8_MIN,
                                        INT8_MAX);
    }
    for (int32_t i = 0; projection && i < outputs; i++) {
      const int32_t sum = products(hidden, projection + i * cells, cells, projection_bias[i]);
      const int32_t clip = p->output_clip;
      const int32_t value =
          na_requantize(sum, p->output_multiplier, p->output_shift, p->output_offset, INT8_MIN, INT8_MAX);
      last[i] = (int8_t)(clip > 0 ? na_clamp(value, -clip, clip) : value);
    }
    for (int32_t i = 0; i < outputs; i++) y[i] = last[i];
  }
}
