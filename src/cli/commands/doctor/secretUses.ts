import type { Config } from '../../../config/configSchema.ts';
import type { Environment } from '../../../config/environment.ts';
import { previewTerms } from '../../../config/previewSettings.ts';
import { releaseSettings } from '../../../config/releaseSettings.ts';
import { secretAddress, secretFor, secretForSome } from '../../../config/secretOrigins.ts';
import { resolveSecret } from '../../../config/secretReference.ts';
import type { MetricSource } from '../../../domain/guard/guardPolicy.ts';
import type { ReceiverSpec } from '../../../domain/notify/notice.ts';
import { originOf } from '../../../domain/target/origin.ts';
import type { SecretReference } from '../../../domain/target/targetSpec.ts';
import { declaredJudges } from '../judge/declaredJudges.ts';

export interface SecretUse {
  readonly from: string;
  /** What has it: `production`, `evaluator "polite"`. */
  readonly of: string;
  /** `sent to https://evaluators.example.com` */
  readonly where: string;
  readonly process: 'the worker' | 'slipway hooks';
  /** Resolves it as that process does. Throws SLIPWAY_SECRET_REFUSED, SLIPWAY_SECRET_MISSING. */
  readonly resolve: (environment: Environment) => string;
}

/** Every use of a secret in `slipway.yaml`, except of the keys of control planes. */
export function secretUses(config: Config): readonly SecretUse[] {
  const names = Object.keys(config.targets);
  return [
    ...names.flatMap((name) => usesOfTarget(config, name)),
    ...config.checks.flatMap(({ evaluators = [] }) =>
      evaluators.flatMap(({ name, secret, url }) => sent(secret, `evaluator "${name}"`, url)),
    ),
    ...declaredJudges(config).flatMap(({ name, judge: { evaluator } }) =>
      sent(evaluator?.secret, `the judge of "${name}"`, evaluator?.url ?? ''),
    ),
    ...Object.entries(config.previews).flatMap(([name, preview]) => {
      const { comment } = previewTerms({ name, preview }, 0);
      return comment === undefined ? [] : sent(comment.token, `the comment of "${name}"`, comment.apiUrl);
    }),
    ...Object.entries(config.hooks).map(([name, { secret }]) => ({
      ...local(secret, `hook "${name}"`),
      where: 'verifies deliveries, never sent',
      process: 'slipway hooks' as const,
    })),
  ];
}

function usesOfTarget(config: Config, name: string): readonly SecretUse[] {
  const { target, guard, notify = [] } = releaseSettings(config, name);
  const { agentApiKey, agentUrl, controlPlane, secrets = [] } = target;
  return [
    ...(agentApiKey === undefined || agentUrl !== undefined
      ? sent(agentApiKey, name, agentUrl ?? '')
      : [
          {
            ...local(agentApiKey, name),
            where: 'sent to the agent',
            // The control plane gives the agent's address.
            resolve: (environment: Environment) => secretForSome(agentApiKey, environment),
          },
        ]),
    ...secrets.flatMap((secret) => sent(secret, name, controlPlane)),
    ...(guard?.metrics ?? []).flatMap((metric) =>
      sent(tokenOf(metric.source), `metric "${metric.name}"`, metric.source.url),
    ),
    ...notify.flatMap(usesOfReceiver),
  ];
}

function tokenOf(source: MetricSource): SecretReference | undefined {
  return source.kind === 'feedback' ? source.apiKey : source.token;
}

function usesOfReceiver(receiver: ReceiverSpec): readonly SecretUse[] {
  const of = `receiver "${receiver.name}"`;
  if ('token' in receiver) return sent(receiver.token, of, receiver.apiUrl);
  const { url } = receiver;
  const address: SecretUse = {
    ...local(url, of),
    where: 'the address itself',
    resolve: (environment) => secretAddress(url, environment),
  };
  if (receiver.kind === 'slack') return [address];
  const signing: SecretUse = {
    ...local(receiver.secret, of),
    where: 'sent to the webhook',
    resolve: (environment) =>
      secretFor(receiver.secret, secretAddress(url, environment), { environment, shown: 'the webhook' }),
  };
  return [address, signing];
}

function sent(secret: SecretReference | undefined, of: string, url: string): readonly SecretUse[] {
  if (secret === undefined) return [];
  const resolve = (environment: Environment): string => secretFor(secret, url, { environment });
  return [{ ...local(secret, of), where: `sent to ${originOf(url)}`, resolve }];
}

/** A secret whose destination the file does not name. */
function local(secret: SecretReference, of: string): Omit<SecretUse, 'where'> {
  const resolve = (environment: Environment): string => resolveSecret(secret, environment);
  return { from: secret.from, of, process: 'the worker', resolve };
}
