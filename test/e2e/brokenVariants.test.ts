import { fileURLToPath } from 'node:url';

import { beforeAll, describe, expect, it } from 'vitest';

import { Pool } from './pool.ts';
import { GREETS } from './project.ts';
import { ServingDeployment } from './servingDeployment.ts';
import { useAuditedStack } from './useStack.ts';

const NODE_MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url));
/** Links LangGraph from this repository, because its installation takes long. npm installs the rest. */
const INSTALL = `if grep -qs langgraph package.json; then ln -s '${NODE_MODULES}' node_modules; elif [ -e package.json ]; then npm ci; fi`;

// The platform fails a revision that is not ready after this time.
const stack = useAuditedStack({ SLIPWAY_READY_TIMEOUT_MS: '20000' });
let deployments: Pool<ServingDeployment>;
beforeAll(async () => {
  const checks = [{ ...GREETS, expect: { contains: 'Ada', maxLatency: '5s' } }];
  deployments = new Pool(
    await ServingDeployment.several(stack, 'broken', 3, { checks, installCommand: INSTALL }),
  );
});

describe.concurrent('a release of a broken agent', () => {
  it.each([
    ['never-ready', /DEPLOY_FAILED/],
    ['does-not-install', /BUILD_FAILED.*install/is],
    ['does-not-build', /BUILD_FAILED.*build/is],
    ['graph-names-nothing', /(BUILD|DEPLOY)_FAILED/],
    ['crashes-at-start', /DEPLOY_FAILED/],
    ['answers-wrongly', /check "greets": .*does not contain/],
    ['answers-slowly', /check "greets": .*(took|timeout)/],
    ['run-fails', /check "greets": the run ended "error"/],
  ])('that %s is rolled back with the reason, while the good revision keeps serving', (variant, reason) =>
    deployments.use(async ({ project, seen }) => {
      const good = (await seen.deployment()).active_revision_id;
      await project.use(`broken/${variant}`);
      const { code, text } = await project.ran('release', 'staging');
      expect(text).toMatch(reason);
      expect(text).toContain('rolled back');
      // The command prints the end of the log, which says why a revision failed.
      if (reason.source.includes('_FAILED'))
        expect(text).toMatch(/The last lines of revision .*:\n\d\d:\d\d:/);
      expect(code).toBe(2);
      expect((await seen.deployment()).active_revision_id).toBe(good);
      expect(await seen.ask('Hello, I am Grace')).toContain('Grace');
    }),
  );
});
