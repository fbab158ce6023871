import { group } from "./_group.ts";

/** Agents at a glance: our own runs, and agents of other hosts that are watched. */
export default group("agents", {
  ls: ["what each agent is doing, since when, and what it asks", () => import("./agents/ls.ts")],
  answer: ["answer an agent that waits for a person", () => import("./agents/answer.ts")],
}, { bare: "ls", example: "crochet agents" });
