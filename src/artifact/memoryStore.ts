import { Readable } from 'node:stream';

import type { ArtifactStore } from './artifactStore.ts';

/** A store in memory that has every artifact: the bytes of each are its digest. `records`: by name. */
export function memoryStore(
  records: Map<string, unknown>,
): Pick<
  ArtifactStore,
  'url' | 'open' | 'verify' | 'putRecord' | 'getRecord' | 'listRecords' | 'removeRecord'
> {
  return {
    url: 'memory:',
    open: (digest) => Promise.resolve({ stream: Readable.from([digest]), sizeBytes: digest.length }),
    verify: () => Promise.resolve(),
    putRecord: async (name, record) => {
      records.set(name, record);
      return Promise.resolve();
    },
    getRecord: (name) => Promise.resolve(records.get(name)),
    listRecords: (prefix = '') =>
      Promise.resolve([...records.keys()].filter((name) => name.startsWith(prefix)).sort()),
    removeRecord: async (name) => {
      records.delete(name);
      return Promise.resolve();
    },
  };
}
