/* Types and macros of the legacy C API that applications of CPU networks are written for. The names are the API's, the
 * code and the encodings are our own: use the macros, never the numbers behind them. */
#ifndef AI_PLATFORM_H
#define AI_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t ai_u8;
typedef int8_t ai_i8;
typedef uint16_t ai_u16;
typedef int16_t ai_i16;
typedef uint32_t ai_u32;
typedef int32_t ai_i32;
typedef uint64_t ai_u64;
typedef int64_t ai_i64;
typedef float ai_float;
typedef bool ai_bool;
typedef uint32_t ai_size;
typedef uint32_t ai_flags;
typedef ai_u8 *ai_ptr;
typedef void *ai_handle;

#define AI_HANDLE_NULL ((ai_handle)0)
#define AI_HANDLE_PTR(ptr) ((ai_handle)(ptr))
#define AI_PTR(ptr) ((ai_ptr)(ptr))
#define AI_ALIGNED(bytes) __attribute__((aligned(bytes)))
#define AI_API_ENTRY
#define AI_UNUSED(x) (void)(x);
/* First and last entry of the tables of handles. */
#define AI_MAGIC_MARKER ((uintptr_t)0xa1facadeu)

/* ---- errors ---- */

typedef struct {
  ai_u32 type : 8;
  ai_u32 code : 24;
} ai_error;

typedef enum {
  AI_ERROR_NONE = 0x00,
  AI_ERROR_INVALID_HANDLE = 0x10,
  AI_ERROR_INVALID_STATE = 0x11,
  AI_ERROR_INVALID_INPUT = 0x12,
  AI_ERROR_INVALID_OUTPUT = 0x13,
  AI_ERROR_INVALID_PARAM = 0x14,
  AI_ERROR_INIT_FAILED = 0x30
} ai_error_type;

typedef enum {
  AI_ERROR_CODE_NONE = 0x00,
  AI_ERROR_CODE_NETWORK = 0x10,
  AI_ERROR_CODE_NETWORK_PARAMS = 0x11,
  AI_ERROR_CODE_NETWORK_WEIGHTS = 0x12,
  AI_ERROR_CODE_NETWORK_ACTIVATIONS = 0x13,
  AI_ERROR_CODE_INVALID_PTR = 0x17
} ai_error_code;

/* ---- formats of elements: bits, fraction bits, sign and kind of number ---- */

typedef uint32_t ai_buffer_format;

#define AI_BUFFER_FMT_TYPE_NONE 0u
#define AI_BUFFER_FMT_TYPE_FLOAT 1u
#define AI_BUFFER_FMT_TYPE_Q 2u
#define AI_BUFFER_FMT_TYPE_BOOL 3u
#define AI_BUFFER_FMT(type, sign, bits, fbits)                                                                         \
  ((ai_buffer_format)(((type) << 24) | ((sign) << 16) | ((fbits) << 8) | (bits)))
#define AI_BUFFER_FMT_GET_TYPE(format) (((format) >> 24) & 0x0fu)
#define AI_BUFFER_FMT_GET_SIGN(format) (((format) >> 16) & 1u)
#define AI_BUFFER_FMT_GET_FBITS(format) (((format) >> 8) & 0xffu)
#define AI_BUFFER_FMT_GET_BITS(format) ((format) & 0xffu)

#define AI_BUFFER_FORMAT_NONE AI_BUFFER_FMT(AI_BUFFER_FMT_TYPE_NONE, 0u, 0u, 0u)
#define AI_BUFFER_FORMAT_FLOAT AI_BUFFER_FMT(AI_BUFFER_FMT_TYPE_FLOAT, 1u, 32u, 0u)
#define AI_BUFFER_FORMAT_U8 AI_BUFFER_FMT(AI_BUFFER_FMT_TYPE_Q, 0u, 8u, 0u)
#define AI_BUFFER_FORMAT_S8 AI_BUFFER_FMT(AI_BUFFER_FMT_TYPE_Q, 1u, 8u, 0u)
#define AI_BUFFER_FORMAT_U16 AI_BUFFER_FMT(AI_BUFFER_FMT_TYPE_Q, 0u, 16u, 0u)
#define AI_BUFFER_FORMAT_S16 AI_BUFFER_FMT(AI_BUFFER_FMT_TYPE_Q, 1u, 16u, 0u)
#define AI_BUFFER_FORMAT_S32 AI_BUFFER_FMT(AI_BUFFER_FMT_TYPE_Q, 1u, 32u, 0u)
#define AI_BUFFER_FORMAT_S64 AI_BUFFER_FMT(AI_BUFFER_FMT_TYPE_Q, 1u, 64u, 0u)
#define AI_BUFFER_FORMAT_BOOL AI_BUFFER_FMT(AI_BUFFER_FMT_TYPE_BOOL, 0u, 8u, 0u)

/* ---- buffers ---- */

#define AI_SHAPE_BATCH 0u
#define AI_SHAPE_HEIGHT 1u
#define AI_SHAPE_WIDTH 2u
#define AI_SHAPE_CHANNEL 3u
#define AI_SHAPE_DIMENSIONS 4u

typedef struct {
  ai_u32 size; /* AI_SHAPE_DIMENSIONS */
  const ai_u32 *data;
} ai_buffer_shape;

/* Affine quantization: value = scale * (element - zero point), for the whole tensor or for each channel. */
typedef struct {
  ai_u16 size; /* 0: not quantized */
  const ai_float *scale;
  const ai_i32 *zeropoint;
} ai_buffer_meta_info;

typedef struct {
  ai_buffer_format format;
  ai_handle data;
  const ai_buffer_meta_info *meta_info;
  ai_flags flags;
  ai_size size; /* elements */
  ai_buffer_shape shape;
} ai_buffer;

#define AI_FLAG_NONE 0u
#define AI_BUFFER_SHAPE_NONE {0u, NULL}

#define AI_BUFFER_FORMAT(buffer) ((buffer)->format)
#define AI_BUFFER_DATA(buffer, type) ((type *)(buffer)->data)
#define AI_BUFFER_SIZE(buffer) ((buffer)->size)
#define AI_BUFFER_BYTE_SIZE(count, format) ((ai_size)(count) * (AI_BUFFER_FMT_GET_BITS(format) / 8u))
#define AI_BUFFER_SHAPE_ELEM(buffer, dimension) ((buffer)->shape.data[dimension])
#define AI_BUFFER_META_INFO_INTQ(meta) ((meta) != NULL && (meta)->size != 0u)
#define AI_BUFFER_META_INFO_INTQ_GET_SIZE(meta) ((meta) != NULL ? (meta)->size : 0u)
#define AI_BUFFER_META_INFO_INTQ_GET_SCALE(meta, pos)                                                                  \
  ((meta) != NULL && (ai_u32)(pos) < (meta)->size ? (meta)->scale[pos] : 0.0f)
#define AI_BUFFER_META_INFO_INTQ_GET_ZEROPOINT(meta, pos)                                                              \
  ((meta) != NULL && (ai_u32)(pos) < (meta)->size ? (meta)->zeropoint[pos] : 0)

/* ---- a network's memory, for ai_<name>_init ---- */

/* data is the buffer; where a network has several, a table of handles to them (ai_handle[]). */
typedef struct {
  ai_buffer params;      /* weights */
  ai_buffer activations;
} ai_network_params;

#define AI_BUFFER_INIT(flags_, format_, shape_, size_, meta_, data_)                                                   \
  {(format_), (data_), (meta_), (flags_), (size_), shape_}
#define AI_NETWORK_PARAMS_INIT(weights_, activations_) {weights_, activations_}

typedef struct {
  const char *model_name;
  const char *model_signature;
  ai_u64 n_macc;
  ai_u32 n_nodes;
  ai_u16 n_inputs;
  ai_u16 n_outputs;
  ai_buffer *inputs;
  ai_buffer *outputs;
  ai_u32 activations_size; /* bytes of all buffers */
  ai_u32 weights_size;
} ai_network_report;

#endif
