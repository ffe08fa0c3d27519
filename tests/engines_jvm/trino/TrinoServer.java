/** Starts Trino's server as its distribution does, with the version that it is told. */
public final class TrinoServer {
    private TrinoServer() {}

    public static void main(String[] args) {
        new io.trino.server.Server().start(args[0]);
    }
}
