// Posts to each URL with the client of the JDK as it is: its default is HTTP/2, so each first request to a server
// without TLS has `Connection: Upgrade, HTTP2-Settings` and `Upgrade: h2c`.
//
// Usage: java Posts.java (<url> <content type> <file>)…; a line each: status, version, first characters of the body.

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;

public class Posts {
  public static void main(String[] args) throws Exception {
    HttpClient shared = HttpClient.newHttpClient();
    for (int at = 0; at < args.length; at += 3) {
      HttpRequest request = HttpRequest.newBuilder(URI.create(args[at]))
          .timeout(Duration.ofSeconds(20))
          .header("content-type", args[at + 1])
          .POST(HttpRequest.BodyPublishers.ofFile(Path.of(args[at + 2])))
          .build();
      // A client of its own, and one that may have a connection from before.
      for (HttpClient client : new HttpClient[] {HttpClient.newHttpClient(), shared}) {
        HttpResponse<String> response =
            client.send(request, HttpResponse.BodyHandlers.ofString());
        String body = response.body().replace("\n", " ");
        System.out.println(response.statusCode() + " " + response.version() + " "
            + body.substring(0, Math.min(160, body.length())));
      }
    }
  }
}
