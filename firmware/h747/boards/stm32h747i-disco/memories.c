/* Brings the SDRAM of the STM32H747I-DISCO up: FMC, the memory's own start sequence, and an MPU region that makes it
 * normal memory (the core's address map has devices there).
 *
 * Numbers: CMSIS device header STM32H7 (registers), data sheet of the IS42S32800 (geometry, cycles at 100 MHz). Pin
 * multiplexing and clock tree are NOT set here and none of this was tried on silicon: a real board's application defines
 * board_memories_pins(), which is called while the FMC is clocked and still off.
 */
#include <stdint.h>

void board_memories_init(void);
void board_memories_pins(void);

__attribute__((weak)) void board_memories_pins(void) {}

#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))

#define RCC_AHB3ENR REGISTER(0x580244D4u)
#define RCC_AHB3ENR_FMCEN (1u << 12)

#define FMC_BCR1 REGISTER(0x52004000u)
#define FMC_BCR1_FMCEN (1u << 31)
#define FMC_SDCR1 REGISTER(0x52004140u)
#define FMC_SDCR2 REGISTER(0x52004144u)
#define FMC_SDTR1 REGISTER(0x52004148u)
#define FMC_SDTR2 REGISTER(0x5200414Cu)
#define FMC_SDCMR REGISTER(0x52004150u)
#define FMC_SDRTR REGISTER(0x52004154u)

/* Bank 2: 9 column and 12 row bits, 32 bits wide, 4 banks, CAS latency 3; clock and burst are set in bank 1 for both. */
#define GEOMETRY ((1u << 0) | (1u << 2) | (2u << 4) | (1u << 6) | (3u << 7))
#define CLOCK_HALF_BURST ((2u << 10) | (1u << 12))
/* Cycles less one: mode register 2, exit self refresh 7, self refresh 4, row cycle 7, recovery 2, precharge 2, row to
 * column 2; row cycle and precharge count in bank 1. */
#define TIMING_1 ((6u << 12) | (1u << 20))
#define TIMING_2 ((1u << 0) | (6u << 4) | (3u << 8) | (6u << 12) | (1u << 16) | (1u << 20) | (1u << 24))

#define BANK_2 (1u << 3)
enum { CLOCK_ENABLE = 1, PRECHARGE_ALL = 2, AUTO_REFRESH = 3, LOAD_MODE = 4 };
#define REFRESHES(n) (((n) - 1u) << 5)
/* Burst of 1, sequential, CAS latency 3, single writes. */
#define MODE_REGISTER (0x0230u << 9)
#define REFRESH_COUNT (0x0603u << 1)

#define MPU_CTRL REGISTER(0xE000ED94u)
#define MPU_RNR REGISTER(0xE000ED98u)
#define MPU_RBAR REGISTER(0xE000ED9Cu)
#define MPU_RASR REGISTER(0xE000EDA0u)
#define SDRAM_BASE 0xD0000000u
/* 32 MiB (2 to the 25th), normal memory, write back and allocate, full access, no code. */
#define SDRAM_REGION ((1u << 28) | (3u << 24) | (1u << 19) | (1u << 17) | (1u << 16) | (24u << 1) | 1u)

static void wait(uint32_t rounds) {
  while (rounds-- != 0) {
    __asm__ volatile("nop");
  }
}

static void command(uint32_t what) {
  FMC_SDCMR = what | BANK_2;
  wait(1000);
}

void board_memories_init(void) {
  RCC_AHB3ENR |= RCC_AHB3ENR_FMCEN;
  (void)RCC_AHB3ENR; /* the clock runs when this read has come back */
  board_memories_pins();
  FMC_SDCR1 = CLOCK_HALF_BURST;
  FMC_SDCR2 = GEOMETRY;
  FMC_SDTR1 = TIMING_1;
  FMC_SDTR2 = TIMING_2;
  FMC_BCR1 |= FMC_BCR1_FMCEN;
  command(CLOCK_ENABLE);
  wait(100000); /* 100 us at least, whatever the core's clock */
  command(PRECHARGE_ALL);
  command(AUTO_REFRESH | REFRESHES(8));
  command(LOAD_MODE | MODE_REGISTER);
  FMC_SDRTR = REFRESH_COUNT;
  MPU_RNR = 0;
  MPU_RBAR = SDRAM_BASE;
  MPU_RASR = SDRAM_REGION;
  MPU_CTRL = (1u << 2) | 1u; /* elsewhere the core's own map */
  __asm__ volatile("dsb\n isb" ::: "memory");
}
