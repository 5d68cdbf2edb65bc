// The published receiver: it handles a message, writes the head of an answer and never ends it. Prints each webhook-id.
const server = require("node:http").createServer((request, response) => {
  let body = "";
  request.on("data", (part) => { body += part; });
  request.on("end", () => {
    console.log(JSON.stringify({ id: request.headers["webhook-id"], n: JSON.parse(body).n }));
    response.writeHead(200);
  });
});
server.listen(0, "127.0.0.1", () => console.log(JSON.stringify({ port: server.address().port })));
