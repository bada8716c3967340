import { createSealing, type Sealing } from './sealing.ts';

/** A sealing whose key changes: it seals with the newest key, and opens what any of its keys has sealed. */
export interface RotatingSealing extends Sealing {
  /** From now on this key seals. */
  rotateTo(key: Buffer): void;
  /** Whether the newest key has sealed a value. */
  isNewest(sealed: string, context: string): boolean;
}

/** Makes a {@link RotatingSealing} with its first key. */
export function createRotatingSealing(key: Buffer): RotatingSealing {
  let newest = createSealing(key);
  let before: Sealing[] = [];
  const opened = (sealing: Sealing, sealed: string, context: string): string | undefined => {
    try {
      return sealing.open(sealed, context);
    } catch {
      // Which key it was is told by trying: a value that is authenticated opens with its own alone.
      return undefined;
    }
  };
  return {
    seal: (plaintext, context) => newest.seal(plaintext, context),
    open: (sealed, context) => {
      for (const sealing of before) {
        const text = opened(sealing, sealed, context);
        if (text !== undefined) return text;
      }
      return newest.open(sealed, context);
    },
    rotateTo: (next) => {
      before = [newest, ...before];
      newest = createSealing(next);
    },
    isNewest: (sealed, context) => opened(newest, sealed, context) !== undefined,
  };
}
