/** What is left of a hash while it is fed. */
export interface Hashing {
  update(data: string | Uint8Array): Hashing;
  digest(): Uint8Array;
  digest(form: "hex"): string;
}

interface BunCrypto {
  CryptoHasher?: new (name: "sha256", key?: Uint8Array) => Hashing;
}

/** SHA-256, or with a key an HMAC by it; by Bun if present, as `node:crypto` takes longer to load than most runs. */
export function sha256(key?: Uint8Array): Hashing {
  const { CryptoHasher } = (globalThis as { Bun?: BunCrypto }).Bun ?? {};
  if (CryptoHasher) return new CryptoHasher("sha256", key);
  const { createHash, createHmac } = process.getBuiltinModule("node:crypto");
  return key ? createHmac("sha256", key) : createHash("sha256");
}

/** The first hexadecimal digits of the hash of some bytes. */
export function hashOf(bytes: string | Uint8Array, digits = 64): string {
  return sha256().update(bytes).digest("hex").slice(0, digits);
}
