import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** memcached-session-manager: a visitor's session outlives the Tomcat that it was made at. */
public final class Failover {
    private static final HttpClient HTTP = HttpClient.newHttpClient();

    public static void main(String[] arguments) throws Exception {
        for (String protocol : new String[] {"text", "binary"}) {
            for (String mode : new String[] {"sticky", "non-sticky"}) {
                try (Tomcat a = new Tomcat(mode, protocol); Tomcat b = new Tomcat(mode, protocol)) {
                    stories(new Stories("memcached-session-manager, " + mode + ", " + protocol), mode, a, b);
                }
            }
        }
    }

    private static void stories(Stories stories, String mode, Tomcat a, Tomcat b) throws Exception {
        stories.tell("a session that was ended is gone", () -> {
            Visitor visitor = new Visitor();
            visitor.get(a, "/count");
            visitor.get(a, "/end");
            Stories.same(visitor.get(a, "/read"), "0");
        });
        if (mode.equals("non-sticky")) {
            stories.tell("visits to both Tomcats in turn are all counted", () -> {
                Visitor visitor = new Visitor();
                for (int count = 1; count <= 20; count++) {
                    Stories.same(visitor.get(count % 2 == 0 ? a : b, "/count"), String.valueOf(count));
                }
            });
            stories.tell("visits to both Tomcats at once are all counted", () -> atOnce(a, b));
        }
        stories.tell("what was written at a Tomcat that was killed is read at the other", () -> {
            List<Visitor> visitors = new ArrayList<>();
            for (int n = 0; n < 10; n++) {
                Visitor visitor = new Visitor();
                Stories.same(visitor.get(a, "/count"), "1");
                Stories.same(visitor.get(a, "/count"), "2");
                visitors.add(visitor);
            }
            a.close();
            for (Visitor visitor : visitors) {
                Stories.same(visitor.get(b, "/read"), "2");
                Stories.same(visitor.get(b, "/count"), "3");
            }
        });
    }

    /** A window at each Tomcat: within one, the manager does not part the requests of a session. */
    private static void atOnce(Tomcat a, Tomcat b) throws Exception {
        Visitor visitor = new Visitor();
        visitor.get(a, "/count");
        ExecutorService windows = Executors.newFixedThreadPool(2);
        List<Callable<Void>> visits = new ArrayList<>();
        for (Tomcat tomcat : List.of(a, b)) {
            visits.add(() -> {
                for (int count = 0; count < 10; count++) {
                    visitor.get(tomcat, "/count");
                }
                return null;
            });
        }
        for (Future<Void> visit : windows.invokeAll(visits)) {
            visit.get();
        }
        windows.shutdown();
        Stories.same(visitor.get(b, "/read"), "21");
    }

    /** A Tomcat in a process of its own, that starts while others do; killed when closed. */
    private static final class Tomcat implements AutoCloseable {
        private final Process process;
        private int port;

        Tomcat(String mode, String protocol) throws IOException {
            List<String> command = new ArrayList<>();
            command.add(System.getProperty("java.home") + "/bin/java");
            command.addAll(List.of("-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
            command.addAll(List.of("-cp", System.getProperty("java.class.path")));
            command.addAll(List.of("Node", mode, protocol));
            process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        }

        /** Its port, when it has started. */
        synchronized int port() throws IOException {
            if (port == 0) {
                String line = new BufferedReader(new InputStreamReader(process.getInputStream())).readLine();
                if (line == null) {
                    throw new AssertionError("a Tomcat does not start");
                }
                port = Integer.parseInt(line);
            }
            return port;
        }

        @Override
        public void close() {
            process.destroyForcibly().onExit().join();
        }
    }

    /** A browser, as far as its session goes. */
    private static final class Visitor {
        private volatile String cookie = "";

        String get(Tomcat tomcat, String path) throws Exception {
            URI uri = URI.create("http://127.0.0.1:" + tomcat.port() + path);
            HttpRequest request = HttpRequest.newBuilder(uri).header("Cookie", cookie).build();
            HttpResponse<String> page = HTTP.send(request, HttpResponse.BodyHandlers.ofString());
            Stories.same(page.statusCode(), 200);
            page.headers().firstValue("Set-Cookie").ifPresent(field -> cookie = field.split(";")[0]);
            return page.body();
        }
    }
}
