import { type Call, MAIN, type Tape } from "../../log/tape.ts";
import { FreeRun, type ServedReply, type TakenCall } from "../../replay/free-run.ts";
import { callsUnder, isForGood } from "./_apply.ts";
import { blocksOf, checkFault, type Fault, faultText } from "./fault.ts";
import { type KeptSeams, SeamFaults } from "./seam-faults.ts";

/** What is known of a run when its process is killed: another goes on with it. */
export interface KeptRun {
  readonly taken: readonly Omit<TakenCall, "call">[];
  readonly said: readonly ServedReply[];
  readonly seams: KeptSeams;
}

/** A recorded run on which faults fall. */
export class FaultRun extends FreeRun {
  /** What falls on tools, hooks and servers, and kills the process. */
  override readonly seams: SeamFaults;

  /** Begins a run, or goes on with one whose process was killed. @throws {TypeError} if a fault is invalid or not on the tape */
  constructor(tape: Tape, faults: readonly Fault[], before?: KeptRun) {
    for (const fault of faults) checkFault(fault);
    const onReplies = faults.filter(({ on }) => on === undefined);
    super(tape, (call, number) => {
      const mine = onReplies.filter((fault) => fault.call === number && (fault.lane ?? MAIN) === call.lane);
      for (const fault of mine) checkPlace(fault, call);
      return { left: callsUnder(call, mine), forGood: mine.some(isForGood) };
    });
    this.seams = new SeamFaults(faults, before?.seams);
    for (const fault of onReplies) checkCall(fault, tape);
    for (const taken of before?.taken ?? []) this.again(taken);
    this.said.push(...before?.said ?? []);
  }

  /** What another process must know that goes on with this run; undefined if nothing kills it. */
  get kept(): KeptRun | undefined {
    const { taken, said, seams: { kept: seams } } = this;
    return seams && { taken: taken.map(({ call: _, ...rest }) => rest), said, seams };
  }
}

function checkCall(fault: Fault, tape: Tape): void {
  const lanes = Map.groupBy(tape.calls, ({ lane }) => lane);
  const calls = lanes.get(fault.lane ?? MAIN)?.length ?? 0;
  if (fault.call <= calls) return;
  const known = calls > 0
    ? `it has ${calls === 1 ? "1 call" : `${calls} calls`}`
    : `its lanes are ${[...lanes.keys()].join(", ")}`;
  throw new TypeError(`Cannot place fault '${faultText(fault)}' as the tape has no such call: ${known}`);
}

function checkPlace(fault: Fault, call: Call): void {
  const { block, delta = 0, what } = fault;
  if (block === undefined || block === "end") return;
  const blocks = blocksOf(call);
  const refuse = (why: string) => new TypeError(`Cannot place fault '${faultText(fault)}' as ${why}`);
  const found = blocks.find((named) => named.block === block);
  if (!found) {
    const has = blocks.length > 0 ? `it has ${blocks.map((named) => named.block).join(", ")}` : "it has no blocks";
    throw refuse(`the reply has no such block: ${has}`);
  }
  // It would change nothing, and count as survived.
  if (!what.startsWith("json ") || delta < found.input) return;
  if (found.input === 0) throw refuse("the call has no input that could be lost: take another fault");
  throw refuse(`all of the input has come by then: the last delta it can stand behind is ${found.input - 1}`);
}
