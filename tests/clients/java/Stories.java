import java.util.Objects;

/** How the stories of a client are told: each runs in order and is named when it has passed. */
final class Stories {
    /** The address of a store that anybody may use, as HOST:PORT. */
    static final String STORE = System.getenv("FOREBAY_STORE");
    /** The address of a store that wants USER and TOKEN. */
    static final String GUARDED = System.getenv("FOREBAY_GUARDED_STORE");
    static final String USER = System.getenv("FOREBAY_USER");
    static final String TOKEN = System.getenv("FOREBAY_TOKEN");

    /** How something that was promised is tried. */
    interface Story {
        void run() throws Exception;
    }

    private final String client;

    Stories(String client) {
        this.client = client;
    }

    void tell(String promise, Story story) throws Exception {
        story.run();
        System.out.println(client + ": " + promise);
    }

    static void same(Object actual, Object expected) {
        if (!Objects.equals(actual, expected)) {
            throw new AssertionError(actual + ", not " + expected);
        }
    }
}
