import type { When } from './when.ts';

/** What is let happen in a rehearsal that does not happen by itself. */
export type Injection = (
  | {
      readonly kind: 'check';
      readonly check: string;
      /** The target whose agent it is run on; `null`: any. */
      readonly target: string | null;
      /** `fails`: the agent's answer is not what is expected. `errs`: the agent does not answer. */
      readonly how: 'fails' | 'errs';
      readonly when: When;
    }
  | { readonly kind: 'control_plane'; readonly target: string | null; readonly when: When }
  | {
      readonly kind: 'judge';
      readonly verdict: 'passed' | 'failed' | 'inconclusive' | 'errored';
      readonly when: When;
    }
  | { readonly kind: 'build'; readonly target: string | null; readonly when: When }
  /** A new version is released on a target. */
  | { readonly kind: 'release'; readonly target: string; readonly when: When }
  /** Somebody says something to whatever waits for approval, so long after it began to wait; `null`: nobody does. */
  | { readonly kind: 'approval'; readonly says: Said | null }
) & {
  /** As it was written. */
  readonly text: string;
};

/** How each kind of injection is written. */
export const INJECTION_FORMS = [
  'check NAME fails|errs [on TARGET] [WHEN]',
  'control plane [of TARGET] is down [WHEN]',
  'build fails [on TARGET] [WHEN]',
  'judge passes|fails|errs|is inconclusive [WHEN]',
  'WHO approves|rejects [after DURATION]',
  'nobody approves',
  'release on TARGET at TIME',
] as const;

/** What somebody says about what waits for approval. Milliseconds. */
export interface Said {
  readonly who: string;
  readonly what: 'approve' | 'reject';
  readonly afterMs: number;
}
