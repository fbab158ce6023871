import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { agent } from "crochet";
import { scripted } from "crochet/testing";
import { Bash } from "crochet/tools";
import { command } from "../../lib/cli/kit/flags.ts";
import { EXIT, type Io } from "../../lib/cli/kit/io.ts";
import { reporting } from "../../lib/cli/kit/report.ts";
import explain from "../../lib/cli/hooks/explain.ts";
import runs from "../../lib/cli/runs.ts";
import tool from "../../lib/cli/tool.ts";
import { rounds } from "../_counts.ts";
import { withEnv } from "../_env.ts";
import { place } from "../_place.ts";

const KEY = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
const TOKEN = 'q"uo\\te-4711x';
/** Sets the title of a terminal, moves its cursor, and turns the direction of reading. */
const CODES = "\u001b]0;owned\u0007\u001b[2A\u009b31m\u202e";
// deno-lint-ignore no-control-regex
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/;

test("DOORS 15: no report of a log has a secret or a control code, also of a variable that is gone since", async () => {
  using here = place();
  const model = scripted([
    { tools: [{ name: "Bash", input: { command: `echo '${CODES}'; echo ${KEY}` } }] },
    { text: `${CODES} it is ${KEY} and ${TOKEN}` },
  ]);
  const prompt = `use ${KEY} and ${TOKEN}`;
  const permissions = { mode: "bypassPermissions" } as const;
  const options = { cwd: here.cwd, log: true };
  const { id, stop } = await withEnv(
    { HOME: here.home, MY_TOKEN: TOKEN },
    () => agent({ model, tools: [Bash], permissions }).run(prompt, options),
  );
  assert.equal(stop, "done");
  // A list shows the beginning of a prompt, which may end inside a key.
  const cut = `${"a word ".repeat(7)}${KEY}`;
  await withEnv({ HOME: here.home }, () => agent({ model: scripted([{ text: "ok" }]) }).run(cut, options));
  let hidden = 0;
  for (const args of [["ls"], ["ls", "--json"], ["show", id], ["show", id, "--json"]]) {
    const { code, out, err } = await here.call(runs, ...args);
    assert.equal(code, EXIT.ok, err);
    assert.doesNotMatch(out, /ghp_|abcdefgh|4711x/, args.join(" "));
    assert.doesNotMatch(out, CONTROL, args.join(" "));
    if (out.includes("{SECRET:MY_TOKEN}")) hidden++;
    if (args.includes("--json")) JSON.parse(out);
  }
  assert.equal(hidden, 4, "each shows where it stood");
  const { out } = await here.call(explain, id, "--json");
  assert.doesNotMatch(out, /ghp_|abcdefgh|4711x/);
});

test("DOORS 15: what a tool says is a report: the file's key is hidden, its control codes are visible", async () => {
  using here = place({ "notes.txt": `${CODES}\nkey ${KEY}\n`, ".env": "DEPLOY_TOKEN=hunter-2-hunter\n" });
  here.put({ "more.txt": "it is hunter-2-hunter\n" });
  const { out } = await here.call(tool, "Read", JSON.stringify({ file_path: `${here.cwd}/notes.txt` }));
  assert.match(out, /\\u001b\]0;owned\\u0007/);
  assert.match(out, /key \{KEY:\w{6}\}/);
  assert.doesNotMatch(out, CONTROL);
  const more = await here.call(tool, "Read", JSON.stringify({ file_path: `${here.cwd}/more.txt` }), "--json");
  assert.match(more.out, /\{SECRET:DEPLOY_TOKEN\}/);
});

/** Where a report goes, and what has come. */
function reader(tty: boolean): { readonly io: Io; text: string } {
  const signal = new AbortController().signal;
  const made = { text: "", io: { tty, env: { MY_TOKEN: TOKEN }, cwd: "/nowhere", signal } as unknown as Io };
  Object.assign(made.io, { out: (text: string) => void (made.text += text) });
  return made;
}

const COLOURS = ["\u001b[1m", "\u001b[22m", "\u001b[31m", "\u001b[39m"];
const part = fc.constantFrom(...COLOURS, KEY, TOKEN, "plain", " ", "\n", "password: ", "\u001b[2J", "\u0007", "\u202e");

test("DOORS 15: a report never has a secret or a control code, and always its own colours, on a terminal alone", () => {
  let coloured = 0;
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), fc.boolean(), (parts, tty) => {
      // Secrets stand by themselves: glued to a word, it is another word.
      const text = parts.map((one) => one === KEY || one === TOKEN ? ` ${one} ` : one).join("");
      const to = reader(tty);
      reporting(to.io, "/nowhere").out(text);
      const own = COLOURS.reduce((rest, colour) => rest.replaceAll(colour, ""), to.text);
      assert.doesNotMatch(own, CONTROL);
      assert.doesNotMatch(own, /ghp_|4711x/);
      // deno-lint-ignore no-control-regex
      const colours = (given: string) => given.match(/\u001b\[\d+m/g) ?? [];
      assert.deepEqual(colours(to.text), tty ? colours(text) : []);
      if (colours(to.text).length > 0 && to.text.includes("{KEY:")) coloured++;
    }),
    { numRuns: rounds(300, 3000) },
  );
  assert.ok(coloured > 10, `a key among colours was hidden ${coloured} times`);
});

test("DOORS 15: a key right after a colour is hidden, and the colour ends where it did", () => {
  const to = reader(true);
  reporting(to.io, "/nowhere").out(`\u001b[1m${KEY}\u001b[22m and \u001b[31mtoken: hunter2hunter2\u001b[39m.`);
  const shown = to.text.replaceAll(/:\w{6}\}/g, "}");
  assert.equal(shown, "\u001b[1m{KEY}\u001b[22m and \u001b[31mtoken: {KEY}\u001b[39m.");
});

test("DOORS 15: what is no report goes out byte for byte, as data too", async () => {
  using here = place();
  const usage = { name: "x", words: "", about: "", flags: [["--json", ""]], example: "", passes: true } as const;
  const said = `${CODES}${KEY}`;
  const passes = command(usage, async () => ({ data: { said }, text: said }));
  assert.equal((await here.call(passes)).out, said);
  assert.equal((await here.call(passes, "--json")).out, `${JSON.stringify({ said })}\n`);
});
