import assert from 'node:assert';
import { AsyncLocalStorage } from 'node:async_hooks';
import { readFile } from 'node:fs/promises';
import { setFlagsFromString } from 'node:v8';
import { createContext, runInContext, runInNewContext } from 'node:vm';

import { expect, inject, it } from 'vitest';

import { bundleWorkflows } from '../support/temporalServer.ts';

/** Last measured: 1,577 KiB, with the comments that a build removes. Each worker compiles it at its start. */
const CODE_KIB = 1_640;
/** Last measured: 428 KiB. A zod schema would add 500 to 1,800. */
const HEAP_KIB = 480;
const LOADED = 50;

const KIB = 1_024;

it('the workflows’ bundle, and the modules of each cached workflow, are within their budgets', async () => {
  const code = await readFile(inject('workflowBundle'), 'utf8');
  const [program = ''] = code.split('//# sourceMappingURL=');
  expect(program.length / KIB, 'KiB of code').toBeLessThan(CODE_KIB);

  const heapBytes = collectGarbage();
  const load = moduleLoader(code);
  const shared = load();
  const before = heapBytes();
  const kept = Array.from({ length: LOADED }, load);
  const bytes = (heapBytes() - before) / LOADED;
  expect(kept.map(({ size }) => size)).toEqual(kept.map(() => shared.size));
  expect(shared.size).toBeGreaterThan(100);
  expect(bytes / KIB, 'KiB of heap for each workflow').toBeLessThan(HEAP_KIB);
});

it('a bundle of the same workflows has the same bytes, and no path of the machine', async () => {
  const code = await readFile(inject('workflowBundle'), 'utf8');
  expect((await readFile(await bundleWorkflows(), 'utf8')) === code).toBe(true);
  const [, map = ''] = code.split(';base64,');
  expect(Buffer.from(map, 'base64').toString() + code).not.toContain(process.cwd());
});

/** Loads the bundle's modules as a worker does: compiled once, and evaluated for each workflow. */
function moduleLoader(code: string): () => ReadonlyMap<string, unknown> {
  let modules = new Map<string, unknown>();
  const context = createContext({
    ...{
      assert,
      AsyncLocalStorage,
      AbortController,
      console,
      TextDecoder,
      TextEncoder,
      URL,
      URLSearchParams,
    },
    __webpack_module_cache__: new Proxy(
      {},
      {
        get: (_, name: string) => modules.get(name),
        set: (_, name: string, module) => modules.set(name, module) === modules,
        deleteProperty: (_, name: string) => modules.delete(name),
      },
    ),
  });
  runInContext(code, context);
  return () => {
    modules = new Map();
    runInContext('__TEMPORAL__.importWorkflows(); __TEMPORAL__.importInterceptors();', context);
    return modules;
  };
}

/** A function that collects garbage and returns the used heap. */
function collectGarbage(): () => number {
  setFlagsFromString('--expose_gc');
  const collect = runInNewContext('gc') as () => void;
  return () => {
    collect();
    return process.memoryUsage().heapUsed;
  };
}
