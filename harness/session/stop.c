// SPDX-License-Identifier: GPL-2.0-or-later
#include <signal.h>

#include "harness/session/session.h"

static volatile sig_atomic_t first_signal, count;

static void remember(int number)
{
	if (!first_signal)
		first_signal = number;
	if (count < 2)
		count++;
}

static void do_nothing(int number)
{
}

void stop_watch(void)
{
	/* Without SA_RESTART: a sleep or a poll has to end early. */
	struct sigaction note = {.sa_handler = remember};
	/* A handler and not SIG_IGN, which the programs that we start would inherit. */
	struct sigaction pass = {.sa_handler = do_nothing, .sa_flags = SA_RESTART};

	sigaction(SIGINT, &note, NULL);
	sigaction(SIGTERM, &note, NULL);
	/* A terminal that goes away does not end hours of measuring. */
	sigaction(SIGHUP, &pass, NULL);
	sigaction(SIGPIPE, &pass, NULL);
}

int stop_asked(void)
{
	return first_signal;
}

bool stop_hurry(void)
{
	return count > 1;
}
