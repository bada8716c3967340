import { z } from 'zod';

import { TEXT_MAX } from '../limits.ts';
import { nonEmptyText, RelativePath } from '../scalars.ts';

/** How a tag begins in `repo_ref`; anything else is a branch's bare name (contract 000, "SourceRevisionConfig"). */
export const TAG_PREFIX = 'refs/tags/';

/**
 * A branch as a bare name, or a tag as a full path. Decision: git's own rules for names hold (no blanks, no `..`, none
 * of `~^:?*[\\`, no leading hyphen), and of the full paths only `refs/tags/` is one.
 */
const RepoRef = z
  .string()
  .min(1, { abort: true })
  .max(TEXT_MAX)
  .regex(
    /^(?!-)(?!refs\/(?!tags\/[^/]))(?!.*(?:\.\.|\/\/|@\{))[^\s\p{Cc}\p{Surrogate}~^:?*[\\]+(?<![/.])$/u,
    {
      error: 'Input should be a branch (bare name) or a tag (full path starting refs/tags/)',
    },
  );

/**
 * What a request says about the source that makes a revision (contract 000, "SourceRevisionConfig"). Every field is
 * nullable and optional; rules by source are in `sourceRules.ts`. `repo_commit_sha` is read-only, and like every
 * read-only field it is ignored in requests. Whether a `source_tarball_path` came from the upload-url endpoint only
 * the control plane can tell.
 */
export const SourceRevisionConfig = z.object({
  repo_ref: RepoRef.nullish(),
  graph_config_path: RelativePath.nullish(),
  image_uri: nonEmptyText().nullish(),
  source_tarball_path: nonEmptyText().nullish(),
});
export type SourceRevisionConfig = z.infer<typeof SourceRevisionConfig>;

/** {@link SourceRevisionConfig} in an answer: of the latest revision in a Deployment, of itself in a Revision. */
export const AnsweredSourceRevisionConfig = z.looseObject({
  repo_ref: z.string().nullish(),
  graph_config_path: z.string().nullish(),
  image_uri: z.string().nullish(),
  source_tarball_path: z.string().nullish(),
  repo_commit_sha: z.string().nullish(),
});
export type AnsweredSourceRevisionConfig = z.infer<typeof AnsweredSourceRevisionConfig>;
