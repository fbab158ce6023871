import type { Extension } from "../../cli/kit/extension.ts";

export const check: Extension = {
  name: "check",
  commands: {
    "hooks check": [
      "try hooks on generated events: crashes, Stop hooks that block forever, guards that let calls through",
      () => import("./command.ts"),
    ],
    "hooks backtest": [
      "fire hooks over sessions of Claude Code and Codex, and see what they would have done",
      () => import("./backtest-command.ts"),
    ],
  },
  needs: ["import", "tape", "view"],
};
