import type { Progress } from './release.ts';

export function startingProgress(of: Pick<Progress, 'releaseId' | 'kind' | 'startedAt'>): Progress {
  return {
    ...of,
    phase: 'starting',
    deploymentId: null,
    revisionId: null,
    baseline: null,
    steps: [],
    verdicts: [],
    outcome: null,
    instructions: null,
    waiting: null,
    interventions: [],
  };
}
