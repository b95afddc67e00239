import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

import javax.servlet.http.HttpServlet;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import javax.servlet.http.HttpSession;

import de.javakaffee.web.msm.MemcachedBackupSessionManager;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

/**
 * A Tomcat whose sessions memcached-session-manager keeps in a store: {@code Node sticky|non-sticky text|binary}.
 * It prints its port, works below the current directory, and ends with its standard input.
 */
public final class Node {
    public static void main(String[] arguments) throws Exception {
        Tomcat tomcat = new Tomcat();
        File directory = Files.createTempDirectory(Path.of("").toAbsolutePath(), "node").toFile();
        tomcat.setBaseDir(directory.getPath());
        tomcat.setPort(0);
        tomcat.getConnector().setProperty("address", "127.0.0.1");
        Context context = tomcat.addContext("", directory.getPath());
        context.setManager(manager(arguments[0].equals("sticky"), arguments[1]));
        Tomcat.addServlet(context, "pages", new Pages());
        context.addServletMappingDecoded("/*", "pages");
        tomcat.start();
        System.out.println(tomcat.getConnector().getLocalPort());
        while (System.in.read() >= 0) {
            // Whoever started it says nothing; it only goes.
        }
        System.exit(0);
    }

    private static MemcachedBackupSessionManager manager(boolean sticky, String protocol) {
        MemcachedBackupSessionManager manager = new MemcachedBackupSessionManager();
        manager.setMemcachedNodes(Stories.STORE);
        manager.setMemcachedProtocol(protocol);
        manager.setSticky(sticky);
        if (!sticky) {
            manager.setLockingMode("all");
        }
        manager.setSessionBackupAsync(false);
        manager.setOperationTimeout(10_000);
        manager.setTranscoderFactoryClass("de.javakaffee.web.msm.JavaSerializationTranscoderFactory");
        return manager;
    }

    /** /count counts the visits of a session, /read tells them, /end ends it. */
    private static final class Pages extends HttpServlet {
        private static final long serialVersionUID = 1;

        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
            HttpSession session = request.getSession();
            Integer visits = (Integer) session.getAttribute("visits");
            visits = visits == null ? 0 : visits;
            switch (request.getPathInfo()) {
                case "/count" -> session.setAttribute("visits", ++visits);
                case "/end" -> session.invalidate();
                default -> { }
            }
            response.getWriter().print(visits);
        }
    }
}
