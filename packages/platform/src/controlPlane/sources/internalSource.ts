import { isThere, type HomeLayout } from '../homeLayout.ts';
import type { TreeSource } from './source.ts';

/** `internal_source`: the tree is an uploaded tarball (contract 000, "SourceRevisionConfig": `source_tarball_path`). */
export function internalSource(home: HomeLayout): TreeSource {
  return {
    kind: 'tree',
    hasSource: ({ source_revision_config: config }) => config['source_tarball_path'] != null,
    fetch: async ({ source_revision_config: config }) => {
      const tarball = home.object(String(config['source_tarball_path']));
      if (await isThere(tarball)) return { ok: true, tarball };
      return { ok: false, reason: 'The uploaded source is no longer there.' };
    },
  };
}
