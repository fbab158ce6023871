import type { Extension } from "../../cli/kit/extension.ts";

export const tape: Extension = {
  name: "tape",
  commands: {
    "fixtures serve": ["serve a tape to programs that are started elsewhere", () => import("./serve-command.ts")],
    mcp: [
      "stand before an MCP server: record it, or answer in its place",
      () => import("./mcp-command.ts"),
      "programs",
    ],
  },
  gives: { programs: () => import("./recorded-program.ts") },
};
