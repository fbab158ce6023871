import { type Actions, group } from "./_group.ts";

/** What can be done with hooks; each is loaded only when it is asked for. */
const ACTIONS: Actions = {
  ls: ["which hooks load here, in which order, and what does not load and why", () => import("./hooks/ls.ts")],
  add: ["copy a hook that comes with crochet into ./hooks", () => import("./hooks/add.ts")],
  test: ["fire one hook at one event and see its verdict", () => import("./hooks/test.ts")],
  check: [
    "hold hooks to laws: events nobody thought of, stop hooks that never let go, guards that let through",
    () => import("./hooks/check.ts"),
  ],
  install: ["write the hooks of ./hooks into another host's settings", () => import("./hooks/install.ts")],
  uninstall: ["take them out again", () => import("./hooks/uninstall.ts")],
  enable: ["switch a hook on in this project", async () => (await import("./hooks/switch.ts")).enable],
  disable: ["switch a hook off in this project", async () => (await import("./hooks/switch.ts")).disable],
  stats: ["how often each hook ran, what it did and how long it took", () => import("./hooks/stats.ts")],
  explain: ["why a verdict came out as it did", () => import("./hooks/explain.ts")],
};

export default group("hooks", ACTIONS, { bare: "ls", example: "crochet hooks" });
