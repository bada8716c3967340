import { z } from 'zod';

import { deploymentOf, deploymentPatternProblem, pullRequestOf } from '../domain/preview/previewName.ts';
import { isRecord } from '../domain/scalars.ts';
import { type Fields, fieldsOf, listOf } from './asWritten.ts';
import { unknownName } from './nearestWord.ts';
import type { FieldProblem } from './configProblem.ts';
import { BaseUrl, Duration, EntryName, SecretReference, Text, unless, wholeNumber } from './fields.ts';
import { PreviewJudge } from './judgeSchema.ts';
import { DAY_MS } from '../domain/duration.ts';

const SHORTEST_MS = 1_000;
const PREVIEWS_MAX = 1_000;

const Comment = z.strictObject({
  kind: z.enum(['github', 'gitlab']).describe('The API to use'),
  token: SecretReference.describe('A token that may comment. The worker resolves the reference'),
  repository: z
    .string()
    .regex(/^[\w.-]+(?:\/[\w.-]+)+$/u, 'expected owner/name, or the whole path of a GitLab project')
    .optional()
    .describe('The repository of the pull request. Default: from CI, or from the git remote origin'),
  apiUrl: BaseUrl.optional().describe(
    'The API. Default: https://api.github.com, or https://gitlab.com/api/v4',
  ),
});

const Preview = z.strictObject({
  from: Text.describe('The target whose settings a preview copies: control plane, keys, secrets, source'),
  deployment: Text.max(100)
    .superRefine(unless(deploymentPatternProblem))
    .describe('The deployment of a pull request, with its number as {pr}: greeter-pr-{pr}'),
  ttl: Duration.default(3 * DAY_MS)
    .refine((ttl) => ttl >= SHORTEST_MS, { message: 'expected at least 1s' })
    .describe('How long a preview stays after the last push. Default: 3d'),
  max: wholeNumber(1, PREVIEWS_MAX)
    .default(10)
    .describe('The most previews. One more removes the oldest idle one. Default: 10'),
  resources: z
    .record(z.string(), z.unknown())
    .optional()
    .describe(
      'The control plane’s resource_spec; only for external_image. Default: one replica, the smallest',
    ),
  checks: z
    .array(Text)
    .optional()
    .describe('The names of the checks that a preview must pass. Default: all checks of this file'),
  judge: PreviewJudge.optional().describe(
    'Compares the agent of a preview with the one that serves on "from", and reports it in the comment',
  ),
  comment: Comment.optional().describe('The comment on the pull request. Absent: Slipway writes none'),
});

export const Previews = z.record(EntryName, Preview);
export type PreviewConfig = z.infer<typeof Preview>;

export function* previewProblems(previews: Fields, targets: Fields, checks: unknown): Iterable<FieldProblem> {
  const names = Object.keys(targets);
  const known = listOf(checks).flatMap((check) => {
    const { name } = fieldsOf(check);
    return typeof name === 'string' ? [name] : [];
  });
  const patterns = new Map<string, string>();
  for (const [name, preview] of Object.entries(previews)) {
    const { from, checks: wanted, resources, deployment } = fieldsOf(preview);
    const path = ['previews', name];
    if (typeof from === 'string' && names.length > 0 && !names.includes(from)) {
      yield { path: [...path, 'from'], message: unknownName('target', from, names) };
    }
    const target: unknown = typeof from === 'string' ? targets[from] : undefined;
    if (resources !== undefined && isRecord(target) && target['source'] !== 'external_image')
      yield {
        path: [...path, 'resources'],
        message: 'only for previews of targets of source external_image',
      };
    for (const [index, check] of listOf(wanted).entries()) {
      if (typeof check !== 'string' || known.includes(check)) continue;
      yield { path: [...path, 'checks', index], message: unknownName('check', check, known) };
    }
    if (typeof deployment !== 'string') continue;
    const same = [...patterns].find(([other]) => meet(deployment, other) || meet(other, deployment));
    if (same !== undefined)
      yield { path: [...path, 'deployment'], message: `the preview "${same[1]}" has the same deployment` };
    patterns.set(deployment, name);
    const taken = Object.entries(targets).find(([other, settings]) =>
      [other, fieldsOf(settings)['deployment']].some(
        (text) => typeof text === 'string' && pullRequestOf(deployment, text) !== undefined,
      ),
    );
    if (taken !== undefined) {
      const message = `the target "${taken[0]}" has the name of a preview, whose removal would delete it`;
      yield { path: [...path, 'deployment'], message };
    }
  }
}

/** Whether two patterns can make the same deployment name: both `a-{pr}` and `a-1{pr}` make `a-11`. */
function meet(pattern: string, other: string): boolean {
  return pullRequestOf(other, deploymentOf(pattern, 1)) !== undefined;
}
