/* A model's file in words. */
#ifdef LL_ATON_RT_RELOC

#include "relocatable_steps.h"

static void number(const char *before, uint32_t value, uint32_t base, unsigned digits) {
  char text[11];
  char *at = &text[sizeof text - 1u];
  *at = '\0';
  do {
    *--at = "0123456789abcdef"[value % base];
    value /= base;
  } while (value != 0 || &text[sizeof text - 1u] - at < (int)digits);
  ll_aton_reloc_log(before);
  ll_aton_reloc_log(at);
}

static void decimal(const char *before, uint32_t value) { number(before, value, 10, 1); }
static void hexadecimal(const char *before, uint32_t value) { number(before, value, 16, 8); }

static void text(const char *before, const char *what) {
  ll_aton_reloc_log(before);
  ll_aton_reloc_log(what);
}

int ll_aton_reloc_log_info(uintptr_t file_ptr) {
  ll_aton_reloc_info info;
  int error = ll_aton_reloc_get_info(file_ptr, &info);
  if (error != 0) {
    text("relocatable model: ", ll_aton_reloc_reason());
    ll_aton_reloc_log("\n");
    return error;
  }
  text("relocatable model ", info.c_name);
  text(" for ", info.rt_version_desc);
  decimal(" ", info.rt_version >> 24);
  decimal(".", (info.rt_version >> 16) & 0xffu);
  decimal(".", (info.rt_version >> 8) & 0xffu);
  decimal(".", info.rt_version_extra);
  hexadecimal("\n  flags 0x", info.variant);
  decimal("\n  executive RAM: XIP ", info.rt_ram_xip);
  decimal(" bytes, COPY ", info.rt_ram_copy);
  decimal("\n  code ", info.code_sz);
  decimal(" bytes, params ", info.params_sz);
  if (info.params_off == 0) {
    ll_aton_reloc_log(" in a file of their own");
  } else {
    hexadecimal(" from 0x", info.params_off);
  }
  decimal(", activations ", info.acts_sz);
  decimal(", external RAM ", info.ext_ram_sz);
  const ll_aton_reloc_mem_pool_desc *pool;
  for (int row = 0; (pool = ll_aton_reloc_get_mem_pool_desc(file_ptr, row)) != NULL; row++) {
    text("\n  pool ", reloc_text((uint32_t)file_ptr, pool->name));
    hexadecimal(" 0x", pool->flags);
    hexadecimal(", data at 0x", pool->foff);
    hexadecimal(", place 0x", pool->dst);
    decimal(", bytes ", pool->size);
  }
  ll_aton_reloc_log("\n");
  return AI_RELOC_RT_ERR_NONE;
}

#else
typedef int relocatable_log_is_not_compiled;
#endif
