import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';

const DIGEST = /^sha256:[0-9a-f]{64}$/;

/** Whether a text is an artifact's digest: `sha256:` and 64 lower-case hexadecimal digits. */
export function isDigest(text: string): boolean {
  return DIGEST.test(text);
}

/** The digest of a file's bytes. Reads it as a stream. */
export async function digestFile(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 })) hash.update(chunk as Buffer);
  return `sha256:${hash.digest('hex')}`;
}
