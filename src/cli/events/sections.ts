import { Failure } from './anyCommand.ts';
import { Answer, DemoEnded, Part } from './demo.ts';
import { Difference, Hold, Idle, Log, Past, Quarantine, Release } from './history.ts';
import type { EventSchema } from './index.ts';
import * as machine from './machine.ts';
import { ReleasePlan } from './plan.ts';
import * as platform from './platform.ts';
import * as promotion from './promotion.ts';
import * as rehearse from './rehearse.ts';
import * as release from './release.ts';
import * as source from './source.ts';
import { KeptStatus, PromotionStatus, TargetStatus } from './status.ts';
import { Audited, Finding, Judged, VerdictEnded, Violation } from './verdicts.ts';

/** A section of docs/json.md: the lines of some commands. */
export interface Section {
  /** In Markdown, as everything here. */
  readonly title: string;
  readonly events: readonly EventSchema[];
  /** What a table does not tell. */
  readonly told?: string;
}

/** docs/json.md, in its order. */
export const SECTIONS: readonly Section[] = [
  { title: 'Any command', events: [Failure] },
  {
    title: '`dev`, `platform`, `agent`, `worker`',
    events: [
      machine.DevReady,
      machine.Service,
      machine.Stopped,
      machine.PlatformReady,
      machine.AgentReady,
      machine.WorkerReady,
      machine.TookOver,
      machine.Warning,
    ],
  },
  {
    title: '`platform integrations`',
    events: [platform.Integration, platform.IntegrationRemoved],
    told: 'These and the following have the names of the control plane, and whatever else it answers.',
  },
  {
    title: '`platform listeners`',
    events: [platform.ListenerShown, platform.ListenerRemoved],
    told: 'A listener that was made in the public names is shown in those (docs/public-vocabulary.md).',
  },
  {
    title: '`platform keys`, `platform secrets`, `platform audit`',
    events: [platform.Key, platform.KeyRevoked, platform.SecretsRotated, platform.Change],
  },
  {
    title: '`release` and `rollback`',
    events: [
      release.SuspectedSecret,
      release.Artifact,
      release.Frozen,
      release.ReleaseSubmitted,
      release.RollbackSubmitted,
      release.Queued,
      release.Started,
      release.Step,
      release.Check,
      release.Waits,
      release.UnderWay,
      release.Silent,
      release.Answering,
      release.ReleaseEnded,
      release.GaveUp,
      release.BreakGlass,
      release.Revision,
    ],
    told: `After a \`suspected_secret\`, an \`error\` follows with \`--strict\`. A revision that was not built, or did not start, is told by the last lines of its log (\`log\`) before \`ended\`.

\`release --abort-on-interrupt\` that is interrupted prints an \`intervention\` as \`abort\` does, without \`target\`, then \`gave_up\`; so does \`promote\`.

\`rollback --break-glass\` prints \`break_glass\`, then a \`revision\` for each status of the revision, then \`ended\` or \`gave_up\`.`,
  },
  { title: '`history` and `show`', events: [Past, Release, Difference] },
  {
    title: '`logs` and `watch`',
    events: [Log, Idle],
    told: '`watch` prints what `release` prints from `queued` on. `show` of a release whose revision was not built, or did not start, prints the last lines of its log.',
  },
  { title: '`completion`', events: [source.Completion, source.Names] },
  { title: '`init`', events: [source.Written] },
  {
    title: '`lint`',
    events: [source.Problem, source.Linted],
    told: 'Any other command that finds `slipway.yaml` not right prints the same `problem`s before its `error`; `release` prints the warnings too, and goes on.',
  },
  {
    title: '`pack`',
    events: [source.Entry, source.Packed],
    told: 'A `suspected_secret` for each place, as `release` does, stands before `packed`.',
  },
  { title: '`prune`', events: [source.PrunedArtifact, source.Pruned] },
  {
    title: '`status`',
    events: [TargetStatus, KeptStatus, PromotionStatus],
    told: 'If the target does not answer, the lines say what Temporal and the control plane know, and an `error` follows: `SLIPWAY_NO_WORKER` (no worker, exit code 6) or `SLIPWAY_WORKFLOW_STUCK` (the workflow cannot go on, exit code 3). `SLIPWAY_TEMPORAL_UNREACHABLE` (6), `SLIPWAY_TARGET_UNKNOWN` and the codes of a wrong file (1) come without any status. If the deployment is given by its id alone, the errors of its control plane do, too. If the control plane does not say what serves, that is no error: `deployment` is `null`.',
  },
  {
    title: '`promote` and `schedule`',
    events: [
      promotion.Promotion,
      promotion.PromotionEnded,
      promotion.ScheduleChange,
      promotion.Schedule,
      promotion.Triggered,
    ],
    told: '`promote` prints `promotion`, then `frozen`, `step`, `check`, `waiting` and `under_way` as `release` does, then `promotion_ended` or `gave_up`.',
  },
  {
    title: '`plan release` and `plan promotion`',
    events: [ReleasePlan, promotion.Planned],
    told: 'A `suspected_secret` for each place, as `release` does, stands before `release_plan`. Where somebody could not be asked, an `error` follows.',
  },
  {
    title: '`rehearse`',
    events: [
      rehearse.RehearsedRelease,
      rehearse.RehearsedPromotion,
      rehearse.RehearsalUnmet,
      rehearse.RehearsalEnded,
    ],
    told: 'In the order in which they began, in the time that is rehearsed (`at`). After Ctrl-C `stopped`, with the exit code 130.',
  },
  { title: '`hold` and `unhold`', events: [Hold] },
  {
    title: '`abort`, `pause`, `resume`, `approve`, `reject`, `retry`, `skip`',
    events: [release.Intervention],
  },
  { title: '`quarantine` and `unquarantine`', events: [Quarantine] },
  {
    title: '`audit`',
    events: [Violation, Audited],
    told: 'Then `ended`, as below, with the exit code 0, or 3 where a rule was broken.',
  },
  {
    title: '`judge`',
    events: [Judged],
    told: 'Then `ended`, as below, with the exit code 0 passed, 2 failed, 3 errored, 4 inconclusive.',
  },
  { title: '`doctor`', events: [Finding, VerdictEnded] },
  {
    title: '`demo`',
    events: [Part, Answer, DemoEnded],
    told: 'The events of its two releases stand between these; after Ctrl-C it ends with `stopped`.',
  },
  { title: '`temporal install`', events: [machine.InstallProgress, machine.Installed] },
];

/** Every line, in the order of the page. */
export const LINES = SECTIONS.flatMap(({ events }) => events);
