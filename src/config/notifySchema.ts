import { z } from 'zod';

import { NOTICE_EVENTS, RECEIVER_KINDS, RECEIVERS_MAX } from '../domain/notify/notice.ts';
import { fieldsOf, listOf, namedTwice } from './asWritten.ts';
import { unknownName } from './nearestWord.ts';
import type { FieldProblem } from './configProblem.ts';
import { BaseUrl, SecretReference, Text } from './fields.ts';

const OF_KIND = {
  slack: { needs: ['url'], takes: [] },
  webhook: { needs: ['url', 'secret'], takes: [] },
  github_deployment: { needs: ['token'], takes: ['repository', 'apiUrl', 'environment'] },
  github_status: { needs: ['token'], takes: ['repository', 'apiUrl', 'context'] },
} as const satisfies Record<
  (typeof RECEIVER_KINDS)[number],
  { readonly needs: readonly string[]; readonly takes: readonly string[] }
>;

const FIELDS = ['url', 'secret', 'token', 'repository', 'apiUrl', 'environment', 'context'] as const;

const Receiver = z
  .strictObject({
    name: Text.describe('The receiver’s name, unique in the file'),
    kind: z.enum(RECEIVER_KINDS).describe('The kind of receiver'),
    events: z
      .array(z.enum(NOTICE_EVENTS))
      .min(1)
      .optional()
      .describe('The events to send (docs/notifications.md). Default: all'),
    targets: z.array(Text).min(1).optional().describe('The targets whose events to send. Default: all'),
    url: SecretReference.optional().describe('The webhook’s URL; required for slack and webhook'),
    secret: SecretReference.optional().describe('The key of the signature; required for webhook'),
    token: SecretReference.optional().describe(
      'GitHub’s token; required for github_deployment and github_status',
    ),
    repository: z
      .string()
      .regex(/^[\w.-]+\/[\w.-]+$/u, 'expected owner/name')
      .optional()
      .describe('The GitHub repository, owner/name. Default: from CI, or from the git remote origin'),
    apiUrl: BaseUrl.optional().describe(
      'GitHub’s API; https://HOST/api/v3 of a GitHub Enterprise Server. Default: https://api.github.com',
    ),
    environment: Text.optional().describe('GitHub’s environment. Default: the target’s name'),
    context: Text.optional().describe(
      'The name of the commit status. Default: slipway/ and the target’s name',
    ),
  })
  .superRefine((receiver, context) => {
    const needs: readonly string[] = OF_KIND[receiver.kind].needs;
    const takes: readonly string[] = OF_KIND[receiver.kind].takes;
    for (const field of FIELDS) {
      const isThere = receiver[field] !== undefined;
      if (isThere === needs.includes(field) || (isThere && takes.includes(field))) continue;
      const message = isThere ? `not for kind ${receiver.kind}` : `expected, for kind ${receiver.kind}`;
      context.addIssue({ code: 'custom', path: [field], message });
    }
  });

export const Notify = z.array(Receiver).max(RECEIVERS_MAX);
export type ReceiverConfig = z.infer<typeof Receiver>;

export function notifyProblems(notify: unknown, targets: readonly string[]): readonly FieldProblem[] {
  const twice = namedTwice(notify, 'receivers').map(({ path, message }) => ({
    path: ['notify', ...path],
    message,
  }));
  const unknown = listOf(notify).flatMap((receiver, index) =>
    listOf(fieldsOf(receiver)['targets']).flatMap((target, at) => {
      if (typeof target !== 'string' || targets.length === 0 || targets.includes(target)) return [];
      return [{ path: ['notify', index, 'targets', at], message: unknownName('target', target, targets) }];
    }),
  );
  return [...twice, ...unknown];
}
