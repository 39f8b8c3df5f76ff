/* The kind of services that run already. */
#ifndef PL_SERVICE_ATTACH_INT_H
#define PL_SERVICE_ATTACH_INT_H

#include "service/service_int.h"

extern const struct service_kind service_attach;

#endif
