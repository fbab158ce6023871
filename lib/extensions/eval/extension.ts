import type { Extension } from "../../cli/kit/extension.ts";

export const evals: Extension = {
  name: "eval",
  commands: {
    eval: ["run recorded agents live and report how often they pass", () => import("./command.ts")],
  },
  needs: ["check", "durable", "import", "tape", "view"],
  gives: { attempt: () => import("./workers.ts"), pages: () => import("./draw.ts") },
};
