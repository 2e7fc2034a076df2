/* What a loader finds in a relocatable model: flags, entry points and the runtime context. Compiled once per network,
 * with the constants of its configuration (MODEL_CONF); the linker script puts the sections where the format wants
 * them. The layout of the words is that of the vendor's format with 26 header words. */
#include <stdint.h>

#include "ll_aton.h"

#include MODEL_CONF

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define OF_THE_NETWORK(function) JOIN(function, C_FCT_SUFFIX)

/* ---- flags ---- */

#define API_VERSION 0x80u /* 8.0 */
#define GNU_ARM_EMBEDDED 8u
/* Of the Cortex-M55. The code is that of the baseline, which the M55 executes. */
#define CPUID_PART 0xD22u

#if defined(__ARM_PCS_VFP)
#define FLOAT_ABI 2u
#else
#error "floating-point values are passed in FPU registers (-mfloat-abi=hard)"
#endif
#if defined(__ARM_FEATURE_CMSE) && __ARM_FEATURE_CMSE == 3
#define SECURE 1u
#else
#define SECURE 0u
#endif
#if defined(LL_ATON_EB_DBG_INFO)
#define DEBUG_INFO 1u
#else
#define DEBUG_INFO 0u
#endif
/* One epoch block per call of the scheduler. */
#define ASYNCHRONOUS 1u
#define FPU_USED 1u

__attribute__((section(".network_flags"), used)) static const uint32_t _network_flags =
    API_VERSION << 24 | ASYNCHRONOUS << 22 | DEBUG_INFO << 21 | SECURE << 20 | GNU_ARM_EMBEDDED << 16 |
    FLOAT_ABI << 13 | FPU_USED << 12 | CPUID_PART;

/* ---- entry points ---- */

/* clang-format off */
#define NETWORK_FUNCTION(type, name, arguments) extern type OF_THE_NETWORK(name) arguments
/* clang-format on */

NETWORK_FUNCTION(bool, LL_ATON_EC_Network_Init_, (void));
NETWORK_FUNCTION(bool, LL_ATON_EC_Inference_Init_, (void));
NETWORK_FUNCTION(LL_ATON_User_IO_Result_t, LL_ATON_Set_User_Input_Buffer_, (uint32_t, void *, uint32_t));
NETWORK_FUNCTION(void *, LL_ATON_Get_User_Input_Buffer_, (uint32_t));
NETWORK_FUNCTION(LL_ATON_User_IO_Result_t, LL_ATON_Set_User_Output_Buffer_, (uint32_t, void *, uint32_t));
NETWORK_FUNCTION(void *, LL_ATON_Get_User_Output_Buffer_, (uint32_t));
NETWORK_FUNCTION(const LL_ATON_RT_EpochBlockItem_t *, LL_ATON_EpochBlockItems_, (void));
NETWORK_FUNCTION(const LL_Buffer_InfoTypeDef *, LL_ATON_Output_Buffers_Info_, (void));
NETWORK_FUNCTION(const LL_Buffer_InfoTypeDef *, LL_ATON_Input_Buffers_Info_, (void));

/* No stream of ours is encrypted, and internal buffers would cost RAM in every firmware. Neither answer needs the
 * data of the model, so both are right even when a loader calls them without its base. */
static const void *no_encryption(void) { return NULL; }
static const LL_Buffer_InfoTypeDef *no_internal_buffers(void) { return NULL; }

typedef struct {
  bool (*ec_network_init)(void);
  bool (*ec_inference_init)(void);
  LL_ATON_User_IO_Result_t (*input_setter)(uint32_t, void *, uint32_t);
  void *(*input_getter)(uint32_t);
  LL_ATON_User_IO_Result_t (*output_setter)(uint32_t, void *, uint32_t);
  void *(*output_getter)(uint32_t);
  const LL_ATON_RT_EpochBlockItem_t *(*epoch_items)(void);
  const LL_Buffer_InfoTypeDef *(*output_buffers_info)(void);
  const LL_Buffer_InfoTypeDef *(*input_buffers_info)(void);
  const void *(*weight_encryption_info)(void);
  const void *(*blob_encryption_info)(void);
  const LL_Buffer_InfoTypeDef *(*internal_buffers_info)(void);
  void *context;
} entries_t;

/* ---- context ---- */

static const char c_name[] = C_NAME;
static const char description[] = RUNTIME_DESC;

/* The loader puts the name in and the functions aside: they are called through the header. */
static NN_Interface_TypeDef _itf_network = {.network_name = c_name};

typedef struct {
  uint32_t state, file_address, ram_address, rom_address;
  const void *callbacks;
  const char *name;
  uint32_t activations, params, external_ram;
  const char *description;
  uint32_t version, version_extra;
  uint32_t params_size, params_crc32; /* known after the link only */
  uint32_t struct_sizes;
  void *instance;
  NN_Interface_TypeDef *interface;
} context_t;

_Static_assert(sizeof(context_t) == 17 * 4, "17 words");
_Static_assert(sizeof(LL_Buffer_InfoTypeDef) < 256 && sizeof(LL_ATON_RT_EpochBlockItem_t) < 256, "8 bits each");

__attribute__((section(".network_rt_ctx"), used)) context_t _network_rt_ctx = {
    .name = c_name,
    .activations = ACTS_SZ,
    .params = PARAMS_SZ,
    .external_ram = EXT_RAM_SZ,
    .description = description,
    .version = RUNTIME_VERSION,
    .version_extra = RUNTIME_VERSION_DEV,
    .params_size = PARAMS_BIN_SZ,
    .params_crc32 = PARAMS_BIN_CRC32,
    .struct_sizes = sizeof(LL_Buffer_InfoTypeDef) | sizeof(LL_ATON_RT_EpochBlockItem_t) << 8,
    .interface = &_itf_network,
};

__attribute__((section(".network_entries"), used)) const entries_t _network_entries = {
    OF_THE_NETWORK(LL_ATON_EC_Network_Init_),
    OF_THE_NETWORK(LL_ATON_EC_Inference_Init_),
    OF_THE_NETWORK(LL_ATON_Set_User_Input_Buffer_),
    OF_THE_NETWORK(LL_ATON_Get_User_Input_Buffer_),
    OF_THE_NETWORK(LL_ATON_Set_User_Output_Buffer_),
    OF_THE_NETWORK(LL_ATON_Get_User_Output_Buffer_),
    OF_THE_NETWORK(LL_ATON_EpochBlockItems_),
    OF_THE_NETWORK(LL_ATON_Output_Buffers_Info_),
    OF_THE_NETWORK(LL_ATON_Input_Buffers_Info_),
    no_encryption,
    no_encryption,
    no_internal_buffers,
    &_network_rt_ctx,
};
