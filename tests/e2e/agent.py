#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Another agent, written from docs/protocol.md alone. It shows that the page is enough, and drives
mksplit through whole runs without the benchmark binary: agent.py list --json, agent.py agent
--fd N --token WORD. Its one honest loop is getppid1; every test it lists runs that.

MKSPLIT_TEST_AGENT may name a misbehaviour, which hits the tests called unlink1: "kill-task",
"hang", "exit", "noise"."""
import ctypes
import json
import mmap
import os
import re
import signal
import struct
import sys
import time
import zlib

TESTS = ["getppid1", "unlink1", "rename1"]
SLOT = 256  # bytes between the counters of two tasks
FAULT = os.environ.get("MKSPLIT_TEST_AGENT", "")


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


def escape(data):
    if not data:
        return "-"
    if data == b"-":
        return "%2D"
    return "".join(chr(b) if 0x20 < b < 0x7E and b != 0x25 else f"%{b:02X}" for b in data)


def unescape(word):
    if word == "-":
        return ""
    return re.sub("%([0-9A-F]{2})", lambda m: chr(int(m[1], 16)), word)


def frame(seq, payload):
    head = f"{seq} {len(payload)}"
    crc = zlib.crc32(f"{head} {payload}".encode())
    return f"\n~A {head} {crc:08X} {payload}\n".encode()


def parse(line):
    m = re.fullmatch(r"H ([0-9]{1,10}) ([0-9]{1,10}) ([0-9A-F]{8}) (.*)", line)
    if not m or len(m[4]) != int(m[2]) or zlib.crc32(f"{m[1]} {m[2]} {m[4]}".encode()) != int(m[3], 16):
        return None
    return int(m[1]), m[4]


def running_on():
    return ctypes.CDLL(None).sched_getcpu()


class Cell:
    """One cell: a process a task and one that samples."""

    def __init__(self, ident, keys):
        self.ident, self.keys = ident, keys
        self.cpus = [int(c) for c in keys["cpus"].split(",")]
        self.shared = mmap.mmap(-1, SLOT * (len(self.cpus) + 1))
        self.children, self.samples, self.result = [], [], None
        self.stop = 0

    def task(self, n, start):
        os.sched_setaffinity(0, {self.cpus[n]})
        before = running_on()
        while now() < start:
            pass
        view, count, entered = memoryview(self.shared).cast("Q"), 0, now()
        used = time.process_time_ns()
        at, stop = SLOT // 8 * n, self.stop
        while True:
            for _ in range(200):
                os.getppid()
                count += 1
                view[at] = count
            if now() >= stop:
                break
        left, used = now(), time.process_time_ns() - used
        struct.pack_into("5Q", self.shared, SLOT * n + 8, entered, left, used, before, running_on())
        os._exit(0)

    def go(self, start, first, interval, n, stop):
        self.stop = stop
        for task in range(len(self.cpus)):
            pid = os.fork()
            if pid == 0:
                self.task(task, start)
            self.children.append(pid)
        self.plan = (first, interval, n)

    def sample_all(self):
        first, interval, n = self.plan
        for k in range(n + 1):
            time.sleep(max(0, (first + k * interval - now()) / 1e9))
            before = now()
            counts = [struct.unpack_from("Q", self.shared, SLOT * t)[0] for t in range(len(self.cpus))]
            self.samples.append((k, before, now(), counts))

    def wait(self):
        for n, pid in enumerate(self.children):
            _, status = os.waitpid(pid, 0)
            if status:
                self.children = []
                return f"task {n} on CPU {self.cpus[n]}: signal {os.WTERMSIG(status)}"
        tasks = [struct.unpack_from("5Q", self.shared, SLOT * n + 8) for n in range(len(self.cpus))]
        out = ["result 1", f"test family={self.keys['family']} name={self.keys['test']} mode={self.keys['mode']}",
               "metric id=0 name=ops unit=1/s better=more kind=rate combine=sum"]
        for n, (entered, left, used, before, after) in enumerate(tasks):
            out.append(f"task n={n} pid={self.children[n]} cpu={self.cpus[n]} node=0 cpu_before={before} "
                       f"cpu_after={after} cpu_ns={used} wall_ns={left - entered} involuntary=0 voluntary=0")
        out.append(f"cover from={max(t[0] for t in tasks)} to={min(t[1] for t in tasks)}")
        for k, before, after, counts in self.samples:
            out.append(f"sample metric=0 k={k} before={before} after={after} counts={','.join(map(str, counts))}")
        out += ["note room=none", "end", ""]
        self.result, self.children = "\n".join(out).encode(), []
        return None

    def drop(self):
        for pid in self.children:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        self.children = []


class Agent:
    def __init__(self, fd, token):
        self.fd, self.token, self.cell, self.failed = fd, token, None, None
        self.nonce = os.urandom(4).hex()
        self.facts = b""

    def answer(self, payload):
        words = payload.split(" ")
        handler = getattr(self, "on_" + words[0].lower(), None)
        return handler(words[1:]) if handler else "NO " + escape(b"unknown request")

    def on_hi(self, w):
        if unescape(w[0]) != self.token:
            return "NO " + escape(b"wrong token")
        return f"OK 1 another {self.nonce} 0"

    def on_facts(self, w):
        u = os.uname()
        self.facts = f"kernel.release={escape(u.release.encode())}\nkernel.arch={escape(u.machine.encode())}\n".encode()
        return f"OK {len(self.facts)}"

    def on_cpus(self, w):
        cpus = ",".join(str(c) for c in sorted(os.sched_getaffinity(0)))
        return f"OK {cpus} {re.sub('[0-9]+', '?', cpus)}"

    def on_get(self, w):
        data = {"facts": self.facts, "result": self.cell.result if self.cell else b"", "log": b""}.get(w[0])
        if data is None:
            return "NO " + escape(b"no such object")
        return f"OK {len(data)} {escape(data[int(w[1]):int(w[1]) + 2048])}"

    def on_time(self, w):
        return f"OK {w[0]} {self.received} {now()}"

    def on_prep(self, w):
        keys = {k: unescape(v) if k not in ("sampler", "dir") else v for k, v in (x.split("=", 1) for x in w[1:])}
        if keys["test"] not in TESTS:
            return "NO " + escape(b"no such test")
        self.cell, self.failed = Cell(w[0], keys), None
        return f"OK {w[0]}"

    def on_go(self, w):
        self.cell.go(*map(int, w[1:]))
        self.armed = True
        return f"OK {w[0]}"

    def on_done(self, w):
        if self.failed:
            return f"OK {w[0]} failed {escape(self.failed.encode())}"
        if self.cell.result is not None:
            return f"OK {w[0]} done {len(self.cell.result)}"
        return f"OK {w[0]} {'running' if self.cell.stop else 'ready'}"

    def on_drop(self, w):
        if self.cell:
            self.cell.drop()
            self.cell = None
        return f"OK {w[0]}"

    def on_off(self, w):
        self.off = unescape(w[0]) == self.token
        return "OK" if self.off else "NO " + escape(b"wrong token")

    def misbehave(self):
        if self.cell.keys["test"] != "unlink1":
            return
        if FAULT == "kill-task":
            os.kill(self.cell.children[0], signal.SIGSEGV)
        elif FAULT == "hang":
            signal.pause()
        elif FAULT == "exit":
            print("agent: out of luck", file=sys.stderr, flush=True)
            os._exit(3)
        elif FAULT == "noise":
            os.write(self.fd, b"[    1.234567] a kernel message\r\n~A 1 2 broken\r\n" * 20)

    def run(self):
        os.write(self.fd, frame(1, f"HELLO 1 another {self.nonce}"))
        buffer, last, reply, self.off = b"", 0, "", False
        while not self.off:
            data = os.read(self.fd, 65536)
            self.received = now()
            if not data:
                break
            buffer += data
            *lines, buffer = buffer.split(b"\n")
            for line in lines:
                got = parse(line.replace(b"\r", b"").decode("latin-1").rpartition("~")[2])
                if not got or got[0] < last:
                    continue
                self.armed = False
                if got[0] > last:
                    reply = self.answer(got[1])
                last = got[0]
                os.write(self.fd, frame(last, reply))
                if self.armed:
                    self.misbehave()
                    self.cell.sample_all()
                    self.failed = self.cell.wait()
        if self.cell:
            self.cell.drop()


def main():
    if sys.argv[1:3] == ["list", "--json"]:
        print(json.dumps({"tests": [{"family": "scale", "test": t, "summary": "getppid1", "modes": ["processes"]}
                                    for t in TESTS]}))
        return
    args = dict(zip(sys.argv[2::2], sys.argv[3::2]))
    Agent(int(args["--fd"]), args["--token"]).run()


main()
