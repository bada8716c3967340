import { errorText } from '@slipway/contract/codedError';
import * as oidc from 'openid-client';

/** Whether the issuer's answer was invalid. `false`: there was no answer. */
export function isRefusal(error: unknown): boolean {
  return (
    error instanceof oidc.AuthorizationResponseError ||
    error instanceof oidc.ResponseBodyError ||
    (error instanceof oidc.ClientError && INVALID.has(error.code ?? ''))
  );
}

/** The codes of openid-client for invalid answers. */
const INVALID: ReadonlySet<string> = new Set([
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_JWT_USERINFO_EXPECTED',
]);

/** A short reason. It contains the issuer's standard error code, and no other text of the issuer. */
export function whyNot(error: unknown): string {
  if (error instanceof oidc.AuthorizationResponseError || error instanceof oidc.ResponseBodyError) {
    return error.error;
  }
  // Node's "fetch failed" says why only in its cause.
  if (error instanceof Error && error.cause instanceof Error) return whyNot(error.cause);
  return errorText(error);
}
