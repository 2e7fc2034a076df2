/* The reference application: brings the memories up, starts the runtime, then computes what the host sends. */
#include "app_networks.h"
#include "host_link.h"
#include "profile.h"
#include "start.h"
#include "user_io.h"

int main(void) {
  start_application("reference application");
  for (unsigned n = 0; n < app_network_count; n++) {
    NN_Instance_TypeDef *instance = app_networks[n].instance;
#ifdef NEURALART_PROFILE
    LL_ATON_RT_SetNetworkCallback(instance, profile_epoch);
#endif
    if (!LL_ATON_RT_Init_Network(instance)) {
      give_up(HOST_LINK_E_INIT, app_networks[n].name, "the runtime refuses the network: it runs software epochs only");
    }
    const char *wrong = user_io_provide(instance);
    if (wrong != NULL) {
      give_up(HOST_LINK_E_BUFFERS, app_networks[n].name, wrong);
    }
  }
  host_link_serve();
  idle();
}
