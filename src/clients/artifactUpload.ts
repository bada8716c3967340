import type { Readable } from 'node:stream';

import type { Agent } from 'undici';

import type { UploadUrl } from '@slipway/contract/controlPlane/uploadUrl';
import { ARTIFACT_MAX_BYTES } from '@slipway/contract/limits';
import { SlipwayError } from '../domain/errors.ts';
import { Exchange } from './exchange.ts';

export interface ArtifactUpload {
  /** Where: what the upload-url endpoint answered. */
  readonly upload: Pick<UploadUrl, 'upload_url' | 'upload_headers'>;
  readonly source: () => Readable;
  readonly sizeBytes: number;
  /** Told after each piece has been handed on: bytes so far, and in all. */
  readonly onProgress?: (sentBytes: number, sizeBytes: number) => void;
}

export interface UploadOptions {
  readonly signal?: AbortSignal;
  /**
   * The longest time without a piece sent, and from the last piece to the answer, in milliseconds; 0: unbounded.
   * Default: 60,000. A slow line may take as long as it needs.
   */
  readonly timeoutMs?: number;
}

/** Set by us, whatever the upload's own headers say. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'content-length',
  'transfer-encoding',
  'host',
  'connection',
]);

/**
 * Streams an artifact to its signed URL with one PUT (facts: `content-type: application/gzip`, the URL's own headers,
 * 200 MB at most). `credentials` are sent only to `serviceOrigin`: a signed URL elsewhere needs none.
 *
 * @throws SlipwayError ARTIFACT_TOO_LARGE before anything is sent, ARTIFACT_UNREADABLE,
 *   ARTIFACT_CORRUPT when the source has another size than it was said to have; ServiceError as every call.
 */
export async function putArtifact(
  agent: Agent,
  service: { readonly origin: string; readonly credentials: Readonly<Record<string, string>> },
  { upload, source, sizeBytes: size, onProgress }: ArtifactUpload,
  { signal, timeoutMs = 60_000 }: UploadOptions = {},
): Promise<void> {
  if (size > ARTIFACT_MAX_BYTES) {
    throw new SlipwayError('SLIPWAY_ARTIFACT_TOO_LARGE', `The artifact has ${size} bytes`, {
      hint: `At most ${ARTIFACT_MAX_BYTES} bytes can be uploaded: leave out what the agent does not need.`,
    });
  }
  const url = new URL(upload.upload_url);
  const credentials = url.origin === service.origin ? service.credentials : {};
  let sourceProblem: SlipwayError | undefined;

  async function* body(): AsyncGenerator<Uint8Array, void> {
    let sent = 0;
    try {
      for await (const piece of source() as AsyncIterable<Buffer>) {
        sent += piece.length;
        if (sent > size) break;
        exchange.restartTimer();
        yield piece;
        onProgress?.(sent, size);
      }
    } catch (error) {
      throw (sourceProblem = unreadable(error));
    }
    if (sent === size) return;
    sourceProblem = new SlipwayError(
      'SLIPWAY_ARTIFACT_CORRUPT',
      `The artifact is shorter or longer than its ${size} bytes`,
    );
    throw sourceProblem;
  }

  const exchange = new Exchange(
    agent,
    {
      method: 'PUT',
      url,
      shownPath: '/(signed upload URL)',
      headers: {
        ...credentials,
        'user-agent': 'slipway',
        'content-type': 'application/gzip',
        ...foreignHeaders(upload.upload_headers ?? {}),
        'content-length': String(size),
      },
      body: body(),
      secrets: [...Object.values(service.credentials), upload.upload_url, `${url.pathname}${url.search}`],
    },
    { signal, timeoutMs },
  );
  try {
    await exchange.open();
    await exchange.text(ANSWER_MAX_BYTES);
  } catch (error) {
    throw sourceProblem ?? error;
  }
}

/** An object store answers an upload with next to nothing. */
const ANSWER_MAX_BYTES = 1_048_576;

function unreadable(cause: unknown): SlipwayError {
  if (cause instanceof SlipwayError) return cause;
  return new SlipwayError('SLIPWAY_ARTIFACT_UNREADABLE', 'The artifact could not be read', { cause });
}

function foreignHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const lowered = Object.entries(headers).map(([name, value]): [string, string] => [
    name.toLowerCase(),
    value,
  ]);
  return Object.fromEntries(lowered.filter(([name]) => !OWN_HEADERS.has(name)));
}
