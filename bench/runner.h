/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_BENCH_RUNNER_H
#define MKSPLIT_BENCH_RUNNER_H

/*
 * The runner: a process that is exec'd for one cell (launch.h) and speaks with its parent over a
 * socket that keeps messages apart (SOCK_SEQPACKET). A message is a letter and text:
 *
 *   parent   P key=value...            what to prepare, as PREP of docs/protocol.md has it
 *            G start first interval n stop
 *   runner   M folder                  the folder that it made, to be removed should it die
 *            R                         ready
 *            F why, U why              failed, or not available here
 *            S k before after count... a sample, only when asked with live=1
 *            D part of the result      in order
 *            E                         the end of the result
 *
 * When the socket is closed, or at SIGTERM, the runner removes what it made and ends.
 */
#define RUNNER_MESSAGE_MAX 32768

int runner_main(int fd);

#endif
