import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Remote } from './remote.ts';

/** What git is told so that it may use a credential: settings without anything secret, and its environment. */
export interface CredentialAccess {
  /** `name=value`, for `git -c`. */
  readonly configuration: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** Answers git's questions out of its environment. The shell's own printf: no arguments that others could read. */
const HELPER =
  '!f() { test "$1" = get && printf "username=%s\\npassword=%s\\n" "$SLIPWAY_GIT_USERNAME" "$SLIPWAY_GIT_SECRET"; }; f';

/**
 * Lets git use the credential of a repository. For `https` a credential helper that answers for this scheme, host and
 * port alone, so that a host that sends git elsewhere does not send the credential along. For `ssh` a key file of mode
 * 0600 in `scratch`, without the machine's own configuration, keys or agent. Decision: a host's ssh key is accepted
 * when it is first seen and held to from then on; whoever wants to name it before writes it into `knownHosts`.
 */
export async function credentialAccess(
  { url, credential }: Remote,
  { scratch, knownHosts }: { scratch: string; knownHosts: string },
): Promise<CredentialAccess> {
  if (url.protocol === 'ssh') {
    const key = join(scratch, `key-${randomUUID()}`);
    // A key without a line end is not a key to ssh.
    if (credential !== null) await writeFile(key, `${credential.secret.trimEnd()}\n`, { mode: 0o600 });
    const command = [
      'ssh -F /dev/null',
      '-o BatchMode=yes -o IdentitiesOnly=yes -o IdentityAgent=none',
      '-o StrictHostKeyChecking=accept-new -o ConnectTimeout=20 -o ServerAliveInterval=10',
      `-o UserKnownHostsFile=${quoted(knownHosts)}`,
      `-i ${quoted(key)}`,
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

/** As one word of a shell's command, in which ssh's own options see it quoted too. */
function quoted(path: string): string {
  return `'${path.replaceAll("'", `'\\''`)}'`;
}
