import { runShellCommand } from './shellCommand.ts';

/** What a directory takes. */
export interface DirectoryUse {
  /** On the disk, hard links counted once. */
  readonly bytes: number;
  /** Files, directories and links. */
  readonly files: number;
}

/**
 * Measures a directory while others may write in it: what comes or goes meanwhile is counted or not. By two programs
 * and not by this process, which has requests to answer while a hundred thousand files are looked at.
 *
 * @returns undefined when it was called off, or took longer than `timeoutMs`.
 */
export async function directoryUse(
  directory: string,
  options: { env: Readonly<Record<string, string>>; timeoutMs: number; signal: AbortSignal },
): Promise<DirectoryUse | undefined> {
  const lines: string[] = [];
  const end = await runShellCommand({
    // Files that vanish while they are counted are no errors here.
    command: 'du -sk . 2>/dev/null | cut -f1; find . 2>/dev/null | wc -l',
    cwd: directory,
    env: options.env,
    timeoutMs: options.timeoutMs,
    signal: options.signal,
    onLine: (line) => void lines.push(line.trim()),
    lineChars: 100,
  });
  const [kilobytes, files] = lines.map(Number);
  if (end.kind !== 'exited' || kilobytes === undefined || files === undefined) return undefined;
  return { bytes: kilobytes * 1024, files };
}
