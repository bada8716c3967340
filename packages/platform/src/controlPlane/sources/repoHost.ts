import { type Kysely, type Selectable, sql } from 'kysely';

import { commitTarball } from '../../git/commitTarball.ts';
import { DEFAULT_GIT_LIMITS, type GitContext, GitFailure, requireGit } from '../../git/gitCommand.ts';
import type { Remote } from '../../git/gitUrl.ts';
import { readRemoteRef } from '../../git/remoteRefs.ts';
import { pause } from '../../pause.ts';
import type { RevisionsTable, Schema } from '../../store/schema.ts';
import type { HomeLayout } from '../homeLayout.ts';
import { remoteOf, repositoryOf } from '../integrations.ts';
import type { FetchedTree, TreeSource } from './source.ts';

/** The pauses before further attempts to reach a repository's host, in milliseconds. */
const RETRY_PAUSES_MS = [1_000, 5_000, 20_000];

/**
 * `repo_host`: the tree is a commit of a git repository (contract 000, "SourceConfig": `repo_url`). A revision with a
 * `repo_commit_sha` (from a push or an earlier build) is built from that commit. Any other takes the current commit
 * of its `repo_ref`, or of the default branch, and stores it before fetching.
 */
export function repoHost(kysely: Kysely<Schema>, { knownHosts }: HomeLayout): TreeSource {
  const commitOf = async (
    revision: Selectable<RevisionsTable>,
    ref: string | null,
    remote: Remote,
    surroundings: GitContext,
    log: (line: string) => void,
  ): Promise<string> => {
    const known = revision.source_revision_config['repo_commit_sha'];
    if (typeof known === 'string') return known;
    const { name, commit } = await readRemoteRef(remote, ref, surroundings);
    log(`${name} is at commit ${commit}.`);
    await kysely
      .updateTable('revisions')
      .set({
        source_revision_config: sql`source_revision_config || ${JSON.stringify({ repo_commit_sha: commit })}::jsonb`,
        updated_at: new Date(),
      })
      .where('id', '=', revision.id)
      .execute();
    return commit;
  };

  return {
    kind: 'tree',
    hasSource: ({ source_config: config }) => repositoryOf(config) !== undefined,
    fetch: async (revision, { scratch, log, signal }) => {
      const surroundings = { scratch, knownHosts, limits: DEFAULT_GIT_LIMITS, signal };
      const repository = repositoryOf(revision.source_config);
      const asked = revision.source_revision_config['repo_ref'];
      const ref = typeof asked === 'string' ? asked : null;
      const attempt = async ([wait, ...laterWaits]: readonly number[]): Promise<FetchedTree> => {
        try {
          if (repository === undefined)
            throw new GitFailure('The deployment names no repository (source_config.repo_url).');
          await requireGit(surroundings);
          const remote = await remoteOf(kysely, repository);
          const commit = await commitOf(revision, ref, remote, surroundings, log);
          log(`Fetching commit ${commit} of ${repository.repoUrl}.`);
          return { ok: true, tarball: await commitTarball(remote, { commit, ref }, surroundings, log) };
        } catch (error) {
          if (!(error instanceof GitFailure)) throw error;
          for (const line of error.message.split('\n')) log(line);
          if (!error.isHostAway || wait === undefined || signal.aborted)
            return { ok: false, reason: error.message };
          log(`The host is tried again in ${wait / 1000} s.`);
          await pause(wait, signal);
          return attempt(laterWaits);
        }
      };
      return attempt(RETRY_PAUSES_MS);
    },
  };
}
