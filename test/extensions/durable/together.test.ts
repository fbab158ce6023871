import assert from "node:assert/strict";
import { test } from "node:test";
import { gathered } from "../../../lib/extensions/durable/_together.ts";
import { until } from "../../_until.ts";

/** What a connection sends of an answer that is said in parts, each once the one before was sent; `torn`: then it fails. */
async function sent(parts: readonly (readonly string[])[], torn = false): Promise<string[]> {
  const pieces: string[] = [];
  let unsent = "";
  let isOpen = true;
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      let said = "";
      for (const part of parts) {
        await until(`what was said is sent: ${said.length} bytes`, () => pieces.join("") === said);
        for (const words of part) controller.enqueue(new TextEncoder().encode(words));
        said += part.join("");
      }
      for (let i = 0; i < 20; i++) await undefined; // what was said is read, and not sent yet
      if (torn) controller.error(new Error("torn"));
      else controller.close();
    },
  });
  const working = gathered(body, {
    write(bytes) {
      unsent += isOpen ? new TextDecoder().decode(bytes) : "written to a connection that is closed";
    },
    flush() {
      pieces.push(unsent);
      unsent = "";
    },
    close: () => isOpen = false,
  });
  if (torn) await assert.rejects(working, /torn/);
  else await working;
  assert.equal(isOpen, false);
  await new Promise((resolve) => setTimeout(resolve, 20));
  return pieces;
}

test("gathered() sends what comes at once in one piece, in order, loses nothing, and never waits for what comes later", async () => {
  const long = Array.from(
    { length: 40 },
    (_, n) => Array.from({ length: n + 1 }, (_, i) => `${n}.${i} `.repeat(n * 10)),
  );
  for (const parts of [[], [["begun ", "ended"], [" begun"], [" and ", "at last ", "ended"]], long]) {
    assert.deepEqual(await sent(parts), parts.map((part) => part.join("")).filter((piece) => piece !== ""));
  }
});

test("gathered() closes the connection of an answer that fails, and writes nothing after", async () => {
  assert.deepEqual(await sent([["begun "], ["never sent"]], true), ["begun "]);
});

test("gathered() ends, and reports it to the writer, if the connection is gone", async () => {
  let told: unknown;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode("begun")),
    cancel: (reason) => void (told = reason),
  });
  const gone = new Error("gone");
  const write = () => {
    throw gone;
  };
  await gathered(body, { write, flush: () => {}, close: () => {} });
  assert.equal(told, gone);
});
