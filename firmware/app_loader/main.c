/* The loading application: like the reference application, but its networks are relocatable models that it finds in flash
 * through a load table. */
#include <stddef.h>

#include "console.h"
#include "host_link.h"
#include "load_table.h"
#include "models.h"
#include "start.h"
#include "text_line.h"

static _Noreturn void table_failed(const uint32_t *words, uint32_t word, const char *wrong) {
  static text_line_t subject, line;
  text_add(&subject, "load table at ");
  text_add_hex(&subject, NEURALART_LOAD_TABLE);
  text_add(&line, wrong);
  text_add(&line, " (word ");
  text_add_decimal(&line, (int)word);
  text_add(&line, " is ");
  text_add_hex(&line, words[word]);
  text_add(&line, ")");
  console_puts(subject.text);
  console_puts(": ");
  console_puts(line.text);
  console_puts("\n");
  give_up(HOST_LINK_E_TABLE, subject.text, line.text);
}

int main(void) {
  static load_table_t table;
  const uint32_t *words = (const uint32_t *)NEURALART_LOAD_TABLE;
  uint32_t word;
  start_application("loading application");
  const char *wrong = load_table_read(words, &table, &word);
  if (wrong != NULL) {
    table_failed(words, word, wrong);
  }
  models_install(&table);
  host_link_serve();
  idle();
}
