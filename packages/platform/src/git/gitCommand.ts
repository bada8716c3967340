import { agentBaseEnvironment } from '../runtime/childEnvironment.ts';
import { runCommand } from '../runtime/command.ts';
import { createSecretMask } from '../runtime/secretMask.ts';
import { credentialAccess } from './credentialAccess.ts';
import { failureOf, GitFailure } from './gitFailure.ts';
import type { GitLimits } from './gitLimits.ts';
import type { Remote } from './remote.ts';

/** The oldest git that does all that is asked of it here (protocol 2, `--no-recurse-submodules`, `--template=`). */
const OLDEST_GIT = [2, 30] as const;

/** Where git runs, and within which bounds. */
export interface GitSurroundings {
  /** A directory of this work's own, which is removed afterwards: git's home. */
  readonly scratch: string;
  /** The file of the ssh host keys that were seen, of all repositories. */
  readonly knownHosts: string;
  readonly limits: GitLimits;
  readonly signal: AbortSignal;
}

/** One call of git. */
export interface GitCall {
  /** The repository that is spoken to; null for work on the disk. */
  readonly remote: Remote | null;
  readonly args: readonly string[];
  readonly timeoutMs: number;
  /** Its output, line by line, without secrets. */
  readonly onLine?: (line: string) => void;
}

/** Of a line of git's output, and of all lines: what is read. Refs and reasons need no more. */
const LINE_CHARS = 4_096;
const LINES_KEPT = 1_000;

/** For every call: no hooks, no pager, no clean-up in the background, packs as single files (see `ulimit` below). */
const CONFIGURATION = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'credential.helper=',
  'core.askPass=',
  'protocol.version=2',
  'fetch.unpackLimit=1',
  'gc.auto=0',
  'maintenance.auto=false',
  'http.lowSpeedLimit=1000',
  'http.lowSpeedTime=30',
].flatMap((setting) => ['-c', setting]);

/**
 * Runs git: without anybody's configuration, hooks or prompts, with the protocol of the address alone, and with files
 * of at most `limits.fileBytes`. A credential reaches git by its environment or a file of mode 0600, never by its
 * arguments, and only for the host of the address.
 *
 * @returns The lines of both its outputs.
 * @throws GitFailure when it does not end well. Where `signal` is aborted, the reason is of no importance.
 */
export async function runGit(call: GitCall, surroundings: GitSurroundings): Promise<string[]> {
  const { limits, scratch, signal } = surroundings;
  const { remote } = call;
  const access = remote === null ? undefined : await credentialAccess(remote, surroundings);
  const mask = createSecretMask(remote?.credential == null ? [] : [remote.credential.secret]);
  const lines: string[] = [];
  const end = await runCommand({
    // Writing a file beyond the limit fails, and git says why. The unit is 512 bytes in every POSIX shell.
    command: [
      '/bin/sh',
      '-c',
      'trap "" XFSZ; ulimit -f "$0" && exec "$@"',
      String(Math.ceil(limits.fileBytes / 512)),
      'git',
      ...CONFIGURATION,
      ...(access?.configuration ?? []).flatMap((setting) => ['-c', setting]),
      ...call.args,
    ],
    cwd: scratch,
    env: { ...gitEnvironment(scratch, remote), ...access?.environment },
    timeoutMs: call.timeoutMs,
    signal,
    lineChars: LINE_CHARS,
    onLine: (line, cut) => {
      const masked = mask(line, cut);
      if (lines.length === LINES_KEPT) lines.shift();
      lines.push(masked);
      call.onLine?.(masked);
    },
  });
  if (end.kind === 'exited' && end.code === 0) return lines;
  const repository = remote === null ? 'The repository' : remote.url.text;
  if (end.kind === 'exited' && end.code === 127) throw new GitFailure(NO_GIT);
  if (end.kind === 'timed_out') {
    throw new GitFailure(`${repository} did not answer to the end within ${call.timeoutMs / 1000} s.`);
  }
  if (end.kind === 'aborted') throw new GitFailure('The work was called off.');
  throw failureOf(repository, lines);
}

const NO_GIT =
  'This platform builds repositories with the git command, and there is none on its machine: install git there.';

/** @throws GitFailure when there is no git on this machine, or one that is too old. */
export async function requireGit(surroundings: GitSurroundings): Promise<void> {
  const lines = await runGit({ remote: null, args: ['--version'], timeoutMs: 10_000 }, surroundings);
  const [, major = '0', minor = '0'] = /git version (\d+)\.(\d+)/.exec(lines.join('\n')) ?? [];
  const [oldestMajor, oldestMinor] = OLDEST_GIT;
  const isEnough =
    Number(major) > oldestMajor || (Number(major) === oldestMajor && Number(minor) >= oldestMinor);
  if (isEnough) return;
  throw new GitFailure(
    `This platform builds repositories with git ${OLDEST_GIT.join('.')} or newer, and its machine has: ${lines.join(' ')}`,
  );
}

function gitEnvironment(scratch: string, remote: Remote | null): Record<string, string> {
  const authorities = process.env['GIT_SSL_CAINFO'];
  return {
    ...agentBaseEnvironment(),
    // The machine's own: what lies beside Node is of no more importance than it is there.
    PATH: process.env['PATH'] ?? '',
    // Its home is empty: no ~/.gitconfig, no ~/.netrc, no ~/.ssh.
    HOME: scratch,
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ALLOW_PROTOCOL: remote?.url.protocol ?? 'none',
    ...(authorities === undefined ? {} : { GIT_SSL_CAINFO: authorities }),
  };
}
