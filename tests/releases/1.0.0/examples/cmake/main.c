/* Reads one drawn digit and says which one it is. The same calls work for every board and every network. */
#include <stdio.h>
#include <string.h>

#include "image.h"
#include "neuralart_networks.h"

int main(void) {
  const neuralart_network_t *digits = neuralart_find("digits");
  int error = neuralart_init(digits);
  if (error == 0) {
    memcpy(neuralart_input(digits, "image")->data, image, sizeof image);
    error = neuralart_run(digits);
  }
  if (error != 0) {
    printf("doorbell: %s\n", neuralart_error_text(error));
    return 1;
  }
  const int8_t *scores = neuralart_output(digits, "digit")->data;
  int best = 0;
  for (int digit = 1; digit < 10; digit++) {
    if (scores[digit] > scores[best]) {
      best = digit;
    }
  }
  printf("doorbell: digit %d\n", best);
  return 0;
}
