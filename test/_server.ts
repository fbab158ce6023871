import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** An HTTP server on a free port, which goes with all its connections when the test ends: `using server = await serve(…)`. */
export async function serve(answer: RequestListener): Promise<{ url: string; server: Server } & Disposable> {
  const server = createServer(answer);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    server,
    [Symbol.dispose]: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
