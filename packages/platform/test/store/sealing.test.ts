import { randomBytes } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import { createRotatingSealing, createSealing } from '../../src/store/sealing.ts';

const [first, second, third] = [randomBytes(32), randomBytes(32), randomBytes(32)] as const;

describe('a sealing whose key changes', () => {
  it('opens what its key and the one before have sealed, and lets go of older ones', () => {
    const sealing = createRotatingSealing(first);
    const sealedFirst = sealing.seal('a secret', 'id');
    sealing.rotateTo(second);
    const sealedSecond = sealing.seal('a secret', 'id');
    expect(sealing.open(sealedFirst, 'id')).toBe('a secret');
    expect(sealing.isNewest(sealedFirst, 'id')).toBe(false);
    sealing.rotateTo(third);
    expect(sealing.open(sealedSecond, 'id')).toBe('a secret');
    expect(() => sealing.open(sealedFirst, 'id')).toThrow('cannot be decrypted');
  });

  it('still has the key before when it is told the newest one again, as a rotation that goes on does', () => {
    const sealing = createRotatingSealing(first);
    sealing.rotateTo(second);
    sealing.rotateTo(second);
    expect(sealing.open(createSealing(first).seal('a secret', 'id'), 'id')).toBe('a secret');
  });

  it('opens nothing under another id', () => {
    const sealing = createRotatingSealing(first);
    sealing.rotateTo(second);
    expect(() => sealing.open(sealing.seal('a secret', 'id'), 'another')).toThrow('cannot be decrypted');
  });
});
