import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fixtureAt } from "../../../lib/replay/fixture.ts";
import { readTape } from "../../../lib/replay/read-tape.ts";
import { recordCommand, type RecordOptions, replayCommand } from "../../../lib/extensions/tape/run-command.ts";
import { CROCHET } from "../../_crochet.ts";
import { RUNTIME } from "../../_runtime.ts";
import { place } from "../../_place.ts";
import { serve } from "../../_server.ts";
import { CLIENT, SERVER } from "./_mcp-scripts.ts";

type Steps = readonly (readonly unknown[])[];

const REPLY = JSON.stringify({
  ...{ id: "msg_1", type: "message", role: "assistant", model: "m", content: [{ type: "text", text: "ok" }] },
  ...{ stop_reason: "end_turn", stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } },
});

/** A project whose program has an MCP server, behind our command as one would write it into any client's settings. */
export async function project(variables: { readonly [name: string]: string } = {}) {
  const here = place({ "client.mjs": CLIENT, "server.mjs": SERVER });
  const api = await serve((request, response) => {
    request.resume().on("end", () => response.writeHead(200, { "content-type": "application/json" }).end(REPLY));
  });
  const started = join(here.home, "started");
  const env = { ...process.env, ANTHROPIC_BASE_URL: api.url, STARTED: started, ...variables };
  const fixture = fixtureAt(join(here.cwd, "fixtures", "w"));
  const command = (steps: Steps) => [
    ...[...RUNTIME, "client.mjs", JSON.stringify(steps)],
    ...[...CROCHET, "mcp", "weather", "--env", "LABEL", "--", ...RUNTIME, join(here.cwd, "server.mjs")],
  ];
  const given = (steps: Steps) => ({ command: command(steps), cwd: here.cwd, env, quiet: true, timeout: 60 });
  return {
    ...here,
    fixture,
    command,
    env,
    starts: () => existsSync(started) ? readFileSync(started, "utf8").trim().split("\n").length : 0,
    record: (steps: Steps, more: Partial<RecordOptions> = {}) => recordCommand(fixture, { ...given(steps), ...more }),
    replay: (steps: Steps, more: object = {}) => replayCommand(fixture, { ...given(steps), ...more }),
    mcp: async () => (await readTape(fixture.tape)).mcp ?? [],
    [Symbol.dispose]() {
      api[Symbol.dispose]();
      here[Symbol.dispose]();
    },
  };
}

export const BONN = ["call", "get_weather", { city: "Bonn" }] as const;
