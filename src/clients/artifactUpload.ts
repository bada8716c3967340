import { open, stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';

import type { Agent } from 'undici';

import type { UploadUrl } from '@slipway/contract/controlPlane/uploadUrl';
import { ARTIFACT_MAX_BYTES } from '@slipway/contract/limits';
import { SlipwayError } from '../domain/errors.ts';
import { type CallOptions, Exchange } from './exchange.ts';
import { observed, type Service } from './service.ts';

export interface ArtifactUpload {
  readonly upload: Pick<UploadUrl, 'upload_url' | 'upload_headers'>;
  readonly source: string | (() => Readable);
  /** The number of bytes. Optional for a file. */
  readonly sizeBytes?: number;
  /** Called after each piece was sent, with the bytes so far and in total. */
  readonly onProgress?: (sentBytes: number, sizeBytes: number) => void;
}

const OWN_HEADERS: ReadonlySet<string> = new Set([
  'content-length',
  'transfer-encoding',
  'host',
  'connection',
]);

/**
 * Streams an artifact to its signed URL with one PUT (public API: `content-type: application/gzip`, the URL's own headers,
 * 200 MB at most). The service's credentials are sent only to its origin, because a signed URL elsewhere needs none.
 * @param call.timeoutMs - the longest time without a sent piece or the answer, in milliseconds. Default: 60,000.
 * @throws SlipwayError ARTIFACT_TOO_LARGE before anything is sent, ARTIFACT_NOT_FOUND, ARTIFACT_UNREADABLE,
 * ARTIFACT_CORRUPT if the source does not have the given size; ServiceError as every call.
 */
export async function putArtifact(
  agent: Agent,
  service: Pick<Service, 'origin' | 'credentials'> & Partial<Pick<Service, 'onCall'>>,
  { upload, source, sizeBytes, onProgress }: ArtifactUpload,
  call: CallOptions = {},
): Promise<void> {
  const size = sizeBytes ?? (await sizeOf(source));
  if (size > ARTIFACT_MAX_BYTES) {
    throw new SlipwayError('SLIPWAY_ARTIFACT_TOO_LARGE', `The artifact has ${size} bytes`, {
      hint: `At most ${ARTIFACT_MAX_BYTES} bytes can be uploaded: leave out what the agent does not need.`,
    });
  }
  const url = new URL(upload.upload_url);
  const credentials = url.origin === service.origin ? service.credentials : {};
  let sourceProblem: SlipwayError | undefined;
  let sent = 0;

  async function* body(): AsyncGenerator<Uint8Array, void> {
    try {
      const pieces: AsyncIterable<Buffer> = typeof source === 'string' ? piecesOfFile(source) : source();
      for await (const piece of pieces) {
        sent += piece.length;
        if (sent > size) break;
        exchange.restartTimer();
        yield piece;
        onProgress?.(sent, size);
      }
    } catch (error) {
      throw (sourceProblem = unreadable(source, error));
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
      shownPath: UPLOAD_PATH,
      headers: {
        ...credentials,
        'content-type': 'application/gzip',
        ...foreignHeaders(upload.upload_headers ?? {}),
        'content-length': String(size),
      },
      body: body(),
      secrets: [...Object.values(service.credentials), upload.upload_url, `${url.pathname}${url.search}`],
      unauthorizedHint: 'Check the clock of the control plane and the permissions of its object store.',
    },
    { timeoutMs: 60_000, ...call },
  );
  try {
    const call = { service: 'controlPlane', method: 'PUT', route: UPLOAD_PATH } as const;
    await observed(service.onCall, call, async (answered) => {
      const { statusCode } = await exchange.open();
      await exchange.text(ANSWER_MAX_BYTES);
      // A proxy's page for signing in is an answer to any request.
      if (sent < size) throw exchange.badAnswer('a success before all of the artifact was sent');
      answered(statusCode);
    });
  } catch (error) {
    throw sourceProblem ?? error;
  }
}

/** The text that errors and observers show for the URL's path, which is a credential. */
const UPLOAD_PATH = '/(signed upload URL)';

/** An object store answers an upload with almost nothing. */
const ANSWER_MAX_BYTES = 1_048_576;

/**
 * Reads a file into two buffers alternately: new ones would pile up (measured: 45 to 63 MiB for 200 MB). It is safe,
 * because a piece is larger than what a socket buffers (64 KiB), so the previous one has been written.
 */
async function* piecesOfFile(path: string): AsyncGenerator<Buffer, void> {
  const file = await open(path);
  try {
    const buffers = [Buffer.allocUnsafeSlow(PIECE_BYTES), Buffer.allocUnsafeSlow(PIECE_BYTES)];
    for (;;) {
      for (const buffer of buffers) {
        let filled = 0;
        while (filled < PIECE_BYTES) {
          const { bytesRead } = await file.read(buffer, filled, PIECE_BYTES - filled);
          if (bytesRead === 0) break;
          filled += bytesRead;
        }
        if (filled > 0) yield buffer.subarray(0, filled);
        if (filled < PIECE_BYTES) return;
      }
    }
  } finally {
    await file.close();
  }
}

const PIECE_BYTES = 262_144;

async function sizeOf(source: string | (() => Readable)): Promise<number> {
  if (typeof source !== 'string') throw new TypeError('sizeBytes is required if the source is not a file');
  try {
    return (await stat(source)).size;
  } catch (error) {
    throw unreadable(source, error);
  }
}

function unreadable(source: string | (() => Readable), cause: unknown): SlipwayError {
  if (cause instanceof SlipwayError) return cause;
  const place = typeof source === 'string' ? { place: source } : {};
  if (cause instanceof Error && (cause as NodeJS.ErrnoException).code === 'ENOENT') {
    return new SlipwayError('SLIPWAY_ARTIFACT_NOT_FOUND', 'The artifact is missing', { ...place, cause });
  }
  return new SlipwayError('SLIPWAY_ARTIFACT_UNREADABLE', 'The artifact could not be read', {
    ...place,
    cause,
  });
}

function foreignHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const lowered = Object.entries(headers).map(([name, value]): [string, string] => [
    name.toLowerCase(),
    value,
  ]);
  return Object.fromEntries(lowered.filter(([name]) => !OWN_HEADERS.has(name)));
}
