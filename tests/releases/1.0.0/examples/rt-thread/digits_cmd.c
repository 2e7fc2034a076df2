/* The msh command "digits": runs the network once and prints its outputs. */
#include <rtthread.h>

#include "neuralart_networks.h"

static int digits(int argc, char **argv) {
  const neuralart_network_t *network = neuralart_find("digits");
  int error = neuralart_init(network);
  if (error == 0) {
    /* Your own picture goes here. */
    memset(neuralart_input(network, "image")->data, -128, neuralart_input(network, "image")->bytes);
    error = neuralart_run(network);
  }
  (void)argc;
  (void)argv;
  if (error != 0) {
    rt_kprintf("digits: %s\n", neuralart_error_text(error));
    return -1;
  }
  const int8_t *scores = neuralart_output(network, "digit")->data;
  for (int digit = 0; digit < 10; digit++) {
    rt_kprintf("%d ", scores[digit]);
  }
  rt_kprintf("\n");
  return 0;
}
MSH_CMD_EXPORT(digits, run the network digits);
