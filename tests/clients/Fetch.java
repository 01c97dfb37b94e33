// Asks for URLs by one of Java's two clients, through the proxy of the system's properties, and prints a line for each:
// status and body, or "refused" and why.
//   java -Dhttp.proxyHost=.. -Dhttp.proxyPort=.. [-Dtest.user=NAME -Dtest.password=..] Fetch connection|client URL...
//   also -Djavax.net.ssl.trustStore=..
// SPDX-License-Identifier: Apache-2.0
import java.io.IOException;
import java.io.InputStream;
import java.net.Authenticator;
import java.net.HttpURLConnection;
import java.net.PasswordAuthentication;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

public class Fetch {
  static class Login extends Authenticator {
    @Override
    protected PasswordAuthentication getPasswordAuthentication() {
      String user = System.getProperty("test.user");
      return user == null ? null : new PasswordAuthentication(user, System.getProperty("test.password").toCharArray());
    }
  }

  public static void main(String[] arguments) throws Exception {
    Authenticator.setDefault(new Login());
    for (int i = 1; i < arguments.length; ++i) {
      try {
        System.out.println(arguments[0].equals("client") ? byClient(arguments[i]) : byConnection(arguments[i]));
      } catch (IOException e) {
        System.out.println("refused\t" + e.getClass().getName() + ": " + e.getMessage());
      }
    }
  }

  static String byConnection(String url) throws IOException {
    HttpURLConnection connection = (HttpURLConnection) URI.create(url).toURL().openConnection();
    connection.setConnectTimeout(20_000);
    connection.setReadTimeout(20_000);
    int status = connection.getResponseCode();
    try (InputStream in = status < 400 ? connection.getInputStream() : connection.getErrorStream()) {
      String body = in == null ? "" : new String(in.readAllBytes(), StandardCharsets.UTF_8);
      return status + "\t" + body.replace('\n', ' ');
    }
  }

  static String byClient(String url) throws IOException, InterruptedException {
    HttpClient client = HttpClient.newBuilder().proxy(ProxySelector.getDefault()).authenticator(new Login())
        .connectTimeout(Duration.ofSeconds(20)).build();
    HttpResponse<String> answer = client.send(
        HttpRequest.newBuilder(URI.create(url)).timeout(Duration.ofSeconds(20)).build(),
        HttpResponse.BodyHandlers.ofString());
    return answer.statusCode() + "\t" + answer.body().replace('\n', ' ');
  }
}
