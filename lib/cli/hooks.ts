import { type Command, EXIT, UsageError } from "./_io.ts";

/** What can be done with hooks; each is loaded only when it is asked for. */
const ACTIONS: { readonly [name: string]: readonly [about: string, load: () => Promise<{ default: Command }>] } = {
  ls: ["which hooks load here, in which order, and what does not load and why", () => import("./hooks/ls.ts")],
  add: ["copy a hook that comes with crochet into ./hooks", () => import("./hooks/add.ts")],
  test: ["fire one hook at one event and see its verdict", () => import("./hooks/test.ts")],
  install: ["write the hooks of ./hooks into another host's settings", () => import("./hooks/install.ts")],
  uninstall: ["take them out again", () => import("./hooks/uninstall.ts")],
  enable: ["switch a hook on in this project", () => import("./hooks/enable.ts")],
  disable: ["switch a hook off in this project", () => import("./hooks/disable.ts")],
  stats: ["how often each hook ran, what it did and how long it took", () => import("./hooks/stats.ts")],
  explain: ["why a verdict came out as it did", () => import("./hooks/explain.ts")],
};

const hooks: Command = async (args, io) => {
  const [name, ...rest] = args;
  if (name === "--help" || name === "-h" || name === "help") {
    io.out(help());
    return EXIT.ok;
  }
  if (name === undefined || name.startsWith("-")) return await (await ACTIONS.ls![1]()).default(args, io);
  const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
  if (!action) {
    const { nearest } = await import("../core/names.ts");
    const near = nearest(name, Object.keys(ACTIONS));
    throw new UsageError(`Cannot do 'hooks ${name}' as there is no such thing: did you mean 'crochet hooks ${near}'?`);
  }
  return await (await action[1]()).default(rest, io);
};
export default hooks;

function help(): string {
  const rows = Object.entries(ACTIONS).map(([name, [about]]) => `  ${name.padEnd(11)}${about}`);
  return [
    "crochet hooks [ls | add | test | install | uninstall | enable | disable | stats | explain]",
    "",
    ...rows,
    "",
    "crochet hooks <action> --help tells more",
    "",
    "Example",
    "  crochet hooks",
    "",
  ].join("\n");
}
