import { createServer } from "node:http";
import { createMcpHandler } from "@modelcontextprotocol/server";
import { server } from "./_tools.ts";

const handler = createMcpHandler(server, { legacy: process.argv.includes("--modern") ? "reject" : "stateless" });

/** Serves whoever sends the key, and prints its port. */
const listening = createServer(async (req, res) => {
  if (req.headers["x-key"] !== "open") return void res.writeHead(401).end();
  const chunks: Uint8Array[] = [];
  for await (const chunk of req) chunks.push(chunk);
  const answer = await handler.fetch(
    new Request(`http://127.0.0.1${req.url}`, {
      method: req.method!,
      headers: req.headers as Record<string, string>,
      ...(req.method === "POST" && { body: Buffer.concat(chunks) }),
    }),
  );
  res.writeHead(answer.status, Object.fromEntries(answer.headers));
  for await (const chunk of answer.body ?? []) res.write(chunk);
  res.end();
});
listening.listen(0, "127.0.0.1", () => console.log((listening.address() as { port: number }).port));
