import { Buffer } from "node:buffer";

/** What Bun gives a stream that writes itself to the connection: nothing is sent before `flush`. */
interface Direct {
  write(bytes: Uint8Array): unknown;
  flush(): unknown;
  close(): unknown;
}

/** The turns of the event loop that the SDK takes from a step's beginning to the end of one that had nothing to wait for. */
const TURNS = 3;

/** An answer whose pieces are sent together, see `gathered`. Bun only. */
export function together({ body, status, headers }: Response): Response {
  const pull = (connection: Direct) => gathered(body!, connection);
  return new Response(body && new ReadableStream({ type: "direct", pull } as never), { status, headers });
}

/**
 * Writes a stream to a connection, in one piece what comes within a few turns of the event loop. A step is reported when
 * it begins and when it ends: of short ones the engine then reads once, not twice, and writes once. Of a long one it
 * hears as soon as before.
 */
export async function gathered(body: ReadableStream<Uint8Array>, connection: Direct): Promise<void> {
  const reader = body.getReader();
  let waiting: Uint8Array[] = [];
  const send = () => {
    const pieces = waiting;
    waiting = [];
    if (pieces.length === 0) return;
    try {
      connection.write(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces));
      connection.flush();
    } catch (gone) {
      reader.cancel(gone).catch(() => {});
    }
  };
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      if (waiting.push(read.value) === 1) after(TURNS, send);
    }
    send();
  } finally {
    waiting = []; // a connection that is closed takes no more
    connection.close();
    reader.cancel().catch(() => {}); // the writer learns that its reader is gone
  }
}

function after(turns: number, work: () => void): void {
  setImmediate(() => turns > 1 ? after(turns - 1, work) : work());
}
