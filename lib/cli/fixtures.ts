import { type Command, EXIT, UsageError } from "./_io.ts";

/** What can be done with fixtures; each is loaded only when it is asked for. */
const ACTIONS: { readonly [name: string]: readonly [about: string, load: () => Promise<{ default: Command }>] } = {
  ls: [
    "the fixtures of this project, what they were recorded from and what they hold",
    () => import("./fixtures/ls.ts"),
  ],
  show: ["a tape as a conversation", () => import("./fixtures/show.ts")],
  import: ["make tapes of other tools' recordings", () => import("./fixtures/import.ts")],
  census: ["what the tapes cover of the API, and what they lack", () => import("./fixtures/census.ts")],
  scan: ["search tapes for secrets; exit code 1 where one shows", () => import("./fixtures/scan.ts")],
  prune: ["remove blobs that no tape needs", () => import("./fixtures/prune.ts")],
};

const fixtures: Command = async (args, io) => {
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
    throw new UsageError(
      `Cannot do 'fixtures ${name}' as there is no such thing: did you mean 'crochet fixtures ${near}'?`,
    );
  }
  return await (await action[1]()).default(rest, io);
};
export default fixtures;

function help(): string {
  const rows = Object.entries(ACTIONS).map(([name, [about]]) => `  ${name.padEnd(8)}${about}`);
  return [
    `crochet fixtures [${Object.keys(ACTIONS).join(" | ")}]`,
    "",
    ...rows,
    "",
    "crochet fixtures <action> --help tells more",
    "",
    "Example",
    "  crochet fixtures",
    "",
  ].join("\n");
}
