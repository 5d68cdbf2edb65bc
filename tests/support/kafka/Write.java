// A customer's producer in Java: writes each line of its input as a message, then says how many the brokers have taken.
// java -cp 'libs/*' Write.java BOOTSTRAP TOPIC CODEC plain|transaction

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.AppInfoParser;

public class Write {
    public static void main(String[] told) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", told[0]);
        settings.put("compression.type", told[2]);
        settings.put("linger.ms", "20");
        boolean together = told[3].equals("transaction");
        if (together) {
            settings.put("transactional.id", "of-a-test-" + told[1]);
        }
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            if (together) {
                producer.initTransactions();
                producer.beginTransaction();
            }
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                sent.add(producer.send(new ProducerRecord<>(told[1], "key", line)));
            }
            producer.flush();
            for (Future<RecordMetadata> each : sent) {
                each.get();
            }
            if (together) {
                producer.commitTransaction();
            }
        }
        System.out.println(AppInfoParser.getVersion() + " " + sent.size());
    }
}
