import { describe, expect, it } from 'vitest';

import { artifactIdentity, describeArtifact, shortCommit } from '../../../src/domain/artifact/artifact.ts';

const TARBALL = {
  kind: 'tarball',
  digest: `sha256:${'0123456789ab'.padEnd(64, 'f')}`,
  sizeBytes: 1,
  store: 's',
} as const;
const IMAGE = { kind: 'image', uri: 'registry.test/agent:1' } as const;
const GIT = { kind: 'git', ref: 'refs/tags/v1' } as const;

describe('an artifact', () => {
  it('has a short name', () => {
    expect([TARBALL, IMAGE, GIT].map(describeArtifact)).toEqual([
      'sha256:0123456789ab',
      'registry.test/agent:1',
      'refs/tags/v1',
    ]);
  });

  it('has an identity that distinguishes a branch from an image of the same name', () => {
    const identities = [TARBALL, IMAGE, GIT, { kind: 'git', ref: IMAGE.uri } as const].map(artifactIdentity);
    expect(identities[0]).toBe(TARBALL.digest);
    expect(new Set(identities).size).toBe(4);
  });
});

it('a short commit says if the source differed from it', () => {
  const commit = '7ac2e451ac5b6bd3f852b6b48c95e51c503c818b';
  expect([commit, `${commit}-dirty`].map(shortCommit)).toEqual(['7ac2e451ac5b', '7ac2e451ac5b-dirty']);
});
