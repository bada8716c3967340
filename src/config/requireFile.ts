import { stat } from 'node:fs/promises';

/**
 * Refuses a folder in place of a file, and a named pipe: reading it would wait until a program writes to it. The shell's
 * pipes, `/dev/stdin` and `<(…)`, have such a program.
 * @throws an error with the reason as its message; the file system's error if there is no file.
 */
export async function requireFile(file: string): Promise<void> {
  const found = await stat(file);
  if (found.isDirectory()) throw new Error('it is a folder');
  if (found.isFIFO() && !file.startsWith('/dev/')) throw new Error('it is a pipe');
}
