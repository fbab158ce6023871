/** One request and its answer, as some tool recorded them. Names of headers are in lower case. */
export interface Exchange {
  readonly method: string;
  /** Absent where the file holds answers only. */
  readonly url?: string;
  readonly requestHeaders: { readonly [name: string]: string };
  /** The body of the request, read; undefined where it was not recorded. */
  readonly request?: unknown;
  readonly status: number;
  readonly headers: { readonly [name: string]: string };
  /** The body of the answer as text, without any compression; read when it is asked for. */
  readonly body: () => string;
  /** When it was recorded, in milliseconds since the epoch. */
  readonly at?: number;
  /** How long the answer took, in milliseconds. */
  readonly took?: number;
  /** Whether no answer was recorded. */
  readonly unanswered?: true;
}

/** Why a recording does not become a tape. */
export class ImportRefused extends Error {
  override name = "ImportRefused";
}

/** Reads a file that lies in a folder beside the one that holds the recording; undefined where there is none. */
export type Beside = (folder: string, name: string) => Uint8Array | undefined;

/** A file that was opened: its text, and what it is as data. */
export interface Opened {
  readonly name: string;
  readonly text: string;
  /** Its one JSON value; undefined where it is none. */
  readonly json?: unknown;
  /** The values of its lines, where each is JSON; undefined otherwise. */
  readonly lines?: readonly unknown[];
  /** Its YAML documents; undefined where it was JSON or is no YAML. */
  readonly documents?: readonly unknown[];
  readonly beside?: Beside;
}

/** One way recordings are written. */
export interface Format {
  readonly name: string;
  readonly about: string;
  recognises(file: Opened): boolean;
  /** @throws {ImportRefused} where the file is broken */
  read(file: Opened): Exchange[];
}

export type Fields = { readonly [key: string]: unknown };

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);
}

/** The value itself where it is an object, else one without fields. */
export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

/** The one document or JSON value of a file, if it is an object. */
export function topOf({ json, documents }: Opened): Fields | undefined {
  const value = json ?? (documents?.length === 1 ? documents[0] : undefined);
  return isFields(value) ? value : undefined;
}

/** The list of objects under a key; undefined where there is none. */
export function listOf(value: Fields | undefined, key: string): readonly Fields[] | undefined {
  const list = value?.[key];
  return Array.isArray(list) && list.every(isFields) ? list : undefined;
}
