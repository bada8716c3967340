import { SECRET_REFERENCE } from '@slipway/contract/secretReference';

import type { ServiceOptions } from '../../../clients/service.ts';
import type { Project } from '../../../config/loadConfig.ts';
import { resolveSecret } from '../../../config/secretReference.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import { serviceUrlProblem, tenantHeaders } from '../../../domain/target/targetSpec.ts';
import { agentKey } from '../../../inspection/deployment/deploymentAccess.ts';
import type { CommandContext } from '../../context.ts';
import { chooseTargetSpec, readDeployment } from '../target/targetAccess.ts';

export type AgentAddress = Pick<ServiceOptions, 'baseUrl' | 'apiKey' | 'headers' | 'unauthorizedHint'>;

/**
 * The agent of a target of the file, as its control plane says, or the one at a URL.
 * @throws SLIPWAY_USAGE, SLIPWAY_TARGET_UNKNOWN, SLIPWAY_CONFIG_INVALID, SLIPWAY_SECRET_MISSING, and the control plane's errors.
 */
export async function agentOf(
  context: CommandContext,
  file: Project,
  wanted: string | undefined,
  apiKey: string | undefined,
): Promise<AgentAddress> {
  if (wanted !== undefined && /^https?:\/\//iu.test(wanted)) return agentAt(context, wanted, apiKey);
  if (apiKey !== undefined) {
    const hint = 'set agentApiKey of the target in slipway.yaml';
    throw new SlipwayError('SLIPWAY_USAGE', '--api-key is only for an agent at a URL', { hint });
  }
  const { name, spec } = await chooseTargetSpec(context, file, wanted);
  const baseUrl = spec.agentUrl ?? (await readDeployment(context, spec)).source_config.custom_url;
  if (baseUrl == null) {
    throw new SlipwayError(
      'SLIPWAY_CONFIG_INVALID',
      `the control plane knows no address of the agent of "${name}"`,
      { hint: `release something on it first, or set targets.${name}.agentUrl` },
    );
  }
  const key = await agentKey(context, spec, baseUrl);
  return {
    baseUrl,
    apiKey: key,
    headers: tenantHeaders(spec),
    unauthorizedHint: key === undefined ? `set targets.${name}.agentApiKey, or agentOrigins` : undefined,
  };
}

function agentAt({ environment }: CommandContext, url: string, apiKey: string | undefined): AgentAddress {
  const problem = serviceUrlProblem(url);
  if (problem !== undefined) throw new SlipwayError('SLIPWAY_USAGE', `the URL cannot be used: ${problem}`);
  if (apiKey === undefined) {
    return { baseUrl: url, apiKey, unauthorizedHint: 'name its key: --api-key env:NAME' };
  }
  return { baseUrl: url, apiKey: keyByReference(apiKey, environment) };
}

/** Resolves a key that an option names by reference. */
export function keyByReference(from: string, environment: CommandContext['environment']): string {
  if (SECRET_REFERENCE.test(from)) return resolveSecret({ from }, environment);
  const hint = 'write env:NAME or file:/absolute/path; other users can read a key on the command line';
  throw new SlipwayError('SLIPWAY_USAGE', 'an API key is given by reference', { hint });
}
