import type { HookEnv } from "../../core/hook.ts";
import { runProcess } from "./process.ts";

/** Runs a program for a hook (`ctx.$`): no shell, the whole environment, ended with everything it started. */
export const exec: NonNullable<HookEnv["exec"]> = async (command, args, { cwd, signal }) => {
  const { code, stdout, stderr, ended } = await runProcess({ command, args, cwd, env: process.env, signal });
  if (ended) throw new Error(`Cannot finish '${command}' as the hook was ended`);
  return { code, stdout, stderr };
};
