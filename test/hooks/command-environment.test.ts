import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { commandHook } from "../../lib/hooks/command-hook.ts";
import { type HookHost, withoutSecrets } from "../../lib/hooks/process/hook-host.ts";
import { scratch } from "../_scratch.ts";
import { environment, fireHook, PRE, record, START } from "./_fire.ts";

/** The environment a hook saw, and what was said about it. */
async function seen(host: Partial<HookHost>, fired: typeof PRE | typeof START = PRE, times = 1) {
  using folder = scratch();
  const file = join(folder.path, "env");
  const whole: HookHost = { projectDir: folder.path, ...host };
  const hook = record(fired.event, commandHook({ name: "hook", command: `env > ${file}` }, whole));
  const { env, logs } = environment(folder.path);
  for (let i = 0; i < times; i++) await fireHook(hook, fired, env);
  const lines = readFileSync(file, "utf8").trim().split("\n").map((line) => line.split(/=(.*)/s) as [string, string]);
  return { vars: Object.fromEntries(lines), logs, folder: folder.path };
}

const PATH = process.env.PATH;

test("a command hook finds its project, its session and the host it expects, in our values", async () => {
  const { vars, folder } = await seen({ env: { PATH, HOME: "/h" } });
  const { CLAUDE_PROJECT_DIR, CLAUDECODE, CLAUDE_CODE_SESSION_ID, CLAUDE_CODE_ENTRYPOINT, CLAUDE_PID, CROCHET } = vars;
  assert.deepEqual([CLAUDE_PROJECT_DIR, vars.PWD, vars.HOME], [folder, folder, "/h"]);
  assert.deepEqual([CLAUDECODE, CLAUDE_CODE_SESSION_ID, CLAUDE_CODE_ENTRYPOINT, CROCHET], ["1", "s1", "crochet", "1"]);
  assert.equal(CLAUDE_PID, String(process.pid));
});

test("a command hook gets the whole environment but for what looks like a secret", async () => {
  const secrets = { ANTHROPIC_API_KEY: "a", MY_SECRET: "b", AWS_SECRET_ACCESS_KEY: "c", NPM_TOKEN: "d", API_KEY: "e" };
  const kept = { GITHUB_TOKEN: "g", GH_TOKEN: "h", TOKENIZER: "t", MONKEY: "m", KEPT_API_KEY: "k" };
  const { vars } = await seen({ env: { PATH, ...secrets, ...kept }, keepEnv: ["KEPT_API_KEY"] });
  for (const name of Object.keys(secrets)) assert.equal(vars[name], undefined, name);
  for (const [name, value] of Object.entries(kept)) assert.equal(vars[name], value, name);
});

test("a secret is known by the name of its variable, and what only sounds like one is passed on", () => {
  const secrets = "OPENAI_KEY OPENAI_APIKEY apikey GITHUB_PAT PGPASSWORD DB_PASSWD DB_PASS MYSQL_PWD SSH_PASSPHRASE " +
    "AWS_SESSION_TOKEN CLIENT_SECRET_2 stripe_key";
  const others =
    "MONKEY KEYBOARD KEY_REPEAT TOKENIZER_PATH MAX_TOKENS AWS_ACCESS_KEY_ID SSH_AUTH_SOCK SSH_ASKPASS PWD " +
    "OLDPWD COMPASS BYPASS COMPAT PATH SSH_PUBLIC_KEY PASSWORD_STORE_DIR GOOGLE_APPLICATION_CREDENTIALS";
  const names = `${secrets} ${others}`.split(" ");
  const { env, withheld } = withoutSecrets(Object.fromEntries(names.map((name) => [name, "x"])));
  assert.deepEqual(withheld, secrets.split(" "));
  assert.deepEqual(Object.keys(env), others.split(" "));
});

test("a variable that hooks do not get is said once, with the way to pass it on", async () => {
  const { logs } = await seen({ env: { PATH, MY_TOKEN: "x" } }, PRE, 3);
  assert.deepEqual(logs, [
    "Hooks do not get MY_TOKEN as they look like secrets: list a name under hooks.env to pass it on",
  ]);
});

test("what an outer host left in the environment is not taken for ours", async () => {
  const left = { CLAUDE_ENV_FILE: "/x", CLAUDE_EFFORT: "high", OTEL_SERVICE_NAME: "o", CLAUDE_PLUGIN_ROOT: "/p" };
  const { vars } = await seen({ env: { PATH, ...left } });
  for (const name of Object.keys(left)) assert.equal(vars[name], undefined, name);
});

test("CLAUDE_ENV_FILE is there at session start, in a folder that exists, and nowhere else", async () => {
  using folder = scratch();
  const envFile = (id: string) => join(folder.path, "session-env", `${id}.sh`);
  const start = await seen({ env: { PATH }, envFile }, START);
  assert.equal(start.vars.CLAUDE_ENV_FILE, envFile("s1"));
  assert.equal((await seen({ env: { PATH }, envFile })).vars.CLAUDE_ENV_FILE, undefined);
});

test("the effort of the model is passed on if it is known", async () => {
  const { vars } = await seen({ env: { PATH }, wire: () => ({ effort: { level: "high" } }) });
  assert.equal(vars.CLAUDE_EFFORT, "high");
});

test("in the exec form only the host's own placeholders are filled in", async () => {
  using folder = scratch();
  const args = ["%s\n", "${CLAUDE_PROJECT_DIR}/x", "$CLAUDE_PROJECT_DIR", "${HOME}", "`id`", "${CLAUDE_PLUGIN_ROOT}"];
  const hook = record(
    "session-start",
    commandHook({ name: "hook", command: "printf", args }, { projectDir: folder.path }),
  );
  const { contexts } = await fireHook(hook, START, environment(folder.path).env);
  const [, words] = /success: ([\s\S]*)\n<\/system-reminder>$/.exec(contexts[0]!.text)!;
  assert.deepEqual(words!.split("\n"), [`${folder.path}/x`, ...args.slice(2)]);
});

test("in the shell form the placeholders work because they are variables", async () => {
  using folder = scratch();
  const command = 'echo "${CLAUDE_PROJECT_DIR}/x"';
  const hook = record("session-start", commandHook({ name: "hook", command }, { projectDir: folder.path }));
  const { contexts } = await fireHook(hook, START, environment(folder.path).env);
  assert.ok(contexts[0]!.text.includes(`${folder.path}/x`));
});
