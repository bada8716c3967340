import { describe, expect, it } from 'vitest';

import {
  type Pruned,
  prunedLines,
  sumLine,
  sumOf,
} from '../../../../src/cli/commands/artifact/prunedLines.ts';
import { styleOf } from '../../../../src/cli/ui/style.ts';

const NOW = Date.parse('2026-06-01T12:00:00.000Z');

function pruned(digits: string, change: Partial<Pruned>): Pruned {
  const digest = `sha256:${digits.padEnd(64, '0')}`;
  return {
    artifact: { digest, sizeBytes: 5_000, putAt: '2026-03-01T12:00:00.000Z' },
    last: {
      target: 'staging',
      releaseId: 'release-3',
      artifact: digest,
      released: true,
      endedAt: '2026-03-02T12:00:00.000Z',
    },
    kept: [],
    state: 'removed',
    ...change,
  };
}

const PRUNED = [
  pruned('5068ba98bbac', { state: 'kept', kept: ['serves on staging', 'verified on staging'] }),
  pruned('5f63285c3128', {}),
  pruned('99aa00000001', { last: null }),
];

describe('what was pruned', () => {
  it('is a table: what went, then what was kept, with why', () => {
    expect(prunedLines(PRUNED, NOW, Infinity, styleOf(false))).toEqual([
      'ARTIFACT             SIZE  PUT          LAST RELEASED                      STATE    WHY',
      'sha256:5f63285c3128  5 KB  92 days ago  release-3 on staging, 91 days ago  removed  not needed',
      'sha256:99aa00000001  5 KB  92 days ago  -                                  removed  not needed',
      'sha256:5068ba98bbac  5 KB  92 days ago  release-3 on staging, 91 days ago  kept     serves on staging, and 1 more',
    ]);
  });

  it('is nothing where the store holds nothing', () => {
    expect(prunedLines([], NOW, Infinity, styleOf(false))).toEqual([]);
    expect(sumLine([], 's3://bucket', false)).toBe('0 of 0 artifacts removed, 0 KB: s3://bucket');
  });

  it('is summed up, and what would go as if it had', () => {
    expect(sumOf(PRUNED)).toEqual({ kept: 1, removed: 2, bytesFreed: 10_000 });
    const planned = PRUNED.map((one) =>
      one.state === 'removed' ? { ...one, state: 'would_go' as const } : one,
    );
    expect(sumLine(planned, 's3://bucket', true)).toBe('2 of 3 artifacts would go, 10 KB: s3://bucket');
  });
});
