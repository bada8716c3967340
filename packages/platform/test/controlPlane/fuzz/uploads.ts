import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import fc from 'fast-check';
import { expect } from 'vitest';

import type { TestPlatform } from '../testPlatform.ts';
import { mostly } from './mutations.ts';
import type { FuzzedRequest } from './requests.ts';

/** One generated upload: to a requested URL, or to a forged variant of one. */
interface FuzzedUpload {
  /** The length that the URL was requested for: the body's plus this many bytes; null: none. */
  readonly offeredMore: number | null;
  readonly token: TokenChange;
  readonly chunks: readonly Uint8Array[];
  /** `content-length`: `right` is the body's, `none` omits it. */
  readonly declared: string;
  /** Whether it is sent twice. */
  readonly twice: boolean;
}

/** How a token is changed before use. */
type TokenChange =
  | { readonly kind: 'genuine' }
  /** Another character at one position. */
  | { readonly kind: 'altered'; readonly at: number; readonly by: string }
  | { readonly kind: 'cut'; readonly at: number }
  | { readonly kind: 'longer'; readonly by: string }
  | { readonly kind: 'garbage'; readonly token: string };

const character = fc.constantFrom(...'A Q g w 0 9 - _ . = ~ %20 %00 %E9 +'.split(' '));
const at = fc.nat(500);
const token: fc.Arbitrary<TokenChange> = mostly<TokenChange, TokenChange>(
  1,
  { kind: 'genuine' },
  fc.record({ kind: fc.constant('altered' as const), at, by: character }),
  fc.record({ kind: fc.constant('cut' as const), at }),
  fc.record({ kind: fc.constant('longer' as const), by: character }),
  fc
    .oneof(
      fc.constantFrom('null', 'x.y', '..%2F..%2Fapi.key', '%F0%9F%9A%80', 'x'.repeat(5_000)),
      fc.string({ maxLength: 40 }).map((text) => `x${encodeURIComponent(text)}`),
    )
    .map((garbage) => ({ kind: 'garbage', token: garbage })),
);

/** Uploads, most of them invalid. */
export const uploads: fc.Arbitrary<FuzzedUpload> = fc.record({
  offeredMore: mostly(3, fc.constantFrom(null, 0), fc.integer({ min: -3, max: 3 })),
  token,
  chunks: fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 4 }),
  declared: mostly(
    3,
    fc.constantFrom('right', 'none'),
    ...['0', '1', '-1', '1.5', 'x', '', '1e3', '209715201', '9'.repeat(30)],
  ),
  twice: fc.boolean(),
});

/** Sends requests without a key, and returns the answer. `read`: the body parsed as JSON, if it is JSON. */
export type Send = (
  request: Omit<FuzzedRequest, 'body'> & { body: ReadableStream | Uint8Array },
  read?: unknown,
) => Promise<{ status: number; text: string }>;

/** Sends an upload. Expects that it is stored if its URL was issued for that length and is unused, and else nothing. */
export async function checkUpload(
  platform: TestPlatform,
  deploymentId: string,
  upload: FuzzedUpload,
  send: Send,
): Promise<void> {
  const content = Buffer.concat(upload.chunks);
  const asked = upload.offeredMore === null ? null : content.length + upload.offeredMore;
  const { status: offered, json } = await platform.call('POST', `/deployments/${deploymentId}/upload-url`, {
    content_length: asked,
  });
  if (asked !== null && asked < 1) {
    expect(offered).toBe(422);
    return;
  }
  const path = new URL(json.upload_url).pathname;
  const changed = changedPath(path, upload.token);
  const stored = join(platform.home, 'objects', json.object_path);
  const mayBeStored = changed === path && content.length > 0 && (asked === null || asked === content.length);
  let before: Buffer | undefined;
  for (let times = upload.twice ? 2 : 1; times > 0; times -= 1) {
    const { status, text } = await send({
      method: 'PUT',
      path: changed,
      headers: declaredLength(upload.declared, content.length),
      body: streamOf(upload.chunks),
    });
    if (status >= 400) expect(await contentOf(stored)).toEqual(before);
    else {
      expect(mayBeStored, text).toBe(true);
      expect(before, 'a URL takes one upload').toBeUndefined();
      expect(JSON.parse(text)).toEqual({
        object_path: json.object_path,
        size: content.length,
        sha256: createHash('sha256').update(content).digest('hex'),
      });
      before = await contentOf(stored);
      expect(before).toEqual(content);
    }
    // An upload without a problem is accepted.
    if (mayBeStored && ['right', 'none'].includes(upload.declared)) expect(before, text).toBeDefined();
    expect(await readdir(join(platform.home, 'incoming')).catch(() => [])).toEqual([]);
  }
}

function changedPath(path: string, change: TokenChange): string {
  const start = '/uploads/'.length;
  switch (change.kind) {
    case 'genuine':
      return path;
    case 'altered': {
      const at = start + (change.at % (path.length - start));
      return path.slice(0, at) + change.by + path.slice(at + 1);
    }
    case 'cut':
      return path.slice(0, start + 1 + (change.at % (path.length - start - 1)));
    case 'longer':
      return path + change.by;
    case 'garbage':
      return `/uploads/${change.token}`;
  }
}

function declaredLength(declared: string, right: number): Record<string, string> {
  if (declared === 'none') return {};
  return { 'content-length': declared === 'right' ? String(right) : declared };
}

function streamOf(chunks: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start: (controller) => {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
}

async function contentOf(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
