/* Stands in for the vendor's header: names, signals and settings of the counter unit as they are documented, own code. */
#ifndef LL_ATON_DBGTRC_H
#define LL_ATON_DBGTRC_H

#include <stdint.h>

enum {
  DBGTRC_VDD = 1,
  SWITCH_OSTRX_STALL = 2,
  DBGTRC_SWITCH_OSTRX_HENV = 56,
  SWITCH_ISTRX_STALL = 83,
  BUS_INTERFACE_READ1X8B = 276,
  BUS_INTERFACE_READ2X8B = 278,
  BUS_INTERFACE_READ4X8B = 280,
  BUS_INTERFACE_READ8X8B = 282,
  BUS_INTERFACE_WRITE1X8B = 284,
  BUS_INTERFACE_WRITE2X8B = 286,
  BUS_INTERFACE_WRITE4X8B = 288,
  BUS_INTERFACE_WRITE8X8B = 290
};
enum { DBGTRC_EVT_LOW, DBGTRC_EVT_HI, DBGTRC_EVT_POSEDGE, DBGTRC_EVT_NEGEDGE };

typedef struct {
  unsigned int signal;
  unsigned char evt_type;
  unsigned char wrap;
  unsigned char countdown;
  unsigned char int_disable;
  uint32_t counter;
} LL_Dbgtrc_Counter_InitTypdef;

int LL_Dbgtrc_Init(int id);
int LL_Dbgtrc_Deinit(int id);
void LL_Dbgtrc_EnableClock(void);
void LL_Dbgtrc_DisableClock(void);
int LL_Dbgtrc_Counter_Init(int id, int counter, LL_Dbgtrc_Counter_InitTypdef *setting);
int LL_Dbgtrc_Counter_Start(int id, int counter);
int LL_Dbgtrc_Counter_Stop(int id, int counter);
uint32_t LL_Dbgtrc_Counter_Read(int id, int counter);

#endif
