import { z } from 'zod';

import { CONTROL_PLANE_ENDPOINTS as ENDPOINTS } from '@slipway/contract/controlPlane/endpoints';
import { TypedDeploymentCreate } from '@slipway/contract/controlPlane/publicRequest';
import type { UploadUrl } from '@slipway/contract/controlPlane/uploadUrl';
import { translate } from '@slipway/contract/controlPlane/vocabulary';
import type { Endpoint } from '@slipway/contract/endpoint';
import { toValidationIssues } from '@slipway/contract/httpErrors';
import { ARTIFACT_MAX_BYTES } from '@slipway/contract/limits';
import { notSent, type Service } from './service.ts';

/**
 * A control plane that speaks the public relative's names, called in the contract's. A body is held to the contract's
 * rules and then translated; an answer is translated before the contract's schema reads it. What the service says of a
 * request that it refuses stays in its own words.
 * @throws ServiceError REFUSED, before anything is sent, where a rule is broken.
 */
export function inPublicVocabulary(service: Service): Service {
  const translated = new Map<Endpoint, Endpoint>();
  return {
    ...service,
    call: async (endpoint, parts, options) => {
      const rules = RULES.get(endpoint.request);
      const checked = rules?.safeParse(parts.body);
      if (checked?.success === false) throw notSent(endpoint, toValidationIssues(checked.error, 'body'));
      const known = translated.get(endpoint) ?? withTranslatedAnswer(endpoint);
      translated.set(endpoint, known);
      const body = translate(parts.body, 'public');
      return service.call(known as typeof endpoint, { ...parts, body }, options);
    },
  };
}

/**
 * The headers of an upload to the public relative's object store, where its answer names none (facts: the signature
 * covers them, so a PUT without them is refused).
 */
export function withUploadHeaders(upload: UploadUrl): UploadUrl {
  if (upload.upload_headers != null) return upload;
  return { ...upload, upload_headers: { 'x-goog-content-length-range': `0,${ARTIFACT_MAX_BYTES}` } };
}

/** What a body is held to: the contract's own schemas, but that every source may have a `deployment_type`. */
const RULES: ReadonlyMap<unknown, z.ZodType> = new Map<unknown, z.ZodType>([
  [ENDPOINTS.createDeployment.request, TypedDeploymentCreate],
  [ENDPOINTS.patchDeployment.request, ENDPOINTS.patchDeployment.request],
]);

function withTranslatedAnswer(endpoint: Endpoint): Endpoint {
  const { response } = endpoint;
  if (response === null || response === 'stream') return endpoint;
  return { ...endpoint, response: z.preprocess((answer) => translate(answer, 'contract'), response) };
}
