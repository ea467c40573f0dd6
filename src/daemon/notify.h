/* SPDX-License-Identifier: MIT */
/* Telling the service manager (sd_notify); one of notify_systemd.c and notify_none.c is built. */
#pragma once

/* state: as of sd_notify(3), e.g. "READY=1". Without a service manager nothing happens. */
void notify_service(const char *state);
