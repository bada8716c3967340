import { randomBytes } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import { createSealing, RotatingSealing } from '../../src/store/sealing.ts';

const [first, second, third] = [randomBytes(32), randomBytes(32), randomBytes(32)] as const;

describe('a sealed value', () => {
  const sealing = createSealing(Buffer.alloc(32, 1));

  it('opens to the original value, and looks different each time', () => {
    const sealed = sealing.seal('s3cret ü', 'row 1');
    expect(sealed).not.toContain('s3cret');
    expect(sealing.seal('s3cret ü', 'row 1')).not.toBe(sealed);
    expect(sealing.open(sealed, 'row 1')).toBe('s3cret ü');
  });

  it('does not open with another key, in another row, or after a change', () => {
    const sealed = sealing.seal('s3cret', 'row 1');
    const wrong = { code: 'SLIPWAY_MASTER_KEY_WRONG' };
    const parts = sealed.split('.');
    const withShortTag = [parts[0], parts[1], (parts[2] ?? '').slice(0, 6), parts[3]].join('.');
    expect(() => createSealing(Buffer.alloc(32, 2)).open(sealed, 'row 1')).toThrow(
      expect.objectContaining(wrong),
    );
    expect(() => sealing.open(sealed, 'row 2')).toThrow(expect.objectContaining(wrong));
    for (const changed of [sealed.slice(0, -2), `${sealed}AAAA`, withShortTag, 'v2.a.b.c', 'v1.a', '']) {
      expect(() => sealing.open(changed, 'row 1'), changed).toThrow(expect.objectContaining(wrong));
    }
  });
});

describe('a sealing whose key changes', () => {
  it('opens values of its key and of the previous one, and drops older keys', () => {
    const sealing = new RotatingSealing(first);
    const sealedFirst = sealing.seal('a secret', 'id');
    sealing.rotateTo(second);
    const sealedSecond = sealing.seal('a secret', 'id');
    expect(sealing.open(sealedFirst, 'id')).toBe('a secret');
    expect(sealing.isNewest(sealedFirst, 'id')).toBe(false);
    sealing.rotateTo(third);
    expect(sealing.open(sealedSecond, 'id')).toBe('a secret');
    expect(() => sealing.open(sealedFirst, 'id')).toThrow('cannot be decrypted');
  });

  it('keeps the previous key if it gets the newest one again, as a continued rotation does', () => {
    const sealing = new RotatingSealing(first);
    sealing.rotateTo(second);
    sealing.rotateTo(second);
    expect(sealing.open(createSealing(first).seal('a secret', 'id'), 'id')).toBe('a secret');
  });
});
