import assert from "node:assert/strict";
import { test } from "node:test";
import type { Folded } from "../../lib/core/fold.ts";
import type { HookRecord } from "../../lib/core/hook.ts";
import { httpHook, type HttpOptions, isLocalAddress } from "../../lib/hooks/http-hook.ts";
import type { HookHost } from "../../lib/hooks/process/hook-host.ts";
import { answering } from "./_answering.ts";
import { environment, fireHook, PRE, PROMPT, record } from "./_fire.ts";

function ask(
  options: HttpOptions,
  given: { host?: Partial<HookHost>; fired?: typeof PRE | typeof PROMPT; record?: Partial<HookRecord> } = {},
): Promise<Folded> {
  const { host, fired = PRE, record: own } = given;
  const parts = httpHook(options, { projectDir: "/", allowLocal: true, env: {}, ...host });
  return fireHook(record(fired.event, { ...parts, timeout: 10, ...own }), fired, environment("/").env);
}

const DENY = JSON.stringify({
  hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "deny", permissionDecisionReason: "R" },
});

test("an http hook is posted what a command would read, without the line break", async () => {
  using server = await answering(DENY);
  const folded = await ask({ url: `${server.url}/h` });
  assert.equal(folded.denials[0]!.text, "PreToolUse:Bash hook error: R");
  const { request, body } = server.got[0]!;
  assert.deepEqual([request.method, request.url, request.headers["content-type"]], ["POST", "/h", "application/json"]);
  assert.equal(body, JSON.stringify(JSON.parse(body)));
  assert.equal(JSON.parse(body).hook_event_name, "PreToolUse");
});

test("an http hook's answer is read like what a command prints", async () => {
  using empty = await answering("");
  assert.equal((await ask({ url: empty.url })).decision, "continue");
  using plain = await answering("words");
  const { contexts } = await ask({ url: plain.url }, { fired: PROMPT });
  assert.equal(contexts[0]!.text, "<system-reminder>\nUserPromptSubmit hook success: words\n</system-reminder>");
  using garbage = await answering('{"decision": ');
  assert.equal((await ask({ url: garbage.url })).warnings.length, 1);
});

test("U7: an error status, a redirection, no answer in time or no server is a failure", async () => {
  for (const status of [302, 404, 500]) {
    using server = await answering(DENY, status);
    const { decision, warnings } = await ask({ url: server.url });
    assert.deepEqual([decision, server.got.length], ["continue", 1]);
    assert.match(warnings[0]!, new RegExp(`answered with status ${status}`));
  }
  using silent = await answering(undefined);
  assert.match((await ask({ url: silent.url }, { record: { timeout: 0.3 } })).warnings[0]!, /limit of 0\.3 s/);
  assert.match(
    (await ask({ url: "http://127.0.0.1:1/h" })).warnings[0]!,
    /Cannot reach http:\/\/127\.0\.0\.1:1\/h as /,
  );
});

test("a failure of an http hook blocks if its settings say so, in the host's words", async () => {
  using server = await answering("down", 503);
  const options = { url: server.url, blocking: 'onFailure is "block"' };
  const { denials } = await ask(options, { record: { onError: "deny" } });
  assert.equal(
    denials[0]!.text,
    `PreToolUse:Bash hook error: [${server.url}]: failed; blocking because onFailure is "block"\ndown`,
  );
});

test("headers take only the variables they may, others become nothing", async () => {
  using server = await answering("");
  const headers = { Authorization: "Bearer $KEY", "X-A": "${KEY}-${OTHER}$NONE ", "X-B": "$OTHER" };
  await ask({ url: server.url, headers, allowedEnvVars: ["KEY", "NONE"] }, { host: { env: { KEY: "k", OTHER: "o" } } });
  const sent = server.got[0]!.request.headers;
  assert.deepEqual([sent.authorization, sent["x-a"], sent["x-b"] ?? ""], ["Bearer k", "k-", ""]);
});

test("an http hook never reaches this machine or a private network unless that is allowed", async () => {
  using server = await answering(DENY);
  const refused = { host: { allowLocal: false } };
  for (const name of ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433", "0x7f.1"]) {
    const { decision, warnings } = await ask({ url: server.url.replace("127.0.0.1", name) }, refused);
    assert.equal(decision, "continue", name);
    assert.match(warnings[0]!, /as it is on this machine or a private network: set hooks\.allowLocal/, name);
  }
  assert.equal(server.got.length, 0);
  const byEnvironment = { host: { allowLocal: undefined, env: { CROCHET_HOOKS_ALLOW_LOCAL: "1" } } };
  assert.equal((await ask({ url: server.url }, byEnvironment)).decision, "deny");
});

test("isLocalAddress() always knows loopback, private, link-local and unspecified addresses, and only those", () => {
  const local =
    "127.0.0.1 127.9.9.9 10.1.2.3 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 " +
    "127.255.255.255 10.255.255.255 192.168.255.255 169.254.255.255 100.127.255.255 0.255.255.255 febf::1 fdff::1 " +
    "224.0.0.1 255.255.255.255 ::1 :: fe80::1 fe80::1%eth0 fc00::1 fd12::1 ff02::1 ::ffff:10.0.0.1 ::ffff:7f00:1 [::1]";
  const open =
    "9.255.255.255 11.0.0.0 126.255.255.255 128.0.0.1 169.253.255.255 169.255.0.0 192.169.0.0 223.255.255.255 ::2 " +
    "8.8.8.8 1.1.1.1 172.15.0.1 172.32.0.1 192.167.1.1 100.63.0.1 100.128.0.1 2606:4700::1111 ::ffff:8.8.8.8";
  for (const address of local.split(" ")) assert.equal(isLocalAddress(address), true, address);
  for (const address of open.split(" ")) assert.equal(isLocalAddress(address), false, address);
});
