import { z } from 'zod';

import { Duration, Text } from './scalarFields.ts';

const DAY_MS = 86_400_000;

/**
 * The fields of an approval, wherever one is asked for.
 *
 * @param byDefault - who may give it where nobody is named.
 */
export function approvalFields(byDefault: string) {
  return {
    required: z.int().min(1).max(100).default(1).describe('How many people must approve'),
    approvers: z.array(Text).min(1).max(100).optional().describe(`Who may. Default: ${byDefault}`),
    within: Duration.default(DAY_MS).describe('How long it is waited for. Default: 24h'),
  };
}

/** What approval is waited for must be possible: as many people as are required may give it. */
export function enoughApprovers(
  { required, approvers }: { readonly required: number; readonly approvers?: readonly string[] | undefined },
  context: z.core.$RefinementCtx,
): void {
  const people = new Set(approvers).size;
  if (approvers === undefined || people >= required) return;
  const message = `can never be reached: ${people === 1 ? 'one person' : `${people} people`} may approve`;
  context.addIssue({ code: 'custom', path: ['required'], message });
}
