/** Characters that an address does not write in another way. */
const PLAIN = /^[\w./@+-]+$/;

/** The address of a file, given by its whole path. `node:url` takes longer to load than most scripts: few need it. */
export function fileUrl(path: string): string {
  return PLAIN.test(path) ? `file://${path}` : process.getBuiltinModule("node:url").pathToFileURL(path).href;
}
