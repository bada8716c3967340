import { GitFailure, type GitContext, runGit } from './gitCommand.ts';
import type { Remote } from './gitUrl.ts';

/** The target of a repository's ref. */
export interface RemoteRef {
  /** The full name: `refs/heads/…` or `refs/tags/…`. */
  readonly name: string;
  readonly commit: string;
}

const TAG_PREFIX = 'refs/tags/';
const LINE = /^(?<id>[0-9a-f]{40}(?:[0-9a-f]{24})?)\t(?<name>\S+)$/;
const HEAD_LINE = /^ref: (?<name>\S+)\tHEAD$/;

/**
 * Reads the commits of several refs in one request.
 * @param refs - as in `repo_ref`: a branch's bare name, a tag's `refs/tags/…`, null for the default branch.
 * @returns The found refs, by the requested name.
 * @throws GitFailure if the repository cannot be read.
 */
export async function readRemoteRefs(
  remote: Remote,
  refs: readonly (string | null)[],
  surroundings: GitContext,
): Promise<Map<string | null, RemoteRef>> {
  const patterns = refs.flatMap((ref) => (ref === null ? ['HEAD'] : [fullName(ref), `${fullName(ref)}^{}`]));
  const lines = await runGit(
    {
      remote,
      args: ['ls-remote', '--symref', '--', remote.url.text, ...patterns],
      timeoutMs: surroundings.limits.askTimeoutMs,
    },
    surroundings,
  );
  const ids = new Map<string, string>();
  let head: string | undefined;
  for (const line of lines) {
    const { id, name } = LINE.exec(line)?.groups ?? {};
    if (id !== undefined && name !== undefined) ids.set(name, id);
    head ??= HEAD_LINE.exec(line)?.groups?.['name'];
  }
  return new Map(
    refs.flatMap((ref): [string | null, RemoteRef][] => {
      const name = ref === null ? 'HEAD' : fullName(ref);
      // For an annotated tag, its commit instead of the tag object.
      const commit = ids.get(`${name}^{}`) ?? ids.get(name);
      if (commit === undefined) return [];
      return [[ref, { name: ref === null ? (head ?? 'HEAD') : name, commit }]];
    }),
  );
}

/** Reads one ref. @throws GitFailure if it does not exist, or the repository cannot be read. */
export async function readRemoteRef(
  remote: Remote,
  ref: string | null,
  surroundings: GitContext,
): Promise<RemoteRef> {
  const found = (await readRemoteRefs(remote, [ref], surroundings)).get(ref);
  if (found !== undefined) return found;
  throw new GitFailure(
    ref === null
      ? `${remote.url.text} has no default branch with a commit.`
      : `${remote.url.text} has no ${isTag(ref) ? 'tag' : 'branch'} ${JSON.stringify(shortName(ref))}.${isTag(ref) ? '' : ' A tag is written refs/tags/….'}`,
  );
}

/** git's full name of a `repo_ref`. */
export function fullName(ref: string): string {
  return isTag(ref) ? ref : `refs/heads/${ref}`;
}

function isTag(ref: string): boolean {
  return ref.startsWith(TAG_PREFIX);
}

function shortName(ref: string): string {
  return isTag(ref) ? ref.slice(TAG_PREFIX.length) : ref;
}
