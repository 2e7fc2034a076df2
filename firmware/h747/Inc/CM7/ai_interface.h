/* Between the application and the legacy C API of its network. The block is patched to fit the network. */
#ifndef AI_INTERFACE_H
#define AI_INTERFACE_H

#include "network.h"
#include "network_data.h"

#define AI_ACTIVATION_1_SIZE_BYTES AI_NETWORK_DATA_ACTIVATION_1_SIZE
#define AI_ACTIVATION_2_SIZE_BYTES AI_NETWORK_DATA_ACTIVATION_2_SIZE
#define AI_ACTIVATION_3_SIZE_BYTES AI_NETWORK_DATA_ACTIVATION_3_SIZE
#define AI_ACTIVATION_BUFFERS_COUNT AI_NETWORK_DATA_ACTIVATIONS_COUNT

 /*** @GENERATED CODE START - DO NOT TOUCH@ ***/
#define AI_NETWORK_INPUTS_IN_ACTIVATIONS_INDEX 0
#define AI_NETWORK_INPUTS_IN_ACTIVATIONS_SIZE AI_ACTIVATION_1_SIZE_BYTES

 /*** @GENERATED CODE STOP - DO NOT TOUCH@ ***/

#define AI_NETWORK_WIDTH AI_NETWORK_IN_1_WIDTH
#define AI_NETWORK_HEIGHT AI_NETWORK_IN_1_HEIGHT
#define AI_NETWORK_CHANNEL AI_NETWORK_IN_1_CHANNEL

#ifndef AI_NETWORK_OUTPUTS_IN_ACTIVATIONS
#error "this application gives the network no output buffers: compile it without --no-outputs-allocation"
#endif

/* NULL, or what is wrong. */
const char *ai_init(ai_handle *activation_buffer, ai_handle *input, ai_handle *output);
void ai_deinit(void);
/* False if the network refuses. */
bool ai_run(ai_handle input, ai_handle *output);

ai_buffer_format ai_get_input_format(void);
ai_buffer_format ai_get_output_format(void);
ai_float ai_get_input_scale(void);
ai_i32 ai_get_input_zero_point(void);
ai_size ai_get_output_elements(void);
#ifdef NEURALART_VALIDATION_LINK
const ai_buffer *ai_get_inputs(void);
const ai_buffer *ai_get_outputs(void);
#endif

#endif
