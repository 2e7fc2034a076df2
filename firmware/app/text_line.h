/* A line that is put together piece by piece; what does not fit is left out. */
#ifndef TEXT_LINE_H
#define TEXT_LINE_H

#include <stdint.h>

typedef struct {
  char text[256]; /* ends with 0 */
  unsigned length;
} text_line_t;

void text_add(text_line_t *line, const char *text);
void text_add_decimal(text_line_t *line, int value);
/* 0x and eight digits. */
void text_add_hex(text_line_t *line, uint32_t value);

#endif
