// Each line on stdin is a request, [method, url, token or null, body or null]; its answer, [status, text], is a line on
// stdout. Nothing is set but what a caller of fetch sets; the runtime adds its own headers.
"use strict";

const lines = require("node:readline").createInterface({ input: process.stdin });

async function answer(line) {
  const [method, url, token, body] = JSON.parse(line);
  const headers = token === null ? {} : { "X-Authorization": `Bearer ${token}` };
  const response = await fetch(url, { method, headers, body });
  return JSON.stringify([response.status, await response.text()]);
}

(async () => {
  for await (const line of lines) console.log(await answer(line));
})();
