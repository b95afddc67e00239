import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

import net.spy.memcached.AddrUtil;
import net.spy.memcached.CASResponse;
import net.spy.memcached.CASValue;
import net.spy.memcached.ConnectionFactoryBuilder;
import net.spy.memcached.ConnectionFactoryBuilder.Protocol;
import net.spy.memcached.MemcachedClient;
import net.spy.memcached.auth.AuthDescriptor;
import net.spy.memcached.auth.PlainCallbackHandler;

/** spymemcached, in the text and in the binary protocol, with SASL in the latter. */
public final class Spy {
    /** A second of 1970, for what is beyond 30 days is no span: what ends then has ended. */
    private static final int LONG_AGO_S = 2_592_001;

    private final MemcachedClient client;

    private Spy(MemcachedClient client) {
        this.client = client;
    }

    public static void main(String[] arguments) throws Exception {
        for (Protocol protocol : new Protocol[] {Protocol.TEXT, Protocol.BINARY}) {
            MemcachedClient client = new MemcachedClient(options(protocol).build(), AddrUtil.getAddresses(Stories.STORE));
            Stories stories = new Stories("spymemcached, " + protocol.name().toLowerCase());
            Spy spy = new Spy(client);
            stories.tell("values are set, read and deleted", spy::values);
            stories.tell("add, replace, append, prepend and cas keep to their conditions", spy::conditions);
            stories.tell("a thousand commands at once are each answered with their own value", spy::many);
            stories.tell("numbers begin where they are told to, and are counted", spy::numbers);
            stories.tell("items end when they are told to", spy::ends);
            if (protocol == Protocol.BINARY) {
                stories.tell("what is read can be given another end at once", spy::getAndTouch);
                stories.tell("a store with a token answers only those who have shown it, by SASL", Spy::token);
            }
            client.shutdown(5, TimeUnit.SECONDS);
        }
    }

    private static ConnectionFactoryBuilder options(Protocol protocol) {
        return new ConnectionFactoryBuilder().setProtocol(protocol).setOpTimeout(10_000);
    }

    private void values() throws Exception {
        client.flush().get();
        for (Object value : new Object[] {"text", 7L, true, "x".repeat(900_000)}) {
            Stories.same(client.set("key", 1000, value).get(), true);
            Stories.same(client.get("key"), value);
        }
        Stories.same(client.delete("key").get(), true);
        Stories.same(client.delete("key").get(), false);
        Stories.same(client.get("key"), null);
    }

    private void conditions() throws Exception {
        Stories.same(client.replace("key", 0, "x").get(), false);
        Stories.same(client.append("key", "x").get(), false);
        Stories.same(client.add("key", 0, "b").get(), true);
        Stories.same(client.add("key", 0, "x").get(), false);
        Stories.same(client.append("key", "c").get(), true);
        Stories.same(client.prepend("key", "a").get(), true);
        CASValue<Object> read = client.gets("key");
        Stories.same(read.getValue(), "abc");
        Stories.same(client.cas("key", read.getCas(), "d"), CASResponse.OK);
        Stories.same(client.cas("key", read.getCas(), "e"), CASResponse.EXISTS);
        Stories.same(client.cas("unknown", read.getCas(), "e"), CASResponse.NOT_FOUND);
        Stories.same(client.get("key"), "d");
    }

    private void many() throws Exception {
        Map<String, Object> values = new HashMap<>();
        for (int n = 0; n < 500; n++) {
            values.put("key-" + n, "value " + n);
        }
        for (Map.Entry<String, Object> each : values.entrySet()) {
            client.set(each.getKey(), 0, each.getValue());
        }
        Stories.same(client.getBulk(values.keySet()), values);
        Stories.same(client.getBulk(Collections.singleton("unknown")), Collections.emptyMap());
    }

    private void numbers() throws Exception {
        client.delete("n").get();
        Stories.same(client.incr("n", 1L), -1L);
        Stories.same(client.incr("n", 1, 10L), 10L);
        Stories.same(client.incr("n", 5), 15L);
        Stories.same(client.decr("n", 20), 0L);
    }

    private void ends() throws Exception {
        client.set("key", 1000, "value").get();
        Stories.same(client.touch("key", 1000).get(), true);
        Stories.same(client.get("key"), "value");
        Stories.same(client.touch("key", LONG_AGO_S).get(), true);
        Stories.same(client.get("key"), null);
        Stories.same(client.touch("key", 1000).get(), false);
    }

    private void getAndTouch() throws Exception {
        client.set("key", 1000, "value").get();
        Stories.same(client.getAndTouch("key", 1000).getValue(), "value");
        Stories.same(client.getAndTouch("key", LONG_AGO_S).getValue(), "value");
        Stories.same(client.get("key"), null);
        Stories.same(client.getAndTouch("key", 1000), null);
    }

    private static void token() throws Exception {
        MemcachedClient friend = guest(Stories.TOKEN);
        Stories.same(friend.set("key", 0, "value").get(), true);
        Stories.same(friend.get("key"), "value");
        friend.shutdown();
        MemcachedClient stranger = guest("x" + Stories.TOKEN);
        try {
            Stories.same(stranger.set("key", 0, "theirs").get(), false);
        } catch (ExecutionException | RuntimeException refused) {
            // The connection was given up: as good an answer.
        }
        stranger.shutdown();
        friend = guest(Stories.TOKEN);
        Stories.same(friend.get("key"), "value");
        friend.shutdown();
    }

    private static MemcachedClient guest(String password) throws Exception {
        AuthDescriptor descriptor =
                new AuthDescriptor(new String[] {"PLAIN"}, new PlainCallbackHandler(Stories.USER, password));
        return new MemcachedClient(
                options(Protocol.BINARY).setAuthDescriptor(descriptor).setOpTimeout(3_000).build(),
                AddrUtil.getAddresses(Stories.GUARDED));
    }
}
