import type { Kysely } from 'kysely';

import { GitFailure } from '../git/gitFailure.ts';
import { readGitUrl, type Remote } from '../git/gitUrl.ts';
import { readSecret } from '../git/secretReference.ts';
import type { Schema } from '../store/schema.ts';
import { isCovered } from './sourceCheck.ts';

/** The repository that a `source_config` names. */
export interface NamedRepository {
  readonly repoUrl: string;
  readonly integrationId: string | null;
}

/** The repository of a `source_config`, undefined where it names none. */
export function repositoryOf(config: Record<string, unknown>): NamedRepository | undefined {
  const { repo_url: repoUrl, integration_id: integrationId } = config;
  if (typeof repoUrl !== 'string') return undefined;
  return { repoUrl, integrationId: typeof integrationId === 'string' ? integrationId : null };
}

/**
 * A repository as git is sent to it, with the credential of its integration read from where that is, at this moment.
 * What was checked when the deployment was made is checked again: integrations change.
 * @throws GitFailure when the integration or its credential is not there, or not for this repository.
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
  if (!isCovered(prefix, url)) {
    throw new GitFailure(`The integration '${name}' is for addresses under ${prefix}, not for ${url.text}.`);
  }
  if (credential === null) return { url, credential: null };
  const secret = await readSecret(credential, `The credential of the integration '${name}'`);
  return { url, credential: { username, secret } };
}
