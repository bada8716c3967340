import assert from 'node:assert';
import { AsyncLocalStorage } from 'node:async_hooks';
import { readFile } from 'node:fs/promises';
import { setFlagsFromString } from 'node:v8';
import { createContext, runInContext, runInNewContext } from 'node:vm';

import { expect, inject, it } from 'vitest';

import { bundleWorkflows } from '../support/temporalServer.ts';

const page = await readFile(new URL('../../docs/capacity.md', import.meta.url), 'utf8');
const KIB = 1_024;

it('the workflows’ bundle, and the modules that all workflows of a worker share, are within their budgets', async () => {
  const code = await readFile(inject('workflowBundle'), 'utf8');
  const [program = ''] = code.split('//# sourceMappingURL=');
  expect(program.length / KIB, 'KiB of code').toBeLessThan(budgetKib('code of the workflows’ bundle'));

  const heapBytes = collectGarbage();
  const load = moduleLoader(code);
  const before = heapBytes();
  const modules = load();
  const bytes = heapBytes() - before;
  expect(modules.size).toBeGreaterThan(100);
  expect(bytes / KIB, 'KiB of heap').toBeLessThan(budgetKib('heap of the bundle’s modules'));
});

it('a bundle of the same workflows has the same bytes, and no path of the machine', async () => {
  const code = await readFile(inject('workflowBundle'), 'utf8');
  expect((await readFile(await bundleWorkflows(), 'utf8')) === code).toBe(true);
  const [, map = ''] = code.split(';base64,');
  expect(Buffer.from(map, 'base64').toString() + code).not.toContain(process.cwd());
});

function budgetKib(name: string): number {
  const [, kib = ''] = new RegExp(`^\\| ${name}[^|]*\\| ([\\d,]+) KiB`, 'm').exec(page) ?? [];
  return Number(kib.replace(',', ''));
}

/** Compiles the bundle. @returns a function that evaluates its modules, as a worker does once at its start. */
function moduleLoader(code: string): () => ReadonlyMap<string, unknown> {
  const modules = new Map<string, unknown>();
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
