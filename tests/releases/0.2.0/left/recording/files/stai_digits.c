#include "stai_digits.h"
#include "digits.h"
static const struct { const char *c_model_name; const char *c_model_datetime; } info_digits = {
  .c_model_name = "digits",
  .c_model_datetime = "1970-01-01 00:00:00",
};
const char *stai_digits_when(void) { return info_digits.c_model_datetime; }
