import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { agentBaseEnvironment } from '../runtime/childEnvironment.ts';
import { runCommand } from '../runtime/command.ts';
import { createSecretMask } from '../runtime/secretMask.ts';
import type { Remote } from './gitUrl.ts';

/** The oldest git with all features used here (protocol 2, `--no-recurse-submodules`, `--template=`). */
const MIN_GIT_VERSION = '2.30';

export interface GitContext {
  /** git's home: a directory of this work alone, removed afterwards. */
  readonly scratch: string;
  readonly knownHosts: string;
  readonly limits: GitLimits;
  readonly signal: AbortSignal;
}

export interface GitCall {
  /** The remote repository; null for local work. */
  readonly remote: Remote | null;
  readonly args: readonly string[];
  readonly timeoutMs: number;
  /** Its output, line by line, with secrets masked. */
  readonly onLine?: (line: string) => void;
}

/** How much of git's output to read, per line and in lines. Refs and reasons need no more. */
const LINE_CHARS = 4_096;
const LINES_KEPT = 1_000;

/** For every call: no hooks, no pager, no background maintenance, packs as single files (see `ulimit` below). */
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
 * Runs git without any user's configuration, hooks or prompts, with only the address's protocol, and with files of at
 * most `limits.fileBytes`. git gets a credential by its environment or a file of mode 0600, never by its arguments,
 * and only for the address's host.
 * @returns The lines of stdout and stderr.
 * @throws GitFailure if it fails. If `signal` is aborted, ignore the reason.
 */
export async function runGit(call: GitCall, context: GitContext): Promise<string[]> {
  const { limits, scratch, signal } = context;
  const { remote } = call;
  const access = remote === null ? undefined : await credentialAccess(remote, context);
  const mask = createSecretMask(remote?.credential == null ? [] : [remote.credential.secret]);
  const lines: string[] = [];
  const end = await runCommand({
    // Writing a file beyond the limit fails with an error from git. The unit is 512 bytes in every POSIX shell.
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
  if (end.kind === 'aborted') throw new GitFailure('The work was canceled.');
  throw failureOf(repository, lines);
}

const NO_GIT = 'The platform needs git to build a repository, and its machine has none: install git there.';

/** @throws GitFailure if git is missing on this machine or too old. */
export async function requireGit(context: GitContext): Promise<void> {
  const lines = await runGit({ remote: null, args: ['--version'], timeoutMs: 10_000 }, context);
  const [, major = '0', minor = '0'] = /git version (\d+)\.(\d+)/.exec(lines.join('\n')) ?? [];
  if (Number(major) * 1_000 + Number(minor) >= 2_030) return;
  throw new GitFailure(
    `This platform builds repositories with git ${MIN_GIT_VERSION} or newer, and its machine has: ${lines.join(' ')}`,
  );
}

function gitEnvironment(scratch: string, remote: Remote | null): Record<string, string> {
  const authorities = process.env['GIT_SSL_CAINFO'];
  return {
    ...agentBaseEnvironment(),
    // The machine's own `PATH`, because git is not installed with Node.
    PATH: process.env['PATH'] ?? '',
    // An empty home: no ~/.gitconfig, no ~/.netrc, no ~/.ssh.
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

/** Limits for reading a repository. Exceeding one fails with a reason that names it. */
export interface GitLimits {
  readonly fetchTimeoutMs: number;
  /** The timeout of listing refs, in ms. */
  readonly askTimeoutMs: number;
  /** The largest pack, and the largest compressed tree, in bytes. */
  readonly fileBytes: number;
}

/** 5 minutes to fetch, 30 seconds to list refs, 1 GiB. The builder limits the unpacked size. */
export const DEFAULT_GIT_LIMITS: GitLimits = {
  fetchTimeoutMs: 5 * 60_000,
  askTimeoutMs: 30_000,
  fileBytes: 1024 ** 3,
};

/** How git gets a credential: settings without secrets, and its environment. */
interface CredentialAccess {
  /** `name=value`, for `git -c`. */
  readonly configuration: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** A credential helper that reads git's environment. printf is a builtin, so no process has it as an argument. */
const HELPER =
  '!f() { test "$1" = get && printf "username=%s\\npassword=%s\\n" "$SLIPWAY_GIT_USERNAME" "$SLIPWAY_GIT_SECRET"; }; f';

/**
 * Lets git use the credential of a repository. For `https`: a credential helper for this scheme, host and port only,
 * so a redirect to another host does not get the credential. For `ssh`: a key file of mode 0600 in `scratch`, without
 * the machine's own configuration, keys or agent. Decision: a host's first ssh key is accepted and required from then
 * on. To require a certain key, write it to `knownHosts` before.
 */
async function credentialAccess(
  { url, credential }: Remote,
  { scratch, knownHosts }: { scratch: string; knownHosts: string },
): Promise<CredentialAccess> {
  if (url.protocol === 'ssh') {
    const key = join(scratch, `key-${randomUUID()}`);
    // ssh requires a line end after the key.
    if (credential !== null) await writeFile(key, `${credential.secret.trimEnd()}\n`, { mode: 0o600 });
    const command = [
      'ssh -F /dev/null',
      '-o BatchMode=yes -o IdentitiesOnly=yes -o IdentityAgent=none',
      '-o StrictHostKeyChecking=accept-new -o ConnectTimeout=20 -o ServerAliveInterval=10',
      `-o UserKnownHostsFile=${shellQuoted(knownHosts)}`,
      `-i ${shellQuoted(key)}`,
    ];
    return { configuration: [], environment: { GIT_SSH_COMMAND: command.join(' '), GIT_SSH_VARIANT: 'ssh' } };
  }
  if (credential === null || url.protocol === 'file') return { configuration: [], environment: {} };
  const place = `${url.protocol}://${url.host}${url.port === '' ? '' : `:${url.port}`}`;
  return {
    configuration: [`credential.${place}.helper=${HELPER}`],
    environment: { SLIPWAY_GIT_USERNAME: credential.username, SLIPWAY_GIT_SECRET: credential.secret },
  };
}

/** Quotes a path as one word of a shell command, in a form that ssh's options accept. */
function shellQuoted(path: string): string {
  return `'${path.replaceAll("'", `'\\''`)}'`;
}

/** Why a repository could not be read. `message` is the reason, for the source's owner. */
export class GitFailure extends Error {
  override readonly name = 'GitFailure';
  /** The host could not be reached, or did not answer: it may do so soon. */
  readonly isHostAway: boolean;

  constructor(message: string, isHostAway = false) {
    super(message);
    this.isHostAway = isHostAway;
  }
}

const HOST_AWAY =
  /Could not resolve host|Failed to connect|Connection (refused|timed out|reset|closed)|Operation too slow|early EOF|hung up unexpectedly|returned error: 5\d\d/i;

/** git's messages (in the language C) and their meaning. The first match counts. */
const KNOWN_FAILURES: readonly (readonly [said: RegExp, meaning: (repository: string) => string])[] = [
  [/File too large/i, (repository) => `${repository} is larger than this platform takes.`],
  [
    /Authentication failed|HTTP Basic: Access denied|returned error: (401|403)|Permission denied \(|Invalid username or |error in libcrypto|Load key/i,
    (repository) => `The host of ${repository} rejected the credential.`,
  ],
  [
    /could not read (Username|Password)|terminal prompts disabled/i,
    (repository) =>
      `The host of ${repository} asks for a credential: either there is no such repository, or the deployment needs an integration (source_config.integration_id) that has the credential.`,
  ],
  [
    /repository .*not found|returned error: 404|does not appear to be a git repository|does not exist|not exported/i,
    (repository) => `There is no git repository at ${repository}, or not for this credential.`,
  ],
  [
    /Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED/i,
    (repository) => `The host of ${repository} has another ssh key than when it was first seen.`,
  ],
  [
    /transport '?[\w-]+'? not allowed/i,
    (repository) => `${repository} leads to another protocol than its address says, which is not followed.`,
  ],
  [HOST_AWAY, (repository) => `The host of ${repository} could not be reached, or did not answer.`],
];

/** How many of git's last lines a reason includes. */
const LINES_IN_REASON = 5;

function failureOf(repository: string, lines: readonly string[]): GitFailure {
  const all = lines.join('\n');
  const [kind, meaning] = KNOWN_FAILURES.find(([said]) => said.test(all)) ?? [];
  const last = lines.slice(-LINES_IN_REASON).join('\n');
  return new GitFailure(
    `${meaning?.(repository) ?? `${repository} could not be read.`} git said:\n${last === '' ? 'nothing' : last}`,
    kind === HOST_AWAY,
  );
}
