"""pylibmc: libmemcached for Python, in the text and in the binary protocol, with SASL in the latter."""

import threading

import pylibmc

from stories import GUARDED, STORE, TOKEN, USER, tell

BEHAVIORS = {"cas": True, "tcp_nodelay": True, "receive_timeout": 5_000_000, "connect_timeout": 5_000}


def connect(binary):
    client = pylibmc.Client([STORE], binary=binary, behaviors=BEHAVIORS)
    client.flush_all()
    return client


def refused(command, *arguments):
    """Whether the server refused: in text that is an answer, in binary for what is unknown an error."""
    try:
        return command(*arguments) is False
    except pylibmc.NotFound:
        return True


def values(client):
    """values are set, read, appended to and deleted"""
    for value in (b"bytes", "text", 7, {"a": [1, 2]}, b"", b"x" * 900_000):
        assert client.set("key", value) is True
        assert client.get("key") == value
    assert client.get("unknown") is None
    assert refused(client.add, "key", b"x")
    assert refused(client.replace, "unknown", b"x")
    client.set("key", b"b")
    assert client.append("key", b"c") is True
    assert client.prepend("key", b"a") is True
    assert client.get("key") == b"abc"
    assert client.delete("key") is True
    assert client.delete("key") is False


def many(client):
    """many keys are set, read and deleted at once"""
    values = {f"key-{n}": f"value {n}" for n in range(500)}
    assert client.set_multi(values) == []
    assert client.get_multi(list(values) + ["unknown"]) == values
    assert client.delete_multi(list(values)) is True
    assert client.get_multi(list(values)) == {}


def numbers(client):
    """numbers are counted up and down"""
    client.set("n", 10)
    assert client.incr("n", 5) == 15
    assert client.decr("n", 20) == 0
    try:
        client.incr("unknown")
        raise AssertionError("an unknown number was counted")
    except pylibmc.NotFound:
        pass


def versions(client):
    """cas takes the version that was read, and no older one"""
    client.set("key", "one")
    value, version = client.gets("key")
    assert value == "one"
    assert client.cas("key", "two", version) is True
    assert client.cas("key", "three", version) is False
    assert client.get("key") == "two"


def ends(client):
    """items end when touch says so"""
    assert client.set("key", "v", time=1000) is True
    assert client.touch("key", 1000) is True
    assert client.get("key") == "v"
    # A second of 1970: what is beyond 30 days is no span.
    assert client.touch("key", 2_592_001) is True
    assert client.get("key") is None
    assert client.touch("key", 1000) is False


def threads(client):
    """a counter that eight threads share loses nothing"""
    client.set("n", 0)
    pool = pylibmc.ThreadMappedPool(client)

    def count():
        with pool.reserve() as own:
            for _ in range(200):
                own.incr("n")
            pool.relinquish()

    workers = [threading.Thread(target=count) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert client.get("n") == 1600


def counted(client):
    """what the server counts is shown"""
    client.set("key", "value")
    [(_, rows)] = client.get_stats()
    text = {str(k): v.decode() if isinstance(v, bytes) else v for k, v in rows.items()}
    assert text["version"] == "1.6.18", text
    assert int(text["cmd_set"]) >= 1 and int(text["curr_items"]) >= 1, text


def token():
    """a store with a token answers only those who have shown it, by SASL"""

    def guarded(password):
        return pylibmc.Client([GUARDED], binary=True, username=USER, password=password)

    client = guarded(TOKEN)
    assert client.set("key", "value") is True
    assert client.get("key") == "value"
    for stranger in (guarded("x" + TOKEN), pylibmc.Client([GUARDED], binary=True)):
        try:
            stranger.set("key", "theirs")
            raise AssertionError("it was let in")
        except pylibmc.Error:
            pass


STORIES = [values, many, numbers, versions, ends, threads, counted]
for protocol, binary in (("text", False), ("binary", True)):
    for story in STORIES:
        story(connect(binary))
        print(f"pylibmc, {protocol}: {story.__doc__}")
assert pylibmc.support_sasl
tell("pylibmc, binary", [token])
