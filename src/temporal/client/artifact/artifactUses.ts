import { type ArtifactUse, requestUses, targetUses } from '../../../domain/artifact/retention.ts';
import { hasCode, SlipwayError } from '../../../domain/errors.ts';
import type { Running } from '../../../domain/target/targetState.ts';
import { type PromotionInput, WORKFLOW_TYPES } from '../../../messages/workflowTypes.ts';
import { fetchHistory } from '../../history/fetchHistories.ts';
import { asText, decode, type History } from '../../history/payloads.ts';
import { callTemporal, type TemporalConnection } from '../connection.ts';
import { eachRunning } from '../listRunning.ts';
import { findWork } from '../release/pastReleases.ts';
import { listSchedules } from '../schedule/schedules.ts';
import { viewTarget } from '../target/targetClient.ts';
import { temporalError } from '../temporalError.ts';

export interface KnownUses {
  readonly uses: readonly ArtifactUse[];
  readonly targets: readonly AskedTarget[];
}

interface AskedTarget {
  readonly name: string;
  readonly workflowId: string;
  /** The store for the records of its releases: a URL. */
  readonly store: string;
  /** The digests of the checks that its known revisions passed, which may be restored under them. */
  readonly checks: readonly string[];
}

const DIGEST = /sha256:[0-9a-f]{64}/g;

/**
 * Asks all workflows of the namespace which artifacts they need. A target needs those of its known revisions, its
 * queue and its running release. A running promotion needs its candidate and its judge's inputs, a preview and a
 * schedule their judge's inputs, and a hook what it releases or promotes once a person approves.
 * @throws SlipwayError SLIPWAY_TARGET_SILENT if a target does not answer, because its needs are then unknown.
 * SLIPWAY_TEMPORAL_UNREACHABLE.
 */
export async function artifactUses(temporal: TemporalConnection): Promise<KnownUses> {
  const targets: AskedTarget[] = [];
  const uses: ArtifactUse[] = [];
  return callTemporal(temporal, async () => {
    for await (const { workflowId } of eachRunning(temporal, [WORKFLOW_TYPES.target])) {
      const asked = await askTarget(temporal, workflowId);
      if (asked === undefined) continue;
      targets.push(asked.target);
      uses.push(...asked.uses);
    }
    const { promotion, promotionTurn, preview, hook } = WORKFLOW_TYPES;
    for await (const { workflowId } of eachRunning(temporal, [promotion, promotionTurn])) {
      uses.push(...(await promotionUses(temporal, workflowId)));
    }
    for await (const { workflowId } of eachRunning(temporal, [preview, hook])) {
      const history = await fetchHistory(temporal, workflowId);
      uses.push(...namedIn(history, `named by ${workflowId}`));
    }
    for (const { request } of await listSchedules(temporal)) {
      uses.push(...requestUses({ checks: request.release.checks }, `the schedule of ${request.name}`));
      const inputs = request.judge?.inputs ?? 'recorded';
      if (inputs === 'recorded') continue;
      uses.push({ artifact: inputs.digest, why: `the judge’s inputs of the schedule of ${request.name}` });
    }
    return { uses, targets };
  });
}

/** `undefined` if the target has ended since it was listed, or has never accepted a release. */
async function askTarget(
  temporal: TemporalConnection,
  workflowId: string,
): Promise<{ readonly target: AskedTarget; readonly uses: readonly ArtifactUse[] } | undefined> {
  try {
    const view = await viewTarget(temporal, workflowId);
    const last = view?.state.lastRequest ?? null;
    if (view === undefined || last === null) return undefined;
    const { name } = last.target;
    const runs = view.running === null ? [] : await runningUses(temporal, name, view.running);
    return {
      target: {
        name,
        workflowId,
        store: last.recordStore,
        checks: view.state.known.flatMap(({ checks }) => checks ?? []),
      },
      uses: [...runs, ...targetUses(name, view.state)],
    };
  } catch (error) {
    throw silent(temporal, workflowId, error);
  }
}

async function runningUses(
  temporal: TemporalConnection,
  target: string,
  { releaseId, workflowId }: Running,
): Promise<readonly ArtifactUse[]> {
  const work = await findWork(temporal, workflowId);
  if (work === undefined) throw new Error(`Temporal keeps no history of ${releaseId}, which runs on it`);
  return 'artifact' in work.request ? requestUses(work.request, `${releaseId} runs on ${target}`) : [];
}

async function promotionUses(
  temporal: TemporalConnection,
  workflowId: string,
): Promise<readonly ArtifactUse[]> {
  const history = await fetchHistory(temporal, workflowId);
  if (history === undefined) return [];
  const input = history.events?.[0]?.workflowExecutionStartedEventAttributes?.input;
  const { request } = decode(input) as PromotionInput;
  const why = `named by ${request.name}, a promotion under way`;
  return namedIn(history, why);
}

function namedIn(history: History | undefined, why: string): readonly ArtifactUse[] {
  if (history === undefined) return [];
  return [...new Set(asText(history).match(DIGEST))].map((artifact) => ({ artifact, why }));
}

/** The error if a target did not answer. If Temporal itself did not answer, its own error stays. */
function silent({ settings }: TemporalConnection, workflowId: string, thrown: unknown): unknown {
  const error = temporalError(thrown, settings);
  if (!(error instanceof Error)) return error;
  if (hasCode(error, 'SLIPWAY_TEMPORAL_UNREACHABLE')) return error;
  const hint = error instanceof SlipwayError ? error.hint : undefined;
  const message = `${workflowId} could not be asked which artifacts it needs: ${error.message}`;
  return new SlipwayError('SLIPWAY_TARGET_SILENT', message, { place: workflowId, hint, cause: error });
}
