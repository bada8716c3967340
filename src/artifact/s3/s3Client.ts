import type { S3 } from '@aws-sdk/client-s3';

import { type S3Place, s3Url } from '../../domain/artifact/storeUrl.ts';
import { SlipwayError } from '../../domain/errors.ts';
import type { SpanStart } from '../../traces/span.ts';
import { inSpan } from '../../traces/trace.ts';

/** The timeout for connecting, in milliseconds. */
const CONNECT_MS = 5_000;
/** The longest silence of a connection during a request, in milliseconds. Slow transfers have no limit. */
const SILENCE_MS = 30_000;

const clients = new Map<string, Promise<S3>>();

/** The client for a place, one per service. What the place lacks comes from the SDK (`AWS_…`, `~/.aws`, the role). */
export function connectS3({ endpoint, region, pathStyle }: S3Place): Promise<S3> {
  const key = JSON.stringify([endpoint, region, pathStyle]);
  const client = clients.get(key) ?? create();
  clients.set(key, client);
  return client;

  async function create(): Promise<S3> {
    // It warns on Node 20 that later versions of the SDK will not support it. This version does.
    process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';
    const sdk = await import('./sdk.ts');
    const client = new sdk.S3({
      requestHandler: { connectionTimeout: CONNECT_MS, socketTimeout: SILENCE_MS },
      endpoint,
      region,
      forcePathStyle: pathStyle,
    });
    // Outside of the SDK's retries, so that a call with its retries is one span.
    client.middlewareStack.add(
      (next, { commandName = '' }) =>
        (call) =>
          traceCall(commandName, call.input, () => next(call)),
      { step: 'initialize', name: 'traceCall' },
    );
    return client;
  }
}

/** A span for each call with its name, bucket and key. The rest of the input may contain credentials. */
function traceCall<T extends { readonly output: Pick<SdkError, '$metadata'> }>(
  commandName: string,
  input: object,
  call: () => Promise<T>,
): Promise<T> {
  const { Bucket, Key } = input as { readonly Bucket?: string; readonly Key?: string };
  const method = commandName.replace(/Command$/u, '');
  const start: SpanStart = {
    name: `S3 ${method}`,
    kind: 'client',
    attributes: {
      'rpc.system': 'aws-api',
      'rpc.service': 'S3',
      'rpc.method': method,
      'aws.s3.bucket': Bucket,
      'aws.s3.key': Key,
    },
  };
  return inSpan(start, async (span) => {
    try {
      const answered = await call();
      span.set({ 'http.response.status_code': answered.output.$metadata?.httpStatusCode });
      return answered;
    } catch (error) {
      if (!isSdkError(error)) span.fail('Error');
      else {
        span.set({ 'http.response.status_code': error.$metadata?.httpStatusCode });
        // "Not found" is an answer, not a failure.
        if (!isAbsent(error)) span.fail(error.name);
      }
      throw error;
    }
  });
}

/** The part of an SDK error that describes what happened. The rest may contain headers with credentials. */
interface SdkError {
  /** The service's own code, if it sent one. */
  readonly name: string;
  readonly message: string;
  /** The operating system's code, if there was no answer. */
  readonly code?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

const NO_CREDENTIALS = /^(Credentials|Token)ProviderError$/;
const NOT_ACCEPTED =
  /^(AccessDenied|AllAccessDisabled|ExpiredToken|ExpiredTokenException|InvalidAccessKeyId|InvalidToken|SignatureDoesNotMatch|RequestTimeTooSkewed)$/;
const ANOTHER_REGION =
  /^(PermanentRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraintException)$/;

/**
 * Calls S3. `absent`: what to return if the object is missing; without it, the error is thrown.
 * @throws SlipwayError `SLIPWAY_ARTIFACT_STORE_UNAVAILABLE` if another try may succeed,
 * `SLIPWAY_ARTIFACT_STORE_REFUSED` if a person must change something first.
 */
export async function askS3<T, A = never>(
  place: S3Place,
  call: () => Promise<T>,
  absent?: { readonly instead: A },
): Promise<T | A> {
  try {
    return await call();
  } catch (error) {
    if (!isSdkError(error) || error.name === 'AbortError') throw error;
    if (absent !== undefined && isAbsent(error)) return absent.instead;
    throw s3Failure(place, error);
  }
}

/** Whether S3 answered that it has no multipart upload with that id (any longer). */
export function isUploadGone(error: unknown): boolean {
  return isSdkError(error) && error.name === 'NoSuchUpload';
}

function isAbsent({ name, $metadata }: SdkError): boolean {
  if (name === 'NoSuchBucket') return false;
  return name === 'NoSuchKey' || name === 'NotFound' || $metadata?.httpStatusCode === 404;
}

/** Slipway's own error for an SDK error, without the request, which contains credentials. */
function s3Failure(place: S3Place, error: SdkError): SlipwayError {
  const { name, message, $metadata } = error;
  const status = $metadata?.httpStatusCode ?? 0;
  if (name === 'NoSuchBucket') {
    return refused(
      place,
      `the bucket "${place.bucket}" does not exist`,
      'Make the bucket, or name the right one in the URL.',
    );
  }
  if (NO_CREDENTIALS.test(name)) {
    return refused(
      place,
      `no AWS credentials were found: ${message}`,
      'Set them for this process, as for any AWS client: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or a role.',
    );
  }
  if (NOT_ACCEPTED.test(name) || status === 401 || status === 403) {
    return refused(
      place,
      `the bucket "${place.bucket}" rejected the credentials: ${errorText(error)}`,
      'Check the credentials of this process, and their permissions on the bucket: docs/artifact-store.md lists them.',
    );
  }
  if (ANOTHER_REGION.test(name) || message === 'Region is missing') {
    return refused(
      place,
      `the region of the bucket "${place.bucket}" is wrong: ${errorText(error)}`,
      'Set AWS_REGION, or ?region=… in the URL.',
    );
  }
  if (status >= 400 && status < 500 && status !== 408 && status !== 429) {
    return refused(
      place,
      `the bucket "${place.bucket}" rejected a request: ${errorText(error)}`,
      'Look at the URL: it must lead to a service that speaks S3’s protocol.',
    );
  }
  return new SlipwayError(
    'SLIPWAY_ARTIFACT_STORE_UNAVAILABLE',
    `the bucket "${place.bucket}" could not be read or written: ${errorText(error)}`,
    {
      place: s3Url(place),
      hint:
        status === 0
          ? 'Look whether the service can be reached from here: its address, the network, its own state.'
          : 'The service answers, but cannot serve requests now: try again later.',
    },
  );
}

function refused(place: S3Place, message: string, hint: string): SlipwayError {
  return new SlipwayError('SLIPWAY_ARTIFACT_STORE_REFUSED', message, { place: s3Url(place), hint });
}

/** Messages of the SDK for an answer without a body. They do not help. */
const SAYS_NOTHING = /^(?:|Error|Unknown|UnknownError|[1-5]\d\d)$/;

function errorText({ name, message, $metadata }: SdkError): string {
  const status = $metadata?.httpStatusCode;
  const text = [name, message].filter((part) => !SAYS_NOTHING.test(part)).join(': ');
  if (status === undefined) return text;
  return text === '' ? `HTTP ${status}` : `${text} (HTTP ${status})`;
}

/** Whether an error is the SDK's: an error status, no answer, or a call that could not be sent. */
function isSdkError(error: unknown): error is Error & SdkError {
  if (!(error instanceof Error) || error instanceof SlipwayError) return false;
  return (
    '$metadata' in error ||
    'code' in error ||
    NO_CREDENTIALS.test(error.name) ||
    error.name === 'TimeoutError' ||
    error.message === 'Region is missing'
  );
}
