import pc from "picocolors";
import { agentIds, agentsDir, readEvents } from "../monitor/log.ts";
import { type AgentState, stateOf } from "../monitor/state.ts";
import { helpText, readFlags, type Usage } from "./_flags.ts";
import { type Command, EXIT, type Io } from "./_io.ts";
import { plainText } from "./_show.ts";

const USAGE: Usage = {
  name: "agents",
  words: "",
  about: "Shows the agents that are watched: what each is doing, since when, and what it asks.",
  flags: [["--watch", "keep showing"], ["--all", "those that have ended too"], ["--json", "print data"], [
    "--help",
    "this text",
  ]],
  example: "crochet agents",
};

const EVERY_MS = 500;

const agents: Command = async (args, io) => {
  const { flags } = readFlags(USAGE, args);
  if (flags.help) {
    io.out(helpText(USAGE));
    return EXIT.ok;
  }
  const show = () => {
    const rows = standing(io, flags.all === true);
    if (flags.json) return `${JSON.stringify(rows)}\n`;
    return rows.length === 0 ? "no agents are watched: see 'crochet agent --help'\n" : rows.map(row).join("");
  };
  if (!flags.watch) {
    io.out(show());
    return EXIT.ok;
  }
  let last = "";
  while (!io.signal.aborted) {
    const now = show();
    if (now !== last) io.out(io.tty ? `\x1b[2J\x1b[H${now}` : now);
    last = now;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, EVERY_MS);
      io.signal.addEventListener("abort", () => {
        clearTimeout(timer);
        resolve();
      }, { once: true });
    });
  }
  return EXIT.ok;
};
export default agents;

type Row = { readonly id: string } & AgentState;

function standing(io: Io, all: boolean): Row[] {
  const dir = agentsDir(io.env);
  return agentIds(dir).flatMap((id) => {
    const state = stateOf(readEvents(dir, id));
    return state && (all || (state.state !== "stopped" && state.state !== "failed")) ? [{ id, ...state }] : [];
  });
}

function row(agent: Row): string {
  const colour =
    { working: pc.green, waiting: pc.yellow, prompting: pc.magenta, stopped: pc.dim, failed: pc.red }[agent.state];
  const what = agent.state === "prompting" ? `prompting(${agent.prompt_type})` : agent.state;
  const asks = agent.state === "prompting" ? plainText(agent.message) : "";
  return `${pc.bold(agent.id.padEnd(20))} ${colour(what.padEnd(26))} ${pc.dim(agent.since)}  ${asks}\n`;
}
