import { basename } from "node:path";
import { agentsDir } from "./note.ts";
import { allStandings, hasEnded, type Standing } from "./standing.ts";
import { command, type Usage } from "../../cli/kit/flags.ts";
import { refuseOther } from "../../cli/kit/behind-dashes.ts";
import { unknownCommand } from "../../cli/kit/group.ts";
import { EXIT, type Io } from "../../cli/kit/io.ts";
import { hasPerson, openKeyboard } from "../view/terminal/keys.ts";
import { Screen } from "../view/terminal/screen.ts";
import { type Colours, coloursFor, cut, oneLine, several, table } from "../../cli/show/text.ts";

const USAGE: Usage = {
  name: "agents",
  words: "[ls | answer <id> [allow | deny] [reason…]]",
  about:
    "Shows the runs of crochet and the agents that are watched: what each is doing, since when, and what it asks; " +
    "or answers one that waits for a person. Without an answer, shows the question.",
  flags: [
    ["--watch", "on a terminal: keep showing; q or Ctrl-C ends it"],
    ["--all", "also those that have ended"],
    ["--remember", "with allow: run calls like this one without asking for the rest of the run"],
    ["--on <url>", "to answer an agent on a durable engine: the ingress address"],
    ["--json", "print JSON"],
  ],
  example: "crochet agents",
};

const ACTIONS = ["ls", "answer"];

const NONE = "no agents are running: 'crochet run' starts one, 'crochet agent --help' shows how to watch others\n";

/** Agents at a glance: our own runs, and agents of other hosts that are watched. */
export default command(USAGE, async ({ words: [action = "ls", ...words], flags }, io) => {
  if (!ACTIONS.includes(action)) throw unknownCommand("agents", action, ACTIONS);
  refuseOther(flags, action === "ls" ? ["remember", "on"] : ["watch", "all"], `with ${action}: leave it out`);
  if (action === "answer") return await (await import("./answer.ts")).answered(words, flags, io);
  const look = () => allStandings(agentsDir(io.env)).filter((one) => flags.all === true || !hasEnded(one));
  if (flags.watch && io.tty && !flags.json) return await watchAgents(look, io);
  const data = look();
  const columns = io.tty ? process.stdout.columns : Infinity;
  const text = data.length === 0 ? NONE : agentsTable(data, { columns, colours: coloursFor(io.tty, io.env) });
  return { data, text };
});

const EVERY_MS = 500;

/** Agents as rows: id, state, since when, and what each asks or works on; a narrow terminal loses the end of a row. */
export function agentsTable(
  all: readonly Standing[],
  { columns, colours, now = Date.now() }: { columns: number; colours: Colours; now?: number },
): string {
  const rows = all.map((one) => [shortId(one.id), stateWords(one), age(one.since, now), about(one)]);
  const head = ["agent", "state", "since", "asks"];
  const { green: working, yellow: waiting, magenta: prompting, dim: stopped, red: failed } = colours;
  const paints = { working, waiting, prompting, stopped, failed };
  const [top, ...lines] = table(head, rows, columns).slice(0, -1).split("\n");
  const painted = lines.map((line, n) =>
    line.replace(/^(\S+)(\s+)(\S+)/, (_, id, gap, state) => `${colours.bold(id)}${gap}${paints[all[n]!.state](state)}`)
  );
  return [colours.dim(top!), ...painted, ""].join("\n");
}

/** A session's id by its beginning, as `git` shows a commit; a name that a person chose is whole. */
function shortId(id: string): string {
  return /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(id) ? id.slice(0, 8) : oneLine(id);
}

function stateWords(one: Standing): string {
  return one.state === "prompting" ? `prompting(${one.prompt_type})` : one.state;
}

function about(one: Standing): string {
  if (one.state === "prompting") return oneLine(one.message);
  const where = one.workspace === undefined ? "" : basename(one.workspace);
  return oneLine([one.name, where && `in ${where}`].filter(Boolean).join(" "));
}

/** How long ago, in its largest unit. */
function age(since: string, now: number): string {
  const seconds = Math.max(0, Math.floor((now - Date.parse(since)) / 1000));
  if (!Number.isFinite(seconds)) return "";
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  return seconds < 86_400 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} d`;
}

const SCREEN_ON = "\u001b[?1049h\u001b[H";
const SCREEN_OFF = "\u001b[?1049l";

/** A live table on a screen of its own; what was on the terminal is there again afterwards. */
async function watchAgents(look: () => readonly Standing[], io: Io): Promise<number> {
  const colours = coloursFor(io.tty, io.env);
  const { promise: left, resolve: leave } = Promise.withResolvers<number>();
  const write = io.draw ?? io.out;
  const size = () => ({ columns: process.stdout.columns || 80, rows: process.stdout.rows || 24 });
  const screen = new Screen({ write, columns: () => size().columns, rows: () => size().rows });
  const draw = () => {
    const { columns, rows } = size();
    const all = look();
    const foot = cut(`${several(all.length, "agent")} · q quits`, columns);
    const lines = all.length === 0 ? ["no agents are running"] : agentsTable(all, { columns, colours }).split("\n");
    screen.show([...lines.filter((line) => line !== "").slice(0, Math.max(1, rows - 3)), "", colours.dim(foot)]);
  };
  const closeKeyboard = hasPerson(io.tty, io.env)
    ? openKeyboard({
      onKey: (key) => {
        if (key.name === "ctrl-c" || key.text === "q") leave(EXIT.ok);
      },
      onGone: () => leave(EXIT.interrupted),
      write,
    })
    : undefined;
  const interrupted = () => leave(EXIT.interrupted);
  io.signal.addEventListener("abort", interrupted, { once: true });
  write(SCREEN_ON);
  draw();
  const timer = setInterval(draw, EVERY_MS);
  process.stdout.on("resize", draw);
  try {
    return await left;
  } finally {
    clearInterval(timer);
    process.stdout.off("resize", draw);
    closeKeyboard?.();
    screen.clear();
    write(SCREEN_OFF);
  }
}
