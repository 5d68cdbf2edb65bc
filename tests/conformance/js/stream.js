// Publishes every line of stdin as one message; prints the number of each line (from 0) once it is acknowledged.
// Reconnects as the library does by itself. Refused: prints "refused CODE" and ends.
// usage: node stream.js HOST PORT CA_FILE USER_NAME TOPIC QOS
const fs = require("node:fs");
const readline = require("node:readline");
const mqtt = require("mqtt");

const [host, port, ca, username, topic, qos] = process.argv.slice(2);
const client = mqtt.connect({ protocol: "mqtts", host, port: Number(port), ca: fs.readFileSync(ca), username });

client.on("error", (error) => {
  if (typeof error.code === "number") {
    console.log(`refused ${error.code}`);
    process.exit(0);
  }
});
// A connection that ends while the library sends its store again hands back, unsent, what was published meanwhile.
async function publish(line) {
  for (;;) {
    try {
      return await client.publishAsync(topic, line, { qos: Number(qos) });
    } catch (error) {
      if (error.message !== "Connection closed") throw error;
      await new Promise((next) => setTimeout(next, 100));
    }
  }
}

client.once("connect", async () => {
  const acknowledged = [];
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const number = acknowledged.length;
    acknowledged.push(publish(line).then(() => console.log(String(number))));
  }
  await Promise.all(acknowledged);
  await client.endAsync();
});
