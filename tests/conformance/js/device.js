// A device: subscribes to requests, then publishes at QoS 1 what the lines of stdin say ({"topic":...,"body":...}).
// Says in a line of JSON each: {"granted":[1]}, {"request":{topic,body}}, {"published":true}, {"closed":true}.
// Ends with a DISCONNECT when stdin ends; does not come back when the server ends the connection.
// usage: node device.js HOST PORT CA_FILE USER_NAME CLIENT_ID FILTER
const fs = require("node:fs");
const readline = require("node:readline");
const mqtt = require("mqtt");

const [host, port, ca, username, clientId, filter] = process.argv.slice(2);
const client = mqtt.connect({
  protocol: "mqtts", host, port: Number(port), ca: fs.readFileSync(ca), username, clientId,
  reconnectPeriod: 0, connectTimeout: 10000,
});

function say(what) {
  console.log(JSON.stringify(what));
}

client.on("error", (error) => say({ error: error.message }));
client.on("close", () => say({ closed: true }));
client.on("message", (topic, body) => say({ request: { topic, body: body.toString() } }));
client.once("connect", async () => {
  const granted = await client.subscribeAsync({ [filter]: { qos: 1 } });
  say({ granted: granted.map((each) => each.qos) });
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { topic, body } = JSON.parse(line);
    await client.publishAsync(topic, body, { qos: 1 });
    say({ published: true });
  }
  await client.endAsync();
});
