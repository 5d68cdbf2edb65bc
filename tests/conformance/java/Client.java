import java.io.ByteArrayInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Logs in, registers a vehicle and reads scores with the JDK's own client at its defaults; prints status and body of each
 * answer. Arguments: address of the server, body of the log-in, body of the registration, path of the scores.
 */
public class Client {
    private static final HttpClient CLIENT = HttpClient.newHttpClient();

    public static void main(String[] given) throws Exception {
        String address = given[0];
        String login = send(to(address + "/api/auth/login").POST(BodyPublishers.ofString(given[1])));
        Matcher token = Pattern.compile("\"token\":\"([^\"]+)\"").matcher(login);
        String bearer = token.find() ? "Bearer " + token.group(1) : "";

        // Of a stream the client does not know the length: it sends chunks.
        byte[] vehicle = given[2].getBytes(StandardCharsets.UTF_8);
        HttpRequest.Builder registration = to(address + "/api/tre/v1/vehicle").header("X-Authorization", bearer);
        send(registration.POST(BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(vehicle))));

        send(to(address + given[3]).header("X-Authorization", bearer).GET());
    }

    private static HttpRequest.Builder to(String address) {
        return HttpRequest.newBuilder(URI.create(address)).header("Content-Type", "application/json");
    }

    private static String send(HttpRequest.Builder request) throws Exception {
        HttpResponse<String> answer = CLIENT.send(request.build(), HttpResponse.BodyHandlers.ofString());
        System.out.println(answer.statusCode() + " " + answer.body());
        return answer.body();
    }
}
