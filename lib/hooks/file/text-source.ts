import { readFileSync } from "node:fs";
import { readBrought } from "./brought.ts";

/** Where hooks are from, in the order in which they are asked. */
export type SourceScope = "script" | "user" | "project" | "local" | "command line";

/** A settings or definitions file, of which only a trusted text counts. */
export class TextSource {
  readonly path: string;
  readonly scope: SourceScope;
  readonly #options: TextSourceOptions;
  /** Undefined if there is none, or none that is trusted. */
  text: string | undefined;
  /** Why what lies there does not count. */
  refused: string | undefined;
  problem: string | undefined;

  constructor(path: string, scope: SourceScope, options: TextSourceOptions = {}) {
    this.path = path;
    this.scope = scope;
    this.#options = options;
  }

  load(): void {
    this.text = this.refused = this.problem = undefined;
    const { project, distrust, required } = this.#options;
    try {
      const bytes = project === undefined ? readFileSync(this.path) : readBrought(project, this.path);
      if (bytes === undefined) return;
      const text = new TextDecoder().decode(bytes);
      this.refused = distrust?.(text);
      if (this.refused === undefined) this.text = text;
    } catch (error) {
      const missing = (error as { code?: string }).code === "ENOENT";
      if (missing && !required) return;
      this.problem = `Cannot read '${this.path}': ${missing ? "there is no such file" : (error as Error).message}`;
    }
  }
}

interface TextSourceOptions {
  /** The project that brought the file along: only a regular file inside it is read. */
  readonly project?: string;
  /** Why a text is not to be used. @default all are */
  readonly distrust?: ((text: string) => string | undefined) | undefined;
  /** Named by a person: it must be there. */
  readonly required?: boolean;
}
