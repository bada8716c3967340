import { nameAndMark } from '../../domain/actor.ts';
import {
  FREEZE,
  type InterventionKind,
  JUDGE,
  SOAK,
  type Standing,
} from '../../domain/intervention/intervention.ts';
import { type Progress, startingProgress, type Waiting } from '../../domain/release/release.ts';
import { momentText } from '../page/marks.tsx';
import type { Choice, Order } from './actionSubject.ts';
import { type Asking, problemOf } from './offers.ts';

interface IntervenedIn {
  /** `release-3 on production`, or `the promotion nightly`. */
  readonly name: string;
  readonly progress: Progress;
  readonly standing: Standing;
  /** Sentences: which revision serves now, and which one will serve if it ends `released`. */
  readonly serving: readonly string[];
}

/** The progress of a release or a promotion that no worker reports. */
export const UNASKED = startingProgress({ releaseId: '', kind: 'release', startedAt: '' });

export function interventionOrder(subject: IntervenedIn, kind: InterventionKind, viewer: Asking): Order {
  const { name, standing, progress } = subject;
  const problem = problemOf(standing, kind, viewer);
  const button = interventionWord(kind);
  const order = {
    title: `${TITLES[kind] ?? button} ${name}`,
    button,
    sentences: [...SENTENCES[kind](subject), ...subject.serving],
    answers: answered(kind, progress),
    problem,
  };
  if (kind !== 'skip') return order;
  return {
    ...order,
    choose: { field: 'what', legend: 'What to skip', choices: standing.ahead.map(choiceOf) },
  };
}

/** The instant of the question or the pause that ends with an intervention. */
function answered(kind: InterventionKind, { waiting, interventions }: Progress): string | undefined {
  if (kind === 'resume') return interventions.findLast((said) => said.kind === 'pause' && said.taken)?.at;
  return waiting !== null && waiting.for === QUESTIONS[kind] ? waiting.since : undefined;
}

const QUESTIONS: Readonly<Partial<Record<InterventionKind, Waiting['for']>>> = {
  approve: 'approval',
  reject: 'approval',
  retry: 'decision',
  skip: 'decision',
};

/** An intervention on links and buttons: `Approve`. */
export function interventionWord(kind: InterventionKind): string {
  return kind.charAt(0).toUpperCase() + kind.slice(1);
}

const TITLES: Readonly<Partial<Record<InterventionKind, string>>> = {
  retry: 'Retry the step of',
  skip: 'Skip a part of',
};

const SENTENCES: Readonly<Record<InterventionKind, (subject: IntervenedIn) => readonly string[]>> = {
  approve: ({ standing: { approval, approvedBy, paused } }) => {
    const required = approval?.required ?? 1;
    const missing = required - approvedBy.length - 1;
    return [
      ...(approvedBy.length === 0 ? [] : [`Approved so far by ${approvedBy.map(nameAndMark).join(', ')}.`]),
      missing > 0
        ? `After your approval, ${missing} more ${missing === 1 ? 'is' : 'are'} needed; nothing is changed before.`
        : `With your approval it continues ${paused ? 'once a person resumes it' : 'immediately'}.`,
    ];
  },
  reject: () => ['It ends “aborted”, and nothing is changed.'],
  pause: ({ progress }) => [
    `No further step begins until a person resumes it. The running step (${progress.phase}) still ends.`,
    'If no person resumes it, it is aborted at its deadline, by default after a day.',
  ],
  resume: ({ progress: { waiting } }) => [
    'It continues with its next step.',
    ...(waiting?.for === 'resume'
      ? [`If no person resumes it, it is aborted at ${momentText(waiting.until)}.`]
      : []),
  ],
  abort: ({ progress, standing: { called = 'release' } }) => [
    `The ${called} stops, and ends “aborted”.`,
    CHANGES[changes(progress)](called),
  ],
  retry: ({ progress: { waiting } }) => [
    ...(waiting?.for === 'decision' ? [`It waits for a decision: ${waiting.note}.`] : []),
    'The step whose outcome is unknown is retried. Slipway reads the deployment first, and sends nothing twice.',
  ],
  skip: () => [
    'What you choose is skipped, or ended if it is running. A revision with a skipped check does not count as verified.',
  ],
};

/** What it has changed on its target. A promotion's revision is its candidate's. */
function changes(progress: Progress): keyof typeof CHANGES {
  if (progress === UNASKED) return 'unknown';
  const { kind, revisionId, steps } = progress;
  const hasChanged =
    kind === 'promotion' ? steps.some(({ step }) => step === 'promote') : revisionId !== null;
  return hasChanged ? 'some' : 'none';
}

const CHANGES = {
  some: () => 'Its change is undone: the earlier revision serves again.',
  none: (called: string) =>
    `It has ${called === 'release' ? 'created no revision' : 'released nothing'} yet: there is nothing to restore.`,
  unknown: () => 'If it has changed anything, that is undone: the earlier revision serves again.',
};

function choiceOf(what: string): Choice {
  switch (what) {
    case FREEZE:
      return { value: what, label: 'The freeze', detail: 'It continues although a freeze is in force.' };
    case SOAK:
      return { value: what, label: 'The rest of the soak', detail: 'It applies immediately.' };
    case JUDGE:
      return { value: what, label: 'The judge', detail: 'It continues without a verdict.' };
    default:
      return { value: what, label: `The check “${what}”` };
  }
}
