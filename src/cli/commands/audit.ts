import { spellings } from '../../clients/removeSecrets.ts';
import { loadConfig, type Project } from '../../config/loadConfig.ts';
import { type ChosenPreview, withPreview } from '../../config/previewSettings.ts';
import { knownSecrets } from '../../config/secretReference.ts';
import { audit } from '../../domain/audit/audit.ts';
import type { ObservedRevision, TargetFacts } from '../../domain/audit/facts.ts';
import { onSlipwayError, SlipwayError } from '../../domain/errors.ts';
import { exactText } from '../../domain/scalars.ts';
import { overduePreviews, type UnheldPreview } from '../../domain/preview/preview.ts';
import { deploymentOf, pullRequestOf } from '../../domain/preview/previewName.ts';
import type { TargetSpec } from '../../domain/target/targetSpec.ts';
import { findDeployment, withControlPlane } from '../../inspection/deployment/deploymentAccess.ts';
import type { TemporalConnection } from '../../temporal/client/connection.ts';
import { isHeld, listPreviews, withStuckTasks } from '../../temporal/client/preview/previewClient.ts';
import { ifSealed } from '../../temporal/client/temporalError.ts';
import { fetchAudited } from '../../temporal/history/fetchHistories.ts';
import { readTargetFacts } from '../../temporal/history/readFacts.ts';
import type { CommandContext, FileOptions } from '../context.ts';
import { withTemporal } from '../openTemporal.ts';
import { retryBusy } from '../retryBusy.ts';
import { counted } from '../ui/text.ts';
import { FORGOTTEN, readForgotten } from './target/forgottenTarget.ts';
import { chooseTargetSpec, chooseTargetSpecs } from './target/targetAccess.ts';

const BROKEN = 3;

/**
 * `slipway audit [TARGET]`: checks a target's histories in Temporal and its revisions against Slipway's safety rules.
 * Without a target it also looks for previews that nothing removes. Changes nothing.
 * @returns the exit code: 0 if nothing was found, else 3.
 * @throws the first error of a target that could not be checked, after the others, if no rule was broken in them.
 */
export async function runAuditCommand(
  context: CommandContext,
  wanted: string | undefined,
  options: FileOptions,
): Promise<number> {
  const { output } = context;
  const file = await loadConfig(options.config);
  const { targets, problem } = await chooseTargetSpecs(context, file, wanted);
  const unread: SlipwayError[] = [];
  const broken = await withTemporal(context, async (temporal) => {
    const looked: AuditedTarget[] = [];
    for (const chosen of targets) {
      const { name, spec, workflowId } = chosen;
      const reading = fetchAudited(temporal, workflowId).catch(
        onSlipwayError(async (error) => {
          if ((await readForgotten(context, chosen)) !== undefined)
            output.warn(`${name}: ${FORGOTTEN} and its histories: only its revisions are checked`);
          else if (wanted !== undefined) throw error;
          return [];
        }, 'SLIPWAY_TARGET_NEVER_RELEASED'),
      );
      const histories = await reading.catch(ifSealed((error) => error));
      if (histories instanceof SlipwayError) {
        const { code, message } = histories;
        output.event({ event: 'unaudited', target: name, code, message });
        output.print(`${output.style.mark(false)} ${name}: not checked: ${message} (${code})`);
        unread.push(histories);
        continue;
      }
      looked.push({ name, spec, target: readTargetFacts(workflowId, histories) });
    }
    let count = 0;
    for (const each of looked) count += await auditTarget(context, each, looked);
    if (wanted === undefined) count += await auditPreviews(context, temporal, file);
    return count;
  });
  const failed = unread[0] ?? problem;
  if (failed !== undefined) {
    if (broken === 0) throw failed;
    output.warn(`not every target was checked: ${failed.message}`);
  }
  const exitCode = broken === 0 ? 0 : BROKEN;
  output.event({ event: 'ended', exitCode });
  return exitCode;
}

interface AuditedTarget {
  readonly name: string;
  readonly spec: TargetSpec;
  readonly target: TargetFacts;
}

async function auditTarget(
  context: CommandContext,
  { name, spec, target }: AuditedTarget,
  all: readonly AuditedTarget[],
): Promise<number> {
  const { output } = context;
  const observed = await observedRevisions(context, spec);
  const others = all.map((other) => other.target);
  // Their values must not appear in any history.
  const secrets = knownSecrets(spec, context.environment).flatMap(spellings);
  const violations = audit({ target, others, observed, secrets });
  for (const violation of violations) {
    output.event({ event: 'violation', target: name, ...violation });
    output.print(
      `${output.style.mark(false)} rule ${violation.rule}: ${violation.what} (${violation.workflowId})`,
    );
  }
  const works = counted(target.works.length, 'release or rollback', 'releases and rollbacks');
  const outside = observed === null ? 'the control plane was not read' : counted(observed.length, 'revision');
  const counts = { works: target.works.length, revisions: observed?.length ?? null };
  output.event({ event: 'audited', target: name, ...counts, violations: violations.length });
  const isRight = violations.length === 0;
  const found = isRight ? 'no rule was violated' : `${violations.length} broken`;
  output.print(`${output.style.mark(isRight)} ${name}: ${works}, ${outside}: ${found}`);
  return violations.length;
}

/** @returns how many previews nothing removes: their deployments have no workflow, or their deadline is long over. */
async function auditPreviews(
  context: CommandContext,
  temporal: TemporalConnection,
  file: Project,
): Promise<number> {
  const { output } = context;
  const unheld = await unheldPreviews(context, temporal, file);
  for (const preview of unheld) {
    output.event({ event: 'unheld_preview', ...preview });
    const { pr, deployment, deploymentId } = preview;
    const remove = `slipway preview down --pr ${pr} --name ${preview.name}`;
    output.print(
      `${output.style.mark(false)} ${deployment} (${deploymentId}): a preview that nothing removes. Remove it: ${remove}`,
    );
  }
  const ofFile = (await listPreviews(temporal)).filter(({ name, deployment }) => {
    const pattern = file.config.previews[name]?.deployment;
    return pattern !== undefined && pullRequestOf(pattern, deployment) !== undefined;
  });
  const overdue = await withStuckTasks(temporal, overduePreviews(ofFile, Date.now()));
  for (const { name, pr, deployment, expiresAt, phase, problem } of overdue) {
    output.event({ event: 'overdue_preview', name, pr, deployment, expiresAt, phase, problem });
    const why = problem === null ? '' : `: ${problem}`;
    const remove = `slipway preview down --pr ${pr} --name ${name}`;
    output.print(
      `${output.style.mark(false)} ${deployment}: a preview whose deadline passed at ${exactText(expiresAt)}, ${phase.replaceAll('_', ' ')}${why}. Remove it: ${remove}`,
    );
  }
  return unheld.length + overdue.length;
}

/** Every revision; `null` if the control plane cannot be asked, or has no such deployment. */
function observedRevisions(
  context: CommandContext,
  spec: TargetSpec,
): Promise<readonly ObservedRevision[] | null> {
  return withControlPlane(context, spec, (client) =>
    retryBusy(context, async () => {
      const { id } = await findDeployment(client, spec);
      const observed: ObservedRevision[] = [];
      for await (const { id: revisionId, source_revision_config: config } of client.eachRevision(id)) {
        observed.push({ revisionId, tarballPath: config?.source_tarball_path ?? null });
      }
      return observed;
    }),
  ).catch(
    onSlipwayError(({ message }) => {
      context.output.note(`skipping the control plane: ${message}`);
      return null;
    }),
  );
}

/**
 * Finds deployments named like previews of the file that have no workflow. Skips control planes that cannot list deployments,
 * with a note.
 */
async function unheldPreviews(
  context: CommandContext,
  temporal: TemporalConnection,
  file: Project,
): Promise<readonly UnheldPreview[]> {
  const found: UnheldPreview[] = [];
  for (const [name, preview] of Object.entries(file.config.previews)) {
    for (const listed of await listedDeployments(context, file, { name, preview })) {
      const pr = pullRequestOf(preview.deployment, listed.deployment);
      if (pr === undefined) continue;
      const { spec } = await chooseTargetSpec(context, file, listed.deployment);
      if (!(await isHeld(temporal, spec))) found.push({ name, pr, ...listed });
    }
  }
  return found;
}

async function listedDeployments(
  context: CommandContext,
  { config, folder }: Project,
  { name, preview }: ChosenPreview,
): Promise<readonly Pick<UnheldPreview, 'deployment' | 'deploymentId'>[]> {
  const { deployment: pattern } = preview;
  const any = { config: withPreview(config, { name, preview }, 1), folder };
  const { spec } = await chooseTargetSpec(context, any, deploymentOf(pattern, 1));
  const query = { name_contains: pattern.replace(/\{pr\}.*$/u, '') };
  return withControlPlane(context, spec, (client) =>
    retryBusy(context, async () => {
      const listed: Pick<UnheldPreview, 'deployment' | 'deploymentId'>[] = [];
      for await (const { id, name: deployment, status } of client.eachDeployment(query))
        if (status !== 'AWAITING_DELETE') listed.push({ deployment, deploymentId: id });
      return listed;
    }),
  ).catch(
    onSlipwayError(({ message }) => {
      context.output.note(`skipping the previews "${name}": ${message}`);
      return [];
    }),
  );
}
