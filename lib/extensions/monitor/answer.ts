import { answerQuestion, openQuestions } from "../../log/questions.ts";
import type { PermissionReply } from "../../permissions/gate.ts";
import type { Answer, Flags } from "../../cli/kit/flags.ts";
import { EXIT, type Io, UsageError } from "../../cli/kit/io.ts";
import { logsDir } from "../../files/state.ts";
import { plainText } from "../../cli/show/text.ts";

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

/** `crochet agents answer`: what an agent asks, or what came of its answer. */
export async function answered(
  [id, verdict, ...rest]: readonly string[],
  flags: Flags["flags"],
  io: Io,
): Promise<Answer | number> {
  if (id === undefined) {
    throw new UsageError("Cannot answer as no agent is named: crochet agents answer 1f0c… deny 'not on a Friday'");
  }
  const questions = flags.on === undefined ? ofProject(io.cwd, io) : await onEngine(String(flags.on));
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
  const isTaken = await questions.answer(id, {
    behavior: verdict,
    ...(reason !== "" && { reason }),
    ...(flags.remember === true && { remember: true }),
  });
  if (!isTaken) throw new Error(`Cannot answer agent '${id}' as it was just answered elsewhere`);
  return EXIT.ok;
}

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
