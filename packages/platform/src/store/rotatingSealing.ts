import { createSealing, type Sealing } from './sealing.ts';

/**
 * A sealing whose key changes: it seals with the newest key, and opens what that one or the one before has sealed. Two
 * are enough: a rotation begins when the one before it has come to its end, and nothing stored is older.
 */
export interface RotatingSealing extends Sealing {
  /** From now on this key seals; the newest key again changes nothing. */
  rotateTo(key: Buffer): void;
  /** Whether the newest key has sealed a value. */
  isNewest(sealed: string, context: string): boolean;
}

/** Makes a {@link RotatingSealing} with its first key. */
export function createRotatingSealing(key: Buffer): RotatingSealing {
  let newest = { key, sealing: createSealing(key) };
  let before: Sealing | undefined;
  const opened = (sealing: Sealing, sealed: string, context: string): string | undefined => {
    try {
      return sealing.open(sealed, context);
    } catch {
      // Which key it was is told by trying: a value that is authenticated opens with its own alone.
      return undefined;
    }
  };
  return {
    seal: (plaintext, context) => newest.sealing.seal(plaintext, context),
    open: (sealed, context) => {
      if (before === undefined) return newest.sealing.open(sealed, context);
      return opened(newest.sealing, sealed, context) ?? before.open(sealed, context);
    },
    rotateTo: (next) => {
      if (next.equals(newest.key)) return;
      before = newest.sealing;
      newest = { key: next, sealing: createSealing(next) };
    },
    isNewest: (sealed, context) => opened(newest.sealing, sealed, context) !== undefined,
  };
}
