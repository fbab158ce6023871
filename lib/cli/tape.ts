import { type Actions, group } from "./_flags.ts";

/** The actions on tapes of other programs; each is loaded when called. */
const ACTIONS: Actions = {
  record: ["run any agent against the real API and record it as a fixture", () => import("./tape/record.ts")],
  replay: [
    "run it again from its tape, without the network, and report what changed",
    () => import("./tape/replay.ts"),
  ],
  mcp: ["stand before an MCP server: record it, or answer in its place", () => import("./tape/mcp.ts")],
  serve: ["serve a tape to programs that are started elsewhere", () => import("./tape/serve.ts")],
};

export default group("tape", ACTIONS, { example: `crochet tape record --fixture typo -- claude -p "fix the typo"` });
