import { createHash } from 'node:crypto';

import { artifactIdentity } from '../../../domain/artifact/artifact.ts';
import { canonicalJson } from '@slipway/contract/canonicalJson';
import type { ReleaseRequest } from '../../../domain/release/release.ts';

/** What a request key is made from. */
export type RequestIdentity = Pick<
  ReleaseRequest,
  'artifact' | 'target' | 'checks' | 'steps' | 'soakMs' | 'graphConfigPath' | 'commit'
>;

/**
 * The request key (design, "The way of a release", 1): two requests with the same key ask for the same thing. A digest
 * over the artifact's identity, the configuration that a release is made with, and the commit. The target's name in
 * the file, the artifact store's place, the queue's policy and who asked make no difference.
 *
 * @returns `sha256:` and 64 hexadecimal digits.
 */
export function requestKey(request: RequestIdentity): string {
  const { name: _name, ...target } = request.target;
  const identity = {
    artifact: artifactIdentity(request.artifact),
    target,
    checks: request.checks,
    steps: request.steps,
    soakMs: request.soakMs,
    graphConfigPath: request.graphConfigPath,
    commit: request.commit ?? null,
  };
  return `sha256:${createHash('sha256').update(canonicalJson(identity)).digest('hex')}`;
}
