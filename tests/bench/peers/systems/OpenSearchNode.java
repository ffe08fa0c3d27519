import org.codelibs.opensearch.runner.OpenSearchRunner;

/** One OpenSearch node with its defaults: java OpenSearchNode.java FOLDER HTTP_PORT NODE_PORT. */
public class OpenSearchNode {
    public static void main(String[] args) throws Exception {
        OpenSearchRunner node = new OpenSearchRunner();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> close(node)));
        node.onBuild((number, settings) -> {
            settings.put("discovery.type", "single-node");
            settings.put("network.host", "127.0.0.1");
            settings.put("http.port", args[1]);
            settings.put("transport.port", args[2]);
            settings.put("cluster.routing.allocation.disk.threshold_enabled", false);
        });
        node.build(OpenSearchRunner.newConfigs()
            .basePath(args[0]).clusterName("bench").numOfNode(1).useLogger());
        Thread.currentThread().join();
    }

    private static void close(OpenSearchRunner node) {
        try {
            node.close();
        } catch (Exception error) {
            System.err.println(error);
        }
    }
}
