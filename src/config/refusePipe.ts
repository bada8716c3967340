import { stat } from 'node:fs/promises';

/**
 * Refuses a named pipe in place of a file: reading it would wait until a program writes to it. The shell's pipes,
 * `/dev/stdin` and `<(…)`, have such a program.
 * @throws an error with the reason as its message; the file system's error if there is no file.
 */
export async function refusePipe(file: string): Promise<void> {
  if ((await stat(file)).isFIFO() && !file.startsWith('/dev/')) throw new Error('it is a pipe');
}
