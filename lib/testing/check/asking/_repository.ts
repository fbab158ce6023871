import { Buffer } from "node:buffer";

/** Who made the commit, and when. */
const MADE_BY = "check <check@example.com> 1767225600 +0000";
const SUBJECT = "Begin";

const CONFIG = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n";

/**
 * What lies in `.git` once some files are committed, by path: what `git init`, `add` and `commit` leave there. To start
 * git three times, or to load what packs and hashes in node, takes longer than a hundred questions to a module.
 */
export async function repositoryOf(
  files: { readonly [path: string]: string },
): Promise<ReadonlyMap<string, string | Uint8Array>> {
  const inside = new Map<string, string | Uint8Array>();
  const store = async (type: "blob" | "tree" | "commit", body: Uint8Array): Promise<Buffer> => {
    const whole = Buffer.concat([Buffer.from(`${type} ${body.length}\0`), body]);
    const hash = await sha1(whole);
    const id = hash.toString("hex");
    inside.set(`objects/${id.slice(0, 2)}/${id.slice(2)}`, zlibbed(whole));
    return hash;
  };
  const blobs = new Map<string, Buffer>();
  for (const path of Object.keys(files).sort()) blobs.set(path, await store("blob", Buffer.from(files[path]!)));
  const tree = async (folder: string): Promise<Buffer> => {
    const below = [...blobs.keys()].filter((path) => path.startsWith(folder)).map((path) => path.slice(folder.length));
    // Folders are sorted as if their names ended with a slash, as they do here.
    const names = new Set(below.map((path) => path.slice(0, path.indexOf("/") + 1) || path));
    const entries: Buffer[] = [];
    for (const name of [...names].sort()) {
      const path = `${folder}${name}`;
      if (name.endsWith("/")) entries.push(Buffer.from(`40000 ${name.slice(0, -1)}\0`), await tree(path));
      else entries.push(Buffer.from(`100644 ${name}\0`), blobs.get(path)!);
    }
    return await store("tree", Buffer.concat(entries));
  };
  const root = (await tree("")).toString("hex");
  const commit = `tree ${root}\nauthor ${MADE_BY}\ncommitter ${MADE_BY}\n\n${SUBJECT}\n`;
  const id = (await store("commit", Buffer.from(commit))).toString("hex");
  return inside
    .set("HEAD", "ref: refs/heads/main\n")
    .set("config", CONFIG)
    .set("refs/heads/main", `${id}\n`)
    .set("index", await indexOf(blobs));
}

/** The index, in its second version. It knows no times or sizes of files: git then looks at what is in them. */
async function indexOf(blobs: ReadonlyMap<string, Uint8Array>): Promise<Uint8Array> {
  const entries = [...blobs].map(([path, hash]) => {
    const name = Buffer.from(path);
    // Of the ten numbers of an entry only the mode is told; one to eight zeros fill it up to a multiple of eight.
    const entry = Buffer.alloc((62 + name.length + 8) & ~7);
    entry.writeUInt32BE(0o100644, 24);
    entry.set(hash, 40);
    entry.writeUInt16BE(name.length, 60);
    entry.set(name, 62);
    return entry;
  });
  const header = Buffer.alloc(12);
  header.write("DIRC");
  header.writeUInt32BE(2, 4);
  header.writeUInt32BE(entries.length, 8);
  const whole = Buffer.concat([header, ...entries]);
  return Buffer.concat([whole, await sha1(whole)]);
}

/** In the form of zlib, as one block that is stored as it is: it must be shorter than 64 KiB. */
function zlibbed(bytes: Uint8Array): Uint8Array {
  const ends = Buffer.alloc(11);
  ends.writeUInt16BE(0x7801);
  ends.writeUInt8(1, 2);
  ends.writeUInt16LE(bytes.length, 3);
  ends.writeUInt16LE(0xffff - bytes.length, 5);
  let [a, b] = [1, 0];
  for (const byte of bytes) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  ends.writeUInt32BE(b * 0x10000 + a, 7);
  return Buffer.concat([ends.subarray(0, 7), bytes, ends.subarray(7)]);
}

async function sha1(bytes: Uint8Array<ArrayBuffer>): Promise<Buffer> {
  return Buffer.from(await crypto.subtle.digest("SHA-1", bytes));
}
