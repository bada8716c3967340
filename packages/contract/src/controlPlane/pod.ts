import { z } from 'zod';

import { LIST_MAX, NAME_MAX, SECRET_VALUE_MAX_BYTES } from '../limits.ts';
import { DnsLabel, Identifier, nonEmptyText, oneOf, StorableObject, text } from '../scalars.ts';

/*
 * Contract 000, "Nested types used by ResourceSpec". Optional fields are nullable too, as in the public relative.
 */

/** A reference to an object of the same namespace. */
export const LocalObjectReference = z.object({ name: nonEmptyText(NAME_MAX) });
export type LocalObjectReference = z.infer<typeof LocalObjectReference>;

/** A volume of the pod. Its name is a DNS label and unique in the pod (the list checks that). */
export const Volume = z.object({
  name: DnsLabel,
  configMap: StorableObject.nullish(),
  secret: StorableObject.nullish(),
  emptyDir: StorableObject.nullish(),
  persistentVolumeClaim: StorableObject.nullish(),
  nfs: StorableObject.nullish(),
  projected: StorableObject.nullish(),
  downwardAPI: StorableObject.nullish(),
  csi: StorableObject.nullish(),
});
export type Volume = z.infer<typeof Volume>;

/** Where a volume is mounted. Its name must match a {@link Volume} (the ResourceSpec checks that). */
export const VolumeMount = z.object({
  name: nonEmptyText(NAME_MAX),
  mountPath: nonEmptyText(),
  subPath: text().nullish(),
  mountPropagation: text().nullish(),
  readOnly: z.boolean().nullish(),
  subPathExpr: text().nullish(),
});
export type VolumeMount = z.infer<typeof VolumeMount>;

/** An environment variable of a container. `value` defaults to empty; `valueFrom` needs it empty. */
export const EnvVar = z
  .object({
    name: Identifier,
    value: text(SECRET_VALUE_MAX_BYTES)
      .nullish()
      .transform((value) => value ?? ''),
    valueFrom: StorableObject.nullish(),
  })
  .superRefine((variable, context) => {
    if (variable.value === '' || variable.valueFrom == null) return;
    context.addIssue({
      code: 'custom',
      path: ['valueFrom'],
      message: 'valueFrom cannot be used when value is not empty',
      params: { type: 'value_and_value_from' },
    });
  });
export type EnvVar = z.infer<typeof EnvVar>;

/** What a container may use at most and asks for at least, in the cluster's own notation. */
export const ResourceRequirements = z.object({
  limits: z.record(text(), text()).nullish(),
  requests: z.record(text(), text()).nullish(),
});
export type ResourceRequirements = z.infer<typeof ResourceRequirements>;

/** When a container's image is pulled. */
const ImagePullPolicy = oneOf(['Always', 'Never', 'IfNotPresent']);
type ImagePullPolicy = z.infer<typeof ImagePullPolicy>;

/** When a sidecar is started again. */
const RestartPolicy = oneOf(['Always', 'OnFailure']);
type RestartPolicy = z.infer<typeof RestartPolicy>;

/** An init container or a sidecar. */
export const Container = z.object({
  name: DnsLabel,
  image: nonEmptyText(),
  imagePullPolicy: ImagePullPolicy.nullish(),
  command: z.array(text()).max(LIST_MAX).nullish(),
  args: z.array(text()).max(LIST_MAX).nullish(),
  workingDir: text().nullish(),
  env: z.array(EnvVar).max(LIST_MAX).nullish(),
  envFrom: z.array(StorableObject).max(LIST_MAX).nullish(),
  resources: ResourceRequirements.nullish(),
  volumeMounts: z.array(VolumeMount).max(LIST_MAX).nullish(),
  securityContext: StorableObject.nullish(),
  restartPolicy: RestartPolicy.nullish(),
});
export type Container = z.infer<typeof Container>;
