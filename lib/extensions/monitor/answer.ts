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

/** `crochet agents answer`: what an agent asks, or what came of its answer. */
export async function answered(
  [id, verdict, ...rest]: readonly string[],
  flags: Flags["flags"],
  io: Io,
): Promise<Answer | number> {
  if (id === undefined) {
    throw new UsageError("Cannot answer as no agent is named: crochet agents answer 1f0c… deny 'not on a Friday'");
  }
  const engine = flags.on === undefined ? undefined : (await import("../durable/remote.ts")).remote(String(flags.on));
  // An engine knows its agents by their names alone: it cannot list them.
  const all = engine ? [] : openQuestions<Question>(logsDir(io.cwd, io.env));
  const own = all.filter(({ about }) => about.agent_id === id);
  const asked = own.map(({ about }) => about);
  const there = await engine?.question(id) as Question | undefined;
  if (there) asked.push(there);
  if (asked.length === 0) {
    const others = [...new Set(all.map(({ about }) => about.agent_id))].join(", ");
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
  const remember = flags.remember === true && { remember: true };
  const reply: PermissionReply = { behavior: verdict, ...(reason !== "" && { reason }), ...remember };
  const isTaken = engine ? await engine.answer(id, reply) : answerQuestion(own[0]!, reply);
  if (!isTaken) throw new Error(`Cannot answer agent '${id}' as it was just answered elsewhere`);
  return EXIT.ok;
}
