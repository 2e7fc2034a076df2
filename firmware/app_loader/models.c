#include "models.h"

#include <stdbool.h>

#include "app_networks.h"
#include "console.h"
#include "host_link.h"
#include "image_stamp.h"
#include "ll_aton_reloc_network.h"
#include "model_memory.h"
#include "model_pools.h"
#include "profile.h"
#include "start.h"
#include "text_line.h"
#include "user_io.h"

#ifndef NEURALART_USER_IO
#define NEURALART_USER_IO (16 * 1024)
#endif

static NN_Instance_TypeDef instances[LOAD_TABLE_MODELS];
static image_stamp_t stamps[LOAD_TABLE_MODELS];
app_network_t app_networks[LOAD_TABLE_MODELS];
unsigned app_network_count;
uint8_t app_user_io[NEURALART_USER_IO] __attribute__((aligned(32)));
const uint32_t app_user_io_bytes = NEURALART_USER_IO;

/* ---- what is wrong: one line for people, the same for the host ---- */

/* The model that is being installed; its name once it is known. */
static struct {
  const load_table_row_t *row;
  int number;
  const char *name;
} current;

static _Noreturn void fail(uint16_t code, const text_line_t *line) {
  static text_line_t subject;
  text_add(&subject, "model ");
  text_add_decimal(&subject, current.number);
  if (current.name != NULL) {
    text_add(&subject, " (");
    text_add(&subject, current.name);
    text_add(&subject, ")");
  }
  text_add(&subject, " at ");
  text_add_hex(&subject, current.row->model);
  console_puts(subject.text);
  console_puts(": ");
  console_puts(line->text);
  console_puts("\n");
  give_up(code, subject.text, line->text);
}

static _Noreturn void fail_with(uint16_t code, const char *text) {
  static text_line_t line;
  text_add(&line, text);
  fail(code, &line);
}

static const char *name_of(int error) {
  static const char *const names[] = {"NONE",        "INVALID_BIN", "MEMORY",     "NOT_SUPPORTED", "ARG",
                                      "INVALID_HDL", "INSTALL",     "PARAM_ADDR", "PARAM_DESC"};
  return error <= 0 && error > -(int)(sizeof names / sizeof *names) ? names[-error] : "?";
}

static void add_pair(text_line_t *line, const char *before, uint32_t needed, uint32_t given) {
  text_add(line, before);
  text_add_decimal(line, (int)needed);
  text_add(line, " bytes, has ");
  text_add_decimal(line, (int)given);
}

/* What a model asks for, where that is what is missing; config NULL: nothing is known of it. */
static _Noreturn void refused(int error, const ll_aton_reloc_info *info, const ll_aton_reloc_config *config) {
  static text_line_t line;
  text_add(&line, "the loader answers ");
  text_add_decimal(&line, error);
  text_add(&line, " (");
  text_add(&line, name_of(error));
  text_add(&line, "): ");
  text_add(&line, ll_aton_reloc_reason());
  if (error == AI_RELOC_RT_ERR_MEMORY && config != NULL) {
    bool xip = (config->mode & AI_RELOC_RT_LOAD_MODE_XIP) != 0;
    add_pair(&line, "; it needs executive RAM of ", xip ? info->rt_ram_xip : info->rt_ram_copy, config->exec_ram_size);
    add_pair(&line, ", external RAM of ", info->ext_ram_sz, config->ext_ram_size);
  }
  if (error == AI_RELOC_RT_ERR_PARAM_ADDR && current.row->params != 0) {
    text_add(&line, "; they are at ");
    text_add_hex(&line, current.row->params);
  }
  fail(HOST_LINK_E_MODEL, &line);
}

static _Noreturn void params_are_damaged(const image_stamp_t *stamp) {
  static text_line_t line;
  text_add(&line, "the params at ");
  text_add_hex(&line, stamp->params);
  text_add(&line, " are damaged or of another model: CRC-32 of ");
  text_add_decimal(&line, (int)stamp->params_size);
  text_add(&line, " bytes ");
  text_add_hex(&line, stamp->params_crc);
  text_add(&line, ", the model says ");
  text_add_hex(&line, stamp->wanted_crc);
  fail(HOST_LINK_E_PARAMS, &line);
}

/* ---- installing ---- */

/* The host link has one byte for the length of a name, and lines of text between its frames. */
static bool is_name(const char *name) {
  unsigned length = 0;
  while (name[length] > ' ' && name[length] <= '~') {
    length++;
  }
  return name[length] == '\0' && length != 0 && length < 256;
}

/* Against those that are installed already. */
static void check_pools(const load_table_t *table, unsigned n) {
  for (unsigned other = 0; other < n; other++) {
    bool no_overlay = (table->flags & LOAD_TABLE_NO_OVERLAY) != 0;
    if (model_pools_collide(table->rows[other].model, current.row->model, no_overlay)) {
      static text_line_t line;
      text_add(&line, "a memory pool at an absolute address shares bytes with one of model ");
      text_add_decimal(&line, (int)other);
      fail(HOST_LINK_E_MODEL, &line);
    }
  }
}

/* The model's share of the memories: all that is free is offered, what it needs is taken. Its pool comes first, so that
 * the only model has it where the external RAM begins. */
static ll_aton_reloc_config share(const ll_aton_reloc_info *info, uint32_t flags, model_memory_t *executive,
                                  model_memory_t *external) {
  bool xip = (flags & LOAD_TABLE_XIP) != 0;
  ll_aton_reloc_config config = {
      .ext_ram_addr = external->begin,
      .ext_ram_size = external->size,
      .mode = (xip ? AI_RELOC_RT_LOAD_MODE_XIP : AI_RELOC_RT_LOAD_MODE_COPY) |
              ((flags & LOAD_TABLE_CLEAR) != 0 ? AI_RELOC_RT_LOAD_MODE_CLEAR : 0u),
  };
  model_memory_take(external, info->ext_ram_sz);
  model_memory_t *where = (flags & LOAD_TABLE_EXT) != 0 ? external : executive;
  config.exec_ram_addr = where->begin;
  config.exec_ram_size = where->size;
  model_memory_take(where, xip ? info->rt_ram_xip : info->rt_ram_copy);
  return config;
}

static void install(const load_table_t *table, unsigned n, model_memory_t *executive, model_memory_t *external) {
  NN_Instance_TypeDef *instance = &instances[n];
  ll_aton_reloc_info info;
  int error = ll_aton_reloc_get_info(current.row->model, &info);
  if (error != 0) {
    refused(error, NULL, NULL);
  }
  if (!is_name(info.c_name)) {
    fail_with(HOST_LINK_E_MODEL, "damaged: the name of the model is none");
  }
  current.name = info.c_name;
  check_pools(table, n);
  ll_aton_reloc_config config = share(&info, table->flags, executive, external);
  config.ext_param_addr = current.row->params;
  error = ll_aton_reloc_install(current.row->model, &config, instance);
  if (error != 0) {
    refused(error, &info, &config);
  }
  /* Only now is it known that the params are where params can be. Nothing of the model has run yet. */
  error = image_stamp(current.row->model, current.row->params, &stamps[n]);
  if (error != 0) {
    refused(error, NULL, NULL);
  }
  if (stamps[n].params_crc != stamps[n].wanted_crc) {
    params_are_damaged(&stamps[n]);
  }
#ifdef NEURALART_PROFILE
  LL_ATON_RT_SetNetworkCallback(instance, profile_epoch);
#endif
  if (!LL_ATON_RT_Init_Network(instance)) {
    fail_with(HOST_LINK_E_INIT, "the runtime refuses the network: it runs software epochs only");
  }
  const char *wrong = user_io_provide(instance);
  if (wrong != NULL) {
    fail_with(HOST_LINK_E_BUFFERS, wrong);
  }
  app_networks[n] = (app_network_t){.name = info.c_name, .instance = instance, .abi_stamp = stamps[n].text};
}

void models_install(const load_table_t *table) {
  model_memory_t executive = model_memory_executive(), external = model_memory_external();
  for (unsigned n = 0; n < table->count; n++) {
    current.row = &table->rows[n];
    current.number = (int)n;
    current.name = NULL;
    install(table, n, &executive, &external);
    app_network_count = n + 1u;
  }
}
