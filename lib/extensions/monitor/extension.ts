import type { Extension } from "../../cli/kit/extension.ts";

export const monitor: Extension = {
  name: "monitor",
  commands: {
    agent: ["prepare another host's agent to be watched", () => import("./agent.ts")],
    agents: ["what each running or watched agent is doing", () => import("./agents.ts")],
  },
  needs: ["durable", "view"],
};
