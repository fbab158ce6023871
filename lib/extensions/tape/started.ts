import { UsageError } from "../../cli/kit/io.ts";

/** Runs a command; one that is missing is a usage error. */
export async function started<T>(command: readonly string[], run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    const { code } = error as { code?: string };
    if (code !== "ENOENT" && code !== "EACCES") throw error;
    throw new UsageError(
      `Cannot run '${command[0]}' as ${code === "ENOENT" ? "there is no such command" : "it may not be run"}`,
    );
  }
}
