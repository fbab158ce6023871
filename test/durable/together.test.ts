import assert from "node:assert/strict";
import { test } from "node:test";
import { together } from "../../lib/durable/_together.ts";
import { IS_DENO, until } from "./_kill.ts";

const options = IS_DENO ? { skip: "Deno's server has no streams that write themselves" } : {};

interface Bun {
  serve(options: object): { port: number; stop(now: boolean): Promise<void> };
}

/** The pieces in which an answer arrives that is said in parts, each once the one before has arrived. */
async function arriving(parts: readonly (readonly string[])[]): Promise<string[]> {
  const { Bun } = globalThis as unknown as { Bun: Bun };
  const pieces: string[] = [];
  const body = () =>
    new ReadableStream<Uint8Array>({
      async start(controller) {
        let said = "";
        for (const part of parts) {
          for (const words of part) controller.enqueue(new TextEncoder().encode(words));
          said += part.join("");
          await until(`what was said arrives: ${said.length} bytes`, () => pieces.join("") === said);
        }
        controller.close();
      },
    });
  const fetching = () => together(new Response(body(), { status: 201 }));
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: fetching });
  try {
    const response = await fetch(`http://127.0.0.1:${server.port}`);
    assert.equal(response.status, 201);
    for await (const piece of response.body!) pieces.push(new TextDecoder().decode(piece));
    return pieces;
  } finally {
    await server.stop(true);
  }
}

test(
  "together() sends what comes at once in one piece, in order, and never waits for what comes later",
  options,
  async () => {
    const parts = [["begun ", "ended"], [" begun"], [" and ", "at last ", "ended"]];
    assert.deepEqual(await arriving(parts), parts.map((part) => part.join("")));
    assert.deepEqual(await arriving([]), []);
  },
);

test("together() loses nothing of a long answer", options, async () => {
  const parts = Array.from({ length: 40 }, (_, n) => Array.from({ length: n }, (_, i) => `${n}.${i} `.repeat(n * 10)));
  assert.equal((await arriving(parts)).join(""), parts.flat().join(""));
});
