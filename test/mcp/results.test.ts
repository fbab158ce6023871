import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { blocksOf, outputOf } from "../../lib/mcp/results.ts";
import { PNG } from "./_tools.ts";

/** The picture with another width in its header. */
function wide(pixels: number): string {
  const bytes = Buffer.from(PNG, "base64");
  bytes.writeUInt32BE(pixels, 16);
  return bytes.toString("base64");
}

const shown = { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } };
const picture = (data: string, mimeType = "image/png") => ({ type: "image", mimeType, data });
const cut = Buffer.from(PNG, "base64").subarray(0, 40).toString("base64");

const CASES: readonly [what: string, given: object, read: unknown][] = [
  ["a picture", picture(PNG), [shown]],
  ["a picture that the server calls something else", picture(PNG, "image/jpeg"), [shown]],
  ["a picture in lines, as some encoders write it", picture(PNG.replace(/.{20}/g, "$&\n")), [shown]],
  ["no picture at all", picture("aGk="), "(an image of type image/png, which cannot be shown)"],
  [
    "a damaged picture",
    picture(cut),
    "(an image of type image/png, which cannot be shown as it is damaged or cut off)",
  ],
  [
    "a picture too wide",
    picture(wide(9000)),
    "(an image of type image/png, which cannot be shown as a side is over 8000 pixels: make a smaller copy, current size is 9000x1)",
  ],
  ["a resource that is a picture", { type: "resource", resource: { uri: "x:y", blob: PNG } }, [shown]],
  [
    "more text than fits",
    { type: "text", text: "x".repeat(200_003) },
    `${"x".repeat(200_000)}\n(3 more characters are left out: ask for less at once)`,
  ],
];

for (const [what, given, read] of CASES) {
  test(`the model reads of a server's result only what the API takes: ${what}`, () => {
    assert.deepEqual(blocksOf([given]), read);
  });
}

test("a result as a whole is never larger than a request may be, for the model and for hooks", () => {
  const tiny = Array.from({ length: 1_000_000 }, () => ({ type: "text" as const, text: "x" }));
  const many = outputOf({ content: tiny });
  assert.ok(JSON.stringify(many.content).length < 8_000_000, "the notes are not repeated for each block");
  assert.match(JSON.stringify(many.content), /more characters are left out: ask for less at once\)"/);
  const large = Array.from(
    { length: 6 },
    () => ({ type: "image" as const, mimeType: "image/tiff", data: "A".repeat(4_000_000) }),
  );
  const { response } = outputOf({ content: large });
  assert.ok(JSON.stringify(response).length < 21_000_000);
  assert.deepEqual((response as unknown[]).at(-1), {
    type: "text",
    text: "(2 of 6 blocks are left out: ask for less at once)",
  });
});
