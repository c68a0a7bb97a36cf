// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What QEMU is told: the machine that mirrors a partition, and the words of its control socket,
 * with a QEMU that is played by a thread and says what no QEMU should.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "harness/backend/qemu/guest.h"
#include "harness/backend/qemu/qmp.h"
#include "tests/unit/fake_machine.h"

/* A machine, and one guest on a part of it. */
struct scene {
	struct fake_machine machine;
	struct fake_cpu *cpus;
	struct root root;
	struct topology topology;
	struct plan_partition partition;
	struct plan_kernel kernel;
	struct guest guest;
	struct backend_env env;
};

static void set_list(struct cpumask *m, const char *list)
{
	struct err e = ERR_INIT;

	assert_int_equal(cpumask_parse(m, list, &e), 0);
}

static void scene_make(struct scene *s, int packages, int cores, int threads, const char *cpus)
{
	struct err e = ERR_INIT;

	*s = (struct scene){.root = ROOT_INIT};
	s->cpus = fake_cpus(packages, cores, threads);
	s->machine = (struct fake_machine){
		.cpus = s->cpus, .ncpus = packages * cores * threads, .node_mib = 4096};
	fake_machine_make(&s->machine);
	fake_machine_topology(&s->machine, &s->topology);
	assert_int_equal(root_open(&s->root, s->machine.dir, &e), 0);
	s->partition = (struct plan_partition){.name = "west", .memory = 600 << 20};
	set_list(&s->partition.cpus, cpus);
	s->kernel = (struct plan_kernel){.name = "k", .image = "auto", .append = "quiet x=1"};
	s->guest = (struct guest){.partition = &s->partition,
				  .kernel = &s->kernel,
				  .console = "/run/console",
				  .link = "/run/link",
				  .control = "/run/qmp",
				  .log = "/results/log"};
	s->env = (struct backend_env){.root = &s->root, .topology = &s->topology, .token = "word"};
	assert_int_equal(guest_order(&s->guest, &s->topology, &e), 0);
}

static void scene_free(struct scene *s)
{
	free(s->guest.cpus);
	cpumask_free(&s->partition.cpus);
	cpumask_free(&s->partition.nodes);
	topology_free(&s->topology);
	root_close(&s->root);
	fake_machine_remove(&s->machine);
	free(s->cpus);
}

/* The command line as one string. The caller frees. */
static char *command(const struct scene *s, bool kvm)
{
	cleanup_words struct words w = {0};
	size_t size;
	char *text;
	FILE *f = open_memstream(&text, &size);

	guest_command(&w, &s->guest, &(struct guest_files){"/boot/image", "/run/initramfs"}, kvm,
		      &s->env);
	assert_false(w.failed);
	for (int i = 0; i < w.n; i++)
		fprintf(f, " %s", w.v[i]);
	fputc(' ', f);
	fclose(f);
	return text;
}

static void assert_shape(int packages, int cores, int threads, const char *cpus, const char *shape)
{
	struct guest_shape got;
	struct scene s;
	char text[40];

	scene_make(&s, packages, cores, threads, cpus);
	got = guest_shape(&s.guest, &s.topology);
	snprintf(text, sizeof(text), "%dx%dx%d%s", got.sockets, got.cores, got.threads,
		 got.flat ? " flat" : "");
	assert_string_equal(text, shape);
	assert_int_equal(got.sockets * got.cores * got.threads, s.guest.ncpus);
	scene_free(&s);
}

static void test_guests_mirror_their_cpus(void **state)
{
	(void)state;
	assert_shape(2, 4, 2, "0-15", "2x4x2");
	assert_shape(2, 4, 2, "0-3,8-11", "1x4x2");
	assert_shape(2, 4, 1, "0-7", "2x4x1");
	assert_shape(2, 4, 2, "0-3", "1x4x1"); /* first threads only */
	assert_shape(1, 1, 1, "0", "1x1x1");
	/* One thread here, two there; three CPUs here, one there: no machine is like that. */
	assert_shape(1, 4, 2, "0-1,4", "1x3x1 flat");
	assert_shape(2, 4, 1, "0-2,4", "1x4x1 flat");
	/* A gap in the APIC ids locks small guests up, and larger ones not. */
	assert_shape(2, 3, 1, "0-5", "1x6x1 flat");
	assert_shape(2, 5, 1, "0-9", "2x5x1");
}

static void test_guest_cpus_follow_the_topology(void **state)
{
	/* Linux numbers first threads first; the guest has threads of a core side by side. */
	static const int want[] = {0, 4, 1, 5, 2, 6, 3, 7};
	struct scene s;

	(void)state;
	scene_make(&s, 1, 4, 2, "0-7");
	assert_memory_equal(s.guest.cpus, want, sizeof(want));
	scene_free(&s);
}

static void test_offline_cpu_is_an_error(void **state)
{
	struct err e = ERR_INIT;
	struct scene s;

	(void)state;
	scene_make(&s, 1, 2, 1, "0-1");
	set_list(&s.partition.cpus, "0-2");
	assert_int_equal(guest_order(&s.guest, &s.topology, &e), -EINVAL);
	assert_non_null(strstr(e.text, "west"));
	scene_free(&s);
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in \"%s\"", part, text);
}

static void test_kernel_and_ports(void **state)
{
	struct scene s;
	char *text;

	(void)state;
	scene_make(&s, 1, 2, 1, "0-1");
	text = command(&s, false);
	assert_has(text, " -accel tcg,thread=multi ");
	assert_has(text, " -S ");
	assert_has(text, " -no-reboot ");
	assert_has(text, " -nodefaults ");
	assert_null(strstr(text, "-net"));
	assert_has(text,
		   " console=ttyS0 panic=-1 no_timer_check mksplit.link=ttyS1 mksplit.token=word "
		   "quiet x=1 ");
	/* The first -serial is ttyS0. */
	assert_true(strstr(text, "-serial chardev:console") < strstr(text, "-serial chardev:link"));
	free(text);

	s.kernel.one_console = true;
	text = command(&s, true);
	assert_has(text, " -accel kvm ");
	assert_null(strstr(text, "no_timer_check"));
	assert_has(text, "mksplit.link=ttyS0");
	assert_null(strstr(text, "chardev:console"));
	assert_has(text, "logfile=/results/log");
	free(text);
	scene_free(&s);
}

static void test_memory_of_one_node(void **state)
{
	struct scene s;
	char *text;

	(void)state;
	scene_make(&s, 2, 2, 1, "2-3");
	set_list(&s.partition.nodes, "1");
	text = command(&s, true);
	assert_has(text, "id=m0,size=600M,prealloc=on,host-nodes=1,policy=bind ");
	assert_null(strstr(text, "-numa"));
	free(text);
	scene_free(&s);
}

static void test_nodes_are_mirrored(void **state)
{
	struct scene s;
	char *text;

	(void)state;
	scene_make(&s, 2, 2, 1, "0-3");
	set_list(&s.partition.nodes, "0-1");
	s.partition.memory = 601 << 20;
	fake_machine_file(&s.machine, "/sys/devices/system/node/node0/distance", "10 21\n");
	fake_machine_file(&s.machine, "/sys/devices/system/node/node1/distance", "31 10\n");
	text = command(&s, true);
	assert_has(text, "id=m0,size=300M,prealloc=on,host-nodes=0,policy=bind ");
	assert_has(text, "id=m1,size=301M,prealloc=on,host-nodes=1,policy=bind ");
	assert_has(text, " node,nodeid=0,memdev=m0,cpus=0,cpus=1 ");
	assert_has(text, " node,nodeid=1,memdev=m1,cpus=2,cpus=3 ");
	assert_has(text, " dist,src=0,dst=1,val=21 ");
	assert_has(text, " dist,src=1,dst=0,val=31 ");
	free(text);
	/* What QEMU would refuse is not said at all. */
	fake_machine_file(&s.machine, "/sys/devices/system/node/node1/distance", "255 10\n");
	text = command(&s, true);
	assert_null(strstr(text, "dist,"));
	free(text);
	scene_free(&s);
}

/* A QEMU of which we know what it answers. */
struct fake_qemu {
	char path[64];
	int listener;
	const char *const *says; /* after the greeting and the answer to qmp_capabilities: one a command */
	pthread_t thread;
};

static void *play(void *arg)
{
	struct fake_qemu *q = arg;
	int fd = accept(q->listener, NULL, NULL);
	const char *greeting = "{\"QMP\": {}}\r\n", *ready = "{\"return\": {}}\r\n";
	char in[4096];

	send(fd, greeting, strlen(greeting), MSG_NOSIGNAL);
	if (read(fd, in, sizeof(in)) > 0)
		send(fd, ready, strlen(ready), MSG_NOSIGNAL);
	for (const char *const *s = q->says; *s; s++) {
		if (read(fd, in, sizeof(in)) <= 0)
			break;
		/* By halves: a line need not come in one piece. */
		send(fd, *s, strlen(*s) / 2, MSG_NOSIGNAL);
		poll(NULL, 0, 5);
		send(fd, *s + strlen(*s) / 2, strlen(*s) - strlen(*s) / 2, MSG_NOSIGNAL);
	}
	shutdown(fd, SHUT_WR);
	while (read(fd, in, sizeof(in)) > 0)
		;
	close(fd);
	return NULL;
}

static int is_alive(void *arg, struct err *e)
{
	return arg ? err_set(e, ECHILD, "it died") : 0;
}

static struct qmp *meet(struct fake_qemu *q, const char *const *says)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct err e = ERR_INIT;
	struct qmp *qmp;

	snprintf(q->path, sizeof(q->path), "/tmp/mksplit-qmp-%d", getpid());
	unlink(q->path);
	strcpy(a.sun_path, q->path);
	q->says = says;
	q->listener = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(q->listener, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(q->listener, 1), 0);
	assert_int_equal(pthread_create(&q->thread, NULL, play, q), 0);
	assert_int_equal(qmp_open(&qmp, q->path, 60000, is_alive, NULL, &e), 0);
	return qmp;
}

static void part(struct fake_qemu *q, struct qmp *qmp)
{
	qmp_close(&qmp);
	pthread_join(q->thread, NULL);
	close(q->listener);
	unlink(q->path);
}

static void test_answers_between_events(void **state)
{
	static const char *const says[] = {
		"{\"event\": \"NIC_RX_FILTER_CHANGED\"}\r\n{\"return\": [7]}\r\n",
		"{\"error\": {\"class\": \"GenericError\", \"desc\": \"not now\"}}\r\n", NULL};
	struct err e = ERR_INIT;
	struct fake_qemu q;
	struct qmp *qmp = meet(&q, says);
	json_t *answer = NULL;

	(void)state;
	assert_int_equal(qmp_do(qmp, "query-x", json_pack("{s:i}", "a", 1), &answer, &e), 0);
	assert_int_equal(json_integer_value(json_array_get(answer, 0)), 7);
	json_decref(answer);
	assert_int_equal(qmp_do(qmp, "stop", NULL, NULL, &e), -EIO);
	assert_string_equal(e.text, "QEMU refused stop: not now");
	assert_int_equal(qmp_do(qmp, "stop", NULL, NULL, &e), -EPIPE);
	part(&q, qmp);
}

static void test_answers_that_are_none(void **state)
{
	static const char *const says[] = {"[]\r\n", "{\r\n", NULL};
	struct err e = ERR_INIT;
	struct fake_qemu q;
	struct qmp *qmp = meet(&q, says);

	(void)state;
	assert_int_equal(qmp_do(qmp, "a", NULL, NULL, &e), -EPROTO);
	assert_int_equal(qmp_do(qmp, "b", NULL, NULL, &e), -EPROTO);
	part(&q, qmp);
}

static void test_endless_answer(void **state)
{
	const char *says[] = {NULL, NULL};
	char *line = malloc(3 << 20);
	struct err e = ERR_INIT;
	struct fake_qemu q;
	struct qmp *qmp;

	(void)state;
	memset(line, 'x', 3 << 20);
	line[(3 << 20) - 1] = '\0';
	says[0] = line;
	qmp = meet(&q, says);
	assert_int_equal(qmp_do(qmp, "a", NULL, NULL, &e), -EPROTO);
	part(&q, qmp);
	free(line);
}

static bool becomes(struct qmp *qmp, bool stopped)
{
	for (int i = 0; i < 3000 && qmp_stopped(qmp) != stopped; i++)
		poll(NULL, 0, 10);
	return qmp_stopped(qmp) == stopped;
}

static void test_stopped_guest(void **state)
{
	static const char *const says[] = {"{\"return\": {}}\r\n{\"event\": \"RESUME\"}\r\n",
					   "{\"return\": {}}\r\n{\"event\": \"STOP\"}\r\n",
					   "{\"event\": \"RESUME\"}\r\n{\"return\": {}}\r\n", NULL};
	struct err e = ERR_INIT;
	struct fake_qemu q;
	struct qmp *qmp = meet(&q, says);

	(void)state;
	assert_false(qmp_stopped(NULL));
	assert_int_equal(qmp_do(qmp, "cont", NULL, NULL, &e), 0);
	assert_false(qmp_stopped(qmp));
	assert_int_equal(qmp_do(qmp, "x", NULL, NULL, &e), 0);
	assert_true(becomes(qmp, true));
	assert_int_equal(qmp_do(qmp, "cont", NULL, NULL, &e), 0);
	assert_true(becomes(qmp, false));
	part(&q, qmp);
}

static void test_dead_qemu_is_not_waited_for(void **state)
{
	struct err e = ERR_INIT;
	struct qmp *qmp = NULL;

	(void)state;
	assert_int_equal(qmp_open(&qmp, "/nonexistent/qmp", 600000, is_alive, (void *)1, &e),
			 -ECHILD);
	assert_string_equal(e.text, "it died");
	assert_null(qmp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_guests_mirror_their_cpus),
		cmocka_unit_test(test_guest_cpus_follow_the_topology),
		cmocka_unit_test(test_offline_cpu_is_an_error),
		cmocka_unit_test(test_kernel_and_ports),
		cmocka_unit_test(test_memory_of_one_node),
		cmocka_unit_test(test_nodes_are_mirrored),
		cmocka_unit_test(test_answers_between_events),
		cmocka_unit_test(test_answers_that_are_none),
		cmocka_unit_test(test_endless_answer),
		cmocka_unit_test(test_stopped_guest),
		cmocka_unit_test(test_dead_qemu_is_not_waited_for),
	};

	alarm(300);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
