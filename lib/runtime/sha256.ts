/** What is left of a hash while it is fed. */
export interface Hashing {
  update(data: string | Uint8Array): Hashing;
  digest(): Uint8Array;
  digest(form: "hex"): string;
}

interface BunCrypto {
  CryptoHasher?: new (name: "sha256") => Hashing;
}

/** SHA-256. `node:crypto` takes longer to load than most runs take to replay, so Bun's own is used if present. */
export function sha256(): Hashing {
  const { CryptoHasher } = (globalThis as { Bun?: BunCrypto }).Bun ?? {};
  return CryptoHasher ? new CryptoHasher("sha256") : process.getBuiltinModule("node:crypto").createHash("sha256");
}
