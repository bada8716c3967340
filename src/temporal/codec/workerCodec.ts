import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import type { WorkerOptions } from '@temporalio/worker';

import { NO_KEYS, type PayloadCipher } from './payloadCipher.ts';

const FAILURE_CONVERTER = fileURLToPath(new URL('./failureConverter.cjs', import.meta.url));

/**
 * What a worker reads and writes payloads with.
 *
 * The bundle of the workflows is one for all workers, so a worker that encrypts says so before its first line
 * (`workflows/failureConverter.ts`).
 *
 * @param codec - absent: nothing is encrypted.
 */
export async function workerCodec(
  codec: PayloadCipher | undefined,
  bundlePath: string,
): Promise<Pick<WorkerOptions, 'dataConverter' | 'workflowBundle'>> {
  if (codec === undefined) {
    return {
      dataConverter: { payloadCodecs: [NO_KEYS] },
      workflowBundle: { codePath: bundlePath },
    };
  }
  const code = await readFile(bundlePath, 'utf8');
  return {
    dataConverter: { payloadCodecs: [codec], failureConverterPath: FAILURE_CONVERTER },
    workflowBundle: { code: `globalThis.slipwayEncodesFailures = true;\n${code}` },
  };
}
