/* Runs a CPU network through its legacy API: inputs from standard input, outputs to standard output.
 *
 * Every activation buffer is exactly as large as the network says, full of garbage, and has guards on both sides.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include NETWORK_HEADER
#include NETWORK_DATA_HEADER

#define JOIN_(a, b, c) a##b##c
#define JOIN(a, b, c) JOIN_(a, b, c)
#define API(what) JOIN(ai_, LOWER_NAME, _##what)
#define MACRO(what) JOIN(AI_, UPPER_NAME, _##what)

#define GUARD 64u
#define GARBAGE 0xa5
#define MOST 16u

static ai_handle made[MOST];
static ai_u32 made_bytes[MOST];
static ai_u32 made_count;

static ai_handle buffer_of(ai_u32 bytes) {
  ai_u8 *memory = aligned_alloc(32, (bytes + 2 * GUARD + 31) / 32 * 32);
  memset(memory, GARBAGE, bytes + 2 * GUARD);
  made[made_count] = memory + GUARD;
  made_bytes[made_count++] = bytes;
  return memory + GUARD;
}

static int broken_guards(void) {
  int broken = 0;
  for (ai_u32 n = 0; n < made_count; n++) {
    for (ai_u32 i = 0; i < GUARD; i++) {
      const ai_u8 *memory = made[n];
      broken |= memory[-1 - (long)i] != GARBAGE || memory[made_bytes[n] + i] != GARBAGE;
    }
  }
  return broken;
}

static ai_u32 bytes_of(const ai_buffer *buffer) {
  return AI_BUFFER_BYTE_SIZE(AI_BUFFER_SIZE(buffer), AI_BUFFER_FORMAT(buffer));
}

int main(int count, char **words) {
  const int own_io = count > 1 && strchr(words[1], 'o') != NULL; /* I/O in buffers of the application */
  const int by_parts = count > 1 && strchr(words[1], 'p') != NULL; /* create, then init with parameters */
  static const ai_u32 sizes[] = MACRO(DATA_ACTIVATIONS_SIZES);
  ai_handle activations[MOST] = {0};
  for (ai_u32 n = 0; n < MACRO(DATA_ACTIVATIONS_COUNT); n++) activations[n] = buffer_of(sizes[n]);
  ai_handle network = AI_HANDLE_NULL;
  ai_error error = {0, 0};
  if (by_parts) {
    error = API(create)(&network, MACRO(DATA_CONFIG));
    const ai_network_params params = AI_NETWORK_PARAMS_INIT(
        MACRO(DATA_WEIGHTS)(API(data_weights_get)()),
        MACRO(DATA_ACTIVATIONS)(MACRO(DATA_ACTIVATIONS_COUNT) > 1 ? (ai_handle)activations : activations[0]));
    if (error.type != AI_ERROR_NONE || !API(init)(network, &params)) return 1;
  } else {
    error = API(create_and_init)(&network, activations, NULL);
    if (error.type != AI_ERROR_NONE) return 1;
  }
  ai_u16 input_count, output_count;
  ai_buffer *inputs = API(inputs_get)(network, &input_count);
  ai_buffer *outputs = API(outputs_get)(network, &output_count);
  for (ai_u16 n = 0; own_io && n < input_count; n++) inputs[n].data = buffer_of(bytes_of(&inputs[n]));
  for (ai_u16 n = 0; own_io && n < output_count; n++) outputs[n].data = buffer_of(bytes_of(&outputs[n]));
  for (;;) {
    for (ai_u16 n = 0; n < input_count; n++) {
      if (fread(inputs[n].data, 1, bytes_of(&inputs[n]), stdin) != bytes_of(&inputs[n])) {
        network = API(destroy)(network);
        return broken_guards() ? 3 : network == AI_HANDLE_NULL ? 0 : 4;
      }
    }
    if (API(run)(network, inputs, outputs) != 1) return 2;
    for (ai_u16 n = 0; n < output_count; n++) fwrite(outputs[n].data, 1, bytes_of(&outputs[n]), stdout);
  }
}
