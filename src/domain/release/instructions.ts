import type { ErrorCode } from '../errors.ts';
import { isQuarantined } from '../restore/restoreDecision.ts';
import type { TargetSpec } from '../target/targetSpec.ts';
import type { Baseline, KnownRevision, ReleaseResult } from './release.ts';

/** A situation that Slipway could not fix by itself. */
export interface Predicament extends Pick<ReleaseResult, 'deploymentId' | 'baseline' | 'reason'> {
  readonly target: TargetSpec;
  /** Oldest first. */
  readonly known: readonly KnownRevision[];
  /** Why the last attempt failed; `null` if not known. */
  readonly code: ErrorCode | null;
  /** The revisions that could not be restored, in the order of the attempts. */
  readonly attempted: readonly string[];
  /** The revision that was restored and serves, but failed its checks; absent if there is none. */
  readonly restored?: string;
}

/**
 * What a person should do if Slipway could not restore a good revision: the obstacle, where to look, and the commands
 * with Slipway, without Temporal, and without Slipway. They never contain a key's value.
 */
export function restoreInstructions(predicament: Predicament): string {
  const { target, known, attempted, baseline, restored } = predicament;
  if (restored !== undefined) return numbered(predicament, whenRestored(predicament, restored));
  const steps = [obstacle(predicament), lookAround(predicament)];
  const best = bestRevision(known, baseline, attempted);
  if (best === null) {
    steps.push([
      'No earlier revision is known to be good: release a good artifact, even if a rollback has left a hold.',
      ...releaseAgain(target, '--override-hold'),
    ]);
  } else {
    steps.push(restoreByHand(predicament, best), [
      'A rollback leaves a hold. When the target may take releases again:',
      `slipway unhold ${target.name} --reason "…"`,
    ]);
  }
  return numbered(predicament, steps);
}

function numbered({ target, reason }: Predicament, steps: readonly Step[]): string {
  return [
    `Target "${target.name}" needs a person: ${reason}.`,
    ...steps.flatMap(([words, ...commands], index) => [
      `${index + 1}. ${words ?? ''}`,
      ...commands.map((command) => `     ${command}`),
    ]),
  ].join('\n');
}

/** The shell command that redeploys a revision. The key is a variable, so that its value is never printed. */
export function redeployCommand(
  target: Pick<TargetSpec, 'controlPlane' | 'apiKey' | 'tenantId'>,
  deploymentId: string,
  revisionId: string,
): string {
  return `curl -X POST ${headers(target)} ${deploymentUrl(target, deploymentId)}/revisions/${revisionId}/redeploy`;
}

/** A sentence with its commands. */
type Step = readonly string[];

function obstacle(predicament: Predicament): Step {
  const { target, code, attempted } = predicament;
  const asked = looking(predicament);
  const last = attempted.at(-1);
  const revision = last === undefined ? [] : [looking(predicament, `/revisions/${last}`)];
  switch (code) {
    case 'SLIPWAY_UNREACHABLE':
    case 'SLIPWAY_NO_ANSWER':
    case 'SLIPWAY_BAD_ANSWER':
    case 'SLIPWAY_SERVICE_ERROR':
    case 'SLIPWAY_RATE_LIMITED':
    case 'SLIPWAY_WORKER_KILLED':
      return [
        'The control plane gave no usable answer. No revision can be restored before this answers 200:',
        asked,
      ];
    case 'SLIPWAY_UNAUTHORIZED':
    case 'SLIPWAY_SECRET_MISSING':
      return [
        `The worker has no key that the control plane takes. Give it one (${keyPlace(target)}), start it again, and see that this answers 200:`,
        asked,
      ];
    case 'SLIPWAY_SECRET_REFUSED':
      return [
        `The worker must not send its key (${keyPlace(target)}) to ${target.controlPlane}. List the address in the file that SLIPWAY_SECRET_ORIGINS names, restart the worker, and check that this answers 200:`,
        asked,
      ];
    case 'SLIPWAY_NOT_FOUND':
    case 'SLIPWAY_REFUSED':
    case 'SLIPWAY_CONFLICT':
      return [
        'The control plane rejects a redeploy of that revision. These revisions were deployed before:',
        looking(predicament, '/revisions?status=DEPLOYED'),
      ];
    case 'SLIPWAY_STEP_TIMED_OUT':
      return [
        'It was not done in time: the control plane is away, or the revision is still on its way. Its status says which:',
        ...(last === undefined ? [asked] : revision),
      ];
    case 'SLIPWAY_REVISION_FAILED':
    case 'SLIPWAY_NOT_SERVING':
      return [
        'The restored revision was not deployed. Its status, and the reason if the control plane gives one:',
        ...revision,
      ];
    case 'SLIPWAY_CHECK_FAILED':
      return [
        `Revision ${last ?? ''} was restored, serves, and failed its checks: do not trust what serves now. A dependency of the agent may be broken; then every revision fails.`,
      ];
    case 'SLIPWAY_OUTCOME_UNKNOWN':
      return [
        'A request was sent and not answered, and may have been carried out, or be carried out still. The newest revisions, with what they were made from:',
        looking(predicament, '/revisions?limit=5'),
      ];
    case 'SLIPWAY_NOTHING_TO_RESTORE':
      return ['There was no earlier revision to restore: the one that failed may still serve.'];
    default:
      return ['It is unknown what serves now.', asked];
  }
}

/** The commands that release again. `slipway release` refuses a preview, and a push takes no options for a hold. */
function releaseAgain({ name, preview }: TargetSpec, ...options: readonly string[]): readonly string[] {
  const why = '--reason "…"';
  if (preview !== true) return [['slipway release', name, ...options, why].join(' ')];
  const unhold = options.length === 0 ? [] : [`slipway unhold ${name} ${why}`];
  return [...unhold, `slipway preview --pr NUMBER ${why}`];
}

/** The instructions if a revision was restored and serves but failed its checks: the cause is outside of it. */
function whenRestored(predicament: Predicament, revisionId: string): readonly Step[] {
  const { name } = predicament.target;
  return [
    [
      `See which checks failed, and their answers. Revision ${revisionId} serves:`,
      `slipway show latest ${name}`,
    ],
    [
      'Find the cause: the model’s provider, the agent’s address and key, the checks, or shared state that the release changed. See what serves:',
      looking(predicament),
    ],
    [
      'When the cause is gone, release again; nothing counts against the artifact. If the restored revision is at fault, roll back to an earlier one:',
      ...releaseAgain(predicament.target),
      `slipway rollback ${name} --to REVISION --reason "…"`,
    ],
  ];
}

function lookAround(predicament: Predicament): Step {
  const { target, deploymentId } = predicament;
  const isKnown = (deploymentId ?? target.deploymentId) !== undefined;
  return [
    isKnown
      ? 'See what serves (active_revision_id):'
      : 'Find the deployment, and see what serves (active_revision_id):',
    looking(predicament),
    `slipway status ${target.name}`,
  ];
}

function restoreByHand({ target, deploymentId, attempted }: Predicament, revisionId: string): Step {
  const again = attempted.includes(revisionId) ? ', which failed before, and may succeed now' : '';
  const id = deploymentId ?? target.deploymentId;
  const rollback = `slipway rollback ${target.name} --to ${revisionId}`;
  return [
    `Restore revision ${revisionId}${again}: with Slipway, without Temporal, or without Slipway.`,
    `${rollback} --reason "…"`,
    `${rollback} --break-glass --reason "…"`,
    ...(id === undefined ? [] : [redeployCommand(target, id, revisionId)]),
  ];
}

/** The newest verified revision that was not tried, else the newest verified one, else the baseline. */
function bestRevision(
  known: readonly KnownRevision[],
  baseline: Baseline | null,
  attempted: readonly string[],
): string | null {
  const newestWord = new Map(known.map((revision) => [revision.revisionId, revision]));
  const good = [...newestWord.values()].filter((revision) => revision.verified && !revision.quarantined);
  const untried = good.findLast(({ revisionId }) => !attempted.includes(revisionId));
  const before = baseline?.revisionId ?? null;
  const last = before === null || isQuarantined(known, before) ? null : before;
  return (untried ?? good.at(-1))?.revisionId ?? last;
}

/** A command that reads the deployment or a resource below it. It searches by name if the id is not known. */
function looking({ target, deploymentId }: Predicament, below = ''): string {
  const id = deploymentId ?? target.deploymentId;
  const url =
    id === undefined
      ? `${target.controlPlane}/v2/deployments?name_contains=${encodeURIComponent(target.deployment)}`
      : `${deploymentUrl(target, id)}${below}`;
  return `curl -i ${headers(target)} "${url}"`;
}

function deploymentUrl({ controlPlane }: Pick<TargetSpec, 'controlPlane'>, deploymentId: string): string {
  return `${controlPlane}/v2/deployments/${deploymentId}`;
}

/** The key's reference. Other text might be a key and is not repeated. */
function keyPlace({ apiKey: { from } }: TargetSpec): string {
  return /^(?:env|file):/.test(from) ? from : 'apiKey';
}

/** The headers with the credentials. The shell inserts the key. */
function headers({ apiKey: { from }, tenantId }: Pick<TargetSpec, 'apiKey' | 'tenantId'>): string {
  const value = from.startsWith('env:')
    ? `$${from.slice('env:'.length)}`
    : from.startsWith('file:')
      ? `$(cat ${from.slice('file:'.length)})`
      : '$API_KEY';
  const tenant = tenantId === undefined ? '' : ` -H "X-Tenant-Id: ${tenantId}"`;
  return `-H "X-Api-Key: ${value}"${tenant}`;
}
