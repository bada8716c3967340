import { type TreeSource } from './source.ts';

/** `repo_host`: the tree is a commit of a git repository (contract 000, "SourceConfig": `repo_url`). */
export function repoHost(): TreeSource {
  return {
    kind: 'tree',
    hasSource: ({ source_config: config }) => config['repo_url'] != null,
    fetch: () =>
      Promise.resolve({
        ok: false,
        reason: 'This platform does not yet build from a repository host; use source internal_source.',
      }),
  };
}
