import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';

import type { IntegrationCreate } from '@slipway/contract/controlPlane/integration';
import type { ValidationIssue } from '@slipway/contract/httpErrors';
import { pick } from '@slipway/contract/pick';
import { readSecretReference, secretInFile } from '@slipway/contract/secretReference';
import type { Kysely, Selectable } from 'kysely';

import type { Caller } from '../access/caller.ts';
import { GitFailure } from '../git/gitCommand.ts';
import { readGitUrl, type Remote } from '../git/gitUrl.ts';
import { HttpProblem, invalid } from '../http/problem.ts';
import type { IntegrationsTable, Schema } from '../store/schema.ts';
import { removeUnused } from './ownedRows.ts';
import { isUnderPrefix } from './sourceCheck.ts';

/**
 * The operations of the integration endpoints (git hosts). Every problem is an {@link HttpProblem}. Another tenant's
 * integrations do not exist for the caller. `origin`: the platform's address.
 *
 * Decision: only the platform's own key creates and deletes integrations (`ENDPOINT_SCOPES`), for any tenant. Their
 * credentials are read from the platform's machine and sent to the prefix's address. A caller that can choose both
 * could read every secret there.
 */
export type Integrations = ReturnType<typeof createIntegrations>;

/** GitHub requires this name with a token; other hosts accept any. */
const TOKEN_USERNAME = 'x-access-token';

export function createIntegrations(kysely: Kysely<Schema>) {
  return {
    /** @throws HttpProblem 409 if the tenant has one with that name; 422 for a prefix that is no address. */
    create: async (caller: Caller, request: IntegrationCreate, origin: string) => {
      const issues = prefixIssues(request);
      if (issues.length > 0) throw invalid(issues);
      const created = await kysely
        .insertInto('integrations')
        .values({
          id: randomUUID(),
          tenant_id: caller.tenantId,
          name: request.name,
          url_prefix: request.url_prefix,
          username: request.username ?? TOKEN_USERNAME,
          credential: request.credential ?? null,
          webhook_secret: request.webhook_secret ?? null,
          created_at: new Date(),
        })
        .onConflict((conflict) => conflict.columns(['tenant_id', 'name']).doNothing())
        .returningAll()
        .executeTakeFirst();
      if (created === undefined)
        throw new HttpProblem(409, `An integration named '${request.name}' already exists.`);
      return integrationView(created, origin);
    },

    list: async (caller: Caller, origin: string) => {
      const rows = await kysely
        .selectFrom('integrations')
        .selectAll()
        .where('tenant_id', '=', caller.tenantId)
        .orderBy('created_at', 'desc')
        .orderBy('id')
        .execute();
      return rows.map((row) => integrationView(row, origin));
    },

    delete: (caller: Caller, id: string): Promise<void> => removeUnused(kysely, 'integrations', caller, id),
  };
}

function prefixIssues({ url_prefix: prefix, credential }: IntegrationCreate): ValidationIssue[] {
  const issue = (field: string, msg: string, type: string) => [{ loc: ['body', field], msg, type }];
  const reading = readGitUrl(prefix);
  if (!reading.ok) return issue('url_prefix', `The address ${reading.why}`, 'git_url');
  const { protocol } = reading.url;
  if (protocol === 'file' && credential != null) {
    return issue(
      'credential',
      'Repositories on the disk of the platform take no credential',
      'not_applicable',
    );
  }
  if (protocol === 'ssh' && credential == null) {
    return issue('credential', 'Required for ssh: a private key', 'missing');
  }
  return [];
}

function integrationView(row: Selectable<IntegrationsTable>, origin: string) {
  const webhook = `${origin}/v1/integrations/github/${row.id}/webhook`;
  return {
    ...pick(row, 'id', 'name', 'url_prefix', 'username', 'credential', 'webhook_secret', 'created_at'),
    webhook_url: row.webhook_secret === null ? null : webhook,
  };
}

/** The repository that a `source_config` names. */
export interface NamedRepository {
  readonly repoUrl: string;
  readonly integrationId: string | null;
}

/** The repository of a `source_config`; undefined if it names none. */
export function repositoryOf(config: Record<string, unknown>): NamedRepository | undefined {
  const { repo_url: repoUrl, integration_id: integrationId } = config;
  if (typeof repoUrl !== 'string') return undefined;
  return { repoUrl, integrationId: typeof integrationId === 'string' ? integrationId : null };
}

/**
 * A repository as git accesses it, with its integration's credential, read now. Checks again what was checked when
 * the deployment was created, because integrations change.
 * @throws GitFailure if the integration or its credential is missing or does not cover this repository.
 */
export async function remoteOf(
  kysely: Kysely<Schema>,
  { repoUrl, integrationId }: NamedRepository,
): Promise<Remote> {
  const reading = readGitUrl(repoUrl);
  if (!reading.ok) throw new GitFailure(`The address of the repository ${reading.why}.`);
  const { url } = reading;
  if (integrationId === null) {
    if (url.protocol === 'https' || url.protocol === 'http') return { url, credential: null };
    throw new GitFailure(
      `${url.text} is reached through an integration only, and the deployment names none.`,
    );
  }
  const integration = await kysely
    .selectFrom('integrations')
    .selectAll()
    .where('id', '=', integrationId)
    .executeTakeFirst();
  if (integration === undefined) throw new GitFailure(`Integration ID ${integrationId} is no longer there.`);
  const { name, url_prefix: prefix, credential, username } = integration;
  if (!isUnderPrefix(prefix, url)) {
    throw new GitFailure(`The integration '${name}' is for addresses under ${prefix}, not for ${url.text}.`);
  }
  if (credential === null) return { url, credential: null };
  const secret = await readSecret(credential, `The credential of the integration '${name}'`);
  return { url, credential: { username, secret } };
}

/**
 * The secret of a reference on this machine: `env:NAME` or `file:/path`. Trailing line ends are removed.
 * @param what - the secret, as the beginning of a sentence.
 * @throws GitFailure that names the reference, never a value, if there is none.
 */
export async function readSecret(reference: string, what: string): Promise<string> {
  const secret = await found(reference);
  if (secret !== undefined && secret !== '') return secret;
  throw new GitFailure(
    `${what} is missing: ${reference} does not exist on the machine of this platform, or is empty.`,
  );
}

async function found(reference: string): Promise<string | undefined> {
  const place = readSecretReference(reference);
  if (place === undefined) return undefined;
  if ('variable' in place) return process.env[place.variable];
  try {
    return secretInFile(await readFile(place.file, 'utf8'));
  } catch {
    // Missing or not readable. The error names the reference.
    return undefined;
  }
}
