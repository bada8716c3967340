import { writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';

import { type Fault, type ProxiedRequest, REQUESTS } from '../faultProxy.ts';
import type { Stack } from '../stack.ts';
import type { GatedMessage } from '../temporalGate.ts';
import { type Cell, type ControlPlane, isRestoring, type Moment, type Step } from './cells.ts';

/** A moment at which a release is stopped until the test lets it continue. */
export interface KillPoint {
  readonly cell: Cell;
  readonly met: Promise<void>;
  goOn(): Promise<void>;
}

interface Call {
  readonly activity: string;
  readonly matches?: (request: ProxiedRequest) => boolean;
}

const poll: Call = { activity: 'awaitDeployed', matches: REQUESTS.poll };
const serving: Call = { activity: 'confirmServing', matches: REQUESTS.serving };
const check: Call = { activity: 'runCheck', matches: REQUESTS.run };

const CALLS: Readonly<Record<Step, Call>> = {
  find: { activity: 'findDeployment', matches: REQUESTS.find },
  create: { activity: 'createDeployment', matches: REQUESTS.create },
  'baseline check': check,
  'upload URL': { activity: 'uploadArtifact', matches: REQUESTS.uploadUrl },
  upload: { activity: 'uploadArtifact', matches: REQUESTS.upload },
  patch: { activity: 'patchDeployment', matches: REQUESTS.patch },
  deployed: poll,
  serving,
  check,
  record: { activity: 'recordRelease' },
  redeploy: { activity: 'redeployRevision', matches: REQUESTS.redeploy },
  'deployed again': poll,
  'serving again': serving,
  'check again': check,
};

const BEFORE_THE_PATCH: ReadonlySet<Step> = new Set([
  'find',
  'create',
  'baseline check',
  'upload URL',
  'upload',
]);

/** After this many requests a step counts as polling. */
const POLLS = 3;

/** A release's phase, according to its requests. */
type Phase = 'before the PATCH' | 'forward' | 'restoring';

/**
 * Places kill points in the release that is about to start, the only one on its stack: at the fault proxy before the
 * platform, and at the gate before Temporal. The code under test does not know them.
 * @param slowStart - the file that delays the start of the new revision (`forward`) and of the restored one
 * (`restoring`), so that the release polls.
 * @param latestBefore - the latest revision before the release.
 */
export function placeKillPoints(
  stack: Stack,
  cells: readonly Cell[],
  slowStart: { readonly forward: string; readonly restoring: string },
  latestBefore: string | null,
): readonly KillPoint[] {
  let phase: Phase = 'before the PATCH';
  const traps = cells.map(
    (cell) => new Trap(cell, isRestoring(cell.step) ? slowStart.restoring : slowStart.forward),
  );
  stack.proxy.rule = (request) => {
    if (REQUESTS.patch(request)) phase = enter('forward', traps);
    if (REQUESTS.redeploy(request)) phase = enter('restoring', traps);
    return (
      first(traps, (trap) => trap.onRequest(request, phase)) ??
      first(cells, ({ controlPlane }) => faultOf(controlPlane, request))
    );
  };
  const isOldLatest = cells.some(({ controlPlane }) => controlPlane === 'old latest');
  stack.proxy.answerRule = ({ method }) =>
    isOldLatest && method === 'PATCH'
      ? (answer) => ({ ...(answer as object), latest_revision_id: latestBefore })
      : undefined;
  stack.gate.rule = (message) => first(traps, (trap) => trap.onMessage(message, phase));
  return traps;
}

/** How a control plane variant treats a request. */
function faultOf(controlPlane: ControlPlane, { method, path }: ProxiedRequest): Fault | undefined {
  const isList = method === 'GET' && /\/revisions(?:\?|$)/.test(path);
  return controlPlane === 'no list' && isList ? { kind: 'answer', status: 404 } : undefined;
}

/** Delays the next start if a kill point waits for polling. */
function enter(phase: Phase, traps: readonly Trap[]): Phase {
  for (const trap of traps) if (phaseOf(trap.cell.step) === phase) trap.prepare();
  return phase;
}

function phaseOf(step: Step): Phase {
  if (isRestoring(step)) return 'restoring';
  return BEFORE_THE_PATCH.has(step) ? 'before the PATCH' : 'forward';
}

function first<One, T>(all: readonly One[], ask: (one: One) => T | undefined): T | undefined {
  for (const one of all) {
    const answer = ask(one);
    if (answer !== undefined) return answer;
  }
  return undefined;
}

class Trap implements KillPoint {
  readonly cell: Cell;
  readonly met: Promise<void>;
  readonly #slowStart: string;
  readonly #released: Promise<void>;
  #meet = (): void => undefined;
  #release = (): void => undefined;
  #lose = (_why: Error): void => undefined;
  #polls = 0;
  #state: 'waiting' | 'holding' | 'over' = 'waiting';

  constructor(cell: Cell, slowStart: string) {
    this.cell = cell;
    this.#slowStart = slowStart;
    this.met = new Promise((resolve) => (this.#meet = resolve));
    this.#released = new Promise((resolve, reject) => {
      this.#release = resolve;
      this.#lose = reject;
    });
    // Avoids an unhandled rejection if nothing awaits it.
    this.#released.catch(() => undefined);
  }

  prepare(): void {
    if (this.#state !== 'over' && this.#needsSlowStart) writeFileSync(this.#slowStart, '');
  }

  onRequest(request: ProxiedRequest, phase: Phase): Fault | undefined {
    const { step, moment } = this.cell;
    if (this.#state === 'over' || !isPhaseOf(step, phase) || CALLS[step].matches?.(request) !== true)
      return undefined;
    if (moment === 'polling') return this.#onPoll(step);
    if (!this.#holds) return undefined;
    if (moment === 'before') return this.#hold({ kind: 'hold_back', until: this.#released });
    if (moment !== 'unanswered') return undefined;
    this.#state = 'holding';
    return { kind: 'hold_answer', until: this.#released, onAnswer: () => this.#meet() };
  }

  onMessage({ call, way, bytes }: GatedMessage, phase: Phase): Promise<void> | undefined {
    const { step, moment } = this.cell;
    if (!this.#holds || !isPhaseOf(step, phase) || !bytes.includes('/release-')) return undefined;
    // A step without a call to a server is intercepted when its task is dispatched.
    const wanted = handedOut(step, moment)
      ? phase !== 'before the PATCH' && call === 'PollWorkflowTaskQueue' && bytes.includes(PASSED)
      : moment === 'answered' && way === 'request' && isEndOf(CALLS[step].activity, call, bytes);
    return wanted ? this.#hold(this.#released) : undefined;
  }

  async goOn(): Promise<void> {
    this.#state = 'over';
    // Only its own file: a later kill point may need another one.
    if (this.#needsSlowStart) await rm(this.#slowStart, { force: true });
    const { victim, moment } = this.cell;
    // A dead platform sends no answer.
    if (victim === 'platform' && moment === 'unanswered') this.#lose(new Error('the platform was killed'));
    else this.#release();
  }

  /** Whether it holds a call: the first one, and repetitions if a restarted command must find the release there. */
  get #holds(): boolean {
    return this.#state === 'waiting' || (this.#state === 'holding' && this.cell.victim === 'cli');
  }

  get #needsSlowStart(): boolean {
    return isDeployed(this.cell.step) && this.cell.moment === 'polling';
  }

  #hold<T>(how: T): T {
    this.#state = 'holding';
    this.#meet();
    return how;
  }

  #onPoll(step: Step): Fault | undefined {
    this.#polls++;
    if (this.#polls >= POLLS) this.#hold(undefined);
    return isDeployed(step) ? undefined : { kind: 'answer', status: 503 };
  }
}

function isDeployed(step: Step): boolean {
  return step === 'deployed' || step === 'deployed again';
}

function handedOut(step: Step, moment: Moment): boolean {
  return step === 'record' && moment === 'before';
}

/** The record is written at the end of a release, in either phase. */
function isPhaseOf(step: Step, phase: Phase): boolean {
  return step === 'record' || phaseOf(step) === phase;
}

/** A check's verdict in the workflow task after it. */
const PASSED = '"passed":true';
/** The errors of a local activity whose first look found nothing; a regular activity then continues. */
const NOT_YET = ['SLIPWAY_STEP_TIMED_OUT', 'SLIPWAY_NOT_SERVING'];

/** Whether a request reports the end of an activity. Names appear in the protobuf bytes as plain text. */
function isEndOf(activity: string, call: string, bytes: Buffer): boolean {
  if (!bytes.includes(activity)) return false;
  if (call === 'RespondActivityTaskCompleted') return true;
  const isTried = call === 'RespondWorkflowTaskCompleted' && bytes.includes(`"activity_type":"${activity}"`);
  return isTried && !NOT_YET.some((code) => bytes.includes(code));
}
