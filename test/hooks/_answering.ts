import type { IncomingMessage } from "node:http";
import { serve } from "../_server.ts";

interface Got {
  readonly request: IncomingMessage;
  readonly body: string;
}

/** A server for http hooks: it keeps what is posted to it, and answers all of it with the same text, or never. */
export async function answering(
  answer: string | undefined,
  status = 200,
): Promise<{ url: string; got: readonly Got[] } & Disposable> {
  const got: Got[] = [];
  const server = await serve((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => body += text).on("end", () => {
      got.push({ request, body });
      if (answer !== undefined) response.writeHead(status, { location: "http://127.0.0.1:1/" }).end(answer);
    });
  });
  return { url: server.url, got, [Symbol.dispose]: () => server[Symbol.dispose]() };
}
