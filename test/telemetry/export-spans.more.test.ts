/** Spans by the environment alone: real packages, a receiver on 127.0.0.1, processes that end as the command line does. */
import assert from "node:assert/strict";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { runProcess } from "../../lib/process/process.ts";
import { ROOT, RUNTIME } from "../_runtime.ts";
import { scratch } from "../_scratch.ts";
import { serve } from "../_server.ts";
import { add } from "../package/_install.ts";

const skip = !process.env.CROCHET_TEST_LONG && "it installs packages: CROCHET_TEST_LONG=1";

const AGENT = `
  import { agent, tool } from "./lib/index.ts";
  import { scripted } from "./lib/testing/index.ts";
  const Look = tool({ name: "Look", description: "", input: { type: "object" }, effect: "read", run: () => "seen" });
  const model = scripted([{ tools: [{ name: "Look", input: {} }] }, { text: "end" }]);
  const made = agent({ from: import.meta.url, name: "tester", model, tools: [Look], hooks: [] });
  export default made;
  if (import.meta.main) await made.main();
`;

const project = skip ? undefined : install();
after(() => project?.[Symbol.dispose]());

/** A project that has our sources, what they need, and the packages of OpenTelemetry. */
function install() {
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const folder = scratch({
    "package.json": JSON.stringify({ type: "module", dependencies }),
    "deno.json": '{ "nodeModulesDir": "manual" }',
    "agent.ts": AGENT,
  });
  cpSync(join(ROOT, "lib"), join(folder.path, "lib"), { recursive: true });
  add(folder.path, "@opentelemetry/sdk-trace-base@2", "@opentelemetry/exporter-trace-otlp-http@0.301");
  return folder;
}

async function start(env: { readonly [name: string]: string }, ...words: string[]) {
  const [command, ...args] = RUNTIME;
  const cwd = project!.path;
  const { code, stdout, stderr } = await runProcess({
    ...{ command, args: [...args, ...words], cwd, timeout: 300_000 },
    env: { ...process.env, CROCHET_HOME: join(cwd, ".state"), CROCHET_LOG: "off", ...env },
  });
  return { code, stdout, stderr };
}

interface Sent {
  readonly path: string | undefined;
  readonly service: string;
  readonly names: readonly string[];
}

function sentIn(path: string | undefined, body: string): Sent {
  const [{ resource, scopeSpans }] = JSON.parse(body).resourceSpans;
  const service = resource.attributes.find(({ key }: { key: string }) => key === "service.name").value.stringValue;
  return { path, service, names: scopeSpans.flatMap((scope: any) => scope.spans).map((span: any) => span.name) };
}

const WAYS = { "agent.main()": ["agent.ts", "go"], "crochet run": ["lib/cli/main.ts", "run", "agent.ts", "go"] };

for (const [way, words] of Object.entries(WAYS)) {
  test(`${way} sends all its spans to the collector that the environment names before it ends`, { skip }, async () => {
    const sent: Sent[] = [];
    using server = await serve(async (request, response) => {
      let body = "";
      for await (const chunk of request.setEncoding("utf8")) body += chunk;
      sent.push(sentIn(request.url, body));
      response.end("{}");
    });
    const named = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: server.url, OTEL_SERVICE_NAME: "kim" }, ...words);
    assert.deepEqual({ code: named.code, stdout: named.stdout, sent: sent.length }, {
      code: 0,
      stdout: "end\n",
      sent: 1,
    }, named.stderr);
    assert.deepEqual([sent[0]!.path, sent[0]!.service], ["/v1/traces", "kim"]);
    for (const name of ["invoke_agent tester", "execute_tool Look"]) assert.ok(sent[0]!.names.includes(name), name);
    assert.equal(sent[0]!.names.filter((name) => name.startsWith("chat ")).length, 2);
    const off = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: server.url, OTEL_SDK_DISABLED: "true" }, ...words);
    assert.deepEqual([off.code, off.stderr, sent.length], [0, named.stderr, 1]);
  });

  test(`${way} does not wait for a collector that never answers, and says so`, { skip }, async () => {
    using server = await serve(() => {});
    const { code, stdout, stderr } = await start({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${server.url}/x` }, ...words);
    assert.deepEqual([code, stdout], [0, "end\n"], stderr);
    assert.match(stderr, /^crochet: Cannot send the last spans as there was no answer in 3 s: look at OTEL/m);
  });
}
