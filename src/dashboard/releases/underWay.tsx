import type { UnderWay as Waits } from '../../domain/heartbeat.ts';
import { mayApprove } from '../../domain/intervention/intervention.ts';
import type { Progress, StepRecord, Waiting } from '../../domain/release/release.ts';
import type { Viewer } from '../access/session.ts';
import { Elapsed, Until } from '../page/marks.tsx';

const STEP_WORDS: Readonly<Record<StepRecord['step'], string>> = {
  candidate: 'choose candidate',
  find: 'find deployment',
  create: 'create deployment',
  baseline: 'check baseline',
  freeze: 'look at freezes',
  upload: 'upload',
  patch: 'patch',
  deployed: 'deploy',
  serving: 'confirm serving',
  check: 'check',
  soak: 'soak',
  judge: 'judge',
  promote: 'release',
  bake: 'watch',
  redeploy: 'redeploy',
  watch: 'look for late revision',
  record: 'record',
  notify: 'notify',
};

export function stepWords({ step, subject }: Pick<StepRecord, 'step' | 'subject'>): string {
  const isNamed = step === 'check' || step === 'baseline' || step === 'soak' || step === 'bake';
  return isNamed && subject !== undefined ? `${STEP_WORDS[step]} ${subject}` : STEP_WORDS[step];
}

export function StepStrip({ steps }: { readonly steps: readonly StepRecord[] }) {
  return (
    <ol class="strip" aria-label="Steps">
      {steps.map((step) => (
        <li class={`${step.status}${step.restoring ? ' restoring' : ''}`}>
          <span class="unseen">{`${step.status}: `}</span>
          {`${step.restoring ? '↩ ' : ''}${stepWords(step)}`}
          {step.status === 'running' && (
            <>
              {' '}
              <Elapsed since={step.startedAt} />
            </>
          )}
        </li>
      ))}
    </ol>
  );
}

/** The steps, what the running one found last, and the newest lines of the build. */
export function UnderWay({ progress, call, buildLog }: Waits & { readonly progress: Progress }) {
  return (
    <>
      <StepStrip steps={progress.steps} />
      <Found call={call} />
      {buildLog.length > 0 && (
        <pre class="log" tabindex={0} aria-label="Newest lines of the build">
          {buildLog.join('\n')}
        </pre>
      )}
    </>
  );
}

/** What the running step found last. */
export function Found({ call }: Pick<Waits, 'call'>) {
  if (call === null) return null;
  return (
    <p class="found">
      {call.says} <Elapsed since={call.since} />
    </p>
  );
}

const TITLES: Readonly<Record<Waiting['for'], string>> = {
  approval: 'Waits for approval',
  resume: 'Paused',
  decision: 'Waits for a decision',
  freeze: 'Waits for a freeze to end',
};

/** What a release or a promotion waits for; nothing if it proceeds. */
export function Wait({
  progress,
  viewer,
}: {
  readonly progress: Progress | null | undefined;
  readonly viewer: Viewer;
}) {
  if (progress?.waiting == null) return null;
  const { waiting, madeBy } = progress;
  const isMine = waiting.approvers?.includes(viewer.name) === true;
  return (
    <section class={`notice ${waiting.for === 'decision' ? 'bad' : 'warn'}`}>
      <h3>
        {TITLES[waiting.for]}
        {isMine && <span class="mine"> by you</span>}
      </h3>
      <p>{waiting.note}</p>
      <p class="facts">
        <Elapsed since={waiting.since} />
        <Until at={waiting.until} />
        {waiting.for === 'approval' && <span>{mayApprove(waiting.approvers, madeBy)}</span>}
      </p>
    </section>
  );
}
