import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { programOf } from "../../lib/replay/match-call.ts";
import { mask } from "../../lib/log/redact/mask.ts";
import { asNamedHere, placer, placesHere } from "../../lib/log/redact/places.ts";
import { redactor } from "../../lib/log/redact/redact.ts";
import type { Attempt, Tape } from "../../lib/log/tape.ts";
import { withEnv } from "../_env.ts";
import { RUNTIME } from "../_runtime.ts";
import { scratch } from "../_scratch.ts";
import { taped } from "./_taped.ts";

const program = { agents: [] };

const TEA = { root: "/srv/tea", home: "/home/ada", tmp: "/tmp" };

/** Where something is, a text, and what is on a tape of it; without that the text itself. */
const PLACED: { readonly [what: string]: readonly [where: Parameters<typeof placer>[0], text: string, on?: string][] } =
  {
    "a whole path, not part of a longer name": [
      [
        { ...TEA, user: "root" },
        "/srv/tea/a /tmp/b /tmpfs x/tmp (/home/ada) /home/ada-b root",
        "{ROOT}/a {TMP}/b /tmpfs x/tmp ({HOME}) /home/ada-b root",
      ],
      [TEA, '{"out":"1\\n/srv/tea/a\\t/home/ada"}', '{"out":"1\\n{ROOT}/a\\t{HOME}"}'],
    ],
    "a place in the address of a file": [[
      TEA,
      "at file:///srv/tea/a.ts:1 and file:///home/ada/x, not in http://x/srv/tea nor https://home/ada",
      "at file://{ROOT}/a.ts:1 and file://{HOME}/x, not in http://x/srv/tea nor https://home/ada",
    ]],
    "a place that an option is written together with": [[
      TEA,
      "gcc -I/srv/tea/include -isystem/home/ada/x, not pre-built/srv/tea nor a-I/srv/tea",
      "gcc -I{ROOT}/include -isystem{HOME}/x, not pre-built/srv/tea nor a-I/srv/tea",
    ]],
    "the user's name in the name of a folder or in an address": [[
      { user: "lovelace" },
      "in ~/.claude/projects/-home-lovelace-tea and ?at=%2Fhome%2Flovelace%2Ftea, not in -lovelace- nor lovelace-2",
      "in ~/.claude/projects/-home-{USER}-tea and ?at=%2Fhome%2F{USER}%2Ftea, not in -lovelace- nor lovelace-2",
    ]],
    "in texts of other programs the user's name, never an ordinary word": [
      [{ user: "root", program }, "the root directory, a root cause, user/root, src/root.ts, /srv/root/x"],
      [{ user: "root", program }, "/home/root/x and /Users/root", "/home/{USER}/x and /Users/{USER}"],
      [{ user: "node", program }, "/usr/local/bin/node runs node"],
      [{ user: "home", program }, "go home by /usr/home"],
      [{ user: "ann", program }, "ann, annex and /srv/ann.txt"],
      [{ user: "ann", program }, "/srv/ann/x, /mnt/ann", "/srv/{USER}/x, /mnt/{USER}"],
      [{ user: "lovelace", program }, "by lovelace in /srv/lovelace", "by {USER} in /srv/{USER}"],
    ],
  };

for (const [what, cases] of Object.entries(PLACED)) {
  test(`on a tape a placeholder stands for ${what}, and is put back`, () => {
    for (const [where, text, on = text] of cases) {
      const { place, restore } = placer(where);
      assert.deepEqual([place(text), restore(place(text))], [on, text]);
    }
  });
}

test("a tape of one user always reads as the same run of another, whether their names are words or not", () => {
  const users = ["root", "runner", "ann", "lovelace", "grace-h"];
  const ordinary = (user: string) => `the root of it, the runner, Ann, /srv/node/x and /home/${user}/x`;
  const personal = (user: string) => `${ordinary(user)} by ${user} in /srv/${user}`;
  const read = (recorder: string, user: string, says: (user: string) => string) => {
    const [then, now] = [recorder, user].map((one) => placer({ user: one, program }).place(says(one)));
    const here = asNamedHere({ user });
    assert.equal(here(then!), here(now!), `${recorder}, then ${user}`);
  };
  for (const user of users) {
    for (const recorder of users) read(recorder, user, ordinary);
    for (const recorder of ["lovelace", "grace-h"]) read(recorder, user, personal);
  }
});

test("a path from the workspace to a file of HOME is a place as well", () => {
  using folder = scratch({ "home/.qwen/QWEN.md": "", "home/work/tea/a.md": "", "tea/a.md": "" });
  const home = join(folder.path, "home");
  const outside = placer({ root: join(folder.path, "tea"), home, program });
  const inside = placer({ root: join(home, "work/tea"), home, program });
  const named = "from: {TO-HOME}/.qwen/QWEN.md";
  assert.equal(outside.place("from: ../home/.qwen/QWEN.md"), named);
  assert.equal(inside.place("from: ../../.qwen/QWEN.md"), named);
  assert.deepEqual([outside.restore(named), inside.restore(named)], [
    "from: ../home/.qwen/QWEN.md",
    "from: ../../.qwen/QWEN.md",
  ]);
  const others = "../.. and ../../src, ../../.other/x, ../../../.qwen, a../home, ../homes";
  assert.deepEqual([outside.place(others), inside.place(others)], [others, others]);
});

test("the word that a runtime has for a user without a name is never taken for a name, unless a tape has one", () => {
  const text = "error: unknown command";
  assert.equal(placer({ user: "unknown" }).place(text), text);
  const taped = placer({ user: "unknown" }, true);
  assert.equal(taped.place(taped.restore("by {USER}")), "by {USER}");
});

test("without a variable the user's name comes from the system", () => {
  const places = new URL("../../lib/log/redact/places.ts", import.meta.url).href;
  using folder = scratch({
    "who.ts": `import { placer, placesHere } from "${places}";
      console.log(placer(placesHere("/srv/tea"), true).restore("{USER}"));`,
  });
  const { USER: _, LOGNAME: __, ...env } = process.env;
  const [program, ...args] = RUNTIME;
  const said = spawnSync(program, [...args, join(folder.path, "who.ts")], { env, encoding: "utf8" });
  const named = spawnSync("id", ["-un"], { encoding: "utf8" });
  assert.equal(said.stdout.trim(), named.status === 0 ? named.stdout.trim() : "unknown", said.stderr);
});

test("a workspace that a shell reached by a link is always the same place, by both its names", async () => {
  using folder = scratch({ "real/tea.md": "" });
  const [root, PWD] = [join(folder.path, "real"), join(folder.path, "link")];
  symlinkSync("real", PWD);
  await withEnv({ PWD }, async () => {
    const here = placer(placesHere(root));
    assert.equal(here.place(`${PWD}/tea.md is ${root}/tea.md`), "{ROOT}/tea.md is {ROOT}/tea.md");
    assert.equal(here.restore("{ROOT}"), root);
    const elsewhere = placer(placesHere(folder.path));
    assert.equal(elsewhere.place(PWD), "{ROOT}/link", "which is another place");
  });
});

test("a place is known by the path it was given by and by the one the system resolves that to", () => {
  using folder = scratch({ "real/a.txt": "" });
  const [real, link] = [join(folder.path, "real"), join(folder.path, "link")];
  symlinkSync(real, link);
  assert.equal(placer({ root: link }).place(`${link}/a and ${real}/a`), "{ROOT}/a and {ROOT}/a");
});

test("ids of a program's agents are numbered from 1 on a tape, and put back", () => {
  const { place, restore } = placer({ program: { agents: ["a1b2c3", "d4e5f6"] } });
  assert.equal(place("a1b2c3 asks d4e5f6"), "{AGENT-ID-1} asks {AGENT-ID-2}");
  assert.equal(restore("{AGENT-ID-1} asks {AGENT-ID-2}"), "a1b2c3 asks d4e5f6");
});

test("a secret in pieces is taken out where it begins, be it the first character, and the rest stays", () => {
  const event = (text: string) => ({
    ms: 0,
    event: { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
  });
  const { attemptOn } = mask(placer({}), redactor({ env: { MY_TOKEN: "correct-horse-9" } }));
  const said = (...texts: string[]) => attemptOn({ events: texts.map(event) } as unknown as Attempt).events;
  assert.deepEqual(said("correct", "-horse-9 it", " is"), ["{SECRET:MY_TOKEN}", " it", " is"].map(event));
  assert.deepEqual(said("it is ", "correct-horse-9"), ["it is ", "{SECRET:MY_TOKEN}"].map(event));
});

test("events that were kept as bytes are masked as others are, and stay bytes if nothing in them is", () => {
  const raw = (text: string) => {
    const delta = { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } };
    return { ms: 0, raw: `event: content_block_delta\ndata: ${JSON.stringify(delta)}\n\n` };
  };
  const { attemptOn } = mask(placer({ root: "/srv/tea" }), undefined);
  const [placed, same] = attemptOn({ events: [raw("in /srv/tea"), raw(" we trust")] } as unknown as Attempt).events!;
  assert.match(JSON.stringify(placed), /in \{ROOT\}/);
  assert.deepEqual(same, raw(" we trust"));
  const ping = { ms: 0, raw: 'event: ping\ndata: {"type":"ping"}\n\n' };
  assert.deepEqual(attemptOn({ events: [ping] } as unknown as Attempt).events, [ping]);
});

test("a tape has a user's name on it if any of its messages has", async () => {
  const { tape, remove } = await taped({ options: {}, replies: [{ text: "done" }] });
  const says = (text: string) => ({ role: "user" as const, content: [{ type: "text", text }] });
  const [call] = tape.calls;
  const messages = [says("by {USER}"), says("{no} place")];
  const named: Tape = { ...tape, calls: [{ ...call!, request: { ...call!.request, messages } }] };
  assert.deepEqual([programOf(named).hasUser, programOf(tape).hasUser], [true, false]);
  remove();
});
