#pragma once
#define STAI_DIGITS_MODEL_NAME "digits"
#define STAI_CONTEXT_SIZE (64)
