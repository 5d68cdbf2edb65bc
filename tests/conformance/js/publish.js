// Publishes one message at each QoS and prints what came of it, one JSON object.
// usage: node publish.js HOST PORT CA_FILE USER_NAME TOPIC
const fs = require("node:fs");
const mqtt = require("mqtt");

const [host, port, ca, username, topic] = process.argv.slice(2);
const client = mqtt.connect({
  protocol: "mqtts", host, port: Number(port), ca: fs.readFileSync(ca), username, reconnectPeriod: 0, connectTimeout: 10000,
});

function finish(outcome) {
  console.log(JSON.stringify(outcome));
  client.end(true, () => process.exit(0));
}

client.on("error", (error) => finish({ refused: error.code }));
client.on("connect", async () => {
  const requests = "v1/sensors/me/rpc/request/+";
  const granted = await client.subscribeAsync({ [requests]: { qos: 1 } });
  for (const qos of [0, 1, 2]) {
    await client.publishAsync(topic, `{"qos":${qos}}`, { qos });
  }
  finish({ granted: granted.map((each) => each.qos) });
});
