/* Calls into an installed relocatable model. Its code finds its data through r9, and nothing else in the firmware cares
 * about that register. */
#ifdef LL_ATON_RT_RELOC

#include <stddef.h>

#include "relocatable_steps.h"

#define MAGIC 0x4e49424eu

#ifdef __arm__
#define REGISTER __attribute__((unused)) /* in the register where the convention puts it */
/* The model's data base is the fifth argument, on the stack; two pushed registers keep the stack aligned to 8. */
__attribute__((naked, noinline)) uintptr_t reloc_call(REGISTER uintptr_t a, REGISTER uintptr_t b, REGISTER uintptr_t c,
                                                      REGISTER uint32_t function, REGISTER uint32_t data) {
  __asm__ volatile(
      "push {r9, lr}\n\t"
      "ldr r9, [sp, #8]\n\t"
      "orr r3, r3, #1\n\t"
      "blx r3\n\t"
      "pop {r9, pc}");
}
#endif

/* NULL without a model. Looks at the memory the handle points to: a handle is made by install and by nobody else. */
static reloc_word_t *context_of(const NN_Instance_TypeDef *instance) {
  if (instance == NULL || instance->exec_state.inst_reloc == 0 || instance->exec_state.inst_reloc % 4u != 0) {
    return NULL;
  }
  uint32_t at = (uint32_t)instance->exec_state.inst_reloc;
  reloc_word_t *context = reloc_words(at);
  uint32_t state = context[RELOC_CTX_STATE], rom = context[RELOC_CTX_ROM];
  if ((state & ~RELOC_STATE_XIP) != RELOC_STATE_INSTALLED || rom == 0 || rom % 4u != 0 ||
      ((state & RELOC_STATE_XIP) != 0) != (rom == context[RELOC_CTX_FILE])) {
    return NULL;
  }
  /* The header says where the context is: somebody else's words do not agree with it. */
  const reloc_word_t *header = reloc_words(rom);
  if (header[0] != MAGIC) {
    return NULL;
  }
  uint32_t own = header[23] >> 28 == RELOC_RAM ? header[23] : header[25];
  return context[RELOC_CTX_RAM] + (own & RELOC_OFFSET) == at ? context : NULL;
}

static uintptr_t call(const reloc_word_t *context, uint32_t entry, uintptr_t a, uintptr_t b, uintptr_t c) {
  const reloc_word_t *header = reloc_words(context[RELOC_CTX_ROM]);
  uint32_t function = context[RELOC_CTX_ROM] + (header[entry] & RELOC_OFFSET);
  return reloc_call(a, b, c, function, context[RELOC_CTX_RAM]);
}

static uintptr_t call_or_zero(const NN_Instance_TypeDef *instance, uint32_t entry, uintptr_t a) {
  const reloc_word_t *context = context_of(instance);
  return context == NULL ? 0 : call(context, entry, a, 0, 0);
}

static LL_ATON_User_IO_Result_t set(const NN_Instance_TypeDef *instance, uint32_t entry, uint32_t num, void *buffer,
                                    uint32_t size) {
  const reloc_word_t *context = context_of(instance);
  if (context == NULL) {
    return LL_ATON_User_IO_WRONG_STATE;
  }
  return (LL_ATON_User_IO_Result_t)call(context, entry, num, (uintptr_t)buffer, size);
}

int ll_aton_reloc_is_valid(const NN_Instance_TypeDef *nn_instance) { return context_of(nn_instance) != NULL; }

uintptr_t ll_aton_reloc_get_file_ptr(const NN_Instance_TypeDef *nn_instance) {
  const reloc_word_t *context = context_of(nn_instance);
  return context == NULL ? 0 : context[RELOC_CTX_FILE];
}

int ll_aton_reloc_set_callbacks(const NN_Instance_TypeDef *nn_instance,
                                const struct ll_aton_reloc_callback *callbacks) {
  reloc_word_t *context = context_of(nn_instance);
  if (context == NULL) {
    return reloc_fail(AI_RELOC_RT_ERR_INVALID_HDL, "no model is installed in the instance");
  }
  callbacks = callbacks == NULL ? &ll_aton_reloc_default_callbacks : callbacks;
  context[RELOC_CTX_CALLBACKS] = (uint32_t)(uintptr_t)callbacks;
  return AI_RELOC_RT_ERR_NONE;
}

LL_ATON_User_IO_Result_t ll_aton_reloc_set_input(const NN_Instance_TypeDef *nn_instance, uint32_t num, void *buffer,
                                                 uint32_t size) {
  return set(nn_instance, RELOC_INPUT_SETTER, num, buffer, size);
}

LL_ATON_User_IO_Result_t ll_aton_reloc_set_output(const NN_Instance_TypeDef *nn_instance, uint32_t num, void *buffer,
                                                  uint32_t size) {
  return set(nn_instance, RELOC_OUTPUT_SETTER, num, buffer, size);
}

void *ll_aton_reloc_get_input(const NN_Instance_TypeDef *nn_instance, uint32_t num) {
  return (void *)call_or_zero(nn_instance, RELOC_INPUT_GETTER, num);
}

void *ll_aton_reloc_get_output(const NN_Instance_TypeDef *nn_instance, uint32_t num) {
  return (void *)call_or_zero(nn_instance, RELOC_OUTPUT_GETTER, num);
}

const LL_Buffer_InfoTypeDef *ll_aton_reloc_get_input_buffers_info(const NN_Instance_TypeDef *nn_instance) {
  return (const LL_Buffer_InfoTypeDef *)call_or_zero(nn_instance, RELOC_INPUT_BUFFERS, 0);
}

const LL_Buffer_InfoTypeDef *ll_aton_reloc_get_output_buffers_info(const NN_Instance_TypeDef *nn_instance) {
  return (const LL_Buffer_InfoTypeDef *)call_or_zero(nn_instance, RELOC_OUTPUT_BUFFERS, 0);
}

const LL_Buffer_InfoTypeDef *ll_aton_reloc_get_internal_buffers_info(const NN_Instance_TypeDef *nn_instance) {
  const reloc_word_t *context = context_of(nn_instance);
  if (context == NULL) {
    return NULL;
  }
  uint32_t short_header = reloc_words(context[RELOC_CTX_ROM])[23] >> 28 == RELOC_RAM;
  uint32_t entry = short_header ? RELOC_INTERNAL_BUFFERS_24 : RELOC_INTERNAL_BUFFERS_26;
  return (const LL_Buffer_InfoTypeDef *)call(context, entry, 0, 0, 0);
}

bool ll_aton_reloc_ec_network_init(const NN_Instance_TypeDef *nn_instance) {
  return (call_or_zero(nn_instance, RELOC_EC_NETWORK_INIT, 0) & 0xffu) != 0;
}

bool ll_aton_reloc_ec_inference_init(const NN_Instance_TypeDef *nn_instance) {
  return (call_or_zero(nn_instance, RELOC_EC_INFERENCE_INIT, 0) & 0xffu) != 0;
}

const LL_ATON_RT_EpochBlockItem_t *ll_aton_reloc_get_epoch_items(const NN_Instance_TypeDef *nn_instance) {
  return (const LL_ATON_RT_EpochBlockItem_t *)call_or_zero(nn_instance, RELOC_EPOCH_ITEMS, 0);
}

void ll_aton_reloc_call_epoch_function(const NN_Instance_TypeDef *nn_instance, EpochBlock_FuncTypeDef function,
                                       const LL_ATON_RT_EpochBlockItem_t *epoch_block) {
  const reloc_word_t *context = context_of(nn_instance);
  if (context == NULL || function == NULL) {
    __builtin_trap(); /* misuse: the fault handler of the board reports the place */
  }
  (void)reloc_call((uintptr_t)epoch_block, 0, 0, (uint32_t)(uintptr_t)function, context[RELOC_CTX_RAM]);
}

#else
typedef int relocatable_calls_is_not_compiled;
#endif
