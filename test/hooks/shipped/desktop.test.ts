import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { scratch } from "../../_scratch.ts";
import { served } from "./_shipped.ts";

const POSIX = spawnSync("sed", ["--posix", "-n", "p"], { input: "" }).status === 0 ? "--posix" : "";
const NAME = "notification.desktop.sh";
const INPUT = { session_id: "s", hook_event_name: "Notification", notification_type: "permission_prompt" };

test("desktop shows the message and the title, whatever stands in them, and never answers", async () => {
  using folder = scratch();
  mkdirSync(`${folder.path}/bin`);
  writeFileSync(`${folder.path}/bin/notify-send`, `#!/bin/sh\nprintf '%s|' "$@" > ${folder.path}/shown\n`);
  chmodSync(`${folder.path}/bin/notify-send`, 0o755);
  // Other systems have a sed without GNU's additions.
  writeFileSync(`${folder.path}/bin/sed`, `#!/bin/sh\nPATH='${process.env.PATH}' exec sed ${POSIX} "$@"\n`);
  chmodSync(`${folder.path}/bin/sed`, 0o755);
  const env = { ...process.env, PATH: `${folder.path}/bin:${process.env.PATH}` };
  const message = 'May I run "rm $(x)"?';
  const { stdout, code } = await served(NAME, { ...INPUT, cwd: folder.path, message, title: "My agent" }, { env });
  assert.deepEqual({ stdout, code }, { stdout: "", code: 0 });
  assert.equal(readFileSync(`${folder.path}/shown`, "utf8"), `--|My agent|${message}|`);
});

test("desktop does nothing without a message or a desktop", async () => {
  using folder = scratch();
  const { code, stderr } = await served(NAME, { ...INPUT, cwd: folder.path, message: "x" }, {
    env: { PATH: "/usr/bin:/bin" },
  });
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
  assert.equal(existsSync(`${folder.path}/shown`), false);
  assert.equal((await served(NAME, { ...INPUT, cwd: folder.path })).code, 0);
});
