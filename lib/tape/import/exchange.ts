import { isObject } from "../../core/json.ts";

/** One recorded request and its response. Header names are in lower case. */
export interface Exchange {
  readonly method: string;
  /** Absent if the file holds responses only. */
  readonly url?: string;
  readonly requestHeaders: { readonly [name: string]: string };
  /** The parsed body of the request; undefined if it was not recorded. */
  readonly request?: unknown;
  readonly status: number;
  readonly headers: { readonly [name: string]: string };
  /** The decompressed body of the response, read on demand. */
  readonly body: () => string;
  /** When it was recorded, in milliseconds since the epoch. */
  readonly at?: number;
  /** How long the response took, in milliseconds. */
  readonly took?: number;
}

/** Why a recording does not become a tape. */
export class ImportRefused extends Error {
  override name = "ImportRefused";
}

/** A file as text, and as data if it is JSON or YAML. */
export interface RecordingFile {
  readonly text: string;
  /** The value of a JSON file. */
  readonly json?: unknown;
  /** The values of a file with JSON on every line. */
  readonly lines?: readonly unknown[];
  /** The documents of a YAML file. */
  readonly documents?: readonly unknown[];
}

/** One format of recordings. */
export interface Format {
  readonly name: string;
  recognises(file: RecordingFile): boolean;
  /** @throws {ImportRefused} if the file is broken */
  read(file: RecordingFile): Exchange[];
}

export type JsonObject = { readonly [key: string]: unknown };

/** The value if it is an object, otherwise an empty object. */
export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}
