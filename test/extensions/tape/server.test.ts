import assert from "node:assert/strict";
import { readFileSync, symlinkSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { fixtureAt } from "../../../lib/replay/fixture.ts";
import { readTape } from "../../../lib/replay/read-tape.ts";
import { redactor } from "../../../lib/log/redact/redact.ts";
import { ComparedProgram, installFolder } from "../../../lib/replay/requests/compared-program.ts";
import { wireDiffers } from "../../../lib/replay/requests/api.ts";
import { listen, refusingProxy } from "../../../lib/replay/requests/listen.ts";
import { sentMasks } from "../../../lib/extensions/tape/mask.ts";
import { shownVariables, upstreamsIn } from "../../../lib/extensions/tape/pointing.ts";
import { tapeOfRun } from "../../../lib/extensions/tape/tape-of-run.ts";
import { Replayer } from "../../../lib/extensions/tape/answer-requests.ts";
import { recordCommand, type RecordOptions, replayCommand } from "../../../lib/extensions/tape/run-command.ts";
import { scriptedServer } from "../../../lib/testing/server.ts";
import { tapeServer } from "../../../lib/extensions/tape/tape-server.ts";
import { withEnv } from "../../_env.ts";
import { RUNTIME } from "../../_runtime.ts";
import { scratch } from "../../_scratch.ts";
import { serve } from "../../_server.ts";
import { until } from "../../_until.ts";
import type { Sent } from "../../../lib/log/tape.ts";

/** A client that asks with what it is given, and prints what it gets. */
const CLIENT = `
const [, , path, ...bodies] = process.argv;
const base = process.env[path.startsWith("/v1/messages") ? "ANTHROPIC_BASE_URL" : path.includes("models") ? "GOOGLE_GEMINI_BASE_URL" : "OPENAI_BASE_URL"];
let failed = 0;
for (const body of bodies) {
  const more = JSON.parse(process.env.HEADERS ?? "{}");
  const headers = { "content-type": "application/json", "x-api-key": "key-of-a-person-0123456789", "anthropic-version": "2023-06-01", ...more };
  const response = await fetch(base + path, { method: "POST", headers, body: body.replaceAll("$CWD", process.cwd()) });
  console.log(response.status, await response.text());
  if (response.status !== 200) failed = 1;
}
process.exit(failed);
`;

const ask = (text: string, more: object = {}) =>
  JSON.stringify({ model: "m", max_tokens: 9, messages: [{ role: "user", content: text }], ...more });

interface Given extends Partial<RecordOptions> {
  readonly path?: string;
  readonly bodies: readonly string[];
}

/** A project with a client in it, recorded and replayed. */
function project(script = "") {
  const folder = scratch({ "client.mjs": CLIENT, "notes.md": "Ths is a note.", "script.mjs": script });
  const fixture = () => fixtureAt(join(folder.path, "fixtures", "one"));
  const options = ({ path = "/v1/messages", bodies, env = {}, ...more }: Given) => ({
    ...{ command: [...RUNTIME, "client.mjs", path, ...bodies], cwd: folder.path, quiet: true },
    env: { ...process.env, ...env },
    ...more,
  });
  const ofScript = (env: RecordOptions["env"], args: readonly string[] = []) => ({
    ...{ command: [...RUNTIME, "script.mjs", ...args], cwd: folder.path, quiet: true },
    env: { ...process.env, ...env },
  });
  return {
    folder,
    fixture,
    record: (given: Given) => recordCommand(fixture(), options(given)),
    replay: (given: Given) => replayCommand(fixture(), options(given)),
    recordScript: (env: RecordOptions["env"]) => recordCommand(fixture(), ofScript(env)),
    replayScript: (env: RecordOptions["env"], args?: readonly string[], more: { readonly signal?: AbortSignal } = {}) =>
      replayCommand(fixture(), { ...ofScript(env, args), ...more }),
    text: () => readFileSync(fixture().tape, "utf8"),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

test("a program is recorded, and replays without the API in another directory, byte for byte", async () => {
  using here = project();
  const bodies = [ask("fix $CWD/notes.md", { stream: true }), ask("and again")];
  await using api = await scriptedServer([{ text: "I look at it" }, { http: 529 }]);
  const { end } = await here.record({ bodies, env: { ANTHROPIC_BASE_URL: api.url } });
  assert.equal(end.end, "exit 1");
  const { report, end: again } = await here.replay({ bodies });
  assert.equal(report.ok, true, JSON.stringify(report));
  assert.equal(again.stdout, end.stdout);
  assert.match(again.stdout, /event: message_start/);
});

test("what a program asks is on the tape as it was sent, without its key", async () => {
  using here = project();
  await using api = await scriptedServer([{ text: "hi" }]);
  await here.record({ bodies: [ask("hello from $CWD")], env: { ANTHROPIC_BASE_URL: api.url } });
  const { calls: [call], header } = await readTape(here.fixture().tape);
  assert.deepEqual(call!.sent!.body, JSON.parse(ask("hello from {ROOT}")));
  assert.equal(header.command!.at(-2), "/v1/messages");
  assert.equal(header.source, "scripted server");
  assert.doesNotMatch(here.text(), /key-of-a-person|x-api-key/);
});

test("a changed word is drift at its path, and only the first miss is told", async () => {
  using here = project();
  await using api = await scriptedServer([{ text: "one" }, { text: "two" }]);
  await here.record({ bodies: [ask("one"), ask("two")], env: { ANTHROPIC_BASE_URL: api.url } });
  const { report, end } = await here.replay({ bodies: [ask("one"), ask("too"), ask("two")] });
  const [first, ...others] = report.divergences;
  assert.deepEqual([report.ok, first!.cause, first!.path, others.length], [
    false,
    "prompt",
    "messages.0.content.0.text",
    0,
  ]);
  assert.deepEqual([first!.expected, first!.actual], ["two", "too"]);
  assert.deepEqual(report.unused, ["main#2"]);
  assert.match(
    end.stdout,
    /400 {"type":"error","error":{"type":"invalid_request_error","message":"Cannot answer from tape one: messages.0/,
  );
  assert.equal(end.stdout.match(/^400/gm)?.length, 2);
});

test("a change of the API's version, of its betas or of the query is drift by its name, on old tapes too", async () => {
  using here = project();
  await using api = await scriptedServer([{ text: "one" }]);
  const path = "/v1/messages?beta=true";
  const bodies = [ask("one")];
  const headers = (betas: string, more = {}) => ({ HEADERS: JSON.stringify({ "anthropic-beta": betas, ...more }) });
  const env = { ANTHROPIC_BASE_URL: api.url, ...headers("tea-2025,oauth-2025") };
  await here.record({ path, bodies, env });
  const { calls: [call] } = await readTape(here.fixture().tape);
  assert.deepEqual([call!.sent!.path, call!.sent!.query], ["/v1/messages", "beta=true"]);
  const replay = async (given: Partial<Given>) => {
    const { report: { divergences: [first], ok } } = await here.replay({ path, bodies, env, ...given });
    return [ok ? 0 : 1, first?.cause, first?.path, first?.expected, first?.actual];
  };
  const login = { env: headers("tea-2025") }; // how a person logs in does not count
  const cases = [
    [login, [0, undefined, undefined, undefined, undefined]],
    [{ env: headers("tea-2026") }, [1, "wire", "anthropic-beta", "tea-2025", "tea-2026"]],
    [{ env: headers("tea-2025", { "anthropic-version": "2026-01-01" }) }, [
      ...[1, "wire", "anthropic-version", "2023-06-01", "2026-01-01"],
    ]],
    [{ path: "/v1/messages?beta=false" }, [1, "wire", "query", "beta=true", "beta=false"]],
    [{ path: "/v1/messages" }, [1, "wire", "query", "beta=true", ""]],
  ] as const;
  for (const [given, expected] of cases) assert.deepEqual(await replay(given), expected);
  const { query: _, ...older } = call!.sent!;
  const was = { ...older, headers: { "anthropic-beta": "tea-2025" } };
  assert.deepEqual(wireDiffers(was, call!.sent!), []);
  assert.equal(wireDiffers(was, { ...older, headers: { "anthropic-beta": "milk" } }).length, 1);
});

test("a key in a query is not on the tape", async () => {
  using here = project(`
    const { GOOGLE_GEMINI_BASE_URL: base, A_KEY: key } = process.env;
    await fetch(base + "/v1beta/models/gem:generateContent?alt=json&key=" + key, { method: "POST", body: "{}" });`);
  using api = await serve((_, response) => response.end("{}"));
  const A_KEY = "AIzaSyA-key-of-a-person-0123456789abcde";
  await here.recordScript({ A_KEY, GOOGLE_GEMINI_BASE_URL: api.url });
  const { calls: [call] } = await readTape(here.fixture().tape);
  assert.equal(call!.sent!.query, "alt=json");
});

test("calls that were not asked for, another exit code, and no end are never a run that holds", async () => {
  using here = project(`
    const { ASKS, CODE, ANTHROPIC_BASE_URL } = process.env;
    for (let i = 0; i < Number(ASKS); i++) await fetch(ANTHROPIC_BASE_URL + "/v1/messages", { method: "POST", body: "{}" });
    if (CODE === "") setTimeout(() => {}, 60_000);
    else process.exit(Number(CODE));`);
  using api = await serve((_, response) => response.end("{}"));
  await here.recordScript({ ASKS: "2", CODE: "5", ANTHROPIC_BASE_URL: api.url });
  const codes = [["2", "5", true], ["2", "0", false], ["1", "5", false], ["0", "", false]] as const;
  for (const [ASKS, CODE, holds] of codes) {
    const signal = AbortSignal.timeout(CODE === "" ? 200 : 60_000);
    const { report } = await here.replayScript({ ASKS, CODE }, [], { signal });
    assert.equal(report.ok, holds, `${ASKS} calls, then ${CODE}`);
  }
});

/** Answers as other APIs stream. */
const STREAMS = {
  chat: {
    path: "/chat/completions",
    body: { model: "gpt", stream: true, messages: [{ role: "user", content: "read $CWD/notes.md" }] },
    frames: (cwd: string) => [
      `{"id":"c1","model":"gpt","choices":[{"index":0,"delta":{"role":"assistant","content":"I read ${
        cwd.slice(0, 5)
      }"}}]}`,
      `{"id":"c1","model":"gpt","choices":[{"index":0,"delta":{"content":"${cwd.slice(5)}/notes.md"}}]}`,
      `{"id":"c1","model":"gpt","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"t1","function":{"name":"read","arguments":"{\\"path\\":"}}]}}]}`,
      `{"id":"c1","model":"gpt","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\\"${cwd}/a.md\\"}"}}]},"finish_reason":"tool_calls"}]}`,
      `[DONE]`,
    ],
  },
  responses: {
    path: "/responses",
    body: { model: "gpt", stream: true, input: "read $CWD/notes.md" },
    frames: (cwd: string) => [
      `{"type":"response.created","response":{"id":"r1","model":"gpt"}}`,
      `{"type":"response.output_text.delta","item_id":"i","output_index":0,"delta":"I read ${cwd.slice(0, 5)}"}`,
      `{"type":"response.output_text.delta","item_id":"i","output_index":0,"delta":"${cwd.slice(5)}/notes.md"}`,
      `{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","call_id":"t1","name":"read"}}`,
      `{"type":"response.function_call_arguments.delta","item_id":"j","output_index":1,"delta":"{\\"path\\":\\"${cwd}/a.md\\"}"}`,
      `{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"t1","name":"read","arguments":"{\\"path\\":\\"${cwd}/a.md\\"}"}}`,
      `{"type":"response.completed","response":{"id":"r1","model":"gpt","status":"completed"}}`,
    ],
  },
  gemini: {
    path: "/v1beta/models/gem:streamGenerateContent?alt=sse",
    body: { contents: [{ role: "user", parts: [{ text: "read $CWD/notes.md" }] }] },
    frames: (cwd: string) => [
      `{"candidates":[{"content":{"role":"model","parts":[{"text":"I read ${cwd.slice(0, 5)}"}]}}]}`,
      `{"candidates":[{"content":{"role":"model","parts":[{"text":"${
        cwd.slice(5)
      }/notes.md"},{"functionCall":{"id":"t1","name":"read","args":{"path":"${cwd}/a.md"}}}]},"finishReason":"STOP"}]}`,
    ],
  },
};

for (const [name, { path, body, frames }] of Object.entries(STREAMS)) {
  test(`a stream of the ${name} API keeps its bytes, and its places go with the workspace even in pieces`, async () => {
    using here = project();
    const bodies = [JSON.stringify(body)];
    const sent = (cwd: string) => frames(cwd).map((data) => `data: ${data}\n\n`).join("");
    using api = await serve((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(sent(here.folder.path));
    });
    const env = { OPENAI_BASE_URL: api.url, GOOGLE_GEMINI_BASE_URL: api.url };
    const { end, tape } = await here.record({ path, bodies, env });
    assert.equal(end.stdout, `200 ${sent(here.folder.path)}\n`);
    assert.doesNotMatch(here.text(), new RegExp(here.folder.path.slice(5)));
    const { report, end: again } = await here.replay({ path, bodies });
    assert.ok(report.ok, JSON.stringify(report));
    assert.match(
      again.stdout.replaceAll(
        /"}}\]}\n\ndata: .*?"content":"|"}\n\ndata: .*?"delta":"|"}\]}}\]}\n\ndata: .*?"text":"/g,
        "",
      ),
      /I read \S*\/crochet-replay-\w+\/notes.md/,
    );
    assert.match(again.stdout, /\/crochet-replay-\w+\/a\.md/);
    const { replyOf } = await import("../../../lib/log/recorded-reply.ts");
    const reply = replyOf(tape.calls[0]!);
    assert.deepEqual(reply!.calls.map(({ name, input }) => [name, input]), [["read", { path: "{ROOT}/a.md" }]]);
  });
}

test("a program that hangs up is recorded as far as it came, and its upstream is let go", async () => {
  using here = project(`
    const r = await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", { method: "POST", body: "{}" });
    await r.body.getReader().read();
    process.exit(0);`);
  let gone = false;
  using api = await serve((request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("data: {}\n\n");
    response.on("close", () => gone = true);
    request.resume();
  });
  const { tape } = await here.recordScript({ ANTHROPIC_BASE_URL: api.url });
  assert.equal(tape.calls[0]!.attempts[0]!.ended, "aborted");
  assert.equal(tape.calls[0]!.attempts[0]!.events?.length, 1);
  await until("the upstream is let go", () => gone);
});

test("who does not know the path is not served, nor is another host, and an upgrade is refused at once", async () => {
  let served = 0;
  const server = await listen((_, response) => {
    served++;
    response.end("{}");
    return Promise.resolve();
  });
  const { origin, port } = new URL(server.url);
  assert.match(server.url, /\/[0-9a-f]{32}$/);
  const post = (url: string, host = `127.0.0.1:${port}`) =>
    new Promise<number>((resolve, reject) =>
      httpRequest(url, { method: "POST", headers: { host } }, (response) => resolve(response.resume().statusCode!))
        .on("error", reject).end("{}")
    );
  const path = "/anthropic/v1/messages";
  for (const base of [origin, `${origin}/other`, `${server.url}x`, `${server.url}/..`]) {
    assert.equal(await post(`${base}${path}`), 404, base);
  }
  for (const host of ["example.com", `example.com:${port}`, "127.0.0.1.example.com"]) {
    assert.equal(await post(`${server.url}${path}`, host), 403, host);
  }
  assert.equal(served, 0);
  assert.equal(await post(`${server.url}${path}`, `localhost:${port}`), 200);
  assert.equal(await post(`${server.url}${path}`), 200);
  const upgrade = "GET /openai/v1/responses HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n";
  assert.match(await firstLine(server.url, upgrade), /^HTTP\/1.1 426/);
  await server.close();
  await assert.rejects(new Promise((_, reject) => httpRequest(server.url).on("error", reject).end()));
});

/** The first line that a server says to these bytes, of which more may be to come. */
function firstLine(url: string, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1", () => socket.write(bytes));
    socket.on("error", () => {}).once("data", (data) => {
      resolve(String(data).split("\r\n")[0]!);
      socket.destroy();
    });
  });
}

test("a body that is not wanted is refused before it is read, and one that is too large as soon as it is", async () => {
  let served = 0;
  const server = await listen((_, response) => {
    served++;
    response.end("{}");
    return Promise.resolve();
  }, { largest: 1_000 });
  const { pathname } = new URL(server.url);
  const post = (path: string, length: string, body = "") =>
    firstLine(server.url, `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${length}\r\n\r\n${body}`);
  const path = `${pathname}/anthropic/v1/messages`;
  const chunk = `800\r\n${"x".repeat(0x800)}\r\n`; // and the end is never sent
  assert.match(await post("/anthropic/v1/messages", "content-length: 900"), / 404 /);
  assert.match(await post("/anthropic/v1/messages", "transfer-encoding: chunked"), / 404 /);
  assert.match(await post(path, "content-length: 1001"), / 413 /);
  assert.match(await post(path, "transfer-encoding: chunked", chunk), / 413 /);
  assert.equal(served, 0);
  assert.match(await post(path, "content-length: 2", "{}"), / 200 /);
  await server.close();
});

test("a replay refuses the network and names the hosts that were asked for", async () => {
  using here = project(`import { connect } from "node:net";
    if (process.argv[2]) await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", { method: "POST", body: "{}" });
    const { hostname, port } = new URL(process.env.HTTPS_PROXY);
    const socket = connect(Number(port), hostname, () => socket.write("CONNECT example.com:443 HTTP/1.1\\r\\n\\r\\n"));
    socket.on("data", (bytes) => { console.log(String(bytes)); process.exit(0); });`);
  await using api = await scriptedServer([{ text: "one" }]);
  await here.record({ bodies: [ask("one")], env: { ANTHROPIC_BASE_URL: api.url } });
  const { report, end } = await here.replayScript({}, ["asks"]);
  assert.match(end.stdout, /403/);
  const line = "refused, as a replay uses no network: example.com";
  assert.ok(report.notes.includes(line), report.notes.join("\n"));
  await assert.rejects(here.replayScript({}), {
    message: `Cannot replay one as its program ended before its first request: exit 0\n  ${line}`,
  });
});

test("a program that sends everything through the proxy still reaches the tape, and nothing else", async () => {
  const server = await listen((_, response) => Promise.resolve(void response.end("from the tape")));
  const hosts: string[] = [];
  const proxy = await refusingProxy(server.url, (host) => hosts.push(host));
  const { host, pathname } = new URL(server.url);
  const said = (first: string, then = "") =>
    new Promise<string>((resolve) => {
      const socket = connect(Number(new URL(proxy.url).port), "127.0.0.1", () => socket.write(first));
      let all = "";
      if (then !== "") socket.once("data", () => socket.write(then));
      socket.on("data", (bytes) => all += bytes).on("close", () => resolve(all));
    });
  const get = (url: string) => `GET ${url}/anthropic/v1/models HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`;
  assert.match(await said(get(server.url)), /^HTTP\/1.1 200[^]*from the tape/);
  assert.match(await said(`CONNECT ${host} HTTP/1.1\r\n\r\n`, get(pathname)), /from the tape/);
  assert.match(await said("CONNECT example.com:443 HTTP/1.1\r\n\r\n"), /^HTTP\/1.1 403/);
  assert.match(await said("GET http://127.0.0.1:1/ HTTP/1.1\r\n\r\n"), /^HTTP\/1.1 403/);
  assert.deepEqual(hosts, ["example.com", "127.0.0.1:1"]);
  await proxy.close();
  await server.close();
});

test("the folder of a program is found wherever it stands in the command", () => {
  using folder = scratch({ "node_modules/@qwen/qwen-code/cli.js": "", "node_modules/npm/bin/npx.js": "", "bin/x": "" });
  const [bin, program] = [join(folder.path, "bin"), join(folder.path, "node_modules/@qwen/qwen-code")];
  symlinkSync("../node_modules/@qwen/qwen-code/cli.js", join(bin, "qwen"));
  symlinkSync("../node_modules/npm/bin/npx.js", join(bin, "npx"));
  const env = { PATH: `${bin}:${process.env.PATH}` };
  const commands = [
    ["qwen", "-p", "hi"],
    ["env", "FOO=1", "qwen", "-p", "hi"],
    ["npx", "qwen", "-p", "hi"],
    ["sh", "-c", "cd src && FOO=1 qwen -p 'hi'"],
    ["bash", "-lc", "exec qwen"],
    [join(bin, "qwen")],
    ["node", join(program, "cli.js")],
  ];
  for (const command of commands) assert.equal(installFolder(command, env), program, command.join(" "));
  for (const command of [["sh", "-c", "echo"], ["x", "-p", "ask qwen"], ["none"]]) {
    assert.equal(installFolder(command, env), undefined, command.join(" "));
  }
});

test("the same request after a failure is the next attempt of its call, and is served as that", async () => {
  using here = project();
  await using api = await scriptedServer([{ http: 529 }, { text: "one" }]);
  const bodies = [ask("one"), ask("one")];
  const { tape, end } = await here.record({ bodies, env: { ANTHROPIC_BASE_URL: api.url } });
  assert.deepEqual(tape.calls.map(({ attempts }) => attempts.map(({ status }) => status)), [[529, 200]]);
  const { report, end: again } = await here.replay({ bodies });
  assert.deepEqual([report.ok, again.stdout], [true, end.stdout]);
});

test("requests beside each other get each its own answer, in any order, and are named by their agents", async () => {
  const ask = `(text, agent) => fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", { method: "POST",
    headers: { "x-claude-code-session-id": process.pid + "-session", ...agent && { "x-claude-code-agent-id": agent + process.pid } },
    body: JSON.stringify({ model: "m", messages: [{ role: "user", content: text + " of " + process.pid + "-session" }] }) }).then((r) => r.text())`;
  using here = project(`const ask = ${ask};
    const texts = process.env.TURNED ? ["c", "b", "a"] : ["a", "b", "c"];
    const said = await Promise.all(texts.map((text) => ask(text, text === "a" ? "" : text)));
    console.log(texts.map((text, i) => text + "=" + said[i]).sort().join());`);
  using api = await serve((request, response) => {
    let text = "";
    request.on("data", (chunk) => text += chunk).on("end", () => {
      response.writeHead(200, { "content-type": "text/plain" });
      response.end(`answer to ${JSON.parse(text).messages[0].content[0]}`);
    });
  });
  const { tape, end } = await here.recordScript({ ANTHROPIC_BASE_URL: api.url });
  assert.deepEqual(new Set(tape.calls.map(({ lane }) => lane)), new Set(["main", "agent-1", "agent-2"]));
  assert.equal(end.stdout, "a=answer to a,b=answer to b,c=answer to c\n");
  const { report, end: again } = await here.replayScript({ TURNED: "1" });
  assert.deepEqual([report.ok, again.stdout], [true, end.stdout], JSON.stringify(report));
});

test("results of tools may differ if that is asked for, and are reported; nothing else may", async () => {
  using here = project();
  const result = (said: string, prompt = "run it") =>
    ask(prompt, {
      messages: [
        { role: "user", content: prompt },
        { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "Bash", input: {} }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: said }] },
      ],
    });
  using api = await serve((_, response) => response.end("{}"));
  await here.record({ bodies: [result("out err")], env: { ANTHROPIC_BASE_URL: api.url } });
  const strict = await here.replay({ bodies: [result("err out")] });
  assert.deepEqual([strict.report.divergences[0]?.cause, strict.end.end], ["tool", "exit 1"]);
  const loose = await here.replay({ bodies: [result("err out")], ...{ loose: true } });
  assert.deepEqual([loose.end.end, loose.report.divergences, loose.report.ok], ["exit 0", [], true]);
  assert.deepEqual(loose.report.tools.map(({ path, actual }) => [path, actual]), [[
    "messages.2.content.0.content",
    "err out",
  ]]);
  const other = await here.replay({ bodies: [result("out err", "ran it")], ...{ loose: true } });
  assert.equal(other.report.divergences[0]?.path, "messages.0.content.0.text");
});

test("ids of an account and secrets of the environment are never on a tape", async () => {
  using here = project();
  using api = await serve((_, response) => response.end("{}"));
  const env = { ANTHROPIC_BASE_URL: api.url, SERVICE_TOKEN: "s3rvice-t0ken-of-a-person" };
  const metadata = { user_id: JSON.stringify({ device_id: "f8d5a965d5bb96d39f15609043" }) };
  await here.record({ bodies: [ask("hello", { metadata })], env });
  assert.doesNotMatch(here.text().replace(/^.*/, ""), /f8d5a965/); // the command is in the first line
  using other = project();
  const bodies = [ask(`use ${env.SERVICE_TOKEN}`)];
  await assert.rejects(
    other.record({ bodies, env }),
    /shows the value of the environment variable SERVICE_TOKEN/,
  );
  await other.record({ bodies, env, redact: true });
  assert.match(other.text(), /use \{SECRET:SERVICE_TOKEN\}/);
  assert.equal((await other.replay({ bodies, env })).report.ok, true);
});

test("a tape never names a program in a variable, only a shell of the system", () => {
  const named = {
    SHELL: "/checkout/evil.sh",
    LANG: "C.UTF-8",
    LC_ALL: "$(evil)",
    TZ: "Europe/Vienna",
    PATH: "/checkout",
    LD_PRELOAD: "x",
  };
  assert.deepEqual(shownVariables(named), { LANG: "C.UTF-8", TZ: "Europe/Vienna" });
  assert.deepEqual(shownVariables({ SHELL: "/usr/bin/zsh" }), { SHELL: "/usr/bin/zsh" });
});

test("a packed request is read whichever way it is packed", async () => {
  const seen: unknown[] = [];
  const server = await listen(({ sent }, response) => {
    seen.push(sent.body);
    response.end("{}");
    return Promise.resolve();
  });
  const pack = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync, zstd: zstdCompressSync };
  for (const [encoding, packed] of Object.entries(pack)) {
    const body = new Uint8Array(packed(JSON.stringify({ encoding })));
    await fetch(`${server.url}/openai/v1/responses`, {
      method: "POST",
      headers: { "content-encoding": encoding },
      body,
    });
  }
  await server.close();
  assert.deepEqual(seen, Object.keys(pack).map((encoding) => ({ encoding })));
});

test("requests go where variables and settings led before, else to the provider", () => {
  const OPENCODE_CONFIG_CONTENT = JSON.stringify({
    provider: { google: { options: { baseURL: "http://gateway/v1beta" } } },
  });
  assert.deepEqual(upstreamsIn({ OPENAI_BASE_URL: "http://gateway/v1", OPENCODE_CONFIG_CONTENT }), {
    anthropic: "https://api.anthropic.com",
    openai: "http://gateway/v1",
    gemini: "http://gateway",
  });
});

test("tapeServer has a placeholder for each key that is not set, and is below a path that cannot be guessed", async () => {
  using here = project();
  await using api = await scriptedServer([{ text: "one" }]);
  await here.record({ bodies: [ask("one")], env: { ANTHROPIC_BASE_URL: api.url } });
  const none = { ANTHROPIC_API_KEY: undefined, ANTHROPIC_AUTH_TOKEN: undefined, CLAUDE_CODE_OAUTH_TOKEN: undefined };
  await withEnv({ ...none, GEMINI_API_KEY: undefined, OPENAI_API_KEY: "mine" }, async () => {
    await using server = await tapeServer("one", { cwd: here.folder.path });
    const { ANTHROPIC_API_KEY, GEMINI_API_KEY, OPENAI_API_KEY } = server.env;
    assert.ok(ANTHROPIC_API_KEY && GEMINI_API_KEY && OPENAI_API_KEY === undefined, JSON.stringify(server.env));
    assert.match(server.url, /\/[0-9a-f]{32}$/);
    const headers = { "anthropic-version": "2023-06-01" };
    const post = (url: string) => fetch(`${url}/anthropic/v1/messages`, { method: "POST", headers, body: ask("one") });
    assert.deepEqual([(await post(new URL(server.url).origin)).status, (await post(server.url)).status], [404, 200]);
    assert.ok((await server.drift()).ok);
  });
});

test("a tape of a container is served to any user, and a tape of any user in a container", async () => {
  const asked = (who: string, user: string) => ask(`the root directory of ${who}, at /home/${user}/x`);
  const header = { source: "scripted server", at: new Date(0).toISOString(), seed: "s" };
  for (const [recorder, user] of [["root", "runner"], ["lovelace", "root"], ["lovelace", "ann"]] as const) {
    const hasName = recorder !== "root"; // which is a common word
    const sent: Sent = {
      ...{ api: "anthropic", method: "POST", path: "/v1/messages", query: "", headers: {} },
      body: JSON.parse(asked(hasName ? recorder : "us", recorder)),
    };
    const exchanges = [{ sent, headers: {}, at: 0, attempt: { status: 200, body: "{}", took: 0 } }];
    const tape = tapeOfRun({ exchanges, places: { user: recorder }, header, end: "exit 0" });
    const replayer = new Replayer(tape, { name: "one", places: { user } });
    const server = await listen(replayer.answer);
    const body = asked(hasName ? user : "us", user);
    const { status } = await fetch(`${server.url}/anthropic/v1/messages`, { method: "POST", body });
    await server.close();
    assert.equal(status, 200, `${recorder}, then ${user}: ${JSON.stringify(await replayer.report(""))}`);
  }
});

test("an empty id in a header names no session and no agent", () => {
  const program = new ComparedProgram();
  const lane = program.learn({ "x-claude-code-session-id": "", "x-claude-code-agent-id": "" }, {
    ...{ api: "anthropic", method: "POST", path: "/v1/messages", headers: {} },
  });
  assert.equal(lane, "main");
  assert.deepEqual(program.places, { folder: undefined, session: undefined, agents: [] });
});

test("a frame that is not JSON is masked as all others are, in every API", () => {
  const mask = sentMasks({ root: "/srv/tea" }, new ComparedProgram(), redactor({ seed: "s", env: {} }))();
  const raw = "data: cut in /srv/tea/x, OPENAI_API_KEY=abcdefghij0123456789klmnop\n\n";
  for (const api of ["chat", "responses", "gemini", "anthropic"] as const) {
    const by = api === "anthropic" ? {} : { api };
    const { events } = mask.attemptOn({ ...by, events: [{ ms: 0, raw }, { ms: 0, raw: "data: [DONE]\n\n" }], took: 1 });
    assert.match(events![0]!.raw!, /^data: cut in \{ROOT\}\/x, OPENAI_API_KEY=\{KEY:\w+\}\n\n$/, api);
    assert.equal(events![1]!.raw, "data: [DONE]\n\n");
    assert.match(mask.attemptOff({ ...by, events: events!, took: 1 }).events![0]!.raw!, /cut in \/srv\/tea\/x/, api);
  }
});
