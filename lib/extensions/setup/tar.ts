/** A plain file of an archive. */
export interface Packed {
  readonly path: string;
  readonly executable: boolean;
  readonly bytes: Uint8Array;
}

/** A tar archive of plain files: no times and no owners, so that the same files give the same bytes. */
export function tar(files: readonly Packed[]): Uint8Array {
  const parts = files.flatMap(({ path, executable, bytes }) => [
    header(path, executable ? 0o755 : 0o644, bytes.length),
    bytes,
    new Uint8Array(-bytes.length & (BLOCK - 1)),
  ]);
  return Buffer.concat([...parts, new Uint8Array(2 * BLOCK)]);
}

const BLOCK = 512;
/** 1985-10-26, as npm has it: some programs refuse files of 1970. */
const TIME = 499_162_500;

function header(path: string, mode: number, size: number): Uint8Array {
  const block = Buffer.alloc(BLOCK);
  if (block.write(path, 0) > 100) throw new Error(`Cannot pack '${path}' as its name is longer than 100 bytes`);
  const octal = (value: number, at: number, digits: number) => block.write(value.toString(8).padStart(digits, "0"), at);
  octal(mode, 100, 7);
  octal(0, 108, 7); // owner
  octal(0, 116, 7); // group
  octal(size, 124, 11);
  octal(TIME, 136, 11);
  block.fill(" ", 148, 156); // counted as spaces in its own sum
  block.write("0", 156); // a plain file
  block.write("ustar\x0000", 257, "latin1");
  octal(block.reduce((sum, byte) => sum + byte, 0), 148, 6);
  block.write("\0 ", 154, "latin1");
  return block;
}
