/* Checks the scheduler on this machine: prints the numbers of lines whose condition is false. */
#include <stdio.h>

#include "ll_aton.h"

static int wrong;
#define CHECK(condition) ((condition) ? (void)0 : (void)(wrong++, printf("line %d: %s\n", __LINE__, #condition)))

static char trace[64];
static unsigned length;
static bool init_answer = true;
static int prepared;

static void note(char c) { trace[length++] = c; }
static void start_a(const void *block) { note(((const LL_ATON_RT_EpochBlockItem_t *)block)->flags ? 'a' : '?'); }
static void end_a(const void *block) { (void)block, note('A'); }
static void start_b(const void *block) { (void)block, note('b'); }
static void end_c(const void *block) { (void)block, note('C'); }

enum { SW = EpochBlock_Flags_epoch_start | EpochBlock_Flags_epoch_end | EpochBlock_Flags_pure_sw };

static const LL_ATON_RT_EpochBlockItem_t good[] = {
    {start_a, end_a, 0, SW}, {start_b, NULL, 0, SW}, {NULL, end_c, 0, SW}, {.flags = EpochBlock_Flags_last_eb}};
static const LL_ATON_RT_EpochBlockItem_t empty[] = {{.flags = EpochBlock_Flags_last_eb}};
static LL_ATON_RT_EpochBlockItem_t odd[] = {{start_a, NULL, 0, SW}, {.flags = EpochBlock_Flags_last_eb}};

static const LL_ATON_RT_EpochBlockItem_t *items = good;
static const LL_ATON_RT_EpochBlockItem_t *get_items(void) { return items; }
static bool network_init(void) { return init_answer; }
static bool inference_init(void) { return ++prepared, true; }

static const NN_Interface_TypeDef interface = {.network_name = "check",
                                               .ec_network_init = network_init,
                                               .ec_inference_init = inference_init,
                                               .epoch_block_items = get_items};
static NN_Instance_TypeDef net = {.network = &interface};

static bool traced(const char *expected) {
  trace[length] = '\0';
  length = 0;
  for (unsigned i = 0;; i++) {
    if (trace[i] != expected[i]) return false;
    if (expected[i] == '\0') return true;
  }
}

/* One letter for each event: of the runtime and the network large and small, of an epoch its digit. */
static void on_runtime(LL_ATON_RT_Callbacktype_t event) {
  note(event == LL_ATON_RT_Callbacktype_RT_Init ? 'R' : event == LL_ATON_RT_Callbacktype_RT_Deinit ? 'r' : '?');
}
static void on_network(LL_ATON_RT_Callbacktype_t event, const NN_Instance_TypeDef *instance,
                       const LL_ATON_RT_EpochBlockItem_t *block) {
  if (block != NULL) {
    note(instance->exec_state.current_epoch_block == block ? (char)('0' + event) : '?');
  } else {
    note(event == LL_ATON_RT_Callbacktype_NN_Init ? 'N' : event == LL_ATON_RT_Callbacktype_NN_DeInit ? 'n' : '?');
  }
}

static void check_callbacks(void) {
  LL_ATON_RT_SetRuntimeCallback(on_runtime);
  LL_ATON_RT_RuntimeInit();
  LL_ATON_RT_SetNetworkCallback(&net, on_network);
  init_answer = false;
  CHECK(!LL_ATON_RT_Init_Network(&net));
  CHECK(traced("R"));
  init_answer = true;
  CHECK(LL_ATON_RT_Init_Network(&net));
  LL_ATON_RT_Main(&net);
  CHECK(traced("N0a12A30b123012C3"));
  LL_ATON_RT_DeInit_Network(&net);
  /* It stays through a new start, until another one is set. */
  LL_ATON_RT_RunEpochBlock((LL_ATON_RT_Init_Network(&net), &net));
  CHECK(traced("nN0a12A3"));
  LL_ATON_RT_SetEpochCallback(NULL, &net);
  LL_ATON_RT_Main(&net);
  LL_ATON_RT_DeInit_Network(&net);
  CHECK(traced("aAbC"));
  LL_ATON_RT_RuntimeDeInit();
  LL_ATON_RT_SetRuntimeCallback(NULL);
  LL_ATON_RT_RuntimeInit();
  CHECK(traced("r"));
}

int main(void) {
  CHECK(!LL_ATON_RT_Init_Network(&net)); /* before RuntimeInit */
  LL_ATON_RT_RuntimeInit();
  CHECK(!LL_ATON_RT_Init_Network(NULL));
  init_answer = false;
  CHECK(!LL_ATON_RT_Init_Network(&net));
  CHECK(net.exec_state.first_epoch_block == NULL);
  init_answer = true;
  CHECK(LL_ATON_RT_Init_Network(&net));

  /* One block per call; DONE comes with the last block, and the next call begins again. */
  for (int round = 0; round < 2; round++) {
    CHECK(LL_ATON_RT_RunEpochBlock(&net) == LL_ATON_RT_NO_WFE);
    CHECK(net.exec_state.inference_started);
    CHECK(traced("aA"));
    CHECK(LL_ATON_RT_RunEpochBlock(&net) == LL_ATON_RT_NO_WFE);
    CHECK(traced("b"));
    CHECK(LL_ATON_RT_RunEpochBlock(&net) == LL_ATON_RT_DONE);
    CHECK(traced("C"));
    CHECK(!net.exec_state.inference_started);
    CHECK(prepared == round + 1);
  }
  /* An inference that is given up. */
  CHECK(LL_ATON_RT_RunEpochBlock(&net) == LL_ATON_RT_NO_WFE);
  LL_ATON_RT_Reset_Network(&net);
  CHECK(traced("aA"));
  LL_ATON_RT_Main(&net);
  CHECK(traced("aAbC"));
  /* Main initializes what nobody has initialized. */
  LL_ATON_RT_DeInit_Network(&net);
  LL_ATON_RT_Main(&net);
  CHECK(traced("aAbC"));

  items = empty;
  CHECK(LL_ATON_RT_Init_Network(&net));
  CHECK(LL_ATON_RT_RunEpochBlock(&net) == LL_ATON_RT_DONE);
  CHECK(traced(""));
  items = NULL;
  CHECK(!LL_ATON_RT_Init_Network(&net));

  /* What needs an NPU is refused before anything runs. */
  static const uint16_t refused[] = {SW | EpochBlock_Flags_blob, SW | EpochBlock_Flags_blob_encrypted,
                                     SW | EpochBlock_Flags_hybrid, SW | EpochBlock_Flags_pure_hw,
                                     EpochBlock_Flags_epoch_start | EpochBlock_Flags_epoch_end};
  items = odd;
  CHECK(LL_ATON_RT_Init_Network(&net));
  for (unsigned i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    odd[0].flags = refused[i];
    CHECK(!LL_ATON_RT_Init_Network(&net));
    CHECK(net.exec_state.first_epoch_block == NULL);
  }
  odd[0].flags = SW;
  odd[0].wait_mask = 1;
  CHECK(!LL_ATON_RT_Init_Network(&net));
  CHECK(traced(""));

  items = good;
  check_callbacks();

#ifdef MISUSE
  LL_ATON_RT_RunEpochBlock(&net); /* traps */
#endif
  return wrong;
}
