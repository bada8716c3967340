import { loadConfig } from '../../../config/loadConfig.ts';
import { KEPT, setQuarantine } from '../../../temporal/client/intervention/interventionClient.ts';
import type { CommandContext, MessageOptions } from '../../context.ts';
import { withTemporal } from '../../openTemporal.ts';
import { readRequester } from '../../provenance.ts';
import { chooseTargetSpec } from './targetAccess.ts';

/**
 * `slipway quarantine TARGET ARTIFACT` and `slipway unquarantine TARGET ARTIFACT`: an artifact in quarantine is not
 * released on the target, and none of its revisions is restored automatically.
 * @param artifact - a digest or its first characters, `image:…`, `git:…`, or one of its revisions.
 */
export async function runQuarantineCommand(
  context: CommandContext,
  quarantined: boolean,
  wanted: string,
  artifact: string,
  options: MessageOptions,
): Promise<number> {
  const { output } = context;
  const { config, folder } = await loadConfig(options.config);
  const { name, workflowId } = await chooseTargetSpec(context, config, wanted);
  const by = await readRequester(context, folder, options.reason);
  return withTemporal(context, async (temporal) => {
    const message = { ...by, artifact };
    const identity = await setQuarantine(temporal, workflowId, quarantined, message);
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
    }
    return 0;
  });
}
