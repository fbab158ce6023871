import { readFileSync } from "node:fs";

/** Where hooks are from, in the order in which they are asked. */
export type SourceScope = "script" | "user" | "project" | "local" | "command line";

/** A settings or definitions file, of which only a trusted text counts. */
export class TextSource {
  readonly path: string;
  readonly scope: SourceScope;
  readonly #distrust: ((text: string) => string | undefined) | undefined;
  readonly #required: boolean;
  /** The last text that was trusted; undefined where there is none. */
  text: string | undefined;
  /** Why what lies there now does not count. */
  refused: string | undefined;
  problem: string | undefined;

  constructor(path: string, scope: SourceScope, options: {
    /** Why a text is not to be used. @default all are */
    distrust?: ((text: string) => string | undefined) | undefined;
    /** Named by a person: it must be there. */
    required?: boolean;
  } = {}) {
    this.path = path;
    this.scope = scope;
    this.#distrust = options.distrust;
    this.#required = options.required ?? false;
  }

  /** Looks at the file; the trusted text stays in use while a new one is not trusted. */
  refresh(): void {
    this.refused = this.problem = undefined;
    let text: string;
    try {
      text = readFileSync(this.path, "utf8");
    } catch (error) {
      this.text = undefined;
      const missing = (error as { code?: string }).code === "ENOENT";
      if (!missing || this.#required) {
        this.problem = `Cannot read '${this.path}' as ${missing ? "there is no such file" : (error as Error).message}`;
      }
      return;
    }
    this.refused = this.#distrust?.(text);
    if (this.refused === undefined) this.text = text;
  }
}
