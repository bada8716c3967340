import type { Kysely } from 'kysely';

import type { Schema } from '../../store/schema.ts';
import type { Containers } from '../../runtime/docker/containers.ts';
import { type HomeLayout, pathExists } from '../homeLayout.ts';
import { image } from './image.ts';
import { repoHost } from './repoHost.ts';
import type { Source, TreeSource } from './source.ts';

/** The sources by their names on the wire. Other names were rejected before. */
export type Sources = (name: string) => Source;

/** Makes {@link Sources}: those of contract 000, "Deployment". */
export function createSources(options: {
  kysely: Kysely<Schema>;
  home: HomeLayout;
  containers: Containers;
}): Sources {
  const { kysely, home, containers } = options;
  const sources: Readonly<Record<string, Source>> = {
    internal_source: internalSource(home),
    repo_host: repoHost(kysely, home),
    external_image: image({ kysely, containers, isPulled: true }),
    internal_image: image({ kysely, containers, isPulled: false }),
  };
  return (name) => {
    const source = sources[name];
    if (source === undefined) throw new Error(`No such source: ${name}`);
    return source;
  };
}

/** `internal_source`: the tree is an uploaded tarball (contract 000, "SourceRevisionConfig": `source_tarball_path`). */
function internalSource(home: HomeLayout): TreeSource {
  return {
    kind: 'tree',
    hasSource: ({ source_revision_config: config }) => config['source_tarball_path'] != null,
    fetch: async ({ source_revision_config: config }) => {
      const tarball = home.object(String(config['source_tarball_path']));
      if (await pathExists(tarball)) return { ok: true, tarball };
      return { ok: false, reason: 'The uploaded source was removed.' };
    },
  };
}
