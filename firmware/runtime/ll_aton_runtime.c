/* The scheduler: runs the epochs of a network one after the other on the CPU.
 *
 * Only pure software epochs exist here. A table that asks for anything else (hardware, blobs, waiting for an event)
 * is refused by LL_ATON_RT_Init_Network, which returns false; running what was refused is a fault, never a silent no-op.
 */
#include "ll_aton.h"
#ifdef LL_ATON_RT_RELOC
#include "ll_aton_reloc_network.h"
#endif

#define NEEDS_AN_NPU                                                                                                   \
  (EpochBlock_Flags_blob | EpochBlock_Flags_blob_encrypted | EpochBlock_Flags_pure_hw | EpochBlock_Flags_hybrid)

#ifdef LL_ATON_RT_RELOC
/* A relocatable model's functions find their data through r9. */
#define CALL(instance, relocated, direct) ((instance)->exec_state.inst_reloc != 0 ? (relocated) : (direct))
#define IDLE(instance)                                                                                                 \
  ((NN_Execution_State_TypeDef){.epoch_callback_function = (instance)->exec_state.epoch_callback_function,             \
                                .inst_reloc = (instance)->exec_state.inst_reloc})
#else
#define CALL(instance, relocated, direct) ((void)(instance), (direct))
#define IDLE(instance)                                                                                                 \
  ((NN_Execution_State_TypeDef){.epoch_callback_function = (instance)->exec_state.epoch_callback_function})
#endif

static bool runtime_ready;
static TraceRuntime_FuncPtr_t told_of_runtime;

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

static const LL_ATON_RT_EpochBlockItem_t *items_of(const NN_Instance_TypeDef *instance) {
  return CALL(instance, ll_aton_reloc_get_epoch_items(instance), instance->network->epoch_block_items());
}

static bool init_network(const NN_Instance_TypeDef *instance) {
  bool (*init)(void) = instance->network->ec_network_init;
  return CALL(instance, ll_aton_reloc_ec_network_init(instance), init == NULL || init());
}

static bool init_inference(const NN_Instance_TypeDef *instance) {
  bool (*init)(void) = instance->network->ec_inference_init;
  return CALL(instance, ll_aton_reloc_ec_inference_init(instance), init == NULL || init());
}

static void run_function(const NN_Instance_TypeDef *instance, EpochBlock_FuncTypeDef function,
                         const LL_ATON_RT_EpochBlockItem_t *item) {
  if (function != NULL) {
    CALL(instance, ll_aton_reloc_call_epoch_function(instance, function, item), function(item));
  }
}

static __attribute__((noinline)) void tell(LL_ATON_RT_Callbacktype_t event, const NN_Instance_TypeDef *instance,
                                           const LL_ATON_RT_EpochBlockItem_t *item) {
  if (instance->exec_state.epoch_callback_function != NULL) {
    instance->exec_state.epoch_callback_function(event, instance, item);
  }
}

static void set_ready(bool ready, LL_ATON_RT_Callbacktype_t event) {
  runtime_ready = ready;
  if (told_of_runtime != NULL) {
    told_of_runtime(event);
  }
}

void LL_ATON_RT_SetRuntimeCallback(TraceRuntime_FuncPtr_t callback) { told_of_runtime = callback; }

void LL_ATON_RT_SetNetworkCallback(NN_Instance_TypeDef *instance, TraceEpochBlock_FuncPtr_t callback) {
  instance->exec_state.epoch_callback_function = callback;
}

void LL_ATON_RT_SetEpochCallback(TraceEpochBlock_FuncPtr_t callback, NN_Instance_TypeDef *instance) {
  LL_ATON_RT_SetNetworkCallback(instance, callback);
}

void LL_ATON_RT_RuntimeInit(void) { set_ready(true, LL_ATON_RT_Callbacktype_RT_Init); }

void LL_ATON_RT_RuntimeDeInit(void) { set_ready(false, LL_ATON_RT_Callbacktype_RT_Deinit); }

bool LL_ATON_RT_Init_Network(NN_Instance_TypeDef *instance) {
  if (!runtime_ready || instance == NULL || instance->network == NULL) {
    return false;
  }
  const LL_ATON_RT_EpochBlockItem_t *items = items_of(instance);
  instance->exec_state = IDLE(instance);
  if (items == NULL || !runs_on_the_cpu(items)) {
    return false;
  }
  if (!init_network(instance)) {
    return false;
  }
  instance->exec_state.first_epoch_block = items;
  instance->exec_state.current_epoch_block = items;
  tell(LL_ATON_RT_Callbacktype_NN_Init, instance, NULL);
  return true;
}

void LL_ATON_RT_DeInit_Network(NN_Instance_TypeDef *instance) {
  tell(LL_ATON_RT_Callbacktype_NN_DeInit, instance, NULL);
  instance->exec_state = IDLE(instance);
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
    if (!init_inference(instance)) {
      misused();
    }
    state->current_epoch_block = state->first_epoch_block;
    state->inference_started = true;
  }
  const LL_ATON_RT_EpochBlockItem_t *item = state->current_epoch_block;
  if ((item->flags & EpochBlock_Flags_last_eb) == 0) {
    /* A block may do its work in either function; epoch_start and epoch_end only say where an epoch that spans
     * several blocks begins and ends. */
    tell(LL_ATON_RT_Callbacktype_PRE_START, instance, item);
    run_function(instance, item->start_epoch_block, item);
    tell(LL_ATON_RT_Callbacktype_POST_START, instance, item);
    tell(LL_ATON_RT_Callbacktype_PRE_END, instance, item);
    run_function(instance, item->end_epoch_block, item);
    tell(LL_ATON_RT_Callbacktype_POST_END, instance, item);
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
