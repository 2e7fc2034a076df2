/* A network as the compiler writes them, small enough to compute by hand: three software epochs.
 *   hidden[i] = saturate(pixels[i] + weights[i]);  scores[i] = hidden[15 - i];  sums[j] = half of four hiddens' sum
 * TOY_WEIGHTS and TOY_ACTIVATIONS are addresses. TOY_USER_IO: the application provides input and outputs.
 * TOY_HANG, TOY_FAULT, TOY_HARDWARE: what it does wrong. TOY_CYCLES: cycles, for boards that count none. */
#include "ll_aton_NN_interface.h"

#define WEIGHTS ((const volatile int8_t *)TOY_WEIGHTS)
#define HIDDEN ((volatile int8_t *)(TOY_ACTIVATIONS + 0x100))

#ifdef TOY_USER_IO
static void *user[3];
#define PIXELS ((const int8_t *)user[0])
#define SCORES ((int8_t *)user[1])
#define SUMS ((int16_t *)user[2])
#define PLACE(offset, bytes) .addr_base = {.i = 0}, .offset_start = 0, .offset_end = (bytes), .is_user_allocated = 1
#else
#define PIXELS ((const int8_t *)TOY_ACTIVATIONS)
#define SCORES ((int8_t *)(TOY_ACTIVATIONS + 0x200))
#define SUMS ((int16_t *)(TOY_ACTIVATIONS + 0x300))
#define PLACE(offset, bytes)                                                                                           \
  .addr_base = {.i = TOY_ACTIVATIONS}, .offset_start = (offset), .offset_end = (offset) + (bytes)
#endif

static const uint32_t shape16[] = {1, 16}, shape4[] = {1, 4};

static void add_weights(const void *epoch) {
  (void)epoch;
#ifdef TOY_HANG
  for (volatile int forever = 1; forever;) {
  }
#endif
#ifdef TOY_FAULT
  *(volatile uint32_t *)0x50000000u = 1;
#endif
  for (int i = 0; i < 16; i++) {
    int sum = PIXELS[i] + WEIGHTS[i];
    HIDDEN[i] = (int8_t)(sum > 127 ? 127 : sum < -128 ? -128 : sum);
  }
}

static void reverse(const void *epoch) {
  (void)epoch;
  for (int i = 0; i < 16; i++) {
    SCORES[i] = HIDDEN[15 - i];
  }
}

static void sum_up(const void *epoch) {
  (void)epoch;
  for (int j = 0; j < 4; j++) {
    int sum = 0;
    for (int i = 0; i < 4; i++) {
      sum += HIDDEN[4 * j + i];
    }
    SUMS[j] = (int16_t)((float)sum * 0.5f);
  }
}

bool LL_ATON_EC_Network_Init_toy(void) { return true; }
bool LL_ATON_EC_Inference_Init_toy(void) { return true; }

const LL_ATON_RT_EpochBlockItem_t *LL_ATON_EpochBlockItems_toy(void) {
  static const LL_ATON_RT_EpochBlockItem_t items[] = {
      {.start_epoch_block = add_weights,
       .flags = EpochBlock_Flags_epoch_start | EpochBlock_Flags_epoch_end | EpochBlock_Flags_pure_sw},
      {.start_epoch_block = reverse,
       .flags = EpochBlock_Flags_epoch_start | EpochBlock_Flags_epoch_end | EpochBlock_Flags_pure_sw},
#ifdef TOY_HARDWARE
      {.flags = EpochBlock_Flags_epoch_start | EpochBlock_Flags_epoch_end | EpochBlock_Flags_pure_hw, .wait_mask = 1},
#endif
      {.end_epoch_block = sum_up,
       .flags = EpochBlock_Flags_epoch_start | EpochBlock_Flags_epoch_end | EpochBlock_Flags_pure_sw},
      {.flags = EpochBlock_Flags_last_eb},
  };
  return items;
}

const LL_Buffer_InfoTypeDef *LL_ATON_Input_Buffers_Info_toy(void) {
  static const LL_Buffer_InfoTypeDef table[] = {
      {.name = "pixels", PLACE(0, 16), .type = DataType_INT8, .nbits = 8, .ndims = 2, .shape = shape16},
      /* Weights stand behind the inputs, as in every generated network. */
      {.name = "weights", .addr_base = {(unsigned char *)TOY_WEIGHTS}, .offset_end = 16, .is_param = 1},
      {.name = NULL}};
  return table;
}

const LL_Buffer_InfoTypeDef *LL_ATON_Output_Buffers_Info_toy(void) {
  static const LL_Buffer_InfoTypeDef table[] = {
      {.name = "scores", PLACE(0x200, 16), .epoch = 1, .type = DataType_INT8, .nbits = 8, .ndims = 2, .shape = shape16},
      {.name = "sums", PLACE(0x300, 8), .epoch = 2, .type = DataType_INT16, .nbits = 16, .ndims = 2, .shape = shape4},
      {.name = NULL}};
  return table;
}

const LL_Buffer_InfoTypeDef *LL_ATON_Internal_Buffers_Info_toy(void) {
  static const LL_Buffer_InfoTypeDef table[] = {{.name = "hidden",
                                                 .addr_base = {.i = TOY_ACTIVATIONS},
                                                 .offset_start = 0x100,
                                                 .offset_end = 0x110,
                                                 .type = DataType_INT8,
                                                 .nbits = 8,
                                                 .ndims = 2,
                                                 .shape = shape16},
                                                {.name = NULL}};
  return table;
}

#ifdef TOY_USER_IO
LL_ATON_User_IO_Result_t LL_ATON_Set_User_Input_Buffer_toy(uint32_t num, void *buffer, uint32_t size) {
  if (num != 0) return LL_ATON_User_IO_WRONG_INDEX;
  if (size != 16) return LL_ATON_User_IO_WRONG_SIZE;
  if ((uintptr_t)buffer % LL_ATON_USER_IO_ALIGNMENT != 0) return LL_ATON_User_IO_WRONG_ALIGN;
  user[0] = buffer;
  return LL_ATON_User_IO_NOERROR;
}
void *LL_ATON_Get_User_Input_Buffer_toy(uint32_t num) { return num == 0 ? user[0] : NULL; }
LL_ATON_User_IO_Result_t LL_ATON_Set_User_Output_Buffer_toy(uint32_t num, void *buffer, uint32_t size) {
  if (num > 1) return LL_ATON_User_IO_WRONG_INDEX;
  if (size != (num == 0 ? 16u : 8u)) return LL_ATON_User_IO_WRONG_SIZE;
  if ((uintptr_t)buffer % LL_ATON_USER_IO_ALIGNMENT != 0) return LL_ATON_User_IO_WRONG_ALIGN;
  user[1 + num] = buffer;
  return LL_ATON_User_IO_NOERROR;
}
void *LL_ATON_Get_User_Output_Buffer_toy(uint32_t num) { return num < 2 ? user[1 + num] : NULL; }
#else
LL_ATON_User_IO_Result_t LL_ATON_Set_User_Input_Buffer_toy(uint32_t num, void *buffer, uint32_t size) {
  (void)num, (void)buffer, (void)size;
  return LL_ATON_User_IO_WRONG_INDEX;
}
void *LL_ATON_Get_User_Input_Buffer_toy(uint32_t num) { return (void)num, NULL; }
LL_ATON_User_IO_Result_t LL_ATON_Set_User_Output_Buffer_toy(uint32_t num, void *buffer, uint32_t size) {
  (void)num, (void)buffer, (void)size;
  return LL_ATON_User_IO_WRONG_INDEX;
}
void *LL_ATON_Get_User_Output_Buffer_toy(uint32_t num) { return (void)num, NULL; }
#endif

#ifdef TOY_CYCLES
/* A thousand from one look to the next. */
uint32_t validation_link_cycles(void);
uint32_t validation_link_cycles(void) {
  static uint32_t count;
  return count += 1000u;
}
#endif
