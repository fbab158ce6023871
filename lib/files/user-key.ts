import { join } from "node:path";
import { hasState, readStateBytes, realState, signOf, userState, writeStateFile } from "./state.ts";

/** What this user alone knows, made when it is first needed; in words why there is none. */
export function userSecret(env: { readonly [name: string]: string | undefined }): Uint8Array | string {
  const path = join(userState(env), "key");
  try {
    if (!hasState(path)) writeStateFile(path, crypto.getRandomValues(new Uint8Array(KEY_BYTES)), { replace: false });
  } catch (error) {
    // Another process may have made it meanwhile.
    if ((error as { code?: string }).code !== "EEXIST") return (error as Error).message;
  }
  try {
    const key = readStateBytes(path);
    return key?.length === KEY_BYTES ? key : `${path} has not ${KEY_BYTES} bytes: remove it`;
  } catch (error) {
    return (error as Error).message;
  }
}

const KEY_BYTES = 32;

/** Where the key really is, if there is one: no tool may read it. */
export function keyFile(): string | undefined {
  return realState(join(userState(process.env), "key"));
}

/** Whether a path is the key, by whatever name. */
export function isKey(path: string): boolean {
  const key = keyFile();
  return key !== undefined && (path === key || signOf(path) === signOf(key));
}
