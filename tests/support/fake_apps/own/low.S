/* Preprocessed, as its suffix is a capital letter. */
#include "settings.h"
  .syntax unified
  .thumb
  .global low
  .thumb_func
  .type low, %function
low:
  movs r0, #LEVEL
  bx lr
  .size low, . - low
