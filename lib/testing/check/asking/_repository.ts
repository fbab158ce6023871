import { Buffer } from "node:buffer";

/** Who made the commit, and when. */
const MADE_BY = "check <check@example.com> 1767225600 +0000";
const SUBJECT = "Begin";

const CONFIG = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n";

/**
 * What lies in `.git` once some files are committed, by path: what `git init`, `add`, `commit` and `repack` leave there.
 * To start git four times, or to load what packs and hashes in node, takes longer than a hundred questions to a module.
 */
export async function repositoryOf(
  files: { readonly [path: string]: string },
): Promise<ReadonlyMap<string, string | Uint8Array>> {
  const stored: Stored[] = [];
  const store = async (type: keyof typeof TYPES, body: Uint8Array): Promise<Buffer> => {
    const hash = await sha1(Buffer.concat([Buffer.from(`${type} ${body.length}\0`), body]));
    stored.push({ hash, packed: Buffer.concat([headOf(TYPES[type], body.length), zlibbed(body)]) });
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
  const { pack, index } = await packOf(stored);
  return new Map<string, string | Uint8Array>([
    ["HEAD", "ref: refs/heads/main\n"],
    ["config", CONFIG],
    ["refs/heads/main", `${id}\n`],
    [`objects/pack/pack-${id}.pack`, pack],
    [`objects/pack/pack-${id}.idx`, index],
    ["index", await indexOf(blobs)],
  ]);
}

interface Stored {
  readonly hash: Buffer;
  readonly packed: Buffer;
}

const TYPES = { commit: 1, tree: 2, blob: 3 };

/** How an object in a pack begins: its type and its length, four bits of it and then seven in each byte. */
function headOf(type: number, length: number): Buffer {
  const bytes = [(type << 4) | (length & 15)];
  for (let rest = length >> 4; rest > 0; rest >>= 7) {
    bytes[bytes.length - 1]! |= 0x80;
    bytes.push(rest & 0x7f);
  }
  return Buffer.from(bytes);
}

/** One file with all objects, and one that says where each begins: in the first version, which has no check sums. */
async function packOf(stored: readonly Stored[]): Promise<{ readonly pack: Buffer; readonly index: Buffer }> {
  const count = numbers(stored.length);
  const objects = Buffer.concat([Buffer.from("PACK"), numbers(2), count, ...stored.map(({ packed }) => packed)]);
  const end = await sha1(objects);
  let at = 12;
  const places = stored.map(({ hash, packed }) => {
    const place = Buffer.concat([numbers(at), hash]);
    at += packed.length;
    return place;
  }).sort((a, b) => Buffer.compare(a.subarray(4), b.subarray(4)));
  const upTo = Array.from({ length: 256 }, (_, byte) => places.filter((place) => place[4]! <= byte).length);
  const index = Buffer.concat([numbers(...upTo), ...places, end]);
  return { pack: Buffer.concat([objects, end]), index: Buffer.concat([index, await sha1(index)]) };
}

/** Numbers as git writes them, four bytes each. */
function numbers(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [i, value] of values.entries()) bytes.writeUInt32BE(value, 4 * i);
  return bytes;
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
  const whole = Buffer.concat([Buffer.from("DIRC"), numbers(2, entries.length), ...entries]);
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
