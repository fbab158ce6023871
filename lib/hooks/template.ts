import type { AnyEvent } from "../core/events.ts";
import { positionOf } from "./file/load-error.ts";
import { type Projection, projection } from "./process/wire.ts";
import { fieldReader, fieldText, isFieldPath } from "./rule.ts";

export interface Template {
  readonly source: string;
  readonly render: (event: AnyEvent) => string;
  /** The values it shows: events that give the same ones give the same text. */
  readonly shows: (event: AnyEvent) => readonly unknown[];
  readonly warnings: readonly string[];
}

/** The names of another design for what it passes to a template (S4.20). */
const ALIASES: { readonly [name: string]: string } = { ".ToolName": "tool", ".Input": "args" };

interface TemplateHole {
  readonly read: (event: Projection) => unknown;
  readonly length: boolean;
}

/** Compiles a template: `{{path}}` and `{{path | length}}` alone (S3.19). What a field holds is never taken for a place. */
export function compileTemplate(source: string): Template {
  const pieces: (string | TemplateHole)[] = [];
  const warnings: string[] = [];
  const leave = (offset: number, what: string) => {
    const { line, column } = positionOf(source, offset);
    warnings.push(
      `'${what}' at line ${line}, column ${column} of the template is left as it is: ` +
        "only {{path}} and {{path | length}} are filled in",
    );
  };
  const literal = (from: number, to: number) => {
    const text = source.slice(from, to);
    const open = text.indexOf("{{");
    if (open >= 0) leave(from + open, "{{");
    pieces.push(text);
  };
  let end = 0;
  for (const found of source.matchAll(/\{\{([^{}]*)\}\}/g)) {
    literal(end, found.index);
    end = found.index + found[0].length;
    const place = placeOf(found[1]!);
    if (!place) leave(found.index, found[0]);
    pieces.push(place ?? found[0]);
  }
  literal(end, source.length);
  const places = pieces.filter((piece) => typeof piece !== "string");
  return {
    source,
    warnings,
    render(event) {
      const projected = projection(event);
      return pieces.map((piece) => typeof piece === "string" ? piece : shown(piece, projected)).join("");
    },
    shows(event) {
      const projected = projection(event);
      return places.map((place) => shown(place, projected));
    },
  };
}

function placeOf(inside: string): TemplateHole | undefined {
  const [, written, filter] = /^\s*([\w.-]+)\s*(\|\s*length\s*)?$/.exec(inside) ?? [];
  if (written === undefined) return undefined;
  const [alias] = /^\.\w+/.exec(written) ?? [];
  const path = alias === undefined ? written : (ALIASES[alias] ?? "") + written.slice(alias.length);
  return isFieldPath(path) ? { read: fieldReader(path), length: filter !== undefined } : undefined;
}

function shown({ read, length }: TemplateHole, event: Projection): string {
  const value = read(event);
  const text = fieldText(value);
  if (text === undefined) return "";
  if (!length) return text;
  return String(typeof value === "object" ? Object.keys(value as object).length : [...text].length);
}
