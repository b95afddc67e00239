"""pymemcache: the text protocol in pure Python."""

import threading

from pymemcache.client.base import Client, PooledClient
from pymemcache.exceptions import MemcacheClientError, MemcacheServerError

from stories import GUARDED, STORE, TOKEN, USER, address, tell


def connect(**options):
    client = Client(address(STORE), timeout=5, connect_timeout=5, default_noreply=False, **options)
    client.flush_all()
    return client


def values():
    """values of any bytes are set, read and deleted"""
    client = connect()
    large = bytes(range(256)) * 2000
    assert client.set("key", b"value") is True
    assert client.set("large", large) is True
    assert client.set("none", b"") is True
    assert client.get("key") == b"value"
    assert client.get("large") == large
    assert client.get("none") == b""
    assert client.get("unknown", "default") == "default"
    assert client.delete("key") is True
    assert client.delete("key") is False
    assert client.get("key") is None


def conditions():
    """add, replace, append, prepend and cas keep to their conditions"""
    client = connect()
    assert client.replace("key", b"x") is False
    assert client.append("key", b"x") is False
    assert client.add("key", b"b") is True
    assert client.add("key", b"x") is False
    assert client.append("key", b"c") is True
    assert client.prepend("key", b"a") is True
    value, version = client.gets("key")
    assert value == b"abc"
    assert client.cas("key", b"d", version) is True
    assert client.cas("key", b"e", version) is False
    assert client.cas("unknown", b"e", version) is None
    assert client.get("key") == b"d"


def many():
    """many keys are set, read and deleted at once"""
    client = connect()
    values = {f"key-{n}": b"%d" % n for n in range(500)}
    assert client.set_many(values) == []
    assert client.get_many(list(values) + ["unknown"]) == values
    versions = client.gets_many(["key-1", "key-2"])
    assert {key: value for key, (value, _) in versions.items()} == {"key-1": b"1", "key-2": b"2"}
    assert client.delete_many(list(values)) is True
    assert client.get_many(list(values)) == {}


def numbers():
    """numbers are counted up and down, and stop at zero"""
    client = connect()
    assert client.incr("n", 1) is None
    client.set("n", b"10")
    assert client.incr("n", 5) == 15
    assert client.decr("n", 20) == 0
    client.set("n", b"18446744073709551615")
    assert client.incr("n", 1) == 0
    client.set("n", b"text")
    try:
        client.incr("n", 1)
        raise AssertionError("a text was counted")
    except MemcacheClientError as error:
        assert b"non-numeric" in error.args[0], error


def ends():
    """items end when they are told to, by set and by touch"""
    client = connect()
    assert client.touch("key", 100) is False
    for end in (lambda: client.set("key", b"v", expire=-1), lambda: client.touch("key", -1)):
        assert client.set("key", b"v", expire=100) is True
        assert client.touch("key", 100) is True
        assert client.get("key") == b"v"
        end()
        assert client.get("key") is None


def no_reply():
    """commands without a reply are all carried out, in order"""
    client = connect()
    for n in range(1000):
        client.set("key", b"%d" % n, noreply=True)
    client.set("n", b"0", noreply=True)
    for _ in range(100):
        client.incr("n", 2, noreply=True)
    assert client.get("key") == b"999"
    assert client.get("n") == b"200"


def limits():
    """values that are too large are refused, and the connection goes on"""
    client = connect()
    try:
        client.set("key", b"x" * (2 << 20))
        raise AssertionError("2 MiB were taken")
    except MemcacheServerError as error:
        assert b"too large" in error.args[0], error
    assert client.set("key", b"x" * 1_000_000) is True
    assert client.version() == b"1.6.18"
    assert client.stats()[b"cmd_set"] >= 2


def threads():
    """a counter that eight threads share loses nothing, by incr and by cas"""
    client = PooledClient(address(STORE), max_pool_size=8, timeout=10, default_noreply=False)
    client.flush_all()
    client.set("incr", b"0")
    client.set("cas", b"0")

    def count():
        for _ in range(100):
            client.incr("incr", 1)
            while True:
                value, version = client.gets("cas")
                if client.cas("cas", b"%d" % (int(value) + 1), version):
                    break

    workers = [threading.Thread(target=count) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert (client.get("incr"), client.get("cas")) == (b"800", b"800")


def token():
    """a store with a token answers only those who have shown it"""
    client = Client(address(GUARDED), timeout=5, default_noreply=False)
    try:
        client.get("key")
        raise AssertionError("it was let in")
    except MemcacheClientError as error:
        assert b"unauthenticated" in error.args[0], error
    client = Client(address(GUARDED), timeout=5, default_noreply=False)
    assert client.set("auth", f"{USER} {TOKEN}") is True
    assert client.set("key", b"value") is True
    assert client.get("key") == b"value"


tell("pymemcache", [values, conditions, many, numbers, ends, no_reply, limits, threads, token])
