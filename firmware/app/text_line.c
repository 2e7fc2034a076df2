#include "text_line.h"

void text_add(text_line_t *line, const char *text) {
  while (*text != '\0' && line->length < sizeof line->text - 1) {
    line->text[line->length++] = *text++;
  }
  line->text[line->length] = '\0';
}

void text_add_decimal(text_line_t *line, int value) {
  char digits[12];
  char *at = &digits[sizeof digits - 1];
  unsigned left = value < 0 ? 0u - (unsigned)value : (unsigned)value;
  *at = '\0';
  do {
    *--at = (char)('0' + left % 10u);
    left /= 10u;
  } while (left != 0);
  if (value < 0) {
    *--at = '-';
  }
  text_add(line, at);
}

void text_add_hex(text_line_t *line, uint32_t value) {
  char digits[] = "0x00000000";
  for (unsigned n = 0; n < 8; n++) {
    digits[2u + n] = "0123456789abcdef"[(value >> (28u - 4u * n)) & 15u];
  }
  text_add(line, digits);
}
