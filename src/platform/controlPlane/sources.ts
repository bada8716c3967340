/** What a source needs before a revision of it can be worked on, and how far this platform gets with it. */
export interface SourceSupport {
  /** The field of the configuration that names what is built or run. */
  readonly hasSource: (config: {
    source_config: Record<string, unknown>;
    source_revision_config: Record<string, unknown>;
  }) => boolean;
  /** Null where this platform can do all of it; else the stage at which a revision ends, and why. */
  readonly unsupported: { readonly stage: 'build' | 'deploy'; readonly reason: string } | null;
}

/**
 * The sources of contract 000. All are taken and stored; a revision of a source that this platform cannot serve
 * yet ends at the stage that is missing, and says so.
 */
const SUPPORT: Readonly<Record<string, SourceSupport>> = {
  internal_source: {
    hasSource: ({ source_revision_config: config }) => config['source_tarball_path'] != null,
    unsupported: null,
  },
  repo_host: {
    hasSource: ({ source_config: config }) => config['repo_url'] != null,
    unsupported: {
      stage: 'build',
      reason: 'This platform does not yet build from a repository host; use source internal_source.',
    },
  },
  external_image: {
    hasSource: ({ source_revision_config: config }) => config['image_uri'] != null,
    unsupported: {
      stage: 'deploy',
      reason: 'This platform does not yet run container images; use source internal_source.',
    },
  },
  internal_image: {
    hasSource: ({ source_revision_config: config }) => config['image_uri'] != null,
    unsupported: {
      stage: 'deploy',
      reason: 'This platform does not yet run container images; use source internal_source.',
    },
  },
};

/** How far this platform gets with a source. Requests with any other source were refused. */
export function supportOf(source: string): SourceSupport {
  const support = SUPPORT[source];
  if (support === undefined) throw new Error(`No such source: ${source}`);
  return support;
}
