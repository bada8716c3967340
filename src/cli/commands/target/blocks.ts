import { loadConfig } from '../../../config/loadConfig.ts';
import type { Actor } from '../../../domain/actor.ts';
import { onSlipwayError, SlipwayError } from '../../../domain/errors.ts';
import type { Hold } from '../../../domain/target/targetState.ts';
import { KEPT, setQuarantine } from '../../../temporal/client/intervention/interventionClient.ts';
import type { TemporalConnection } from '../../../temporal/client/connection.ts';
import { queryTarget, setHold } from '../../../temporal/client/target/targetClient.ts';
import type { CommandContext, MessageOptions } from '../../context.ts';
import { withTemporal } from '../../openTemporal.ts';
import { readRequester } from '../../provenance.ts';
import { askTarget } from './forgottenTarget.ts';
import { describeHold, onHoldText, removeLocalHold } from './localHold.ts';
import { chooseTargetSpec } from './targetAccess.ts';

/**
 * `slipway hold [TARGET]` and `slipway unhold [TARGET]`: a target on hold accepts no release until the hold is ended.
 * `unhold` also removes the hold that `rollback --break-glass` left on this machine.
 */
export async function runHoldCommand(
  context: CommandContext,
  holding: boolean,
  wanted: string | undefined,
  options: MessageOptions,
): Promise<void> {
  const { output } = context;
  const file = await loadConfig(options.config);
  const chosen = await chooseTargetSpec(context, file, wanted);
  const { name, spec, workflowId } = chosen;
  const by = await readRequester(context, file.folder, options.reason);
  const taken = await withTemporal(context, async (temporal) => {
    const answer = await askTarget(
      temporal,
      chosen,
      () => setHold(temporal, workflowId, holding, by),
      holding && warnOfNew(context, temporal, name),
    );
    const view = answer.onHold === true ? await queryTarget(temporal, workflowId) : undefined;
    return { ...answer, hold: view?.state.hold ?? null };
  }).catch(onSlipwayError((error) => error, 'SLIPWAY_TARGET_NEVER_RELEASED'));
  const removedLocal = !holding && (await removeLocalHold(context.home, spec));
  const isUnknown = taken instanceof SlipwayError;
  if (isUnknown && !removedLocal) throw taken;
  if (removedLocal) output.print('ended the hold that "rollback --break-glass" left on this machine');
  const { onHold, via, hold } = isUnknown ? { onHold: false, via: null, hold: null } : taken;
  output.event({ event: 'hold', target: name, onHold, via, removedLocal, hold });
  if (onHold === null) {
    output.print(
      `no worker answers; Temporal keeps the ${holding ? 'hold' : 'end of the hold'} until one does`,
    );
  } else {
    output.print(onHold ? onHoldText(name) : `"${name}" accepts releases`);
    if (hold !== null) for (const line of holdLines(name, hold, by)) output.print(`  ${line}`);
    if (onHold) output.note(`  a release that runs already continues; to stop it: slipway abort ${name}`);
  }
}

/** A person who uses another Temporal than the releases do must notice it: the block would stop nothing there. */
function warnOfNew({ output }: CommandContext, { settings }: TemporalConnection, name: string): () => void {
  const { address, namespace } = settings;
  return () =>
    output.warn(
      `"${name}" has never taken a release in the namespace "${namespace}" of ${address}: this is for its first`,
    );
}

/** Who holds a target since when and why, and whether that is what the person has just said. */
export function holdLines(name: string, hold: Hold, { who, reason }: Actor): readonly string[] {
  const isTheirs = hold.by.who === who && hold.by.reason === reason;
  const stays = `it was on hold before, so that reason stays; to replace it: slipway unhold ${name}, then hold it again`;
  return [describeHold(hold), ...(isTheirs ? [] : [stays])];
}

/**
 * `slipway quarantine TARGET ARTIFACT` and `slipway unquarantine TARGET ARTIFACT`: an artifact in quarantine is not
 * released on the target, and none of its revisions is restored automatically.
 * @param artifact - a digest or its first characters, `image:…`, `git:…`, or one of its revisions or releases.
 */
export async function runQuarantineCommand(
  context: CommandContext,
  quarantined: boolean,
  wanted: string,
  artifact: string,
  options: MessageOptions,
): Promise<void> {
  const { output } = context;
  const file = await loadConfig(options.config);
  const chosen = await chooseTargetSpec(context, file, wanted);
  const { name, workflowId } = chosen;
  const by = await readRequester(context, file.folder, options.reason);
  return withTemporal(context, async (temporal) => {
    const message = { ...by, artifact };
    const identity = await askTarget(
      temporal,
      chosen,
      () => setQuarantine(temporal, workflowId, quarantined, message),
      quarantined && warnOfNew(context, temporal, name),
    );
    output.event({
      event: 'quarantine',
      target: name,
      artifact: identity ?? artifact,
      quarantined: identity === undefined ? null : quarantined,
      via: identity === undefined ? 'signal' : 'update',
    });
    if (identity === undefined) {
      output.print(KEPT);
    } else {
      output.print(
        quarantined
          ? `${identity} is in quarantine: "${name}" rejects releases of it until "slipway unquarantine ${name} ${identity}"`
          : `"${name}" accepts releases of ${identity} again`,
      );
      if (quarantined)
        output.note(`  a release of it that runs already continues; to stop it: slipway abort ${name}`);
    }
  });
}
