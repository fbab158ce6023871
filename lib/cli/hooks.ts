import { type Actions, group } from "./kit/group.ts";

/** The actions on hooks; each is loaded when called. */
const ACTIONS: Actions = {
  ls: ["list the hooks that load here, in order, and why others do not load", () => import("./hooks/ls.ts")],
  new: ["write a hook with examples, to change", () => import("./hooks/new.ts")],
  add: ["copy hooks that come with crochet into ./hooks", () => import("./hooks/add.ts")],
  import: ["write the hooks of Claude Code's settings as files into ./hooks", () => import("./hooks/import.ts")],
  test: ["fire one hook at one event and see its verdict", () => import("./hooks/test.ts")],
  install: [
    "write the hooks of ./hooks into another host's settings",
    async () => (await import("./hooks/install.ts")).install,
  ],
  uninstall: ["remove them from those settings", async () => (await import("./hooks/install.ts")).uninstall],
  enable: ["switch a hook on in this project", async () => (await import("./hooks/switch.ts")).enable],
  disable: ["switch a hook off in this project", async () => (await import("./hooks/switch.ts")).disable],
  stats: ["show how often each hook ran, what it did and how long it took", () => import("./hooks/stats.ts")],
  explain: ["show how a verdict came about", () => import("./hooks/explain.ts")],
};

export default group("hooks", ACTIONS, { bare: "ls", example: "crochet hooks" });
