import { answerQuestion, openQuestions } from "../../log/questions.ts";
import type { PermissionReply } from "../../permissions/gate.ts";
import { command, type Usage } from "../../cli/kit/flags.ts";
import { EXIT, type Io, UsageError } from "../../cli/kit/io.ts";
import { projectOf } from "../../cli/kit/project.ts";
import { logsDir } from "../../files/state.ts";
import { plainText } from "../../cli/show/text.ts";

const USAGE: Usage = {
  name: "agents answer",
  words: "<id> [allow | deny] [reason…]",
  about: "Answers an agent that waits for a person. Without an answer, shows the question.",
  flags: [
    ["--remember", "with allow: run calls like this one without asking for the rest of the run"],
    ["--on <url>", "for an agent on a durable engine: the ingress address"],
    ["--cwd <dir>", "the project of a run with --durable"],
    ["--json", "print JSON"],
  ],
  example: "crochet agents answer 1f0c… deny 'not on a Friday'",
};

interface Question {
  readonly agent_id: string;
  readonly tool_name: string;
  readonly input: unknown;
  readonly reason: string;
}

/** Where questions wait. */
interface Questions {
  /** What one agent asks, or all agents. */
  open(agentId?: string): Promise<Question[]>;
  answer(agentId: string, reply: PermissionReply): Promise<boolean>;
}

export default command(USAGE, async ({ words, flags }, io) => {
  const [id, verdict, ...rest] = words;
  if (id === undefined) throw new UsageError(`Cannot answer as no agent is named: ${USAGE.example}`);
  const questions = flags.on === undefined ? ofProject(projectOf(flags, io), io) : await onEngine(String(flags.on));
  const asked = await questions.open(id);
  if (asked.length === 0) {
    const others = [...new Set((await questions.open()).map(({ agent_id }) => agent_id))].join(", ");
    throw new UsageError(
      `Agent '${id}' has no pending question${others === "" ? "" : `: these agents have one: ${others}`}`,
    );
  }
  if (verdict === undefined) {
    const text = asked.map(({ tool_name, input, reason }) =>
      `${plainText(reason)}\n  ${tool_name} ${plainText(JSON.stringify(input))}\n`
    );
    return { data: asked, text: text.join("") };
  }
  if (verdict !== "allow" && verdict !== "deny") {
    throw new UsageError(`Cannot answer '${verdict}': expected allow or deny`);
  }
  const reason = rest.join(" ");
  const answered = await questions.answer(id, {
    behavior: verdict,
    ...(reason !== "" && { reason }),
    ...(flags.remember === true && { remember: true }),
  });
  if (!answered) throw new Error(`Cannot answer agent '${id}' as it was just answered elsewhere`);
  return EXIT.ok;
});

/** The questions of agents on an engine, which knows them by their agents only. */
async function onEngine(url: string): Promise<Questions> {
  const { remote } = await import("../durable/remote.ts");
  const engine = remote(url);
  return {
    open: async (id) => {
      const asked = id === undefined ? undefined : await engine.question(id);
      return asked ? [asked as Question] : [];
    },
    answer: (id, reply) => engine.answer(id, reply),
  };
}

/** The questions of a project's own durable runs. */
function ofProject(cwd: string, io: Io): Questions {
  const of = (id: string | undefined) =>
    openQuestions<Question>(logsDir(cwd, io.env)).filter(({ about }) => id === undefined || about.agent_id === id);
  return {
    open: async (id) => of(id).map(({ about }) => about),
    answer: async (id, reply) => {
      const [oldest] = of(id);
      return oldest !== undefined && answerQuestion(oldest, reply);
    },
  };
}
