/* The scheduler: runs the epochs of a network one after the other on the CPU.
 *
 * Only pure software epochs exist here. A table that asks for anything else (hardware, blobs, waiting for an event)
 * is refused by LL_ATON_RT_Init_Network, which returns false; running what was refused is a fault, never a silent no-op.
 */
#include "ll_aton.h"

#define NEEDS_AN_NPU                                                                                                   \
  (EpochBlock_Flags_blob | EpochBlock_Flags_blob_encrypted | EpochBlock_Flags_pure_hw | EpochBlock_Flags_hybrid)

static bool runtime_ready;

/* Misuse: the fault handler of the board reports the place. */
static _Noreturn void misused(void) { __builtin_trap(); }

static bool runs_on_the_cpu(const LL_ATON_RT_EpochBlockItem_t *item) {
  for (; (item->flags & EpochBlock_Flags_last_eb) == 0; item++) {
    if ((item->flags & NEEDS_AN_NPU) != 0 || (item->flags & EpochBlock_Flags_pure_sw) == 0 || item->wait_mask != 0) {
      return false;
    }
  }
  return true;
}

void LL_ATON_RT_RuntimeInit(void) { runtime_ready = true; }

void LL_ATON_RT_RuntimeDeInit(void) { runtime_ready = false; }

bool LL_ATON_RT_Init_Network(NN_Instance_TypeDef *instance) {
  if (!runtime_ready || instance == NULL || instance->network == NULL) {
    return false;
  }
  const NN_Interface_TypeDef *network = instance->network;
  const LL_ATON_RT_EpochBlockItem_t *items = network->epoch_block_items();
  instance->exec_state = (NN_Execution_State_TypeDef){NULL, NULL, false};
  if (items == NULL || !runs_on_the_cpu(items)) {
    return false;
  }
  if (network->ec_network_init != NULL && !network->ec_network_init()) {
    return false;
  }
  instance->exec_state.first_epoch_block = items;
  instance->exec_state.current_epoch_block = items;
  return true;
}

void LL_ATON_RT_DeInit_Network(NN_Instance_TypeDef *instance) {
  instance->exec_state = (NN_Execution_State_TypeDef){NULL, NULL, false};
}

void LL_ATON_RT_Reset_Network(NN_Instance_TypeDef *instance) {
  instance->exec_state.current_epoch_block = instance->exec_state.first_epoch_block;
  instance->exec_state.inference_started = false;
}

LL_ATON_RT_RetValues_t LL_ATON_RT_RunEpochBlock(NN_Instance_TypeDef *instance) {
  NN_Execution_State_TypeDef *state = &instance->exec_state;
  if (!runtime_ready || state->first_epoch_block == NULL) {
    misused();
  }
  if (!state->inference_started) {
    bool (*prepare)(void) = instance->network->ec_inference_init;
    if (prepare != NULL && !prepare()) {
      misused();
    }
    state->current_epoch_block = state->first_epoch_block;
    state->inference_started = true;
  }
  const LL_ATON_RT_EpochBlockItem_t *item = state->current_epoch_block;
  if ((item->flags & EpochBlock_Flags_last_eb) == 0) {
    /* A block may do its work in either function; epoch_start and epoch_end only say where an epoch that spans
     * several blocks begins and ends. */
    if (item->start_epoch_block != NULL) {
      item->start_epoch_block(item);
    }
    if (item->end_epoch_block != NULL) {
      item->end_epoch_block(item);
    }
    state->current_epoch_block = ++item;
  }
  if ((item->flags & EpochBlock_Flags_last_eb) == 0) {
    return LL_ATON_RT_NO_WFE;
  }
  LL_ATON_RT_Reset_Network(instance);
  return LL_ATON_RT_DONE;
}

void LL_ATON_RT_Main(NN_Instance_TypeDef *instance) {
  if (instance->exec_state.first_epoch_block == NULL && !LL_ATON_RT_Init_Network(instance)) {
    misused();
  }
  LL_ATON_RT_Reset_Network(instance);
  while (LL_ATON_RT_RunEpochBlock(instance) != LL_ATON_RT_DONE) {
  }
}
