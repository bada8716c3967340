import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { vi } from 'vitest';

import { runLoginCommand } from '../../src/cli/commands/identity/login.ts';
import { readTrust, Verifier } from '../../src/identity/verifier.ts';
import { testOutput } from '../cli/testOutput.ts';
import { TestBrowser } from '../dashboard/access/testBrowser.ts';
import { COMMAND_CLIENT_ID, registerCommand, startIssuer } from '../dashboard/access/testIssuer.ts';

/** People who signed in with `slipway login` at a real issuer, and a worker's verifier that trusts the issuer. */
export interface PeopleAtIssuer {
  readonly verifier: Verifier;
  environmentOf(login: string): Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** Starts an issuer, and signs people in, each with their own configuration folder. */
export async function peopleAtIssuer(...logins: readonly string[]): Promise<PeopleAtIssuer> {
  const issuer = await startIssuer();
  registerCommand(issuer);
  const folder = await mkdtemp(join(tmpdir(), 'slipway-people-'));
  const environmentOf = (login: string) => ({
    SLIPWAY_OIDC_ISSUER: issuer.url,
    SLIPWAY_OIDC_CLIENT_ID: COMMAND_CLIENT_ID,
    XDG_CONFIG_HOME: join(folder, login),
  });
  for (const login of logins) {
    const output = testOutput({ json: true });
    const signingIn = runLoginCommand({ output, home: folder, environment: environmentOf(login) });
    await vi.waitUntil(() => output.events.length > 0, 30_000);
    const browser = new TestBrowser();
    await browser.signInAtIssuer(await browser.open(String(output.events[0]!['url'])), login);
    await signingIn;
  }
  return {
    verifier: new Verifier(readTrust(environmentOf(''))),
    environmentOf,
    close: async () => {
      await Promise.all([issuer.close(), rm(folder, { recursive: true })]);
    },
  };
}
