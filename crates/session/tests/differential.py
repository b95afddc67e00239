#!/usr/bin/env python3
"""Random commands to this store and to memcached: the answers must be the same, byte by byte.

    differential.py PORT_OF_THIS [ROUNDS] [SEED]

It starts a memcached of its own for each run, and says so and ends well where there is none. What
differs by nature is left out of the comparison: numbers of items (`cas`), sizes, classes and times.
"""

import os
import random
import re
import shutil
import socket
import subprocess
import struct
import sys
import tempfile
import time

KEYS = [b"a", b"b", b"c", b"key:1", b"%41", b"k" * 250, b"Zm9v", b"\x01\x7f"]


def connect(port):
    for _ in range(100):
        try:
            return socket.create_connection(("127.0.0.1", port))
        except OSError:
            time.sleep(0.02)
    raise SystemExit(f"nothing answers on port {port}")


def ask(port, data, end, cut):
    """Sends `data` in pieces and reads until `end` comes, or the connection closes."""
    with connect(port) as stream:
        stream.settimeout(3)
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        answer = b""
        try:
            for piece in cut(data):
                stream.sendall(piece)
            while not answer.endswith(end):
                got = stream.recv(1 << 16)
                if not got:
                    return answer + b"<closed>"
                answer += got
        except TimeoutError:
            return answer + b"<silent>"
        except ConnectionError:
            return answer + b"<closed>"
        return answer


def number(rng):
    return rng.choice([b"0", b"1", b"5", b"10", b"99", b"-1", b"4294967295", b"18446744073709551615",
                       b"18446744073709551616", b"x", b"1x", b"+3", b"2592001", b"-5"])


def value(rng):
    return rng.choice([b"", b"1", b"9", b"10", b"99", b"abc", b"12 ", b" 7", b"\r\nx", b"x" * 100,
                       b"18446744073709551615", b"-1", b"get a\r\n"])


def expiry(rng):
    return rng.choice([b"0"] * 6 + [b"100", b"-1", b"1000", b"2592001", b"1900000000", b"y"])


def classic(rng):
    key, noreply = rng.choice(KEYS), rng.choice([b"", b"", b"", b" noreply"])
    verb = rng.choice(["store"] * 4 + ["get"] * 3 + ["gat", "cas", "touch", "incr", "delete", "odd", "flush"])
    if verb == "store":
        data = value(rng)
        length = len(data) if rng.random() < 0.95 else len(data) + rng.choice([-1, 1, 2])
        name = rng.choice([b"set", b"set", b"add", b"replace", b"append", b"prepend"])
        return b"%s %s %s %s %d%s\r\n%s\r\n" % (
            name, key, rng.choice([b"0", b"7", number(rng)]), expiry(rng), max(length, 0), noreply, data)
    if verb == "get":
        # Not longer than a line of any kind may be: whether memcached takes such a one depends on how
        # it arrives.
        count = rng.choice([1, 1, 1, 2, 5, 40])
        keys = b" ".join(rng.choice(KEYS if count < 5 else KEYS[:4]) for _ in range(count))
        return b"%s %s\r\n" % (rng.choice([b"get", b"get", b"bget", b" get"]), keys)
    if verb == "gat":
        keys = b" ".join(rng.choice(KEYS) for _ in range(rng.choice([1, 1, 2])))
        return b"gat %s %s\r\n" % (expiry(rng), keys)
    if verb == "cas":
        data = value(rng)
        return b"cas %s 1 %s %d %s%s\r\n%s\r\n" % (
            key, expiry(rng), len(data), rng.choice([b"0", b"999999999", b"z"]), noreply, data)
    if verb == "touch":
        return b"touch %s %s%s\r\n" % (key, expiry(rng), noreply)
    if verb == "incr":
        return b"%s %s %s%s\r\n" % (rng.choice([b"incr", b"decr"]), key, number(rng), noreply)
    if verb == "delete":
        return b"delete %s%s%s\r\n" % (key, rng.choice([b"", b"", b" 0", b" 5"]), noreply)
    if verb == "flush":
        return b"flush_all%s%s\r\n" % (rng.choice([b"", b"", b" 0", b" -1", b" q", b" 1 2 3"]), noreply)
    return rng.choice([
        b"\r\n", b"get\r\n", b"get \r\n", b"GET a\r\n", b"a\r\n", b"set a\r\n", b"set a 0 0\r\n", b"verbosity 0\r\n",
        b"verbosity\r\n", b"version\r\n", b"incr a\r\n", b"touch a\r\n", b"delete\r\n", b"stats nothing\r\n",
        b"shutdown\r\n", b"get a\0b\r\n",
        b"set " + b"k" * 251 + b" 0 0 1\r\na\r\n", b"cache_memlimit 1\r\n", b"lru x\r\n", b"slabs\r\n",
        b"nonsense\r\n", b"mq\r\n", b"mn\r\n", b"set a 0 0 3000000\r\n" + b"x" * 3000002, b"  mn  \n", b"get a\n",
        b"set a 0 0 3\nabc\r\n", b"stats detail\r\n", b"stats reset\r\n", b"gat\r\n", b"gat 0\r\n", b"gats 0 zz\r\n"])


def meta(rng):
    key = rng.choice(KEYS[:5] + [b"Zm9v", b"Zg==", b"*", b"k" * 251])
    times = [b"0", b"30", b"100", b"-1", b"x", b"2592001"]
    shared = [b"k", b"O123", b"q", b"b", b"k", b"Oabc", b"O" + b"x" * 31]
    kind = rng.choice(["g", "g", "g", "s", "s", "d", "a", "e"])
    # With a token that is too long, memcached carries the others out, and then says that it did not.
    if kind in "sd":
        shared.append(b"O" + b"x" * 32)
    pools = {
        "g": [b"v", b"t", b"f", b"s", b"h", b"k", b"v", b"T" + rng.choice(times), b"N" + rng.choice(times),
              b"R" + rng.choice(times), b"u", b"x", b"v"],
        "s": [b"T" + rng.choice(times), b"F" + number(rng), b"I", b"ME", b"MA", b"MP", b"MR", b"MS", b"MX", b"M",
              b"C" + rng.choice([b"0", b"1", b"99999999", b"z"])],
        "d": [b"I", b"T" + rng.choice(times), b"C" + rng.choice([b"1", b"99999999", b"z"]), b"x"],
        "a": [b"N" + rng.choice(times), b"J" + number(rng), b"D" + number(rng), b"MI",
              b"MD", b"M-", b"M+", b"MX", b"t", b"v", b"v", b"C" + rng.choice([b"0", b"99999999"])],
        "e": [],
    }
    # Not `T` with `ma`: where the number gets longer, memcached gives the new expiry to the old item.
    flags = rng.sample(pools[kind], min(rng.randint(0, 4), len(pools[kind]))) + rng.sample(shared, rng.choice([0, 0, 1, 2]))
    rng.shuffle(flags)
    tail = b"".join(b" " + flag for flag in flags)
    if kind == "s":
        data = value(rng)
        return b"ms %s %s%s\r\n%s\r\n" % (key, b"%d" % len(data) if rng.random() < 0.95 else b"S1", tail, data)
    return b"m%s %s%s\r\n" % (kind.encode(), key, tail)


def binary(rng):
    key = rng.choice(KEYS)
    opaque, cas = rng.getrandbits(32), rng.choice([0] * 8 + [1, 99999999])
    opcode = rng.choice([0, 0, 1, 1, 1, 2, 3, 4, 5, 6, 0x0A, 0x0B, 0x0C, 0x0E, 0x0F, 0x09, 0x0D] + list(range(0x11, 0x17)) +
                        [0x19, 0x1A, 0x1C, 0x1D, 0x1E, 0x23, 0x24, 8, 0x18])
    when = rng.choice([0, 0, 0, 100, 2592001, 1900000000])
    loud = opcode - 0x10 if 0x11 <= opcode <= 0x16 else opcode
    extras, data = b"", b""
    if loud in (1, 2, 3):
        extras, data = struct.pack(">II", rng.choice([0, 7, 1 << 31]), when), value(rng)
    elif loud in (5, 6):
        extras = struct.pack(">QQI", rng.choice([0, 1, 10, 2**64 - 1]), rng.choice([0, 5]), rng.choice([0, 0, 0xFFFFFFFF]))
    elif loud in (0x0E, 0x0F, 0x19, 0x1A):
        data = value(rng)
    elif loud in (0x1C, 0x1D, 0x1E, 0x23, 0x24):
        extras = struct.pack(">I", when)
    elif loud in (0x0A, 0x0B, 8, 0x18):
        key = b""
    body = extras + key + data
    return struct.pack(">BBHBBHIIQ", 0x80, opcode, len(key), len(extras), 0, 0, len(body), opaque, cas) + body


def plain(answer):
    """The answer without what differs by nature."""
    answer = re.sub(rb"cls=\d+ size=\d+", b"size=", answer)
    # The seconds left of what is past are a wrapped number.
    answer = re.sub(rb" t\d{9,}", b" t", answer)
    # An item that was made by a read, or stored under the plain key, is shown in base64 here if it
    # was asked for in base64; memcached shows the bytes.
    answer = re.sub(rb"( k|ME )[^ \r]+( b)?(?=[ \r])", rb"\1", answer)
    answer = re.sub(rb"la=\d+", b"la=", answer)
    return re.sub(rb"cas=\d+", b"cas=", answer)


def plain_binary(answer):
    """Frames, with the numbers of items hidden."""
    frames, at = [], 0
    while at + 24 <= len(answer):
        length = struct.unpack_from(">I", answer, at + 8)[0]
        frames.append(answer[at:at + 16] + answer[at + 24:at + 24 + length])
        at += 24 + length
    return frames + [answer[at:]]


def one_by_one(port, commands, mark):
    """All answers, when each command waits for the answer to the one before; `mark` is the last."""
    answer = b""
    with connect(port) as stream:
        for command in commands:
            stream.settimeout(3 if command is commands[-1] else 0.05)
            try:
                stream.sendall(command)
                while not answer.endswith(mark) and (got := stream.recv(1 << 16)):
                    answer += got
            except TimeoutError:
                pass
            except ConnectionError:
                return answer + b"<closed>"
    return answer


def tell(seed, kind, batch, ours, theirs):
    """Shows where two answers part."""
    if isinstance(ours, bytes):
        ours, theirs = ours.split(b"\r\n"), theirs.split(b"\r\n")
    at = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
    print(f"seed {seed} ({kind.__name__}) differs in part {at}: {ours[at:at + 2]} instead of {theirs[at:at + 2]}")
    for command in batch if len(batch) < 70 else []:
        print("   ", (command[:100], command[-20:]) if len(command) > 120 else command)


def pieces(rng):
    def cut(data):
        if len(data) > 100000 or rng.random() < 0.7:
            return [data]
        parts, at = [], 0
        while at < len(data):
            step = rng.randint(1, 200)
            parts.append(data[at:at + step])
            at += step
        return parts
    return cut


def start_memcached():
    """A memcached at a port that it chooses itself: one that was free may be taken by then."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "port")
        server = subprocess.Popen(["memcached", "-u", "root", "-l", "127.0.0.1", "-p", "-1", "-U", "0"],
                                  env=os.environ | {"MEMCACHED_PORT_FILENAME": file})
        while not os.path.exists(file):
            if server.poll() is not None:
                raise SystemExit(f"memcached ended with status {server.returncode}")
            time.sleep(0.005)
        with open(file) as lines:
            return server, int(lines.readline().removeprefix("TCP INET: "))


def main():
    if shutil.which("memcached") is None:
        print("skipped: memcached is not installed")
        return
    port, rounds = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 300
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.getrandbits(32)
    server, other = start_memcached()
    differing = 0
    try:
        for turn in range(rounds):
            rng = random.Random(seed + turn)
            kind = rng.choice([classic, classic, meta, meta, binary])
            batch = [kind(rng) for _ in range(rng.choice([1, 5, 20, 60]))]
            if kind is binary:
                end = struct.pack(">BBHBBHIIQ", 0x80, 0x0A, 0, 0, 0, 0, 0, 0xE0D, 0)
                mark = struct.pack(">BBHBBHIIQ", 0x81, 0x0A, 0, 0, 0, 0, 0, 0xE0D, 0)
                clean = struct.pack(">BBHBBHIIQ", 0x80, 0x08, 0, 0, 0, 0, 0, 0, 0)
            else:
                end, mark, clean = b"\r\nmg the-end Othe-end\r\n", b"EN Othe-end\r\n", b"flush_all\r\n"
            data = clean + b"".join(batch) + end
            shown = plain_binary if kind is binary else plain
            ours, theirs = (ask(which, data, mark, pieces(random.Random(turn))) for which in (port, other))
            # What memcached does with an item whose old value is still queued for sending is not what
            # it does otherwise: only what differs one by one counts.
            if shown(ours) != shown(theirs):
                single = [clean] + batch + [end]
                ours, theirs = (one_by_one(which, single, mark) for which in (port, other))
            # memcached may close a connection without sending what it has answered before.
            both_closed = ours.endswith(b"<closed>") and theirs.endswith(b"<closed>")
            if shown(ours) != shown(theirs) and not both_closed:
                differing += 1
                tell(seed + turn, kind, batch, shown(ours), shown(theirs))
                if differing >= 5:
                    break
    finally:
        server.terminate()
        server.wait()
    print(f"{turn + 1} rounds from seed {seed}, {differing} differ")
    sys.exit(differing > 0)


if __name__ == "__main__":
    main()
