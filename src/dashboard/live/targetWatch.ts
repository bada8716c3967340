import pLimit from 'p-limit';

import { SlipwayError } from '../../domain/errors.ts';
import type { UnderWay } from '../../domain/heartbeat.ts';
import type { Progress } from '../../domain/release/release.ts';
import {
  type DeploymentSeen,
  type Machine,
  seeDeployment,
} from '../../inspection/deployment/deploymentAccess.ts';
import { newestBuildLines } from '../../inspection/deployment/revisionLog.ts';
import { progressQuery } from '../../messages/release.ts';
import { type TargetView, viewQuery } from '../../messages/target.ts';
import type { TemporalConnection } from '../../temporal/client/connection.ts';
import type { TargetHook } from '../../temporal/client/hooks/targetHooks.ts';
import { pause } from '../../temporal/client/pause.ts';
import { HistoryNews } from '../../temporal/client/release/historyNews.ts';
import { runningCallOf } from '../../temporal/client/release/pastReleases.ts';
import { viewTarget } from '../../temporal/client/target/targetClient.ts';
import { noAnswerCall } from '../../temporal/client/workerPresence.ts';
import { type KeptTarget, readKeptTarget } from '../../temporal/history/keptTarget.ts';
import type { FirstReads } from './firstReads.ts';
import { type GuardOnPage, guardWatch } from './guardWatch.ts';
import type { HookWatches } from './hookWatches.ts';
import type { TemporalPulse } from './temporalPulse.ts';

const SPACING_MS = 100;
/** The longest time between two reads of a target, in milliseconds, even if its history does not grow. */
const TARGET_WAIT_MS = 60_000;
/** The same for a release, because heartbeats of its activities add no event. */
const RELEASE_WAIT_MS = 2_000;
const DEPLOYMENT_EVERY_MS = 30_000;
const BUILD_LOG_EVERY_MS = 2_000;
const CALL_TIMEOUT_MS = 5_000;
/** Ended releases of a target that never answered: how many are read, how often, for how many targets at once. */
const KEPT_READ = 3;
const KEPT_EVERY_MS = 30_000;
const keptReads = pLimit(4);
const SILENT_PAUSE_MS = 1_000;
/** The time between two reads of a target that was terminated, in milliseconds. The next command starts it again. */
const ENDED_PAUSE_MS = 2_000;

export interface ReadContext extends Machine {
  readonly temporal: TemporalConnection;
}

/** What all watches of a process share. */
export interface SharedWatches {
  readonly firstReads: FirstReads;
  readonly hooks: HookWatches;
  readonly pulse: TemporalPulse;
}

/** Watches one target by the histories of its workflow and its running work: each change causes one query. */
export class TargetWatch {
  #snapshot: TargetSnapshot;
  readonly #context: ReadContext;
  readonly #onChange: (snapshot: TargetSnapshot) => void;
  readonly #firstReads: FirstReads;
  readonly #hooks: HookWatches;
  readonly #stopping = new AbortController();
  /** Ends the wait for news. */
  #waiting = new AbortController();
  readonly #deploymentIsDue = atMostEvery(DEPLOYMENT_EVERY_MS);
  /** One after the other, so that an answer never replaces a newer one. */
  readonly #deploymentReads = pLimit(1);
  readonly #buildLogIsDue = atMostEvery(BUILD_LOG_EVERY_MS);
  readonly #keptIsDue = atMostEvery(KEPT_EVERY_MS);

  /** @param onChange - called at each change, and once at the first answer. */
  constructor(
    context: ReadContext,
    target: Pick<TargetSnapshot, 'workflowId' | 'name'>,
    onChange: (snapshot: TargetSnapshot) => void,
    { firstReads, hooks, pulse }: SharedWatches,
  ) {
    this.#context = context;
    this.#firstReads = firstReads;
    this.#hooks = hooks;
    this.#snapshot = unreadTarget(target);
    this.#onChange = onChange;
    const endPulse = pulse.follow(({ message, hint }) => {
      this.#silent(message, hint);
      this.#waiting.abort();
    });
    this.#stopping.signal.addEventListener('abort', endPulse);
    void this.#watchTarget();
  }

  get snapshot(): TargetSnapshot {
    return this.#snapshot;
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #watchTarget(): Promise<void> {
    const { workflowId } = this.#snapshot;
    const { temporal } = this.#context;
    const { signal } = this.#stopping;
    const news = new HistoryNews(temporal, workflowId, SPACING_MS);
    const seeGuard = guardWatch(temporal, (guard) => this.#change({ guard }), signal);
    const isRead = this.#firstReads.begin();
    await this.#firstReads.turn(signal);
    let endHooks: (() => void) | undefined;
    let hasEnded = false;
    while (!signal.aborted) {
      this.#waiting = new AbortController();
      const untilSilent = AbortSignal.any([signal, this.#waiting.signal]);
      const answered = await this.#readTarget(hasEnded);
      isRead();
      await this.#firstReads.over();
      endHooks ??= this.#hooks.follow(workflowId, (hooks) => this.#change({ hooks }));
      seeGuard(this.#snapshot.view?.state.guard);
      if (answered) {
        const hadEnded = hasEnded;
        hasEnded = await news.wait(TARGET_WAIT_MS, untilSilent);
        // A run that continued as new has a successor, which does not end at once.
        if (hadEnded && hasEnded) await pause(ENDED_PAUSE_MS, signal);
      } else await pause(SILENT_PAUSE_MS, signal);
    }
    isRead();
    endHooks?.();
  }

  /**
   * @param hasEnded - its workflow was terminated: its running release may have ended unseen.
   * @returns whether the target answered.
   */
  async #readTarget(hasEnded: boolean): Promise<boolean> {
    try {
      const view = await this.#view(hasEnded);
      if (view === undefined) return this.#silent('its workflow has ended in Temporal', undefined);
      this.#show(view);
      return true;
    } catch (error) {
      if (error instanceof SlipwayError) return this.#silent(error.message, error.hint);
      return this.#silent('it could not be asked', undefined);
    }
  }

  async #view(hasEnded: boolean): Promise<TargetView | undefined> {
    const { temporal } = this.#context;
    const { workflowId } = this.#snapshot;
    if (!hasEnded) {
      const ask = () => temporal.client.workflow.getHandle(workflowId).query(viewQuery);
      const view = await this.#call(ask).catch(() => undefined);
      if (view !== undefined && view.recovering !== true) return view;
    }
    // It takes more calls, and finds out why there is no answer.
    return viewTarget(temporal, workflowId);
  }

  #show(view: TargetView): void {
    const { state, running } = view;
    const { name, view: before } = this.#snapshot;
    const nothingRuns = { progress: undefined, call: null, buildLog: [] };
    this.#change({
      ...(running === null ? nothingRuns : {}),
      view,
      name: state.spec?.name ?? name,
      silence: undefined,
      kept: undefined,
    });
    if (running !== null && running.workflowId !== before?.running?.workflowId)
      void this.#watchRelease(running.workflowId);
    const mayServeAnother =
      running?.workflowId !== before?.running?.workflowId ||
      state.activeRevisionId !== before?.state.activeRevisionId;
    void this.#lookAtDeployment(mayServeAnother);
  }

  #silent(why: string, hint: string | undefined): false {
    const since = this.#snapshot.silence?.since ?? Date.now();
    this.#change({ silence: { why, hint, since } });
    void this.#readKept();
    return false;
  }

  /** If no worker answers: reads from Temporal what it knows of a target that this process has never read. */
  async #readKept(): Promise<void> {
    if (this.#snapshot.view !== undefined || !this.#keptIsDue()) return;
    const { workflowId } = this.#snapshot;
    try {
      const kept = await keptReads(() => readKeptTarget(this.#context.temporal, workflowId, KEPT_READ));
      this.#change({ kept });
    } catch {
      // Temporal does not answer: the snapshot shows already why the target is silent.
    }
  }

  /** Watches a release while the target says that it runs. */
  async #watchRelease(workflowId: string): Promise<void> {
    const { temporal } = this.#context;
    const { signal } = this.#stopping;
    const handle = temporal.client.workflow.getHandle(workflowId);
    const news = new HistoryNews(temporal, workflowId, SPACING_MS);
    const runs = () => !signal.aborted && this.#snapshot.view?.running?.workflowId === workflowId;
    let silentSince: string | undefined;
    while (runs()) {
      try {
        const [described, progress] = await Promise.all([
          this.#call(() => handle.describe()),
          this.#call(() => handle.query(progressQuery)),
        ]);
        const call = await runningCallOf(temporal.settings, described);
        if (!runs()) return;
        silentSince = undefined;
        const hasStepped = progress.steps.length !== this.#snapshot.progress?.steps.length;
        this.#change({ progress, call: call ?? progress.found ?? null });
        if (described.status.name !== 'RUNNING') return;
        void this.#lookAtDeployment(hasStepped);
        void this.#lookAtBuild();
        await news.wait(RELEASE_WAIT_MS, signal);
      } catch {
        // The target's watch finds out whether the release still runs. It may be pinned to a version without workers.
        silentSince ??= new Date().toISOString();
        const call = await noAnswerCall(temporal, workflowId, silentSince);
        if (call !== null && runs()) this.#change({ call });
        await pause(SILENT_PAUSE_MS, signal);
      }
    }
  }

  /** @param mayServeAnother - whether it may serve another revision than at the last read, which is then repeated. */
  async #lookAtDeployment(mayServeAnother: boolean): Promise<void> {
    const spec = this.#snapshot.view?.state.spec ?? null;
    if (spec === null || !this.#deploymentIsDue(mayServeAnother)) return;
    await this.#firstReads.over();
    await this.#deploymentReads(async () =>
      this.#change({ deployment: await seeDeployment(this.#context, spec) }),
    );
  }

  async #lookAtBuild(): Promise<void> {
    const { progress, view } = this.#snapshot;
    const spec = view?.state.spec ?? null;
    if (progress === undefined || spec === null || !this.#buildLogIsDue()) return;
    const { signal } = this.#stopping;
    this.#change({ buildLog: await newestBuildLines(this.#context, spec, progress, signal) });
  }

  #change(changes: Partial<{ [Field in keyof TargetSnapshot]: TargetSnapshot[Field] | undefined }>): void {
    if (this.#stopping.signal.aborted) return;
    const changed = { ...this.#snapshot, ...changes };
    const isSame = JSON.stringify(changed) === JSON.stringify(this.#snapshot);
    this.#snapshot = changed;
    if (!isSame) this.#onChange(changed);
  }

  #call<T>(call: () => Promise<T>): Promise<T> {
    return this.#context.temporal.client.withDeadline(Date.now() + CALL_TIMEOUT_MS, call);
  }
}

/** @returns a function that returns `true` if it has not done so for that time, or if it is due now. */
function atMostEvery(ms: number): (isDueNow?: boolean) => boolean {
  let last = 0;
  return (isDueNow = false) => {
    if (!isDueNow && Date.now() - last < ms) return false;
    last = Date.now();
    return true;
  };
}

export interface TargetSnapshot extends UnderWay {
  readonly workflowId: string;
  /** Its name in `slipway.yaml`; its workflow's id until the target has answered. */
  readonly name: string;
  /** The target's newest answer. `undefined`: it has not answered yet. */
  readonly view: TargetView | undefined;
  readonly progress: Progress | undefined;
  /** What Temporal knows of a target that has never answered. Absent: it has answered, or was not read. */
  readonly kept?: KeptTarget;
  /** The hooks whose rules have asked it, or may. Those that were not read yet are missing. */
  readonly hooks: readonly TargetHook[];
  /** The guard of its view. Absent: it has none, or that was not read yet. */
  readonly guard?: GuardOnPage;
  /** What serves according to the control plane; a sentence if it could not be read. `undefined`: not read yet. */
  readonly deployment: DeploymentSeen | string | undefined;
  /** Why the target does not answer, and since when (milliseconds since 1970). Absent: it answers. */
  readonly silence?: { readonly why: string; readonly hint: string | undefined; readonly since: number };
}

export function unreadTarget({
  workflowId,
  name,
}: Pick<TargetSnapshot, 'workflowId' | 'name'>): TargetSnapshot {
  return {
    workflowId,
    name,
    view: undefined,
    progress: undefined,
    call: null,
    buildLog: [],
    hooks: [],
    deployment: undefined,
  };
}
