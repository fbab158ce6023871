import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { scratch } from "../../_scratch.ts";
import { served } from "./_shipped.ts";

const POSIX = spawnSync("sed", ["--posix", "-n", "p"], { input: "" }).status === 0 ? "--posix" : "";
const NAME = "notification.desktop.sh";
const INPUT = { session_id: "s", hook_event_name: "Notification", notification_type: "permission_prompt" };

/** An environment whose programs are these alone, beside what the hook needs. */
function withPrograms(folder: string, programs: { readonly [name: string]: string } = {}): NodeJS.ProcessEnv {
  const bin = `${folder}/bin`;
  mkdirSync(bin);
  // Other systems have a sed without GNU's additions.
  const sed = `PATH='${process.env.PATH}' exec sed ${POSIX} "$@"`;
  const cat = `PATH='${process.env.PATH}' exec cat`;
  for (const [name, script] of Object.entries({ sed, cat, ...programs })) {
    writeFileSync(`${bin}/${name}`, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
  return { ...process.env, PATH: bin };
}

const showing = (folder: string) => ({ "notify-send": `printf '%s|' "$@" > ${folder}/shown` });

test("desktop shows the message and the title, whatever stands in them, and never answers", async () => {
  using folder = scratch();
  const env = withPrograms(folder.path, showing(folder.path));
  const message = 'May I run "rm $(x)"?';
  const { stdout, code } = await served(NAME, { ...INPUT, cwd: folder.path, message, title: "My agent" }, { env });
  assert.deepEqual({ stdout, code }, { stdout: "", code: 0 });
  assert.equal(readFileSync(`${folder.path}/shown`, "utf8"), `--|My agent|${message}|`);
});

test("desktop does nothing without a message or a desktop", async () => {
  using silent = scratch();
  const mute = await served(NAME, { ...INPUT, cwd: silent.path }, {
    env: withPrograms(silent.path, showing(silent.path)),
  });
  assert.deepEqual([mute.code, mute.stderr, existsSync(`${silent.path}/shown`)], [0, "", false]);
  using bare = scratch();
  const { code, stderr } = await served(NAME, { ...INPUT, cwd: bare.path, message: "x" }, {
    env: withPrograms(bare.path),
  });
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
});
