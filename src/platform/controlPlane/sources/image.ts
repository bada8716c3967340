import { type ImageSource } from './source.ts';

/** `external_image` and `internal_image` (contract 000, "SourceRevisionConfig": `image_uri`). */
export function image(): ImageSource {
  return {
    kind: 'image',
    hasSource: ({ source_revision_config: config }) => config['image_uri'] != null,
    undeployable: 'This platform does not yet run container images; use source internal_source.',
  };
}
