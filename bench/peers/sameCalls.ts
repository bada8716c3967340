import type { Measured } from './measured.ts';

const POLL = 'GET /v2/deployments/ID/revisions/ID';
/**
 * Scenarios in which each release makes the same calls. In the others, releases are interrupted or wait for different
 * times.
 */
const COMPARED: readonly string[] = ['idle', 'idle-again', 'slow-deploy', 'at-once', 'at-once-again'];

/**
 * How a release's calls differ from those of the bare script, in words; empty if they are equal. `slow-deploy` excludes
 * polls, because their number depends on time.
 */
export function differingCalls(measured: Measured, bare: Measured): readonly string[] {
  if (!COMPARED.includes(measured.scenario)) return [];
  const kinds = new Set([...Object.keys(measured.requests), ...Object.keys(bare.requests)]);
  if (measured.scenario === 'slow-deploy') kinds.delete(POLL);
  return [...kinds].sort().flatMap((kind) => {
    const own = perRelease(measured, kind);
    const script = perRelease(bare, kind);
    return own === script ? [] : [`${kind}: ${own} instead of ${script} for each release`];
  });
}

function perRelease({ requests, count }: Measured, kind: string): number {
  return Math.round(((requests[kind] ?? 0) / count) * 100) / 100;
}
