import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import importAction from "../../lib/cli/fixtures/import.ts";
import { place } from "../_place.ts";
import { RECORDERS } from "./_recorders.ts";
import { REQUEST, said, stream, URL as ASKED, WORDS } from "./_written.ts";

const STUB = JSON.parse(Buffer.from(RECORDERS.WireMock![1]([said()])).toString()).mappings[0];

function stubWith(bodyFileName: string): string {
  return JSON.stringify({ ...STUB, response: { status: 200, headers: STUB.response.headers, bodyFileName } });
}

test("a stub's body is read from __files beside it, and from nowhere else", async () => {
  using here = place({
    "stubs/mappings/one.json": stubWith("one.txt"),
    "stubs/mappings/two.json": stubWith("../../secret.txt"),
    "stubs/mappings/three.json": stubWith("none.txt"),
    "stubs/mappings/four.json": stubWith("link.txt"),
    "linked/mappings/five.json": stubWith("secret.txt"),
    "stubs/__files/one.txt": stream(WORDS),
    "secret.txt": stream("secret"),
    "stubs/.hidden.json": "no recording",
    "stubs/node_modules/a/package.json": "{}",
  });
  symlinkSync(join(here.cwd, "secret.txt"), join(here.cwd, "stubs/__files/link.txt"));
  symlinkSync(here.cwd, join(here.cwd, "linked/__files"));
  const { out, code } = await here.call(importAction, "stubs", "linked", "--json");
  assert.equal(code, 1);
  const outcomes = JSON.parse(out);
  assert.deepEqual(outcomes.map(({ file, tape }: { file: string; tape?: string }) => [file, tape]), [
    ["stubs/mappings/four.json", undefined],
    ["stubs/mappings/one.json", "fixtures/imported/one/tape.jsonl"],
    ["stubs/mappings/three.json", undefined],
    ["stubs/mappings/two.json", undefined],
    ["linked/mappings/five.json", undefined],
  ]);
  for (const { refused, tape } of outcomes) {
    if (!tape) assert.match(refused, /'\w+\/mappings\/\w+\.json' as its body is in another file/);
  }
});

test("a long body of seinfeld is read from the file beside its cassette, if it is that very one", async () => {
  const text = JSON.stringify(REQUEST);
  const sha256 = createHash("sha256").update(text).digest("hex");
  const cassette = (path: string) => {
    const request = { method: "POST", url: ASKED, headers: {}, body: { kind: "binary", path, sha256 } };
    const response = { status: 200, headers: {}, body: { kind: "text", value: stream(WORDS) } };
    return JSON.stringify({ entries: [{ matchKey: "k", callIndex: 0, request, response }], meta: {} });
  };
  const blob = `a.cassette.blobs/${sha256}.bin`;
  using here = place({
    "tapes/a.cassette.json": cassette(blob),
    "tapes/b.cassette.json": cassette(".other.txt"),
    "tapes/c.cassette.json": cassette("../secret.txt"),
    [`tapes/${blob}`]: text,
    "tapes/.other.txt": "{}",
    "secret.txt": text,
  });
  const { out, code } = await here.call(importAction, "tapes", "--json");
  assert.equal(code, 0, out);
  const standIn = ["call 1 has a stand-in for its request"];
  assert.deepEqual(JSON.parse(out).map(({ file, notes }: { file: string; notes: string[] }) => [file, notes]), [
    ["tapes/a.cassette.json", []],
    ["tapes/b.cassette.json", standIn],
    ["tapes/c.cassette.json", standIn],
  ]);
});

test("a body that Playwright attached to an archive is read from the file beside it, if it is that very one", async () => {
  const sha1 = (text: string) => createHash("sha1").update(text).digest("hex");
  const request = JSON.stringify(REQUEST);
  const archive = (_file: string, asked = sha1(request)) =>
    JSON.stringify({
      log: {
        entries: [{
          request: { method: "POST", url: ASKED, headers: [], postData: { text: "", _file: `${asked}.json` } },
          response: { status: 200, headers: [], content: { size: 1, mimeType: "text/event-stream", _file } },
        }],
      },
    });
  const body = `${sha1(stream(WORDS))}.txt`;
  using here = place({
    "runs/a.har": archive(body),
    "runs/b.har": archive(`${sha1("other")}.txt`),
    "runs/c.har": archive(".env"),
    "runs/d.har": archive(`${sha1("changed")}.txt`),
    "runs/e.har": archive(body, "none"),
    [`runs/${sha1(request)}.json`]: request,
    "runs/.env": stream("secret"),
    [`runs/${body}`]: stream(WORDS),
    [`runs/${sha1("changed")}.txt`]: stream("since"),
  });
  const { out, code } = await here.call(importAction, "runs", "--json");
  assert.equal(code, 1);
  const outcomes: { file: string; notes?: string[]; refused?: string }[] = JSON.parse(out);
  const [a, e, ...others] = outcomes.sort((one, other) => Number("refused" in one) - Number("refused" in other));
  assert.deepEqual([a!.file, a!.notes], ["runs/a.har", []]);
  assert.deepEqual([e!.file, e!.notes], ["runs/e.har", ["call 1 has a stand-in for its request"]]);
  assert.deepEqual(
    others.map(({ refused }) => /as a body of it is in another file that is (.*): /.exec(refused!)?.[1]),
    [
      "not there",
      "another by now",
      "another by now",
    ],
  );
});

test("a folder in which nothing is found to import is refused, and never told as done", async () => {
  using here = place({ "bare/.cassettes/a.json": stream(WORDS), "bare/node_modules/b/c.json": stream(WORDS) });
  const { code, err } = await here.call(importAction, "bare");
  assert.equal(code, 2);
  assert.match(err, /Cannot import 'bare' as there is no file in it: hidden ones and links have to be named\n$/);
  assert.equal((await here.call(importAction, "bare/.cassettes")).code, 0);
});
