/* What a generated network offers to the runtime and to the application. Names as in the LL_ATON interface, own code. */
#ifndef LL_ATON_NN_INTERFACE_H
#define LL_ATON_NN_INTERFACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- epochs ---- */

enum {
  EpochBlock_Flags_NONE = 0x00,
  EpochBlock_Flags_epoch_start = 0x01,
  EpochBlock_Flags_epoch_end = 0x02,
  EpochBlock_Flags_blob = 0x04,
  EpochBlock_Flags_blob_encrypted = 0x08,
  EpochBlock_Flags_pure_hw = 0x10,
  EpochBlock_Flags_pure_sw = 0x20,
  EpochBlock_Flags_hybrid = 0x40,
  EpochBlock_Flags_last_eb = 0x80
};

typedef void (*EpochBlock_FuncTypeDef)(const void *epoch_block);

typedef struct {
  EpochBlock_FuncTypeDef start_epoch_block;
  EpochBlock_FuncTypeDef end_epoch_block;
  uint32_t wait_mask;
  uint16_t flags;
#ifdef LL_ATON_EB_DBG_INFO
  int16_t epoch_num;
  int16_t last_epoch_num;
  int16_t in_streng_mask;
  int16_t out_streng_mask;
  int32_t estimated_npu_cycles;
  int32_t estimated_tot_cycles;
#endif
} LL_ATON_RT_EpochBlockItem_t;

typedef LL_ATON_RT_EpochBlockItem_t EpochBlock_ItemTypeDef;

/* ---- buffers ---- */

typedef enum {
  DataType_UNDEFINED = 0,
  DataType_FLOAT,
  DataType_UINT8,
  DataType_INT8,
  DataType_UINT16,
  DataType_INT16,
  DataType_INT32,
  DataType_INT64,
  DataType_FXP
} Buffer_DataType_TypeDef;

typedef enum { CHPos_UNDEFINED = 0, CHPos_First, CHPos_Last, CHPos_Mixed } Buffer_CHPos_TypeDef;

typedef union {
  unsigned char *p;
  uintptr_t i;
} LL_Buffer_AddrTypeDef;

/* A row of a buffer table. Address of the buffer = addr_base + offset_start, bytes = offset_end - offset_start. */
typedef struct {
  const char *name; /* NULL ends a table */
  LL_Buffer_AddrTypeDef addr_base;
  uint32_t offset_start;
  uint32_t offset_end;
  uint32_t offset_limit;
  uint8_t is_user_allocated;
  uint8_t is_param;
  uint16_t epoch;
  uint32_t batch;
  const uint32_t *mem_shape;
  uint16_t mem_ndims;
  Buffer_CHPos_TypeDef chpos;
  int16_t Qm;
  int16_t Qn;
  uint8_t Qunsigned;
  Buffer_DataType_TypeDef type;
  uint8_t nbits;
  uint16_t ndims;
  const uint32_t *shape;
  uint8_t per_channel;
  const float *scale; /* NULL when not quantized */
  const int16_t *offset; /* zero points */
} LL_Buffer_InfoTypeDef;

static inline unsigned char *LL_Buffer_addr_start(const LL_Buffer_InfoTypeDef *b) {
  return b->addr_base.p + b->offset_start;
}
static inline unsigned char *LL_Buffer_addr_end(const LL_Buffer_InfoTypeDef *b) {
  return b->addr_base.p + b->offset_end;
}
static inline uint32_t LL_Buffer_len(const LL_Buffer_InfoTypeDef *b) { return b->offset_end - b->offset_start; }

/* ---- buffers that the application provides ---- */

typedef enum {
  LL_ATON_User_IO_NOERROR = 0,
  LL_ATON_User_IO_WRONG_ALIGN,
  LL_ATON_User_IO_WRONG_SIZE,
  LL_ATON_User_IO_WRONG_INDEX,
  LL_ATON_User_IO_WRONG_STATE
} LL_ATON_User_IO_Result_t;

#define LL_ATON_USER_IO_ALIGNMENT 8u

/* ---- the network ---- */

typedef struct {
  const char *network_name;
  bool (*ec_network_init)(void);
  bool (*ec_inference_init)(void);
  LL_ATON_User_IO_Result_t (*input_setter)(uint32_t num, void *buffer, uint32_t size);
  void *(*input_getter)(uint32_t num);
  LL_ATON_User_IO_Result_t (*output_setter)(uint32_t num, void *buffer, uint32_t size);
  void *(*output_getter)(uint32_t num);
  const LL_ATON_RT_EpochBlockItem_t *(*epoch_block_items)(void);
  const LL_Buffer_InfoTypeDef *(*input_buffers_info)(void);
  const LL_Buffer_InfoTypeDef *(*output_buffers_info)(void);
  const LL_Buffer_InfoTypeDef *(*internal_buffers_info)(void);
} NN_Interface_TypeDef;

typedef enum {
  LL_ATON_RT_Callbacktype_PRE_START = 0, /* of an epoch: in front of start_epoch_block, which a software epoch is */
  LL_ATON_RT_Callbacktype_POST_START,
  LL_ATON_RT_Callbacktype_PRE_END, /* in front of end_epoch_block */
  LL_ATON_RT_Callbacktype_POST_END,
  LL_ATON_RT_Callbacktype_NN_Init, /* a network is ready; no epoch */
  LL_ATON_RT_Callbacktype_NN_DeInit,
  LL_ATON_RT_Callbacktype_RT_Init, /* the runtime is ready; neither epoch nor network */
  LL_ATON_RT_Callbacktype_RT_Deinit
} LL_ATON_RT_Callbacktype_t;

typedef struct NN_Instance NN_Instance_TypeDef;
typedef void (*TraceRuntime_FuncPtr_t)(LL_ATON_RT_Callbacktype_t event);
typedef void (*TraceEpochBlock_FuncPtr_t)(LL_ATON_RT_Callbacktype_t event, const NN_Instance_TypeDef *instance,
                                          const LL_ATON_RT_EpochBlockItem_t *epoch_block);

typedef struct {
  const LL_ATON_RT_EpochBlockItem_t *first_epoch_block;
  const LL_ATON_RT_EpochBlockItem_t *current_epoch_block;
  TraceEpochBlock_FuncPtr_t epoch_callback_function; /* NULL: nobody is told */
  bool inference_started;
#ifdef LL_ATON_RT_RELOC
  uintptr_t inst_reloc; /* context of an installed relocatable model (ll_aton_reloc_network.h); 0: a static network */
#endif
} NN_Execution_State_TypeDef;

struct NN_Instance {
  const NN_Interface_TypeDef *network;
  NN_Execution_State_TypeDef exec_state;
};

/* Functions of a network are C, also where a C++ file declares them. */
#ifdef __cplusplus
#define LL_ATON_C_API extern "C"
#else
#define LL_ATON_C_API
#endif
#ifdef LL_ATON_RT_RELOC
#define LL_ATON_NOT_STARTED {NULL, NULL, NULL, false, 0}
#else
#define LL_ATON_NOT_STARTED {NULL, NULL, NULL, false}
#endif

/* clang-format off */
#define LL_ATON_DECLARE_NAMED_NN_INTERFACE(N)                                                                          \
  LL_ATON_C_API bool LL_ATON_EC_Network_Init_##N(void);                                                                \
  LL_ATON_C_API bool LL_ATON_EC_Inference_Init_##N(void);                                                              \
  LL_ATON_C_API LL_ATON_User_IO_Result_t LL_ATON_Set_User_Input_Buffer_##N(uint32_t num, void *buffer, uint32_t size); \
  LL_ATON_C_API void *LL_ATON_Get_User_Input_Buffer_##N(uint32_t num);                                                 \
  LL_ATON_C_API LL_ATON_User_IO_Result_t LL_ATON_Set_User_Output_Buffer_##N(uint32_t num, void *buffer, uint32_t size);\
  LL_ATON_C_API void *LL_ATON_Get_User_Output_Buffer_##N(uint32_t num);                                                \
  LL_ATON_C_API const LL_ATON_RT_EpochBlockItem_t *LL_ATON_EpochBlockItems_##N(void);                                  \
  LL_ATON_C_API const LL_Buffer_InfoTypeDef *LL_ATON_Input_Buffers_Info_##N(void);                                     \
  LL_ATON_C_API const LL_Buffer_InfoTypeDef *LL_ATON_Output_Buffers_Info_##N(void);                                    \
  LL_ATON_C_API const LL_Buffer_InfoTypeDef *LL_ATON_Internal_Buffers_Info_##N(void);                                  \
  static const NN_Interface_TypeDef NN_Interface_##N = {                                                               \
      #N,                                                                                                              \
      LL_ATON_EC_Network_Init_##N,                                                                                     \
      LL_ATON_EC_Inference_Init_##N,                                                                                   \
      LL_ATON_Set_User_Input_Buffer_##N,                                                                               \
      LL_ATON_Get_User_Input_Buffer_##N,                                                                               \
      LL_ATON_Set_User_Output_Buffer_##N,                                                                              \
      LL_ATON_Get_User_Output_Buffer_##N,                                                                              \
      LL_ATON_EpochBlockItems_##N,                                                                                     \
      LL_ATON_Input_Buffers_Info_##N,                                                                                  \
      LL_ATON_Output_Buffers_Info_##N,                                                                                 \
      LL_ATON_Internal_Buffers_Info_##N}
/* clang-format on */

#define LL_ATON_DECLARE_NAMED_NN_INSTANCE_AND_INTERFACE(N)                                                             \
  LL_ATON_DECLARE_NAMED_NN_INTERFACE(N);                                                                               \
  static NN_Instance_TypeDef NN_Instance_##N = {&NN_Interface_##N, LL_ATON_NOT_STARTED}

#ifdef __cplusplus
}
#endif

#endif
