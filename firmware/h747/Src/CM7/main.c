/* Camera application for the Cortex-M7 of the STM32H747: captures a picture, runs the network, answers the host. The
 * sections of the pictures and the block of activation buffers are patched to fit the network. */
#include "main.h"

#include "app_camera.h"
#include "app_link.h"
#include "app_network.h"
#include "console.h"
#include "host_link.h"
#include "text_line.h"

__attribute__((section(".CapturedImage_Buffer_SDRAM")))
__attribute__ ((aligned (32)))
static uint8_t CapturedImage_Buffer[CAM_FRAME_BUFFER_SIZE];

__attribute__((section(".RescaledImage_Buffer_AXIRAM")))
__attribute__ ((aligned (32)))
static uint8_t RescaledImage_Buffer[RESCALED_FRAME_BUFFER_SIZE];

#ifndef AI_NETWORK_INPUTS_IN_ACTIVATIONS
__attribute__((section(".NN_InputImage_Buffer")))
__attribute__ ((aligned (32)))
static uint8_t NN_InputImage_Buffer[WHOLE_LINES(AI_NETWORK_IN_1_SIZE_BYTES)];
#endif

 /*** @GENERATED CODE START - DO NOT TOUCH@ ***/
__attribute__((section(".NN_Activation_Buffer_AXIRAM")))
__attribute__ ((aligned (32)))
static uint8_t NN_Activation_Buffer_AXIRAM[AI_ACTIVATION_1_SIZE_BYTES + 32 - (AI_ACTIVATION_1_SIZE_BYTES%32)];
ai_handle NN_Activation_Buffer[AI_ACTIVATION_BUFFERS_COUNT] = { NN_Activation_Buffer_AXIRAM, };

 /*** @GENERATED CODE STOP - DO NOT TOUCH@ ***/

static AppConfig_TypeDef App_Config;

static _Noreturn void idle(void) {
  for (;;) {
    __asm__ volatile("wfi");
  }
}

static _Noreturn void give_up(const char *what) {
  host_link_error(HOST_LINK_E_INIT, AI_NETWORK_MODEL_NAME, what);
  idle();
}

static void say_picture(void) {
  static text_line_t line;
  line.length = 0;
  text_add(&line, "camera ");
  text_add_decimal(&line, SENSOR_WIDTH);
  text_add(&line, "x");
  text_add_decimal(&line, SENSOR_HEIGHT);
  text_add(&line, ", captured ");
  text_add_decimal(&line, CAM_PICTURE_WIDTH);
  text_add(&line, "x");
  text_add_decimal(&line, CAM_PICTURE_HEIGHT);
  text_add(&line, ", network ");
  text_add_decimal(&line, AI_NETWORK_WIDTH);
  text_add(&line, "x");
  text_add_decimal(&line, AI_NETWORK_HEIGHT);
  text_add(&line, ": class ");
  text_add_decimal(&line, (int)Network_Top1(&App_Config));
  text_add(&line, "\n");
  console_puts(line.text);
}

int main(void) {
  AppConfig_TypeDef *app = &App_Config;
  console_init();
  console_puts("scons-neuralart camera application on ");
  console_puts(board_name);
  console_puts("\n");
  app->captured = CapturedImage_Buffer;
  app->rescaled = RescaledImage_Buffer;
  app->activation_buffer = NN_Activation_Buffer;
  const char *wrong = ai_init(app->activation_buffer, &app->nn_input, app->nn_output);
  if (wrong != NULL) {
    give_up(wrong);
  }
#ifndef AI_NETWORK_INPUTS_IN_ACTIVATIONS
  app->nn_input = NN_InputImage_Buffer;
#endif
  Camera_Capture(app->captured, 0);
  Network_Preprocess(app);
  if (!Network_Inference(app)) {
    give_up("the network refuses to run");
  }
  say_picture();
  app_link_serve(app);
  ai_deinit();
  idle();
}
