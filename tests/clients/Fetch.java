// Asks for URLs by one of Java's two HTTPS clients and prints a line for each: status and body, or "refused" and why.
//   java Fetch connection|client URL...    with https.proxyHost, https.proxyPort and, if wanted, javax.net.ssl.trustStore
// SPDX-License-Identifier: Apache-2.0
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import javax.net.ssl.HttpsURLConnection;

public class Fetch {
  public static void main(String[] arguments) throws Exception {
    for (int i = 1; i < arguments.length; ++i) {
      try {
        System.out.println(arguments[0].equals("client") ? byClient(arguments[i]) : byConnection(arguments[i]));
      } catch (IOException e) {
        System.out.println("refused\t" + e.getClass().getName() + ": " + e.getMessage());
      }
    }
  }

  static String byConnection(String url) throws IOException {
    HttpsURLConnection connection = (HttpsURLConnection) URI.create(url).toURL().openConnection();
    connection.setConnectTimeout(20_000);
    connection.setReadTimeout(20_000);
    int status = connection.getResponseCode();
    try (InputStream in = status < 400 ? connection.getInputStream() : connection.getErrorStream()) {
      String body = in == null ? "" : new String(in.readAllBytes(), StandardCharsets.UTF_8);
      return status + "\t" + body.lines().findFirst().orElse("");
    }
  }

  static String byClient(String url) throws IOException, InterruptedException {
    InetSocketAddress proxy = new InetSocketAddress(
        System.getProperty("https.proxyHost"), Integer.getInteger("https.proxyPort"));
    HttpClient client = HttpClient.newBuilder()
        .proxy(ProxySelector.of(proxy)).connectTimeout(Duration.ofSeconds(20)).build();
    HttpResponse<String> answer = client.send(
        HttpRequest.newBuilder(URI.create(url)).timeout(Duration.ofSeconds(20)).build(),
        HttpResponse.BodyHandlers.ofString());
    return answer.statusCode() + "\t" + answer.body().lines().findFirst().orElse("");
  }
}
