import { fileURLToPath } from 'node:url';

import type { DataConverter } from '@temporalio/common';

import { NO_KEYS, type PayloadCipher } from './payloadCipher.ts';

const FAILURE_CONVERTER = fileURLToPath(new URL('./failureConverter.cjs', import.meta.url));

/** The data converter of a worker. @param codec - absent: no encryption. */
export function workerCodec(codec: PayloadCipher | undefined): DataConverter {
  return codec === undefined
    ? { payloadCodecs: [NO_KEYS] }
    : { payloadCodecs: [codec], failureConverterPath: FAILURE_CONVERTER };
}
