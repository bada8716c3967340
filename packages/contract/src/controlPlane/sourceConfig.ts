import { z } from 'zod';

import { HttpUrl, nonEmptyText, oneOf, Uuid } from '../scalars.ts';
import { ListenerConfig } from './listener.ts';
import { ResourceSpec } from './resourceSpec.ts';

/** Contract 000, "SourceConfig": `deployment_type`. */
const DeploymentType: z.ZodType<string, string> = oneOf(['dev_free', 'dev', 'prod']);

/** What clients of the public relative send: its document names those of the contract, its newest clients two more. */
export const PUBLIC_DEPLOYMENT_TYPES = ['serverless', 'dedicated'] as const;
export const PublicDeploymentType: z.ZodType<string, string> = oneOf([
  'dev_free',
  'dev',
  'prod',
  ...PUBLIC_DEPLOYMENT_TYPES,
]);

/**
 * What a request says about the source without (but for `resource_spec`) making a revision (contract 000,
 * "SourceConfig"). Every field is nullable and optional; which source may have which field is checked where the
 * source is known (`sourceRules.ts`). Decision: `null` says the same as leaving the field out; in a PATCH both keep
 * what is there. Decision: `install_command` and `build_command` are accepted for every source, since the contract
 * names none for them; nothing is installed where nothing is built.
 */
export const SourceConfig = z.object({
  integration_id: Uuid.nullish(),
  repo_url: nonEmptyText().nullish(),
  deployment_type: DeploymentType.nullish(),
  build_on_push: z.boolean().nullish(),
  custom_url: HttpUrl.nullish(),
  resource_spec: ResourceSpec.nullish(),
  listener_id: Uuid.nullish(),
  listener_config: ListenerConfig.nullish(),
  install_command: nonEmptyText().nullish(),
  build_command: nonEmptyText().nullish(),
});
export type SourceConfig = z.infer<typeof SourceConfig>;

/** {@link SourceConfig} in the public vocabulary. */
export const PublicSourceConfig = SourceConfig.extend({ deployment_type: PublicDeploymentType.nullish() });

/** {@link SourceConfig} in an answer: nothing is checked again but what a reader rests on. */
export const AnsweredSourceConfig = z.looseObject({
  integration_id: z.string().nullish(),
  repo_url: z.string().nullish(),
  deployment_type: z.string().nullish(),
  build_on_push: z.boolean().nullish(),
  custom_url: z.string().nullish(),
  resource_spec: z.looseObject({}).nullish(),
  listener_id: z.string().nullish(),
  listener_config: z.looseObject({ cluster_namespace: z.string().nullish() }).nullish(),
  install_command: z.string().nullish(),
  build_command: z.string().nullish(),
});
export type AnsweredSourceConfig = z.infer<typeof AnsweredSourceConfig>;
